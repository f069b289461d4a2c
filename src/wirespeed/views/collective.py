"""A forecast as nccl-tests prints a measurement, with the reason below, and the drop over nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.collectives.result import CollectiveForecast, ForecastRow, Option, RoutingSpread
from wirespeed.units import format_size
from wirespeed.views.beside import beside, late
from wirespeed.views.document import Block, Column, Document, Facts, Heading, Items, Sentence, Table
from wirespeed.views.drop import drop
from wirespeed.views.loads import loads
from wirespeed.views.reason import Pace, limit_named, reason
from wirespeed.views.words import counted, number, percent

_MOST_ROWS = 16
_CLEARLY = 0.9


def document(forecast: CollectiveForecast) -> Document:
    """Facts, one table for each number of nodes, the table over nodes, and notes."""
    return tuple(_blocks(forecast))


def _blocks(forecast: CollectiveForecast) -> Iterator[Block]:
    tables = _by_cluster(forecast.rows)
    operation = forecast.rows[0].operation
    yield Heading(f"{operation} on {forecast.machine}: forecast")
    yield Facts(tuple(_facts(forecast)))
    for rows in tables:
        first = rows[0]
        yield Heading(f"{counted(first.nodes, 'node')}, {counted(first.ranks, 'GPU')}")
        pace = Pace(rows)
        yield _table(rows if len(tables) == 1 else _thinned(rows), pace)
        yield Sentence(reason(rows, pace, forecast.bottlenecks))
        cuts = next((c for c in forecast.clusters if c.nodes == first.nodes), None)
        if cuts is not None and (limit := limit_named(rows[-1], cuts)):
            yield Sentence(limit)
        if rows[-1].routing_spread is not None:
            yield Sentence(_spread(rows[-1], rows[-1].routing_spread))
        for report in forecast.loads:
            if report.nodes == first.nodes:
                yield from loads(report)
        if together := [row for row in forecast.beside if row.nodes == first.nodes]:
            yield from beside(together)
        for one in forecast.late:
            if one.nodes == first.nodes:
                yield from late(one)
        if options := [o for o in forecast.options if o.nodes == first.nodes]:
            yield from _explained(options)
    if len(tables) > 1:
        yield from drop(tables, forecast.clusters)
    if forecast.warnings:
        yield Heading("Notes")
        yield Items(tuple(warning.text for warning in forecast.warnings))


def _spread(row: ForecastRow, spread: RoutingSpread) -> str:
    """What hangs on the hash by which the fabric routes."""
    low, high = number(spread.low_us), number(spread.high_us)
    takes = f"takes {low} to {high} us" if low != high else f"always takes {low} us"
    size = format_size(row.size_bytes)
    return (
        f"Flows are routed by hash: over {spread.seeds} seeds {size} {takes}; "
        "the table shows medians."
    )


def _by_cluster(rows: Sequence[ForecastRow]) -> list[list[ForecastRow]]:
    tables: dict[int, list[ForecastRow]] = {}
    for row in rows:
        tables.setdefault(row.nodes, []).append(row)
    return list(tables.values())


def _thinned(rows: list[ForecastRow]) -> list[ForecastRow]:
    """Every second size of a long table, the last among them."""
    return rows if len(rows) <= _MOST_ROWS else rows[::-2][::-1]


def _facts(forecast: CollectiveForecast) -> Iterator[tuple[str, str]]:
    yield "GPU", forecast.gpu
    yield "Library", forecast.library
    fabrics: dict[tuple[str, str], list[str]] = {}
    for cluster in forecast.clusters:
        if cluster.fabric:
            key = (cluster.fabric, cluster.fabric_description)
            fabrics.setdefault(key, []).append(str(cluster.nodes))
    for (name, description), nodes in fabrics.items():
        where = f" ({', '.join(nodes)} nodes)" if len(fabrics) > 1 else ""
        yield "Fabric", f"{name}: {description}{where}"


def _table(rows: Sequence[ForecastRow], pace: Pace) -> Table:
    columns = (
        Column("size"),
        Column("time", "us"),
        Column("algbw", "GB/s"),
        Column("busbw", "GB/s"),
        Column("algorithm", right=False),
        Column("ch"),
        Column("bottleneck", right=False),
        Column("of wire"),
        Column("bound", "us"),
    )
    return Table(columns, tuple(_row(row, pace) for row in rows))


def _row(row: ForecastRow, pace: Pace) -> tuple[str, ...]:
    return (
        format_size(row.size_bytes),
        number(row.time_us),
        number(row.algbw_GBps),
        number(row.busbw_GBps),
        f"{row.algorithm} {row.protocol}".strip(),
        str(row.channels),
        "latency" if pace.is_latency(row) else row.bottleneck,
        percent(row.wire_share),
        number(row.bound_us),
    )


def _explained(options: Sequence[Option]) -> Iterator[Block]:
    """What the library chose from: its own estimate decides, ours says how long it takes."""
    yield Heading(f"Choice on {counted(options[0].nodes, 'node')}")
    columns = (
        Column("size"),
        Column("algorithm", right=False),
        Column("ch"),
        Column("library plans", "us"),
        Column("forecast", "us"),
        Column("", right=False),
    )
    rows = tuple(
        (
            format_size(option.size_bytes),
            _named(option),
            str(option.channels),
            number(option.planned_us),
            number(option.time_us),
            "chosen" if option.chosen else "",
        )
        for option in options
    )
    chosen = frozenset(k for k, option in enumerate(options) if option.chosen)
    yield Table(columns, rows, strong=chosen)
    if poor := list(_poor_choices(options)):
        yield Items(tuple(poor))


def _poor_choices(options: Sequence[Option]) -> Iterator[str]:
    """Sizes at which another option would be clearly faster than what the library takes."""
    for size in dict.fromkeys(option.size_bytes for option in options):
        ways = [option for option in options if option.size_bytes == size]
        taken = next(option for option in ways if option.chosen)
        best = min(ways, key=lambda option: option.time_us)
        if best.time_us < _CLEARLY * taken.time_us:
            yield (
                f"at {format_size(size)} the library takes {_named(taken)}, though {_named(best)} "
                f"would take {percent(1 - best.time_us / taken.time_us)} less time"
            )


def _named(option: Option) -> str:
    return f"{option.algorithm} {option.protocol}".strip()

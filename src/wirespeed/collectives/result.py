"""CollectiveForecast: what is expected of an operation, size by size, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from wirespeed.topology.result import Result

T = TypeVar("T")


class RoutingSpread(msgspec.Struct, frozen=True):
    """How much hangs on the hash by which a fabric spreads flows."""

    seeds: int
    low_us: float
    median_us: float
    """The time of the row."""
    high_us: float


class ForecastRow(msgspec.Struct, frozen=True):
    """One size. GB are 1e9 bytes; times in us; names as in the JSON contract."""

    nodes: int
    ranks: int
    operation: str
    size_bytes: int
    time_us: float
    algbw_GBps: float
    busbw_GBps: float
    algorithm: str
    protocol: str
    channels: int
    bottleneck: str
    """Address of the resource that sets the bandwidth; empty where nothing is moved."""
    wire_share: float
    """Payload that crosses the bottleneck in this time, as a share of its wire rate."""
    bound_us: float
    """No schedule is faster, in-network reduction and multicast used where they are there."""
    bound_p2p_us: float
    """No schedule of messages between GPUs alone is faster."""
    low_us: float | None
    high_us: float | None
    validity: str
    """inside, edge or outside of what was validated."""
    routing_spread: RoutingSpread | None = None
    """Where flows are routed by hash: the times over several seeds."""


class Option(msgspec.Struct, frozen=True):
    """One way to do it at one size: what the library plans with, and what it would take."""

    nodes: int
    size_bytes: int
    algorithm: str
    protocol: str
    channels: int
    planned_us: float
    """By the library's own cost model, which decides."""
    time_us: float
    chosen: bool


class ClusterRow(msgspec.Struct, frozen=True):
    """One cluster that rows are about."""

    nodes: int
    gpus: int
    nvlink_domains: int
    """Groups of GPUs that reach each other without the network; 1: nothing leaves NVLink."""
    fabric: str
    fabric_description: str
    bound_cut: str = ""
    """What limits every schedule: who stands against whom; `bound_us` comes from it."""
    bound_p2p_cut: str = ""
    """The same for messages between GPUs alone."""


class ResourceRow(msgspec.Struct, frozen=True):
    """What a bottleneck is: a link with its kind, lanes and wire rate, or a component."""

    name: str
    kind: str
    lanes: int
    bandwidth_GBps: float


class LoadRow(msgspec.Struct, frozen=True):
    """Resources that are alike and loaded alike: `count` of them, of which `name` is the first."""

    name: str
    count: int
    kind: str
    bytes: float
    """Payload on each."""
    share: float
    """Payload in the time of the call, as a share of what each could move at its wire rate."""
    busy_us: float
    """How long each works, overhead of transport and protocol included."""
    bandwidth_GBps: float


class LoadReport(msgspec.Struct, frozen=True):
    """The loads of one call, the busiest resources first."""

    nodes: int
    operation: str
    size_bytes: int
    time_us: float
    algorithm: str
    protocol: str
    rows: tuple[LoadRow, ...]


class BesideRow(msgspec.Struct, frozen=True):
    """One size while other jobs repeat their calls on the same cluster."""

    nodes: int
    size_bytes: int
    time_us: float
    """Alone."""
    beside_us: float
    """While the others run."""
    slowdown: float
    others: tuple[str, ...]
    """The other jobs, as they were asked for."""
    others_us: tuple[float, ...]
    """What a call of each takes alone."""
    others_slowdown: tuple[float, ...]
    shared: str
    """The resource that they fight for; empty where there is enough for all."""
    wanted: float
    """Share of its time that all want of it together; below 1 there is enough."""


class LateRow(msgspec.Struct, frozen=True):
    """The largest size when some ranks arrive late."""

    nodes: int
    size_bytes: int
    late: tuple[str, ...]
    """Who is late, as it was asked for."""
    algorithm: str
    time_us: float
    """With nobody late, by the same events."""
    late_us: float
    """From the first rank's arrival to the end of the last."""
    waited_us: float
    """How much later it ends."""


class CollectiveForecast(
    Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.collective/1"
):
    """Rows by nodes and size, with what they rest on."""

    machine: str
    gpu: str
    library: str
    clusters: tuple[ClusterRow, ...]
    rows: tuple[ForecastRow, ...]
    bottlenecks: tuple[ResourceRow, ...]
    """The resources that the rows name."""
    options: tuple[Option, ...] = ()
    """Every way that the library has, where it was asked to explain."""
    loads: tuple[LoadReport, ...] = ()
    """What the largest size puts on every resource, where it was asked for."""
    beside: tuple[BesideRow, ...] = ()
    """Each size while other jobs run, where such were named."""
    late: tuple[LateRow, ...] = ()
    """The largest size with the late ranks that were named."""


def joined(forecasts: Sequence[CollectiveForecast]) -> CollectiveForecast:
    """Forecasts of one machine at several node counts as one; what was said twice stands once."""
    first = forecasts[0]
    nodes = [count for f in forecasts for count in f.inputs.get("nodes", ())]
    return msgspec.structs.replace(
        first,
        inputs={**first.inputs, "nodes": nodes},
        warnings=_once(f.warnings for f in forecasts),
        clusters=_once(f.clusters for f in forecasts),
        rows=tuple(row for f in forecasts for row in f.rows),
        bottlenecks=_once(f.bottlenecks for f in forecasts),
        options=tuple(option for f in forecasts for option in f.options),
        loads=tuple(report for f in forecasts for report in f.loads),
        beside=tuple(row for f in forecasts for row in f.beside),
        late=tuple(row for f in forecasts for row in f.late),
    )


def _once(parts: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(item for part in parts for item in part))

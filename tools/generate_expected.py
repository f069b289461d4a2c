"""Write docs/expected-numbers.md and .csv: what a healthy machine of each preset should show.

python tools/generate_expected.py [PRESET…]

With names, only these presets are made, and printed in place of written.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from wirespeed import cluster
from wirespeed.catalog import gpu, parameters
from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.comparison.bands import with_bands
from wirespeed.comparison.expect import ExpectRow, expected
from wirespeed.errors import Infeasible
from wirespeed.topology.cluster import Cluster, everyone
from wirespeed.topology.presets import preset, preset_names
from wirespeed.units import format_size

DOCS = Path(__file__).resolve().parents[1] / "docs"
OPERATIONS = (
    Operation.ALL_REDUCE,
    Operation.ALL_GATHER,
    Operation.REDUCE_SCATTER,
    Operation.ALLTOALL,
)
SIZES = (8, 2**16, 2**20, 2**24, 2**28, 2**32)
SHORT = SIZES[0]
"""[B] at which a time is shown, since a bandwidth would say nothing."""
UNITS = (1, 2, 4)
"""Nodes, or racks of a preset that is a rack."""
MOST_GPUS = 300
"""Beyond it, several units of a preset are left out: nobody asks and it takes long."""

COLUMNS = (
    "preset",
    "nodes",
    "ranks",
    "operation",
    "size_bytes",
    "time_us",
    "busbw_GBps",
    "low_busbw_GBps",
    "high_busbw_GBps",
    "algorithm",
    "protocol",
)

HEAD = """# Expected numbers

What nccl-tests or rccl-tests should show on a healthy machine of each preset, all GPUs taking part,
one process a GPU, out of place, float, with the library's usual version and an empty environment.
The column of {short} bytes holds the time in us, the others busbw in GB/s (1e9 bytes) at that size,
counted as nccl-tests counts it (1M = 2^20 bytes). Several nodes, or racks, are joined by the
platform's default fabric, which nobody else uses; they are left out beyond {most} GPUs.

These are forecasts, not measurements: [validation](validation.md) says how far such forecasts lie
off. The range that counts as healthy, the algorithm and the protocol stand in
[expected-numbers.csv](expected-numbers.csv); `wirespeed expect SOURCE` prints both for your own
machine, and `wirespeed check` puts a measurement beside them.

Written by `tools/generate_expected.py` with parameters {parameters}; `make docs` writes it anew.
"""


def rows_of(name: str) -> list[ExpectRow]:
    """Expected rows of a preset, on one unit and on several where a network can join them."""
    design = preset(name)
    per_unit = design.nodes_per_unit
    joined = design.network.kind != "none" and any(n.role == "compute" for n in design.nics)
    several = joined and UNITS[-1] * per_unit * design.gpus <= MOST_GPUS
    rows: list[ExpectRow] = []
    for units in UNITS if several else UNITS[:1]:
        on = cluster(name, nodes=units * per_unit)
        for operation in OPERATIONS if len(everyone(on)) > 1 else ():
            rows += _rows(operation, on)
    return rows


def _rows(operation: Operation, on: Cluster) -> list[ExpectRow]:
    group = everyone(on)
    try:
        made = forecast(Collective(operation), on, SIZES, group)
    except Infeasible:
        return []
    return [expected(row) for row in with_bands(made, on, group).rows]


def section(name: str, rows: Sequence[ExpectRow]) -> str:
    """The part of the page about one preset."""
    design = preset(name)
    head = ["nodes", "GPUs", "operation", f"{format_size(SHORT)} us"]
    head += [format_size(size) for size in SIZES[1:]]
    lines = [f"## {name}", "", f"{design.description}. GPU: {gpu(design.gpu).name}.", ""]
    if not rows:
        return "\n".join([*lines, "One GPU without a network: nothing to exchange.", ""])
    lines += [f"| {' | '.join(head)} |", "|---:|---:|---|" + "---:|" * len(SIZES)]
    for first in range(0, len(rows), len(SIZES)):
        line = rows[first : first + len(SIZES)]
        cells = [str(line[0].nodes), str(line[0].ranks), line[0].operation]
        cells += [figure(line[0].time_us), *(figure(row.busbw_GBps) for row in line[1:])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def figure(value: float) -> str:
    """Three figures, more only before the point."""
    return f"{value:#.3g}" if value < 100 else f"{value:,.0f}"


def csv_lines(name: str, rows: Sequence[ExpectRow]) -> Iterator[str]:
    """Lines of the CSV about one preset; four figures."""
    for row in rows:
        cells = [name, *(_plain(getattr(row, column)) for column in COLUMNS[1:])]
        yield _line(cells)


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def head() -> str:
    """What stands above the tables, with a link to each."""
    links = ", ".join(f"[{name}](#{name})" for name in preset_names())
    text = HEAD.format(short=SHORT, most=MOST_GPUS, parameters=f"`{parameters().digest}`")
    return f"{text}\n{links}\n"


def write() -> None:
    """Write both files."""
    page, lines = [head()], [_line(COLUMNS)]
    for name in preset_names():
        rows = rows_of(name)
        page.append(section(name, rows))
        lines += csv_lines(name, rows)
    DOCS.joinpath("expected-numbers.md").write_text("\n".join(page), encoding="utf-8")
    DOCS.joinpath("expected-numbers.csv").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        for wanted in sys.argv[1:]:
            print(section(wanted, rows_of(wanted)))
    else:
        write()

"""expect: the numbers that a healthy machine should show, as one table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import COPIES, Collective, Operation
from wirespeed.collectives.result import ForecastRow
from wirespeed.comparison.bands import tolerance, with_bands
from wirespeed.errors import Infeasible
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.topology.result import ParameterSet, Result

SIZES = (8, 2**16, 2**20, 2**24, 2**27, 2**30, 2**33, 2**34)
"""[B] that people ask for: the latency, the steps between, the plateau."""
COPY_SIZE = 2**28
OPERATIONS = (
    Operation.ALL_REDUCE,
    Operation.ALL_GATHER,
    Operation.REDUCE_SCATTER,
    Operation.ALLTOALL,
    Operation.BROADCAST,
    Operation.SENDRECV,
)


class ExpectRow(ForecastRow, frozen=True, kw_only=True):
    """A forecast row with the range of busbw [GB/s] that counts as healthy."""

    low_busbw_GBps: float
    high_busbw_GBps: float


class ExpectReport(Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.expect/1"):
    """Expected numbers of one machine, by nodes, operation and size."""

    machine: str
    gpu: str
    library: str
    rows: tuple[ExpectRow, ...]


def expect(clusters: Sequence[Cluster]) -> ExpectReport:
    """What each of some clusters of one machine should show; copies on a single node only."""
    first = clusters[0]
    rows: list[ExpectRow] = []
    for cluster in clusters:
        group = everyone(cluster)
        operations = OPERATIONS if len(group) > 1 else ()
        for operation in operations:
            rows += _rows(operation, cluster, group, SIZES)
        if cluster.nodes == 1:
            for copy in COPIES:
                if len(group) > 1 or copy is not Operation.P2P_COPY:
                    rows += _rows(copy, cluster, group, (COPY_SIZE,))
    return ExpectReport(
        parameters=ParameterSet(first.parameters.digest),
        warnings=tuple(dict.fromkeys(note for cluster in clusters for note in cluster.warnings)),
        machine=first.machine.name,
        gpu=first.machine.gpu,
        library=str(first.software),
        rows=tuple(rows),
    )


def _rows(
    operation: Operation, cluster: Cluster, group: Group, sizes: Sequence[int]
) -> list[ExpectRow]:
    try:
        made = forecast(Collective(operation), cluster, sizes, group)
    except Infeasible:
        # A machine whose GPUs have no way to do this one operation still answers the others.
        return []
    return [expected(row) for row in with_bands(made, cluster, group).rows]


def expected(row: ForecastRow) -> ExpectRow:
    """A forecast row with its range of busbw: its band, or what repeated runs differ by."""
    slack = 1 + tolerance(row.size_bytes)
    low = row.low_us if row.low_us is not None else row.time_us / slack
    high = row.high_us if row.high_us is not None else row.time_us * slack
    return ExpectRow(
        **msgspec.structs.asdict(row),
        low_busbw_GBps=row.busbw_GBps * row.time_us / high,
        high_busbw_GBps=row.busbw_GBps * row.time_us / low,
    )

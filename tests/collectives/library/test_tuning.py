"""The cost model against tables that NCCL itself printed, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.collectives.library.constants import constants_of, releases
from wirespeed.collectives.library.graph_summary import Graphs, GraphSummary, Team
from wirespeed.collectives.library.names import Algorithm
from wirespeed.collectives.library.tuning import Case, algorithm_bandwidth, latency, library_time
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.topology.kinds import PathType

pytestmark = pytest.mark.fast

LL, LL128, SIMPLE = Protocol
TREE, RING, PAT = Algorithm.TREE, Algorithm.RING, Algorithm.PAT
AR, AG, BC = Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.BROADCAST

# NCCL 2.29.7 printed this for two hosts with one RTX 5090 each over sockets: latency us / GB/s.
LOG = [
    (BC, RING, LL, 9.3, 1.2),
    (BC, RING, SIMPLE, 22.4, 2.4),
    (AG, RING, LL, 11.6, 2.4),
    (AG, RING, SIMPLE, 22.4, 4.8),
    (AG, PAT, SIMPLE, 17.6, 3.6),
    (AR, TREE, LL, 16.8, 0.5),
    (AR, TREE, SIMPLE, 36.4, 1.9),
    (AR, RING, LL, 16.6, 1.2),
    (AR, RING, SIMPLE, 36.4, 2.4),
]


def of_log(algorithm: Algorithm) -> GraphSummary:
    """Two channels at 1.2 GB/s; trees twice as fast inside, where there is but one GPU."""
    inside = 1.2 if algorithm is RING else 2.4
    return GraphSummary(2, inside, 1.2, PathType.LOC, PathType.PHB)


@pytest.mark.parametrize(("operation", "algorithm", "protocol", "us", "gb"), LOG)
def test_a_printed_table_comes_out_to_the_digit(operation, algorithm, protocol, us, gb):
    team, constants = Team(2, 2, 120, "Intel"), constants_of((2, 29, 7))
    case = Case(algorithm, protocol, operation, of_log(algorithm), team, constants)
    assert round(latency(case), 1) == us
    assert round(algorithm_bandwidth(case), 1) == gb


def inside(channels: int, speed: float) -> Graphs:
    graph = GraphSummary(channels, speed, speed, PathType.NVL, PathType.LOC)
    return Graphs(dict.fromkeys(Algorithm, graph), 2 * channels, 16)


@given(
    release=st.sampled_from(releases()),
    ranks=st.integers(2, 512),
    nodes=st.integers(1, 64),
    cc=st.sampled_from([70, 80, 90, 100]),
    algorithm=st.sampled_from([TREE, RING]),
    protocol=st.sampled_from(list(Protocol)),
)
def test_time_is_positive_finite_and_grows(release, ranks, nodes, cc, algorithm, protocol):
    team = Team(max(ranks, nodes), nodes, cc, "AMD")
    sizes = 2.0 ** np.arange(3, 35)
    graphs = inside(8, 20.0)
    time = library_time(algorithm, protocol, AR, sizes, graphs, team, release)
    assert np.isfinite(time).all()
    assert (time > 0).all()
    assert time[-1] > time[0]


def test_a_graph_without_channels_takes_forever():
    empty = GraphSummary(0, 20.0, 20.0, PathType.NVL, PathType.LOC)
    graphs = Graphs({Algorithm.NVLS: empty}, 16, 16)
    team, constants = Team(8, 1, 80), constants_of((2, 27, 0))
    time = library_time(Algorithm.NVLS, SIMPLE, AR, np.array([1e6]), graphs, team, constants)
    assert np.isinf(time).all()


def test_ring_bandwidth_falls_by_the_bus_factor():
    constants = constants_of((2, 27, 0))
    graph = inside(12, 30.0).of[RING]
    for ranks in (2, 4, 8):
        team = Team(ranks, 1, 90)
        speed = algorithm_bandwidth(Case(RING, SIMPLE, AR, graph, team, constants))
        assert speed * 2 * (ranks - 1) / ranks == pytest.approx(360)


def test_older_releases_than_known_take_the_oldest_constants():
    assert constants_of((2, 4, 8)).release == releases()[0].release
    assert constants_of((2, 26, 5)).release == "2.25"


def test_constants_name_their_source():
    for constants in releases():
        assert constants.source.startswith("https://")
        assert constants.basis in ("read", "recall")

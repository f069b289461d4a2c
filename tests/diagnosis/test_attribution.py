"""The change that made the rows is the one that is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccl_tests_text import LARGE, cluster_of
from wirespeed.collectives.operation import Collective, parse_operation
from wirespeed.diagnosis.attribution import LEAST, REACH, Diagnosis, attribute
from wirespeed.diagnosis.causes import causes
from wirespeed.diagnosis.hypotheses import hypotheses
from wirespeed.diagnosis.run import Measured, Run, run_on
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import everyone


def run_of(preset: str, nodes: int = 1, operation: str = "all_reduce", **env: str) -> Run:
    cluster = cluster_of(preset, nodes, **env)
    return run_on(cluster, everyone(cluster), Collective(parse_operation(operation)))


def rows(sizes=LARGE, times=None) -> Measured:
    amounts = np.array(sizes)
    seconds = np.ones(len(sizes)) if times is None else np.asarray(times)
    return Measured(amounts, seconds, np.zeros(len(sizes), np.bool_))


def measured(run: Run, *changes: str, factor: float = 1.0) -> Measured:
    """What the run would give under changes."""
    times = run.times(rows(), tuple(parse_change(text) for text in changes))
    assert times is not None
    return rows(times=times * factor)


def named(diagnosis: Diagnosis) -> list[str]:
    return [entry.cause for entry in diagnosis.causes]


@pytest.fixture(scope="module")
def node() -> Run:
    return run_of("dgx-h100")


@pytest.fixture(scope="module")
def four() -> Run:
    return run_of("dgx-h100", 4)


def test_what_the_forecast_says_is_not_slow(node, four):
    for run in (node, four):
        found = attribute(run, measured(run))
        assert not found.slow
        assert found.factor == pytest.approx(1)
        assert found.causes == ()


@given(st.floats(0.3, 1.05))
def test_what_is_as_fast_or_faster_is_never_slow(node, factor):
    assert not attribute(node, measured(node, factor=factor)).slow


def test_nvls_off_shows_by_the_ratio_of_ring_to_nvls(node):
    found = attribute(node, measured(node, "nvls=off"))
    assert found.slow
    assert named(found)[0] == "nvls_off"
    assert found.causes[0].error_after == pytest.approx(0, abs=1e-6)
    assert found.causes[0].error_before == pytest.approx(-0.25, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ([f"*/nic{i}=down" for i in (2, 3, 4, 5, 6, 7)], "wrong_or_few_nics"),
        ([f"*/nic{i}=down" for i in range(1, 8)], "wrong_or_few_nics"),
        (["net=socket"], "fabric_not_driven"),
        (["gdr=off"], "gdr_off"),
    ],
)
def test_a_cause_beyond_one_node_is_in_the_set(four, changes, cause):
    found = attribute(four, measured(four, *changes))
    assert found.slow
    assert cause in named(found)


def test_a_setting_that_costs_less_than_the_band_is_blamed_where_rows_bear_it_out():
    run = run_of("dgx-h100", NCCL_NVLS_ENABLE="0")
    stated = run.stated[0]
    times = run.times(rows(), stated.changes)
    assert times is not None
    found = attribute(run, rows(times=times))
    assert found.slow
    assert found.shown
    assert named(found)[0] == "nvls_off"


def test_a_setting_is_not_blamed_where_the_rows_are_as_fast_as_without():
    run = run_of("dgx-h100", NCCL_NVLS_ENABLE="0")
    assert not attribute(run, measured(run)).slow


def test_ten_times_slow_with_peer_to_peer_off_is_that_however_slow_exactly():
    run = run_of("dgx-a100", NCCL_P2P_DISABLE="1")
    for factor in (20, 40, 80):
        assert named(attribute(run, measured(run, factor=factor)))[0] == "p2p_disabled_env"


def test_a_curve_that_falls_off_its_best_over_a_network_is_congestion():
    run = run_of("dgx-h100", 2, NCCL_IB_ADAPTIVE_ROUTING="1")
    well = run.times(rows())
    assert well is not None
    fallen = well * np.where(np.array(LARGE) >= 2**31, 6.0, 1.0)
    found = attribute(run, rows(times=fallen))
    assert found.slow
    assert named(found)[0] == "adaptive_routing_or_congestion"


def test_the_same_fall_within_a_node_is_no_congestion(node):
    well = node.times(rows())
    assert well is not None
    fallen = well * np.where(np.array(LARGE) >= 2**31, 6.0, 1.0)
    assert "adaptive_routing_or_congestion" not in named(attribute(node, rows(times=fallen)))


def test_without_rows_only_a_ruinous_setting_is_named():
    empty = rows(sizes=[])
    ruined = attribute(run_of("dgx-a100", NCCL_P2P_LEVEL="LOC"), empty)
    assert ruined.slow
    assert named(ruined) == ["p2p_disabled_env"]
    assert ruined.causes[0].error_before is None
    assert not attribute(run_of("dgx-h100", NCCL_NVLS_ENABLE="0"), empty).slow
    assert not attribute(run_of("dgx-h100"), empty).slow


def test_a_cause_is_impossible_on_a_machine_without_that_part(node, four):
    on_node = {guess.cause for guess in hypotheses(node)}
    assert not on_node & {"gdr_off", "wrong_or_few_nics", "fabric_not_driven", "pxn_off"}
    ring = {guess.cause for guess in hypotheses(four)}
    assert "pxn_off" not in ring
    assert "channels_per_net_peer" not in ring
    pcie = {guess.cause for guess in hypotheses(run_of("pcie-8x-rtx4090"))}
    assert not pcie & {"nvls_off", "nvlink_down", "gdr_off"}


def test_gpudirect_that_was_seen_to_work_is_not_suspected(four):
    seen = run_of("dgx-h100", 4)
    seen.direct = True
    causes_seen = {guess.cause for guess in hypotheses(seen)}
    assert not causes_seen & {"gdr_off", "fabric_not_driven"}
    assert "acs_iommu" in causes_seen


def test_an_all_to_all_may_lack_pxn_or_channels_to_its_peers():
    found = {guess.cause for guess in hypotheses(run_of("dgx-h100", 2, "alltoall"))}
    assert {"pxn_off", "channels_per_net_peer"} <= found


def test_at_most_three_causes_each_once_and_each_explained(four):
    found = attribute(four, measured(four, factor=6))
    assert found.slow
    assert 0 < len(found.causes) <= 3
    assert len(set(named(found))) == len(found.causes)
    assert set(named(found)) <= set(causes())


def test_every_hypothesis_has_a_sentence_and_a_level():
    for run in (run_of("dgx-h100", 3), run_of("pcie-8x-rtx4090"), run_of("dgx-1v")):
        for guess in hypotheses(run):
            assert guess.cause in causes()
            assert 0 < guess.weight <= 1


@given(st.floats(0.0, 1.0))
def test_slower_than_most_is_told_from_slow_by_the_width_of_the_band(node, share):
    _, high = node.bands(rows(sizes=[2**33]))
    width = max(float(np.log(high[0])), LEAST)
    factor = float(np.exp(width * REACH * 2 * share))
    found = attribute(node, measured(node, factor=factor))
    if abs(2 * share - 1) > 0.05:
        assert found.slow == (share > 0.5)


@given(st.floats(1.1, 6.0))
def test_no_cause_is_named_with_which_the_forecast_is_farther_from_the_rows(node, factor):
    for entry in attribute(node, measured(node, factor=factor)).causes:
        if entry.error_after is not None:
            before, after = (abs(np.log1p(e)) for e in (entry.error_before, entry.error_after))
            assert after < before, entry

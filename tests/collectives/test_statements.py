"""What published sweeps say of algorithms, said of forecasts."""

from __future__ import annotations

from itertools import pairwise

import pytest

import wirespeed as ws
from wirespeed.catalog import nic

LARGE = "8G"


def busbw(op: str, preset: str, *, nodes: int | None = None, **how: object) -> float:
    """GB/s of an operation on 8 GiB."""
    on = ws.cluster(preset, nodes=nodes)
    return ws.collective(op, on, sizes=how.pop("sizes", LARGE), **how).rows[0].busbw_GBps


@pytest.mark.parametrize("gpus", [2, 3, 4, 5, 6, 7, 8])
def test_nvls_wins_from_five_h200_on(gpus: int):
    row = ws.collective("all_reduce", "hgx-h200", sizes=LARGE, ranks=f"0-{gpus - 1}").rows[0]
    assert row.algorithm == ("NVLS" if gpus >= 5 else "Ring")


def test_nvls_is_faster_than_the_ring_by_what_sweeps_with_it_off_show():
    # Published: 480 over 367 on H200; machines of one kind differ by 2 % above 16 MiB. On B200 it
    # is 740 over 682 to 4 GiB; two clouds step to 840 at 8 GiB, which no forecast here does.
    ratio = busbw("all_reduce", "hgx-h200") / busbw("all_reduce", "hgx-h200", algo="Ring")
    assert ratio == pytest.approx(480 / 367, rel=0.02)
    nvls, ring = (
        busbw("all_reduce", "dgx-b200", algo=algo, sizes="4G") for algo in ("NVLS", "Ring")
    )
    assert nvls / ring == pytest.approx(740 / 682, rel=0.03)


def test_two_nodes_run_above_their_nics_by_a_tree_and_below_by_a_ring():
    nics = 8 * 50.0
    assert busbw("all_reduce", "dgx-h100", nodes=2) > nics
    assert busbw("all_reduce", "dgx-h100", nodes=2, algo="Ring") < nics


@pytest.mark.parametrize("nodes", [2, 4, 8])
def test_an_alltoall_is_capped_by_one_nic_for_each_gpu(nodes: int):
    # Of a rank's n - 1 messages n - g leave its domain of g through its own NIC.
    ranks, domain, wire = 8 * nodes, 8, 50.0
    ceiling = (ranks - 1) / (ranks - domain) * wire
    found = busbw("alltoall", "dgx-h100", nodes=nodes)
    assert 0.75 * ceiling < found <= ceiling


def test_a_pair_of_mi300x_has_one_link_of_seven():
    pair = busbw("all_reduce", "mi300x-8", ranks="0-1")
    assert 0.6 * 64 < pair < 64
    assert busbw("all_reduce", "mi300x-8") > 6 * pair


def test_the_v100_mesh_goes_up_and_down_with_the_number_of_gpus():
    # Rings without a shared lane on 2 to 8 GPUs of a DGX-1V: published 22.4 GB/s a lane.
    rates = [busbw("all_reduce", "dgx-1v", ranks=f"0-{n - 1}") for n in range(2, 9)]
    steps = [b > a for a, b in pairwise(rates)]
    assert True in steps
    assert False in steps


def test_boxes_without_peer_to_peer_go_through_host_memory():
    row = ws.collective("all_reduce", "pcie-8x-rtx4090", sizes=LARGE).rows[0]
    assert row.busbw_GBps < 0.5 * 31.5


def test_the_nic_of_these_nodes_is_what_the_sums_use():
    assert nic("connectx-7").rate_Gbps / 8 == pytest.approx(50.0)


@pytest.mark.parametrize(("preset", "nodes"), [("dgx-h100", 4), ("dgx-h100", 16), ("dgx-b200", 8)])
def test_hand_overs_over_a_network_are_no_steeper_than_published_ones(preset: str, nodes: int):
    # Twice the size takes up to 2.7 times as long on healthy machines, and never much less time.
    on = ws.cluster(preset, nodes=nodes)
    times = [row.time_us for row in ws.collective("all_reduce", on, sizes="8:16G").rows]
    ratios = [after / before for before, after in pairwise(times)]
    assert max(ratios) < 2.7
    assert min(ratios) > 0.7

"""A change laid over a cluster that has been used says what one built under that change says."""

from __future__ import annotations

from functools import cache

import pytest

from collectives.collective_cases import build, machine
from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.errors import Infeasible, WirespeedError
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, changed

SIZES = [8, 2**20, 2**30]
EDITS = [
    ("node1/nic3=0.5",),
    ("node1/nic3=down",),
    ("node0/gpu1>node0/nvswitch2=0.5",),
    ("node0/gpu1-node0/nvswitch2=down",),
    ("leaf0-spine1=0.5",),
    ("leaf0-spine1=down",),
    ("node0/pcie0=0.25", "node1/gpu2=0.5"),
    ("gdr=off",),
    ("routing=ecmp", "node2/nic0=0.5"),
]


def said(on: Cluster) -> list[object]:
    """Rows of several operations, or why there are none."""
    found: list[object] = []
    for operation in (Operation.ALL_REDUCE, Operation.ALLTOALL, Operation.SENDRECV):
        try:
            found.append(forecast(Collective(operation), on, SIZES).rows)
        except Infeasible as error:
            found.append(str(error))
    return found


@cache
def warm(preset: str) -> tuple[Cluster, list[object]]:
    """A cluster that has been used, and what it said."""
    on = build(machine(preset), 3)
    return on, said(on)


@pytest.mark.parametrize("edits", EDITS, ids=" ".join)
@pytest.mark.parametrize("preset", ["dgx-h100", "dgx-1v", "dgx-a100"])
def test_a_change_on_a_warm_cluster(preset: str, edits: tuple[str, ...]):
    on, before = warm(preset)
    try:
        fresh = build(machine(preset), 3, *edits)
    except WirespeedError as error:
        with pytest.raises(type(error)):
            changed(on, map(parse_change, edits))
        return
    assert said(changed(on, map(parse_change, edits))) == said(fresh)
    assert said(on) == before


def test_a_change_on_top_of_another():
    on, _ = warm("dgx-h100")
    first = changed(on, [parse_change("node1/nic3=0.5")])
    said(first)
    second = changed(first, [parse_change("node1/nic3=0.5"), parse_change("node2/nic1=down")])
    fresh = build(machine("dgx-h100"), 3, "node1/nic3=0.5", "node1/nic3=0.5", "node2/nic1=down")
    assert said(second) == said(fresh)

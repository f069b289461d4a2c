"""By which NICs messages leave and enter nodes, where there are several to a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from collectives.bound_cases import many, preset_cluster
from collectives.test_blocks import assert_counted
from wirespeed.collectives.bounds import bounds_of
from wirespeed.collectives.doors import doors_of
from wirespeed.collectives.loads import loads_of
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.topology.address import resource_name
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, changed, everyone
from wirespeed.topology.fabrics.generic import RAIL_OPTIMISED
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machine import Machine
from wirespeed.topology.unit import UnitBuilder

ALLTOALL = Collective(Operation.ALLTOALL)


def one_switch(gpus: int, nics: int) -> Machine:
    """GPUs and NICs on one PCIe switch."""
    builder = UnitBuilder("one switch")
    bridge = builder.add(ComponentKind.PCIE)
    for _ in range(gpus):
        card = builder.add(ComponentKind.GPU, numa=0)
        builder.connect(card, bridge, LinkKind.PCIE, bandwidth=64e9)
    for rail in range(nics):
        port = builder.add(ComponentKind.NIC, rail=rail, rate=12.5e9)
        builder.connect(port, bridge, LinkKind.PCIE, bandwidth=64e9)
    return Machine("one switch", builder.build(), gpu="a100-pcie-40gb")


def sent_by_nic(on: Cluster) -> dict[str, float]:
    """Bytes that each NIC of node 1 sends in an all-to-all of one byte a rank."""
    payload = loads_of(ALLTOALL, on, everyone(on), 2**30).payload / 2**30
    topology = on.topology
    links = np.flatnonzero(topology.link_kind == LinkKind.NETWORK)
    names = {resource_name(topology, int(link)): float(payload[link]) for link in links}
    return {n.partition(">")[0]: b for n, b in names.items() if n.startswith("node1/")}


@pytest.mark.parametrize(("gpus", "nics", "each"), [(1, 4, 4), (2, 4, 2), (4, 4, 1), (4, 2, 1)])
def test_gpus_share_out_the_nics_beside_them(gpus: int, nics: int, each: int) -> None:
    on = many(one_switch(gpus, nics), 2, RAIL_OPTIMISED)
    group = everyone(on)
    assert doors_of(on, group).turns == each
    by_turn = np.stack([doors_of(on, group, turn).nic for turn in range(each)])
    taken = [set(column) for column in by_turn.T.tolist()]
    assert all(len(several) == each for several in taken)
    sent = sent_by_nic(on)
    # Half of each rank's byte crosses to the other node.
    assert list(sent.values()) == pytest.approx([gpus / 2 / nics] * nics)
    assert_counted(on, group)


@pytest.mark.parametrize("preset", ["aws-p5", "aws-p5en", "aws-p6-b300"])
def test_an_alltoall_uses_every_nic_of_a_machine_that_has_several_a_gpu(preset: str) -> None:
    on = preset_cluster(preset, 3)
    group = everyone(on)
    seconds = loads_of(ALLTOALL, on, group, 2**34).time
    assert seconds <= 1.15 * bounds_of(Operation.ALLTOALL, on, group).with_network(2**34)


def test_the_nics_beside_a_lost_one_share_its_traffic() -> None:
    on = preset_cluster("dgx-h100", 3)
    whole = sent_by_nic(on)["node1/nic0"]
    sent = sent_by_nic(changed(on, [parse_change("*/nic0=down")]))
    assert sent["node1/nic0"] == 0
    assert [sent[f"node1/nic{k}"] for k in (1, 2, 3)] == pytest.approx([4 / 3 * whole] * 3)
    assert [sent[f"node1/nic{k}"] for k in (4, 5, 6, 7)] == pytest.approx([whole] * 4)

"""Whatever breaks alone, a cluster goes on, or it is said who is cut off."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from collectives.bound_cases import preset_cluster
from wirespeed.collectives.candidates import taken, time_of
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.errors import Infeasible
from wirespeed.topology.address import name_of
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, Group, changed, everyone
from wirespeed.topology.kinds import ComponentKind

SIZE = 2**26
OPERATIONS = (
    Operation.ALL_REDUCE,
    Operation.ALL_GATHER,
    Operation.BROADCAST,
    Operation.ALLTOALL,
    Operation.SENDRECV,
)
SEVERAL_NICS = (
    *("dgx-1v", "dgx-2", "dgx-a100", "dgx-h100", "hgx-b200", "gb200-nvl72", "mi300x-8"),
    *("aws-p4d", "aws-p5", "azure-ndh100-v5", "perlmutter"),
)
ONE_NIC = ("gh200", "azure-ndv2", "pcie-8x-a40")


def broken(cluster: Cluster) -> Iterator[str]:
    """One NIC of the first node, one of the last, one leaf, one GPU."""
    topology = cluster.topology
    nics = topology.of_kind(ComponentKind.NIC)
    nics = nics[topology.rail[nics] >= 0]
    yield f"{name_of(topology, int(nics[0]))}=down"
    yield f"{name_of(topology, int(nics[-1]))}=down"
    if len(topology.of_kind(ComponentKind.LEAF)) > 1:
        yield "leaf0=down"
    yield "node0/gpu0=down"


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [2, 3, 5])
@pytest.mark.parametrize("preset", SEVERAL_NICS)
def test_a_cluster_of_several_rails_survives_every_single_fault(preset: str, nodes: int) -> None:
    cluster = preset_cluster(preset, nodes)
    operations = OPERATIONS if nodes == 3 else (Operation.ALL_REDUCE, Operation.ALLTOALL)
    for text in broken(cluster):
        after = changed(cluster, [parse_change(text)])
        for operation in operations:
            seconds = time_of(Collective(operation), after, everyone(after), SIZE)
            assert np.isfinite(seconds), (text, operation)


@pytest.mark.parametrize("preset", ONE_NIC)
def test_a_node_that_loses_its_only_nic_is_named(preset: str) -> None:
    cluster = preset_cluster(preset, 3)
    after = changed(cluster, [parse_change("node1/nic0=down")])
    for operation in OPERATIONS:
        with pytest.raises(Infeasible, match=r"node1/gpu\d has no network") as caught:
            time_of(Collective(operation), after, everyone(after), SIZE)
        assert "is down" in caught.value.why


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_nic_that_is_cut_off_inside_its_node_is_as_good_as_lost(operation: Operation) -> None:
    cluster = preset_cluster("dgx-1v", 3)
    cut, lost = (
        time_of(Collective(operation), after, everyone(after), SIZE)
        for after in (
            changed(cluster, [parse_change(text)])
            for text in ("node0/nic0-node0/pcie0=down", "node0/nic0=down")
        )
    )
    assert cut == pytest.approx(lost)


@pytest.mark.parametrize("cable", [">", "-", "<"])
def test_an_nvlink_that_is_dead_one_way_is_as_good_as_gone_for_switches_that_add_up(
    cable: str,
) -> None:
    ends = ["node0/gpu0", "node0/nvswitch0"]
    name = ">".join(reversed(ends)) if cable == "<" else cable.join(ends)
    after = changed(preset_cluster("dgx-h100"), [parse_change(f"{name}=down")])
    found = taken(Collective(Operation.ALL_REDUCE), after, everyone(after), 2**30)
    assert found.algorithm == "NVLS"
    whole = preset_cluster("dgx-h100")
    sound = taken(Collective(Operation.ALL_REDUCE), whole, everyone(whole), 2**30)
    # 13 of 18 lanes are left to that GPU, both ways.
    assert found.per_byte == pytest.approx(18 / 13 * sound.per_byte)


def test_whichever_rail_is_lost_an_alltoall_takes_the_same_way_round_it() -> None:
    # The GPU whose NIC is gone borrows another's; it must not stand in for that one's neighbour.
    cluster = preset_cluster("dgx-h100", 4)
    call = Collective(Operation.ALLTOALL)
    after = [changed(cluster, [parse_change(f"leaf{rail}=down")]) for rail in range(8)]
    times = [time_of(call, on, everyone(on), 2**30) for on in after]
    assert times == pytest.approx([times[0]] * 8)


def test_a_mesh_uses_its_links_whichever_gpu_is_lost() -> None:
    # Of MI250X nodes the first and the last GPU are joined by way of one that may be gone.
    cluster = preset_cluster("mi250x-8")
    after = [changed(cluster, [parse_change(f"gpu{k}=down")]) for k in range(8)]
    times = []
    for on in after:
        left = everyone(on).gpus
        left = left[on.topology.capacity[on.topology.links + left] > 0]
        times.append(time_of(Collective(Operation.ALL_REDUCE), on, Group(left), SIZE))
    assert times == pytest.approx([times[0]] * 8, rel=1e-3)

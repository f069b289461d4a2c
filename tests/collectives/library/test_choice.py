"""What NCCL was seen to choose, and what follows from its cost model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

import wirespeed as ws
from wirespeed.collectives.library.plan import Plan, make_plan
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.errors import UsageError
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Group, build_cluster, everyone
from wirespeed.topology.fabrics.generic import FAT_TREE
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.software import Software

pytestmark = pytest.mark.fast
KIB, MIB, GIB = 2**10, 2**20, 2**30


def plan_of(
    preset: str,
    version: tuple[int, ...],
    *,
    operation: Operation = Operation.ALL_REDUCE,
    ranks: int | None = None,
    nodes: int | None = None,
    dtype: str = "float",
    env: Mapping[str, str] | None = None,
    changes: Sequence[str] = (),
) -> Plan:
    cluster = build_cluster(
        preset_machine(preset),
        nodes=nodes,
        fabric=("fat-tree", FAT_TREE) if nodes else None,
        software=Software("nccl", version, env or {}),
        changes=[parse_change(text) for text in changes],
    )
    group = everyone(cluster)
    return make_plan(Collective(operation, dtype), cluster, Group(group.gpus[:ranks]))


def chosen(plan: Plan, size: int) -> str:
    option = plan.options[int(plan.choice([size])[0])]
    return f"{option.algorithm}/{option.protocol}"


def first_multicast(preset: str, version: tuple[int, ...]) -> int:
    for ranks in range(2, 9):
        if chosen(plan_of(preset, version, ranks=ranks), 8 * GIB) == "NVLS/Simple":
            return ranks
    return 9


@pytest.mark.parametrize("version", [(2, 21, 5), (2, 22, 3), (2, 23, 4), (2, 27, 7), (2, 29, 2)])
def test_eight_h100_take_ring_ll_to_1_mib_and_nvls_from_2(version):
    plan = plan_of("dgx-h100", version)
    assert chosen(plan, MIB) == "Ring/LL"
    assert chosen(plan, 2 * MIB) == "NVLS/Simple"
    assert chosen(plan, 16 * GIB) == "NVLS/Simple"


def test_nvls_wins_from_five_hopper_and_six_blackwell():
    assert first_multicast("dgx-h100", (2, 27, 7)) == 5
    assert first_multicast("dgx-b200", (2, 27, 7)) == 6


def test_no_release_multicasts_for_four_gpus_or_fewer():
    for version in [(2, 18, 5), (2, 21, 5), (2, 23, 4), (2, 27, 7), (2, 28, 9), (2, 29, 2)]:
        assert first_multicast("dgx-h100", version) > 4
        assert first_multicast("dgx-b200", version) > 4


def test_int8_has_no_nvls():
    plan = plan_of("dgx-h100", (2, 27, 7), dtype="int8")
    assert chosen(plan, 8 * GIB) == "Ring/Simple"
    assert any("int8" in reason for reason in plan.reasons.values())


@pytest.mark.parametrize("operation", [Operation.ALL_GATHER, Operation.REDUCE_SCATTER])
@pytest.mark.parametrize("preset", ["dgx-h100", "dgx-b200"])
def test_gathers_stay_on_the_ring(preset, operation):
    for version in [(2, 27, 7), (2, 28, 9), (2, 29, 2)]:
        plan = plan_of(preset, version, operation=operation)
        assert {chosen(plan, 2**k).split("/")[0] for k in range(3, 35)} == {"Ring"}
    older = plan_of(preset, (2, 20, 5), operation=operation)
    assert {chosen(older, 2**k).split("/")[0] for k in range(25, 35)} == {"Ring"}


# Sizes at which published sweeps jump by more than two for a doubled message.
@pytest.mark.parametrize(
    ("preset", "version", "operation", "ranks", "size"),
    [
        ("dgx-a100", (2, 21, 5), Operation.ALL_REDUCE, 2, MIB),
        ("dgx-h100", (2, 29, 2), Operation.ALL_REDUCE, 2, 2 * MIB),
        ("dgx-b200", (2, 29, 2), Operation.ALL_REDUCE, 2, 4 * MIB),
        ("dgx-b200", (2, 29, 2), Operation.ALL_REDUCE, 4, 8 * MIB),
        ("gb200-nvl72", (2, 29, 2), Operation.ALL_REDUCE, 4, 8 * MIB),
        ("dgx-b200", (2, 29, 2), Operation.ALL_GATHER, 8, 16 * MIB),
        ("dgx-b200", (2, 29, 2), Operation.REDUCE_SCATTER, 8, 16 * MIB),
    ],
)
def test_ll_ends_where_published_sweeps_jump(preset, version, operation, ranks, size):
    plan = plan_of(preset, version, operation=operation, ranks=ranks)
    assert chosen(plan, size // 2) == "Ring/LL"
    assert chosen(plan, size) != "Ring/LL"


def test_nvls_tree_gives_way_to_the_ring_where_h100_sweeps_step():
    four, eight = (plan_of("dgx-h100", (2, 27, 7), nodes=nodes) for nodes in (4, 8))
    assert chosen(four, 128 * MIB) == "NVLSTree/Simple"
    assert chosen(four, 256 * MIB) == "Ring/Simple"
    assert chosen(eight, 512 * MIB) == "NVLSTree/Simple"
    assert chosen(eight, GIB) == "Ring/Simple"


def test_two_nodes_never_leave_the_tree():
    plan = plan_of("dgx-h100", (2, 27, 7), nodes=2)
    assert all("Tree" in chosen(plan, 2**k) for k in range(3, 35))


def test_collnet_is_no_candidate_unless_the_network_reduces():
    asked = {"NCCL_COLLNET_ENABLE": "1"}
    without = plan_of("dgx-h100", (2, 27, 7), nodes=4, env=asked, changes=["sharp=off"])
    assert not any(option.algorithm.startswith("CollNet") for option in without.options)
    assert "the network does not reduce" in without.reasons.values()
    having = plan_of("dgx-h100", (2, 27, 7), nodes=4, env=asked)
    assert any(option.algorithm.startswith("CollNet") for option in having.options)


def test_environment_takes_options_away():
    plan = plan_of("dgx-h100", (2, 27, 7), env={"NCCL_NVLS_ENABLE": "0"})
    assert chosen(plan, 8 * GIB) == "Ring/Simple"
    plan = plan_of("dgx-h100", (2, 27, 7), env={"NCCL_ALGO": "allreduce:tree", "NCCL_PROTO": "LL"})
    assert [f"{o.algorithm}/{o.protocol}" for o in plan.options] == ["Tree/LL"]
    plan = plan_of("dgx-h100", (2, 27, 7), changes=["nvls=off"])
    assert chosen(plan, 8 * GIB) == "Ring/Simple"


def test_what_cannot_run_gives_way_to_the_ring_with_a_notice():
    plan = plan_of("dgx-h100", (2, 27, 7), env={"NCCL_ALGO": "CollNetDirect"})
    assert {option.algorithm for option in plan.options} == {"Ring"}
    assert [notice.code for notice in plan.notices] == ["algorithm-not-available"]


@pytest.mark.parametrize(
    ("preset", "channels"),
    [("dgx-1v", 12), ("dgx-a100", 24), ("hgx-a100-4", 24), ("dgx-h100", 24), ("dgx-b200", 32)],
)
def test_channels_are_those_of_published_logs(preset, channels):
    plan = plan_of(preset, (2, 27, 7), operation=Operation.BROADCAST)
    assert {option.channels for option in plan.options} == {channels}


def test_channels_follow_what_the_user_sets():
    plan = plan_of("dgx-h100", (2, 27, 7), env={"NCCL_MAX_NCHANNELS": "8"})
    assert {option.channels for option in plan.options} == {8}
    plan = plan_of("dgx-a100", (2, 21, 5), env={"NCCL_MIN_CTAS": "32"})
    assert {option.channels for option in plan.options} == {32}


def test_small_messages_run_on_few_channels():
    plan = plan_of("dgx-h100", (2, 27, 7))
    counts = plan.channels([8, 64 * KIB, GIB])
    ring = [f"{o.algorithm}/{o.protocol}" for o in plan.options].index("Ring/LL")
    assert counts[ring].tolist() == [1, 2, 24]


def test_every_option_is_available_or_explained():
    plan = plan_of("dgx-h100", (2, 27, 7))
    assert len(plan.options) + len(plan.reasons) == 21
    assert all(plan.reasons.values())
    assert len(list(plan.explain())) == 21


def test_alltoall_has_no_choice():
    with pytest.raises(UsageError):
        plan_of("dgx-h100", (2, 27, 7), operation=Operation.ALLTOALL)


def test_mi300x_leaves_ll_at_176_kb_a_rank():
    plan = plan_of("mi300x-8", (2, 22, 0))
    assert chosen(plan, 1403904) == "Ring/LL"
    assert chosen(plan, 1403905) == "Ring/Simple"


def test_a_thousand_nodes_of_mi355x_do_not_wait_for_a_ring_of_all():
    """2(n - 1) steps on 12,800 ranks are 25,598: a tree has a few dozen."""
    sizes = [2**29, 2**30, 2**32]
    few = ws.collective("all_reduce", ws.cluster("mi355x-8", nodes=4), sizes=sizes).rows
    many = ws.collective("all_reduce", ws.cluster("mi355x-8", nodes=1600), sizes=sizes).rows
    assert [row.algorithm for row in few] == ["Ring"] * 3
    assert [row.algorithm for row in many] == ["Tree"] * 3
    assert many[0].time_us < 10 * few[0].time_us

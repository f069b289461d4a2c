"""What must follow when a machine changes: on every preset, whatever its numbers are."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from collectives.collective_cases import PLATEAU, build, cluster, group, machine, options, rows
from wirespeed.collectives.algorithms.ring import ring_schedule
from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.layout import layout_of
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.rings import find_rings
from wirespeed.topology.address import name_of, resource_name
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind, PathType
from wirespeed.topology.machine import Machine
from wirespeed.topology.machines import machine_of
from wirespeed.topology.path_types import smi_word
from wirespeed.topology.presets import preset, preset_names
from wirespeed.topology.unit import Unit

ALL = [name for name in preset_names() if len(machine(name).unit.of_kind(ComponentKind.GPU)) > 1]
SEVERAL = [
    "dgx-1v",
    "dgx-a100",
    "dgx-b200",
    "gb200-nvl72",
    "mi300x-8",
    "mi250x-8",
    "aws-p4d",
    "aws-p5",
    "aws-p3dn",
    "gcp-a3-high",
    "polaris",
    "pcie-8x-rtx4090",
    "pcie-8x-h100-nvl",
]
SIZES = [8, 2**16, 2**20, 2**24, PLATEAU]


def members(on: Cluster, of_each: int = 8) -> Group:
    """The first GPUs of each unit."""
    gpus = on.topology.gpus()
    unit = on.topology.unit_of(gpus)
    return Group(np.concatenate([gpus[unit == u][:of_each] for u in np.unique(unit)]).astype(int))


def by_name(found: tuple[Candidate, ...]) -> dict[tuple[str, str], Candidate]:
    return {(c.algorithm, c.protocol): c for c in found}


def times(found: tuple[Candidate, ...]) -> dict[tuple[str, str], list[float]]:
    return {key: c.time(np.array(SIZES, float)).tolist() for key, c in by_name(found).items()}


def check_halved(what: Machine, on: Cluster, units: int, chosen: Group) -> None:
    """Half the named bottleneck takes twice as long for each byte; the latency stays."""
    before = by_name(options("all_reduce", on, chosen))
    limits = {c.bottleneck for c in before.values() if c.protocol == "Simple" and c.bottleneck >= 0}
    for resource in sorted(limits):
        change = f"{resource_name(on.topology, resource)}=0.5"
        after = by_name(options("all_reduce", build(what, units, change), chosen))
        for key in before.keys() & after.keys():
            was, now = before[key], after[key]
            if was.bottleneck == resource:
                assert now.per_byte == pytest.approx(2 * was.per_byte), (change, key)
            assert was.per_byte * 0.999 <= now.per_byte <= 2.001 * was.per_byte
            assert now.latency == pytest.approx(was.latency)


@pytest.mark.parametrize("name", ALL)
def test_at_half_the_bottleneck_a_byte_takes_twice_as_long(name):
    on = cluster(name)
    check_halved(machine(name), on, 1, members(on))


@pytest.mark.parametrize("name", SEVERAL)
def test_so_it_does_over_two_units(name):
    on = cluster(name, 2)
    check_halved(machine(name), on, 2, members(on, 4))


@pytest.mark.parametrize("name", ["dgx-h100", "mi300x-8", "dgx-1v", "pcie-8x-rtx4090"])
def test_the_forecast_of_a_large_ring_doubles_with_it(name):
    on = cluster(name, 1, "algo=Ring")
    row = rows("all_reduce", on, [64 * PLATEAU])[0]
    halved = cluster(name, 1, "algo=Ring", f"{row.bottleneck}=0.5")
    slower = rows("all_reduce", halved, [64 * PLATEAU])[0]
    assert 1.85 <= slower.time_us / row.time_us <= 2.0
    assert slower.bottleneck == row.bottleneck


@pytest.mark.parametrize("name", ALL)
def test_what_takes_no_part_can_be_slow(name):
    """Two GPUs of a node do not notice the last one's links, nor the NICs'."""
    on = cluster(name)
    gpus = on.topology.gpus()
    pair = Group(gpus[:2].astype(np.int64))
    others = [int(gpus[-1])] if len(gpus) > 2 else []
    others += on.topology.of_kind(ComponentKind.NIC)[:1].tolist()
    changes = [f"{name_of(on.topology, c)}=0.5" for c in others]
    slow = build(machine(name), 1, *changes)
    assert options("all_reduce", slow, pair) == options("all_reduce", on, pair)


def loads_of(on: Cluster, chosen: Group) -> np.ndarray:
    """[resources] payload of a ring all-reduce for each byte."""
    schedule = ring_schedule(Operation.ALL_REDUCE, find_rings(layout_of(on, chosen)))
    total = np.zeros(on.topology.resources)
    for phase in schedule.phases:
        for load in Carrier(on, chosen).carry(phase.transfers).loads.values():
            total += load * phase.repeat
    return total


@pytest.mark.parametrize(("name", "units"), [*((n, 1) for n in ALL), *((n, 2) for n in SEVERAL)])
def test_no_resource_moves_more_than_it_can(name, units):
    on = cluster(name, units)
    chosen = members(on, 8 // units)
    ring = [c for c in options("all_reduce", on, chosen) if c.algorithm == "Ring"]
    loads = loads_of(on, chosen)
    for option in ring:
        rate = loads * PLATEAU / option.time(PLATEAU)
        assert (rate <= on.topology.capacity * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", SEVERAL)
def test_half_of_every_resource_that_a_ring_does_not_use_changes_nothing(name):
    on = cluster(name, 2)
    chosen = members(on, 4)
    idle = np.flatnonzero(loads_of(on, chosen) == 0)
    slow = replace(on, topology=on.topology.scaled(idle, 0.5))
    slow = replace(slow, router=type(on.router)(slow.topology))
    before, after = (by_name(options("all_reduce", c, chosen)) for c in (on, slow))
    rings = [key for key in before if key[0] == "Ring"]
    assert rings
    assert [after[key] for key in rings] == [before[key] for key in rings]


@pytest.mark.parametrize("operation", ["all_reduce", "alltoall", "p2p_copy"])
@pytest.mark.parametrize("name", ALL)
def test_a_larger_message_takes_longer_and_none_beats_the_bound(name, operation):
    on = cluster(name)
    chosen = members(on)
    for series in times(options(operation, on, chosen)).values():
        assert series == sorted(series)
    if operation == "all_reduce":
        check_bounds(operation, on, chosen)


def check_bounds(operation: str, on: Cluster, chosen: Group) -> None:
    """No forecast is faster than any schedule could be, nor than the wire."""
    for row in rows(operation, on, SIZES, chosen):
        assert row.time_us >= row.bound_us
        assert row.wire_share <= 1 + 1e-9


@pytest.mark.parametrize(
    "operation", ["all_gather", "reduce_scatter", "broadcast", "reduce", "sendrecv", "all_reduce"]
)
@pytest.mark.parametrize("name", SEVERAL)
def test_that_holds_for_all_operations_over_two_units(name, operation):
    on = cluster(name, 2)
    chosen = members(on, 4)
    for series in times(options(operation, on, chosen)).values():
        assert series == sorted(series)
    check_bounds(operation, on, chosen)


@pytest.mark.parametrize("name", SEVERAL)
def test_of_two_equal_nodes_either_may_come_first(name):
    on = cluster(name, 2)
    chosen = members(on, 4)
    half = len(chosen) // 2
    turned = Group(np.concatenate([chosen.gpus[half:], chosen.gpus[:half]]))
    for operation in ("all_reduce", "alltoall"):
        here, there = (times(options(operation, on, g)) for g in (chosen, turned))
        assert here.keys() == there.keys()
        for key in here:
            assert there[key] == pytest.approx(here[key])


def relabelled(unit: Unit, seed: int) -> Unit:
    """The same unit with its components and cables built in another order; addresses stay."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(unit.components)
    place = np.argsort(order).astype(np.int32)
    cables = draw.permutation(unit.links // 2)
    links = np.stack([2 * cables, 2 * cables + 1], axis=1).ravel()
    per_component = ("kind", "node", "index", "numa", "model", "rail", "rate", "throughput")
    per_link = ("link_kind", "lanes", "bandwidth", "latency")
    return replace(
        unit,
        **{name: getattr(unit, name)[order] for name in per_component},
        source=place[unit.source[links]],
        target=place[unit.target[links]],
        **{name: getattr(unit, name)[links] for name in per_link},
        labels={int(place[c]): label for c, label in unit.labels.items()},
    )


def all_times(on: Cluster, chosen: Group) -> dict[tuple[str, str], list[float]]:
    """Of every way to do an all_reduce."""
    return times(options("all_reduce", on, chosen))


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_construction_changes_nothing(name):
    first = machine(name)
    second = replace(first, unit=relabelled(first.unit, seed=7))
    chosen = members(on := cluster(name))
    other = build(second)
    names = [name_of(on.topology, int(g)) for g in chosen.gpus]
    place = {name_of(other.topology, int(g)): int(g) for g in other.topology.gpus()}
    same = Group(np.array([place[n] for n in names]))
    here, there = all_times(on, chosen), all_times(other, same)
    assert here.keys() == there.keys()
    for key in here:
        assert there[key] == pytest.approx(here[key]), key


@pytest.mark.parametrize("name", ALL)
def test_the_numbers_of_ranks_do_not_matter(name):
    on = cluster(name)
    chosen = members(on)
    shuffled = Group(np.random.default_rng(3).permutation(chosen.gpus))
    here, there = all_times(on, chosen), all_times(on, shuffled)
    for key in here:
        assert there[key] == pytest.approx(here[key]), key


def moved_nics(name: str, numa: int) -> Machine:
    """A two-socket node with all its NICs on one socket, on host bridges of their own."""
    design = preset(name)
    nics = tuple(n for part in design.pcie for n in part.nics)
    groups = tuple(msgspec.structs.replace(part, nics=()) for part in design.pcie)
    example = next(part for part in design.pcie if part.nics)
    port = msgspec.structs.replace(
        example, numa=numa, levels=0, gpus=(), nics=nics, root=-1, upper=-1
    )
    groups = tuple(g for g in groups if g.gpus)
    return machine_of(msgspec.structs.replace(design, pcie=(*groups, port)))


TWO_SOCKETS = [
    name
    for name in ALL
    if preset(name).cpu.sockets == 2
    and preset(name).cpu.numa_nodes == 2
    and preset(name).host_link.kind == "none"
    and any(part.nics for part in preset(name).pcie)
    and (machine(name).unit.rail >= 0).any()
]


@pytest.mark.parametrize("name", TWO_SOCKETS)
def test_a_nic_on_the_other_socket_is_farther_and_no_faster(name):
    on = [build(moved_nics(name, numa), 2) for numa in (0, 1)]
    topology = on[0].topology
    gpus = topology.gpus(0)
    near = int(gpus[topology.numa[gpus] == 0][0])
    nic = int(topology.of_kind(ComponentKind.NIC)[0])
    kinds = [c.router.path_type(near, nic) for c in on]
    words = [smi_word(c.router.routes(0), near, nic) for c in on]
    assert kinds[0] < PathType.SYS == kinds[1]
    assert words[0] in ("PHB", "NODE")
    assert words[1] == "SYS"
    pair = Group(np.array([near, near + topology.first_component[1]]))
    slow, fast = (times(options("sendrecv", c, pair)) for c in on[::-1])
    for key in fast:
        assert all(s >= f * (1 - 1e-9) for s, f in zip(slow[key], fast[key], strict=True))


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-h100", "dgx-b200"])
def test_a_nic_moved_from_its_switch_to_the_other_socket_loses_gpudirect_and_rate(name):
    # With channels enough that the NIC and its way decide.
    wide = "env:NCCL_NCHANNELS_PER_NET_PEER=8"
    beside, across = build(machine(name), 2, wide), build(moved_nics(name, 1), 2, wide)
    gpu = int(beside.topology.gpus(0)[0])
    kinds = [
        c.router.path_type(gpu, c.router.nearest_nics(gpu)[0], pxn=False) for c in (beside, across)
    ]
    assert kinds[0] <= PathType.PXB < PathType.SYS == kinds[1]
    pair = group(beside, [0, 8])
    rates = [rows("sendrecv", c, [PLATEAU], pair)[0].busbw_GBps for c in (beside, across)]
    assert rates[1] < 0.75 * rates[0]

"""What a cluster and a schedule state to be alike is proved on the messages, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from collectives.bound_cases import many, preset_cluster, switched
from wirespeed.collectives.candidates import schedule_named
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.collectives.schedule import Block, Transfers
from wirespeed.network import Partition, Uses, bottleneck_time, is_equitable, partition, quotient
from wirespeed.topology.address import name_of
from wirespeed.topology.alike import cable_classes, colours_of
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, build_cluster, changed, everyone
from wirespeed.topology.fabrics.generic import FAT_TREE, LEAF_SPINE, RAIL_OPTIMISED, SINGLE
from wirespeed.topology.kinds import ComponentKind

CLUSTERS = {
    "one node": build_cluster(switched(8)),
    "one switch": many(switched(1, nvlink=0), 6, SINGLE),
    "a tree a rail": many(switched(4), 4, FAT_TREE),
    "rails that meet": many(switched(4), 4, RAIL_OPTIMISED),
    "leaf-spine": many(switched(2), 6, LEAF_SPINE),
    "a mesh": preset_cluster("hgx-a100-4", 2),
}


def uses_of(on: Cluster, messages: Transfers) -> Uses:
    """What each message loads, carried alone; numbers as equal as they mean to be."""
    carrier = Carrier(on, everyone(on))
    resources, weights = [], []
    for k in range(len(messages)):
        one = slice(k, k + 1)
        alone = Transfers(*(getattr(messages, f)[one] for f in Transfers.__dataclass_fields__))
        loads = sum(carrier.carry(alone).loads.values(), np.zeros(1)) / messages.share[k]
        used = np.flatnonzero(loads)
        resources.append(used.tolist())
        weights.append(np.round(loads[used], 9).tolist())
    return Uses.from_lists(resources, weights)


def alltoall(on: Cluster) -> Uses:
    ranks = len(everyone(on))
    return uses_of(on, Block(ranks, 1 / ranks).pairs())


def resource_colours(on: Cluster) -> np.ndarray:
    """[resources] colours of links by what they join, and of components."""
    topology = on.topology
    colours = colours_of(topology)
    ends = np.stack([colours[topology.source], colours[topology.target], topology.link_kind])
    links = np.unique(ends, axis=1, return_inverse=True)[1].reshape(-1)
    return np.concatenate([links, links.max() + 1 + colours])


@pytest.mark.parametrize("name", CLUSTERS)
def test_messages_of_all_to_all_cannot_tell_apart_what_has_one_colour(name: str) -> None:
    on = changed(CLUSTERS[name], [parse_change("routing=spray")])
    found = partition(alltoall(on), on.topology.capacity).resource
    for colour in np.unique(stated := resource_colours(on)):
        assert len(np.unique(found[stated == colour])) == 1


def examples(on: Cluster) -> list[str]:
    """A change of one of each class of links that messages cross."""
    topology = on.topology
    names = []
    for one in cable_classes(topology, colours_of(topology), np.zeros(topology.links)):
        ends = topology.source[one.example], topology.target[one.example]
        kinds = {ComponentKind(topology.kind[end]) for end in ends}
        if kinds & {ComponentKind.NIC, ComponentKind.NVSWITCH}:
            names.append("-".join(name_of(topology, int(end)) for end in ends))
    return names


@pytest.mark.parametrize("name", ["one node", "a tree a rail", "rails that meet"])
def test_one_slow_link_breaks_what_was_stated_and_is_found(name: str) -> None:
    whole = changed(CLUSTERS[name], [parse_change("routing=spray")])
    uses = alltoall(whole)
    before = partition(uses, whole.topology.capacity)
    for cable in examples(whole):
        on = changed(whole, [parse_change(f"{cable}=0.5")])
        # Capacities are what tells resources apart to begin with: the old classes hide one.
        capacity = on.topology.capacity
        hidden = any(
            len(np.unique(capacity[before.resource == k])) > 1 for k in range(before.resources)
        )
        after = partition(uses, capacity)
        assert hidden
        assert after.resources > before.resources
        assert len(np.unique(resource_colours(on))) > len(np.unique(resource_colours(whole)))
        assert is_equitable(uses.merge_duplicates(), after)


@pytest.mark.parametrize("operation", [Operation.ALL_REDUCE, Operation.ALL_GATHER])
@pytest.mark.parametrize("name", ["one node", "one switch", "a tree a rail"])
def test_every_step_of_a_ring_takes_what_its_classes_take(name: str, operation: Operation) -> None:
    on = CLUSTERS[name]
    schedule = schedule_named("Ring", Collective(operation), on, everyone(on))
    (phase,) = schedule.phases
    hops = phase.transfers
    uses, capacity = uses_of(on, hops), on.topology.capacity
    classes = partition(uses, capacity, np.round(hops.share, 12))
    few, of_class = quotient(uses, capacity, classes)
    share = hops.share[np.unique(classes.transfer, return_index=True)[1]]
    step = bottleneck_time(uses, hops.share, capacity).time
    assert bottleneck_time(few, share, of_class).time == pytest.approx(step)
    # A repeated step is worked out once because no rank is special: few classes say so.
    assert classes.transfers <= 4 < len(hops)


def test_a_partition_that_is_stated_and_wrong_is_refused() -> None:
    on = CLUSTERS["one switch"]
    uses = alltoall(on).merge_duplicates()
    found = partition(uses, on.topology.capacity)
    assert is_equitable(uses, found)
    wrong = found.transfer.copy()
    wrong[0] = found.transfers
    assert not is_equitable(uses, Partition(wrong, found.resource))

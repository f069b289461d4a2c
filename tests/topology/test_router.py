"""Paths of many transfers at once are those of each, and what they put on resources adds up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology.router_cases import GPU, NIC, cluster
from wirespeed.errors import Infeasible
from wirespeed.topology.kinds import ComponentKind, PathType
from wirespeed.topology.ways import Way

CASES = [
    ("dgx-1v", 2, ()),
    ("dgx-h100", 3, ()),
    ("dgx-h100", 3, ("node1/nvswitch2=down", "node2/gpu3=0.5")),
    ("mi300x-8", 2, ("node0/gpu0-node0/gpu1=down",)),
    ("pcie-8x-rtx4090", 2, ()),
    ("pcie-8x-a100-nvlink", 1, ()),
    ("gb200-nvl72", 2, ("rack0/nvswitch3=down",)),
]


@pytest.mark.parametrize(("name", "units", "changes"), CASES)
@given(st.data())
@settings(max_examples=12)
def test_loads_are_the_paths_added_up(name, units, changes, data):
    on = cluster(name, units, *changes)
    gpus = on.topology.gpus()
    unit = on.topology.unit_of(gpus)
    seed = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    source = seed.choice(gpus, data.draw(st.integers(1, 60)))
    target = np.array([seed.choice(gpus[unit == on.topology.unit_of(s)]) for s in source])
    source, target = source[source != target], target[source != target]
    amount = seed.integers(1, 100, len(source)).astype(float)
    # Trays of a rack are joined by NVLink alone.
    ways = [Way.DIRECT] if name.endswith("nvl72") else [Way.DIRECT, Way.PCIE, Way.HOST]
    way = data.draw(st.sampled_from(ways))
    paths = on.router.inside(source, target, way)
    added = np.bincount(
        paths.resource,
        paths.share * amount[paths.owner()],
        minlength=on.topology.resources,
    )
    assert on.router.inside_loads(source, target, way, amount) == pytest.approx(added)
    latency = on.topology.latency
    waited = [
        sum(s * latency[r] for r, s in zip(*paths.of(t), strict=True) if r < on.topology.links)
        for t in range(len(source))
    ]
    assert on.router.inside_latency(source, target, way) == pytest.approx(waited)


@pytest.mark.parametrize(("name", "units", "changes"), CASES)
def test_a_path_stays_in_its_unit_and_off_what_is_down(name, units, changes):
    on = cluster(name, units, *changes)
    topology = on.topology
    for unit in range(units):
        gpus = topology.gpus()[topology.unit_of(topology.gpus()) == unit][:8]
        paths = on.router.inside(gpus[:-1], gpus[1:], Way.DIRECT)
        links = paths.resource[paths.resource < topology.links]
        assert (topology.capacity[paths.resource] > 0).all()
        assert (topology.unit_of(topology.source[links]) == unit).all()


def test_equal_units_have_equal_paths():
    on = cluster("dgx-h100", 3)
    ends = [on.topology.gpus(node)[:2] for node in range(3)]
    paths = [on.router.inside([a], [b], Way.DIRECT) for a, b in ends]
    first = on.topology.first_link
    local = [np.sort(p.resource - first[k]) for k, p in enumerate(paths)]
    assert local[0].tolist() == local[1].tolist() == local[2].tolist()
    assert on.router.routes(0) is on.router.routes(2)


def test_a_changed_unit_has_paths_of_its_own():
    on = cluster("dgx-h100", 3, "node1/nvswitch2=down", "node2/gpu3=0.5")
    assert on.router.routes(0) is not on.router.routes(1)
    lengths = [
        len(on.router.inside([gpus[0]], [gpus[1]], Way.DIRECT).resource)
        for gpus in map(on.topology.gpus, range(3))
    ]
    assert lengths == [8, 6, 8]


def test_through_the_host_memory_is_used_twice():
    on = cluster("pcie-8x-rtx4090")
    gpus = on.topology.gpus()
    for target in (gpus[1], gpus[5]):
        resource, share = on.router.inside([gpus[0]], [target], Way.HOST).of(0)
        memory = on.topology.links + on.router.memory_of(int(target))
        assert share[resource == memory].tolist() == [2.0]


def test_an_upload_uses_the_memory_once_and_the_way_to_it():
    on = cluster("dgx-h100")
    gpu = int(on.topology.gpus()[0])
    memory = on.router.memory_of(gpu)
    assert on.topology.numa[memory] == on.topology.numa[gpu]
    for source, target in ((memory, gpu), (gpu, memory)):
        resource, share = on.router.inside([source], [target], Way.UPLOAD).of(0)
        assert share[resource == on.topology.links + memory].tolist() == [1.0]


def test_a_pair_without_any_way_is_named():
    on = cluster("pcie-8x-rtx4090", 1, "gpu2-root2=down")
    gpus = on.topology.gpus()
    with pytest.raises(Infeasible, match="no way from node0/gpu0 to node0/gpu2"):
        on.router.inside(gpus[:1], gpus[2:3], Way.DIRECT)


@pytest.mark.parametrize(
    ("name", "gpu", "nics"),
    [
        ("dgx-h100", 5, [5]),
        ("dgx-1v", 2, [1]),
        ("dgx-1v", 3, [1]),
        ("aws-p5", 1, [4, 5, 6, 7]),
        ("gb200-nvl72", 0, [0, 1]),
        ("pcie-8x-rtx4090", 6, [0]),
    ],
)
def test_the_nearest_nics_of_a_gpu(name, gpu, nics):
    on = cluster(name)
    near = on.router.nearest_nics(int(on.topology.gpus()[gpu]))
    assert sorted(on.topology.index[list(near)].tolist()) == nics


def test_the_nearest_nic_that_is_up():
    on = cluster("dgx-1v", 1, "nic1=down")
    near = on.router.nearest_nics(int(on.topology.gpus()[2]))
    assert on.topology.index[list(near)].tolist() == [0]


def test_storage_nics_are_nobodys_nearest():
    on = cluster("dgx-h100")
    rails = {
        int(on.topology.rail[nic])
        for gpu in on.topology.gpus()
        for nic in on.router.nearest_nics(int(gpu))
    }
    assert rails == set(range(8))


def test_between_units_there_is_the_network_or_nothing():
    joined = cluster("dgx-h100", 3)
    gpus = joined.topology.gpus()
    assert joined.router.path_type(int(gpus[0]), int(gpus[8])) == PathType.NET
    racks = cluster("gb200-nvl72", 2).topology.gpus()
    router = cluster("gb200-nvl72", 2).router
    assert router.path_type(int(racks[0]), int(racks[71])) == PathType.NVL
    assert router.path_type(int(racks[0]), int(racks[72])) == PathType.NET


def test_every_gpu_of_a_rack_has_memory_in_its_own_tray():
    on = cluster("gb200-nvl72")
    for gpu in on.topology.gpus()[::7]:
        assert on.topology.node[on.router.memory_of(int(gpu))] == on.topology.node[gpu]


def test_components_are_of_their_kind():
    on = cluster("dgx-h100")
    assert set(on.topology.kind[on.topology.gpus()]) == {GPU}
    assert (on.topology.kind[on.topology.of_kind(NIC)] == ComponentKind.NIC).all()

"""Ways through several levels of switches: all at once as one by one, whatever is down or slow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.unit import Unit, UnitBuilder
from wirespeed.topology.unit_routes import UnitRoutes


def two_levels(groups: int, each: int, lower: int, upper: int, lanes: list[int]) -> Unit:
    """Groups of GPUs under switches of their own, and switches above that join the groups."""
    builder = UnitBuilder("two levels", 1)
    uppers = [builder.add(ComponentKind.NVSWITCH) for _ in range(upper)]
    wide = iter(lanes * (groups * lower * (each + upper)))

    def join(a: int, b: int) -> None:
        count = next(wide)
        builder.connect(
            a, b, LinkKind.NVLINK, bandwidth=count * 25e9, lanes=count, latency=count * 1e-7
        )

    for _ in range(groups):
        gpus = [builder.add(ComponentKind.GPU) for _ in range(each)]
        switches = [builder.add(ComponentKind.NVSWITCH) for _ in range(lower)]
        for switch in switches:
            for end in (*gpus, *uppers):
                join(end, switch)
    return builder.build()


@st.composite
def routes(draw: st.DrawFn) -> UnitRoutes:
    sizes = [draw(st.integers(1, 3)) for _ in range(4)]
    unit = two_levels(*sizes, draw(st.lists(st.integers(1, 3), min_size=1, max_size=5)))
    capacity = np.concatenate([unit.bandwidth, np.full(unit.components, np.inf)])
    for link in draw(st.sets(st.integers(0, max(unit.links - 1, 0)), max_size=4)):
        capacity[link] *= draw(st.sampled_from((0.0, 0.5)))
    limited = draw(st.sets(st.integers(0, unit.components - 1), max_size=2))
    capacity[[unit.links + part for part in limited]] = 1e11
    return UnitRoutes(unit, capacity)


@settings(max_examples=60)
@given(routes(), st.integers(0, 99))
def test_all_at_once_is_what_single_routes_add_up_to(routes, seed):
    unit, crossed = routes.unit, routes.crossings()
    assert crossed is not None
    gpus = unit.of_kind(ComponentKind.GPU)
    amounts = np.random.default_rng(seed).uniform(1, 9, (len(gpus), len(gpus)))
    expected = np.zeros(unit.links + unit.components)
    sent = []
    for a, b in np.argwhere(~np.eye(len(gpus), dtype=bool)):
        ends = int(gpus[a]), int(gpus[b])
        route = routes.nvlink(*ends)
        assert crossed.reached(*(np.array([end]) for end in ends))[0] == (route is not None)
        if route is None:
            continue
        sent.append((*ends, amounts[a, b]))
        resource, share = np.array(route.resource), np.array(route.share)
        expected[resource] += amounts[a, b] * share
        on_link = resource < unit.links
        late = float((share[on_link] * unit.latency[resource[on_link]]).sum())
        between = crossed.between(np.array([ends[0]]), np.array([ends[1]]))
        assert between[0] == pytest.approx(late, rel=1e-12)
    if sent:
        source, target, amount = (np.array(column) for column in zip(*sent, strict=True))
        loads = crossed.loads(source.astype(int), target.astype(int), amount)
        assert loads == pytest.approx(expected, rel=1e-12)


def test_a_gpu_reaches_no_other_once_its_links_are_down():
    unit = two_levels(2, 2, 1, 1, [1])
    capacity = np.concatenate([unit.bandwidth, np.full(unit.components, np.inf)])
    first, *others = unit.of_kind(ComponentKind.GPU)
    capacity[np.flatnonzero((unit.source == first) | (unit.target == first))] = 0
    crossed = UnitRoutes(unit, capacity).crossings()
    assert crossed is not None
    away = np.full(len(others), first)
    assert not crossed.reached(away, np.array(others)).any()
    assert not crossed.reached(np.array(others), away).any()

"""Small layouts and rings without machines, and clusters of presets that are built once."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import strategies as st

from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.candidates import options_of
from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.layout import Layout, Shape
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.collectives.result import ForecastRow
from wirespeed.collectives.rings import Rings
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, Group, build_cluster, everyone
from wirespeed.topology.fabrics.named import default_fabric
from wirespeed.topology.machine import Machine
from wirespeed.topology.machines import preset_machine

PLATEAU = 8 * 2**30
"""Bytes at which latency no longer counts."""


@cache
def machine(name: str) -> Machine:
    """The machine of a preset."""
    return preset_machine(name)


def build(what: Machine, units: int = 1, *changes: str) -> Cluster:
    """So many units of a machine on its default fabric, under changes."""
    nodes = units * what.unit.nodes
    fabric = default_fabric(what.platform, nodes, what.network) if units > 1 else None
    return build_cluster(what, nodes=nodes, fabric=fabric, changes=map(parse_change, changes))


@cache
def cluster(name: str, units: int = 1, *changes: str) -> Cluster:
    """So many units of a preset on its default fabric, under changes; shared, never altered."""
    return build(machine(name), units, *changes)


def group(on: Cluster, ranks: list[int]) -> Group:
    """The GPUs of these numbers, counted over the cluster."""
    return Group(on.topology.gpus().astype(np.int64)[ranks])


def rows(
    operation: str, on: Cluster, sizes: list[int], members: Group | None = None, **options: object
) -> tuple[ForecastRow, ...]:
    """The forecast of an operation, a row a size."""
    asked = Collective(Operation(operation), **options)
    return forecast(asked, on, sizes, members).rows


def options(operation: str, on: Cluster, members: Group | None = None) -> tuple[Candidate, ...]:
    """Every way to do an operation, each with its time over size."""
    chosen = members or everyone(on)
    return options_of(Collective(Operation(operation)), on, chosen).candidates


def option(operation: str, on: Cluster, members: Group | None, algorithm: str) -> Candidate:
    """That algorithm under the protocol for large sizes."""
    found = options(operation, on, members)
    return next(c for c in found if (c.algorithm, c.protocol) == (algorithm, "Simple"))


def ring_of(*orders: list[int]) -> Rings:
    """Rings of those orders inside one domain, with equal weights."""
    order = np.array(orders, np.int64)
    none = np.full_like(order, -1)
    return Rings(order, none, none, np.full(len(orders), 1 / len(orders)))


@st.composite
def rings(draw: st.DrawFn, most_ranks: int = 64) -> Rings:
    """One to four rings over 2 to 64 ranks, with NICs at random and weights that differ."""
    ranks = draw(st.integers(2, most_ranks))
    channels = draw(st.integers(1, 4))
    seed = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    order = np.array([seed.permutation(ranks) for _ in range(channels)])
    weight = seed.integers(1, 9, channels).astype(float)
    out, enter = seed.integers(-1, 8, (2, channels, ranks))
    return Rings(order, out, enter, weight / weight.sum())


@st.composite
def layouts(draw: st.DrawFn, most_domains: int = 20) -> Layout:
    """Domains of one to eight GPUs, equal or not, whose ranks lie anywhere in the group."""
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=most_domains))
    if sum(sizes) < 2:
        sizes.append(2)
    doors = draw(st.integers(1 if len(sizes) > 1 else 0, 3))
    seed = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = {n: _shape(n, doors, seed) for n in sizes}
    place = {n: k for k, n in enumerate(shapes)}
    order = seed.permutation(sum(sizes)) if draw(st.booleans()) else np.arange(sum(sizes))
    ranks = tuple(np.split(order, np.cumsum(sizes)[:-1]))
    begin = 100 * np.arange(len(sizes))
    which = np.array([place[n] for n in sizes])
    return Layout(ranks, which, tuple(shapes.values()), begin)


def equal_layout(domains: int, ranks: int) -> Layout:
    """Equal domains where each rank has a NIC of its own, not in the order of ranks."""
    turned = np.roll(np.arange(ranks), 1)
    doors = tuple((int(position), 50 + nic) for nic, position in enumerate(turned))
    shape = Shape(((turned, 1.0),), doors, (0,) * ranks, tuple(range(50, 50 + ranks)))
    everyone = np.arange(domains * ranks).reshape(domains, ranks)
    return Layout(tuple(everyone), np.zeros(domains, int), (shape,), 100 * np.arange(domains))


def _shape(size: int, doors: int, seed: np.random.Generator) -> Shape:
    order = seed.permutation(size)
    at = [(int(seed.integers(size)), 50 + nic) for nic in range(doors)]
    return Shape(((order, 1.0),), tuple(at), (0,) * size, (50 if doors else -1,) * size)

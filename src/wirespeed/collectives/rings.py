"""Rings: the orders in which ranks pass data on, one a channel.

Over several domains each ring enters a domain by one NIC and leaves it by another (or the same),
and every compute NIC that all domains have gets a ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.layout import Layout, Shape

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """Channels of a group.

    Attributes:
        order: [channels, ranks] ranks in the order of each ring.
        nic_out, nic_in: [channels, ranks] NIC components by which position k sends to k + 1, and by
            which that one receives; -1 inside a domain.
        weight: [channels] each one's share of the bytes; sums to 1.
    """

    order: Ids
    nic_out: Ids
    nic_in: Ids
    weight: npt.NDArray[np.float64]


def find_rings(layout: Layout, *, cross_nic: bool = True) -> Rings:
    """The rings that the library would build for a group of two ranks or more.

    Without `cross_nic` a ring leaves every domain by the NIC that it came in by.
    """
    if len(layout) == 1:
        orders = layout.shapes[0].orders
        order = layout.ranks[0][np.array([ring for ring, _ in orders])]
        none = np.full_like(order, -1)
        weight = np.array([lanes for _, lanes in orders])
        return Rings(order, none, none, weight / weight.sum())
    channels = max(1, layout.doors)
    turn = _turn(layout, channels) if cross_nic else 0
    walks = [_walks(shape, channels, turn) for shape in layout.shapes]
    if not cross_nic:
        walks = [[walk._replace(leave=walk.enter) for walk in several] for several in walks]
    flat = np.concatenate(layout.ranks)
    order = np.empty((channels, len(flat)), np.int64)
    nic_out, nic_in = np.full_like(order, -1), np.full_like(order, -1)
    for channel, columns in enumerate(zip(order, nic_out, nic_in, strict=True)):
        _lay_channel(layout, flat, [w[channel] for w in walks], *columns, back=cross_nic)
    return Rings(order, nic_out, nic_in, np.full(channels, 1 / channels))


class _Walk(NamedTuple):
    """Positions of a domain in ring order, and the NICs where the ring comes in and goes out."""

    positions: Ids
    enter: int
    leave: int

    def reversed(self) -> _Walk:
        return _Walk(self.positions[::-1], self.leave, self.enter)


def _lay_channel(
    layout: Layout,
    flat: Ids,
    walks: list[_Walk],
    order: Ids,
    nic_out: Ids,
    nic_in: Ids,
    *,
    back: bool,
) -> None:
    """Writes one ring over all domains: ranks, NICs that they send by and the next receive by.

    `flat` are the ranks, domain by domain. Every other domain is walked `back`wards, so that what
    leaves by a NIC enters the next domain by the same one: traffic stays on its rail.
    """
    sizes = layout.sizes
    first = np.cumsum(sizes) - sizes
    backwards = (np.arange(len(layout)) % 2 == 1) & back
    enter, leave = np.full(len(layout), -1), np.full(len(layout), -1)
    for kind, walk in enumerate(walks):
        for turned, step in ((False, walk), (True, walk.reversed())):
            here = np.flatnonzero((layout.shape == kind) & (backwards == turned))
            begin = first[here, None]
            order[begin + np.arange(len(step.positions))] = flat[begin + step.positions]
            enter[here], leave[here] = step.enter, step.leave
    ends = first + sizes - 1
    nic_out[ends] = np.where(leave >= 0, layout.begin + leave, -1)
    nic_in[ends] = np.roll(np.where(enter >= 0, layout.begin + enter, -1), -1)


def _turn(layout: Layout, channels: int) -> int:
    """How many doors further a channel leaves than it enters, the same everywhere.

    So each NIC serves one channel in and one out. As few as take every channel to another rank.
    """
    spots = [
        np.array([position for position, _ in shape.doors[:channels]])
        for shape in layout.shapes
        if len(shape.node) > 1 and shape.doors
    ]
    for turn in range(1, channels):
        if all((spot != np.roll(spot, -turn)).all() for spot in spots):
            return turn
    return 0


def _walks(shape: Shape, channels: int, turn: int) -> list[_Walk]:
    """A walk for each channel of a domain."""
    if not shape.doors:
        return [_Walk(shape.orders[0][0], -1, -1)] * channels
    if shape.walks:
        return [_Walk(*walk) for walk in shape.walks[:channels]]
    if len(shape.orders) > 1:
        return _along_mesh(shape, channels)
    return [_door_to_door(shape, c, (c + turn) % channels) for c in range(channels)]


def _door_to_door(shape: Shape, enter: int, leave: int) -> _Walk:
    """A walk from one door to another where every order is as good as any."""
    (first, nic_in), (last, nic_out) = shape.doors[enter], shape.doors[leave]
    walk = _from(shape.orders[0][0], first)
    if first == last and len(walk) > 1:
        # Out by the NIC that it came in by: from another GPU of that node, next to that NIC if one
        # is, or by that GPU's own.
        beside = [int(p) for p in walk[1:] if shape.node[p] == shape.node[first]]
        sharing = [p for p in beside if p in shape.beside.get(nic_in, ())]
        last = [int(walk[-1]), *beside, *sharing][-1]
        nic_out = nic_out if beside else shape.nearest[last]
    if first != last:
        walk = np.append(walk[walk != last], last)
    return _Walk(walk, nic_in, nic_out)


def _along_mesh(shape: Shape, channels: int) -> list[_Walk]:
    """Walks along rings that share no lane; each channel leaves by a NIC of its own if it can."""
    chosen: list[_Walk] = []
    used: dict[int, int] = {}
    left: dict[int, int] = {}
    for first, enter in shape.doors[:channels]:
        ways = []
        for k, (ring, _) in enumerate(shape.orders):
            walk = _from(ring, first)
            leave = shape.nearest[int(walk[-1])]
            ways.append(((left.get(leave, 0), used.get(k, 0), leave == enter, k), walk, leave))
        (_, _, _, k), walk, leave = min(ways, key=lambda way: way[0])
        used[k], left[leave] = used.get(k, 0) + 1, left.get(leave, 0) + 1
        chosen.append(_Walk(walk, enter, leave))
    return chosen


def _from(ring: Ids, first: int) -> Ids:
    """A ring's positions from `first` on."""
    return np.roll(ring, -int(np.flatnonzero(ring == first)[0]))

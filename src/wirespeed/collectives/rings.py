"""Rings: the orders in which ranks pass data on, one a channel.

Over several domains each ring enters a domain by one NIC and leaves it by another (or the same),
and every compute NIC that all domains have gets a ring.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def find_rings(layout: Layout) -> Rings:
    """The rings that the library would build for a group of two ranks or more."""
    if len(layout) == 1:
        orders = layout.shapes[0].orders
        order = layout.ranks[0][np.array([ring for ring, _ in orders])]
        none = np.full_like(order, -1)
        weight = np.array([lanes for _, lanes in orders])
        return Rings(order, none, none, weight / weight.sum())
    channels = max(1, layout.doors)
    parts = [_channel(layout, channel, channels) for channel in range(channels)]
    order, nic_out, nic_in = (np.array(column) for column in zip(*parts, strict=True))
    return Rings(order, nic_out, nic_in, np.full(channels, 1 / channels))


def _channel(layout: Layout, channel: int, channels: int) -> tuple[Ids, Ids, Ids]:
    """One ring over all domains: ranks, NICs that they send by, NICs that the next receive by."""
    walks = {
        (k, flipped): _walk(shape, channel, channels, flipped=flipped)
        for k, shape in enumerate(layout.shapes)
        for flipped in (False, True)
    }
    steps = [(int(k), d % 2 == 1) for d, k in enumerate(layout.shape)]
    order = np.concatenate(
        [ranks[walks[step][0]] for ranks, step in zip(layout.ranks, steps, strict=True)]
    )
    enter = np.array([walks[step][1] for step in steps])
    leave = np.array([walks[step][2] for step in steps])
    ends = np.cumsum([len(ranks) for ranks in layout.ranks]) - 1
    nic_out, nic_in = np.full(len(order), -1, np.int64), np.full(len(order), -1, np.int64)
    nic_out[ends] = np.where(leave >= 0, layout.begin + leave, -1)
    nic_in[ends] = np.roll(np.where(enter >= 0, layout.begin + enter, -1), -1)
    return order, nic_out, nic_in


def _walk(shape: Shape, channel: int, channels: int, *, flipped: bool) -> tuple[Ids, int, int]:
    """Positions of a domain in ring order, and the NICs where the ring comes in and goes out.

    Two channels make a pair that uses two doors in opposite order, and every other domain swaps
    them, so that what leaves by a NIC enters the next domain by the same one: traffic stays on its
    rail.
    """
    inner = shape.orders[channel % len(shape.orders)][0]
    if not shape.doors:
        return inner, -1, -1
    partner = channel ^ 1 if (channel ^ 1) < channels else channel
    first, last = shape.doors[channel], shape.doors[partner]
    if flipped:
        first, last = last, first
    turned = np.roll(inner, -int(np.flatnonzero(inner == first[0])[0]))
    if first[0] != last[0]:
        turned = np.append(turned[turned != last[0]], last[0])
    return turned, first[1], last[1]

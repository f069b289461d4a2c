"""An exchange on a Clos network with links down: counted as if all were up, then put right.

Routing by destination leads round a dead link only those pairs whose way it is on. They are the
ends on one side of the link times the destinations that take it: found without a look at others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.crowds import Crowd, pairs_of
from wirespeed.topology.fabrics.wiring import Routing

if TYPE_CHECKING:
    from wirespeed.topology.fabrics.clos_wiring import Choice, ClosWiring

Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def lead_round(
    wiring: ClosWiring, source: Crowd, target: Crowd, loads: Floats, capacity: Floats
) -> None:
    """Moves in `loads` what destination-based routing has put on links that are down.

    Raises Infeasible where a pair has no other way.
    """
    a, b = wiring.table.find(source.nic), wiring.table.find(target.nic)
    fabric = wiring.link_ranges()
    links = np.arange(fabric[0].start, fabric[-1].stop)
    dead = links[capacity[links] == 0]
    for link in dead.tolist():
        senders, receivers = _sides(wiring, link, a, b)
        ends = _some(source, senders), _some(target, receivers)
        for i, j in pairs_of(*ends):
            one, other = np.flatnonzero(senders)[i], np.flatnonzero(receivers)[j]
            _move(wiring, link, (a[one], b[other]), loads, capacity, _weight(ends, i, j))
    # What is left there by rounding would take for ever.
    loads[dead] = 0.0


def _move(
    wiring: ClosWiring,
    link: int,
    ends: tuple[Ids, Ids],
    loads: Floats,
    capacity: Floats,
    weight: Floats,
) -> None:
    """Takes pairs off their usual way and puts them on the one that is left, if `link` is theirs.

    A pair that meets several dead links belongs to the first.
    """
    walk = np.concatenate(list(_usual(wiring, *ends)), axis=1)
    down = (walk >= 0) & (capacity[walk] == 0)
    first = walk[np.arange(len(walk)), down.argmax(axis=1)]
    mine = np.flatnonzero(down.any(axis=1) & (first == link))
    if not len(mine):
        return
    walk, weight = walk[mine], weight[mine]
    used = walk >= 0
    amount = np.repeat(weight / wiring.planes, used.sum(axis=1))
    loads -= np.bincount(walk[used], amount, minlength=len(loads))
    nics = wiring.table.ports.component
    paths = wiring.paths(nics[ends[0][mine]], nics[ends[1][mine]], capacity=capacity)
    loads += np.bincount(paths.resource, weight[paths.owner()] * paths.share, minlength=len(loads))


def _usual(wiring: ClosWiring, a: Ids, b: Ids) -> Iterator[Ids]:
    """[t, 6] the way of each pair while all is up, plane by plane."""
    for plane in range(wiring.planes):
        yield wiring.walks(a, b, wiring.choose(a, b, Routing.STATIC, 0, plane), plane)


def _sides(wiring: ClosWiring, link: int, a: Ids, b: Ids) -> tuple[Bools, Bools]:
    """Which ends may send, and which receive, over a link of the fabric."""
    shape, tiers = wiring.shape, wiring.link_ranges()
    tier = next(k for k, links in enumerate(tiers) if link < links.stop)
    number, back = divmod(link - tiers[tier].start, 2)
    all_send, all_receive = np.ones(len(a), bool), np.ones(len(b), bool)
    if tier == 0:
        port = number % len(wiring.leaf)
        return (all_send, b == port) if back else (a == port, all_receive)
    counts = (shape.uplinks, shape.spine_uplinks)[tier - 1]
    switch, cable = divmod(number, counts)
    choice = wiring.choose(a[:0], b, Routing.STATIC, 0, 0)
    if tier == 1:
        leaf = switch % wiring.leaves
        mine = (wiring.leaf[a] == leaf, wiring.leaf[b] == leaf)
        by_cable = _cables(choice, back)[0] == cable
    else:
        pod, place = divmod(switch % wiring.spines, shape.spines)
        mine = (wiring.pod[wiring.leaf[a]] == pod, wiring.pod[wiring.leaf[b]] == pod)
        spine = choice.spine if back else choice.up % shape.spines
        by_cable = (_cables(choice, back)[1] == cable) & (spine == place)
    return (all_send, mine[1] & by_cable) if back else (mine[0], by_cable)


def _cables(choice: Choice, back: int) -> tuple[Ids, Ids]:
    """The cables at the leaf and at the spine, on the way up or on the way `back` down."""
    return (choice.down, choice.spine_down) if back else (choice.up, choice.spine_up)


def _some(crowd: Crowd, chosen: Bools) -> Crowd:
    return Crowd(
        crowd.nic[chosen], crowd.weight[chosen], crowd.together[chosen], crowd.apart[chosen]
    )


def _weight(ends: tuple[Crowd, Crowd], i: Ids, j: Ids) -> Floats:
    return ends[0].weight[i] * ends[1].weight[j]

"""Flow over all paths of equal cost, by what each can carry: spraying, and ways round dead links.

`split` follows the capacities from the target back to the source: what a core can still bring to
the target's leaf, what a spine can bring to those cores, what the source's leaf can bring to the
spines. Each switch shares its flow among the next ones in that proportion. With all links alike
that is an equal share on every path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.hashing import draw, flow_hash
from wirespeed.topology.fabrics.wiring import Routing
from wirespeed.topology.paths import Paths, gather, scatter

if TYPE_CHECKING:
    from wirespeed.topology.fabrics.clos_wiring import ClosWiring

Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_CHUNK = 2**22
DOWN = "every path of equal cost has a link that is down"


@dataclass(frozen=True, slots=True, eq=False)
class Capacities:
    """Capacity [B/s] of one plane's cables, up and down, by place in the network.

    Attributes:
        up, down: [leaves, trunk, spines] between a leaf and the spines of its pod.
        spine_up, spine_down: [spines, core trunk, cores] between a spine and its group's cores.
    """

    up: Floats
    down: Floats
    spine_up: Floats
    spine_down: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """[n] pairs of leaves: share of a transfer on each cable.

    Attributes:
        up, down: [n, trunk, spines].
        spine_up, spine_down: [n, spines, core trunk, cores]; None inside a pod.
        alive: [n] whether any path is left.
    """

    up: Floats
    down: Floats
    spine_up: Floats | None
    spine_down: Floats | None
    alive: Bools


def sprayed(wiring: ClosWiring, a: Ids, b: Ids, capacity: Floats | None) -> Paths:
    """[t] paths between ports with shares over all planes and cables of equal cost.

    Raises Infeasible where nothing is left.
    """
    parts, weights = [], []
    for plane in range(wiring.planes):
        table, row, alive = _leaf_pairs(wiring, a, b, plane, capacity)
        ends = np.stack([wiring.nic_links(plane)[a], wiring.nic_links(plane)[b] + 1], axis=1)
        weight = alive[row].astype(np.float64)
        if capacity is not None:
            weight *= capacity[ends].min(axis=1)
        weights.append(weight)
        parts.append((ends, gather(table, row)))
    total = np.sum(weights, axis=0)
    wiring.table.refuse(a, b, total <= 0, DOWN)
    framed = [
        _framed(ends, inner, weight / total)
        for (ends, inner), weight in zip(parts, weights, strict=True)
    ]
    if len(framed) == 1:
        return framed[0]
    everyone = np.arange(len(a))
    return scatter([(everyone, paths) for paths in framed], len(a))


def reroute(
    wiring: ClosWiring,
    walk: Ids,
    a: Ids,
    b: Ids,
    plane: int,
    capacity: Floats,
    routing: Routing,
    seed: int,
) -> Bools:
    """[t] whether the plane carries the transfer, with `walk` led round links that are down."""
    dead = ((walk >= 0) & (capacity[walk] == 0)).any(axis=1)
    alive = (capacity[wiring.nic_links(plane)[a]] > 0) & (
        capacity[wiring.nic_links(plane)[b] + 1] > 0
    )
    caps = capacities(wiring, plane, capacity)
    same_leaf, same_pod = wiring.common(a, b)
    for in_pod in (True, False):
        todo = np.flatnonzero(dead & alive & ~same_leaf & (same_pod == in_pod))
        for some in _chunks(wiring, todo, in_pod):
            keys = _keys(wiring, a[some], b[some], plane, routing, seed)
            found, up = _other_way(wiring, caps, a[some], b[some], plane, in_pod, keys)
            walk[some[:, None], np.arange(1, 5)] = found
            alive[some] = up
    return alive


def _keys(
    wiring: ClosWiring, a: Ids, b: Ids, plane: int, routing: Routing, seed: int
) -> tuple[Ids, ...]:
    """Four numbers a transfer by which it picks among what is left.

    By destination they run on from one slot of a spine to its next, so that those of a spine or a
    cable that is gone spread evenly over the others.
    """
    if routing is Routing.ECMP:
        key = flow_hash(a, b, ~seed - (plane << 32))
        return tuple(draw(key, part, 2**16) for part in range(4))
    shape, slot = wiring.shape, wiring.slot[b]
    round_, uplink = np.divmod(slot, max(shape.uplinks, 1))
    trunk, spine = np.divmod(uplink, max(shape.spines, 1))
    turn = round_ * shape.uplinks + spine * shape.trunk + trunk + wiring.place[wiring.leaf[b]]
    return (turn, turn, turn, turn)


def _other_way(
    wiring: ClosWiring,
    caps: Capacities,
    a: Ids,
    b: Ids,
    plane: int,
    in_pod: bool,
    keys: tuple[Ids, ...],
) -> tuple[Ids, Bools]:
    """[n, 4] links between the leaves over cables that are up, and whether there are such."""
    shape = wiring.shape
    leaf_a, leaf_b = wiring.leaf[a], wiring.leaf[b]
    spread = split(wiring, caps, leaf_a, leaf_b, in_pod)
    rows = np.arange(len(a))
    up = _pick(spread.up.reshape(len(a), -1) > 0, keys[0])
    spine = up % shape.spines
    links = np.full((len(a), 4), -1, np.int64)
    links[:, 0] = wiring.leaf_link(leaf_a, up, plane)
    if spread.spine_up is not None and spread.spine_down is not None:
        spine_up = _pick(spread.spine_up[rows, spine].reshape(len(a), -1) > 0, keys[1])
        core = spine_up % shape.cores
        links[:, 1] = wiring.spine_link(wiring.spine_id(leaf_a, spine), spine_up, plane)
        first = spine - spine % shape.spines_per_group
        group = first[:, None] + np.arange(shape.spines_per_group)
        ways = spread.spine_down[rows[:, None], group, :, core[:, None]] > 0
        option = _pick(ways.reshape(len(a), -1), keys[2])
        spine = first + option // shape.core_trunk
        spine_down = option % shape.core_trunk * shape.cores + core
        links[:, 2] = wiring.spine_link(wiring.spine_id(leaf_b, spine), spine_down, plane) + 1
    down = _pick(spread.down[rows, :, spine] > 0, keys[3]) * shape.spines + spine
    links[:, 3] = wiring.leaf_link(leaf_b, down, plane) + 1
    return np.where(spread.alive[:, None], links, -1), spread.alive


def _pick(mask: Bools, key: Ids) -> Ids:
    """[n] the column of the (key mod count)-th true in each row."""
    wanted = key % np.maximum(mask.sum(axis=1), 1) + 1
    column: Ids = np.argmax(np.cumsum(mask, axis=1) >= wanted[:, None], axis=1).astype(np.int64)
    return column


def _leaf_pairs(
    wiring: ClosWiring, a: Ids, b: Ids, plane: int, capacity: Floats | None
) -> tuple[Paths, Ids, Bools]:
    """Paths between leaves, the row of each transfer, and which rows are alive."""
    key = wiring.leaf[a] * wiring.leaves + wiring.leaf[b]
    pairs, row = np.unique(key, return_inverse=True)
    leaf_a, leaf_b = np.divmod(pairs, wiring.leaves)
    caps = capacities(wiring, plane, capacity)
    alive = np.ones(len(pairs), bool)
    parts = []
    same_pod = wiring.pod[leaf_a] == wiring.pod[leaf_b]
    for in_pod in (True, False):
        todo = np.flatnonzero((leaf_a != leaf_b) & (same_pod == in_pod))
        for some in _chunks(wiring, todo, in_pod):
            spread = split(wiring, caps, leaf_a[some], leaf_b[some], in_pod)
            alive[some] = spread.alive
            parts.append((some, _table(wiring, leaf_a[some], leaf_b[some], plane, spread)))
    if not parts:
        nothing = np.zeros(len(pairs) + 1, np.int64)
        return Paths(nothing, np.empty(0, np.int64), np.empty(0)), row.reshape(-1), alive
    return scatter(parts, len(pairs)), row.reshape(-1), alive


def _table(wiring: ClosWiring, leaf_a: Ids, leaf_b: Ids, plane: int, spread: Split) -> Paths:
    """Paths between leaves from the shares on each cable."""
    shape, n = wiring.shape, len(leaf_a)
    uplink, spine_uplink = np.arange(shape.uplinks), np.arange(shape.spine_uplinks)
    position = np.arange(shape.spines)
    links = [wiring.leaf_link(leaf_a[:, None], uplink, plane)]
    shares = [spread.up.reshape(n, -1)]
    if spread.spine_up is not None and spread.spine_down is not None:
        for leaf, share, back in ((leaf_a, spread.spine_up, 0), (leaf_b, spread.spine_down, 1)):
            spine = wiring.spine_id(leaf[:, None], position)[:, :, None]
            links.append((wiring.spine_link(spine, spine_uplink, plane) + back).reshape(n, -1))
            shares.append(share.reshape(n, -1))
    links.append(wiring.leaf_link(leaf_b[:, None], uplink, plane) + 1)
    shares.append(spread.down.reshape(n, -1))
    share, link = np.concatenate(shares, axis=1), np.concatenate(links, axis=1)
    used = share > 0
    first = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
    return Paths(first, link[used], share[used])


def split(wiring: ClosWiring, caps: Capacities, leaf_a: Ids, leaf_b: Ids, in_pod: bool) -> Split:
    """Shares between leaves of one pod, or of two."""
    up, down = caps.up[leaf_a], caps.down[leaf_b]
    up_all, down_all = up.sum(axis=1), down.sum(axis=1)
    if in_pod:
        weight = np.minimum(up_all, down_all)
        flow = _ratio(weight, weight.sum(axis=1, keepdims=True))
        return Split(
            up=_ratio(up * flow[:, None], up_all[:, None]),
            down=_ratio(down * flow[:, None], down_all[:, None]),
            spine_up=None,
            spine_down=None,
            alive=weight.sum(axis=1) > 0,
        )
    shape, n = wiring.shape, len(leaf_a)
    position = np.arange(shape.spines)
    spine_up = caps.spine_up[wiring.spine_id(leaf_a[:, None], position)]
    spine_down = caps.spine_down[wiring.spine_id(leaf_b[:, None], position)]
    up_sum, down_sum = spine_up.sum(axis=2), spine_down.sum(axis=2)
    groups = (n, shape.groups, shape.spines_per_group, shape.cores)
    # What each core brings to the target's leaf through each spine of its group there.
    last = np.minimum(down_sum, down_all[:, :, None])
    core = last.reshape(groups).sum(axis=2)
    each_core = np.repeat(core, shape.spines_per_group, axis=1)
    middle = np.minimum(up_sum, each_core)
    weight = np.minimum(up_all, middle.sum(axis=2))
    flow = _ratio(weight, weight.sum(axis=1, keepdims=True))
    to_core = _ratio(flow[:, :, None] * middle, middle.sum(axis=2, keepdims=True))
    at_core = np.repeat(to_core.reshape(groups).sum(axis=2), shape.spines_per_group, axis=1)
    from_core = _ratio(at_core * last, each_core)
    arriving = from_core.sum(axis=2)
    return Split(
        up=_ratio(up * flow[:, None], up_all[:, None]),
        down=_ratio(down * arriving[:, None], down_all[:, None]),
        spine_up=_ratio(spine_up * to_core[:, :, None], up_sum[:, :, None]),
        spine_down=_ratio(spine_down * from_core[:, :, None], down_sum[:, :, None]),
        alive=weight.sum(axis=1) > 0,
    )


def capacities(wiring: ClosWiring, plane: int, capacity: Floats | None) -> Capacities:
    """The rates of one plane's cables; all 1 without `capacity`."""
    shape = wiring.shape
    leaf, spine = np.arange(wiring.leaves)[:, None], np.arange(wiring.spines)[:, None]
    up = wiring.leaf_link(leaf, np.arange(shape.uplinks), plane)
    spine_up = wiring.spine_link(spine, np.arange(shape.spine_uplinks), plane)
    by_leaf = (wiring.leaves, shape.trunk, shape.spines)
    by_spine = (wiring.spines, shape.core_trunk, shape.cores)

    def of(links: Ids, form: tuple[int, int, int]) -> Floats:
        values = np.ones(links.shape) if capacity is None else capacity[links]
        return values.reshape(form)

    return Capacities(
        of(up, by_leaf), of(up + 1, by_leaf), of(spine_up, by_spine), of(spine_up + 1, by_spine)
    )


def _chunks(wiring: ClosWiring, rows: Ids, in_pod: bool) -> Iterator[Ids]:
    """Rows in pieces whose tables of shares stay small."""
    shape = wiring.shape
    width = shape.uplinks if in_pod else shape.spines * shape.spine_uplinks
    size = max(1, _CHUNK // max(width, 1))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _framed(ends: Ids, inner: Paths, share: Floats) -> Paths:
    """`inner` with the first and last link of each transfer around it, all times its share."""
    lengths = np.where(share > 0, np.diff(inner.first) + 2, 0)
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    resource, shares = np.empty(first[-1], np.int64), np.repeat(share, lengths)
    used = share > 0
    head, tail = first[:-1][used], first[1:][used] - 1
    resource[head], resource[tail] = ends[used, 0], ends[used, 1]
    between = np.ones(first[-1], bool)
    between[head] = between[tail] = False
    owner = inner.owner()
    kept = used[owner]
    resource[between] = inner.resource[kept]
    shares[between] *= inner.share[kept]
    return Paths(first, resource, shares)


def _ratio(part: Floats, whole: Floats) -> Floats:
    """The quotient, 0 where there is no whole."""
    zero = np.zeros(np.broadcast_shapes(part.shape, whole.shape))
    return np.divide(part, whole, out=zero, where=np.broadcast_to(whole > 0, zero.shape))

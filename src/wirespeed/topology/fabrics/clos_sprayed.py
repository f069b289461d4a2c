"""An exchange sprayed over a Clos network that is not all alike: counted by kinds of leaves.

How a transfer is spread hangs on what its two leaves and their pods can carry, and most leaves and
pods are alike. For each pair of kinds that is worked out once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.clos_spread import Capacities, capacities, split
from wirespeed.topology.fabrics.crowds import Crowd, crossing

if TYPE_CHECKING:
    from wirespeed.topology.fabrics.clos_wiring import ClosWiring

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def add_sprayed(
    wiring: ClosWiring,
    source: Crowd,
    target: Crowd,
    plane: int,
    loads: Floats,
    capacity: Floats,
) -> bool:
    """Adds to `loads` what pairs on different leaves put between leaves; whether all have a way.

    Where one has none, what was added is not all.
    """
    ends = wiring.table.find(source.nic), wiring.table.find(target.nic)
    leaf = wiring.leaf[ends[0]], wiring.leaf[ends[1]]
    one, other, amount = _between(source, target, leaf, wiring.leaves)
    amount = amount / wiring.planes
    caps = capacities(wiring, plane, capacity)
    same_pod = wiring.pod[one] == wiring.pod[other]
    for in_pod in (True, False):
        rows = np.flatnonzero(same_pod == in_pod)
        kind = _kinds(wiring, caps, one[rows], other[rows], in_pod)
        _, example, number = np.unique(kind, axis=0, return_index=True, return_inverse=True)
        number = number.reshape(-1)
        for k, row in enumerate(rows[example].tolist()):
            mine = rows[number == k]
            if not _add_kind(wiring, caps, plane, in_pod, row, mine, (one, other, amount), loads):
                return False
    return True


def _between(
    source: Crowd, target: Crowd, leaf: tuple[Ids, Ids], leaves: int
) -> tuple[Ids, Ids, Floats]:
    """The pairs of different leaves that exchange something, and the bytes."""
    out, into, amount = crossing(source, target, *leaf, leaf)
    key, place = np.unique(out * leaves + into, return_inverse=True)
    total = np.bincount(place.reshape(-1), amount, minlength=len(key)).astype(np.float64)
    # Sums of counts that cancel may leave a rest.
    real = total > 1e-9 * total.max(initial=0.0)
    one, other = np.divmod(key[real], leaves)
    return one, other, total[real]


def _kinds(wiring: ClosWiring, caps: Capacities, one: Ids, other: Ids, in_pod: bool) -> Ids:
    """[pairs, 2 or 4] what tells pairs of leaves apart: those that are equal are spread alike."""
    columns = [_alike(caps.up)[one], _alike(caps.down)[other]]
    if not in_pod:
        shape = (len(wiring.tree), -1)
        columns.append(_alike(caps.spine_up.reshape(shape))[wiring.pod[one]])
        columns.append(_alike(caps.spine_down.reshape(shape))[wiring.pod[other]])
    return np.stack(columns, axis=1)


def _alike(rates: Floats) -> Ids:
    """[switches] a number each: equal where all rates are."""
    table = np.ascontiguousarray(rates.reshape(len(rates), -1))
    if not table.shape[1]:
        return np.zeros(len(table), np.int64)
    words = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    return np.unique(words, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _add_kind(
    wiring: ClosWiring,
    caps: Capacities,
    plane: int,
    in_pod: bool,
    row: int,
    mine: Ids,
    pairs: tuple[Ids, Ids, Floats],
    loads: Floats,
) -> bool:
    """Adds what pairs of leaves that are spread as `row` put on links; whether they have a way."""
    shape = wiring.shape
    one, other, amount = (column[mine] for column in pairs)
    shares = split(wiring, caps, pairs[0][[row]], pairs[1][[row]], in_pod)
    if not shares.alive[0]:
        return False
    uplinks = np.arange(shape.uplinks)
    for leaf, share, back in ((one, shares.up, 0), (other, shares.down, 1)):
        total = np.bincount(leaf, amount)
        used = np.flatnonzero(total)
        links = wiring.leaf_link(used[:, None], uplinks, plane) + back
        loads[links] += total[used, None] * share.reshape(-1)
    for leaf, inner, back in ((one, shares.spine_up, 0), (other, shares.spine_down, 1)):
        if inner is None:
            continue
        total = np.bincount(wiring.pod[leaf], amount)
        used = np.flatnonzero(total)
        spines = (used[:, None] * shape.spines + np.arange(shape.spines))[:, :, None]
        links = wiring.spine_link(spines, np.arange(shape.spine_uplinks), plane) + back
        loads[links] += total[used, None, None] * inner.reshape(shape.spines, -1)
    return True

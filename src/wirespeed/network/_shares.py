"""Shares: max-min rates that are kept right while transfers come and go.

Theory. Rates are max-min fair exactly if each transfer is held by some resource that is full and
on which no other transfer is faster (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
Each running transfer remembers one resource that holds it. When transfers come or go, only those
held by a resource that they cross can have lost their hold. This group is solved anew with the rest
as it stands; then whoever has lost its hold thereby, or is faster on a full resource than one that
nothing holds, joins the group and it is solved again. When everyone is held, the rates are right
for the whole network, however far or near the change went.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np

from wirespeed.network._fair import fair_rates
from wirespeed.network._uses import Bools, Floats, Ints, Uses, weighted_counts

CLOSE = 1e-11
"""Relative distance at which a resource counts as full, or two rates as equal."""

NOTHING = -1


class Shares:
    """Max-min rates of a changing set of transfers.

    `uses` names each resource at most once a transfer, and one or more for those that enter;
    `capacity` [R] in B/s is above 0 and finite wherever used. `rates` [T] in B/s are those of the
    running transfers and have no meaning for others.
    """

    def __init__(self, uses: Uses, capacity: Floats) -> None:
        self.rates: Floats = np.zeros(uses.transfers)
        self.solved = 0
        self._uses = uses
        self._capacity = capacity
        self._crossing: dict[int, dict[int, float]] = {}
        self._rows: dict[int, tuple[Ints, Floats]] = {}  # of `_crossing`, as arrays, when asked for
        self._held: dict[int, set[int]] = {NOTHING: set()}
        self._holder: Ints = np.full(uses.transfers, NOTHING)
        self._member: Bools = np.zeros(uses.transfers, bool)

    def change(self, leave: Iterable[int], enter: Iterable[int]) -> tuple[Ints, Floats]:
        """The transfers whose rate may have changed, and their rates [B/s] before."""
        touched = {NOTHING}
        for transfer in leave:
            touched.update(self._remove(transfer))
        entering = list(enter)
        for transfer in entering:
            touched.update(self._add(transfer))
        lost = chain.from_iterable(self._held.get(resource, ()) for resource in touched)
        group = np.array(sorted({*entering, *lost}), np.int64)
        self.rates[entering] = 0.0
        return self._solve(group)

    def _mine(self, transfer: int) -> slice:
        return slice(int(self._uses.first[transfer]), int(self._uses.first[transfer + 1]))

    def _add(self, transfer: int) -> list[int]:
        mine = self._mine(transfer)
        resources: list[int] = self._uses.resource[mine].tolist()
        for resource, weight in zip(resources, self._uses.weight[mine].tolist(), strict=True):
            self._crossing.setdefault(resource, {})[transfer] = weight
            self._rows.pop(resource, None)
        self._held[NOTHING].add(transfer)
        return resources

    def _remove(self, transfer: int) -> list[int]:
        resources: list[int] = self._uses.resource[self._mine(transfer)].tolist()
        for resource in resources:
            del self._crossing[resource][transfer]
            self._rows.pop(resource, None)
        self._held[int(self._holder[transfer])].discard(transfer)
        self._holder[transfer] = NOTHING
        return resources

    def _row(self, resource: int) -> tuple[Ints, Floats]:
        """The running transfers that cross a resource, and their weights there."""
        row = self._rows.get(resource)
        if row is None:
            crossing = self._crossing[resource]
            row = np.array(list(crossing), np.int64), np.array(list(crossing.values()))
            self._rows[resource] = row
        return row

    def _solve(self, group: Ints) -> tuple[Ints, Floats]:
        before = self.rates[group]
        fresh = group
        while fresh.size:
            self._member[group] = True
            fresh, held = self._solve_with_the_rest_fixed(group)
            self.solved += 1
            if not fresh.size:
                self._hold(group, *held)
            before = np.concatenate([before, self.rates[fresh]])
            group = np.concatenate([group, fresh])
        self._member[group] = False
        return group, before

    def _solve_with_the_rest_fixed(self, group: Ints) -> tuple[Ints, tuple[Ints, Ints]]:
        """Set the group's rates; returns who must join it, and which transfers are held by what."""
        part = self._uses.select(group)
        places, local = np.unique(part.resource, return_inverse=True)
        rows = [self._row(place) for place in places.tolist()]
        sizes = np.array([row[0].size for row in rows])
        who = np.concatenate([row[0] for row in rows])
        weight = np.concatenate([row[1] for row in rows])
        at = np.repeat(np.arange(places.size), sizes)
        member = self._member[who]
        rest = ~member

        capacity = self._capacity[places]
        taken = weighted_counts(at[rest], (weight * self.rates[who])[rest], places.size)
        left = np.maximum(capacity - taken, 0)
        self.rates[group] = fair_rates(Uses(part.first, local, part.weight), left)

        rate = self.rates[who]
        full = weighted_counts(at, weight * rate, places.size) >= capacity * (1 - CLOSE)
        top = np.maximum.reduceat(rate, np.cumsum(sizes) - sizes)
        holds = full[at] & (rate >= top[at] * (1 - CLOSE))
        joins = rest & ~holds & (self._holder[who] == places[at])

        held = holds & member
        self._member[who[held]] = False
        loose = self._member[who] & member
        self._member[group] = True
        if loose.any():
            lowest = np.full(places.size, np.inf)
            np.minimum.at(lowest, at[loose], rate[loose])
            joins |= rest & full[at] & (rate > lowest[at] * (1 + CLOSE))
        return np.unique(who[joins]), (who[held], places[at[held]])

    def _hold(self, group: Ints, transfers: Ints, resources: Ints) -> None:
        """Note who holds whom: one resource a transfer, and none where rounding leaves no other."""
        for transfer, holder in zip(group.tolist(), self._holder[group].tolist(), strict=True):
            self._held[holder].discard(transfer)
        self._holder[group] = NOTHING
        self._holder[transfers] = resources
        for transfer, holder in zip(group.tolist(), self._holder[group].tolist(), strict=True):
            self._held.setdefault(holder, set()).add(transfer)

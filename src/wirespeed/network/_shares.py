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
from wirespeed.network._uses import Bools, Floats, Ints, Uses, spans, weighted_counts

CLOSE = 1e-11
"""Relative distance at which a resource counts as full, or two rates as equal."""

NOTHING = -1

_PATIENT = 1
"""Turns in which a group only takes in who must join; from then on those beside them too."""


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
        self._crossing = _Crossing(uses, capacity.size)
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

    def _add(self, transfer: int) -> list[int]:
        self._held[NOTHING].add(transfer)
        return self._crossing.add(transfer)

    def _remove(self, transfer: int) -> list[int]:
        self._held[int(self._holder[transfer])].discard(transfer)
        self._holder[transfer] = NOTHING
        return self._crossing.remove(transfer)

    def _solve(self, group: Ints) -> tuple[Ints, Floats]:
        before = self.rates[group]
        fresh, turn = group, 0
        while fresh.size:
            turn += 1
            self._member[group] = True
            fresh, held = self._solve_with_the_rest_fixed(group)
            self.solved += 1
            if not fresh.size:
                self._hold(group, *held)
            for _ in range(turn - _PATIENT):
                fresh = self._with_those_held_beside(fresh)
            before = np.concatenate([before, self.rates[fresh]])
            group = np.concatenate([group, fresh])
        self._member[group] = False
        return group, before

    def _with_those_held_beside(self, fresh: Ints) -> Ints:
        """`fresh` and who is held by a resource that one of them crosses, members left out.

        They are likely to lose their hold next; that they are solved anew changes nothing if not.
        """
        if not fresh.size:
            return fresh
        places = np.unique(self._uses.select(fresh).resource)
        who, _, sizes = self._crossing.rows(places)
        beside = who[(self._holder[who] == np.repeat(places, sizes)) & ~self._member[who]]
        return np.union1d(fresh, beside)

    def _solve_with_the_rest_fixed(self, group: Ints) -> tuple[Ints, tuple[Ints, Ints]]:
        """Set the group's rates; returns who must join it, and which transfers are held by what."""
        part = self._uses.select(group)
        places, local = np.unique(part.resource, return_inverse=True)
        who, weight, sizes = self._crossing.rows(places)
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


class _Crossing:
    """Which running transfers cross each resource: rows that are kept while transfers come and go.

    Each resource has room for all that ever cross it; those that run fill the beginning of it.
    """

    def __init__(self, uses: Uses, resources: int) -> None:
        counts = np.bincount(uses.resource, minlength=resources)
        self._uses = uses
        self._owner = uses.owner
        self._first = np.cumsum(counts) - counts
        self._size = np.zeros(resources, np.int64)
        self._use = np.zeros(uses.resource.size, np.int64)  # at each place
        self._place = np.zeros(uses.resource.size, np.int64)  # of each use

    def add(self, transfer: int) -> list[int]:
        """Takes a transfer in; the resources that it crosses."""
        mine = np.arange(self._uses.first[transfer], self._uses.first[transfer + 1])
        resource = self._uses.resource[mine]
        place = self._first[resource] + self._size[resource]
        self._use[place], self._place[mine] = mine, place
        self._size[resource] += 1
        return list(resource.tolist())

    def remove(self, transfer: int) -> list[int]:
        """Leaves a transfer out, the last of each row taking its place there."""
        mine = slice(int(self._uses.first[transfer]), int(self._uses.first[transfer + 1]))
        resource = self._uses.resource[mine]
        self._size[resource] -= 1
        place = self._place[mine]
        last = self._use[self._first[resource] + self._size[resource]]
        self._use[place], self._place[last] = last, place
        return list(resource.tolist())

    def rows(self, resources: Ints) -> tuple[Ints, Floats, Ints]:
        """Who crosses these, with which weight, one resource after the other; how many each."""
        sizes = self._size[resources]
        use = self._use[spans(self._first[resources], sizes)]
        return self._owner[use], self._uses.weight[use], sizes

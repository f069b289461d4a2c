"""Minimal routes of a dragonfly: at most one local, one global and one local cable.

Any cable between the two groups makes a minimal route, whether or not its ends are the switches
of the two NICs: that is how dragonflies spread minimal traffic, and the three switch hops that
Slingshot's makers quote.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.crowds import Crowd
from wirespeed.topology.fabrics.hashing import draw, flow_hash
from wirespeed.topology.fabrics.port_table import PortTable
from wirespeed.topology.fabrics.wiring import Routing
from wirespeed.topology.paths import Paths

Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_DOWN = "every minimal route has a link that is down"


@dataclass(frozen=True, slots=True, eq=False)
class DragonflyWiring:
    """A dragonfly that is part of a topology's links.

    Attributes:
        name, description: as in `Wiring`.
        table: the NICs, called ports here; a transfer goes from port to port.
        switch, slot: [ports] switch and position on it; group g holds the `switches` from
            g * switches on.
        groups: groups that are laid.
        pair_links: cables between any two groups.
        first_link: id of the first NIC's link to its switch.
    """

    name: str
    description: str
    table: PortTable
    switch: Ids
    slot: Ids
    switches: int
    groups: int
    pair_links: int
    first_link: int

    def leaf_of(self, component: npt.ArrayLike) -> Ids:
        """[n] the switch of each NIC (component ids)."""
        return self.switch[self.table.find(component)]

    def pod_of(self, component: npt.ArrayLike) -> Ids:
        """[n] the group of each NIC."""
        return self.leaf_of(component) // self.switches

    def crowd_loads(
        self,
        source: Crowd,
        target: Crowd,
        *,
        routing: Routing,
        capacity: Floats,
        seed: int = 0,
    ) -> Floats | None:
        """None: minimal routes are looked at pair by pair."""
        return None

    def reachable(self, source: npt.ArrayLike, target: npt.ArrayLike) -> Bools:
        """[t] all true: every NIC reaches every other."""
        self.table.find(target)
        return np.ones(len(self.table.find(source)), bool)

    def equal_cost(self, source: npt.ArrayLike, target: npt.ArrayLike) -> Ids:
        """[t] number of minimal routes: one inside a group, one a global cable between groups."""
        return np.where(self.pod_of(source) == self.pod_of(target), 1, self.pair_links)

    def all_paths(self, source: int, target: int) -> list[tuple[int, ...]]:
        """Every minimal route from NIC to NIC, as link ids in walking order."""
        a, b = self.table.find([source]), self.table.find([target])
        count = int(self.equal_cost(source, target)[0])
        walks = [self._walks(a, b, np.array([choice]))[0] for choice in range(count)]
        return [tuple(int(link) for link in walk[walk >= 0]) for walk in walks]

    def paths(
        self,
        source: npt.ArrayLike,
        target: npt.ArrayLike,
        *,
        routing: Routing = Routing.STATIC,
        seed: int = 0,
        capacity: Floats | None = None,
    ) -> Paths:
        """[t] links and shares between NICs (component ids); see `Wiring.paths`."""
        a, b = self.table.find(source), self.table.find(target)
        if routing is Routing.SPRAY:
            return self._sprayed(a, b, capacity)
        if routing is Routing.ECMP:
            choice = draw(flow_hash(a, b, seed), 0, self.pair_links)
        else:
            choice = b % self.pair_links
        walks = self._walks(a, b, choice)
        if capacity is not None:
            self._reroute(walks, a, b, choice, capacity)
        used = walks >= 0
        first = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
        return Paths(first, walks[used], np.ones(first[-1]))

    def global_ends(self) -> tuple[Ids, Ids]:
        """[global cables] the switches at their ends, by pair of groups and number in the pair."""
        low, high = np.triu_indices(self.groups, 1)
        number = np.arange(self.pair_links)
        return (
            self._gateway(low[:, None], high[:, None], number).ravel(),
            self._gateway(high[:, None], low[:, None], number).ravel(),
        )

    def _walks(self, a: Ids, b: Ids, choice: Ids) -> Ids:
        """[t, 5] NIC, local, global, local, NIC link ids; -1 where a step falls away."""
        here, there = self.switch[a], self.switch[b]
        group_a, group_b = here // self.switches, there // self.switches
        far = group_a != group_b
        exit_switch = np.where(far, self._gateway(group_a, group_b, choice), there)
        entry = np.where(far, self._gateway(group_b, group_a, choice), there)
        return np.stack(
            [
                self.first_link + 2 * a,
                self._local(here, exit_switch),
                np.where(far, self._global(group_a, group_b, choice), -1),
                np.where(far, self._local(entry, there), -1),
                self.first_link + 2 * b + 1,
            ],
            axis=1,
        )

    def _gateway(self, group: Ids, other: Ids, number: Ids) -> Ids:
        """The switch of a group that holds a cable to another group: dealt out in turn."""
        peer = other - (other > group)
        return group * self.switches + (peer * self.pair_links + number) % self.switches

    def _local(self, source: Ids, target: Ids) -> Ids:
        """The link between two switches of a group; -1 from a switch to itself."""
        a, b = source % self.switches, target % self.switches
        cable = source // self.switches * (self.switches * (self.switches - 1) // 2)
        cable = len(self.table) + cable + _pair(a, b, self.switches)
        return np.where(a == b, -1, self.first_link + 2 * cable + (a > b))

    def _global(self, source: Ids, target: Ids, number: Ids) -> Ids:
        """The link of a numbered cable from one group to another."""
        first = len(self.table)
        first += self.groups * (self.switches * (self.switches - 1) // 2)
        cable = first + _pair(source, target, self.groups) * self.pair_links + number
        return np.asarray(self.first_link + 2 * cable + (source > target))

    def _reroute(self, walks: Ids, a: Ids, b: Ids, choice: Ids, capacity: Floats) -> None:
        """Tries the other global cables, in turn from the chosen one, where a link is down."""
        dead = np.flatnonzero(_down(walks, capacity))
        for turn in range(1, self.pair_links):
            if not len(dead):
                return
            # From where each flow starts to look depends on its target, so that flows that meet
            # the same dead cable do not all move to the same next one.
            step = 1 + (self.slot[b[dead]] + turn - 1) % max(self.pair_links - 1, 1)
            tried = self._walks(a[dead], b[dead], (choice[dead] + step) % self.pair_links)
            good = ~_down(tried, capacity)
            walks[dead[good]] = tried[good]
            dead = dead[~good]
        self.table.refuse(a[dead], b[dead], np.ones(len(dead), bool), _DOWN)

    def _sprayed(self, a: Ids, b: Ids, capacity: Floats | None) -> Paths:
        """Every minimal route, in proportion to the least capacity on it where that is given."""
        far = self.switch[a] // self.switches != self.switch[b] // self.switches
        ways = np.where(far, self.pair_links, 1)
        owner = np.repeat(np.arange(len(a)), ways)
        choice = np.arange(len(owner)) - np.repeat(np.cumsum(ways) - ways, ways)
        walks = self._walks(a[owner], b[owner], choice)
        weight = np.ones(len(owner))
        if capacity is not None:
            # The NICs' own cables are on every route and only decide whether there is one.
            inner = np.where(walks[:, 1:4] >= 0, capacity[walks[:, 1:4]], np.inf).min(axis=1)
            weight = np.where(np.isinf(inner), 1.0, inner)
            weight[(capacity[walks[:, [0, 4]]] == 0).any(axis=1)] = 0.0
        total = np.bincount(owner, weight, minlength=len(a))
        self.table.refuse(a, b, total == 0, _DOWN)
        return _merged(walks, owner, weight / total[owner], len(a))


def _pair(a: Ids, b: Ids, count: int) -> Ids:
    """The position of an unordered pair among all pairs below `count`, row by row."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.asarray(low * count - low * (low + 1) // 2 + high - low - 1)


def _down(walks: Ids, capacity: Floats) -> Bools:
    return np.asarray(((walks >= 0) & (capacity[walks] == 0)).any(axis=1))


def _merged(walks: Ids, owner: Ids, weight: Floats, transfers: int) -> Paths:
    """Paths from weighted walks of the same transfers; a link on several walks is listed once."""
    used = (walks >= 0) & (weight > 0)[:, None]
    link = walks[used]
    flow = np.broadcast_to(owner[:, None], walks.shape)[used]
    share = np.broadcast_to(weight[:, None], walks.shape)[used]
    span = int(link.max(initial=0)) + 1
    keys, place = np.unique(flow * span + link, return_inverse=True)
    first = np.concatenate([[0], np.cumsum(np.bincount(keys // span, minlength=transfers))])
    total = np.bincount(place.reshape(-1), share).astype(np.float64)
    return Paths(first.astype(np.int64), keys % span, total)

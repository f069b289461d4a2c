"""How a Clos network carries messages: up to a switch that both ends share, then down.

A path is fixed by four choices: the cable up from the source's leaf, the cable up from that
spine, and on the way down the cable from the core and the cable to the target's leaf. Cables are
numbered so that every link id is a product of these; nothing is stored per pair.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.clos_crowds import crowd_loads
from wirespeed.topology.fabrics.clos_spread import DOWN, reroute, sprayed
from wirespeed.topology.fabrics.crowds import Crowd
from wirespeed.topology.fabrics.hashing import Bits, draw, flow_hash
from wirespeed.topology.fabrics.port_table import PortTable
from wirespeed.topology.fabrics.sizing import Shape
from wirespeed.topology.fabrics.wiring import Routing
from wirespeed.topology.paths import Paths

Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_APART = (
    "their rails are networks of their own",
    "go through a GPU of the same rail first (PXN), or take a fabric that joins rails",
)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """[t] cables chosen among those of equal cost, by number on their switch.

    `up` on the source's leaf, `spine_up` on the spine there; `spine` is the spine in the target's
    pod, `spine_down` the cable by which it hangs on the core, `down` the one of the target's leaf.
    """

    up: Ids
    spine_up: Ids
    spine: Ids
    spine_down: Ids
    down: Ids


@dataclass(frozen=True, slots=True, eq=False)
class ClosWiring:
    """A Clos network that is part of a topology's links.

    Attributes:
        name, description: as in `Wiring`.
        table: the NICs, called ports here; a transfer goes from port to port.
        shape: counts of one plane.
        planes: equal networks side by side; each message is split evenly over them.
        leaf, slot: [ports] leaf and position on it, the same in every plane.
        pod, place: [leaves] pod and position in it.
        tree: [pods] pods of different trees do not reach each other.
        first_link: id of the first NIC's link to its leaf.
    """

    name: str
    description: str
    table: PortTable
    shape: Shape
    planes: int
    leaf: Ids
    slot: Ids
    pod: Ids
    place: Ids
    tree: Ids
    first_link: int

    @property
    def leaves(self) -> int:
        """Leaves of one plane."""
        return len(self.pod)

    @property
    def spines(self) -> int:
        """Spines of one plane."""
        return len(self.tree) * self.shape.spines

    @property
    def cores(self) -> int:
        """Cores of one plane."""
        return (int(self.tree.max()) + 1) * self.shape.groups * self.shape.cores

    def leaf_of(self, component: npt.ArrayLike) -> Ids:
        """[n] the leaf of each NIC (component ids), counted in the first plane."""
        return self.leaf[self.table.find(component)]

    def pod_of(self, component: npt.ArrayLike) -> Ids:
        """[n] the pod of each NIC; pods of different trees differ."""
        return self.pod[self.leaf_of(component)]

    def reachable(self, source: npt.ArrayLike, target: npt.ArrayLike) -> Bools:
        """[t] whether both NICs hang on the same tree."""
        a, b = self.table.find(source), self.table.find(target)
        return np.asarray(self._tree_of(a) == self._tree_of(b))

    def equal_cost(self, source: npt.ArrayLike, target: npt.ArrayLike) -> Ids:
        """[t] number of shortest paths, over all planes; 0 where there is none."""
        a, b = self.table.find(source), self.table.find(target)
        shape = self.shape
        in_pod = shape.uplinks * shape.trunk
        across = shape.uplinks * shape.spine_uplinks * shape.core_trunk
        across *= shape.spines_per_group * shape.trunk
        same_leaf, same_pod = self.common(a, b)
        count = np.where(same_leaf, 1, np.where(same_pod, in_pod, across)) * self.planes
        return np.where(self._tree_of(a) == self._tree_of(b), count, 0)

    def all_paths(self, source: int, target: int) -> list[tuple[int, ...]]:
        """Every shortest path from NIC to NIC, as link ids in walking order; for small cases."""
        a, b = self.table.find([source]), self.table.find([target])
        if self._tree_of(a) != self._tree_of(b):
            return []
        same_leaf, same_pod = self.common(a, b)
        shape, found = self.shape, []
        ups = range(1 if same_leaf else shape.uplinks)
        spine_ups = range(1 if same_pod else shape.spine_uplinks)
        spines = range(1 if same_pod else shape.spines_per_group)
        core_trunks = range(1 if same_pod else shape.core_trunk)
        trunks = range(1 if same_leaf else shape.trunk)
        options = itertools.product(ups, spine_ups, spines, core_trunks, trunks)
        for plane, option in itertools.product(range(self.planes), options):
            choice = self._from_options(same_pod, *(np.array([o], np.int64) for o in option))
            walk = self.walks(a, b, choice, plane)[0]
            found.append(tuple(int(link) for link in walk[walk >= 0]))
        return found

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
        self.table.refuse(a, b, self._tree_of(a) != self._tree_of(b), *_APART)
        if routing is Routing.SPRAY:
            return sprayed(self, a, b, capacity)
        walks, alive = [], []
        for plane in range(self.planes):
            walk = self.walks(a, b, self.choose(a, b, routing, seed, plane), plane)
            up = np.ones(len(a), bool)
            if capacity is not None:
                up = reroute(self, walk, a, b, plane, capacity, routing, seed)
            walks.append(walk)
            alive.append(up)
        planes = np.stack(alive, axis=1)
        self.table.refuse(a, b, planes.sum(axis=1) == 0, DOWN)
        share = planes / planes.sum(axis=1, keepdims=True)
        return _flat(np.stack(walks, axis=1), share)

    def crowd_loads(
        self,
        source: Crowd,
        target: Crowd,
        *,
        routing: Routing,
        capacity: Floats,
        seed: int = 0,
    ) -> Floats | None:
        """[links] what an exchange puts on each; see `Wiring.crowd_loads`."""
        return crowd_loads(self, source, target, routing, seed, capacity)

    def choose(self, a: Ids, b: Ids, routing: Routing, seed: int, plane: int) -> Choice:
        """The cables that transfers between ports take while all are up."""
        if routing is Routing.ECMP:
            return self.hashed(a, b, flow_hash(a, b, seed + (plane << 32)))
        return self._by_destination(b)

    def walks(self, a: Ids, b: Ids, choice: Choice, plane: int) -> Ids:
        """[t, 6] link ids from port to port in walking order, -1 where a step falls away."""
        same_leaf, same_pod = self.common(a, b)
        leaf_a, leaf_b = self.leaf[a], self.leaf[b]
        spine_a = self.spine_id(leaf_a, choice.up % max(self.shape.spines, 1))
        spine_b = self.spine_id(leaf_b, choice.spine)
        walk = np.stack(
            [
                self.nic_links(plane)[a],
                self.leaf_link(leaf_a, choice.up, plane),
                self.spine_link(spine_a, choice.spine_up, plane),
                self.spine_link(spine_b, choice.spine_down, plane) + 1,
                self.leaf_link(leaf_b, choice.down, plane) + 1,
                self.nic_links(plane)[b] + 1,
            ],
            axis=1,
        )
        walk[same_leaf, 1:5] = -1
        walk[same_pod, 2:4] = -1
        return walk

    def link_ranges(self) -> tuple[slice, slice, slice]:
        """The links of NICs, of leaves up and of spines up, all planes."""
        shape, planes = self.shape, self.planes
        counts = len(self.leaf), self.leaves * shape.uplinks, self.spines * shape.spine_uplinks
        ends = (self.first_link + 2 * planes * np.cumsum(counts)).tolist()
        return slice(self.first_link, ends[0]), slice(*ends[:2]), slice(*ends[1:])

    def nic_links(self, plane: int) -> Ids:
        """[ports] the link from each NIC to its leaf."""
        count = len(self.leaf)
        return self.first_link + 2 * (plane * count + np.arange(count))

    def leaf_link(self, leaf: Ids, uplink: Ids, plane: int) -> Ids:
        """The link up from a leaf of a plane by number of its cable."""
        first = self.planes * len(self.leaf)
        row = plane * self.leaves + leaf
        return self.first_link + 2 * (first + row * self.shape.uplinks + uplink)

    def spine_link(self, spine: Ids, uplink: Ids, plane: int) -> Ids:
        """The link up from a spine of a plane by number of its cable."""
        first = self.planes * (len(self.leaf) + self.leaves * self.shape.uplinks)
        row = plane * self.spines + spine
        return self.first_link + 2 * (first + row * self.shape.spine_uplinks + uplink)

    def spine_id(self, leaf: Ids, position: Ids) -> Ids:
        """The spine at a position in the pod of a leaf."""
        return self.pod[leaf] * self.shape.spines + position

    def _by_destination(self, b: Ids) -> Choice:
        """Destination-based (d-mod-k): equal slots share a cable up, equal leaves a core.

        In a full tree all destinations of a shift then use different cables at every step.
        """
        shape = self.shape
        up = self.slot[b] % max(shape.uplinks, 1)
        trunk = up // max(shape.spines, 1)
        spine_up = (self.place[self.leaf[b]] * shape.trunk + trunk) % max(shape.spine_uplinks, 1)
        return Choice(up, spine_up, up % max(shape.spines, 1), spine_up, up)

    def hashed(self, a: Ids, b: Ids, key: Bits) -> Choice:
        """The cables that flows between ports draw by their hash."""
        shape = self.shape
        draws = [
            draw(key, part, ways)
            for part, ways in enumerate(
                (
                    shape.uplinks,
                    shape.spine_uplinks,
                    shape.spines_per_group * shape.core_trunk,
                    shape.trunk,
                )
            )
        ]
        _, same_pod = self.common(a, b)
        spine, core_trunk = np.divmod(draws[2], max(shape.core_trunk, 1))
        return self._from_options(same_pod, draws[0], draws[1], spine, core_trunk, draws[3])

    def _from_options(
        self, same_pod: Bools, up: Ids, spine_up: Ids, in_group: Ids, core_trunk: Ids, trunk: Ids
    ) -> Choice:
        """A choice from independent options; inside a pod the spine down is the spine up."""
        shape = self.shape
        spine = up % max(shape.spines, 1)
        group = spine // max(shape.spines_per_group, 1)
        spine = np.where(same_pod, spine, group * shape.spines_per_group + in_group)
        spine_down = core_trunk * shape.cores + spine_up % max(shape.cores, 1)
        return Choice(up, spine_up, spine, spine_down, trunk * shape.spines + spine)

    def _tree_of(self, port: Ids) -> Ids:
        return self.tree[self.pod[self.leaf[port]]]

    def common(self, a: Ids, b: Ids) -> tuple[Bools, Bools]:
        """[t] whether two ports share a leaf, and a pod."""
        leaf_a, leaf_b = self.leaf[a], self.leaf[b]
        return leaf_a == leaf_b, self.pod[leaf_a] == self.pod[leaf_b]


def _flat(walks: Ids, share: Floats) -> Paths:
    """Paths from [t, planes, steps] links (-1: none) and the [t, planes] share of each plane."""
    used = (walks >= 0) & (share > 0)[:, :, None]
    lengths = used.sum(axis=(1, 2))
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shares = np.broadcast_to(share[:, :, None], walks.shape)
    return Paths(first, walks[used], shares[used])

"""Members: which GPUs of a node take part, so that the farthest path among them is as stated."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import msgspec
import numpy as np

from wirespeed.topology.kinds import ComponentKind, SmiWord
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.node_design import NodeDesign, PcieGroup
from wirespeed.topology.path_types import smi_word
from wirespeed.topology.unit_routes import UnitRoutes

Members = tuple[int, ...]


@cache
def members_of(design: NodeDesign, count: int, path: str) -> tuple[NodeDesign, Members]:
    """The GPUs that take part, and the design, regrouped where no choice has that farthest path.

    Without a path the first `count` are taken.
    """
    word = path.strip().upper()
    word = "NV" if word.startswith("NV") else word
    first = tuple(range(count))
    if not word or count < 2:
        return design, first
    for members in _choices(design, count):
        if _farthest(design, members) == word:
            return design, members
    return _regrouped(design, count, word), first


def _choices(design: NodeDesign, count: int) -> list[Members]:
    """The first GPUs, as many of each NUMA node, and pairs."""
    numa = {g: group.numa for group in design.pcie for g in group.gpus}
    order = sorted(range(design.gpus), key=lambda g: (_place_in_numa(g, numa), numa.get(g, 0)))
    choices = [tuple(range(count)), tuple(sorted(order[:count]))]
    if count == 2:
        choices += list(combinations(range(design.gpus), 2))
    return choices


def _place_in_numa(gpu: int, numa: dict[int, int]) -> int:
    return sum(1 for other in range(gpu) if numa.get(other, 0) == numa.get(gpu, 0))


def _farthest(design: NodeDesign, members: Members) -> str:
    """nvidia-smi's word for the farthest pair; NV for any number of links."""
    routes = _routes(msgspec.structs.replace(design, nodes_per_unit=1))
    gpus = routes.unit.of_kind(ComponentKind.GPU)
    words = {smi_word(routes, int(gpus[a]), int(gpus[b])) for a, b in combinations(members, 2)}
    ranked = [word for word in SmiWord.__members__ if word in words]
    return ranked[-1] if ranked else "NV"


@cache
def _routes(design: NodeDesign) -> UnitRoutes:
    unit = unit_of(design)
    return UnitRoutes(unit, np.concatenate([unit.bandwidth, unit.throughput]))


def _regrouped(design: NodeDesign, count: int, word: str) -> NodeDesign:
    """The first `count` GPUs below one switch (PIX, PXB), host bridge (PHB), NUMA node or host."""
    model = next((group for group in design.pcie if group.gpus), PcieGroup())
    gpus = tuple(range(design.gpus))
    last = design.cpu.numa_nodes - 1
    if word in ("PIX", "PXB"):
        levels = 1 if word == "PIX" else 2
        groups = [msgspec.structs.replace(model, levels=levels, upper=-1, gpus=gpus, nics=())]
    elif word in ("PHB", "NODE", "SYS"):
        groups = [
            msgspec.structs.replace(
                model,
                levels=0,
                upper=-1,
                gpus=(g,),
                nics=(),
                root=1 if word == "PHB" else -1,
                numa=last if word == "SYS" and g >= (count + 1) // 2 else 0,
            )
            for g in gpus
        ]
    else:
        return design
    rest = [msgspec.structs.replace(group, gpus=()) for group in design.pcie if group.nics]
    rest = [msgspec.structs.replace(group, levels=0, upper=-1) for group in rest]
    return msgspec.structs.replace(design, pcie=(*groups, *rest))

"""best_match: the preset that fits what was read, and the others that fit as well.

A matrix names no GPU. Presets are told apart by, in this order:

1. the GPU, where an option or a file names it;
2. the bonded links: all alike before some missing, the whole node before a part of it;
3. the GPU: boards of the maker first, then older before newer, as the catalog has them;
4. how NICs lie to GPUs, the number of NICs, NUMA nodes, PCIe words between GPUs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

from wirespeed.catalog import Gpu, gpu, gpus
from wirespeed.inventory.design_words import DesignWords
from wirespeed.inventory.node_facts import NodeFacts
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.presets import preset, preset_names

_MOST_LOST = 0.5
"""Share of a preset's links that may be missing for the rest to be told as its."""
_GENERIC_HOST = "pcie-8x-rtx4090"


@dataclass(frozen=True, slots=True)
class Match:
    """A preset to complete a machine from.

    Attributes:
        words: its words between devices.
        same_links: False where it lends its host only, since no preset has such GPU links.
        lost: share of its links that the machine lacks.
        alternatives: presets with another GPU that fit as well.
    """

    words: DesignWords
    same_links: bool
    lost: float
    alternatives: tuple[str, ...]

    @property
    def design(self) -> NodeDesign:
        """The preset's design."""
        return self.words.design


def best_match(facts: NodeFacts, wanted: Gpu | None) -> Match:
    """The preset to complete the machine from; some preset always lends its host."""
    fits = [fit for name in preset_names() if (fit := _fit(facts, preset(name), wanted))]
    if not fits:
        return _generic(facts, wanted)
    best = min(fits, key=lambda fit: fit.rank)
    chosen = min((fit for fit in fits if fit.model == best.model), key=lambda fit: fit.detail)
    return Match(chosen.words, True, chosen.lost, _alternatives(fits, chosen))


@dataclass(frozen=True, slots=True)
class _Fit:
    words: DesignWords
    model: str
    lost: float
    part: bool
    distance: float
    """How far NICs, NUMA nodes and PCIe words are from what was read; 0 is equal."""

    @property
    def links_rank(self) -> tuple[float, bool]:
        return round(self.lost, 6), self.part

    @property
    def rank(self) -> tuple[object, ...]:
        family = _family(self.words.design)
        if not self.words.design.nvlink.switches and self.words.design.nvlink.style == "none":
            # Without links nothing but the tree tells machines apart.
            return (*self.links_rank, self.distance, family, _age(self.model))
        return (*self.links_rank, family, _age(self.model), self.words.design.name)

    @property
    def detail(self) -> tuple[object, ...]:
        design = self.words.design
        return (*self.links_rank, self.distance, _family(design), design.name)


def _fit(facts: NodeFacts, design: NodeDesign, wanted: Gpu | None) -> _Fit | None:
    model = gpu(design.gpu)
    if model.vendor != "NVIDIA" or design.gpus < len(facts.gpus):
        return None
    if wanted is not None and wanted.key != model.key:
        return None
    words = DesignWords(design)
    lost = _lost_links(facts, words)
    if lost is None or lost > (1.0 if wanted is not None else _MOST_LOST):
        return None
    part = design.gpus > len(facts.gpus)
    return _Fit(words, model.key, lost, part, _distance(facts, words))


def _lost_links(facts: NodeFacts, words: DesignWords) -> float | None:
    """Share of the preset's links that are not there; None where there are links it has not."""
    have, lack = 0, 0
    for (i, a), (j, b) in combinations(enumerate(facts.gpus), 2):
        there = words.links(i, j)
        here = facts.links.get((a, b), 0)
        if here > there:
            return None
        if (a, b) in facts.links or (a, b) in facts.distance:
            have, lack = have + there, lack + there - here
    return lack / have if have else 0.0


def _distance(facts: NodeFacts, words: DesignWords) -> float:
    """Differences between what was read and the preset, in words; order of devices aside."""
    total = 3.0 * abs(len(facts.nics) - words.design.nic_count)
    total += 3.0 * (words.design.gpus - len(facts.gpus))
    for position, name in enumerate(facts.gpus):
        own = f"gpu{position}"
        read = Counter(facts.nic_words(name).values())
        kept = Counter(
            word
            for nic in range(words.design.nic_count)
            if (word := words.word(own, f"nic{nic}")) is not None
        )
        if read:
            total += ((read - kept) + (kept - read)).total() / 2
    for (i, a), (j, b) in combinations(enumerate(facts.gpus), 2):
        here, there = facts.distance.get((a, b)), words.word(f"gpu{i}", f"gpu{j}")
        total += here is not None and there is not None and here != there
    homes = {words.numa(f"gpu{i}") for i in range(len(facts.gpus))}
    if facts.numa:
        total += abs(len({facts.numa_of(a) for a in facts.gpus} - {None}) - len(homes - {None}))
    return total


def _alternatives(fits: list[_Fit], chosen: _Fit) -> tuple[str, ...]:
    """The nearest preset of every other GPU whose links fit as well."""
    nearest: dict[str, _Fit] = {}
    for fit in sorted(fits, key=lambda fit: fit.detail):
        if fit.model != chosen.model and fit.links_rank == chosen.links_rank:
            nearest.setdefault(fit.model, fit)
    ranked = sorted(nearest.values(), key=lambda fit: fit.rank)
    return tuple(fit.words.design.name for fit in ranked)


def _generic(facts: NodeFacts, wanted: Gpu | None) -> Match:
    """A host for GPUs whose links no preset has: of a preset with that GPU, or of a PCIe box."""
    own = [preset(name) for name in preset_names() if wanted and preset(name).gpu == wanted.key]
    designs = own or [preset(name) for name in preset_names() if _is_plain(preset(name))]
    trees = [DesignWords(design) for design in designs or [preset(_GENERIC_HOST)]]
    best = min(trees, key=lambda words: (_distance(facts, words), words.design.name))
    return Match(best, False, 0.0, ())


def _is_plain(design: NodeDesign) -> bool:
    return design.nvlink.style == "none" and gpu(design.gpu).vendor == "NVIDIA"


def _family(design: NodeDesign) -> int:
    """Boards and boxes under their maker's name before clouds, which are built from them."""
    known = ("dgx-", "hgx-", "pcie-")
    return next((rank for rank, word in enumerate(known) if design.name.startswith(word)), 3)


def _age(model: str) -> int:
    """Position in the catalog, which lists older parts of a line first."""
    return next((at for at, row in enumerate(gpus()) if row.key == model), len(gpus()))

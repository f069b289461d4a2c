"""best_match: the preset that fits what was read, and the others that fit as well.

A matrix names no GPU. Presets are told apart by, in this order:

1. the GPU, where an option or a file names it;
2. the bonded links: all alike before some missing, a whole machine before a part of one;
3. the GPU: boards of the maker first, then older before newer, as the catalog has them;
4. how NICs lie to GPUs, the number of NICs, NUMA nodes, PCIe words between GPUs, and what a
   topology file says of the host: who made the processors, whether GPUs drive displays, and a PCI
   domain for each device, as Azure's virtual machines have it.

Without bonded links 4 comes before 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from wirespeed.catalog import Gpu, gpu, gpus
from wirespeed.inventory.design_words import DesignWords
from wirespeed.inventory.node_facts import NodeFacts
from wirespeed.topology.machines import vendor_of
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.presets import preset, preset_names

_MOST_LOST = 0.5
"""Share of a preset's links, and of its linked pairs, that may be short for it to be told."""
_OTHER_VENDOR = 2.0
"""Words that processors of another maker weigh."""
_GENERIC = "pcie-8x-rtx4090"
"""What stands for PCIe boxes of which nothing more is known: no peer-to-peer, no NVLink."""
_FAMILIES = ("dgx-", "hgx-", "pcie-")
_PLACES = ("aws-", "azure-", "gcp-", "oci-", "perlmutter", "polaris")
_WHOLE_COUNTS = frozenset({1, 2, 4, 6, 8, 12, 18, 36})
"""Links of a sound pair; a bridge with another number has lost some."""


@dataclass(frozen=True, slots=True)
class Match:
    """A preset to complete a machine from.

    Attributes:
        words: its words between devices.
        same_links: False where it lends its host only, since no preset has such GPU links.
        part: whether links lead from these GPUs to others of the preset.
        alternatives: presets with another GPU that fit as well.
        distance: how far NICs, NUMA nodes and PCIe words are from what was read; 0 is equal.
    """

    words: DesignWords
    same_links: bool
    part: bool
    alternatives: tuple[str, ...]
    distance: float

    @property
    def design(self) -> NodeDesign:
        """The preset's design."""
        return self.words.design


def best_match(facts: NodeFacts, wanted: Gpu | None) -> Match:
    """The preset to complete the machine from; some preset always lends its host."""
    fits = [fit for words in _candidates(wanted) if (fit := _fit(facts, words, wanted))]
    if not fits:
        return _host_only(facts, wanted)
    if not facts.links:
        chosen = min(fits, key=_Fit.by_host)
        return Match(chosen.words, True, chosen.part, (), chosen.distance)
    model = min(fits, key=_Fit.by_model).model
    chosen = min((fit for fit in fits if fit.model == model), key=_Fit.by_host)
    return Match(
        chosen.words, True, chosen.part, _alternatives(facts, fits, chosen), chosen.distance
    )


@dataclass(frozen=True, slots=True)
class _Fit:
    words: DesignWords
    model: str
    lost: float
    part: bool
    distance: float
    vague: bool
    """A cloud's or site's own node that is not exactly what was read, or a rack without links."""
    elsewhere: bool
    """The devices have PCI domains of their own and this is no node of Azure."""

    def by_model(self) -> tuple[object, ...]:
        return self.lost, self.part, *in_order(self.words.design)

    def by_host(self) -> tuple[object, ...]:
        design = self.words.design
        ranks = self.vague, self.distance, self.elsewhere, design.name != _GENERIC
        return self.lost, self.part, *ranks, *in_order(design)


@cache
def _all_words() -> tuple[DesignWords, ...]:
    """Presets with GPUs that print such a matrix."""
    designs = map(preset, preset_names())
    return tuple(DesignWords(design) for design in designs if gpu(design.gpu).vendor == "NVIDIA")


def _candidates(wanted: Gpu | None) -> Iterable[DesignWords]:
    return (w for w in _all_words() if wanted is None or gpu(w.design.gpu).key == wanted.key)


def _fit(facts: NodeFacts, words: DesignWords, wanted: Gpu | None) -> _Fit | None:
    design, count = words.design, len(facts.gpus)
    if design.gpus < count:
        return None
    have, lack, short = 0, 0, 0
    linked = 0
    for (i, a), (j, b) in combinations(enumerate(facts.gpus), 2):
        there, here = words.links(i, j), facts.links.get((a, b), 0)
        if here > there:
            return None
        if there and ((a, b) in facts.links or (a, b) in facts.distance):
            have, lack = have + there, lack + there - here
            linked, short = linked + 1, short + (here < there)
    lost = lack / have if have else 0.0
    odd = count == 2 and set(facts.links.values()) - _WHOLE_COUNTS
    told = lost <= _MOST_LOST and (short <= _MOST_LOST * linked or bool(odd))
    if not told and wanted is None:
        return None
    part = any(words.links(i, j) for i in range(count) for j in range(count, design.gpus))
    if facts.merged.get("host", "displays") is False and not gpu(design.gpu).pcie_p2p:
        return None
    distance = _distance(facts, words)
    elsewhere = facts.merged.get("host", "own_domains") is True and "azure-" not in design.name
    vague = design.name.startswith(_PLACES) and (distance > 0 or not facts.nics)
    # A rack is more than one node can show without links that lead to its switches.
    vague |= design.nodes_per_unit > 1 and not facts.links
    return _Fit(words, gpu(design.gpu).key, round(lost, 6), part, distance, vague, elsewhere)


def _distance(facts: NodeFacts, words: DesignWords) -> float:
    """Differences between what was read and the preset, in words; order of devices aside."""
    design = words.design
    total = 3.0 * abs(len(facts.nics) - design.nic_count) if facts.nics else 0.0
    vendor = facts.merged.text("host", "cpu_vendor")
    total += _OTHER_VENDOR * (vendor not in ("", vendor_of(design.cpu.model)))
    if len(facts.gpus) > 1:
        total += 3.0 * abs(design.gpus - len(facts.gpus))
    for position, name in enumerate(facts.gpus):
        read = Counter(facts.nic_words(name).values())
        if read:
            named = (words.word(f"gpu{position}", f"nic{n}") for n in range(design.nic_count))
            kept = Counter(word for word in named if word is not None)
            total += ((read - kept) + (kept - read)).total() / 2
    for (i, a), (j, b) in combinations(enumerate(facts.gpus), 2):
        here, there = facts.distance.get((a, b)), words.word(f"gpu{i}", f"gpu{j}")
        total += here is not None and there is not None and here != there
        if a in facts.numa and b in facts.numa:
            together = words.numa(f"gpu{i}") == words.numa(f"gpu{j}")
            total += (facts.numa[a] == facts.numa[b]) != together
    return total


def _alternatives(facts: NodeFacts, fits: list[_Fit], chosen: _Fit) -> tuple[str, ...]:
    """A preset of every other GPU whose links fit as well, to tell it by.

    Two GPUs may be a pair under a bridge, or all that a container shows of a larger board.
    """
    pair = len(facts.gpus) == 2
    first: dict[str, str] = {}
    for fit in sorted(fits, key=_Fit.by_model):
        alike = fit.lost == chosen.lost and (pair or fit.part == chosen.part)
        if alike and fit.model != chosen.model:
            first.setdefault(fit.model, fit.words.design.name)
    return tuple(first.values())


def _host_only(facts: NodeFacts, wanted: Gpu | None) -> Match:
    """A host for GPUs whose links no preset has: of a preset with that GPU, or the nearest."""
    trees = list(_candidates(wanted)) or _all_words()

    def rank(words: DesignWords) -> tuple[object, ...]:
        bare = words.design.nvlink.style == "none"
        unlike = bare == bool(facts.links)
        distance = _distance(facts, words)
        return unlike, distance, words.design.name != _GENERIC, *in_order(words.design)

    best = min(trees, key=rank)
    return Match(best, False, False, (), _distance(facts, best))


def match_with(facts: NodeFacts, design: NodeDesign) -> Match | None:
    """The match with a preset that is known to be meant; None where its links are others."""
    words = DesignWords(design)
    fit = _fit(facts, words, gpu(design.gpu))
    return Match(words, True, fit.part, (), fit.distance) if fit else None


def in_order(design: NodeDesign) -> tuple[object, ...]:
    """Where nothing else tells: boards and boxes of a maker before clouds, older before newer."""
    own = next((k for k, word in enumerate(_FAMILIES) if design.name.startswith(word)), 3)
    rank = len(_FAMILIES) + 1 if design.name.startswith(_PLACES) else own
    return design.status, rank, _ages()[gpu(design.gpu).key], len(design.name), design.name


@cache
def _ages() -> dict[str, int]:
    """Position in the catalog of the first GPU of each one's architecture; older lines first."""
    first: dict[str, int] = {}
    for position, row in enumerate(gpus()):
        first.setdefault(row.architecture, position)
    return {row.key: first[row.architecture] for row in gpus()}

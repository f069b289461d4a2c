"""nested_classes: which devices share a switch, a tree of switches, a host bridge, a NUMA node.

nvidia-smi's words are levels of one tree: PIX within PXB within PHB within NODE. NVLink hides the
word between two GPUs; what they share then follows from the NICs that both see, and else from
suggestions (a preset, the NUMA nodes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wirespeed.inventory.node_facts import Pair
from wirespeed.topology.kinds import SmiWord

LEVELS = (SmiWord.PIX, SmiWord.PXB, SmiWord.PHB, SmiWord.NODE)


@dataclass(frozen=True, slots=True)
class Classes:
    """For each level the class of each device, as the first device in it."""

    devices: tuple[str, ...]
    first: Mapping[SmiWord, Mapping[str, str]]

    def members(self, level: SmiWord, among: Iterable[str] | None = None) -> list[list[str]]:
        """The classes of a level in order of their first device; `among` limits to some."""
        groups: dict[str, list[str]] = {}
        for device in self.devices if among is None else among:
            groups.setdefault(self.first[level][device], []).append(device)
        return list(groups.values())

    def word(self, a: str, b: str) -> SmiWord:
        """The level at which two devices meet."""
        for level in LEVELS:
            if self.first[level][a] == self.first[level][b]:
                return level
        return SmiWord.SYS


def nested_classes(
    devices: Sequence[str], known: Mapping[Pair, SmiWord], suggested: Mapping[Pair, SmiWord]
) -> Classes:
    """Classes that hold every known word, where the words are those of a tree.

    A suggestion is followed at its level, or above, wherever it contradicts no known word.
    """
    merging = _Merging(devices, known)
    result = {}
    for level in LEVELS:
        for (a, b), word in known.items():
            if word == level:
                merging.join(a, b)
        for (a, b), word in suggested.items():
            if word <= level and merging.may_join(a, b, level):
                merging.join(a, b)
        result[level] = dict(merging.first)
    return Classes(tuple(devices), result)


class _Merging:
    """Groups of devices that grow from level to level, each under its first device."""

    def __init__(self, devices: Sequence[str], known: Mapping[Pair, SmiWord]) -> None:
        self.order = {device: position for position, device in enumerate(devices)}
        self.first = {device: device for device in devices}
        self.members = {device: [device] for device in devices}
        self.outward: dict[str, list[tuple[str, SmiWord]]] = {device: [] for device in devices}
        """Known words by device."""
        for (a, b), word in known.items():
            self.outward[a].append((b, word))
            self.outward[b].append((a, word))

    def join(self, a: str, b: str) -> None:
        one, other = sorted((self.first[a], self.first[b]), key=self.order.__getitem__)
        if one == other:
            return
        for device in self.members.pop(other):
            self.first[device] = one
            self.members[one].append(device)

    def may_join(self, a: str, b: str, level: SmiWord) -> bool:
        """Whether two groups may meet at a level, by all words that are known.

        None between them is farther, and what both see, they see at the same word.
        """
        one, other = self.first[a], self.first[b]
        if one == other:
            return False
        here, there = self._seen(one), self._seen(other)
        if other in here and here[other] > level:
            return False
        return all(here[group] == there[group] for group in here.keys() & there.keys())

    def _seen(self, group: str) -> dict[str, SmiWord]:
        """The nearest known word from a group to each other one."""
        seen: dict[str, SmiWord] = {}
        for device in self.members[group]:
            for target, word in self.outward[device]:
                key = self.first[target]
                if key != group:
                    seen[key] = min(word, seen.get(key, word))
        return seen

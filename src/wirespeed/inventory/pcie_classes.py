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
    first = {device: device for device in devices}
    groups = {device: [device] for device in devices}
    result = {}

    def join(a: str, b: str) -> None:
        keep, gone = first[a], first[b]
        if devices.index(gone) < devices.index(keep):
            keep, gone = gone, keep
        for device in groups.pop(gone):
            first[device] = keep
            groups[keep].append(device)

    for level in LEVELS:
        for (a, b), word in known.items():
            if word == level and first[a] != first[b]:
                join(a, b)
        for (a, b), word in suggested.items():
            if word > level or first[a] == first[b]:
                continue
            cross = ((x, y) for x in groups[first[a]] for y in groups[first[b]])
            if all(known.get(pair, level) <= level for pair in cross):
                join(a, b)
        result[level] = dict(first)
    return Classes(tuple(devices), result)

"""NodeFacts: GPUs and NICs of one node, the words between them, and what is known of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from wirespeed.errors import InputError
from wirespeed.inventory.merged import Merged
from wirespeed.topology.kinds import SmiWord

_DEVICE = re.compile(r"(gpu|nic)(\d+)")
_BONDED = re.compile(r"([A-Z]+?)(\d+)")

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node as it was read. Devices bear their address, such as gpu3.

    Attributes:
        gpus, nics: in order of their printed numbers.
        distance: nvidia-smi's word over PCIe, of the pairs that show one.
        links: bonded NVLinks (or another vendor's), of the pairs that show them.
        differing: pairs whose two directions bear different words, with both.
        numa: NUMA node by device.
        vendor_word: what stands for NV in another vendor's matrix; else NV.
    """

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    distance: Mapping[Pair, SmiWord]
    links: Mapping[Pair, int]
    differing: Mapping[Pair, tuple[str, str]]
    numa: Mapping[str, int]
    vendor_word: str
    merged: Merged

    @property
    def devices(self) -> tuple[str, ...]:
        """All GPUs, then all NICs."""
        return self.gpus + self.nics

    @property
    def label(self) -> str:
        """What to call the files."""
        return ", ".join(self.merged.files)

    def links_of(self, gpu: str) -> int:
        """The sum of a GPU's row: a link of a mesh counts once, one to a switch for every peer."""
        return sum(count for (a, _), count in self.links.items() if a == gpu)

    def nic_words(self, gpu: str) -> dict[str, SmiWord]:
        """Distance of each NIC whose word is known."""
        return {nic: self.distance[gpu, nic] for nic in self.nics if (gpu, nic) in self.distance}

    def numa_of(self, device: str) -> int | None:
        """The NUMA node of a device, where the files say it."""
        return self.numa.get(device)


def node_facts(merged: Merged) -> NodeFacts:
    """The node that the files describe; InputError where they name no GPU."""
    gpus, nics = _devices(merged, "gpu"), _devices(merged, "nic")
    if not gpus:
        raise InputError(
            "no GPU is named here",
            where=", ".join(merged.files),
            why="a machine is known by its GPUs and the links between them",
            remedy="give the whole output of `nvidia-smi topo -m`, or the name of a preset",
        )
    words = {
        (a, b): str(statement.value)
        for subject, statement in merged.of_attribute("smi")
        for a, _, b in [subject.partition(">")]
        if a != b
    }
    distance: dict[Pair, SmiWord] = {}
    links: dict[Pair, int] = {}
    differing: dict[Pair, tuple[str, str]] = {}
    vendor_word = "NV"
    for (a, b), word in words.items():
        back = words.get((b, a), word)
        if back != word and (b, a) not in differing:
            differing[a, b] = (word, back)
        agreed = _farther(word, back)
        if agreed in SmiWord.__members__:
            distance[a, b] = distance[b, a] = SmiWord[agreed]
        elif (found := _BONDED.fullmatch(agreed)) and a in gpus and b in gpus:
            links[a, b] = links[b, a] = int(found[2])
            vendor_word = found[1]
    homes = {device: merged.number(device, "numa") for device in gpus + nics}
    numa = {device: number for device, number in homes.items() if number is not None}
    return NodeFacts(gpus, nics, distance, links, differing, numa, vendor_word, merged)


def _devices(merged: Merged, kind: str) -> tuple[str, ...]:
    numbers = {
        int(found[2])
        for subject, _ in merged.statements
        for part in subject.split(">")
        if (found := _DEVICE.fullmatch(part)) and found[1] == kind
    }
    return tuple(f"{kind}{number}" for number in sorted(numbers))


def _farther(one: str, other: str) -> str:
    """Of two words for one pair the more careful: the longer way, the fewer links."""

    def reach(word: str) -> tuple[int, int]:
        if word in SmiWord.__members__:
            return 1, SmiWord[word]
        found = _BONDED.fullmatch(word)
        return 0, -int(found[2]) if found else 0

    return max(one, other, key=reach)


def peer_to_peer(merged: Merged) -> bool | None:
    """Whether `topo -p2p` says OK of every pair; None where it was not asked."""
    words = [
        str(statement.value)
        for attribute in ("p2p_read", "p2p_write", "p2p_status", "p2p_prop")
        for _, statement in merged.of_attribute(attribute)
    ]
    return all(word == "OK" for word in words) if words else None

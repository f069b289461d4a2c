"""HostFacts: what a topology file says of one host, sorted by what it is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from wirespeed.errors import first_of
from wirespeed.evidence._types import Value
from wirespeed.topology.software import Notice

Table = Mapping[str, Value]

_NAMED = 3
_GPU_CLASSES = ("0x03", "0x12")


@dataclass(frozen=True, slots=True)
class Link:
    """Links of one GPU to one target (a bus id)."""

    gpu: str
    target: str
    kind: str
    count: int
    target_class: str


@dataclass(slots=True)
class HostFacts:
    """What a file says of one host. GPUs and NICs by subject, PCI devices by bus id."""

    cpus: list[dict[str, Value]] = field(default_factory=list)
    cpu_names: list[str] = field(default_factory=list)
    pcis: dict[str, dict[str, Value]] = field(default_factory=dict)
    gpus: dict[str, dict[str, Value]] = field(default_factory=dict)
    nics: dict[str, dict[str, Value]] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    below: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Bus ids of the PCI devices right below a `cpu0` or a `pci 0000:1b:00.0`."""

    @classmethod
    def of(cls, table: Mapping[str, dict[str, Value]]) -> HostFacts:
        """The facts of one host, sorted by what they are about."""
        host = cls()
        for subject, attributes in table.items():
            source, _, target = subject.partition(">pci ")
            if target:
                host._add_link(source, target, attributes)
            elif subject.startswith("pci "):
                host.pcis[subject[4:]] = attributes
                host.below[str(attributes.get("parent", ""))].append(subject[4:])
            elif subject.startswith("cpu"):
                host.cpus.append(attributes)
                host.cpu_names.append(subject)
            elif subject.startswith("gpu"):
                host.gpus[subject] = attributes
            elif subject.startswith("nic"):
                host.nics[subject] = attributes
        return host

    def _add_link(self, gpu: str, target: str, attributes: Table) -> None:
        for kind in ("nvlink", "xgmi"):
            count = attributes.get(kind)
            if isinstance(count, int):
                class_ = str(attributes.get("target_class", ""))
                self.links.append(Link(gpu, target, kind, count, class_))

    def gpu_buses(self) -> list[str]:
        """Bus ids of all GPUs: named ones by their number, then the rest by bus id."""
        named = sorted(self.gpus, key=lambda gpu: int(gpu[3:]))
        buses = [str(self.gpus[gpu].get("bus_id", "")) for gpu in named]
        rest = (
            bus
            for bus, pci in self.pcis.items()
            if str(pci.get("class", "")).startswith(_GPU_CLASSES) and not self.below[f"pci {bus}"]
        )
        return list(dict.fromkeys([*(bus for bus in buses if bus), *sorted(rest)]))

    def sorted_cpus(self) -> list[tuple[str, dict[str, Value]]]:
        """CPUs by NUMA number; those that have none (-1) first."""
        named = zip(self.cpu_names, self.cpus, strict=True)
        return sorted(named, key=lambda entry: whole(entry[1].get("numa"), -1))


@dataclass(slots=True)
class Notes:
    """Notices in the making: what holds of many devices is said once, with their names."""

    _about: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)

    def add(self, code: str, text: str, where: str = "") -> None:
        """Notes a sentence in which `{}` stands for the devices."""
        self._about.setdefault((code, text), {})[where] = None

    def notices(self) -> tuple[Notice, ...]:
        """The notices, in the order in which their first device was met."""
        return tuple(
            Notice(code, text.replace("{}", _names(list(where))), next(iter(where)))
            for (code, text), where in self._about.items()
        )


def _names(names: list[str]) -> str:
    if len(names) > _NAMED:
        return first_of(names, _NAMED)
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def whole(value: Value | None, otherwise: int = 0) -> int:
    """An integer fact, or what holds where there is none."""
    return value if isinstance(value, int) else otherwise

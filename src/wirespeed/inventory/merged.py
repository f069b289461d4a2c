"""merge: what several files of one machine say together, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from wirespeed.catalog import gpu
from wirespeed.errors import UnknownName
from wirespeed.evidence import Evidence, Fact
from wirespeed.evidence._types import Value
from wirespeed.topology.software import Notice

# What a machine may answer differently from one minute to the next, or only spells.
_CHANGING = frozenset(
    {"pcie_gen_current", "pcie_width_current", "name", "index", "link_GTps", "speed_downgraded"}
    | {"xid", "sxid", "aer", "link", "state", "lines", "peermem"}
)
_MEASURED = ("_GBps", "_us", "_ns", "_errors", "_MBps")
_OF_A_RUN = ("test ", "perftest", "nvbandwidth", "lid ", "kernel", "run")


@dataclass(frozen=True, slots=True)
class Statement:
    """One fact and the file that states it."""

    fact: Fact
    file: str

    @property
    def value(self) -> Value:
        """What is stated."""
        return self.fact.value

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.fact.line}"


@dataclass(slots=True)
class Merged:
    """Statements by subject and attribute. What was read beats what a reader completed."""

    files: tuple[str, ...]
    statements: dict[tuple[str, str], Statement] = field(default_factory=dict)
    contradictions: list[Notice] = field(default_factory=list)

    def get(self, subject: str, attribute: str) -> Value | None:
        """The value stated, or None."""
        found = self.statements.get((subject, attribute))
        return None if found is None else found.value

    def number(self, subject: str, attribute: str) -> int | None:
        """The value where it is a whole number."""
        value = self.get(subject, attribute)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, subject: str, attribute: str) -> str:
        """The value where it is text, else nothing."""
        value = self.get(subject, attribute)
        return value if isinstance(value, str) else ""

    def of_attribute(self, attribute: str) -> Iterator[tuple[str, Statement]]:
        """(subject, statement) of all subjects that have the attribute."""
        for (subject, name), statement in self.statements.items():
            if name == attribute:
                yield subject, statement


def merge(evidence: Iterable[Evidence]) -> Merged:
    """All facts of some files of one machine; of two that differ the first file's holds."""
    parts = list(evidence)
    merged = Merged(tuple(dict.fromkeys(part.file for part in parts)))
    for part in parts:
        for fact in part.facts:
            _add(merged, Statement(fact, part.file))
    return merged


def _add(merged: Merged, new: Statement) -> None:
    key = new.fact.subject, new.fact.attribute
    old = merged.statements.get(key)
    if old is None or (old.fact.inferred and not new.fact.inferred):
        merged.statements[key] = new
        return
    if new.fact.inferred or old.file == new.file or _is_changing(*key):
        return
    if _meaning(old) != _meaning(new):
        text = (
            f"{new.fact.subject} {new.fact.attribute} is {_show(old.value)} in {old.place} but "
            f"{_show(new.value)} in {new.place}; the first is used"
        )
        merged.contradictions.append(Notice("contradiction", text, new.fact.subject))


def _is_changing(subject: str, attribute: str) -> bool:
    """Whether it is of a moment or a run, and so may differ between two files of one machine."""
    measured = attribute in _CHANGING or attribute.endswith(_MEASURED)
    return measured or subject.startswith(_OF_A_RUN)


def _meaning(statement: Statement) -> Value:
    """The value without its spelling: names of GPUs come in dialects."""
    value = statement.value
    if statement.fact.attribute != "model" or not isinstance(value, str):
        return value
    try:
        return gpu(value).key
    except UnknownName:
        return value.lower()


def _show(value: Value) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

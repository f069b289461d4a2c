"""Tuner: a plugin that overrides the library's choice, as a table of what to take when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wirespeed.collectives.library.graph_summary import Team
from wirespeed.collectives.library.names import CHOSEN, Algorithm
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.errors import InputError

_ANY = -1


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: for which operation, sizes [B] and group, what to take. -1 leaves a field open."""

    operation: Operation
    least: float
    most: float
    algorithm: Algorithm | None
    """None leaves it to the library, which weighs times under the protocol."""
    protocol: Protocol
    channels: int = _ANY
    nodes: int = _ANY
    ranks: int = _ANY

    def fits(self, operation: Operation, size: float, team: Team) -> bool:
        """Whether the line speaks of this call."""
        return (
            operation is self.operation
            and self.least <= size <= self.most
            and self.nodes in (_ANY, team.nodes)
            and self.ranks in (_ANY, team.ranks)
        )


@dataclass(frozen=True, slots=True)
class Tuner:
    """Lines of a tuner's table; the first that fits counts."""

    name: str
    rules: tuple[Rule, ...]

    def pick(self, operation: Operation, size: float, team: Team) -> Rule | None:
        """The line for a call, or None where the library decides."""
        return next((rule for rule in self.rules if rule.fits(operation, size, team)), None)


_OPERATIONS = {operation.value.replace("_", ""): operation for operation in CHOSEN}
_ALGORITHMS: Mapping[str, Algorithm] = {name.value.lower(): name for name in Algorithm}
_PROTOCOLS: Mapping[str, Protocol] = {name.value.lower(): name for name in Protocol}


def parse_tuner(text: str, *, file: str = "tuner.csv") -> Tuner:
    """The tuner that a table in the format of NCCL's example plugin describes.

    Comma-separated: collective, least and most bytes, algorithm, protocol, channels, nodes, ranks,
    then fields that are not read (pipelined operations, registered buffers). `#` opens a comment;
    -1 is any. Raises InputError with the line that cannot be read.
    Source: NVIDIA/nccl, ext-tuner/example/README.md.
    """
    rules = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content or content.lower().startswith(("colltype", "collective")):
            continue
        rules.append(_rule(content, f"{file}:{number}"))
    return Tuner(file, tuple(rules))


def _rule(content: str, where: str) -> Rule:
    fields = [field.strip() for field in content.split(",")]
    if len(fields) < 5:
        raise _unreadable(content, where, f"{len(fields)} of at least 5 fields")
    fields += ["-1"] * (8 - len(fields))
    operation = _OPERATIONS.get(_plain(fields[0]))
    algorithm = _ALGORITHMS.get(_plain(fields[3]))
    protocol = _PROTOCOLS.get(_plain(fields[4]))
    if operation is None or algorithm is None or protocol is None:
        raise _unreadable(content, where, "a collective, algorithm or protocol that NCCL has not")
    try:
        least, most = float(fields[1]), float(fields[2])
        channels, nodes, ranks = (int(field) for field in fields[5:8])
    except ValueError:
        raise _unreadable(content, where, "a number was expected") from None
    return Rule(operation, least, most, algorithm, protocol, channels, nodes, ranks)


def _plain(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())


def _unreadable(content: str, where: str, why: str) -> InputError:
    return InputError(
        f"{content!r} is no line of a tuner's table",
        where=where,
        why=why,
        remedy="write for example allreduce,0,65536,tree,ll,-1,2,-1",
    )

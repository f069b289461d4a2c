"""live_texts: what this host prints about itself, under the names that its files would have."""

from __future__ import annotations

from wirespeed.errors import InputError, UsageError
from wirespeed.probing import Gathered, gather
from wirespeed.topology.software import Notice

_MATRICES = ("nvidia-smi topo -m", "rocm-smi --showtopo")
"""One of them has to answer: all else only adds to it."""


def live_texts() -> tuple[list[tuple[str, str]], tuple[Notice, ...]]:
    """File names with texts, and notices of what could not be asked.

    Raises UsageError where the host has no driver's tool, InputError where the tool shows nothing.
    """
    gathered = gather()
    answered = {printed.command.line for printed in gathered.printed}
    if not answered.intersection(_MATRICES):
        raise _no_matrix(gathered)
    texts = [(printed.command.file, printed.text) for printed in gathered.printed]
    return texts, tuple(_notices(gathered))


def _notices(gathered: Gathered) -> list[Notice]:
    """One notice for each command that had no answer, but for the other maker's tool."""
    makers = {printed.command.words[0] for printed in gathered.printed}
    other = "rocm-smi" if "nvidia-smi" in makers else "nvidia-smi"
    return [
        Notice("not-asked", f"`{lost.command.line}` told nothing: {lost.why}", lost.command.file)
        for lost in gathered.missing
        if lost.command.words[0] != other
    ]


def _no_matrix(gathered: Gathered) -> UsageError | InputError:
    why = {lost.command.line: lost.why for lost in gathered.missing}
    if all(why[line].endswith("is not installed") for line in _MATRICES):
        return UsageError(
            "there is no nvidia-smi here, nor rocm-smi",
            where="live",
            why="`live` asks the driver of this host, and none is installed",
            remedy="name a preset, or give the output of `nvidia-smi topo -m` from another host",
        )
    line = next(line for line in _MATRICES if not why[line].endswith("is not installed"))
    return InputError(
        f"{line.split()[0]} shows no topology",
        where="live",
        why=f"`{line}`: {why[line]}",
        remedy="run it by hand: it says what is wrong with the driver",
    )

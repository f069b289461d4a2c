"""probe: what nvidia-smi prints about this host."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

from wirespeed.errors import InputError, UsageError

_PROPERTIES = (
    *("index", "name", "pci.bus_id", "pcie.link.gen.max"),
    *("pcie.link.width.current", "pcie.link.width.max"),
)
_COMMANDS = (
    ("topo", "-m"),
    ("topo", "-p2p", "r"),
    (f"--query-gpu={','.join(_PROPERTIES)}", "--format=csv"),
)
_LIMIT_S = 60
"""A driver that has to wake its GPUs first takes seconds; one that hangs never answers."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One command and its output."""

    command: str
    text: str


def probe() -> list[Printed]:
    """The outputs of nvidia-smi that describe this host; nothing is changed on it.

    Raises UsageError where there is no nvidia-smi, InputError where it shows no topology.
    """
    tool = shutil.which("nvidia-smi")
    if tool is None:
        raise UsageError(
            "there is no nvidia-smi here",
            where="live",
            why="`live` asks the driver of this host, and none is installed",
            remedy="name a preset, or give the output of `nvidia-smi topo -m` from another host",
        )
    answers = [_ask(tool, arguments) for arguments in _COMMANDS]
    found = [answer for answer in answers if answer is not None]
    if not any(answer.command.endswith("topo -m") for answer in found):
        raise InputError(
            "nvidia-smi shows no topology",
            where="live",
            why="`nvidia-smi topo -m` failed on this host",
            remedy="run it by hand: it says what is wrong with the driver",
        )
    return found


def _ask(tool: str, arguments: tuple[str, ...]) -> Printed | None:
    """What one command prints; None where it fails or does not come back."""
    try:
        done = subprocess.run(
            [tool, *arguments], capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode or not done.stdout.strip():
        return None
    return Printed(" ".join(["nvidia-smi", *arguments]), done.stdout)

"""SOURCE: what people hand over, as a machine."""

from __future__ import annotations

from wirespeed.errors import UsageError
from wirespeed.topology.machine import Machine
from wirespeed.topology.machines import preset_machine


def machine_from(source: str | Machine, *, gpu: str | None = None) -> Machine:
    """The machine that a preset's name, a file, a directory or `-` (standard input) describes."""
    if isinstance(source, Machine):
        return source
    if not source.strip():
        raise UsageError(
            "no machine was named",
            where="SOURCE",
            why="it is a preset, a file that a machine wrote, or - for standard input",
            remedy="`wirespeed topo --list` shows the presets",
        )
    return preset_machine(source)

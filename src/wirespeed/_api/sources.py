"""SOURCE: what people hand over, resolved."""

from __future__ import annotations

from wirespeed.errors import UsageError
from wirespeed.inventory import Resolved, resolve
from wirespeed.topology.machine import Machine

Source = str | Machine | Resolved


def resolved(source: Source, *, gpu: str | None = None) -> Resolved:
    """What a preset's name, a file, a directory or `-` (standard input) means.

    A source that is resolved already is itself: standard input can be read only once.
    """
    if isinstance(source, Resolved):
        return source
    if isinstance(source, Machine):
        return Resolved(source)
    if not source.strip():
        raise UsageError(
            "no machine was named",
            where="SOURCE",
            why="it is a preset, a file that a machine wrote, or - for standard input",
            remedy="`wirespeed topo --list` shows the presets",
        )
    return resolve(source, gpu=gpu)

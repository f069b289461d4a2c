"""What a reader is to the registry: a name, a way to recognise its text, a way to read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wirespeed.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Format:
    """One format of text that this package reads."""

    name: str
    """What `Evidence.format` says."""
    what: str
    """What a person calls it, for messages: "the matrix of `nvidia-smi topo -m`"."""
    sniff: Callable[[str], float]
    """How sure it is that the text holds this format: 0 no, 1 yes, between them a damaged one."""
    read: Callable[[str, str], Evidence]
    """Evidence of (text, file); raises InputError where nothing can be read."""

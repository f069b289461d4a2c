"""PCI addresses and rates as kernels and tools print them."""

from __future__ import annotations

import re

ADDRESS = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
"""Of an address, with or without a domain: 0000:1b:00.0, 1b:00.0."""

_PARTS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?")


def address_of(text: str) -> str | None:
    """0000:1b:00.0 of 1b:00.0, 0000:1b:00 or 00000000:1B:00.0; None for anything else."""
    parts = _PARTS.fullmatch(text.strip().lower())
    if not parts:
        return None
    domain = int(parts[1] or "0", 16)
    return f"{domain:04x}:{parts[2]}:{parts[3]}.{parts[4] or 0}"


def subject_of(text: str) -> str | None:
    """`pci 0000:1b:00.0` of an address, as facts call the device."""
    address = address_of(text)
    return None if address is None else f"pci {address}"

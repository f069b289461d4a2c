"""Protocols: how the library marks what has arrived."""

from __future__ import annotations

from enum import StrEnum


class Protocol(StrEnum):
    """LL sends a flag with every 4 bytes, LL128 with every 120; Simple waits for whole chunks."""

    LL = "LL"
    LL128 = "LL128"
    SIMPLE = "Simple"

"""Protocols: how the library marks what has arrived."""

from __future__ import annotations

from enum import StrEnum


class Protocol(StrEnum):
    """LL sends a flag with every 4 bytes, LL128 with every 120; Simple waits for whole chunks."""

    LL = "LL"
    LL128 = "LL128"
    SIMPLE = "Simple"


WIRE_BYTES = {Protocol.LL: 2.0, Protocol.LL128: 128 / 120, Protocol.SIMPLE: 1.0}
"""Bytes on the wire for each byte of payload. Source: NCCL's documentation of the protocols."""

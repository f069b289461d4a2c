"""Units at the edge: SI inside (s, B, B/s), the field's words where a person reads or writes.

GB is 1e9 bytes. Message sizes follow nccl-tests, where 1K = 2^10, 1M = 2^20 and 1G = 2^30 bytes.
"""

from __future__ import annotations

import re

from wirespeed.errors import UsageError

GB = 1e9
MIB = 2**20
GIB = 2**30
US = 1e-6
NS = 1e-9

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?B)?", re.IGNORECASE)
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s)", re.IGNORECASE)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_FACTORS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_LARGEST = 2**50


def gbps(rate: float) -> float:
    """Bandwidth [B/s] of a link rate in Gb/s (1e9 bits)."""
    return rate * 1e9 / 8


def parse_size(text: str) -> int:
    """Message size [B] of "8", "64K", "1.5M" or "16G", counted as nccl-tests does.

    Raises UsageError for anything else, zero included.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise UsageError(
            f"{text!r} is not a message size",
            where="--sizes",
            why="a size is a number with an optional K, M, G or T (1K = 1024 bytes)",
            remedy="write for example 8, 64K or 1G, or a range such as 8:16G",
        )
    size = round(float(match[1]) * _FACTORS[match[2].upper()])
    if not 1 <= size <= _LARGEST:
        raise UsageError(
            f"a message of {text!r} cannot be forecast",
            where="--sizes",
            why="sizes run from 1 byte to 1024T",
            remedy="give a size in that range",
        )
    return size


def parse_time(text: str) -> float:
    """Time [s] of "500us", "2ms" or "1.5s"; UsageError for anything else."""
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise UsageError(
            f"{text!r} is not a time",
            why="a time is a number and its unit: us, ms or s",
            remedy="write for example 500us or 2ms",
        )
    return float(match[1]) * _SECONDS[match[2].lower()]


def parse_sizes(text: str) -> list[int]:
    """Sizes [B] of "8:16G" (doubling), "8:16G:4" (that factor) or "1M,64M,1G", in that order."""
    sizes: list[int] = []
    for part in text.split(","):
        first, *rest = part.split(":")
        size = parse_size(first)
        if not rest:
            sizes.append(size)
            continue
        last, factor = parse_size(rest[0]), 2
        if len(rest) > 1:
            factor = parse_size(rest[1].removeprefix("x"))
        if len(rest) > 2 or last < size or factor < 2:
            raise UsageError(
                f"{part!r} is not a range of sizes",
                where="--sizes",
                why="a range is FROM:TO or FROM:TO:FACTOR, rising, with a factor of at least 2",
                remedy="write for example 8:16G",
            )
        while size <= last:
            sizes.append(size)
            size *= factor
    return sizes


def format_size(size: float) -> str:
    """A size [B] as nccl-tests' users write it: 64K, 1G; what is no whole multiple in bytes."""
    for suffix, factor in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if size >= factor and size % factor == 0:
            return f"{int(size) // factor}{suffix}"
    return f"{size:.0f}"

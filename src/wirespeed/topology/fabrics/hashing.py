"""A seeded hash of flows, as switches hash headers to choose among equal paths."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]
_ALL = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15


def flow_hash(source: npt.ArrayLike, target: npt.ArrayLike, seed: int) -> Bits:
    """[t] 64 mixed bits of each flow and the seed (splitmix64)."""
    return finished_hash(start_hash(source, seed), target)


def start_hash(source: npt.ArrayLike, seed: int) -> Bits:
    """[n] what `flow_hash` makes of sources and the seed alone."""
    return _mixed(np.asarray(source, np.uint64) + np.uint64(seed * _STEP & _ALL))


def finished_hash(begun: Bits, target: npt.ArrayLike) -> Bits:
    """[t] `flow_hash` of flows whose sources are hashed already."""
    return _mixed(begun ^ np.asarray(target, np.uint64))


def draw(key: Bits, part: int, ways: int) -> npt.NDArray[np.int64]:
    """[t] a number below `ways` from the part-th (0 to 3) 16 bits of the key."""
    bits = (key >> np.uint64(16 * part)) & np.uint64(0xFFFF)
    return ((bits * np.uint64(max(ways, 1))) >> np.uint64(16)).astype(np.int64)


def _mixed(value: Bits) -> Bits:
    value = value + np.uint64(_STEP)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))

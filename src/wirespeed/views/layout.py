"""A layout in a line."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_ALWAYS = ("dp", "tp", "pp")
_IF_NOT_ONE = ("vpp", "cp", "ep", "schedule", "sharding", "shard_group")
_IF_KNOWN = ("micro_batch", "recompute")


def layout_words(layout: Mapping[str, object], chosen: Collection[str]) -> str:
    """Degrees and what goes with them; stars stand behind what was chosen and not asked for."""
    names = [name for name in _ALWAYS if name in layout]
    names += [name for name in _IF_NOT_ONE if layout.get(name) not in (None, 1)]
    names += [name for name in _IF_KNOWN if layout.get(name) is not None]
    words = [f"{n.replace('_', '-')} {layout[n]}{'*' * (n in chosen)}" for n in names]
    if layout.get("sequence_parallel"):
        words.append("sequence-parallel" + "*" * ("sequence_parallel" in chosen))
    note = " (* chosen here)" if any(word.endswith("*") for word in words) else ""
    return ", ".join(words) + note

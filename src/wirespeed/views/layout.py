"""A layout in a line."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_ALWAYS = ("dp", "tp", "pp")
_IF_SET = ("vpp", "cp", "ep", "schedule", "sharding", "shard_group", "micro_batch", "recompute")


def layout_words(layout: Mapping[str, object], chosen: Collection[str]) -> str:
    """Degrees and what goes with them; stars stand behind what was chosen and not asked for."""
    names = [
        *(n for n in _ALWAYS if n in layout),
        *(n for n in _IF_SET if layout.get(n) not in (None, 1)),
    ]
    words = [f"{n.replace('_', '-')} {layout[n]}{'*' * (n in chosen)}" for n in names]
    if layout.get("sequence_parallel"):
        words.append("sequence-parallel" + "*" * ("sequence_parallel" in chosen))
    note = " (* chosen here)" if any(word.endswith("*") for word in words) else ""
    return ", ".join(words) + note

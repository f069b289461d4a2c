"""How many parameters there are: the limit is 8 fitted ones a generation, 6 a transport."""

from __future__ import annotations

from collections import Counter

from wirespeed.catalog import parameters


def parameter_counts() -> list[str]:
    """A line for each generation, transport and medium: values in all, and those fitted."""
    total: Counter[str] = Counter()
    fitted: Counter[str] = Counter()
    for key, entry in parameters().table.items():
        group = ".".join(key.split(".")[:2])
        values = len(entry.value) if isinstance(entry.value, tuple) else 1
        total[group] += values
        if entry.confidence == "fitted" or entry.folds:
            fitted[group] += values
    width = max(map(len, total))
    return [f"{name:{width}}  {total[name]:3} values, {fitted[name]:3} fitted" for name in total]

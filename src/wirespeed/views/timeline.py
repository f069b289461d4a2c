"""A step as text: a line for each stream of each pipeline stage, time from left to right."""

from __future__ import annotations

from wirespeed.training.forecast import Step

_WIDTH = 88
_MARKS = {"compute": "F", "tp": "t", "dp": "d", "pp": "s", "optimizer": "o", "host": "h"}


def timeline(step: Step, width: int = _WIDTH) -> str:
    """F and B are passes, digits of a micro-batch follow; d is data parallelism, s a transfer."""
    tasks = step.plan.tasks
    end = max(span.end for span in step.spans)
    lines: dict[tuple[int, str], list[str]] = {}
    for span in step.spans:
        task = tasks[span.task]
        row = lines.setdefault((task.rank, task.stream), [" "] * width)
        first = min(int(span.begin / end * width), width - 1)
        last = max(min(int(span.end / end * width), width), first + 1)
        mark = task.name[0] if task.kind == "compute" else _MARKS[task.kind]
        row[first:last] = [mark] * (last - first)
    head = f"F forward, B backward, d data parallelism, s sends, o optimizer; {end:.3g} s"
    named = (
        f"stage {rank:<3} {stream:8} |{''.join(row)}|"
        for (rank, stream), row in sorted(lines.items())
    )
    return "\n".join([head, *named])

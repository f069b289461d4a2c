"""A step as text: a line for each stream of each pipeline stage, time from left to right."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.training.engine import Task
from wirespeed.training.forecast import Step
from wirespeed.training.memory import micro_batches

WIDTH = 80
MOST_STAGES = 8
"""Stages that are drawn; of more, these many from the first to the last."""
COLUMNS = 2.0
"""Columns that a forward pass has at least; where a step is too long for it, its middle is cut."""
_LETTERS = "abcdefghij"
_LEGEND = (
    "Digits: forward of that micro-batch (its last digit); letters: its backward (a is 0).",
    "o optimizer, h host; g gathers, r reduces over data parallelism; > sends on, < sends back.",
)


def timeline(step: Step, width: int = WIDTH) -> str:
    """The step as lines of about `width` columns of time, and what the marks mean."""
    end = max(span.end for span in step.spans)
    column, whole = end / width, True
    if (least := _forward(step)) < COLUMNS * column:
        column, whole = least / COLUMNS, False
    halves = (
        [(0.0, width)] if whole else [(0.0, width // 2), (end - width // 2 * column, width // 2)]
    )
    parts = [_drawn(step, begin, column, columns) for begin, columns in halves]
    lines = (
        f"stage {rank:<3} {stream:8} |{' ... '.join(part[rank, stream] for part in parts)}|"
        for rank, stream in parts[0]
    )
    return "\n".join([_head(step, end, column, whole), *_LEGEND, *lines])


def _forward(step: Step) -> float:
    """[s] of the shortest forward pass; its pieces, between which others wait, are one."""
    found: dict[tuple[int, str], float] = {}
    for span in step.spans:
        task = step.plan.tasks[span.task]
        if task.kind == "compute" and task.name.startswith("F"):
            key = (task.rank, task.name)
            found[key] = found.get(key, 0.0) + span.end - span.begin
    return min(found.values())


def _drawn(step: Step, begin: float, column: float, columns: int) -> dict[tuple[int, str], str]:
    """Columns of each stream from a time on; what fills most of a column is shown there."""
    tasks = step.plan.tasks
    held = {key: [0.0] * columns for key in _streams(step)}
    marks = {key: [" "] * columns for key in held}
    for span in step.spans:
        task = tasks[span.task]
        key = (task.rank, task.stream)
        if key not in held:
            continue
        first, last = (span.begin - begin) / column, (span.end - begin) / column
        for k in range(max(int(first), 0), min(int(last) + 1, columns)):
            share = min(last, k + 1) - max(first, k)
            if share > held[key][k]:
                held[key][k], marks[key][k] = share, _mark(task)
    return {key: "".join(row) for key, row in marks.items()}


def _head(step: Step, end: float, column: float, whole: bool) -> str:
    said = [f"Timeline of {end:.3g} s, a column is {column * 1e3:.3g} ms"]
    if not whole:
        said.append("its begin and its end")
    counted = micro_batches(step.job)
    names = {t.name.partition(".")[0] for t in step.plan.tasks if t.name.startswith("F")}
    if len(names) < counted:
        said.append(f"{len(names)} of {counted:,} micro-batches, the others repeat the middle")
    if step.job.layout.pp > MOST_STAGES:
        said.append(f"{MOST_STAGES} of {step.job.layout.pp} stages")
    return f"{'; '.join(said)}."


def _streams(step: Step) -> Iterator[tuple[int, str]]:
    stages = sorted({task.rank for task in step.plan.tasks})
    if len(stages) > MOST_STAGES:
        last = len(stages) - 1
        stages = [stages[round(k * last / (MOST_STAGES - 1))] for k in range(MOST_STAGES)]
    for stage in stages:
        mine = {task.stream for task in step.plan.tasks if task.rank == stage}
        yield from ((stage, stream) for stream in sorted(mine, key=lambda s: (s != "compute", s)))


def _mark(task: Task) -> str:
    match task.kind:
        case "compute":
            number = int("".join(filter(str.isdigit, task.name.partition(".")[0])) or 0) % 10
            return str(number) if task.name.startswith("F") else _LETTERS[number]
        case "pp":
            return "<" if task.name.startswith("send B") else ">"
        case "dp":
            return "g" if task.name.startswith("gather") else "r"
    return task.kind[0]

"""spent: the seconds of a step by what the rank that ends last spent them on."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.training.engine import Span, Task

_FIELD = {
    "compute": "compute",
    "tp": "exposed_tp",
    "dp": "exposed_dp",
    "pp": "exposed_pp",
    "cp": "exposed_cp",
    "ep": "exposed_ep",
    "host": "host",
    "optimizer": "optimizer",
}


def spent(tasks: Sequence[Task], spans: Sequence[Span]) -> dict[str, float]:
    """Seconds by field of the breakdown; they sum to the step.

    A rank whose computing stream is idle waits for what it needed last: for a transfer as long as
    that runs, and for the stage behind it before, which is the bubble.
    """
    last = max(spans, key=lambda span: span.end)
    rank = tasks[last.task].rank
    mine = sorted(
        (s for s in spans if tasks[s.task].rank == rank and tasks[s.task].stream == "compute"),
        key=lambda s: s.begin,
    )
    found: dict[str, float] = {}
    now = 0.0
    for span in mine:
        _wait(found, tasks, spans, span, now)
        _work(found, tasks[span.task], span.end - span.begin)
        now = span.end
    if last.end > now:
        _add(found, tasks[last.task].kind, last.end - now)
    found.setdefault("compute", 0.0)
    return found


def _work(found: dict[str, float], task: Task, seconds: float) -> None:
    """A task that ran, stretched over its parts."""
    parts = task.parts or {task.kind: task.seconds}
    total = sum(parts.values())
    for kind, part in parts.items():
        _add(found, kind, seconds * part / total if total else 0.0)


def _wait(
    found: dict[str, float],
    tasks: Sequence[Task],
    spans: Sequence[Span],
    span: Span,
    now: float,
) -> None:
    gap = span.begin - now
    if gap <= 0:
        return
    cause = max((spans[need] for need in tasks[span.task].needs), key=lambda s: s.end, default=None)
    if cause is None:
        found["bubble"] = found.get("bubble", 0.0) + gap
        return
    kind = tasks[cause.task].kind
    if kind == "compute":
        found["bubble"] = found.get("bubble", 0.0) + gap
        return
    running = min(gap, cause.end - max(cause.begin, now))
    _add(found, kind, running)
    if gap > running:
        found["bubble"] = found.get("bubble", 0.0) + gap - running


def _add(found: dict[str, float], kind: str, seconds: float) -> None:
    name = _FIELD[kind]
    found[name] = found.get(name, 0.0) + seconds

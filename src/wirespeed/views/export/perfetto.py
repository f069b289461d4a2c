"""A step as a trace in Chrome's JSON, which Perfetto opens: a track a stream, arrows for needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from wirespeed.training.forecast import Step

_US = 1e6
_INSIDE = 1e-9
"""[s] before its end at which an arrow leaves a slice: at the end it would hang on the next one."""


def perfetto(step: Step) -> str:
    """The trace as text; times are microseconds from the step's begin.

    A process is a pipeline stage, a thread one of its streams. Arrows lead from a transfer or a
    pass to what waits for it on another stream: from sends to receives, too.
    """
    trace = {
        "displayTimeUnit": "ms",
        "otherData": {
            "model": step.job.model.name,
            "step_time_s": step.seconds,
            "shown_s": max(span.end for span in step.spans),
        },
        "traceEvents": list(_events(step)),
    }
    return msgspec.json.encode(trace).decode()


def _events(step: Step) -> Iterator[dict[str, Any]]:
    tasks = step.plan.tasks
    order = sorted({(t.rank, t.stream != "compute", t.stream) for t in tasks})
    streams = {(rank, stream): k for k, (rank, _, stream) in enumerate(order)}
    for rank in sorted({t.rank for t in tasks}):
        yield _named("process_name", rank, 0, f"stage {rank}")
    for (rank, stream), thread in streams.items():
        yield _named("thread_name", rank, thread, stream)
    for span in step.spans:
        task = tasks[span.task]
        alone = {"alone": task.seconds, **{k: s for k, s in (task.parts or {}).items() if s}}
        yield {
            "name": task.name,
            "cat": task.kind,
            "ph": "X",
            "pid": task.rank,
            "tid": streams[task.rank, task.stream],
            "ts": _us(span.begin),
            "dur": _us(span.end - span.begin),
            "args": {f"{kind}_us": _us(seconds) for kind, seconds in alone.items()},
        }
    yield from _arrows(step, streams)


def _arrows(step: Step, streams: dict[tuple[int, str], int]) -> Iterator[dict[str, Any]]:
    tasks = step.plan.tasks
    number = 0
    for span in step.spans:
        task = tasks[span.task]
        for need in task.needs:
            before, ran = tasks[need], step.spans[need]
            if (before.rank, before.stream) == (task.rank, task.stream):
                continue
            common = {"name": before.name, "cat": "needs", "id": number}
            yield {
                **common,
                "ph": "s",
                "pid": before.rank,
                "tid": streams[before.rank, before.stream],
                "ts": _us(max(ran.end - _INSIDE, ran.begin)),
            }
            yield {
                **common,
                "ph": "f",
                "bp": "e",
                "pid": task.rank,
                "tid": streams[task.rank, task.stream],
                "ts": _us(span.begin),
            }
            number += 1


def _us(seconds: float) -> float:
    """Microseconds to the nanosecond, which is as fine as traces are."""
    return round(seconds * _US, 3)


def _named(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}

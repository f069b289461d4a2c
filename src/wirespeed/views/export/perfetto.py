"""A step as a trace in Chrome's JSON, which Perfetto opens: a track a stream, arrows for needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from wirespeed.training.forecast import Step

_US = 1e6


def perfetto(step: Step) -> str:
    """The trace as text; times are microseconds from the step's begin.

    A process is a pipeline stage, a thread one of its streams. Arrows lead from a transfer or a
    pass to what waits for it on another stream.
    """
    return msgspec.json.encode(
        {"displayTimeUnit": "ms", "traceEvents": list(_events(step))}
    ).decode()


def _events(step: Step) -> Iterator[dict[str, Any]]:
    tasks = step.plan.tasks
    streams = {key: k for k, key in enumerate(sorted({(t.rank, t.stream) for t in tasks}))}
    for rank in sorted({t.rank for t in tasks}):
        yield _named("process_name", rank, 0, f"stage {rank}")
    for (rank, stream), thread in streams.items():
        yield _named("thread_name", rank, thread, stream)
    for span in step.spans:
        task = tasks[span.task]
        yield {
            "name": task.name,
            "cat": task.kind,
            "ph": "X",
            "pid": task.rank,
            "tid": streams[task.rank, task.stream],
            "ts": span.begin * _US,
            "dur": (span.end - span.begin) * _US,
        }
    yield from _arrows(step, streams)


def _arrows(step: Step, streams: dict[tuple[int, str], int]) -> Iterator[dict[str, Any]]:
    tasks = step.plan.tasks
    number = 0
    for span in step.spans:
        task = tasks[span.task]
        for need in task.needs:
            before = tasks[need]
            if (before.rank, before.stream) == (task.rank, task.stream):
                continue
            common = {"name": "needs", "cat": "needs", "id": number}
            yield {
                **common,
                "ph": "s",
                "pid": before.rank,
                "tid": streams[before.rank, before.stream],
                "ts": step.spans[need].end * _US,
            }
            yield {
                **common,
                "ph": "f",
                "bp": "e",
                "pid": task.rank,
                "tid": streams[task.rank, task.stream],
                "ts": span.begin * _US,
            }
            number += 1


def _named(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}

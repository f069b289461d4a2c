"""A step as a trace and as text."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from wirespeed.models import shipped
from wirespeed.training.engine import Plan, Span, Task, run
from wirespeed.training.forecast import Step
from wirespeed.training.layout import Job, Layout
from wirespeed.views.export.perfetto import perfetto
from wirespeed.views.timeline import timeline

GOLDEN = Path(__file__).parent / "golden" / "two-stages.json"


def two_stages() -> Step:
    """Two micro-batches through two stages: forward 1 s, backward 2 s, transfers a quarter."""
    plan = Plan()

    def add(name, kind, rank, stream, seconds, *needs, parts=None) -> int:
        return plan.add(Task(name, kind, rank, stream, seconds, needs, (), parts))

    sent = []
    for k in range(2):
        parts = {"compute": 0.75, "tp": 0.25, "host": 0.0}
        forward = add(f"F{k}", "compute", 0, "compute", 1.0, parts=parts)
        sent.append(add(f"send F{k}", "pp", 0, "pp", 0.25, forward))
    for k in range(2):
        add(f"F{k}", "compute", 1, "compute", 1.0, sent[k])
        back = add(f"B{k}", "compute", 1, "compute", 2.0)
        came = add(f"send B{k}", "pp", 1, "pp", 0.25, back)
        last = add(f"B{k}", "compute", 0, "compute", 2.0, came)
    reduced = add("reduce gradients", "dp", 0, "dp", 0.5, last)
    add("optimizer", "optimizer", 0, "compute", 0.5, reduced)
    spans = tuple(run(plan.tasks))
    layout = Layout(pp=2, micro_batch=1, schedule="1f1b", recompute="none")
    job = Job(shipped("gpt2"), layout, global_batch=2, seq_len=1024)
    return Step(job, (), plan, spans, {"compute": max(s.end for s in spans)})


@pytest.fixture(scope="module")
def trace() -> dict:
    return json.loads(perfetto(two_stages()))


def test_the_trace_is_the_one_that_was_read_and_found_right(trace):
    """F0 ends at 1 s, arrives at 1.25, B0 begins at 2.25 on stage 1 and at 4.5 on stage 0."""
    assert trace == json.loads(GOLDEN.read_text())


def test_slices_of_a_track_do_not_overlap(trace):
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            span = (event["ts"], event["ts"] + event["dur"])
            tracks.setdefault((event["pid"], event["tid"]), []).append(span)
    assert len(tracks) == 5
    for spans in tracks.values():
        spans.sort()
        assert all(a[1] <= b[0] + 1e-3 for a, b in pairwise(spans))


def test_every_arrow_leaves_a_slice_and_arrives_at_the_begin_of_one(trace):
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]

    def under(event) -> list[dict]:
        same = [s for s in slices if (s["pid"], s["tid"]) == (event["pid"], event["tid"])]
        return [s for s in same if s["ts"] <= event["ts"] < s["ts"] + s["dur"]]

    begins = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "s"}
    ends = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "f"}
    assert begins.keys() == ends.keys()
    crossing = 0
    for key, begin in begins.items():
        (source,), (target,) = under(begin), under(ends[key])
        assert ends[key]["ts"] == target["ts"]
        assert source["ts"] + source["dur"] <= target["ts"] + 1e-3
        crossing += source["pid"] != target["pid"]
    assert crossing == 4


def test_the_timeline_shows_passes_where_they_run():
    lines = timeline(two_stages(), width=40).splitlines()
    rows = {tuple(line.split("|")[0].split()[1:]): line.split("|")[1] for line in lines[3:]}
    assert next(iter(rows)) == ("0", "compute")
    first, second = rows["0", "compute"], rows["1", "compute"]
    # 10.25 s in 40 columns: stage 0 works on 0 and 1, waits, then b's, and the optimizer.
    assert first.replace(" ", "").rstrip("o")[:6] == "000011"
    assert first.rstrip().endswith("o")
    assert second.index("0") == pytest.approx(40 * 1.25 / end_of(two_stages()), abs=1)
    assert second.index("a") < second.index("1") < second.index("b")
    assert ">" in rows["0", "pp"]
    assert "<" in rows["1", "pp"]
    assert "r" in rows["0", "dp"]


def end_of(step: Step) -> float:
    return max(span.end for span in step.spans)


def test_the_middle_of_a_long_step_is_cut():
    step = two_stages()
    text = timeline(step, width=10)
    assert "its begin and its end" in text
    assert " ... " in text


def test_a_span_is_where_the_engine_put_it():
    step = two_stages()
    named = {step.plan.tasks[s.task].name: s for s in step.spans if step.plan.tasks[s.task].rank}
    assert named["F0"] == Span(named["F0"].task, 1.25, 2.25)
    assert named["B0"] == Span(named["B0"].task, 2.25, 4.25)

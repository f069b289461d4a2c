"""A pipeline's time by formula is that of its passes run one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.training.closed_pipeline import Pipe, pipeline_seconds
from wirespeed.training.engine import Task, run
from wirespeed.training.schedules import order


def by_events(pipe: Pipe, schedule: str) -> float:
    """The first of the pipes, pass by pass."""
    forward, backward, send = pipe.forward[0], pipe.backward[0], pipe.send[0]
    chunks, stages = forward.shape
    last = chunks * stages - 1
    tasks: list[Task] = []
    sent: dict[tuple[int, int, bool], int] = {}
    orders = [order(schedule, s, stages, chunks, int(pipe.count[0])) for s in range(stages)]
    while any(orders):
        before = len(tasks)
        for s, mine in enumerate(orders):
            while mine:
                one = mine[0]
                part = one.chunk * stages + s
                starts = part == last if one.back else part == 0
                source = (part + 1 if one.back else part - 1, one.micro_batch, one.back)
                if not starts and source not in sent:
                    break
                needs = () if starts else (sent[source],)
                took = (backward if one.back else forward)[one.chunk, s]
                tasks.append(Task("pass", "compute", s, "compute", took, needs))
                if not (part == 0 if one.back else part == last):
                    way = send[(s - 1) % stages] if one.back else send[s]
                    stream = "compute" if pipe.waits else "pp"
                    tasks.append(Task("send", "pp", s, stream, way, (len(tasks) - 1,)))
                    sent[part, one.micro_batch, one.back] = len(tasks) - 1
                mine.pop(0)
        assert len(tasks) > before
    return max(span.end for span in run(tasks))


def pipe(stages, count, *, chunks=1, send=0.0, waits=False, head=0.0, uneven=None) -> Pipe:
    """Passes of 1 and 2 s; the last part has `head` more, `uneven` are factors of the stages."""
    forward = np.ones((1, chunks, stages)) * (1.0 if uneven is None else np.array(uneven))
    forward[0, -1, -1] += head
    return Pipe(
        forward,
        2 * forward,
        np.full((1, stages), send),
        np.full((1, stages), send),
        np.array([count]),
        waits,
    )


def by_formula(one: Pipe, schedule: str) -> float:
    return float(pipeline_seconds(one, gpipe=schedule == "gpipe")[0])


@pytest.mark.parametrize(("stages", "count"), [(1, 3), (2, 1), (4, 4), (4, 32), (8, 5)])
@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_the_bubble_is_p_minus_1_over_m(schedule, stages, count):
    """Huang et al. 2019, Narayanan et al. 2021 eq. 1."""
    ideal = 3 * count
    expected = ideal * (1 + (stages - 1) / count)
    assert by_formula(pipe(stages, count), schedule) == pytest.approx(expected)
    assert by_events(pipe(stages, count), schedule) == pytest.approx(expected)


@pytest.mark.parametrize(("stages", "chunks", "count"), [(4, 2, 4), (4, 2, 16), (8, 4, 32)])
def test_interleaving_divides_the_bubble_by_the_chunks(stages, chunks, count):
    """Narayanan et al. 2021 eq. 2: (p - 1) / (v m)."""
    one = pipe(stages, count, chunks=chunks)
    expected = 3 * chunks * count * (1 + (stages - 1) / (chunks * count))
    assert by_formula(one, "interleaved") == pytest.approx(expected)
    assert by_events(one, "interleaved") == pytest.approx(expected)


@given(
    schedule=st.sampled_from(["gpipe", "1f1b"]),
    factors=st.lists(st.floats(0.6, 1.4), min_size=1, max_size=6),
    count=st.integers(1, 20),
    send=st.sampled_from([0.0, 0.05]),
    waits=st.booleans(),
)
def test_uneven_stages_agree_with_their_events(schedule, factors, count, send, waits):
    one = pipe(len(factors), count, send=send, waits=waits, uneven=factors)
    assert by_formula(one, schedule) == pytest.approx(by_events(one, schedule), rel=0.015)


@given(
    stages=st.integers(2, 6),
    chunks=st.integers(2, 4),
    rounds=st.integers(1, 4),
    head=st.floats(0, 3),
    send=st.sampled_from([0.0, 0.05, 0.3]),
)
def test_interleaving_with_a_heavy_head_and_sends_beside_agrees(stages, chunks, rounds, head, send):
    one = pipe(stages, rounds * stages, chunks=chunks, send=send, head=head)
    assert by_formula(one, "interleaved") == pytest.approx(by_events(one, "interleaved"), rel=0.01)


@pytest.mark.parametrize("chunks", [1, 3])
def test_a_stage_that_waits_for_what_it_sends_is_never_faster(chunks):
    schedule = "1f1b" if chunks == 1 else "interleaved"
    apart = pipe(4, 8, chunks=chunks, send=0.1)
    waiting = pipe(4, 8, chunks=chunks, send=0.1, waits=True)
    assert by_events(waiting, schedule) > by_events(apart, schedule)
    assert by_formula(waiting, schedule) > by_formula(apart, schedule)
    assert by_formula(waiting, schedule) == pytest.approx(by_events(waiting, schedule), rel=0.015)

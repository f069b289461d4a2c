"""Tasks on streams: what runs when, who waits for whom, who slows whom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.errors import UsageError
from wirespeed.training.engine import Task, run


def task(seconds: float, rank: int = 0, stream: str = "compute", needs=(), uses=()) -> Task:
    return Task("t", "compute", rank, stream, seconds, tuple(needs), tuple(uses))


def end(tasks) -> float:
    return max(span.end for span in run(tasks))


def test_one_stream_takes_the_sum_and_two_take_the_longer():
    assert end([task(1), task(2), task(3)]) == pytest.approx(6)
    assert end([task(1), task(2), task(5, stream="dp")]) == pytest.approx(5)


def test_a_task_waits_for_all_that_it_needs_on_any_rank():
    spans = run([task(1), task(4, rank=1), task(2, rank=2, needs=(0, 1))])
    assert (spans[2].begin, spans[2].end) == (pytest.approx(4), pytest.approx(6))


def test_two_that_want_all_of_a_resource_have_half_of_it_each():
    both = [task(1, uses=(1.0,)), task(1, stream="dp", uses=(1.0,))]
    assert end(both) == pytest.approx(2)


def test_what_fits_beside_another_slows_nobody():
    assert end([task(1, uses=(0.6,)), task(1, stream="dp", uses=(0.4,))]) == pytest.approx(1)
    assert end([task(1, uses=(1.0, 0)), task(1, stream="dp", uses=(0, 1.0))]) == pytest.approx(1)


def test_computing_gives_up_the_multiprocessors_that_a_collective_runs_on():
    """16 channels of 128 multiprocessors for half a second cost 1/16 s of computing."""
    spans = run([task(1, uses=(1.0,)), task(0.5, stream="dp", uses=(0.125,))])
    assert spans[1].end == pytest.approx(0.5)
    assert spans[0].end == pytest.approx(1 + 0.5 * 0.125)


def test_ranks_share_nothing():
    assert end([task(1, uses=(1.0,)), task(1, rank=1, uses=(1.0,))]) == pytest.approx(1)


def test_a_circle_is_told():
    with pytest.raises(UsageError, match="circle"):
        run([task(1, needs=(1,)), task(1, rank=1, needs=(0,))])


@st.composite
def graphs(draw, shared: bool = False) -> list[Task]:
    tasks: list[Task] = []
    for k in range(draw(st.integers(1, 14))):
        needs = draw(st.sets(st.integers(0, k - 1), max_size=3)) if k else set()
        tasks.append(
            task(
                draw(st.floats(0.1, 5)),
                draw(st.integers(0, 1)),
                draw(st.sampled_from(["compute", "dp", "pp"])),
                sorted(needs),
                (draw(st.floats(0.1, 1)), draw(st.floats(0, 1))) if shared else (),
            )
        )
    return tasks


@given(tasks=graphs())
def test_where_nothing_is_shared_every_task_ends_on_its_longest_path(tasks):
    last: dict[tuple[int, str], float] = {}
    ends: list[float] = []
    for one in tasks:
        begin = max([last.get((one.rank, one.stream), 0.0), *(ends[n] for n in one.needs)])
        ends.append(begin + one.seconds)
        last[one.rank, one.stream] = ends[-1]
    assert [span.end for span in run(tasks)] == pytest.approx(ends)


@given(tasks=graphs(shared=True))
def test_sharing_never_makes_a_task_shorter_and_never_moves_more_than_a_resource_can(tasks):
    spans = run(tasks)
    for one, span in zip(tasks, spans, strict=True):
        assert span.end - span.begin >= one.seconds * (1 - 1e-9)
    for rank in (0, 1):
        mine = [k for k, one in enumerate(tasks) if one.rank == rank]
        if not mine:
            continue
        window = max(spans[k].end for k in mine) - min(spans[k].begin for k in mine)
        for resource in (0, 1):
            moved = sum(tasks[k].seconds * tasks[k].uses[resource] for k in mine)
            assert moved <= window * (1 + 1e-9)

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network.oracles import networks, replayed
from wirespeed.errors import UsageError
from wirespeed.network import After, Uses, bottleneck_time, fair_rates, simulate

pytestmark = pytest.mark.fast

GOLDEN = Path(__file__).parent / "golden"


def ring(n, bandwidth, channels=1):
    """One step of a ring on one switch: rank i sends to i + 1; links up, then links down."""
    up, down = np.arange(n), n + (np.arange(n) + 1) % n
    uses = Uses.uniform(np.stack([up, down], 1))
    return Uses.concatenate([uses] * channels), np.full(2 * n, bandwidth)


def ring_steps(n, steps):
    """A ring in which a rank sends on what it received in the step before."""
    uses, capacity = ring(n, 50e9)
    rows = [
        [(step - 1) * n + (i - 1) % n, (step - 1) * n + i] if step else []
        for step in range(steps)
        for i in range(n)
    ]
    return Uses.concatenate([uses] * steps), capacity, After.from_lists(rows)


def test_a_short_transfer_leaves_its_share_to_the_long_one():
    # 10 B/s shared: 5 each until 2 s, then the long one has 10 left alone.
    finish = simulate(Uses.from_lists([[0], [0]]), [10, 20], [10.0])
    assert finish.times.tolist() == [2.0, 3.0]
    assert finish.makespan == 3.0


def test_a_late_start_changes_the_result():
    uses, sizes = Uses.from_lists([[0], [0]]), [10, 10]
    assert simulate(uses, sizes, [10.0]).times.tolist() == [2.0, 2.0]
    assert simulate(uses, sizes, [10.0], start=[0, 0.5]).times.tolist() == [1.5, 2.0]
    assert simulate(uses, sizes, [10.0], start=[0, 9.0]).times.tolist() == [1.0, 10.0]


def test_a_chain_takes_the_sum_of_its_parts():
    finish = simulate(
        Uses.from_lists([[0], [1], [0]]),
        [10, 20, 30],
        [10.0, 5.0],
        after=After.from_lists([[], [0], [1]]),
        latency=[0.25, 0.5, 1.0],
    )
    assert finish.times.tolist() == [1.25, 5.75, 9.75]
    assert finish.begins.tolist() == [0.25, 1.75, 6.75]


def test_a_transfer_waits_for_the_last_of_those_before_it():
    finish = simulate(
        Uses.from_lists([[0], [1], [2]]),
        [1, 5, 1],
        [1.0] * 3,
        after=After.from_lists([[], [], [0, 1]]),
    )
    assert finish.times.tolist() == [1.0, 5.0, 6.0]


def test_latency_alone_is_the_time_of_a_transfer_without_bytes_or_without_limit():
    finish = simulate(
        Uses.from_lists([[0], [], [1]]), [0, 7, 7], [10.0, np.inf], start=2.0, latency=[1, 2, 3]
    )
    assert finish.times.tolist() == [3.0, 4.0, 5.0]


def test_what_needs_a_down_resource_never_ends_and_the_rest_does():
    finish = simulate(
        Uses.from_lists([[0, 1], [1], [1], [1]]),
        [10, 10, 10, 0],
        [0.0, 10.0],
        after=After.from_lists([[], [], [0], [2]]),
    )
    assert finish.times.tolist() == [np.inf, 1.0, np.inf, np.inf]
    assert finish.begins.tolist() == [0.0, 0.0, np.inf, np.inf]
    assert finish.stalled.tolist() == [0, 2, 3]
    assert finish.makespan == np.inf


def test_a_circle_of_dependencies_is_refused():
    with pytest.raises(UsageError, match="circle"):
        simulate(Uses.from_lists([[0]] * 2), 1, [1.0], after=After.from_lists([[1], [0]]))


@pytest.mark.parametrize("wrong", [{"start": [-1.0]}, {"latency": [np.inf]}, {"start": [1.0, 2.0]}])
def test_times_that_have_no_meaning_are_refused(wrong):
    with pytest.raises(UsageError):
        simulate(Uses.from_lists([[0]]), 1, [1.0], **wrong)
    with pytest.raises(UsageError):
        After.from_lists([[3]])


def test_no_transfers_take_no_time():
    assert simulate(Uses.from_lists([]), 1.0, []).makespan == 0


def test_a_ring_in_events_takes_the_time_of_its_bottleneck():
    uses, capacity = ring(16, 50e9, channels=2)
    finish = simulate(uses, 2**20, capacity)
    assert finish.makespan == pytest.approx(bottleneck_time(uses, 2**20, capacity).time, rel=1e-12)
    assert (finish.events, finish.solved) == (2, 1)


def test_an_all_reduce_ring_in_events_takes_the_closed_form():
    n, size = 8, 2**30
    uses, capacity, after = ring_steps(n, 2 * (n - 1))
    finish = simulate(uses, size / n, capacity, after=after, latency=1e-6)
    assert finish.makespan == pytest.approx(37.5950e-3, rel=1e-6)


def test_one_delayed_rank_holds_up_the_whole_ring():
    n, size, delay = 8, 2**30, 5e-3
    uses, capacity, after = ring_steps(n, 2 * (n - 1))
    start = np.zeros(uses.transfers)
    start[3] = delay
    on_time = simulate(uses, size / n, capacity, after=after)
    late = simulate(uses, size / n, capacity, after=after, start=start)
    assert late.makespan == pytest.approx(on_time.makespan + delay)


def test_a_second_job_on_the_same_links_slows_the_first():
    uses, capacity = ring(8, 50e9)
    both = simulate(Uses.concatenate([uses, uses]), np.repeat([2**20, 2**21], 8), capacity)
    alone = simulate(uses, 2**20, capacity).makespan
    assert both.times[:8] == pytest.approx(2 * alone)
    assert both.times[8:] == pytest.approx(3 * alone)


def test_four_transfers_on_two_links_run_as_the_golden_log_says():
    log = (GOLDEN / "four_transfers.txt").read_text()
    stated = [line for line in log.splitlines() if line.startswith("[")]
    finish = simulate(
        Uses.from_lists([[0], [0, 1], [1], [0]]),
        [30, 30, 60, 40],
        [10.0, 20.0],
        start=[0, 0, 0, 4],
        after=After.from_lists([[], [], [], [2]]),
        latency=[0, 0, 0, 1],
    )
    moments = [(t, f"{'ABCD'[i]} begins") for i, t in enumerate(finish.begins)]
    moments += [(t, f"{'ABCD'[i]} ends") for i, t in enumerate(finish.times)]
    assert [f"[{time:9.6f}] {what}" for time, what in sorted(moments)] == stated


@st.composite
def cases(draw):
    uses, capacity = draw(networks(most_transfers=6))
    count = uses.transfers
    numbers = st.lists(st.integers(0, 4), min_size=count, max_size=count)
    return {
        "uses": uses,
        "bytes": draw(st.lists(st.integers(1, 20), min_size=count, max_size=count)),
        "capacity": capacity,
        "start": draw(numbers),
        "latency": draw(numbers),
        "after": [
            draw(st.lists(st.integers(0, t - 1), max_size=2)) if t else [] for t in range(count)
        ],
    }


@given(cases())
def test_finish_times_are_those_of_solving_everything_at_every_event(case):
    exact = replayed(
        case["uses"],
        case["bytes"],
        case["capacity"].astype(int).tolist(),
        case["start"],
        case["after"],
        case["latency"],
    )
    finish = simulate(**{**case, "after": After.from_lists(case["after"])})
    assert finish.times == pytest.approx([float(time) for time in exact], rel=1e-9)


@given(cases(), st.randoms(use_true_random=False))
def test_order_and_labels_do_not_matter(case, random):
    uses, count = case["uses"], case["uses"].transfers
    order = random.sample(range(count), count)
    place = np.argsort(order)
    label = np.array(random.sample(range(case["capacity"].size), case["capacity"].size))
    shuffled = uses.select(order)
    capacity = np.empty_like(case["capacity"])
    capacity[label] = case["capacity"]
    plain = simulate(**{**case, "after": After.from_lists(case["after"])})
    renamed = simulate(
        Uses(shuffled.first, label[shuffled.resource], shuffled.weight),
        np.array(case["bytes"])[order],
        capacity,
        start=np.array(case["start"])[order],
        latency=np.array(case["latency"])[order],
        after=After.from_lists([[int(place[p]) for p in case["after"][t]] for t in order]),
    )
    assert renamed.times == pytest.approx(plain.times[order], rel=1e-9)


@given(cases(), st.sampled_from([0.5, 3.0, 1e9]))
def test_bytes_and_times_scale_together(case, scale):
    case = {**case, "after": After.from_lists(case["after"])}
    times = {name: scale * np.array(case[name], float) for name in ("bytes", "start", "latency")}
    assert simulate(**{**case, **times}).times == pytest.approx(
        scale * simulate(**case).times, rel=1e-9
    )


@given(networks(most_transfers=9))
def test_equal_transfers_that_start_together_never_change_their_rates(network):
    uses, capacity = network
    finish = simulate(uses, 6.0, capacity)
    assert finish.times == pytest.approx(6 / fair_rates(uses, capacity))
    assert finish.makespan == pytest.approx(bottleneck_time(uses, 6.0, capacity).time)


@given(cases())
def test_no_resource_moves_more_than_its_capacity_allows(case):
    finish = simulate(**{**case, "after": After.from_lists(case["after"])})
    loads = case["uses"].loads(case["bytes"], case["capacity"].size)
    assert (loads <= case["capacity"] * finish.makespan * (1 + 1e-9)).all()


@settings(max_examples=30)
@given(st.integers(20, 60), st.integers(0, 2**32 - 1))
def test_a_crowd_with_far_reaching_changes_keeps_exact_shares(count, seed):
    random = np.random.default_rng(seed)
    rows = [
        random.choice(12, size=random.integers(1, 4), replace=False).tolist() for _ in range(count)
    ]
    uses, sizes = Uses.from_lists(rows), random.integers(1, 50, count)
    capacity, start = random.integers(1, 20, 12).astype(float), random.integers(0, 10, count)
    finish = simulate(uses, sizes, capacity, start=start)
    left, now, times = sizes.astype(float), 0.0, np.full(count, np.inf)
    while np.isinf(times).any():
        moving = np.flatnonzero((start <= now) & np.isinf(times))
        rates = fair_rates(uses.select(moving), capacity)
        later = start[start > now]
        step = min((left[moving] / rates).min(initial=np.inf), later.min(initial=10**9) - now)
        left[moving] -= rates * step
        now += step
        times[moving[left[moving] <= 1e-9]] = now
    assert finish.times == pytest.approx(times, rel=1e-7)

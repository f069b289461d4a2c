"""Runs on two nodes at a time: who is slow, who is not, and what they leave open."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import wirespeed as ws
from wirespeed.diagnosis.pairs import slow_nodes


def test_the_node_in_all_slow_pairs_is_slow():
    found = slow_nodes({("a", "b"): 380, ("c", "d"): 150, ("a", "c"): 375, ("b", "d"): 149})
    assert set(found.slow) == {"d"}
    assert found.open == ()


def test_two_nodes_that_only_met_each_other_stay_open_and_the_next_run_is_named():
    found = slow_nodes({("a", "b"): 380, ("c", "d"): 150})
    assert not found.slow
    assert found.open == (("c", "d"),)
    assert found.ask == (("c", "a"),)


@given(st.integers(3, 7), st.data())
def test_all_pairs_decide_everything_where_two_nodes_are_good(nodes: int, data: st.DataObject):
    names = [f"n{k}" for k in range(nodes)]
    slow = data.draw(st.sets(st.sampled_from(names), max_size=nodes - 2))
    speed = {name: 150.0 if name in slow else 380.0 for name in names}
    pairs = {(a, b): min(speed[a], speed[b]) for a, b in combinations(names, 2)}
    found = slow_nodes(pairs)
    assert set(found.slow) == slow
    assert found.open == ()


@given(st.integers(2, 6), st.data())
def test_nobody_is_called_slow_who_might_be_good(nodes: int, data: st.DataObject):
    """Against all ways in which nodes could be good or slow that fit the pairs."""
    names = [f"n{k}" for k in range(nodes)]
    every = list(combinations(names, 2))
    met = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    truth = data.draw(st.sets(st.sampled_from(names)))
    seen = {pair: 150.0 if set(pair) & truth else 380.0 for pair in met}
    if 380.0 not in seen.values():
        return
    found = slow_nodes(seen)
    known = {name for pair in met for name in pair}
    fitting = [
        set(guess)
        for size in range(len(known) + 1)
        for guess in combinations(sorted(known), size)
        if all((150.0 if set(p) & set(guess) else 380.0) == v for p, v in seen.items())
    ]
    certain = set.intersection(*fitting)
    assert set(found.slow) == certain


RUN = """\
# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20
#  Rank  0 Group  0 Pid   2001 on {a} device  0 [0000:18:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   2001 on {b} device  0 [0000:18:00] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  1073741824     268435456     float     sum      -1   {time}  {bw}  {bw}      0   {time}  {bw}  {bw}      0
# Out of bounds values : 0 OK
"""  # noqa: E501


def test_the_doctor_names_the_node(tmp_path: Path):
    for a, b, bw in (("n1", "n2", 47.2), ("n1", "n3", 21.0), ("n2", "n4", 47.0)):
        time = f"{1073741824 / bw / 1e3:.0f}"
        (tmp_path / f"{a}-{b}.txt").write_text(RUN.format(a=a, b=b, bw=f"{bw:.2f}", time=time))
    findings = [f for f in ws.doctor(str(tmp_path)).findings if f.code == "slow_node"]
    assert len(findings) == 1
    assert findings[0].cause.startswith("n3 ")

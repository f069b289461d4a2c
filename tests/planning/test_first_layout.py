"""first_layout: the least splitting that fits, tensor parallelism before a pipeline."""

from __future__ import annotations

from training.jobs import gpt, job
from wirespeed.planning.first_layout import first_layout
from wirespeed.training.checks import reasons
from wirespeed.training.choices import feasible

GIB = 2**30


def degrees(found) -> tuple[int, int, int]:
    return found.layout.dp, found.layout.tp, found.layout.pp


def test_what_fits_whole_is_not_split():
    found = first_layout(job(gpt(), batch=64, seq=2048), 64, 8, 80 * GIB)
    assert degrees(found) == (64, 1, 1)


def test_less_memory_takes_more_splitting_and_the_domain_comes_first():
    small = job(gpt(layers=24, hidden=4096, heads=32), batch=64, seq=2048)
    parts = []
    for capacity in (160, 40, 12, 6):
        found = first_layout(small, 64, 4, capacity * GIB)
        assert not reasons(found, 64)
        assert feasible(found, capacity * GIB)
        dp, tp, pp = degrees(found)
        assert dp * tp * pp == 64
        assert tp <= 4
        assert pp == 1 or tp == 4
        parts.append(tp * pp)
    assert parts == sorted(parts)
    assert parts[-1] > 4


def test_nothing_is_found_where_nothing_fits():
    assert first_layout(job("llama3-70b", batch=8), 8, 8, 10 * GIB) is None


def test_a_layout_that_recomputes_all_comes_last():
    model = job(gpt(layers=24, hidden=4096, heads=32), batch=8, seq=2048)
    found = first_layout(model, 8, 8, 24 * GIB)
    assert feasible(found, 24 * GIB)[0].layout.recompute == "none"
    # Where nothing does without it, the least splitting that fits with it is taken.
    huge = first_layout(job("llama3.1-405b", batch=2048), 2048, 8, 79 * GIB)
    assert degrees(huge) == (32, 8, 8)
    assert feasible(huge, 79 * GIB)[0].layout.recompute == "full"

"""How long kernels take: never faster than the hardware, and by tiles and waves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.catalog import gpu
from wirespeed.errors import Infeasible
from wirespeed.training.compute import pace_of
from wirespeed.training.work import Flash, Gemm, Pass

NAMES = ["a100-sxm-80gb", "h100-sxm", "b200"]
sizes = st.integers(1, 16384)


@pytest.mark.parametrize("name", NAMES)
@given(m=sizes, n=sizes, k=sizes)
def test_no_product_beats_the_peak_or_its_own_operands(name, m, n, k):
    row, pace = gpu(name), pace_of(name, "bf16")
    one = Gemm(m, n, k)
    assert pace.one(one) >= one.flops / (row.peak("bf16") / row.devices)
    assert pace.one(one) >= one.elements * 2 / (row.memory_bandwidth / row.devices)


@pytest.mark.parametrize("name", NAMES)
def test_a_large_product_reaches_most_of_the_peak(name):
    row = gpu(name)
    share = Gemm(16384, 16384, 16384).flops / pace_of(name, "bf16").one(Gemm(16384, 16384, 16384))
    assert 0.5 < share / (row.peak("bf16") / row.devices) < 0.9


@given(m=sizes, n=sizes, k=sizes)
def test_more_to_do_never_takes_less(m, n, k):
    pace = pace_of("a100-sxm-80gb", "bf16")
    one = pace.one(Gemm(m, n, k))
    assert pace.one(Gemm(2 * m, n, k)) >= one
    assert pace.one(Gemm(m, n, 2 * k)) >= one


def test_a_tile_more_than_a_wave_costs_a_wave():
    """108 multiprocessors: 4 by 27 tiles of 128 by 128 are one wave, 4 by 28 no longer."""
    pace = pace_of("a100-sxm-80gb", "bf16")

    def columns(number: int) -> float:
        return pace.one(Gemm(512, 128 * number, 8192))

    assert columns(27) == pytest.approx(columns(25))
    assert columns(28) > 1.5 * columns(27)


def test_a_short_k_is_less_efficient():
    pace = pace_of("a100-sxm-80gb", "bf16")
    deep, flat = Gemm(8192, 8192, 8192), Gemm(8192, 8192, 256)
    assert deep.flops / pace.one(deep) > 1.3 * flat.flops / pace.one(flat)


@given(size=st.floats(1e3, 1e10))
def test_a_pass_over_memory_is_never_faster_than_memory(size):
    row = gpu("h100-sxm")
    assert pace_of("h100-sxm", "bf16").one(Pass(size)) > size / row.memory_bandwidth


def test_attention_backward_is_slower_a_flop_than_the_peak_allows():
    row, pace = gpu("h100-sxm"), pace_of("h100-sxm", "bf16")
    for back in (False, True):
        assert pace.one(Flash(1e12, back)) > 1e12 / row.peak("bf16")


def test_factors_of_a_what_if_act_on_what_they_name():
    plain = pace_of("h100-sxm", "bf16")
    products, memory = Gemm(8192, 8192, 8192), Pass(1e9)
    faster, wider = pace_of("h100-sxm", "bf16", gemm=2), pace_of("h100-sxm", "bf16", hbm=2)
    assert faster.one(products) < 0.6 * plain.one(products)
    assert faster.one(memory) == plain.one(memory)
    assert wider.one(memory) < 0.6 * plain.one(memory)


def test_a_precision_that_a_gpu_has_not_is_told():
    with pytest.raises(Infeasible, match="has no fp8"):
        pace_of("a100-sxm-80gb", "fp8")

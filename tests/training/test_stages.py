"""How a pipeline is cut, and what flies in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.jobs import gpt
from wirespeed.errors import Infeasible
from wirespeed.models import layer_parameters, parameters, shipped
from wirespeed.training.in_flight import in_flight
from wirespeed.training.layout import Layout
from wirespeed.training.stages import stage_sizes, stages


@given(blocks=st.integers(1, 200), chunks=st.integers(1, 64))
@pytest.mark.parametrize("ends", ["always", "uneven", "never"])
def test_every_block_is_in_one_part_and_no_part_is_empty(ends, blocks, chunks):
    sizes = stage_sizes(blocks, chunks, ends)
    if sizes is None:
        assert blocks < chunks
    else:
        assert sum(sizes) == blocks
        assert min(sizes) > 0
        assert max(sizes) - min(sizes) <= 3


@pytest.mark.parametrize(
    ("blocks", "chunks", "ends", "sizes"),
    [
        (96, 8, "uneven", (12,) * 8),
        (126, 8, "uneven", (15, 16, 16, 16, 16, 16, 16, 15)),
        (32, 4, "always", (8, 9, 8, 7)),
        (32, 3, "never", (10, 11, 11)),
    ],
)
def test_blocks_are_split_as_the_framework_does(blocks, chunks, ends, sizes):
    assert stage_sizes(blocks, chunks, ends) == sizes


def test_chunks_of_a_rank_lie_pp_apart():
    model = shipped("llama3.1-405b")
    first, *_, last = stages(model, Layout(pp=8, vpp=8), "Megatron-Core")
    assert [len(chunk) for chunk in first.chunks] == [2, 2, 2, 2, 2, 2, 2, 2]
    assert first.chunks[0][0].kind == "embedding"
    assert last.chunks[-1][-1].kind == "head"


@given(pp=st.sampled_from([1, 2, 4, 8]), vpp=st.sampled_from([1, 2]))
def test_stages_hold_the_whole_model(pp, vpp):
    model = gpt(layers=16)
    layout = Layout(pp=pp, vpp=vpp)
    held = [x for s in stages(model, layout, "Megatron-Core") for x in s.layers]
    assert sum(map(layer_parameters, held)) == parameters(model)


def test_stages_may_be_given():
    cut = stages(gpt(layers=7), Layout(pp=3, stage_layers=(1, 4, 2)), "Megatron-Core")
    assert [len(s.layers) for s in cut] == [2, 4, 3]
    with pytest.raises(Infeasible, match="cannot be cut"):
        stages(gpt(layers=7), Layout(pp=3, stage_layers=(1, 4, 3)), "Megatron-Core")


def brute_force_in_flight(order: list[tuple[str, int]], chunks: int) -> list[int]:
    """The most activations of all chunks at once, going through forwards and backwards."""
    held, most = [0] * chunks, [0] * chunks
    for what, chunk in order:
        held[chunk] += 1 if what == "F" else -1
        if sum(held) > sum(most):
            most = list(held)
    return most


@given(pp=st.integers(2, 8), data=st.data(), m=st.integers(1, 20))
def test_1f1b_holds_what_its_order_of_passes_holds(pp, data, m):
    stage = data.draw(st.integers(0, pp - 1))
    warm = min(pp - stage - 1, m)
    order = [("F", 0)] * warm + [("F", 0), ("B", 0)] * (m - warm) + [("B", 0)] * warm
    assert list(in_flight("1f1b", stage, pp, 1, m)) == brute_force_in_flight(order, 1)


@given(pp=st.integers(2, 6), vpp=st.integers(2, 4), data=st.data(), groups=st.integers(1, 4))
def test_interleaving_holds_what_its_order_of_passes_holds(pp, vpp, data, groups):
    """Megatron's order: forwards go pp micro-batches a chunk, backwards the same from the last."""
    stage = data.draw(st.integers(0, pp - 1))
    total = groups * pp * vpp
    warm = total if groups == 1 else min(2 * (pp - stage - 1) + (vpp - 1) * pp, total)
    forwards = [i // pp % vpp for i in range(total)]
    backwards = [vpp - 1 - i // pp % vpp for i in range(total)]
    order = [("F", c) for c in forwards[:warm]]
    for i in range(total - warm):
        order += [("F", forwards[warm + i]), ("B", backwards[i])]
    order += [("B", c) for c in backwards[total - warm :]]
    most = sum(brute_force_in_flight(order, vpp))
    held = in_flight("interleaved", stage, pp, vpp, groups * pp)
    assert sum(held) == (most if groups > 1 else min(most, sum(held)))


def test_the_first_stage_of_an_interleaved_pipeline_holds_p_v_plus_p_minus_1_chunks():
    """Korthikanti et al. 2022: L (1 + (p - 1) / (p v)) layers."""
    assert sum(in_flight("interleaved", 0, 8, 3, 64)) == 8 * 3 + 8 - 1
    assert in_flight("gpipe", 3, 8, 1, 64) == (64,)

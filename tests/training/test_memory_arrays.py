"""Memory of many layouts at once is that of each alone."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from training.jobs import gpt, job
from wirespeed.models import shipped
from wirespeed.training.habits import habit_of, with_defaults
from wirespeed.training.layout import Layout
from wirespeed.training.memory import fullest
from wirespeed.training.memory_arrays import arrays_of, memory_of
from wirespeed.training.stages import stage_sizes

powers = st.sampled_from([1, 2, 4, 8])
MODELS = {"gpt": gpt(layers=18), "llama": shipped("llama3-8b"), "resnet": shipped("resnet-50")}
FRAMEWORKS = {
    "gpt": ["Megatron-LM", "Megatron-DeepSpeed", "DeepSpeed", "InternEvo", "Megatron-Core"],
    "llama": ["Megatron-Core", "torchtitan", "FSDP2", "FSDP", "InternEvo"],
    "resnet": ["DDP"],
}


@st.composite
def layouts(draw, kind: str) -> Layout:
    dp, cp = draw(powers), draw(st.sampled_from([1, 2]))
    micro = draw(st.sampled_from([1, 2, 3]))
    if kind == "resnet":
        return Layout(dp=dp, micro_batch=micro, recompute="none", sharding="none")
    tp, pp = draw(powers), draw(st.sampled_from([1, 2, 3, 4, 5]))
    vpp = draw(st.sampled_from([1, 2, 3])) if pp > 1 else 1
    sharding = draw(st.sampled_from(["none", "zero1", "zero2", "zero3"]))
    group = draw(st.sampled_from([None, dp, max(dp // 2, 1)]))
    return Layout(
        dp=dp,
        tp=tp,
        pp=pp,
        vpp=vpp,
        cp=cp,
        micro_batch=micro,
        sharding=sharding,
        shard_group=group,
        sequence_parallel=draw(st.booleans()),
        recompute=draw(st.sampled_from(["none", "selective", "full"])),
    )


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=40)
@given(data=st.data(), accumulation=st.sampled_from([1, 2, 8]))
def test_each_of_many_is_as_it_is_alone(kind, data, accumulation):
    framework = data.draw(st.sampled_from(FRAMEWORKS[kind]))
    precision = data.draw(st.sampled_from(["bf16", "fp16", "fp8", "fp32"]))
    model = MODELS[kind]
    ends = habit_of(framework).counts_ends
    blocks = len([x for x in model.layers if x.kind == "block"])
    many = [
        layout
        for layout in data.draw(st.lists(layouts(kind), min_size=1, max_size=6))
        if blocks == 0 or stage_sizes(blocks, layout.pp * layout.vpp, ends)
    ]
    batch = 48 * accumulation
    base = job(model, batch=batch, seq=2048, framework=framework, precision=precision)
    filled = [with_defaults(replace(base, layout=layout)) for layout in many]
    if not filled:
        return
    got = memory_of(base, arrays_of([f.layout for f in filled]))
    alone = [fullest(f) for f in filled]
    np.testing.assert_allclose(got.tensors, [p.tensors for p in alone], rtol=1e-9)
    np.testing.assert_allclose(got.nccl, [p.nccl for p in alone], rtol=1e-9)
    np.testing.assert_allclose(got.needed, [p.needed for p in alone], rtol=1e-9)
    np.testing.assert_allclose(got.reserved, [p.reserved for p in alone], rtol=1e-9)


def test_a_search_gets_its_layouts_fast_enough():
    """50,000 a second on one core, as the forecast of time has to do as well."""
    base = job("llama3-70b", batch=2048, seq=8192, framework="Megatron-Core")
    one = [
        with_defaults(
            replace(
                base, layout=Layout(dp=16, tp=tp, pp=pp, vpp=vpp, micro_batch=1, recompute="full")
            )
        ).layout
        for tp in (1, 2, 4, 8)
        for pp in (1, 2, 4, 8)
        for vpp in ((1, 2, 5) if pp > 1 else (1,))
    ]
    many = arrays_of(one * 200)
    start = time.process_time()
    got = memory_of(base, many)
    assert len(got.needed) / (time.process_time() - start) > 50_000

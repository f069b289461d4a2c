"""Memory of the fullest GPU: closed forms, conservation, monotony."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.jobs import gpt, job
from wirespeed.models import parameters, shipped
from wirespeed.training.habits import state_bytes, with_defaults
from wirespeed.training.memory import GIB, capacity, fullest, memory, printed, stage_parts
from wirespeed.training.shards import layer_shard, sharded


def one(model="llama3-8b", **options):
    options = {"micro_batch": 1, "recompute": "full", **options}
    return job(model, **options)


def replicated(model) -> float:
    """Parameters that every tensor-parallel rank has whole: norms, positions, biases of rows."""
    return 2 * sum(layer_shard(x, 2) for x in model.layers) - parameters(model)


@given(tp=st.sampled_from([1, 2, 4, 8, 16]))
@pytest.mark.parametrize("name", ["gpt", "llama3-8b"])
def test_shards_sum_to_the_model_and_what_is_replicated(name, tp):
    model = gpt() if name == "gpt" else shipped(name)
    total = tp * sharded(model.layers, tp)
    assert total == pytest.approx(parameters(model) + (tp - 1) * replicated(model))


def test_the_vocabulary_is_padded_to_128_times_tp():
    """Megatron's 50,257 words are 50,304 with tp 1 and 51,200 with tp 8."""
    model = shipped("gpt3-175b")
    table = 12288
    for tp, rows in ((1, 50304), (8, 51200)):
        padded = sharded(model.layers, tp, pads_vocab=True)
        bare = sharded(model.layers, tp)
        assert padded - bare == pytest.approx((rows - 50257) * table / tp)


def test_sixteen_bytes_a_parameter_in_zeros_own_example():
    """7.5 B parameters: 120 GB whole, 31.4 with optimizer on 64 GPUs, 16.6 with gradients, 1.9."""
    each = state_bytes("DeepSpeed", "fp16")
    states = {}
    for sharding in ("none", "zero1", "zero2", "zero3"):
        whole = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3}[sharding]
        kinds = (each.optimizer, each.gradients, each.weights)
        states[sharding] = 7.5 * sum(k / (64 if i < whole else 1) for i, k in enumerate(kinds))
    assert states["none"] == 120
    assert [round(v, 1) for v in states.values()] == [120, 31.4, 16.6, 1.9]
    model = gpt(layers=2)
    for sharding, total in states.items():
        asked = one(model, framework="DeepSpeed", precision="fp16", batch=64, dp=64, seq=128)
        asked = msgspec.structs.replace(
            asked, layout=msgspec.structs.replace(asked.layout, sharding=sharding)
        )
        parts = fullest(asked)
        held = parts.weights + parts.gradients + parts.optimizer
        assert held / parameters(model) == pytest.approx(total / 7.5, rel=1e-9)


def test_megatron_keeps_18_bytes_of_which_12_shard():
    for dp in (1, 2, 8):
        parts = fullest(one("llama3-8b", dp=dp))
        held = parts.weights + parts.gradients + parts.optimizer
        # The vocabulary of Llama 3 is a multiple of 128: nothing is padded.
        assert held / parameters(shipped("llama3-8b")) == pytest.approx(6 + 12 / dp)


def test_logits_of_a_fused_loss_take_six_bytes():
    """4 sbV kept (Korthikanti et al.) and the 16 bit ones while the loss runs."""
    small, large = (fullest(one(gpt(layers=1, seq=2048), seq=2048, micro_batch=b)) for b in (1, 2))
    layer = 2 * 2048 * 1024 + 2048 * 1024 * (2 + 2 + 1)  # block input; head input, norm, mask
    assert large.activations - small.activations == 2048 * 65536 * 6 + layer


@given(
    recompute=st.sampled_from(["none", "selective", "full"]),
    framework=st.sampled_from(["Megatron-Core", "Megatron-LM", "torchtitan"]),
    tp=st.sampled_from([1, 2, 4]),
    pp=st.sampled_from([1, 2, 4]),
)
def test_memory_grows_with_micro_batch_and_shrinks_with_tp_and_recompute(
    recompute, framework, tp, pp
):
    def total(**changes):
        options = {"tp": tp, "pp": pp, "recompute": recompute, "micro_batch": 1, **changes}
        return fullest(
            one(gpt(layers=8), framework=framework, seq=2048, batch=64, **options)
        ).tensors

    assert total(micro_batch=2) > total()
    assert total(tp=2 * tp) < total()
    assert total(recompute="full") <= total() <= total(recompute="none")


@given(dp=st.sampled_from([2, 4, 8, 64]))
def test_each_step_of_zero_takes_less(dp):
    held = [
        fullest(one(framework="torchtitan", dp=dp, sharding=s, micro_batch=1, batch=dp)).tensors
        for s in ("none", "zero1", "zero3")
    ]
    assert held == sorted(held, reverse=True)


def test_the_first_stage_is_the_fullest_of_a_1f1b_pipeline_without_recompute():
    asked = with_defaults(one("llama3-70b", tp=8, pp=4, recompute="none", batch=64))
    held = [parts.activations for parts in stage_parts(asked)]
    assert held[0] == max(held)
    assert held[1] > held[2]


def test_sum_and_reserve():
    got = memory(one(dp=8, batch=8))
    kinds = (got.weights, got.gradients, got.optimizer, got.activations, got.nccl, got.other)
    assert got.allocated == pytest.approx(sum(kinds))
    assert got.reserved > got.allocated
    assert printed(got, "GiB reserved") == got.reserved - got.nccl
    assert printed(got, "as printed") == got.allocated - got.nccl


def test_weights_that_are_not_resharded_are_whole_in_16_bit_beside_their_shards():
    """FSDP's SHARD_GRAD_OP."""
    parts = fullest(one(framework="FSDP", dp=8, batch=64, sharding="zero2"))
    number = parameters(shipped("llama3-8b"))
    assert parts.weights == number * 4 / 8
    assert parts.other == number * 2


def test_no_more_is_reserved_than_there_is():
    asked = one(dp=8, batch=8)
    whole = memory(asked)
    room = (whole.allocated + whole.reserved) / 2 * GIB
    assert memory(asked, room).reserved * GIB == pytest.approx(room)
    assert memory(asked, 1.0).reserved == whole.allocated


def test_a_single_gpu_has_no_communicator():
    assert memory(one()).nccl == 0
    assert memory(one(dp=8)).nccl > 0


@pytest.mark.parametrize(("name", "GiB"), [("H100-80GB", 79), ("A100-80GB", 79), ("H200", 140)])
def test_a_gpu_has_less_than_it_is_sold_with(name, GiB):
    assert capacity(name) / GIB == pytest.approx(GiB, abs=1.5)


def test_a_tied_table_is_on_both_ends_of_a_pipeline():
    model = gpt(layers=8)
    first, last = stage_parts(with_defaults(one(model, pp=2, seq=2048)))
    # The last stage has the final norm and no positions.
    ends = (2048 - 2) * 1024
    assert first.weights - last.weights == pytest.approx(2 * ends)


def test_what_is_open_is_not_guessed():
    with pytest.raises(ValueError, match="are chosen before"):
        memory(job("llama3-8b"))

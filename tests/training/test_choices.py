"""What is left open is chosen as a user would, within memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.jobs import gpt, job
from wirespeed.errors import Infeasible
from wirespeed.training.choices import feasible, usual
from wirespeed.training.memory import GIB, capacity, fullest

H100 = capacity("H100-80GB")


def test_a_pipeline_keeps_its_many_micro_batches():
    chosen, names = usual(job(dp=4, tp=8, pp=4), H100)
    layout = chosen.layout
    assert 512 // 4 // layout.micro_batch >= 4 * 4
    assert layout.sharding == "zero1"
    assert {"micro_batch", "recompute", "sharding"} <= set(names)


def test_what_is_given_is_not_chosen():
    chosen, names = usual(job(dp=4, tp=8, pp=4, micro_batch=1, recompute="full"), H100)
    assert (chosen.layout.micro_batch, chosen.layout.recompute) == (1, "full")
    assert not {"micro_batch", "recompute"} & set(names)


def test_full_recompute_is_the_last_resort():
    roomy, _ = usual(job("llama3-8b", framework="FSDP", dp=64), H100)
    tight, _ = usual(job("llama3-70b", framework="FSDP", dp=64), H100)
    assert roomy.layout.recompute == "none"
    assert tight.layout.recompute == "full"


def test_torchtitan_checkpoints_by_operator_unless_that_does_not_fit():
    chosen, _ = usual(job("llama3-8b", framework="torchtitan", dp=64), H100)
    assert chosen.layout.recompute == "selective"


def test_what_is_open_is_not_chosen_so_tight_that_blocks_have_to_be_given_back():
    asked = job("llama3-8b", framework="torchtitan", dp=8, batch=64)
    for room in range(44, 80):
        chosen, _ = usual(asked, room * GIB)
        assert fullest(chosen).reserved <= room * GIB


def test_images_take_the_whole_share_at_once():
    chosen, names = usual(job("resnet-50", seq=1, framework="DDP", batch=2048, dp=8), H100)
    assert chosen.layout.micro_batch == 256
    assert "recompute" not in names


def test_out_of_memory_says_what_holds_it_and_what_would_fit():
    with pytest.raises(Infeasible, match="out of memory") as refused:
        usual(job("llama3-70b", dp=128), H100)
    text = str(refused.value)
    assert "gradients" in text
    assert "the nearest that fits: --dp" in text


def test_what_fits_nowhere_says_so():
    with pytest.raises(Infeasible, match="nothing on 8 GPUs fits"):
        usual(job("llama3.1-405b", batch=8, tp=8), H100)


@given(
    room=st.floats(2, 200),
    dp=st.sampled_from([1, 2, 4]),
    pp=st.sampled_from([1, 2, 4]),
    batch=st.sampled_from([16, 48, 64]),
    framework=st.sampled_from(["Megatron-Core", "Megatron-LM", "torchtitan"]),
)
def test_what_is_chosen_fits_and_is_among_the_feasible(room, dp, pp, batch, framework):
    asked = job(gpt(layers=8), batch=batch, seq=2048, framework=framework, dp=dp, pp=pp)
    options = feasible(asked, room * GIB)
    if not options:
        with pytest.raises(Infeasible):
            usual(asked, room * GIB)
        return
    chosen, _ = usual(asked, room * GIB)
    assert chosen == options[0]
    assert fullest(chosen).needed <= room * GIB
    assert batch // dp % chosen.layout.micro_batch == 0

"""A layout that does not work gets every reason and the nearest that does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.jobs import gpt, job
from wirespeed.errors import Infeasible
from wirespeed.training.checks import check, reasons
from wirespeed.training.layout import Layout
from wirespeed.training.nearest import nearest


def test_a_usual_layout_works():
    assert reasons(job(dp=4, tp=8, pp=4, vpp=5, micro_batch=1, sharding="zero1"), 128) == []


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        ({"dp": 3, "tp": 8, "pp": 4}, "= 96 GPUs, and there are 128"),
        ({"dp": 8, "tp": 16}, "8 heads of keys and values are no multiple of tp = 16"),
        ({"pp": 128}, "more stages than the 80 layers"),
        ({"dp": 4, "tp": 8, "pp": 4, "vpp": 7}, "80 layers, or 82 with embedding and head"),
        ({"dp": 128, "vpp": 2}, "a pipeline of one stage"),
        ({"dp": 128, "micro_batch": 3}, "no multiple of dp x micro-batch = 384"),
        ({"dp": 32, "pp": 4, "vpp": 5, "micro_batch": 8}, "2 micro-batches are no multiple of pp"),
        ({"dp": 128, "sequence_parallel": True}, "tp = 1"),
        ({"dp": 32, "pp": 4, "sharding": "zero3"}, "refuses zero3 with a pipeline"),
        ({"dp": 128, "sharding": "zero3", "shard_group": 24}, "no multiple of the shard group"),
        ({"dp": 128, "ep": 8}, "no experts"),
        ({"dp": 0}, "degrees are at least 1"),
        ({"dp": 32, "pp": 4, "vpp": 5, "schedule": "1f1b"}, "one model chunk a rank"),
        ({"dp": 32, "pp": 4, "schedule": "interleaved"}, "several model chunks"),
        ({"dp": 32, "pp": 4, "stage_layers": (20, 20, 20)}, "are not 80 layers"),
    ],
)
def test_each_rule_has_its_reason(layout, reason):
    assert any(reason in text for text in reasons(job(**layout), 128))


def test_an_empty_batch_is_a_reason():
    assert reasons(job(batch=0)) == ["a global batch of 0: it is at least 1"]
    with pytest.raises(Infeasible, match="a sequence of -1"):
        check(job(seq=-1))


def test_all_reasons_come_at_once_and_the_nearest_layout_works():
    wrong = job(dp=16, tp=16, pp=8, vpp=7, micro_batch=3, sharding="zero3")
    with pytest.raises(Infeasible) as refused:
        check(wrong, 1024)
    text = str(refused.value)
    for word in ("2,048 GPUs", "tp = 16", "pp x vpp = 56", "refuses zero3"):
        assert word in text
    assert "the nearest that works: --dp" in text


def test_the_nearest_keeps_tensor_and_pipeline_parallelism_where_it_can():
    with pytest.raises(Infeasible, match="--dp 4 --tp 8 --pp 4 "):
        check(job(dp=3, tp=8, pp=4), 128)


@pytest.mark.parametrize(
    ("framework", "layout", "reason"),
    [
        ("FSDP", {"tp": 2}, "no tensor parallelism"),
        ("DDP", {"pp": 2}, "no pipeline"),
        ("Megatron-DeepSpeed", {"pp": 2, "sharding": "zero2"}, "refuses zero2"),
        ("Megatron-DeepSpeed", {"pp": 2, "vpp": 2}, "no interleaved schedule"),
    ],
)
def test_frameworks_refuse_what_they_do_not_do(framework, layout, reason):
    assert any(reason in text for text in reasons(job(framework=framework, **layout)))


def test_megatron_pads_a_vocabulary_that_tp_does_not_divide():
    assert reasons(job("gpt2-xl", seq=1024, tp=5)) == []
    assert any(
        "50,257 words" in r for r in reasons(job("gpt2-xl", seq=1024, framework="FSDP2", tp=5))
    )


def test_a_sequence_has_to_have_positions():
    assert any("longer than the 1,024" in r for r in reasons(job("gpt2", seq=2048)))


def test_images_are_not_split():
    assert any("not split so" in r for r in reasons(job("resnet-50", seq=1, tp=2)))


sizes = st.integers(1, 12)


@given(
    dp=sizes,
    tp=sizes,
    pp=sizes,
    vpp=st.integers(1, 4),
    micro=st.one_of(st.none(), st.integers(1, 5)),
    gpus=st.integers(1, 64),
    batch=st.integers(1, 300),
)
def test_what_is_offered_works(dp, tp, pp, vpp, micro, gpus, batch):
    model = gpt(layers=12)
    asked = job(model, batch=batch, seq=2048, dp=dp, tp=tp, pp=pp, vpp=vpp, micro_batch=micro)
    found = nearest(asked, gpus, lambda trial: not reasons(trial, gpus))
    # Data parallelism alone always works with a batch that is rounded up.
    assert found is not None
    assert reasons(found, gpus) == []
    if not reasons(asked, gpus):
        assert found == asked


odd = st.integers(-2, 5)


@given(dp=odd, tp=odd, pp=odd, vpp=odd, cp=odd, micro=odd, group=odd, batch=odd, seq=odd)
def test_no_layout_ends_in_a_traceback(dp, tp, pp, vpp, cp, micro, group, batch, seq):
    degrees = {"dp": dp, "tp": tp, "pp": pp, "vpp": vpp, "cp": cp}
    asked = job(gpt(), batch=batch, seq=seq, micro_batch=micro, shard_group=group, **degrees)
    found = reasons(asked)
    if found:
        with pytest.raises(Infeasible):
            check(asked)
    else:
        check(asked)


def test_a_layout_counts_its_gpus():
    assert Layout(dp=2, tp=3, pp=5, cp=7).gpus == 210

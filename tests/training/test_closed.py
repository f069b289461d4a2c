"""Many layouts at once take as long as the engine says of each."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from msgspec.structs import replace

import wirespeed as ws
from training.jobs import gpt, job
from wirespeed.errors import UsageError, WirespeedError
from wirespeed.models import shipped
from wirespeed.training.closed import Closed
from wirespeed.training.forecast import simulate_step
from wirespeed.training.habits import with_defaults
from wirespeed.training.layout import Layout
from wirespeed.training.memory_arrays import LayoutArrays, arrays_of

NODES = 4
GPUS = 8 * NODES
FRAMEWORKS = ["Megatron-Core", "Megatron-LM", "Megatron-DeepSpeed", "InternEvo", "FSDP2"]
MODEL = gpt(layers=12, hidden=2048)
BATCH = 128


@pytest.fixture(scope="module")
def cluster():
    return ws.cluster("dgx-h100", nodes=NODES)


def drawn(draw: random.Random) -> Layout:
    """A layout of all GPUs, most of them worse than anybody would take."""
    tp, pp = draw.choice([1, 2, 8]), draw.choice([1, 2, 4])
    dp = GPUS // (tp * pp)
    micro = draw.choice([n for n in (1, 2, 4) if BATCH % (dp * n) == 0])
    count = BATCH // (dp * micro)
    return Layout(
        dp=dp,
        tp=tp,
        pp=pp,
        vpp=draw.choice([1, 3]) if pp > 1 and count % pp == 0 else 1,
        micro_batch=micro,
        sharding=draw.choice(["none", "zero1", "zero2", "zero3"]),
        shard_group=draw.choice([None, 4]),
        sequence_parallel=draw.random() < 0.5 and tp > 1,
        recompute=draw.choice(["none", "selective", "full"]),
    )


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_layouts_take_what_the_engine_says(cluster, framework):
    """Of any layouts, 1 % on average, and few beyond 3 %; of published ones see the corpus."""
    draw, off = random.Random(framework), []
    for _ in range(12):
        asked = replace(job(MODEL, batch=BATCH, seq=2048, framework=framework), layout=drawn(draw))
        step = simulate_step(with_defaults(asked), cluster)
        got = Closed(step.job, cluster).seconds(arrays_of([step.job.layout]))[0]
        off.append(abs(got / step.seconds - 1))
    assert np.mean(off) < 0.01
    assert np.quantile(off, 0.9) < 0.03
    assert max(off) < 0.10


def base(**layout):
    filled = {"micro_batch": 1, "recompute": "full", "sharding": "zero1", **layout}
    return with_defaults(job(MODEL, batch=BATCH, seq=2048, **filled))


@pytest.mark.slow
def test_many_are_as_each_is_alone(cluster):
    many = [
        base(dp=GPUS // (tp * pp), tp=tp, pp=pp, sharding=sharding).layout
        for tp in (1, 2, 8)
        for pp in (1, 2, 4)
        for sharding in ("none", "zero1", "zero3")
    ]
    together = Closed(base(), cluster).seconds(arrays_of(many))
    alone = [Closed(base(), cluster).seconds(arrays_of([one]))[0] for one in many]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert len(set(together.round(6))) > len(many) // 2


@pytest.mark.parametrize("change", ["node1/gpu3:compute=0.5", "node2/nic0=0.1", "node0/nic3=down"])
def test_what_only_the_engine_sees_is_refused(change):
    changed = ws.cluster("dgx-h100", nodes=NODES, changes=[change])
    with pytest.raises(UsageError, match="formulas do not see"):
        Closed(base(), changed)


@pytest.mark.parametrize("change", ["nic=800G", "gemm=2x", "hbm=2x", "nvlink=2x"])
def test_a_better_machine_is_seen_and_never_slower(change, cluster):
    layouts = arrays_of([base(dp=8, tp=4).layout, base(dp=8, tp=2, pp=2).layout])
    before = Closed(base(), cluster).seconds(layouts)
    changed = ws.cluster("dgx-h100", nodes=NODES, changes=[change])
    after = Closed(base(), changed).seconds(layouts)
    assert (after <= before * (1 + 1e-9)).all()
    assert (after < before).any()


def _arrays(table) -> LayoutArrays:
    columns = [np.ascontiguousarray(table[:, k]) for k in range(9)]
    return LayoutArrays(*columns, columns[1] > 1)


@pytest.mark.slow
def test_a_search_gets_its_layouts_fast_enough():
    """50,000 a second on one core, when what they have in common has been worked out."""
    cluster = ws.cluster("dgx-h100", nodes=16)
    asked = with_defaults(job(shipped("llama3-70b"), batch=512, seq=8192))
    rows = [
        (128 // (tp * pp), tp, pp, vpp, 1, micro, recompute, sharding, 128 // (tp * pp))
        for tp in (1, 2, 4, 8)
        for pp, vpp in ((1, 1), (2, 1), (4, 1), (8, 1), (4, 5), (8, 5))
        for micro in (1, 2, 4)
        for recompute in (0, 1, 2)
        for sharding in (0, 1, 3)
    ]
    closed = Closed(asked, cluster)
    closed.seconds(_arrays(np.array(rows)))
    many = _arrays(np.tile(np.array(rows), (75_000 // len(rows), 1)))
    start = time.process_time()
    seconds = closed.seconds(many)
    assert len(seconds) / (time.process_time() - start) > 50_000
    assert np.isfinite(seconds).all()
    assert (seconds > 0).all()


def test_a_cut_that_cannot_be_is_told(cluster):
    with pytest.raises(WirespeedError, match="cannot be cut"):
        Closed(base(), cluster).seconds(arrays_of([Layout(dp=1, pp=32)]))

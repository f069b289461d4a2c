"""The sums of the page on memory are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from training.jobs import job
from wirespeed.training.activations import saved, split_of, working
from wirespeed.training.habits import habit_of, state_bytes
from wirespeed.training.memory import GIB, fullest, memory
from wirespeed.training.shards import layer_shard, sharded
from wirespeed.training.stages import stages

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-memory-is-counted.md").read_text()

JOB = job(
    "llama3-70b",
    batch=128,
    dp=4,
    tp=8,
    pp=4,
    sharding="zero1",
    sequence_parallel=True,
    schedule="1f1b",
    micro_batch=1,
    recompute="none",
)


def figure(line: str) -> float:
    """The number at the end of the line that starts so."""
    found = re.search(rf"^{re.escape(line)} .*?([\d,.]+)(?: GiB| B)?$", PAGE, re.MULTILINE)
    assert found, line
    return float(found[1].replace(",", ""))


def test_parameters_of_the_first_stage():
    first = stages(JOB.model, JOB.layout, JOB.framework)[0]
    embedding, block = first.layers[:2]
    assert figure("a block") == layer_shard(block, 8)
    assert figure("20 blocks") == 20 * layer_shard(block, 8)
    assert figure("the embedding") == layer_shard(embedding, 8, pads_vocab=True)
    assert figure("the first stage") == sharded(first.layers, 8, pads_vocab=True)


@pytest.mark.parametrize(
    "kind", ["weights", "gradients", "optimizer", "nccl", "allocated", "reserved"]
)
def test_kinds_of_memory(kind):
    assert figure(kind) == pytest.approx(getattr(memory(JOB), kind), abs=0.0006)


def test_activations():
    block = JOB.model.layers[1]
    split = split_of(JOB)
    assert figure("a token of a block") == saved(block, split, "none") / 8192
    flying, passing = figure("in flight"), figure("in passing")
    assert flying == pytest.approx(saved(block, split, "none") * 80 / GIB, abs=0.0006)
    assert passing == pytest.approx(working(block, split, "none") / GIB, abs=0.0006)
    assert flying + passing == pytest.approx(fullest(JOB).activations / GIB, abs=0.001)


@pytest.mark.parametrize(
    ("row", "framework", "precision"),
    [
        ("Megatron-Core, NeMo", "Megatron-Core", "bf16"),
        ("Megatron-LM", "Megatron-LM", "fp16"),
        ("Megatron-DeepSpeed", "Megatron-DeepSpeed", "bf16"),
        ("DeepSpeed", "DeepSpeed", "bf16"),
        ("FSDP, torchtitan", "torchtitan", "bf16"),
        ("FSDP2", "FSDP2", "bf16"),
        ("InternEvo", "InternEvo", "bf16"),
        ("DDP", "DDP", "fp16"),
    ],
)
def test_bytes_a_parameter(row, framework, precision):
    line = next(x for x in PAGE.splitlines() if x.startswith(f"| {row}"))
    cells = [re.match(r"\d*", cell.strip())[0] for cell in line.strip("|").split("|")[1:]]
    each = state_bytes(framework, precision)
    expected = (each.weights, each.gradients, each.optimizer, each.step or "")
    assert cells == [str(value) for value in expected]
    assert habit_of(framework)

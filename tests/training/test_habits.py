"""Frameworks and what they keep are data with sources."""

from __future__ import annotations

import json

import pytest

from support import shared
from training.jobs import job
from wirespeed.errors import UnknownName
from wirespeed.training.habits import habit_of, state_bytes, with_defaults


@pytest.mark.parametrize(
    ("framework", "precision", "total"),
    [
        ("Megatron-Core", "bf16", 18),
        ("Megatron-LM", "fp16", 16),
        ("Megatron-DeepSpeed", "bf16", 20),
        ("FSDP", "bf16", 16),
        ("DDP", "fp32", 16),
    ],
)
def test_bytes_a_parameter_are_those_of_each_framework(framework, precision, total):
    each = state_bytes(framework, precision)
    assert each.weights + each.gradients + each.optimizer == total


def test_defaults_are_the_frameworks():
    core = with_defaults(job(tp=8, pp=4, vpp=5)).layout
    assert (core.sharding, core.sequence_parallel, core.schedule) == ("none", True, "interleaved")
    titan = with_defaults(job(framework="torchtitan", dp=8)).layout
    assert (titan.sharding, titan.sequence_parallel, titan.schedule) == ("zero3", False, None)


def test_what_is_given_stays():
    given = with_defaults(job(dp=8, sharding="none", tp=2, sequence_parallel=False)).layout
    assert (given.sharding, given.sequence_parallel) == ("none", False)


def test_an_unknown_framework_offers_the_nearest():
    with pytest.raises(UnknownName, match="Megatron-Core"):
        habit_of("Megatron-Corr")


@pytest.mark.corpus
def test_every_framework_of_the_records_is_known():
    records = json.loads(shared("validation", "training.json").read_text())
    for framework in {r["framework"] for r in records} - {None}:
        assert habit_of(framework).names

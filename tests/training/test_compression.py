"""Gradients that go over the wires as less than they are."""

from __future__ import annotations

import pytest

import wirespeed as ws
from wirespeed.errors import Infeasible, UsageError
from wirespeed.models import Layer, Matmul
from wirespeed.training.compression import (
    Compression,
    parse_compression,
    powersgd_kernels,
    powersgd_values,
)

WIDE = Layer("wide", "block", (Matmul("up", 1024, 4096), Matmul("down", 4096, 1024)))


@pytest.fixture(scope="module")
def on():
    return ws.cluster("dgx-a100", nodes=8, changes=["nics=1"])


def step(on, compress):
    return ws.train(
        "bert-large",
        on,
        framework="DDP",
        global_batch=512,
        seq=128,
        compress=compress,
        explain=False,
    )


@pytest.mark.parametrize("rank", [1, 4, 64])
def test_a_matrix_goes_as_two_thin_ones(rank):
    assert powersgd_values([WIDE], rank) == 2 * rank * (1024 + 4096)


def test_a_matrix_that_is_no_larger_than_its_factors_goes_as_it_is():
    assert powersgd_values([WIDE], 2000) == 2 * 1024 * 4096
    assert powersgd_kernels([WIDE], 2000, 4) == []


def test_compressing_takes_three_thin_products_a_matrix():
    kernels = powersgd_kernels([WIDE], 4, 4)
    flops = sum(k.flops for k in kernels if hasattr(k, "flops"))
    assert flops == 2 * 3 * (2 * 1024 * 4096 * 4)


def test_fewer_bytes_are_exposed_for_less_time_and_compressing_costs_time(on):
    plain, half, thin = (step(on, text).breakdown_s for text in (None, "bf16", "powersgd:2"))
    assert thin.exposed_dp < half.exposed_dp < plain.exposed_dp
    assert thin.compute > plain.compute


@pytest.mark.parametrize("text", ["zip", "bf16:2", "powersgd:x", "powersgd:-1"])
def test_words_that_name_no_compression_are_refused(text):
    with pytest.raises(UsageError, match="no compression"):
        parse_compression(text)


def test_the_words_are_those_of_the_command_line():
    assert parse_compression(None) == parse_compression("none") == Compression()
    assert parse_compression("PowerSGD:4") == Compression("powersgd", 4)


def test_it_is_a_hook_of_ddp():
    with pytest.raises(Infeasible) as caught:
        ws.train("llama3-8b", "dgx-h100", {"tp": 2}, compress="powersgd")
    assert "PowerSGD" in str(caught.value)

"""Shipped models have the parameters and FLOPs that are published for them."""

from __future__ import annotations

import pytest

from wirespeed.errors import UnknownName
from wirespeed.models import forward_flops, names, parameters, shipped
from wirespeed.models.shipped import published

EXACT = {
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "opt-350m": 331_196_416,
    "opt-6.7b": 6_658_473_984,
    "bloom-176b": 176_247_271_424,
    "mpt-7b": 6_649_286_656,
    "llama2-7b": 6_738_415_616,
    "llama2-70b": 68_976_648_192,
    "llama3-8b": 8_030_261_248,
    "llama3-70b": 70_553_706_496,
    "llama3.1-405b": 405_853_388_800,
    "mistral-7b": 7_241_732_096,
    "qwen2-7b": 7_615_616_512,
    "qwen3-8b": 8_190_735_360,
    "gemma-7b": 8_537_680_896,
    "gemma2-9b": 9_241_705_984,
    "gemma3-1b": 999_885_952,
    "phi-2": 2_779_683_840,
    "gpt-neox-20b": 20_554_567_680,
    "bert-large": 336_226_108,
    "vit-b-16": 86_567_656,
    "resnet-50": 25_557_032,
    "resnet-101": 44_549_160,
    "resnext-101-32x4d": 44_177_704,
    "vgg-16": 138_357_544,
    "inception-v3": 23_834_568,
}
ROUNDED = {
    "gpt3-175b": 175e9,
    "opt-175b": 175e9,
    "mt-nlg-530b": 530e9,
    "gpt-1t": 1008e9,
    "nemotron4-15b": 15.6e9,
    "nemotron4-340b": 341e9,
    "opt-66b": 66e9,
    "mpt-30b": 30e9,
}
GMAC = {"resnet-50": 4.09, "resnet-101": 7.80, "vgg-16": 15.47, "inception-v3": 5.71}


@pytest.mark.parametrize("name", EXACT)
def test_parameters_equal_the_counted_checkpoint(name):
    assert parameters(shipped(name)) == EXACT[name]


@pytest.mark.parametrize("name", ROUNDED)
def test_parameters_round_to_the_published_figure(name):
    assert parameters(shipped(name)) == pytest.approx(ROUNDED[name], rel=0.005)


def test_every_shipped_model_equals_the_count_in_its_row():
    for name in names():
        stated = published(name).parameters
        assert stated is None or parameters(shipped(name)) == stated, name


@pytest.mark.parametrize("name", GMAC)
def test_multiply_adds_of_an_image_equal_torchvisions(name):
    assert forward_flops(shipped(name)) / 2e9 == pytest.approx(GMAC[name], abs=0.006)


def test_every_stated_multiply_add_count_holds():
    for name in names():
        stated = published(name).gmac
        if stated is not None:
            assert forward_flops(shipped(name)) / 2e9 == pytest.approx(stated, rel=0.005), name


def test_vit_takes_17_6_gmac_an_image():
    vit = shipped("vit-b-16")
    assert vit.longest == 197
    assert forward_flops(vit, 197) * 197 / 2e9 == pytest.approx(17.56, abs=0.01)


@pytest.mark.parametrize("spelling", ["GPT3-175B", "gpt3 175b", "llama-3-70b", "ResNet-50 v1.5"])
def test_spelling_does_not_matter(spelling):
    assert parameters(shipped(spelling)) > 0


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UnknownName, match="llama3-70b"):
        shipped("llama3-71b")


def test_equal_blocks_are_one_object():
    blocks = [layer for layer in shipped("llama3-70b").layers if layer.kind == "block"]
    assert len(blocks) == 80
    assert len({id(layer) for layer in blocks}) == 1


def test_gemma_3_sees_all_in_every_sixth_layer():
    blocks = [layer for layer in shipped("gemma3-1b").layers if layer.kind == "block"]
    windows = [o.window for b in blocks for o in b.operators if o.name == "attention"]
    assert windows[:7] == [512, 512, 512, 512, 512, None, 512]

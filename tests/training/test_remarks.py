"""What was done without being asked is said."""

from __future__ import annotations

from training.jobs import gpt, job
from wirespeed.training.remarks import remarks


def test_an_even_pipeline_needs_no_word():
    assert remarks(job(gpt(layers=8), pp=4, seq=2048)) == []


def test_uneven_stages_are_said():
    assert remarks(job("llama3.1-405b", framework="torchtitan", pp=8)) == [
        "of 126 layers the pipeline's stages have 15, 6 x 16, 15"
    ]


def test_a_padded_vocabulary_is_said():
    assert remarks(job("gpt2", seq=1024, tp=2)) == ["a vocabulary of 50,257 is padded to 50,432"]


def test_what_the_model_left_open_is_said():
    assert any("auxiliary head" in r for r in remarks(job("inception-v3", framework="DDP", seq=1)))

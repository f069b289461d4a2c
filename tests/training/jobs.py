"""Jobs that tests of training share."""

from __future__ import annotations

from wirespeed.models import Model, from_fields, shipped
from wirespeed.training.layout import Job, Layout


def gpt(layers: int = 4, hidden: int = 1024, heads: int = 16, seq: int = 2048) -> Model:
    """A GPT as Megatron-LM trained them, with a vocabulary that every tp up to 64 divides."""
    fields = {"layers": layers, "hidden": hidden, "heads": heads, "seq_len": seq, "vocab": 65536}
    return from_fields({"name": "GPT", **fields})


def job(
    model: Model | str = "llama3-70b",
    *,
    batch: int = 512,
    seq: int = 8192,
    framework: str = "Megatron-Core",
    precision: str = "bf16",
    **layout: object,
) -> Job:
    """A job on a model or the shipped one of that name; the rest is its layout."""
    model = shipped(model) if isinstance(model, str) else model
    return Job(
        model=model,
        layout=Layout(**layout),
        global_batch=batch,
        seq_len=seq,
        framework=framework,
        precision=precision,
    )

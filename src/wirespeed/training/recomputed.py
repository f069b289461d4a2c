"""recomputed_flops: what recompute adds to the FLOPs of a step, for HFU."""

from __future__ import annotations

from wirespeed.models import Attention, Convention, Layer, layer_flops, operator_flops
from wirespeed.training.layout import Job


def recomputed_flops(job: Job, convention: Convention) -> float:
    """FLOPs an item that run again in backward."""
    recompute = job.layout.recompute
    if recompute not in ("full", "selective"):
        return 0.0
    length = job.seq_len if job.model.item == "token" else 1
    return sum(
        _again(layer, length, convention, whole=recompute == "full")
        for layer in job.model.layers
        if layer.kind == "block"
    )


def _again(layer: Layer, length: int, convention: Convention, *, whole: bool) -> float:
    if whole:
        return layer_flops(layer, length, convention)
    cores = [o for o in layer.operators if isinstance(o, Attention)]
    return sum(operator_flops(o, length, convention) for o in cores)

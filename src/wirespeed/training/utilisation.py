"""MFU and HFU: FLOPs that a step needs, or runs, over what the GPUs could have done meanwhile.

MFU counts forward and backward once (`models.counts`, convention named); HFU what is recomputed as
well. The peak is the dense one of the matrix units in the job's precision. What a flash kernel
recomputes inside counts in neither, as nobody counts it.
"""

from __future__ import annotations

from wirespeed.catalog import gpu
from wirespeed.models import (
    WHOLE,
    Attention,
    Convention,
    Layer,
    Matmul,
    distinct,
    layer_flops,
    operator_flops,
    training_flops,
)
from wirespeed.training.habits import habit_of
from wirespeed.training.layout import Job, Precision


def items_of(job: Job) -> int:
    """Tokens, or images, of one optimizer step."""
    return job.global_batch * (job.seq_len if job.model.item == "token" else 1)


def model_flops(job: Job, convention: Convention = WHOLE) -> float:
    """FLOPs of forward and backward of one step, over all GPUs."""
    return items_of(job) * training_flops(job.model, job.seq_len, convention)


def hardware_flops(job: Job, convention: Convention = WHOLE) -> float:
    """FLOPs of one step with what is recomputed."""
    again = sum(n * recomputed(job, x, convention) for x, n in distinct(job.model.layers))
    return model_flops(job, convention) + items_of(job) * again


def recomputed(job: Job, layer: Layer, convention: Convention = WHOLE) -> float:
    """FLOPs an item that backward of a layer repeats of its forward."""
    recompute = job.layout.recompute
    if layer.kind != "block" or recompute in (None, "none"):
        return 0.0
    if recompute == "full":
        return layer_flops(layer, job.seq_len, convention)
    if habit_of(job.framework).selective == "alternate":
        return _alternate(layer)
    core = [o for o in layer.operators if isinstance(o, Attention)]
    return sum(operator_flops(o, job.seq_len, convention) for o in core)


def _alternate(layer: Layer) -> float:
    """Every other product of q, k, v, out, gate, up, down, from the second on."""
    attention = next(o for o in layer.operators if isinstance(o, Attention))
    single: list[float] = []
    for operator in layer.operators:
        if isinstance(operator, Matmul):
            each = 2.0 * operator.inputs
            if operator.name == "qkv":
                keys = attention.kv_heads * attention.head_dim
                single += [each * (operator.outputs - 2 * keys), each * keys, each * keys]
            elif operator.name == "gate and up":
                single += [each * operator.outputs / 2] * 2
            else:
                single.append(each * operator.outputs)
    return sum(single[1::2])


def peak(gpu_name: str, precision: Precision) -> float | None:
    """Dense peak of a GPU's matrix units in a precision [FLOP/s]; None where it has none."""
    row = gpu(gpu_name)
    rate = row.peak("fp4" if precision == "nvfp4" else precision)
    return None if rate is None else rate / row.devices


def mfu(job: Job, seconds: float, peak: float, convention: Convention = WHOLE) -> float:
    """Share of the GPUs' peak that a step of that many seconds makes of the model's FLOPs."""
    return model_flops(job, convention) / (seconds * job.layout.gpus * peak)


def hfu(job: Job, seconds: float, peak: float, convention: Convention = WHOLE) -> float:
    """The same with what is recomputed."""
    return hardware_flops(job, convention) / (seconds * job.layout.gpus * peak)

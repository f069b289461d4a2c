"""activations: bytes that backward needs of a layer and a micro-batch, on one GPU.

Without recompute every matrix product keeps its input, attention queries, keys and values (and,
without a flash kernel, the probabilities), pointwise operators what their `saved` says: the
34 sbh + 5 a s^2 b of Korthikanti et al. (2022), divided by tensor and sequence parallelism as
theirs are. Full recompute keeps a block's input; selective drops attention's probabilities, or in
torchtitan every other matrix product's output.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wirespeed.models import Attention, Layer, Matmul, Operator, Pointwise
from wirespeed.training.habits import habit_of
from wirespeed.training.layout import Job, Recompute

Loss = Literal["fused", "compiled", "eager"]


class Split(msgspec.Struct, frozen=True):
    """What decides how many bytes an operator keeps."""

    items: float
    """Tokens (or images) of a micro-batch on this GPU: context parallelism divides them."""
    seq_len: int
    tp: int
    sequence: int
    """By what is divided that tensor parallelism leaves whole: tp under sequence parallelism."""
    flash: bool
    width: int
    """Bytes of an activation."""
    input_width: int
    """Bytes of a matrix product's kept input: 1 where fp8 layers keep them so."""
    loss_split: int
    """By what logits are divided."""


def split_of(job: Job) -> Split:
    """The split of a job whose micro-batch is set."""
    layout, habit = job.layout, habit_of(job.framework)
    width = 4 if job.precision in ("fp32", "tf32") else 2
    eight = habit.fp8_inputs and job.precision in ("fp8", "nvfp4")
    length = job.seq_len if job.model.item == "token" else 1
    return Split(
        items=(layout.micro_batch or 1) * length / layout.cp,
        seq_len=length,
        tp=layout.tp,
        sequence=layout.tp if layout.sequence_parallel else 1,
        flash=habit.flash,
        width=width,
        input_width=1 if eight else width,
        loss_split=layout.tp if habit.parallel_loss else 1,
    )


def saved(layer: Layer, split: Split, recompute: Recompute, selective: str = "core") -> float:
    """Bytes that a micro-batch leaves of a layer until its backward."""
    if layer.kind != "block":
        # Embedding and head stay in 16 bit under fp8.
        split = msgspec.structs.replace(split, input_width=split.width)
    if layer.kind == "block" and recompute == "full":
        return split.items * _block_input(layer, split)
    if layer.kind == "block" and recompute == "selective":
        if selective == "alternate":
            return split.items * _alternate(layer, split)
        return split.items * sum(_operator(o, split, core=False) for o in layer.operators)
    return split.items * sum(_operator(o, split, core=True) for o in layer.operators)


def working(layer: Layer, split: Split, recompute: Recompute, selective: str = "core") -> float:
    """Bytes that backward of one layer has on top: what it recomputes, and gradients in passing."""
    again = saved(layer, split, "none") - saved(layer, split, recompute, selective)
    passing = max((gradients(o, split) for o in layer.operators), default=0.0)
    return max(again, 0.0) + split.items * passing


def logits_in_passing(layer: Layer, split: Split, how: Loss) -> float:
    """Bytes of logits that the loss has besides the fp32 ones that it keeps, while it runs.

    In 16 bit as the head writes them, alone where the loss is fused; with their gradient where it
    is compiled; and with a gradient in fp32 too where each operator is its own kernel. Where tensor
    parallelism's parts are gathered for the loss, both sides of the gather are there.
    """
    loss = next((o for o in layer.operators if o.name == "loss"), None)
    if not isinstance(loss, Pointwise):
        return 0.0
    each = {"fused": split.width, "compiled": 2 * split.width, "eager": 2 * split.width + 4}[how]
    gathered = split.width if split.tp > 1 and split.loss_split == 1 else 0
    return split.items * loss.writes * (each + gathered) / split.loss_split


def logits(layer: Layer, split: Split) -> float:
    """Bytes of a micro-batch's logits as the head writes them."""
    loss = next((o for o in layer.operators if o.name == "loss"), None)
    if not isinstance(loss, Pointwise):
        return 0.0
    return split.items * loss.writes * split.width / split.loss_split


def _operator(operator: Operator, split: Split, *, core: bool) -> float:
    """Kept bytes an item; `core` false leaves attention's core to be recomputed."""
    match operator:
        case Matmul():
            whole = operator.inputs * operator.items * split.input_width
            return whole / (split.tp if operator.split == "row" else split.sequence)
        case Attention():
            return _attention(operator, split, core=core) / split.tp
        case Pointwise(name="loss"):
            return operator.saved_bytes / split.loss_split
        case Pointwise():
            kept = operator.saved * split.width + operator.saved_bytes
            return kept / (split.tp if operator.region == "tensor" else split.sequence)
        case _:
            return 0.0


def _attention(operator: Attention, split: Split, *, core: bool) -> float:
    values = operator.value_dim or operator.head_dim
    queries = operator.heads * operator.head_dim
    keys = operator.kv_heads * (operator.head_dim + values)
    kept = float((queries + keys) * split.width)
    if split.flash:
        # The sum of each row in fp32; its output again where the next product keeps it in fp8.
        again = split.input_width < split.width
        return kept + operator.heads * (4 + (values * split.width if again else 0))
    if not core:
        return kept
    # Probabilities; with dropout their mask of a byte, and what is left of them.
    matrix = split.width + (1 + split.width if operator.dropout else 0)
    return kept + operator.heads * split.seq_len * matrix


def _block_input(layer: Layer, split: Split) -> float:
    """The residual stream: the width of the first norm or product."""
    width = next(o.inputs for o in layer.operators if isinstance(o, Matmul))
    return width * split.width / split.sequence


def _alternate(layer: Layer, split: Split) -> float:
    """What torchtitan's selective checkpoint by operator keeps of an item.

    A block's input, attention's output, and of the products q, k, v, out, gate, up, down the
    outputs of every other one, from the first on.
    """
    attention = next(o for o in layer.operators if isinstance(o, Attention))
    outputs: list[float] = []
    for operator in layer.operators:
        if isinstance(operator, Matmul):
            outputs += _single(operator, attention, split)
    core = attention.heads * (attention.head_dim * split.width + 4) / split.tp
    return _block_input(layer, split) + core + sum(outputs[::2])


def _single(operator: Matmul, attention: Attention, split: Split) -> list[float]:
    """Bytes an item of the outputs of products that are fused in the model and single there."""
    heads, kv, width = attention.heads, attention.kv_heads, attention.head_dim
    divided = split.tp if operator.split == "column" else split.sequence
    match operator.name:
        case "qkv":
            widths = [heads * width, kv * width, kv * width]
        case "gate and up":
            widths = [operator.outputs // 2] * 2
        case _:
            widths = [operator.outputs]
    return [w * split.width / divided for w in widths]


def gradients(operator: Operator, split: Split) -> float:
    """Bytes an item of the gradients of an operator's input and output, both there at once."""
    match operator:
        case Matmul():
            into = operator.inputs / (split.tp if operator.split == "row" else 1)
            out = operator.outputs / (split.tp if operator.split == "column" else 1)
            if operator.name == "head":
                return 0.0  # with the logits
            return (into + out) * operator.items * split.width
        case Attention() if not split.flash:
            # Gradients of probabilities and of scores.
            return operator.heads * split.seq_len * 2 * split.width / split.tp
        case Pointwise() if operator.name != "loss":
            moved = (operator.reads + operator.writes) * split.width
            return moved / (split.tp if operator.region == "tensor" else split.sequence)
        case _:
            return 0.0

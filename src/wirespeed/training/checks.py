"""checks: whether a layout works, with every reason against it at once, and the nearest that does.

A reason is a rule of a framework or of arithmetic; whether it fits in memory is `choices`' matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.errors import Infeasible
from wirespeed.models import Attention, Lookup, Matmul, Model
from wirespeed.training.habits import Habit, habit_of
from wirespeed.training.layout import Job, Layout
from wirespeed.training.nearest import nearest
from wirespeed.training.stages import blocks_of, stage_sizes


def check(job: Job, gpus: int | None = None) -> None:
    """Raise Infeasible with all reasons and the nearest layout that works, if there are any.

    `gpus` is what the cluster has for the job; None: as many as the layout needs.
    """
    found = reasons(job, gpus)
    if not found:
        return
    number = gpus or max(job.layout.gpus, 1)
    better = nearest(job, number, lambda trial: not reasons(trial, number))
    raise Infeasible(
        f"the layout does not work: {found[0]}" if len(found) == 1 else "the layout does not work",
        where="layout",
        why="\n  ".join(found) if len(found) > 1 else "",
        remedy=f"the nearest that works: {words(better)}" if better else "no layout near it works",
    )


def words(job: Job) -> str:
    """A layout in the words of the command line's options."""
    layout = job.layout
    parts = [f"--dp {layout.dp}", f"--tp {layout.tp}", f"--pp {layout.pp}"]
    if layout.vpp > 1:
        parts.append(f"--vpp {layout.vpp}")
    if layout.cp > 1:
        parts.append(f"--cp {layout.cp}")
    if layout.micro_batch is not None:
        parts.append(f"--micro-batch {layout.micro_batch}")
    if layout.sharding is not None:
        parts.append(f"--sharding {layout.sharding}")
    parts.append(f"--global-batch {job.global_batch}")
    return " ".join(parts)


def reasons(job: Job, gpus: int | None = None) -> list[str]:
    """Every reason why a job's layout does not work, in plain words; empty where it does."""
    layout = job.layout
    wrong = list(_sizes(job))
    if wrong:
        return wrong
    habit = habit_of(job.framework)
    return [
        *_multiplied(layout, gpus),
        *_tensor(job.model, layout, habit, job.seq_len),
        *_pipeline(job.model, layout, habit),
        *_batch(job),
        *_sharding(layout, habit, job.framework),
        *_asked(job, habit),
        *_sequence(job),
    ]


def _sizes(job: Job) -> Iterator[str]:
    layout = job.layout
    for what, number in (("global batch", job.global_batch), ("sequence", job.seq_len)):
        if number < 1:
            yield f"a {what} of {number:,}: it is at least 1"
    for name in ("dp", "tp", "pp", "vpp", "cp", "ep"):
        if getattr(layout, name) < 1:
            yield f"{name} = {getattr(layout, name)}: degrees are at least 1"
    for name in ("micro_batch", "shard_group"):
        value = getattr(layout, name)
        if value is not None and value < 1:
            yield f"{name} = {value}: it is at least 1"


def _multiplied(layout: Layout, gpus: int | None) -> Iterator[str]:
    if gpus is not None and layout.gpus != gpus:
        sum_ = f"dp {layout.dp} x tp {layout.tp} x pp {layout.pp} x cp {layout.cp}"
        yield f"{sum_} = {layout.gpus:,} GPUs, and there are {gpus:,}"
    if layout.ep > 1:
        yield f"ep = {layout.ep}: a dense model has no experts to spread"


def _tensor(model: Model, layout: Layout, habit: Habit, seq_len: int) -> Iterator[str]:
    tp = layout.tp
    if tp > 1 and not habit.tensor_parallel:
        yield f"tp = {tp}: {habit.names[0]} has no tensor parallelism"
    elif tp > 1 and model.item == "image":
        yield f"tp = {tp}: a convolutional network is not split so"
    elif tp > 1:
        for what, number in _divided(model, habit):
            if number % tp:
                yield f"{number:,} {what} are no multiple of tp = {tp}"
    if layout.sequence_parallel:
        if tp == 1:
            yield "sequence parallelism shares out what tensor parallelism leaves whole: tp = 1"
        elif seq_len % (tp * layout.cp):
            yield f"a sequence of {seq_len:,} is no multiple of tp x cp = {tp * layout.cp}"


def _divided(model: Model, habit: Habit) -> Iterator[tuple[str, int]]:
    """What tensor parallelism divides, each once."""
    seen: set[tuple[str, int]] = set()
    for layer in {id(x): x for x in model.layers}.values():
        for operator in layer.operators:
            for item in _parts(operator, habit):
                if item not in seen:
                    seen.add(item)
                    yield item


def _parts(operator: object, habit: Habit) -> Iterator[tuple[str, int]]:
    match operator:
        case Attention():
            yield "heads", operator.heads
            yield "heads of keys and values", operator.kv_heads
        case Matmul(name="down"):
            yield "widths of the MLP", operator.inputs
        case Lookup(split=True) if not habit.pads_vocab:
            yield "words of the vocabulary", operator.rows


def _pipeline(model: Model, layout: Layout, habit: Habit) -> Iterator[str]:
    pp, vpp, blocks = layout.pp, layout.vpp, len(blocks_of(model))
    if pp > 1 and not habit.pipeline:
        yield f"pp = {pp}: {habit.names[0]} has no pipeline"
        return
    if pp > 1 and model.item == "image":
        yield f"pp = {pp}: a convolutional network is not cut so"
        return
    if pp > blocks:
        yield f"pp = {pp}: there are more stages than the {blocks} layers"
    elif vpp > 1:
        yield from _interleaved(blocks, layout, habit)
    elif layout.schedule == "interleaved":
        yield "an interleaved schedule needs several model chunks a rank: vpp = 1"
    given = layout.stage_layers
    if given is not None and (len(given) != pp * vpp or sum(given) != blocks or min(given) < 0):
        yield f"stages of {given} layers are not {blocks} layers in pp x vpp = {pp * vpp} parts"


def _interleaved(blocks: int, layout: Layout, habit: Habit) -> Iterator[str]:
    pp, vpp = layout.pp, layout.vpp
    if pp == 1:
        yield f"vpp = {vpp} chunks of a pipeline of one stage: pp = 1"
        return
    if not habit.interleaves:
        yield f"vpp = {vpp}: {habit.names[0]} has no interleaved schedule"
    if layout.schedule in ("gpipe", "1f1b"):
        yield f"schedule {layout.schedule} has one model chunk a rank, not vpp = {vpp}"
    chunks = pp * vpp
    if layout.stage_layers is None and blocks % chunks and (blocks + 2) % chunks:
        sizes = stage_sizes(blocks, chunks)
        why = "" if sizes else ", which are more parts than layers"
        yield (
            f"{blocks} layers, or {blocks + 2} with embedding and head, are no multiple of "
            f"pp x vpp = {chunks}{why}"
        )


def _batch(job: Job) -> Iterator[str]:
    layout, batch = job.layout, job.global_batch
    if batch % layout.dp:
        yield f"a global batch of {batch:,} is no multiple of dp = {layout.dp}"
        return
    micro = layout.micro_batch
    if micro is None:
        return
    share = batch // layout.dp
    if share % micro:
        each = f"dp x micro-batch = {layout.dp * micro:,}"
        yield f"a global batch of {batch:,} is no multiple of {each}"
    elif layout.vpp > 1 and layout.pp > 1 and (share // micro) % layout.pp:
        yield (
            f"{share // micro} micro-batches are no multiple of pp = {layout.pp}, which an "
            "interleaved schedule needs"
        )


def _sharding(layout: Layout, habit: Habit, framework: str) -> Iterator[str]:
    sharding = layout.sharding or (habit.sharding if layout.dp * layout.cp > 1 else "none")
    if layout.pp > 1 and sharding not in habit.zero_with_pipeline:
        yield f"{framework} refuses {sharding} with a pipeline: each micro-batch would gather again"
    group = layout.shard_group
    if group is not None and sharding != "none" and layout.dp % group:
        yield f"dp = {layout.dp} is no multiple of the shard group of {group}"


def _sequence(job: Job) -> Iterator[str]:
    model, cp = job.model, job.layout.cp
    if cp > 1 and job.seq_len % (2 * cp):
        yield f"a sequence of {job.seq_len:,} is no multiple of 2 x cp = {2 * cp}"
    for layer in model.layers:
        for operator in layer.operators if layer.kind == "embedding" else ():
            if isinstance(operator, Lookup) and operator.name == "positions":
                rows = model.longest or operator.rows
                if job.seq_len > rows:
                    yield f"a sequence of {job.seq_len:,} is longer than the {rows:,} positions"


def _asked(job: Job, habit: Habit) -> Iterator[str]:
    """What compression and overlap need."""
    layout = job.layout
    sharding = layout.sharding or (habit.sharding if layout.dp * layout.cp > 1 else "none")
    if job.compression.scheme == "powersgd":
        if sharding != "none":
            yield f"PowerSGD sums whole gradients, and {sharding} shares them out"
        if layout.tp * layout.pp > 1:
            yield "PowerSGD is a hook of DDP, which has neither tensor parallelism nor a pipeline"
        if job.compression.rank < 1:
            yield f"PowerSGD of rank {job.compression.rank} sends nothing"
    sequence = habit.sequence_parallel if layout.sequence_parallel is None else None
    if job.tp_overlap and (layout.tp == 1 or not (layout.sequence_parallel or sequence)):
        yield "overlapped tensor parallelism takes tp above 1 and sequence parallelism"

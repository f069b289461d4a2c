"""memory_arrays: memory of many layouts of one job at once, for a search.

The same sums as `memory`, which is their oracle: what a layer keeps is a + b / tp + c / sequence +
d / loss for some numbers that are found by asking `activations` and `shards` at 1 and 2. Only the
stages that can be the fullest are looked at: the first two, the last, and the first of those that
got a block more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from wirespeed.models import Layer, Lookup, Matmul, Model
from wirespeed.training import activations as act
from wirespeed.training.habits import Habit, habit_of
from wirespeed.training.layout import Job, Layout, Recompute
from wirespeed.training.memory import communicator_bytes, each_parameter, parameter
from wirespeed.training.shards import PADDING, layer_shard
from wirespeed.training.stages import blocks_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

RECOMPUTES: tuple[Recompute, ...] = ("none", "selective", "full")
SHARDINGS = ("none", "zero1", "zero2", "zero3")


@dataclass(frozen=True, slots=True)
class LayoutArrays:
    """Layouts whose fields are all set, an array a field [n]; schedules are 1F1B or interleaved."""

    dp: Ints
    tp: Ints
    pp: Ints
    vpp: Ints
    cp: Ints
    micro_batch: Ints
    recompute: Ints
    """Position in RECOMPUTES."""
    sharding: Ints
    """Position in SHARDINGS."""
    shard_group: Ints
    sequence_parallel: npt.NDArray[np.bool_]


def arrays_of(layouts: Sequence[Layout]) -> LayoutArrays:
    """The arrays of layouts to which defaults and choices have been added."""

    def column(value: Callable[[Layout], int]) -> Ints:
        return np.array([value(layout) for layout in layouts], np.int64)

    return LayoutArrays(
        dp=column(lambda x: x.dp),
        tp=column(lambda x: x.tp),
        pp=column(lambda x: x.pp),
        vpp=column(lambda x: x.vpp),
        cp=column(lambda x: x.cp),
        micro_batch=column(lambda x: x.micro_batch or 1),
        recompute=column(lambda x: RECOMPUTES.index(x.recompute or "none")),
        sharding=column(lambda x: SHARDINGS.index(x.sharding or "none")),
        shard_group=column(lambda x: x.shard_group or x.dp),
        sequence_parallel=column(lambda x: bool(x.sequence_parallel)).astype(np.bool_),
    )


@dataclass(frozen=True, slots=True)
class MemoryArrays:
    """Bytes of the fullest GPU [n]: what the framework's allocator gave out, and NCCL's."""

    tensors: Floats
    nccl: Floats

    @property
    def reserved(self) -> Floats:
        """As `Parts.reserved`."""
        return self.tensors * (1 + parameter("reserve_share")) + self.nccl

    @property
    def needed(self) -> Floats:
        """As `Parts.needed`."""
        return self.tensors * (1 + parameter("tight_share")) + self.nccl


@dataclass(frozen=True, slots=True)
class _Terms:
    """a + b / tp + c / sequence + d / loss."""

    whole: float
    tensor: float
    sequence: float
    loss: float

    def at(self, tp: Ints, sequence: Ints, loss: Ints) -> Floats:
        return self.whole + self.tensor / tp + self.sequence / sequence + self.loss / loss


def _terms(ask: Callable[[act.Split], float], split: act.Split) -> _Terms:
    """The terms of what `ask` answers for one item."""
    one = replace(split, items=1.0, tp=1, sequence=1, loss_split=1)
    base = ask(one)
    tensor, sequence, loss = (
        2 * (base - ask(replace(one, **{name: 2}))) for name in ("tp", "sequence", "loss_split")
    )
    return _Terms(base - tensor - sequence - loss, tensor, sequence, loss)


def memory_of(job: Job, layouts: LayoutArrays) -> MemoryArrays:
    """Memory of the fullest GPU of each layout, all else of the job being equal.

    A transformer's blocks are taken to keep alike, as they do whatever windows they have; a
    network for images is one block, since nothing cuts it.
    """
    if job.model.item == "image":
        job = replace(job, model=_folded(job.model))
    sums = _Sums(job, layouts)
    pp = layouts.pp
    last = pp - 1
    candidates = [np.zeros_like(pp), np.minimum(1, last), last, np.minimum(sums.first_long, last)]
    tensors = np.max([sums.stage(rank) for rank in candidates], axis=0)
    return MemoryArrays(tensors, _nccl(layouts))


def _folded(model: Model) -> Model:
    """The model as one layer."""
    operators = tuple(o for layer in model.layers for o in layer.operators)
    return replace(model, layers=(Layer("all", "stage", operators),))


class _Sums:
    """What all stages of all layouts share."""

    def __init__(self, job: Job, layouts: LayoutArrays) -> None:
        model, self.layouts, self.habit = job.model, layouts, habit_of(job.framework)
        self.job = job
        self.split = act.split_of(replace(job, layout=replace(job.layout, cp=1, micro_batch=1)))
        length = job.seq_len if model.item == "token" else 1
        self.items = layouts.micro_batch * length / layouts.cp
        self.sequence = np.where(layouts.sequence_parallel, layouts.tp, 1)
        self.loss = layouts.tp if self.habit.parallel_loss else np.ones_like(layouts.tp)
        share = job.global_batch // (layouts.dp * layouts.micro_batch)
        self.count = np.maximum(share, 1)
        self.block = next(x for x in model.layers if x.kind in ("block", "stage"))
        self.embedding = next((x for x in model.layers if x.kind == "embedding"), None)
        self.head = next((x for x in model.layers if x.kind == "head"), None)
        self._cut(model)

    def _cut(self, model: Model) -> None:
        """How many blocks part k of each layout has: base + (k < rest or k >= late) - ends."""
        blocks, parts = len(blocks_of(model)), self.layouts.pp * self.layouts.vpp
        ends = self.habit.counts_ends
        even = (parts == 1) | (ends == "never") | ((blocks % parts == 0) & (ends == "uneven"))
        base, rest = (blocks + 2) // parts, (blocks + 2) % parts
        fits = (base + (rest > 0) > 1) & (base + (rest == parts) > 1)
        self.counted = ~even & fits
        self.base = np.where(self.counted, base, blocks // parts)
        self.rest = np.where(self.counted, rest, blocks % parts)
        self.late = np.where(even & (ends == "never"), parts - self.rest, parts)
        self.parts = parts
        self.first_long = np.where(self.late < parts, self.late % self.layouts.pp, 0)

    def blocks(self, part: Ints) -> Ints:
        """Blocks of part `part` of each layout."""
        early = (part < self.rest) & (self.late == self.parts)
        more = early | (part >= self.late)
        ends = self.counted * ((part == 0).astype(np.int64) + (part == self.parts - 1))
        size: Ints = self.base + more - ends
        return size

    def stage(self, rank: Ints) -> Floats:
        """Bytes of tensors on a GPU of stage `rank` at its fullest moment."""
        flying = self._in_flight(rank)
        at_start, at_end = rank == 0, rank == self.layouts.pp - 1
        number = np.zeros_like(rank)
        kept = np.zeros(rank.shape)
        block = self._kept(self.block)
        for chunk, held in enumerate(flying):
            there = self.layouts.vpp > chunk
            size = np.where(there, self.blocks(chunk * self.layouts.pp + rank), 0)
            number = number + size
            kept += held * size * block
        final = np.select([self.layouts.vpp == c + 1 for c in range(len(flying))], flying)
        passing = np.where(number > 0, self._working(self.block), 0.0)
        if self.embedding is not None:
            kept += np.where(at_start, flying[0] * self._kept(self.embedding), 0.0)
            passing = np.maximum(passing, np.where(at_start, self._working(self.embedding), 0.0))
        if self.head is not None:
            kept += np.where(at_end, final * self._kept(self.head), 0.0)
            passing = np.maximum(passing, np.where(at_end, self._logits(self.head), 0.0))
            if self.habit.keeps_logits:
                more = (self.count - 1) * self.items * self._linear(self.head, act.logits)
                kept += np.where(at_end & (self.layouts.pp > 1), more, 0.0)
        return self._peak(number, at_start, at_end, kept, passing)

    def _in_flight(self, rank: Ints) -> list[Ints]:
        """As `in_flight`, for each chunk up to the most that any layout has."""
        pp, vpp, count = self.layouts.pp, self.layouts.vpp, self.count
        most = int(vpp.max(initial=1))
        held = np.minimum(count * vpp, 2 * (pp - rank - 1) + (vpp - 1) * pp + 1)
        group = np.minimum(pp, count)
        rounds, rest = held // (group * vpp), held % (group * vpp)
        chunks = []
        for chunk in range(most):
            number = rounds * group + np.clip(rest - chunk * group, 0, group)
            number = np.where(vpp == 1, np.minimum(count, pp - rank), number)
            chunks.append(np.where(pp == 1, 1, np.where(chunk < vpp, number, 0)))
        return chunks

    def _linear(self, layer: Layer, ask: Callable[[Layer, act.Split], float]) -> Floats:
        terms = _terms(lambda split: ask(layer, split), self.split)
        return terms.at(self.layouts.tp, self.sequence, self.loss)

    def _kept(self, layer: Layer) -> Floats:
        """Bytes of a micro-batch that wait for backward."""
        return self.items * np.choose(self.layouts.recompute, self._each_recompute(layer))

    def _each_recompute(self, layer: Layer) -> list[Floats]:
        selective = self.habit.selective
        return [
            self._linear(layer, lambda x, split, how=how: act.saved(x, split, how, selective))  # type: ignore[misc]
            for how in RECOMPUTES
        ]

    def _working(self, layer: Layer) -> Floats:
        kept = self._each_recompute(layer)
        again = np.maximum(kept[0] - np.choose(self.layouts.recompute, kept), 0)
        passing = [
            _terms(lambda split, o=o: act.gradients(o, split), self.split).at(  # type: ignore[misc]
                self.layouts.tp, self.sequence, self.loss
            )
            for o in layer.operators
        ]
        most: Floats = self.items * (again + np.max(passing, axis=0))
        return most

    def _logits(self, layer: Layer) -> Floats:
        how, one = self.habit.loss, replace(self.split, items=1.0, tp=1, sequence=1, loss_split=1)
        alone = act.logits_in_passing(layer, one, how)
        if self.habit.parallel_loss:
            return self.items * alone / self.layouts.tp
        gathered = act.logits_in_passing(layer, replace(one, tp=2), how)
        return self.items * np.where(self.layouts.tp > 1, gathered, alone)

    def _peak(
        self, number: Ints, at_start: Ints, at_end: Ints, kept: Floats, passing: Floats
    ) -> Floats:
        """The fuller of the moments that `memory` looks at."""
        block = _shard(self.block, self.layouts.tp, self.habit)
        ends = np.zeros(kept.shape)
        for layer, there in ((self.embedding, at_start), (self.head, at_end)):
            if layer is not None:
                ends = ends + np.where(there, _shard(layer, self.layouts.tp, self.habit), 0.0)
        held = number * block + ends
        if self.job.model.tied and self.embedding is not None:
            table = _table(self.embedding, self.layouts.tp, self.habit)
            held = held + np.where(at_end & (self.layouts.pp > 1), table, 0.0)
        units = np.minimum(number, 2) * block + ends
        states, gradients, step = self._states(held, units)
        if self.habit.lazy_gradients:
            late = self.count == 1
            both = np.maximum(states + kept, states + gradients) + passing
            during = np.where(late, both, states + gradients + kept + passing)
        else:
            during = states + gradients + kept + passing
        return np.maximum(during, step)

    def _states(self, held: Floats, units: Floats) -> tuple[Floats, Floats, Floats]:
        """Bytes but of gradients, of gradients, and of all during the optimizer's step."""
        habit, layouts = self.habit, self.layouts
        each = each_parameter(self.job)
        width = 4 if self.job.precision in ("fp32", "tf32") else 2
        level = layouts.sharding
        ranks = np.where(level > 0, layouts.shard_group * layouts.cp, 1)
        shared = [np.where(level >= least, ranks, 1) for least in (3, 2, 1)]
        weights = held * each.weights / shared[0]
        gradients = held * each.gradients / shared[1]
        optimizer = held * each.optimizer / shared[2]
        spread = ranks > 1
        whole = np.zeros(held.shape, np.bool_)
        if habit.keeps_whole_in_pipeline:
            whole |= layouts.pp > 1
        if habit.keeps_whole_in_accumulation:
            whole |= self.count > 1
        whole &= (level == 3) & spread
        once = (level == 2) & spread & habit.gathers
        weights = np.where(once, held * each.weights / ranks, weights)
        gradients = np.where(whole, held * each.gradients, gradients)
        passing = np.where(whole | once, held * width, 0.0)
        units = units * (width + each.gradients)
        passing = np.where((level == 3) & spread & ~whole, units, passing)
        if habit.buckets:
            passing = passing + held * each.gradients
        if habit.autocast and width < each.weights:
            passing = passing + held * width
        resident = weights + optimizer
        stepping = resident + gradients + held * each.step / shared[2]
        return resident + passing, gradients, stepping


def _shard(layer: Layer, tp: Ints, habit: Habit) -> Floats:
    """As `layer_shard`, for many tp."""
    one, two = layer_shard(layer, 1), layer_shard(layer, 2)
    split = 2 * (one - two)
    number = (one - split) + split / tp
    if habit.pads_vocab and layer.kind != "block":
        for operator in layer.operators:
            if isinstance(operator, Lookup) and operator.split:
                number = number + _padding(operator.rows, tp) * operator.width / tp
            elif isinstance(operator, Matmul) and operator.split == "column":
                each = operator.inputs * operator.parameters + operator.bias
                number = number + _padding(operator.outputs, tp) * each / tp
    return number


def _table(layer: Layer, tp: Ints, habit: Habit) -> Floats:
    """As `table_shard`, for many tp."""
    for operator in layer.operators:
        if isinstance(operator, Lookup) and operator.split:
            more = _padding(operator.rows, tp) if habit.pads_vocab else 0
            return (operator.rows + more) * operator.width / tp
    return np.zeros(tp.shape)


def _padding(rows: int, tp: Ints) -> Ints:
    step = PADDING * tp
    return -(-rows // step) * step - rows


def _nccl(layouts: LayoutArrays) -> Floats:
    """As `memory`'s: communicators of more than one rank, by what each takes."""
    shards = np.where(layouts.sharding > 0, layouts.shard_group, 1)
    gpus = layouts.dp * layouts.tp * layouts.pp * layouts.cp
    degrees = [layouts.tp, layouts.cp, layouts.pp, layouts.dp, gpus]
    copies = (shards > 1) & (shards < layouts.dp)
    number = sum((degree > 1).astype(np.int64) for degree in degrees) + copies
    return np.asarray(number * communicator_bytes(), np.float64)

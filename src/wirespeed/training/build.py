"""build: a job as tasks on the streams of its rank classes, one class a pipeline stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from wirespeed.collectives.candidate import Place
from wirespeed.collectives.operation import Operation
from wirespeed.models import Layer
from wirespeed.training.communication import NOTHING, Call
from wirespeed.training.compression import powersgd_kernels, powersgd_values
from wirespeed.training.engine import Plan, Task
from wirespeed.training.passes import Cost, Passes
from wirespeed.training.ranks import shard_ranks
from wirespeed.training.schedules import Pass, order
from wirespeed.training.shards import sharded
from wirespeed.training.stages import Stage, stages
from wirespeed.training.update import update

_COMPUTES = (0.0,) * len(Place) + (1.0,)
"""Computing takes all multiprocessors and no link."""
_MOST_PIECES = 16
"""Parts into which a pass is cut that communication runs beside."""


@dataclass(slots=True)
class Builder:
    """Puts the tasks of a job into a plan.

    `slow` is by how much each stage's slowest GPU computes longer. Passes and transfers are noted
    so that others can wait for them.
    """

    passes: Passes
    slow: Sequence[float]
    count: int
    """Micro-batches of a data-parallel rank."""
    plan: Plan = field(default_factory=Plan)
    cut: tuple[Stage, ...] = field(init=False)
    reduced: list[int] = field(init=False)
    """By stage, the last task of data parallelism that the optimizer waits for; -1: none."""
    _done: dict[tuple[int, int, bool], int] = field(default_factory=dict)
    _sent: dict[tuple[int, int, bool], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        job = self.passes.job
        self.cut = stages(job.model, job.layout, job.framework)
        self.reduced = [-1] * job.layout.pp

    def build(self) -> Plan:
        """The plan of a whole step."""
        layout, count = self.passes.job.layout, self.count
        orders = [order(layout.schedule, s, layout.pp, layout.vpp, count) for s in range(layout.pp)]
        places = [0] * layout.pp
        left = sum(map(len, orders))
        while left:
            before = left
            for stage, mine in enumerate(orders):
                while places[stage] < len(mine) and self._known(stage, mine[places[stage]]):
                    self._pass(stage, mine[places[stage]])
                    places[stage] += 1
                    left -= 1
            if left == before:
                raise AssertionError("a schedule waits for itself")
        for stage in range(layout.pp):
            update(self, stage)
        return self.plan

    def part(self, stage: int, one: Pass) -> int:
        """The number of a model chunk in the pipeline's order."""
        return one.chunk * self.passes.job.layout.pp + stage

    def _known(self, stage: int, one: Pass) -> bool:
        """Whether all that a pass waits for is in the plan."""
        part, last = self.part(stage, one), len(self.cut) * self.passes.job.layout.vpp - 1
        if not one.back:
            return part == 0 or (part - 1, one.micro_batch, False) in self._done
        own = (part, one.micro_batch, False) in self._done
        return own and (part == last or (part + 1, one.micro_batch, True) in self._done)

    def _pass(self, stage: int, one: Pass) -> None:
        layers = self.cut[stage].chunks[one.chunk]
        part = self.part(stage, one)
        came_from = part + 1 if one.back else part - 1
        came = self._sent.get((came_from, one.micro_batch, one.back))
        needs = () if came is None else (came,)
        name = f"{'B' if one.back else 'F'}{one.micro_batch}" + (
            f".{one.chunk}" if self.passes.job.layout.vpp > 1 else ""
        )
        first, last = one.micro_batch == 0, one.micro_batch == self.count - 1
        done = self.around(stage, one, layers, name, needs, first=first, last=last)
        self._done[part, one.micro_batch, one.back] = done
        self._send(stage, one, part, done)

    def around(
        self,
        stage: int,
        one: Pass,
        layers: tuple[Layer, ...],
        name: str,
        needs: tuple[int, ...],
        *,
        first: bool,
        last: bool,
    ) -> int:
        """A pass with the communication of data parallelism that belongs to it."""
        layout, how = self.passes.job.layout, self.passes.framework
        if layout.sharding == "zero3" and layout.dp > 1:
            return self._gathered(stage, one, layers, name, needs)
        beside = how.overlaps_gradients and layout.dp * layout.cp > 1
        if one.back and last and beside:
            return self._reduced(stage, layers, name, needs)
        ahead = how.overlaps_parameters and layout.sharding in ("zero1", "zero2")
        if not one.back and first and ahead and layout.dp > 1:
            return self._awaited(stage, layers, name, needs)
        return self.compute(stage, name, self._cost(layers, back=one.back), needs)

    def _cost(self, layers: Sequence[Layer], *, back: bool) -> Cost:
        return self.passes.backward(layers) if back else self.passes.forward(layers)

    def compute(self, stage: int, name: str, cost: Cost, needs: tuple[int, ...] = ()) -> int:
        """A task of computing, tensor parallelism's collectives and waiting for the host."""
        cost = cost.slower(self.slow[stage])
        return self.plan.add(
            Task(name, "compute", stage, "compute", cost.seconds, needs, _COMPUTES, cost.parts)
        )

    def beside(
        self, stage: int, name: str, call: Call, needs: tuple[int, ...], stream: str = "dp"
    ) -> int:
        """A collective of data parallelism on its own stream."""
        self.reduced[stage] = self.plan.add(
            Task(name, "dp", stage, stream, call.seconds, needs, self._uses(call))
        )
        return self.reduced[stage]

    def _uses(self, call: Call) -> tuple[float, ...]:
        work = call.work or (0.0,) * len(Place)
        return (*work, min(call.channels / self.passes.pace.units, 1.0))

    def _send(self, stage: int, one: Pass, part: int, done: int) -> None:
        """What goes on to the next stage, or back to the one before."""
        job, layout = self.passes.job, self.passes.job.layout
        parts = layout.pp * layout.vpp
        if (one.back and part == 0) or (not one.back and part == parts - 1):
            return
        shape = self.passes.shape()
        # Each tensor-parallel rank sends its part, which is gathered on the other side.
        size = shape.items * job.model.hidden * shape.width / layout.tp
        boundary = (stage - 1) % layout.pp if one.back else stage
        call = self.passes.wires.send(boundary, size)
        stream = "pp" if self.passes.framework.overlaps_pipeline else "compute"
        name = f"send {'B' if one.back else 'F'}{one.micro_batch}"
        self._sent[part, one.micro_batch, one.back] = self.plan.add(
            Task(name, "pp", stage, stream, call.seconds, (done,), self._uses(call))
        )

    def gradients(self, parameters: float) -> Call:
        """The reduction of so many parameters' gradients over all that share them."""
        layout, wires = self.passes.job.layout, self.passes.wires
        size = parameters * self._reduce_bytes()
        if layout.sharding in (None, "none") or shard_ranks(layout) == 1:
            return wires.call("gradients", Operation.ALL_REDUCE, size)
        scatter = wires.call("shard", Operation.REDUCE_SCATTER, size)
        rest = wires.call("replicate", Operation.ALL_REDUCE, size / shard_ranks(layout))
        return _both(scatter, rest)

    def reduction(self, layers: Sequence[Layer]) -> Call:
        """The reduction of layers' gradients, compressed where that was asked for."""
        compression = self.passes.job.compression
        if compression.scheme != "powersgd":
            return self.gradients(self.parameters(layers))
        # Both thin matrices are summed, one after the other.
        size = 4.0 * powersgd_values(layers, compression.rank) / 2
        one = self.passes.wires.call("gradients", Operation.ALL_REDUCE, size)
        return _both(one, one)

    def compress(self, stage: int, layers: Sequence[Layer], done: int) -> int:
        """What PowerSGD computes before and after; the task itself where nothing is to be done."""
        compression = self.passes.job.compression
        if compression.scheme != "powersgd":
            return done
        kernels = powersgd_kernels(layers, compression.rank, 4)
        return self.compute(stage, "compress", Cost(self.passes.pace.seconds(kernels)), (done,))

    def weights(self, parameters: float) -> Call:
        """The gathering of so many parameters from those that share them out."""
        return self.passes.wires.call("shard", Operation.ALL_GATHER, 2.0 * parameters)

    def _reduce_bytes(self) -> int:
        job = self.passes.job
        if job.compression.width is not None:
            return job.compression.width
        return 4 if job.precision in ("fp32", "tf32") else self.passes.framework.reduce_bytes

    def parameters(self, layers: Sequence[Layer]) -> float:
        """Parameters of layers on one GPU, before data parallelism shards them."""
        layout = self.passes.job.layout
        return sharded(layers, layout.tp, pads_vocab=self.passes.habit.pads_vocab)

    def _reduced(
        self, stage: int, layers: tuple[Layer, ...], name: str, needs: tuple[int, ...]
    ) -> int:
        """The last backward, with gradients reduced behind it."""
        done = -1
        for piece in reversed(pieces_of(layers)):
            done = self.compute(stage, name, self.passes.backward(piece), needs)
            done = self.compress(stage, piece, done)
            call = self.reduction(piece)
            if call.seconds:
                self.beside(stage, "reduce gradients", call, (done,))
        return done

    def _awaited(
        self, stage: int, layers: tuple[Layer, ...], name: str, needs: tuple[int, ...]
    ) -> int:
        """The first forward, with parameters gathered ahead of it."""
        done = -1
        for piece in pieces_of(layers):
            call = self.weights(self.parameters(piece))
            got = (self.beside(stage, "gather weights", call, ()),) if call.seconds else ()
            done = self.compute(stage, name, self.passes.forward(piece), (*needs, *got))
        return done

    def _gathered(
        self,
        stage: int,
        one: Pass,
        layers: tuple[Layer, ...],
        name: str,
        needs: tuple[int, ...],
    ) -> int:
        """A pass under full sharding: each unit is gathered one ahead, and reduced behind."""
        units = units_of(layers)
        done: list[int] = []
        for k, unit in enumerate(reversed(units) if one.back else units):
            held = (done[k - 2],) if k > 1 else needs
            got = self.beside(stage, "gather weights", self.weights(self.parameters(unit)), held)
            cost = self._cost(unit, back=one.back)
            done.append(self.compute(stage, name, cost, (*needs, got)))
            if one.back:
                call = self.gradients(self.parameters(unit))
                self.beside(stage, "reduce gradients", call, (done[-1],), "reduce")
        return done[-1]


def pieces_of(layers: tuple[Layer, ...]) -> list[tuple[Layer, ...]]:
    """The parts of a pass that communication runs beside."""
    size = -(-len(layers) // _MOST_PIECES)
    return [layers[k : k + size] for k in range(0, len(layers), size)]


def units_of(layers: tuple[Layer, ...]) -> list[tuple[Layer, ...]]:
    """FSDP's units: a block each; embedding and head with the block beside them."""
    blocks = [k for k, layer in enumerate(layers) if layer.kind in ("block", "stage")]
    if not blocks:
        return [layers]
    cuts = [0, *blocks[1:], len(layers)]
    return [layers[a:b] for a, b in pairwise(cuts)]


def _both(one: Call, other: Call) -> Call:
    """Two calls, one after the other."""
    total = one.seconds + other.seconds
    if not total or other is NOTHING:
        return one
    work = tuple(
        (a * one.seconds + b * other.seconds) / total
        for a, b in zip(one.work or other.work, other.work or one.work, strict=True)
    )
    return Call(total, work, max(one.channels, other.channels))

"""passes: what a layer's forward and backward take on one GPU, by what they are spent on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wirespeed.collectives.operation import Operation
from wirespeed.models import Layer, Lookup, Matmul
from wirespeed.training import work
from wirespeed.training.communication import Caller
from wirespeed.training.compute import Host, Pace
from wirespeed.training.frameworks import Framework
from wirespeed.training.habits import Habit, state_bytes
from wirespeed.training.layout import Job
from wirespeed.training.memory import micro_batches
from wirespeed.training.shards import layer_shard
from wirespeed.training.work import Gemm, Shape


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a pass: kernels, tensor parallelism's collectives, and the host where it is late.

    `launch` is the host's own time; `host` what that leaves the GPU waiting.
    """

    compute: float = 0.0
    tp: float = 0.0
    launch: float = 0.0

    @property
    def host(self) -> float:
        """[s] that the GPU waits for launches."""
        return max(self.launch - self.compute - self.tp, 0.0)

    @property
    def seconds(self) -> float:
        """[s] of the whole pass."""
        return max(self.compute + self.tp, self.launch)

    @property
    def parts(self) -> dict[str, float]:
        """Seconds by kind of the breakdown; they sum to `seconds`."""
        return {"compute": self.compute, "tp": self.tp, "host": self.host}

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.compute + other.compute, self.tp + other.tp, self.launch + other.launch)

    def slower(self, factor: float) -> Cost:
        """The same on a GPU that computes so many times as long."""
        return Cost(self.compute * factor, self.tp, self.launch)


@dataclass(slots=True)
class Passes:
    """Costs of layers under a job; equal layers are worked out once."""

    job: Job
    habit: Habit
    framework: Framework
    pace: Pace
    host: Host
    wires: Caller
    _known: dict[tuple[int, bool], Cost] = field(default_factory=dict)
    _sums: dict[tuple[tuple[int, ...], bool], Cost] = field(default_factory=dict)
    _shape: Shape = field(init=False)

    def __post_init__(self) -> None:
        self._shape = shape_of(self.job, self.habit, self.framework)

    def forward(self, layers: Sequence[Layer]) -> Cost:
        """A micro-batch forward through layers."""
        return self._sum(layers, back=False)

    def backward(self, layers: Sequence[Layer]) -> Cost:
        """A micro-batch backward through layers, recomputed work included."""
        return self._sum(layers, back=True)

    def shape(self) -> Shape:
        """The shape of a micro-batch's kernels."""
        return self._shape

    def _sum(self, layers: Sequence[Layer], *, back: bool) -> Cost:
        key = (tuple(map(id, layers)), back)
        if key not in self._sums:
            self._sums[key] = sum((self._of(layer, back=back) for layer in layers), Cost())
        return self._sums[key]

    def _of(self, layer: Layer, *, back: bool) -> Cost:
        key = (id(layer), back)
        if key not in self._known:
            self._known[key] = self._backward(layer) if back else self._forward(layer)
        return self._known[key]

    def _forward(self, layer: Layer) -> Cost:
        compute = self.pace.seconds(work.forward(layer, self.shape()))
        return Cost(compute, self._tensor(layer, back=False), self._launch(layer))

    def _backward(self, layer: Layer) -> Cost:
        shape, recompute = self.shape(), self.job.layout.recompute
        compute = self.pace.seconds(work.backward(layer, shape)) + self._accumulate(layer)
        cost = Cost(compute, self._tensor(layer, back=True), self._launch(layer))
        if layer.kind != "block":
            return cost
        if recompute == "full":
            return cost + self._forward(layer)
        if recompute == "selective" and not shape.flash:
            return cost + Cost(self.pace.seconds(work.attention_again(layer, shape)))
        return cost

    def _accumulate(self, layer: Layer) -> float:
        """[s] to add a micro-batch's gradients to those before: read both, write the sum."""
        if micro_batches(self.job) < 2:
            return 0.0
        held = self.job.layout
        weights = layer_shard(layer, held.tp, pads_vocab=self.habit.pads_vocab)
        kept = min(state_bytes(self.job.framework, self.job.precision).gradients, 4)
        return weights * (self._shape.width + 2 * kept) / self.pace.memory

    def _launch(self, layer: Layer) -> float:
        """[s] of the host: blocks alike, and half of a micro-batch's rest at each end."""
        match layer.kind:
            case "block" | "stage":
                return self.host.block
            case "embedding" | "head":
                return self.host.micro_batch / 4

    def _tensor(self, layer: Layer, *, back: bool) -> float:
        """[s] of tensor parallelism's collectives, which the next product waits for."""
        layout = self.job.layout
        if layout.tp == 1:
            return 0.0
        shape = self.shape()
        size = shape.items * self.job.model.hidden * shape.width
        counted = _columns(layer) if back else _rows(layer)
        if not layout.sequence_parallel:
            return counted * self.wires.call("tp", Operation.ALL_REDUCE, size).seconds
        gather = self.wires.call("tp", Operation.ALL_GATHER, size).seconds
        scatter = self.wires.call("tp", Operation.REDUCE_SCATTER, size).seconds
        whole = counted * (gather + scatter)
        return self._exposed(whole, layer, back=back) if self.job.tp_overlap else whole

    def _exposed(self, whole: float, layer: Layer, *, back: bool) -> float:
        """[s] of collectives that are cut in parts and run beside the products that use them.

        Of a product and its collective the longer decides, and one part of the other that nothing
        runs beside: the first that arrives, or the last that leaves.
        """
        kernels = (work.backward if back else work.forward)(layer, self.shape())
        products = self.pace.seconds(k for k in kernels if isinstance(k, Gemm) and k.weights)
        parts = self.job.layout.tp
        return max(whole - products, 0.0) + min(whole, products) / parts


def shape_of(job: Job, habit: Habit, framework: Framework) -> Shape:
    """The shape of a job's micro-batch on one GPU."""
    layout = job.layout
    length = job.seq_len if job.model.item == "token" else 1
    micro = layout.micro_batch or 1
    return Shape(
        items=micro * length / layout.cp,
        sequences=micro,
        seq_len=length,
        tp=layout.tp,
        sequence=layout.tp if layout.sequence_parallel else 1,
        cp=layout.cp,
        width=4 if job.precision in ("fp32", "tf32") else 2,
        flash=habit.flash,
        fused=framework.fused,
        pads_vocab=habit.pads_vocab,
    )


def _rows(layer: Layer) -> int:
    """Sums over tensor-parallel ranks forward: row-split products, a split table."""
    return sum(
        (isinstance(o, Matmul) and o.split == "row") or (isinstance(o, Lookup) and o.split)
        for o in layer.operators
    )


def _columns(layer: Layer) -> int:
    """Sums backward: inputs of column-split products."""
    return sum(isinstance(o, Matmul) and o.split == "column" for o in layer.operators)

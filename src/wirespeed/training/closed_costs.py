"""closed_costs: costs of layers and collectives as arrays over layouts.

What many layouts have in common is worked out once: kernels for each (tp, sequence parallelism, cp,
micro-batch, recompute, whether there are several micro-batches), collectives for each shape of the
groups of ranks, parameters for each tp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from wirespeed.collectives.operation import Operation
from wirespeed.models import Layer, distinct
from wirespeed.topology.cluster import Cluster
from wirespeed.training.closed_calls import Calls, CallTables
from wirespeed.training.communication import Call, Shared, Wires
from wirespeed.training.compute import PaceValue, host_of
from wirespeed.training.forecast import pace_on
from wirespeed.training.frameworks import framework_of
from wirespeed.training.habits import habit_of
from wirespeed.training.layout import Job, Layout
from wirespeed.training.memory_arrays import RECOMPUTES, LayoutArrays
from wirespeed.training.passes import Cost, Passes
from wirespeed.training.ranks import Kind
from wirespeed.training.shards import layer_shard

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class _Counting:
    """Takes a second for each collective: what passes then take for them is their number."""

    def call(self, kind: Kind, operation: Operation, size: float, stage: int = 0) -> Call:
        return Call(1.0)

    def send(self, stage: int, size: float) -> Call:
        return Call(1.0)


@dataclass(slots=True)
class Costs:
    """Costs of a job's layers and collectives under layouts; what was worked out once is kept."""

    job: Job
    cluster: Cluster
    pace: Mapping[str, PaceValue] | None = None
    _kernels: dict[tuple[int, ...], list[tuple[Cost, Cost]]] = field(default_factory=dict)
    _parameters: dict[int, list[float]] = field(default_factory=dict)
    _wires: dict[tuple[int, ...], Wires] = field(default_factory=dict)
    _shared: Shared = field(default_factory=dict)
    _numbers: dict[tuple[tuple[int, ...], Kind, Operation], int] = field(default_factory=dict)
    _far: dict[tuple[int, ...], list[bool]] = field(default_factory=dict)
    tables: CallTables = field(default_factory=CallTables)
    kinds: list[Layer] = field(init=False)
    """The layers that differ, in the order of `LayerArrays`."""

    def __post_init__(self) -> None:
        self.kinds = [layer for layer, _ in distinct(self.job.model.layers)]

    def of(self, layouts: LayoutArrays) -> LayerArrays:
        """The costs under these layouts."""
        sequence = layouts.sequence_parallel.astype(np.int64)
        # With a second micro-batch gradients are added up.
        several = self.job.global_batch // (layouts.dp * layouts.micro_batch) > 1
        columns = (layouts.tp, sequence, layouts.cp, layouts.micro_batch, layouts.recompute)
        keys, inverse = _unique(*columns, several.astype(np.int64))
        table = np.array([[_row(two) for two in self._kernel(key)] for key in keys])
        costs = table[inverse]  # [layouts, layers, back, of compute, calls, launch]
        degrees, at = _unique(layouts.tp)
        held = np.array([self._held(tp) for (tp,) in degrees])[at]
        shapes, network = _unique(
            layouts.dp,
            layouts.tp,
            layouts.pp,
            layouts.cp,
            np.where(layouts.sharding > 0, layouts.shard_group, 0),
        )
        return LayerArrays(self, layouts, costs, held, shapes, network)

    def wires(self, shape: tuple[int, ...]) -> Wires:
        """The groups of a shape: dp, tp, pp, cp, and the shard group or 0."""
        if shape not in self._wires:
            dp, tp, pp, cp, shard = shape
            layout = Layout(
                dp=dp,
                tp=tp,
                pp=pp,
                cp=cp,
                sharding="zero1" if shard else "none",
                shard_group=shard or None,
                rank_order=self.job.layout.rank_order,
            )
            self._wires[shape] = Wires(self.cluster, layout, self._shared)
        return self._wires[shape]

    def number(self, shape: tuple[int, ...], kind: Kind, operation: Operation) -> int:
        """The number in `tables` of a collective in a shape's groups of a kind."""
        key = (shape, kind, operation)
        if key not in self._numbers:
            self._numbers[key] = self.tables.number(self.wires(shape).laid(kind, operation))
        return self._numbers[key]

    def far(self, shape: tuple[int, ...]) -> list[bool]:
        """For each stage of a shape, whether the next is on another node."""
        if shape not in self._far:
            wires = self.wires(shape)
            self._far[shape] = [wires.far(stage) for stage in range(wires.layout.pp)]
        return self._far[shape]

    def number_to_next(self, shape: tuple[int, ...], away: bool) -> int:
        """The number in `tables` of a message to the next stage; 0 where no boundary is such."""
        far = self.far(shape)
        if away not in far:
            return 0
        return self.tables.number(self.wires(shape).laid_to_next(far.index(away)))

    def _kernel(self, key: tuple[int, ...]) -> list[tuple[Cost, Cost]]:
        """Forward and backward of each kind of layer."""
        if key not in self._kernels:
            tp, sequence, cp, micro, recompute, several = key
            layout = replace(
                self.job.layout,
                dp=1,
                tp=tp,
                pp=1,
                vpp=1,
                cp=cp,
                micro_batch=micro,
                recompute=RECOMPUTES[recompute],
                sequence_parallel=bool(sequence),
            )
            job = replace(self.job, layout=layout, global_batch=micro * (1 + several))
            framework = framework_of(job.framework)
            passes = Passes(
                job,
                habit_of(job.framework),
                framework,
                pace_on(self.cluster, job, self.pace),
                host_of(framework.host, self.pace),
                _Counting(),
            )
            self._kernels[key] = [(passes.forward([x]), passes.backward([x])) for x in self.kinds]
        return self._kernels[key]

    def _held(self, tp: int) -> list[float]:
        if tp not in self._parameters:
            pads = habit_of(self.job.framework).pads_vocab
            self._parameters[tp] = [layer_shard(x, tp, pads_vocab=pads) for x in self.kinds]
        return self._parameters[tp]


@dataclass(slots=True)
class LayerArrays:
    """Costs of layers under some layouts.

    Attributes:
        costs: [layouts, layers, back, of compute, calls and launch].
        held: [layouts, layers] parameters.
        network: [layouts] each one's place in `shapes`.
    """

    source: Costs
    layouts: LayoutArrays
    costs: Floats
    held: Floats
    shapes: list[tuple[int, ...]]
    network: Ints
    tensor: Floats = field(init=False)
    """[layouts] s of one of tensor parallelism's collectives."""

    def __post_init__(self) -> None:
        layouts, job = self.layouts, self.source.job
        length = job.seq_len if job.model.item == "token" else 1
        width = 4 if job.precision in ("fp32", "tf32") else 2
        items = layouts.micro_batch * length / layouts.cp
        size = items * job.model.hidden * width
        split = layouts.sequence_parallel
        gather = self.calls("tp", Operation.ALL_GATHER, np.where(split, size, 0.0)).seconds
        scatter = self.calls("tp", Operation.REDUCE_SCATTER, np.where(split, size, 0.0)).seconds
        whole = self.calls("tp", Operation.ALL_REDUCE, np.where(split, 0.0, size)).seconds
        # A gathering and a scattering are two calls.
        self.tensor = np.where(split, (gather + scatter) / 2, whole)

    def seconds(self, layers: Sequence[Layer], *, back: bool) -> Floats:
        """[layouts] s of a pass through layers that are launched as one."""
        total = np.tensordot(self._counts(layers), self.costs[:, :, int(back)], axes=(0, 1))
        return np.asarray(np.maximum(total[:, 0] + total[:, 1] * self.tensor, total[:, 2]))

    def parameters(self, layers: Sequence[Layer]) -> Floats:
        """[layouts] parameters that a GPU holds of layers before they are sharded over data."""
        return np.asarray(self.held @ self._counts(layers))

    def _counts(self, layers: Sequence[Layer]) -> Floats:
        places = {id(layer): k for k, layer in enumerate(self.source.kinds)}
        return np.bincount([places[id(x)] for x in layers], minlength=len(places)).astype(float)

    def calls(self, kind: Kind, operation: Operation, sizes: Floats) -> Calls:
        """A collective of `sizes` [layouts] bytes in each layout's groups of a kind."""
        needed = np.zeros(len(self.shapes), np.bool_)
        needed[self.network[sizes > 0]] = True
        # Nothing is laid out where nothing is sent.
        numbers = [
            self.source.number(shape, kind, operation) if some else 0
            for shape, some in zip(self.shapes, needed.tolist(), strict=True)
        ]
        return self.source.tables.calls(np.array(numbers)[self.network], sizes)

    def sends(self, sizes: Floats) -> tuple[Calls, Calls, npt.NDArray[np.bool_]]:
        """A message of `sizes` [layouts] bytes to the next stage on the same node, and on another.

        Beside them which boundaries [layouts, stages] are the latter.
        """
        far = np.array([self.source.far(shape) for shape in self.shapes])[self.network]
        near, away = (
            np.array([self.source.number_to_next(shape, kind) for shape in self.shapes])
            for kind in (False, True)
        )
        tables = self.source.tables
        return tables.calls(near[self.network], sizes), tables.calls(away[self.network], sizes), far


def _row(two: tuple[Cost, Cost]) -> list[list[float]]:
    return [[cost.compute, cost.tp, cost.launch] for cost in two]


def _unique(*columns: Ints) -> tuple[list[tuple[int, ...]], Ints]:
    """The rows that differ, and which one each is."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        key = key * (int(column.max(initial=0)) + 1) + column
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rows = np.stack([column[first] for column in columns], axis=1)
    return [tuple(row) for row in rows.tolist()], inverse

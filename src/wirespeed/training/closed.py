"""Closed: the time of many layouts at once, by formulas where the engine runs tasks.

The engine is its oracle. Kernels, collectives, stages and the pieces of passes are the engine's
own; what takes the place of events is in `closed_pipeline` and `closed_beside`. It knows one node
as good as the next: what a slow GPU or a slow link does comes from the engine alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from dataclasses import replace as replace_calls
from itertools import groupby

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from wirespeed.collectives.operation import Operation
from wirespeed.errors import UsageError
from wirespeed.models import Layer
from wirespeed.topology.change import ChangeKind
from wirespeed.topology.cluster import Cluster
from wirespeed.training.build import pieces_of, units_of
from wirespeed.training.closed_beside import Piece, awaited, gathered, reduced
from wirespeed.training.closed_calls import Calls
from wirespeed.training.closed_costs import Costs, LayerArrays
from wirespeed.training.closed_pipeline import Pipe, begins, ends, pipeline_seconds
from wirespeed.training.compute import PaceValue, host_of
from wirespeed.training.forecast import pace_on
from wirespeed.training.frameworks import Framework, framework_of
from wirespeed.training.habits import habit_of
from wirespeed.training.layout import Job
from wirespeed.training.memory_arrays import SHARDINGS, LayoutArrays
from wirespeed.training.shards import table_shard
from wirespeed.training.stages import Stage, stages
from wirespeed.training.update import optimizer_bytes
from wirespeed.training.upload import upload_seconds

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SETTLED = 4
"""Equal units in a row until one takes as long as the one before."""
_ZERO3 = SHARDINGS.index("zero3")


@dataclass(slots=True)
class Closed:
    """Times of layouts of one job on one cluster; all but layout and micro-batches is the job's.

    Raises UsageError for a cluster with a single part that is slow or down.
    """

    job: Job
    cluster: Cluster
    pace: Mapping[str, PaceValue] | None = None
    _costs: Costs = field(init=False)
    _upload: float = field(init=False)
    """[s] of one item on its way from host memory."""

    def __post_init__(self) -> None:
        for change in self.cluster.changes:
            if change.kind in (ChangeKind.COMPUTE, ChangeKind.RESOURCE):
                raise UsageError(
                    f"formulas do not see {change}",
                    where="--change",
                    why="they take all parts of a cluster for alike",
                    remedy="forecast the layout by itself: that runs task by task",
                )
        if self.job.tp_overlap or self.job.compression.scheme != "none":
            raise UsageError(
                "formulas do not see overlapped tensor parallelism or compressed gradients",
                where="job",
                why="they sum collectives as they are",
                remedy="forecast the layout by itself: that runs task by task",
            )
        self._costs = Costs(self.job, self.cluster, self.pace)
        single = replace(self.job.layout, micro_batch=1)
        self._upload = upload_seconds(replace(self.job, layout=single), self.cluster)

    def seconds(self, layouts: LayoutArrays) -> Floats:
        """[layouts] s of a step. Their fields are all set, see `arrays_of`."""
        found = np.empty(len(layouts.tp))
        for rows in _alike(layouts):
            some = taken(layouts, rows)
            one = replace(
                self.job.layout,
                pp=int(some.pp[0]),
                vpp=int(some.vpp[0]),
                stage_layers=None,
            )
            cut = stages(self.job.model, one, self.job.framework)
            group = _Group(self, self._costs.of(some), cut)
            loads = some.micro_batch * self._upload
            found[rows] = np.maximum(group.seconds(), group.count * loads)
        return found


def taken(layouts: LayoutArrays, rows: Ints) -> LayoutArrays:
    """Some of the layouts."""
    return LayoutArrays(**{f.name: getattr(layouts, f.name)[rows] for f in fields(layouts)})


def _alike(layouts: LayoutArrays) -> Iterator[Ints]:
    """Rows of layouts that are cut alike and gather weights alike."""
    whole = (layouts.sharding == _ZERO3) & (layouts.dp > 1)
    key = (layouts.pp * (int(layouts.vpp.max(initial=1)) + 1) + layouts.vpp) * 2 + whole
    order = key.argsort(kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(key[order])) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Unit:
    """What is gathered and reduced as one: seconds of its passes [layouts], its two calls."""

    forward: Floats
    backward: Floats
    gather: Calls
    reduce: Calls


class _Group:
    """Layouts that are cut alike."""

    def __init__(self, closed: Closed, layers: LayerArrays, cut: Sequence[Stage]) -> None:
        job = closed.job
        self.job, self.layers, self.cut = job, layers, cut
        self.layouts = layers.layouts
        self.how: Framework = framework_of(job.framework)
        self.pace = pace_on(closed.cluster, job, closed.pace)
        self.host = host_of(self.how.host, closed.pace)
        self.pp, self.vpp = len(cut), len(cut[0].chunks)
        self.n = len(self.layouts.tp)
        share = job.global_batch // (self.layouts.dp * self.layouts.micro_batch)
        self.count = np.maximum(share, 1)
        self.whole = bool(self.layouts.sharding[0] == _ZERO3 and self.layouts.dp[0] > 1)
        self._passes: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
        self._units: dict[tuple[int, ...], _Unit] = {}
        self._left: dict[tuple[int, ...], Floats] = {}
        self._awaited: dict[tuple[int, ...], list[Piece]] = {}
        self._reduced: dict[tuple[int, ...], list[Piece]] = {}

    def seconds(self) -> Floats:
        """[layouts] s of the step."""
        send, taken = self._sends()
        forward = np.empty((self.n, self.vpp, self.pp))
        backward = np.empty((self.n, self.vpp, self.pp))
        for s, stage in enumerate(self.cut):
            for c, chunk in enumerate(stage.chunks):
                ahead, behind = self._pass(chunk)
                last = s == self.pp - 1 and c == self.vpp - 1
                first = s == 0 and c == 0
                forward[:, c, s] = ahead + (0.0 if last else taken[:, s])
                backward[:, c, s] = behind + (0.0 if first else taken[:, s - 1])
        arrival = send + self._first_gathers()
        waits = not self.how.overlaps_pipeline
        pipe = Pipe(forward, backward, send, arrival, self.count, waits)
        whole = pipeline_seconds(pipe, gpipe=self.job.layout.schedule == "gpipe")
        return self._finished(pipe, whole)

    def _sends(self) -> tuple[Floats, Floats]:
        """[layouts, stages] s of a transfer to the next, and what it takes of computing."""
        send, taken = np.zeros((self.n, self.pp)), np.zeros((self.n, self.pp))
        if self.pp == 1:
            return send, taken
        job, layouts = self.job, self.layouts
        length = job.seq_len if job.model.item == "token" else 1
        width = 4 if job.precision in ("fp32", "tf32") else 2
        size = layouts.micro_batch * length / layouts.cp * job.model.hidden * width / layouts.tp
        near, away, far = self.layers.sends(size)
        send = np.where(far, away.seconds[:, None], near.seconds[:, None])
        if self.how.overlaps_pipeline:
            lost = [calls.seconds * self._share(calls) for calls in (near, away)]
            taken = np.where(far, lost[1][:, None], lost[0][:, None])
        return send, taken

    def _first_gathers(self) -> Floats:
        """[layouts, stages] s that the stage after each gathers for before a pass can begin."""
        if not self.whole or self.pp == 1:
            return np.zeros((self.n, self.pp))
        firsts = [units_of(stage.chunks[0])[0] for stage in (*self.cut[1:], self.cut[0])]
        held = [self._weights(self.layers.parameters(unit)).seconds for unit in firsts]
        return np.stack(held, axis=1)

    def _share(self, calls: Calls) -> Floats:
        """[layouts] share of the multiprocessors that a collective takes."""
        return np.minimum(calls.channels / self.pace.units, 1.0)

    def _pass(self, layers: tuple[Layer, ...]) -> tuple[Floats, Floats]:
        """[layouts] s of a micro-batch forward and backward through a chunk."""
        key = tuple(map(id, layers))
        if key not in self._passes:
            self._passes[key] = self._gathered(layers) if self.whole else self._plain(layers)
        return self._passes[key]

    def _plain(self, layers: tuple[Layer, ...]) -> tuple[Floats, Floats]:
        return self.layers.seconds(layers, back=False), self.layers.seconds(layers, back=True)

    def _gathered(self, layers: tuple[Layer, ...]) -> tuple[Floats, Floats]:
        """The same under full sharding: beside each unit the next is gathered, others reduced."""
        units = [self._unit(unit) for unit in units_of(layers)]
        behind = np.zeros(self.n)
        found = []
        # A second micro-batch is as all that follow: it begins beside what the first has left.
        for _ in range(2):
            forward, behind = self._chain(units, behind, back=False)
            backward, behind = self._chain(units[::-1], behind, back=True)
            found.append((forward, backward, behind))
        more = self.count > 1
        first, second = found
        self._left[tuple(map(id, layers))] = np.where(more, second[2], first[2])
        return np.where(more, second[0], first[0]), np.where(more, second[1], first[1])

    def _unit(self, layers: tuple[Layer, ...]) -> _Unit:
        key = tuple(map(id, layers))
        if key not in self._units:
            parameters = self.layers.parameters(layers)
            self._units[key] = _Unit(
                self.layers.seconds(layers, back=False),
                self.layers.seconds(layers, back=True),
                self._weights(parameters),
                self._gradients(parameters),
            )
        return self._units[key]

    def _chain(
        self, units: Sequence[_Unit], behind: Floats, *, back: bool
    ) -> tuple[Floats, Floats]:
        """[layouts] s of a pass unit by unit, and what is then left to reduce."""
        total = np.zeros(self.n)
        # In a pipeline the next pass has to be there before its first unit is gathered.
        follows = units[-1] if self.pp == 1 else None
        pairs = list(zip(units, [*units[1:], follows], strict=True))
        last = units[0]
        for _, same in groupby(pairs, key=lambda pair: tuple(map(id, pair))):
            run = list(same)
            (unit, after), number = run[0], len(run)
            compute = unit.backward if back else unit.forward
            gather = after.gather if after else _nothing(unit.gather)
            # In a forward the last micro-batch's first unit is what may still be reduced.
            reduce = unit.reduce if back else last.reduce
            new = unit.reduce.seconds if back else np.zeros(self.n)
            took, more = np.zeros(self.n), np.zeros(self.n)
            for _ in range(min(number, _SETTLED)):
                took, left = self._beside(compute, gather, reduce, behind)
                total, more, behind = total + took, left + new - behind, left + new
            if (rest := number - _SETTLED) > 0:
                # They go on as the last one, until nothing is left of what was behind before.
                final, _ = self._beside(compute, gather, reduce, new)
                with np.errstate(divide="ignore", invalid="ignore"):
                    drained = np.where(more < 0, (new - behind) / more, rest)
                going = np.clip(drained, 0, rest)
                total = total + going * took + (rest - going) * final
                behind = np.maximum(behind + going * more, new)
        return total, behind

    def _beside(
        self, compute: Floats, gather: Calls, reduce: Calls, behind: Floats
    ) -> tuple[Floats, Floats]:
        shares = self._share(gather), self._share(reduce)
        return gathered(compute, gather, reduce, behind, shares)

    def _gradients(self, parameters: Floats) -> Calls:
        """As `Builder.gradients`."""
        width = 4 if self.job.precision in ("fp32", "tf32") else self.how.reduce_bytes
        size, group = parameters * width, self.layouts.shard_group
        sharded = (self.layouts.sharding > 0) & (group > 1)
        buckets = np.maximum(np.ceil(size / self.how.bucket_bytes), 1.0)
        whole = np.where(sharded, 0.0, size)
        plain = self.layers.calls("gradients", Operation.ALL_REDUCE, whole / buckets)
        plain = replace_calls(plain, seconds=plain.seconds * buckets)
        scatter = self.layers.calls("shard", Operation.REDUCE_SCATTER, np.where(sharded, size, 0.0))
        copies = np.where(sharded, size / group, 0.0)
        rest = self.layers.calls("replicate", Operation.ALL_REDUCE, copies)
        return plain.then(scatter).then(rest)

    def _weights(self, parameters: Floats) -> Calls:
        """As `Builder.weights`."""
        sharded = self.layouts.sharding > 0
        size = np.where(sharded, 2.0 * parameters, 0.0)
        return self.layers.calls("shard", Operation.ALL_GATHER, size)

    def _finished(self, pipe: Pipe, whole: Floats) -> Floats:
        """[layouts] s of the step, with the ends of data parallelism and the optimizer."""
        layouts = self.layouts
        late = self._late(pipe)
        many = layouts.dp * layouts.cp > 1
        over = np.zeros(self.n)
        done = ends(pipe, whole + late)
        before, drain = np.zeros(self.n), np.zeros(self.n)
        for s in reversed(range(self.pp)):
            held, last, left = self._reduction(pipe, s, many)
            # Stages are held up at the same time, but the last micro-batch by one after the other.
            before, drain = np.maximum(before, held), drain + last
            over = np.maximum(over, done[:, s] + before + drain + self._tail(s, left, many))
        return over

    def _late(self, pipe: Pipe) -> Floats:
        """[layouts] s by which the first forward waits for weights."""
        if self.whole:
            first = units_of(self.cut[0].chunks[0])[0]
            return self._weights(self.layers.parameters(first)).seconds
        ahead = self.how.overlaps_parameters & (self.layouts.dp > 1)
        ahead = ahead & ((self.layouts.sharding == 1) | (self.layouts.sharding == 2))
        if not ahead.any():
            return np.zeros(self.n)
        arrives, around = begins(pipe), pipe.forward.sum(axis=2) + pipe.send.sum(axis=1)[:, None]
        most = np.zeros(self.n)
        for s, stage in enumerate(self.cut):
            gathered, late = np.zeros(self.n), most
            for c, layers in enumerate(stage.chunks):
                at = arrives[:, s] + around[:, :c].sum(axis=1)
                end, gathered = awaited(self._gathers(layers), at + late, gathered)
                late = np.maximum(late, end - at - pipe.forward[:, c, s])
            most = np.maximum(most, late)
        return np.where(ahead, most, 0.0)

    def _gathers(self, layers: tuple[Layer, ...]) -> list[Piece]:
        """Pieces of a forward with the gathering of their weights."""
        key = tuple(map(id, layers))
        if key not in self._awaited:
            self._awaited[key] = self._pieces(layers, back=False)
        return self._awaited[key]

    def _pieces(self, layers: tuple[Layer, ...], *, back: bool) -> list[Piece]:
        found = []
        pieces = pieces_of(layers)
        for piece in reversed(pieces) if back else pieces:
            parameters = self.layers.parameters(piece)
            calls = self._gradients(parameters) if back else self._weights(parameters)
            compute = self.layers.seconds(piece, back=back)
            found.append(Piece(compute, calls.seconds, self._share(calls)))
        return found

    def _reduction(
        self, pipe: Pipe, s: int, many: npt.NDArray[np.bool_]
    ) -> tuple[Floats, Floats, Floats]:
        """[layouts] s that reductions cost a stage: before its last backward, in it, after it."""
        none = np.zeros(self.n)
        if self.whole:
            return none, none, self._left[tuple(map(id, self.cut[s].chunks[0]))]
        if not self.how.overlaps_gradients or not many.any():
            return none, none, none
        held, last, left = none, none, none
        for c in reversed(range(self.vpp)):
            chunk = self.cut[s].chunks[c]
            pieces = self._reductions(chunk)
            took, left = reduced(pieces, left)
            last = took - self._pass(chunk)[1]
            if c:
                # Other micro-batches of the group pass before the next chunk's last one.
                meanwhile = (np.minimum(self.count, self.pp) - 1) * pipe.backward[:, c - 1, s]
                held = held + last + pieces[-1].share * np.minimum(left, meanwhile)
                left = np.maximum(left - meanwhile, 0.0)
        return np.where(many, held, 0.0), np.where(many, last, 0.0), np.where(many, left, 0.0)

    def _reductions(self, layers: tuple[Layer, ...]) -> list[Piece]:
        """Pieces of a backward with the reduction of their gradients."""
        key = tuple(map(id, layers))
        if key not in self._reduced:
            self._reduced[key] = self._pieces(layers, back=True)
        return self._reduced[key]

    def _tail(self, s: int, left: Floats, many: npt.NDArray[np.bool_]) -> Floats:
        """[layouts] s from a stage's last backward to its end; as `update`."""
        layers = self.cut[s].layers
        own = self.layers.parameters(layers)
        alone = np.zeros(self.n)
        if self.job.model.tied and self.pp > 1 and s in (0, self.pp - 1):
            alone = alone + self._tied()
        if not self.whole and not self.how.overlaps_gradients:
            alone = alone + np.where(many, self._gradients(own).seconds, 0.0)
        shared = np.where(self.layouts.sharding > 0, self.layouts.shard_group, 1)
        moved = own / shared * optimizer_bytes(self.job)
        after = np.maximum(moved / self.pace.memory, self.host.step)
        if not self.how.overlaps_parameters:
            some = (self.layouts.sharding == 1) | (self.layouts.sharding == 2)
            after = after + np.where(some & (self.layouts.dp > 1), self._weights(own).seconds, 0.0)
        return np.maximum(alone, left) + after

    def _tied(self) -> Floats:
        pads, layers = habit_of(self.job.framework).pads_vocab, self.job.model.layers
        degrees, at = np.unique(self.layouts.tp, return_inverse=True)
        held = np.array([table_shard(layers, tp, pads_vocab=pads) for tp in degrees.tolist()])[at]
        return self.layers.calls("ends", Operation.ALL_REDUCE, 2.0 * held).seconds


def _nothing(calls: Calls) -> Calls:
    return Calls(*(np.zeros_like(array) for array in (calls.seconds, calls.work, calls.channels)))

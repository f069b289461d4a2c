"""Fitting: published measurements as arrays, so that a trial of parameters is a few operations.

Every measured row becomes one line: what the chosen schedule does to resources, and the time
measured. The arithmetic is that of `collectives.laid.price` and `Candidate.time`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import Parameters
from wirespeed.collectives.candidates import options_of
from wirespeed.collectives.costs import CostClass, Medium, Term, cost_class, costs_of
from wirespeed.collectives.laid import USUAL_HEADS, Laid
from wirespeed.collectives.operation import COPIES, bus_factor
from wirespeed.collectives.protocol import Protocol
from wirespeed.comparison.classes import Platform, generation_name, platform_of, size_class
from wirespeed.comparison.measured import forecast_size
from wirespeed.comparison.setup import Workshop, setting_of, setup_of
from wirespeed.errors import WirespeedError
from wirespeed.readers.records import Record
from wirespeed.units import GB

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

_PROTOCOLS = tuple(Protocol)
_NOT_OURS = ("unknown-library", "unknown-algorithm")
"""What ran there is not what is forecast: nothing is to be learnt from such rows."""
_WORST_ERROR = 1.2
"""Beyond this logarithm of the ratio an error counts no more: that is something else."""


@dataclass(frozen=True, slots=True)
class FitRow:
    """One measured row. `time` [s] of `size` [B] by `laid` under a protocol."""

    laid: Laid
    protocol: int
    kind: int
    size: float
    time: float
    platform: str
    size_class: str
    source: str
    fold: str
    group: tuple[str, str]
    operation: str
    generation: str


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """All rows as arrays; `kinds` are the classes of clusters among them."""

    rows: tuple[FitRow, ...]
    kinds: tuple[CostClass, ...]
    busy: Floats
    """[rows, resources, terms] seconds for each byte."""
    links: Floats
    steps: Floats
    messages: Floats
    switched: Floats
    heads: Floats
    local: Floats
    direct: Floats
    protocol: Ids
    kind: Ids
    size: Floats
    measured: Floats
    weight: Floats

    def times(self, parameters: Parameters) -> Floats:
        """[rows] forecast times [s] under these parameters."""
        costs = [costs_of(kind, parameters) for kind in self.kinds]
        kind, protocol = self.kind, self.protocol
        factor = np.array([[c.factor[p] for p in _PROTOCOLS] for c in costs])[kind, protocol]
        straight = np.array([c.direct for c in costs])[kind]
        factor[:, Term.NVLINK] *= np.where(self.direct > 0, straight, 1.0)
        step = np.array([[c.step[p] for p in _PROTOCOLS] for c in costs])[kind, protocol]
        call = np.array([[c.call[p] for p in _PROTOCOLS] for c in costs])[kind, protocol]
        switch = np.array([[c.nvls_step, c.sharp_step] for c in costs])[kind]
        each = np.array([c.fill for c in costs])[kind]
        nvls_fill = np.array([c.nvls_fill for c in costs])[kind] * self.heads / USUAL_HEADS
        local = np.array([c.local for c in costs])[kind]
        moving = np.einsum("rkt,rt->rk", self.busy, factor).max(axis=1) * self.size
        call += np.array([c.direct_call for c in costs])[kind] * self.direct
        message = np.array([c.message for c in costs])[kind]
        call += (self.messages * message).sum(1)
        waiting = call + self.links + (self.steps * step).sum(1) + (self.switched * switch).sum(1)
        simple = _PROTOCOLS[-1] is Protocol.SIMPLE and protocol == len(_PROTOCOLS) - 1
        fill = np.where(simple, ((self.steps + self.messages) * each).sum(1) + nvls_fill, 0.0)
        times: Floats = waiting + moving + self.local * local * self.size
        exponent = costs[0].exponent
        times += 2 * fill ** (1 - exponent) * moving**exponent
        return times

    def loss(self, parameters: Parameters) -> float:
        """The weighted sum of the logarithm of the ratio, bounded for single outliers."""
        off = np.abs(np.log(self.times(parameters) / self.measured))
        bounded = np.minimum(off, _WORST_ERROR)
        return float((self.weight * (bounded + 0.02 * bounded**2)).sum())

    def part(self, kept: npt.NDArray[np.bool_]) -> Sample:
        """Only some rows, as they were weighed among all."""
        arrays = {name: getattr(self, name)[kept] for name in _COLUMNS}
        rows = tuple(row for row, keep in zip(self.rows, kept, strict=True) if keep)
        return Sample(rows=rows, kinds=self.kinds, **arrays)


_COLUMNS = tuple(f.name for f in fields(Sample) if f.name not in ("rows", "kinds"))


def collect(records: Sequence[Record]) -> Sample:
    """The rows of healthy records that can be fitted on; the fastest of repeated network runs."""
    workshop, kinds, rows = Workshop(), dict[CostClass, int](), list[FitRow]()
    for record in records:
        if record.health == "healthy":
            try:
                rows += _rows_of(record, workshop, kinds)
            except WirespeedError:
                continue
    return sample(_best_runs(rows), tuple(kinds))


def _rows_of(record: Record, workshop: Workshop, kinds: dict[CostClass, int]) -> list[FitRow]:
    setup = setup_of(record.inputs)
    operation = setup.collective.operation
    if operation in COPIES or any(note.code in _NOT_OURS for note in setup.notes):
        return []
    cluster = workshop.cluster(setup)
    group = workshop.group(setup, cluster)
    kind = kinds.setdefault(cost_class(cluster, setup.collective.launch), len(kinds))
    platform = platform_of(cluster.machine, beyond=setup.beyond)
    options = options_of(setup.collective, cluster, group)
    setting = str(setting_of(record.inputs))
    found = []
    both = [(row, False) for row in record.rows] + [(row, True) for row in record.rows_inplace]
    for row, second in both:
        size = forecast_size(row, operation)
        time = row.time_us * 1e-6 if row.time_us and row.size else None
        if time is None and row.busbw and row.size != 0:
            time = size * bus_factor(operation, len(group)) / (row.busbw * GB)
        if not time or row.size == 0:
            continue
        choice = int(options.choice(np.array([float(size)]))[0])
        protocol = options.candidates[choice].protocol
        found.append(
            FitRow(
                laid=options.laid[choice],
                protocol=[p.value for p in _PROTOCOLS].index(protocol),
                kind=kind,
                size=float(size),
                time=time,
                platform=platform.value,
                size_class=size_class(size).value,
                source=record.source,
                fold=record.fold or record.source,
                group=(setting, f"{size} {second}"),
                operation=operation.value,
                generation=generation_name(cluster.machine.gpu),
            )
        )
    return found


def _best_runs(rows: Sequence[FitRow]) -> list[FitRow]:
    """Beyond one NVLink domain only the fastest of equal runs: the others met other users."""
    best: dict[tuple[str, tuple[str, str]], float] = {}
    for row in rows:
        key = (row.source, row.group)
        best[key] = min(best.get(key, np.inf), row.time)
    return [
        row
        for row in rows
        if row.platform != Platform.NETWORK.value or row.time <= best[row.source, row.group]
    ]


def sample(rows: Sequence[FitRow], kinds: tuple[CostClass, ...]) -> Sample:
    """Arrays of rows. Platforms weigh alike, sources within the network alike, rows elsewhere."""
    most = max(len(row.laid.resource) for row in rows)
    busy = np.zeros((len(rows), max(most, 1), len(Term)))
    for k, row in enumerate(rows):
        busy[k, : len(row.laid.busy)] = row.laid.busy
    return Sample(
        rows=tuple(rows),
        kinds=kinds,
        busy=busy,
        links=np.array([row.laid.links for row in rows]),
        steps=np.array([row.laid.steps for row in rows]).reshape(len(rows), len(Medium)),
        messages=np.array([row.laid.messages for row in rows]).reshape(len(rows), len(Medium)),
        switched=np.array([row.laid.switched for row in rows]).reshape(len(rows), 2),
        heads=np.array([float(row.laid.heads) for row in rows]),
        local=np.array([row.laid.local for row in rows]),
        direct=np.array([float(row.laid.algorithm == "Direct") for row in rows]),
        protocol=np.array([row.protocol for row in rows], np.int64),
        kind=np.array([row.kind for row in rows], np.int64),
        size=np.array([row.size for row in rows]),
        measured=np.array([row.time for row in rows]),
        weight=_weights(rows),
    )


def _weights(rows: Sequence[FitRow]) -> Floats:
    by_source: dict[tuple[str, str], int] = {}
    for row in rows:
        key = (row.platform, row.source)
        by_source[key] = by_source.get(key, 0) + 1
    weight = np.ones(len(rows))
    for k, row in enumerate(rows):
        if row.platform == Platform.NETWORK.value:
            weight[k] = 1 / by_source[row.platform, row.source] ** 0.75
    for platform in {row.platform for row in rows}:
        mine = np.array([row.platform == platform for row in rows])
        weight[mine] /= weight[mine].sum()
    return weight

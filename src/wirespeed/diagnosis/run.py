"""Run: a measured call on the machine as it should be, and what it should have taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
import numpy.typing as npt

from wirespeed.collectives.forecast import curves_by_seed
from wirespeed.collectives.operation import COPIES, Collective, bus_factor
from wirespeed.collectives.peers import domain_of
from wirespeed.comparison.bands import WIDER, BandClass, band_of, tolerance
from wirespeed.comparison.classes import Platform, generation_name, platform_of, size_class
from wirespeed.comparison.measured import forecast_size
from wirespeed.comparison.setup import Workshop, setup_of
from wirespeed.diagnosis.stated import GDR_OFF, Stated, as_intended, not_driven, suspects, without
from wirespeed.errors import Infeasible
from wirespeed.evidence import Measurement
from wirespeed.readers.records import Inputs, RecordRow
from wirespeed.topology.change import Change
from wirespeed.topology.cluster import Cluster, Group, changed
from wirespeed.topology.software import Notice
from wirespeed.units import GB, US

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Rows as arrays: `size` [B], `time` [s], `in_place`; a plateau as the time of a large size."""

    size: npt.NDArray[np.int64]
    time: Floats
    in_place: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.size)

    def where(self, mask: npt.NDArray[np.bool_]) -> Measured:
        """Those of the rows."""
        return Measured(self.size[mask], self.time[mask], self.in_place[mask])


@dataclass(slots=True, eq=False)
class Run:
    """A call on a cluster as it should be set up.

    Attributes:
        stated: what was set or found otherwise; not in `cluster`.
        unknown: inputs that were not understood, each of which widens the band.
        plugin: whether the network needs a plugin of the library and none is named.
        direct: whether GPUDirect RDMA was seen to work.
        path: the farthest path among the GPUs of a PCIe node, where it was stated.
    """

    collective: Collective
    cluster: Cluster
    group: Group
    stated: tuple[Stated, ...] = ()
    unknown: int = 0
    plugin: bool = False
    direct: bool = False
    path: str = ""
    notes: tuple[Notice, ...] = ()
    _times: dict[tuple[tuple[Change, ...], bool], dict[int, float]] = field(default_factory=dict)

    @property
    def beyond(self) -> bool:
        """Whether ranks lie in more than one NVLink domain and so use the network."""
        if self.collective.operation in COPIES:
            return False
        return len(np.unique(domain_of(self.cluster, self.group.gpus))) > 1

    @property
    def platform(self) -> Platform:
        """Where the data goes."""
        return platform_of(self.cluster.machine, beyond=self.beyond)

    def times(self, rows: Measured, changes: tuple[Change, ...] = ()) -> Floats | None:
        """[rows] the time [s] of each under changes; None where it cannot run so."""
        found = np.empty(len(rows))
        for in_place in (False, True):
            mine = rows.in_place == in_place
            if mine.any():
                table = self._table(np.unique(rows.size[mine]).tolist(), changes, in_place)
                if table is None:
                    return None
                found[mine] = [table[size] for size in rows.size[mine].tolist()]
        return found if np.isfinite(found).all() else None

    def _table(
        self, sizes: list[int], changes: tuple[Change, ...], in_place: bool
    ) -> dict[int, float] | None:
        known = self._times.setdefault((changes, in_place), {})
        missing = [size for size in sizes if size not in known]
        if missing:
            collective = msgspec.structs.replace(self.collective, in_place=in_place)
            try:
                after = changed(self.cluster, changes) if changes else self.cluster
                curves = curves_by_seed(collective, after, self.group, missing)
            except Infeasible:
                return None
            times = np.median([line.time for line in curves], axis=0)
            known.update(zip(missing, times.tolist(), strict=True))
        return known

    def bands(self, rows: Measured) -> tuple[Floats, Floats]:
        """[rows] low and high: measured over forecast time of rows that are well."""
        platform, operation = self.platform.value, self.collective.operation.value
        generation = generation_name(self.cluster.machine.gpu)
        pairs = []
        power = 1 + WIDER * self.unknown
        for size in rows.size.tolist():
            band = band_of(BandClass(platform, size_class(size), operation, generation))
            slack = 1 + tolerance(size)
            low, high = (1.0, 1.0) if band is None else (band.low**power, band.high**power)
            pairs.append((min(low, 1 / slack), max(high, slack)))
        low_high = np.array(pairs).reshape(-1, 2)
        return low_high[:, 0], low_high[:, 1]


@dataclass(slots=True)
class Runs:
    """Makes runs of inputs; equal clusters and equal runs are built and forecast once."""

    workshop: Workshop = field(default_factory=Workshop)
    _known: dict[Inputs, Run] = field(default_factory=dict)

    def of_inputs(self, inputs: Inputs) -> Run:
        """The run that inputs describe; a WirespeedError with the reason where there is none."""
        inputs = msgspec.structs.replace(inputs, in_place=False)
        if inputs not in self._known:
            self._known[inputs] = self._made(inputs)
        return self._known[inputs]

    def _made(self, inputs: Inputs) -> Run:
        intended, stated = as_intended(inputs)
        setup = setup_of(intended)
        if any(entry.cause == GDR_OFF for entry in stated):
            # Who says that it was off could have had it, at whatever distance, as with "yes".
            setup = replace(setup, abilities=replace(setup.abilities, gdr_far=True))
        cluster = self.workshop.cluster(setup)
        return Run(
            collective=setup.collective,
            cluster=cluster,
            group=self.workshop.group(setup, cluster),
            stated=stated,
            unknown=len(setup.notes),
            plugin=not_driven(inputs.cluster.fabric or "", dict(inputs.env)),
            direct=(inputs.cluster.gdr or "").strip().lower() == "yes",
            path=(inputs.cluster.path or "").strip().upper(),
            notes=setup.notes,
        )


def run_on(cluster: Cluster, group: Group, collective: Collective) -> Run:
    """The run of a call on a cluster that someone named."""
    env = cluster.software.env
    stated = suspects(env)
    software = replace(cluster.software, env=without(env, stated))
    return Run(collective, replace(cluster, software=software), group, stated)


def measured_rows(
    rows: Sequence[RecordRow], second: Sequence[RecordRow], run: Run, *, in_place: bool
) -> Measured:
    """The rows of a record that say how long something took or how fast it was."""
    found = [
        (size, time, inplace)
        for part, inplace in ((rows, in_place), (second, True))
        for row in part
        if (pair := _timed(row, run)) is not None
        for size, time in (pair,)
    ]
    return _arrays(found)


def measured_of(measurement: Measurement) -> Measured:
    """The timed rows of a measurement."""
    return _arrays(
        [
            (int(row.size), row.time, row.in_place)
            for row in measurement.rows
            if row.size and row.time and 0 < row.size <= _LARGEST and 0 < row.time < _LONGEST
        ]
    )


_LARGEST, _LONGEST = 2**50, 1e6
"""[B] and [s] beyond which nobody measures."""


def _timed(row: RecordRow, run: Run) -> tuple[int, float] | None:
    """Size [B] and time [s] of a row; of a bandwidth, the time that it makes of the size.

    None for what says nothing, and for numbers that no measurement gives.
    """
    size, time = _of_row(row, run)
    return (size, time) if 0 < size <= _LARGEST and 0 < time < _LONGEST else None


def _of_row(row: RecordRow, run: Run) -> tuple[int, float]:
    operation = run.collective.operation
    size = forecast_size(row, operation)
    if row.size is not None and row.size > 0 and row.time_us:
        return size, row.time_us * US
    if row.size == 0:
        return size, 0.0
    if row.busbw and operation not in COPIES:
        return size, size * bus_factor(operation, len(run.group)) / (row.busbw * GB)
    both = 2 if run.collective.bidirectional else 1
    return size, size * both / (row.algbw * GB) if row.algbw else 0.0


def _arrays(rows: Sequence[tuple[int, float, bool]]) -> Measured:
    return Measured(
        np.array([size for size, _, _ in rows], np.int64),
        np.array([time for _, time, _ in rows], np.float64),
        np.array([inplace for _, _, inplace in rows], np.bool_),
    )

"""Scored rows: every row of every record beside its forecast, with the classes it counts in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import COPIES
from wirespeed.collectives.result import ForecastRow
from wirespeed.comparison.bands import with_bands
from wirespeed.comparison.classes import Platform, generation_name, platform_of, size_class
from wirespeed.comparison.measured import Compared, compare, forecast_size, sizes_of
from wirespeed.comparison.setup import Setup, Workshop, setting_of, setup_of
from wirespeed.errors import WirespeedError
from wirespeed.readers.records import Inputs, Record, RecordRow
from wirespeed.topology.software import Notice


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One measured row with its forecast.

    Attributes:
        number: position in `rows`, or in `rows_inplace` where `second` is set.
        counts: whether the error tables take it: healthy, compared, the best of repeated runs.
    """

    record: Record
    number: int
    second: bool
    in_place: bool
    compared: Compared
    platform: Platform
    size_class: str
    generation: str
    counts: bool

    @property
    def error(self) -> float:
        """Forecast time over measured time, less 1; only where `counts`."""
        assert self.compared.error is not None
        return self.compared.error


class Skipped(msgspec.Struct, frozen=True):
    """A record that was not forecast, and why."""

    record: int
    reason: str
    id: str = ""


@dataclass(slots=True)
class Scorer:
    """Forecasts records one by one, building each cluster and each table once."""

    workshop: Workshop = field(default_factory=Workshop)
    _tables: dict[Inputs, dict[int, ForecastRow]] = field(default_factory=dict)
    notes: dict[Notice, list[int]] = field(default_factory=dict)

    def score(self, record: Record) -> list[ScoredRow]:
        """All rows of a record; a WirespeedError with the reason where it has no forecast."""
        setup = setup_of(record.inputs)
        for note in setup.notes:
            self.notes.setdefault(note, []).append(record.position)
        rows = self._rows(record, setup, record.rows, second=False)
        return rows + self._rows(record, setup, record.rows_inplace, second=True)

    def _rows(
        self, record: Record, setup: Setup, rows: Sequence[RecordRow], *, second: bool
    ) -> list[ScoredRow]:
        if not rows:
            return []
        in_place = second or record.inputs.in_place
        operation = setup.collective.operation
        table = self._table(record.inputs, setup, sizes_of(rows, operation), in_place=in_place)
        cluster = self.workshop.cluster(setup)
        platform = platform_of(cluster.machine, beyond=setup.beyond and operation not in COPIES)
        scored = []
        for number, row in enumerate(rows):
            compared = compare(row, table[forecast_size(row, operation)], operation)
            scored.append(
                ScoredRow(
                    record,
                    number,
                    second,
                    in_place,
                    compared,
                    platform,
                    size_class(compared.forecast_size),
                    generation_name(cluster.machine.gpu),
                    counts=record.health == "healthy" and compared.error is not None,
                )
            )
        return scored

    def _table(
        self, inputs: Inputs, setup: Setup, sizes: list[int], *, in_place: bool
    ) -> dict[int, ForecastRow]:
        """The forecast of these sizes; what is known of equal inputs is not done again."""
        key = msgspec.structs.replace(setting_of(inputs), in_place=in_place)
        known = self._tables.setdefault(key, {})
        missing = [size for size in sizes if size not in known]
        if missing:
            cluster = self.workshop.cluster(setup)
            group = self.workshop.group(setup, cluster)
            collective = msgspec.structs.replace(setup.collective, in_place=in_place)
            made = forecast(collective, cluster, missing, group)
            for row in with_bands(made, cluster, group, unknown=len(setup.notes)).rows:
                known[row.size_bytes] = row
        return known


def score_all(records: Iterable[Record]) -> tuple[list[ScoredRow], list[Skipped], Scorer]:
    """Rows of all records that can be forecast, and the others with their reasons."""
    scorer, rows, skipped = Scorer(), list[ScoredRow](), list[Skipped]()
    for record in records:
        try:
            rows += scorer.score(record)
        except WirespeedError as error:
            reason = f"{error.what}: {error.why}" if error.why else error.what
            skipped.append(Skipped(record.position, reason, record.id))
    return only_best_runs(rows), skipped, scorer


def only_best_runs(rows: Sequence[ScoredRow]) -> list[ScoredRow]:
    """The rows, of repeated runs beyond one NVLink domain only the fastest of a size counting.

    A network has other users; the spread among runs of one setting is theirs.
    """
    best: dict[tuple[object, ...], float] = {}
    for row in rows:
        if row.counts and row.platform is Platform.NETWORK:
            key = _setting(row)
            best[key] = max(best.get(key, row.error), row.error)
    return [
        replace(row, counts=False)
        if row.counts and row.platform is Platform.NETWORK and row.error < best[_setting(row)]
        else row
        for row in rows
    ]


def _setting(row: ScoredRow) -> tuple[object, ...]:
    setting = msgspec.structs.replace(setting_of(row.record.inputs), in_place=row.in_place)
    return (row.record.source, setting, row.compared.size)

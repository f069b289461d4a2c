"""Bands: between which times a forecast is right four times in five, by class of rows.

The factors are quantiles of measured over forecast time from cross-validation with whole folds held
out; `wirespeed.validation.bands` makes the file. Where no class fits there is no band.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

import msgspec

from wirespeed.collectives.operation import COPIES, Operation
from wirespeed.collectives.peers import domain_of
from wirespeed.collectives.result import CollectiveForecast, ForecastRow
from wirespeed.comparison.classes import (
    Platform,
    SizeClass,
    generation_name,
    platform_of,
    size_class,
)
from wirespeed.topology.cluster import Cluster, Group

ANY = "any"
WIDER = 0.15
"""By how much of its width on a logarithmic scale a band grows for each input that is open."""


_OPEN = ("setting-not-modelled", "buffers-not-modelled")
"""Notices of a forecast about what moves a number and is left out."""


class BandClass(msgspec.Struct, frozen=True):
    """Rows that share a band; `any` stands for all of a kind."""

    platform: str
    size: str
    operation: str = ANY
    generation: str = ANY

    def broader(self) -> tuple[BandClass, ...]:
        """The class itself and those that hold it, the narrowest first."""
        replace = msgspec.structs.replace
        return (
            self,
            replace(self, generation=ANY),
            replace(self, operation=ANY),
            replace(self, operation=ANY, generation=ANY),
        )


class Band(msgspec.Struct, frozen=True):
    """Time lies between `low` and `high` times the forecast in 80 % of the rows of a class."""

    platform: str
    size: str
    operation: str
    generation: str
    low: float
    high: float
    rows: int
    folds: int

    @property
    def covers(self) -> BandClass:
        """The class that the band is of."""
        return BandClass(self.platform, self.size, self.operation, self.generation)


class BandFile(msgspec.Struct, frozen=True):
    """The bands that the package ships, and the parameters that they belong to."""

    parameters: str = ""
    band: tuple[Band, ...] = ()


@cache
def _shipped() -> BandFile:
    text = files("wirespeed.comparison").joinpath("data/bands.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=BandFile)


def bands() -> Mapping[BandClass, Band]:
    """All bands that the package ships, by class."""
    return _by_class(_shipped())


def bands_for() -> str:
    """The hash of the parameters that the bands belong to."""
    return _shipped().parameters


@cache
def _by_class(file: BandFile) -> Mapping[BandClass, Band]:
    return {band.covers: band for band in file.band}


def band_of(row: BandClass, known: Mapping[BandClass, Band] | None = None) -> Band | None:
    """The band of the narrowest class that holds such rows; None where there is none."""
    table = bands() if known is None else known
    return next((table[wide] for wide in row.broader() if wide in table), None)


def class_of(row: ForecastRow, platform: Platform, generation: str) -> BandClass:
    """The class of a forecast row."""
    return BandClass(platform.value, size_class(row.size_bytes), row.operation, generation)


def with_bands(
    forecast: CollectiveForecast, cluster: Cluster, group: Group, *, unknown: int = 0
) -> CollectiveForecast:
    """The forecast with `low_us`, `high_us` and `validity` of every row.

    `unknown` counts inputs that are open beyond the usual (an unknown word): each widens the band,
    and so does each that the forecast says it does not model.
    """
    unknown += sum(notice.code in _OPEN for notice in forecast.warnings)
    platform = platform_of_group(forecast.rows, cluster, group)
    generation = generation_name(cluster.machine.gpu)
    rows = tuple(
        banded(row, class_of(row, platform, generation), unknown=unknown) for row in forecast.rows
    )
    return msgspec.structs.replace(forecast, rows=rows)


def platform_of_group(rows: Iterable[ForecastRow], cluster: Cluster, group: Group) -> Platform:
    """The platform class of rows of one operation on a group."""
    copies = any(Operation(row.operation) in COPIES for row in rows)
    domains = domain_of(cluster, group.gpus)
    return platform_of(cluster.machine, beyond=not copies and bool((domains != domains[0]).any()))


def banded(
    row: ForecastRow,
    of: BandClass,
    *,
    unknown: int = 0,
    known: Mapping[BandClass, Band] | None = None,
) -> ForecastRow:
    """A row with its band: inside where its own class was validated, edge where a broader one."""
    band = band_of(of, known)
    if band is None:
        return row
    power = 1 + WIDER * unknown
    return msgspec.structs.replace(
        row,
        low_us=row.time_us * band.low**power,
        high_us=row.time_us * band.high**power,
        validity="inside" if band.generation == of.generation else "edge",
    )


def tolerance(size: int) -> float:
    """How far a repeated run of one machine may lie off: 5 % above 16 MiB, 20 % below.

    Source: repeated sweeps of one machine differ by 1-4 % at large sizes, by 6-14 % at small ones.
    """
    return 0.05 if size_class(size) is SizeClass.LARGE else 0.20

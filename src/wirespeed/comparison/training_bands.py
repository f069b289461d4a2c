"""Bands of steps: between which times a forecast is right four times in five, by class.

The factors are quantiles of measured over forecast step time with whole folds held out;
`tools/generate_training_validation.py` makes the file. Where no class fits there is no band.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from wirespeed.catalog import gpu
from wirespeed.topology.cluster import Cluster
from wirespeed.training.result import StepForecast

ANY = "any"


class StepClass(msgspec.Struct, frozen=True):
    """Steps that share a band; `any` stands for all of a kind."""

    generation: str
    reach: str
    """`node` or `network`: whether ranks lie on several nodes."""

    def broader(self) -> tuple[StepClass, ...]:
        """The class itself and those that hold it, the narrowest first."""
        return (self, StepClass(self.generation, ANY), StepClass(ANY, ANY))

    def __str__(self) -> str:
        where = {"node": "one node", "network": "several nodes", ANY: "any number of nodes"}
        gpus = "any GPU" if self.generation == ANY else f"{self.generation} GPUs"
        return f"{gpus} and {where[self.reach]}"


class StepBand(msgspec.Struct, frozen=True):
    """Step time lies between `low` and `high` times the forecast in 80 % of a class's runs."""

    generation: str
    reach: str
    low: float
    high: float
    runs: int
    folds: int


class StepBandFile(msgspec.Struct, frozen=True):
    """The bands that the package ships, and the parameters that they belong to."""

    parameters: str = ""
    band: tuple[StepBand, ...] = ()


@cache
def step_bands() -> StepBandFile:
    """All bands that the package ships."""
    text = files("wirespeed.comparison").joinpath("data/training_bands.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=StepBandFile)


@cache
def _by_class() -> dict[StepClass, StepBand]:
    return {StepClass(band.generation, band.reach): band for band in step_bands().band}


def class_of(gpu_name: str, nodes: int) -> StepClass:
    """The class of a step on so many nodes with such GPUs."""
    return StepClass(gpu(gpu_name).architecture, "node" if nodes == 1 else "network")


def with_band(forecast: StepForecast, cluster: Cluster) -> StepForecast:
    """The forecast with the band of the narrowest class that has one.

    A band of all GPUs stands for those of which no run was published.
    """
    for wide in class_of(cluster.machine.gpu, _nodes(forecast, cluster)).broader():
        if (band := _by_class().get(wide)) is not None:
            return msgspec.structs.replace(
                forecast,
                low_s=forecast.step_time_s * band.low,
                high_s=forecast.step_time_s * band.high,
                band_of=str(wide),
            )
    return forecast


def _nodes(forecast: StepForecast, cluster: Cluster) -> int:
    """Nodes whose GPUs take part."""
    per_node = max(len(cluster.topology.gpus()) // cluster.nodes, 1)
    return -(-forecast.gpus // per_node)

"""told: a step in three sentences: what bounds it, what would help most, how sure that is."""

from __future__ import annotations

import msgspec

from wirespeed.planning.what_if import gains
from wirespeed.topology.cluster import Cluster
from wirespeed.training.forecast import Step
from wirespeed.training.result import StepForecast

_BOUNDS = {
    "compute": "computing",
    "exposed_tp": "communication of tensor parallelism that nothing hides",
    "exposed_dp": "communication of data parallelism that nothing hides",
    "exposed_pp": "transfers between pipeline stages",
    "exposed_cp": "communication of context parallelism that nothing hides",
    "exposed_ep": "communication between experts that nothing hides",
    "bubble": "the pipeline's bubble",
    "host": "the host, which launches work later than the GPU could do it",
    "optimizer": "the optimizer",
}
_TWICE = {
    "gemm": "matrix units twice as fast (gemm=2x)",
    "hbm": "memory twice as fast (hbm=2x)",
    "nvlink": "NVLink twice as fast (nvlink=2x)",
    "network": "a network twice as fast, NICs and fabric",
    "pcie": "PCIe twice as fast",
    "host": "a host that launches work twice as fast",
}
_LITTLE = 0.01


def sentences(step: Step, cluster: Cluster, forecast: StepForecast) -> list[str]:
    """What a person should know of a step."""
    return [_bound(forecast), _help(step, cluster), _sure(forecast)]


def _bound(forecast: StepForecast) -> str:
    spent = msgspec.structs.asdict(forecast.breakdown_s)
    first, second = sorted(spent, key=lambda kind: -spent[kind])[:2]
    share, next_share = (spent[kind] / forecast.step_time_s for kind in (first, second))
    said = f"The step is bound by {_BOUNDS[first]}: {_percent(share)} of it"
    if next_share > _LITTLE:
        said += f", then {_BOUNDS[second]}: {_percent(next_share)}"
    return f"{said}."


def _help(step: Step, cluster: Cluster) -> str:
    best = [gain for gain in gains(step.job, cluster, step.seconds) if gain.share > _LITTLE]
    if not best:
        return "Nothing that is twice as fast would shorten it by more than a hundredth."
    said = f"What would help most is {_TWICE[best[0].name]}: {_percent(best[0].share)} less time"
    others = "".join(f"; {_TWICE[gain.name]}: {_percent(gain.share)}" for gain in best[1:3])
    return f"{said}{others}."


def _sure(forecast: StepForecast) -> str:
    if forecast.low_s is None or forecast.high_s is None:
        return "How sure this is cannot be said: no published step of its kind was compared."
    low, high = (x / forecast.step_time_s - 1 for x in (forecast.low_s, forecast.high_s))
    return (
        f"Four of five published steps on {forecast.band_of} took from {low * 100:+.0f} % to "
        f"{high * 100:+.0f} % of what was forecast without having seen them."
    )


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"

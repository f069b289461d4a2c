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
    "bubble": "the pipeline's bubble",
    "host": "the host, which launches work later than the GPU could do it",
    "optimizer": "the optimizer",
}
_TWICE = {
    "gemm": "matrix units twice as fast",
    "hbm": "memory twice as fast",
    "nvlink": "NVLink twice as wide",
    "network": "the network twice as wide",
    "pcie": "PCIe twice as wide",
}
_LITTLE = 0.01


def sentences(step: Step, cluster: Cluster, forecast: StepForecast) -> list[str]:
    """What a person should know of a step."""
    spent = msgspec.structs.asdict(forecast.breakdown_s)
    order = sorted(spent, key=lambda kind: -spent[kind])
    first, second = order[0], order[1]
    share = spent[first] / forecast.step_time_s
    told = [f"The step is bound by {_BOUNDS[first]}: {share:.0%} of it"]
    if spent[second] > _LITTLE * forecast.step_time_s:
        told[0] += f", then {_BOUNDS[second]}: {spent[second] / forecast.step_time_s:.0%}"
    told[0] += "."
    best = gains(step.job, cluster, step.seconds)
    if best and best[0].share > _LITTLE:
        others = [g for g in best[1:3] if g.share > _LITTLE]
        told.append(
            f"What would help most is {_TWICE[best[0].name]}: {best[0].share:.0%} less time"
            + "".join(f"; {_TWICE[g.name]}: {g.share:.0%}" for g in others)
            + "."
        )
    else:
        told.append("Nothing that is twice as fast would shorten it by more than a hundredth.")
    told.append(_sure(forecast))
    return told


def _sure(forecast: StepForecast) -> str:
    if forecast.low_s is None or forecast.high_s is None:
        return "How far forecasts of steps lie from published ones: docs/training-validation.md."
    return (
        f"Four of five published steps of this kind lie within {forecast.low_s:.3g} to "
        f"{forecast.high_s:.3g} s of such a forecast."
    )

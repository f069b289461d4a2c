"""models_of_a_run: the GPU's model from the list of devices of a benchmark beside a matrix."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.catalog import gpu
from wirespeed.errors import UnknownName
from wirespeed.evidence import Evidence, Fact


def models_of_a_run(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The model as a fact of gpu0, where all ranks state one and nothing else names any.

    A matrix names no GPU, and the run that is looked at beside it lists its own.
    """
    gpus = [f for part in evidence for f in part.facts if f.subject.startswith("gpu")]
    if not gpus or any(fact.attribute == "model" for fact in gpus):
        return []
    listed = [(part.file, f) for part in evidence for f in part.facts if f.attribute == "gpu_model"]
    keys = {key for _, fact in listed if (key := _key(str(fact.value)))}
    if len(keys) != 1:
        return []
    file, fact = listed[0]
    subject = min((f.subject for f in gpus if f.attribute == "index"), default="gpu0")
    return [Evidence("nccl-tests", file, (Fact(subject, "model", keys.pop(), fact.line),))]


def _key(name: str) -> str:
    try:
        return gpu(name).key
    except UnknownName:
        return ""

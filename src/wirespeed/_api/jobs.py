"""job_of: what is to be trained, in people's words, as a job; and what was chosen for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from wirespeed._api.models import model as model_of
from wirespeed.catalog import gpu
from wirespeed.collectives.peers import domain_of
from wirespeed.errors import Infeasible, UnknownName, UsageError
from wirespeed.models import Model
from wirespeed.planning.first_layout import first_layout
from wirespeed.topology.cluster import Cluster, everyone
from wirespeed.training.checks import check
from wirespeed.training.compression import parse_compression
from wirespeed.training.conditions import Conditions
from wirespeed.training.layout import Job, Layout, Precision
from wirespeed.training.memory import capacity

LayoutLike = Layout | Mapping[str, Any] | None
ModelLike = str | Path | Mapping[str, Any] | Model

USUAL_TOKENS = 2**22
"""Tokens of a step where none are named: what Llama 2 and 3 70B trained with (arXiv 2307.09288)."""
USUAL_IMAGES = 128
"""Images of a GPU where none are named."""
LONGEST = 8192
"""Tokens of a sequence where none are named: pre-training of Llama 3 (arXiv 2407.21783)."""
WIDEST = 8
"""Degree of tensor parallelism that is not exceeded unasked."""
_FILL = 4
"""Micro-batches for each pipeline stage where no batch is named."""
_DEGREES = ("dp", "tp", "pp", "cp")


class Asked(NamedTuple):
    """A job, and the names of its fields that nobody named."""

    job: Job
    chosen: tuple[str, ...]


class Words(msgspec.Struct, frozen=True):
    """What was said of a job; None: nothing."""

    model: Any
    layout: Any = None
    global_batch: int | None = None
    seq: int | None = None
    precision: str | None = None
    framework: str | None = None
    clock: float = 1.0
    power_W: float | None = None
    jitter: float = 0.0
    compress: str | None = None
    tp_overlap: bool = False


def job_of(words: Words, target: Cluster) -> Asked:
    """The job that these words mean on a cluster.

    Raises UsageError for words that mean nothing, Infeasible with every reason, and the nearest
    that works, for a layout that does not.
    """
    model = model_of(words.model)
    gpus = len(everyone(target).gpus)
    named = _named(words.layout)
    job = Job(
        model=model,
        layout=_layout(named, gpus),
        global_batch=gpus if words.global_batch is None else words.global_batch,
        seq_len=_length(model, words.seq),
        precision=_precision(words.precision, target.machine.gpu),
        framework=words.framework or ("DDP" if model.item == "image" else "Megatron-Core"),
        conditions=Conditions(words.clock, words.power_W, words.jitter),
        compression=parse_compression(words.compress),
        tp_overlap=words.tp_overlap,
    )
    job.conditions.check(target.machine.gpu)
    if job.layout.cp > 1:
        raise Infeasible(
            "context parallelism is not forecast yet",
            where="--cp",
            remedy="leave it out; tensor parallelism with sequence parallelism splits tokens too",
        )
    chosen = list(_unnamed(words, model))
    if not any(degree in named for degree in _DEGREES):
        job, degrees = _spread(job, target)
        chosen = [*degrees, *chosen]
    if words.global_batch is None:
        job = replace(job, global_batch=usual_share(job) * job.layout.dp)
    check(job, gpus)
    return Asked(job, tuple(chosen))


def usual_share(job: Job, dp: int | None = None) -> int:
    """Sequences, or images, of a data-parallel rank where no batch is named.

    About four million tokens a step over `dp` ranks, and enough to fill a pipeline.
    """
    if job.model.item == "image":
        return USUAL_IMAGES
    layout = job.layout
    wanted = round(USUAL_TOKENS / job.seq_len / (dp or layout.dp))
    least = _FILL * layout.pp if layout.pp > 1 else 1
    turn = layout.pp if layout.vpp > 1 else 1
    return -(-max(wanted, least, layout.micro_batch or 1) // turn) * turn


def _unnamed(words: Words, model: Model) -> list[str]:
    found = []
    if words.global_batch is None:
        found.append("global_batch")
    if words.seq is None and model.item == "token":
        found.append("seq_len")
    return found


def _named(layout: LayoutLike) -> dict[str, Any]:
    """Fields of a layout that were given; UnknownName for words that are none."""
    given: Any = msgspec.structs.asdict(layout) if isinstance(layout, Layout) else layout or {}
    if not isinstance(given, Mapping):
        raise UsageError(
            f"{layout!r} is no layout",
            where="layout",
            why="it names degrees of parallelism",
            remedy="write for example {'tp': 8, 'pp': 4}",
        )
    known = [field.name for field in msgspec.structs.fields(Layout)]
    for name in given:
        if name not in known:
            raise UnknownName("field of a layout", str(name), known, where="layout")
    return {name: value for name, value in given.items() if value is not None}


def _layout(named: Mapping[str, Any], gpus: int) -> Layout:
    """The layout with data parallelism over the GPUs that are left, unless it is given."""
    try:
        layout = msgspec.convert(named, Layout)
    except msgspec.ValidationError as error:
        raise UsageError("this is no layout", where="layout", why=str(error)) from None
    if "dp" in named:
        return layout
    others = layout.tp * layout.pp * layout.cp
    return replace(layout, dp=max(gpus // others, 1) if others > 0 else 1)


def _spread(job: Job, target: Cluster) -> tuple[Job, tuple[str, ...]]:
    """The job with the least splitting that fits; unchanged where nothing does."""
    gpus = everyone(target).gpus
    _, members = np.unique(domain_of(target, gpus), return_counts=True)
    domain = min(int(members.max()), WIDEST)
    found = first_layout(job, len(gpus), domain, capacity(target.machine.gpu))
    if found is None:
        return job, ()
    return found, tuple(name for name in ("dp", "tp", "pp") if getattr(found.layout, name) > 1)


def _length(model: Model, seq: int | None) -> int:
    if model.item == "image":
        return 1
    if seq is not None:
        return seq
    return min(model.longest or LONGEST, LONGEST)


def _precision(word: str | None, gpu_name: str) -> Precision:
    """The precision named, or bf16; fp16 or fp32 on GPUs that have no bf16."""
    if word is None:
        row = gpu(gpu_name)
        word = next((w for w in ("bf16", "fp16") if row.peak(cast(Any, w))), "fp32")
    try:
        found: Precision = msgspec.convert(word, Precision)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"there is no precision {word!r}", where="--precision", why=str(error)
        ) from None
    return found

"""A training step: time and rates, what it is spent on, memory, what would help."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from wirespeed.training.result import StepForecast
from wirespeed.views.document import Block, Column, Document, Facts, Heading, Items, Sentence, Table
from wirespeed.views.layout import layout_words
from wirespeed.views.words import number, percent

_SPENT = {
    "compute": "computing",
    "exposed_tp": "tensor parallelism, exposed",
    "exposed_dp": "data parallelism, exposed",
    "exposed_pp": "pipeline transfers, exposed",
    "exposed_cp": "context parallelism, exposed",
    "exposed_ep": "expert parallelism, exposed",
    "bubble": "pipeline bubble",
    "host": "waiting for the host",
    "optimizer": "optimizer",
}


def document(step: StepForecast) -> Document:
    """Facts, the breakdown, memory, sentences and notes."""
    return tuple(_blocks(step))


def _blocks(step: StepForecast) -> Iterator[Block]:
    yield Heading(f"{step.model} on {step.gpus:,} GPUs of {step.cluster}: one step")
    yield Facts(tuple(_facts(step)))
    yield Heading("Where the time goes")
    spent = msgspec.structs.asdict(step.breakdown_s)
    rows = tuple(
        (_SPENT[kind], number(seconds), percent(seconds / step.step_time_s))
        for kind, seconds in spent.items()
        if seconds > 0
    )
    yield Table((Column("", right=False), Column("time", "s"), Column("of the step")), rows)
    yield Heading("Memory of the fullest GPU")
    held = msgspec.structs.asdict(step.memory_GiB)
    yield Table(
        (Column("", right=False), Column("", "GiB")),
        tuple((kind, number(size)) for kind, size in held.items() if size > 0),
        strong=frozenset({len([s for s in held.values() if s > 0]) - 1}),
    )
    if step.sentences:
        yield Heading("In short")
        for sentence in step.sentences:
            yield Sentence(sentence)
    if step.warnings:
        yield Heading("Notes")
        yield Items(tuple(warning.text for warning in step.warnings))


def _facts(step: StepForecast) -> Iterator[tuple[str, str]]:
    band = ""
    if step.low_s is not None and step.high_s is not None:
        band = f" ({number(step.low_s)} to {number(step.high_s)})"
    yield "Step", f"{number(step.step_time_s)} s{band}"
    unit = "tokens" if step.seq_len > 1 else "images"
    yield "Rate", f"{number(step.tokens_per_s_per_gpu)} {unit}/s/GPU"
    if step.mfu > 0:
        shares = f"{step.mfu * 100:.1f} %, {step.hfu * 100:.1f} %"
        yield "MFU, HFU", f"{shares}: {step.flops_convention}"
    yield "Job", _job(step)
    yield "Layout", layout_words(step.layout, step.chosen)
    if step.fabric:
        yield "Fabric", step.fabric


def _job(step: StepForecast) -> str:
    stars = {name: "*" if name in step.chosen else "" for name in ("global_batch", "seq_len")}
    if step.seq_len > 1:
        batch = (
            f"{step.global_batch:,}{stars['global_batch']} sequences of "
            f"{step.seq_len:,}{stars['seq_len']} tokens"
        )
    else:
        batch = f"{step.global_batch:,}{stars['global_batch']} images"
    note = " (* chosen here)" if any(stars.values()) else ""
    return f"{step.framework}, {step.precision}, {batch}{note}"

"""A training step: time and rates, what it is spent on, memory, what would help."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from wirespeed.training.result import StepForecast
from wirespeed.views.document import Block, Column, Document, Facts, Heading, Items, Sentence, Table
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
_LAYOUT = ("dp", "tp", "pp", "vpp", "sharding", "micro_batch", "recompute", "schedule")


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
    yield "Rate", f"{number(step.tokens_per_s_per_gpu)} tokens/s/GPU"
    yield "MFU, HFU", f"{step.mfu:.1%}, {step.hfu:.1%}"
    yield "", step.flops_convention
    chosen = set(step.chosen)
    layout = [
        f"{name.replace('_', '-')} {step.layout[name]}{'*' if name in chosen else ''}"
        for name in _LAYOUT
        if step.layout.get(name) not in (None, 1)
    ]
    yield "Layout", ", ".join(layout) + ("  (* chosen here)" if chosen else "")

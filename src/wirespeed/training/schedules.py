"""schedules: in which order a pipeline rank runs the passes of its micro-batches."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from wirespeed.training.layout import Schedule


class Pass(msgspec.Struct, frozen=True):
    """One micro-batch through one model chunk of a rank."""

    chunk: int
    micro_batch: int
    back: bool


def order(
    schedule: Schedule | None, stage: int, pp: int, vpp: int, micro_batches: int
) -> list[Pass]:
    """All passes of a rank in the order in which it runs them.

    GPipe: all forward, then all backward. 1F1B (Narayanan et al. 2019): pp - stage - 1 forward to
    warm up, then one of each by turns. Interleaved (Narayanan et al. 2021): the same over model
    chunks in groups of pp micro-batches, with 2 (pp - stage - 1) + (vpp - 1) pp to warm up.
    """
    if schedule == "interleaved" and vpp > 1:
        return _interleaved(stage, pp, vpp, micro_batches)
    ahead = [Pass(0, k, back=False) for k in range(micro_batches)]
    behind = [Pass(0, k, back=True) for k in range(micro_batches)]
    if schedule == "gpipe":
        return ahead + behind
    return list(_by_turns(ahead, behind, min(pp - stage - 1, micro_batches)))


def _interleaved(stage: int, pp: int, vpp: int, micro_batches: int) -> list[Pass]:
    group = min(pp, micro_batches)
    ahead, behind = [], []
    for first in range(0, micro_batches, group):
        batch = range(first, min(first + group, micro_batches))
        for chunk in range(vpp):
            ahead += [Pass(chunk, k, back=False) for k in batch]
            behind += [Pass(vpp - 1 - chunk, k, back=True) for k in batch]
    if micro_batches == pp:
        return ahead + behind
    warm = min(2 * (pp - stage - 1) + (vpp - 1) * pp, len(ahead))
    return list(_by_turns(ahead, behind, warm))


def _by_turns(ahead: list[Pass], behind: list[Pass], warm: int) -> Iterator[Pass]:
    yield from ahead[:warm]
    for k, one in enumerate(ahead[warm:]):
        yield one
        yield behind[k]
    yield from behind[len(ahead) - warm :]

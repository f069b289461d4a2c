"""in_flight: micro-batches whose activations a pipeline rank holds at its fullest."""

from __future__ import annotations

from wirespeed.training.layout import Schedule


def in_flight(
    schedule: Schedule | None, stage: int, pp: int, vpp: int, micro_batches: int
) -> tuple[int, ...]:
    """Micro-batches held at once for each model chunk of stage `stage` (from 0).

    GPipe holds all; 1F1B the warm-up and one, min(m, pp - stage); interleaved, over all chunks,
    min(m * vpp, 2 (pp - stage - 1) + (vpp - 1) pp + 1), in groups of pp micro-batches a chunk
    (Narayanan et al. 2021; pp * vpp + pp - 1 on the first stage).
    """
    if pp == 1 or schedule is None:
        return (1,) * vpp
    if schedule == "gpipe":
        return (micro_batches,) * vpp
    if schedule == "1f1b" or vpp == 1:
        return (min(micro_batches, pp - stage),) * vpp
    held = min(micro_batches * vpp, 2 * (pp - stage - 1) + (vpp - 1) * pp + 1)
    counts = [0] * vpp
    group = min(pp, micro_batches)
    for i in range(held):
        counts[i // group % vpp] += 1
    return tuple(counts)

"""copied: the bandwidth between two devices that a tool printed, as a Measurement of a copy."""

from __future__ import annotations

from wirespeed.evidence import Measurement, Row
from wirespeed.readers._gathered import Gathered
from wirespeed.units import GB


def copied(
    source: str, target: str, GBps: float, *, size: int, file: str, line: int, both: bool = False
) -> Measurement:
    """A copy of `size` [B], which the tool copies unless told otherwise, at the printed rate.

    With `both`, `GBps` is the sum of two directions that run at once.
    """
    operation = "h2d" if source == "host" else "d2h" if target == "host" else "p2p_copy"
    bandwidth = GBps * GB
    row = Row(
        size=size,
        time=size * (2 if both else 1) / bandwidth,
        algbw=bandwidth,
        busbw=bandwidth,
        line=line,
    )
    return Measurement(
        operation=operation,
        file=file,
        rows=(row,),
        ranks=2 if operation == "p2p_copy" else 1,
        source=source,
        target=target,
        bidirectional=both,
    )


def note_size(found: Gathered, size: int) -> None:
    """Remarks that the size of the copies is the tool's own, where there are any."""
    if found.measurements:
        text = f"{size} bytes a copy are the tool's usual size; the text does not say it"
        found.note("size-usual", text)

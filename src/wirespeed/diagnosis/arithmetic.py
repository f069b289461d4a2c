"""The arithmetic of a rate: what a wire carries, what the operation asks of it, what is left."""

from __future__ import annotations

import msgspec

from wirespeed.collectives.forecast import forecast
from wirespeed.diagnosis.case import Compared
from wirespeed.units import GB, format_size


def arithmetic(compared: Compared) -> str:
    """How the rate of the largest size follows from the narrowest part of the machine.

    An example: At 8G all_reduce runs at 480 GB/s busbw, forecast 478. Its bottleneck is
    node0/gpu0>node0/nvswitch0: 450 GB/s by its wire rate, of which 78 % carry payload.
    """
    run = compared.run
    rows = [row for row in compared.check.rows if row.measured_us > 0]
    last = max(rows, key=lambda row: row.size_bytes)
    collective = msgspec.structs.replace(run.collective, in_place=last.in_place)
    made = forecast(collective, run.cluster, [last.size_bytes], run.group)
    row = made.rows[0]
    measured = last.measured_busbw_GBps or row.busbw_GBps * row.time_us / last.measured_us
    said = (
        f"At {format_size(last.size_bytes)} {last.operation} runs at {measured:.4g} GB/s busbw; "
        f"the forecast is {row.busbw_GBps:.4g}."
    )
    widths = {part.name: part.bandwidth_GBps for part in made.bottlenecks}
    width = widths.get(row.bottleneck)
    if not width or row.wire_share < 0.2:
        return f"{said} Latency and the library's channels decide, no wire."
    payload = row.wire_share * width
    moved = payload * GB * row.time_us * 1e-6 / last.size_bytes
    return (
        f"{said} The busiest part is {row.bottleneck}: {width:.4g} GB/s on the wire, of which "
        f"{row.wire_share:.0%} is payload = {payload:.4g} GB/s; {last.operation} by "
        f"{row.algorithm} puts {moved:.3g} times the size on it, hence "
        f"{payload / moved:.4g} GB/s algbw = {row.busbw_GBps:.4g} GB/s busbw."
    )

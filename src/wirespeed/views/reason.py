"""Why a forecast is what it is, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wirespeed.collectives.result import ClusterRow, ForecastRow, ResourceRow
from wirespeed.units import format_size
from wirespeed.views.words import LINKS, PARTS, number, percent, rate

_LATENCY = 0.5


class Pace:
    """Whether latency or a wire sets the pace, told by how full the wire gets at large sizes."""

    def __init__(self, rows: Iterable[ForecastRow]) -> None:
        self._full: dict[tuple[str, str, str], float] = {}
        for row in rows:
            key = _way(row)
            self._full[key] = max(self._full.get(key, 0.0), row.wire_share)

    def is_latency(self, row: ForecastRow) -> bool:
        """Whether the bytes take less than half of the time of this row."""
        largest = max(self._full.values())
        full = self._full[_way(row)]
        # Protocols for small messages never get to fill the wire in the table.
        return row.wire_share < _LATENCY * max(full, largest / 2)


def reason(rows: Sequence[ForecastRow], pace: Pace, resources: Iterable[ResourceRow]) -> str:
    """What sets the pace at the largest size and from where on, and how far off the bound is."""
    last = rows[-1]
    parts = [_bottleneck(rows, pace, resources)]
    if last.bound_p2p_us > 0:
        network, p2p = last.bound_us / last.time_us, last.bound_p2p_us / last.time_us
        parts.append(
            f"No exchange between GPUs alone could take less than {percent(p2p)} of that time"
            + (
                f", none with switches that reduce and multicast less than {percent(network)}."
                if network < p2p
                else "."
            )
        )
    return " ".join(parts)


def limit_named(row: ForecastRow, cluster: ClusterRow) -> str:
    """Which cut of the machine the bounds come from; empty where nothing limits."""
    if row.bound_p2p_us <= 0 or not cluster.bound_p2p_cut:
        return ""
    text = f"The cut that limits it is {cluster.bound_p2p_cut}"
    if cluster.bound_cut and cluster.bound_cut != cluster.bound_p2p_cut:
        text += f"; with the switches' help, {cluster.bound_cut}"
    return f"{text}."


def _bottleneck(rows: Sequence[ForecastRow], pace: Pace, resources: Iterable[ResourceRow]) -> str:
    last = rows[-1]
    if not last.bottleneck or pace.is_latency(last):
        return "Latency decides at all of these sizes."
    small = [row for row in rows if pace.is_latency(row)]
    begin = f"Up to {format_size(small[-1].size_bytes)} latency decides, then " if small else ""
    known = {resource.name: resource for resource in resources}
    return (
        f"{begin}{last.bottleneck}{_described(known.get(last.bottleneck))} sets the pace: "
        f"at {format_size(last.size_bytes)} payload fills {percent(last.wire_share)} of it, "
        f"{number(last.busbw_GBps)} GB/s busbw."
    )


def _described(resource: ResourceRow | None) -> str:
    if resource is None:
        return ""
    speed = f"{rate(resource.bandwidth_GBps)} GB/s"
    if ">" not in resource.name:
        return f" ({PARTS.get(resource.kind, resource.kind)}, {speed})"
    if resource.kind in ("nvlink", "xgmi"):
        links = f"{resource.lanes} {LINKS[resource.kind]}{'s' if resource.lanes > 1 else ''}"
        return f" ({links}, {speed})"
    if resource.kind == "network":
        return f" (a network link of {rate(resource.bandwidth_GBps * 8)} Gb/s)"
    lanes = f" x{resource.lanes}" if resource.kind == "pcie" else ""
    return f" ({LINKS[resource.kind]}{lanes}, {speed})"


def _way(row: ForecastRow) -> tuple[str, str, str]:
    return row.algorithm, row.protocol, row.bottleneck

"""Rules on perftest: what ib_write_bw and its kin moved, beside the rates that ports have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.evidence import Finding, Measurement, Row

_PORTS = (10, 25, 40, 50, 56, 100, 200, 400, 800)
"""[Gb/s] rates of ports: Ethernet, and InfiniBand from QDR to XDR."""
_FULL = 0.88
"""Share of a port's rate from which on payload fills it: headers and credits take the rest."""


@rule("line_rate", "https://github.com/linux-rdma/perftest")
def line_rate(case: Case) -> Iterator[Finding]:
    """Which port's rate a test between two NICs comes to."""
    for part in case.of_format("perftest"):
        for measured in part.measurements:
            best = _best(measured)
            if best is None or best.algbw is None:
                continue
            rate = best.algbw * 8e-9 / (2 if measured.bidirectional else 1)
            yield Finding(
                code="line_rate",
                severity="ok",
                cause=f"{measured.operation} moves {rate:.1f} Gb/s each way: {_words(rate)}.",
                evidence=(case.line(part.file, best.line),),
                remedy="compare with `ibstat` or `ethtool`; below the port's rate look at its PCIe "
                "slot (`lspci -vv`), at several queue pairs (-q 4) and at the cable",
                confidence=0.8,
            )


def _best(measured: Measurement) -> Row | None:
    return max(measured.rows, key=lambda row: row.algbw or 0.0, default=None)


def _words(rate: float) -> str:
    """Of which port that is the rate, in words."""
    fitting = [port for port in _PORTS if _FULL * port <= rate <= 1.05 * port]
    if fitting:
        return f"a port of {fitting[-1]} Gb/s gives no more"
    for below, above in pairwise((0, *_PORTS)):
        if below <= rate < above:
            return f"{rate / above:.0%} of a port of {above} Gb/s"
    return f"more than a port of {_PORTS[-1]} Gb/s"

"""The rule on pairs: runs on two nodes at a time name the slow one, or say what is open."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.pairs import slow_nodes
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.evidence import Evidence, EvidenceLine, Finding, Row

_LEAST_PAIRS = 2
_SOURCE = "https://github.com/NVIDIA/nccl/issues/1664"


@rule("slow_node", _SOURCE)
def slow_node(case: Case) -> Iterator[Finding]:
    """Of runs on pairs of nodes, the node that is in all slow ones."""
    reached: dict[tuple[str, str], float] = {}
    lines: dict[tuple[str, str], EvidenceLine] = {}
    for evidence in case.evidence:
        pair, row = _pair(evidence), _largest(evidence)
        if pair is None or row is None or not row.busbw:
            continue
        if row.busbw > reached.get(pair, 0.0):
            reached[pair] = row.busbw
            lines[pair] = case.line(evidence.file, row.line)
    if len(reached) < _LEAST_PAIRS:
        return
    verdict = slow_nodes(reached)
    for node, share in verdict.slow.items():
        yield Finding(
            code="slow_node",
            severity="error",
            cause=f"{node} reaches {share:.0%} of the best pair at most, with partners that are "
            "good with others.",
            evidence=tuple(line for pair, line in lines.items() if node in pair)[:4],
            remedy=f"take {node} out and look at its NICs, PCIe links, clocks and settings",
            confidence=0.9,
        )
    for group in verdict.open:
        ask = [f"{a} with {b}" for a, b in verdict.ask if a in group]
        yield Finding(
            code="slow_node",
            severity="warning",
            cause=f"One of {', '.join(group)} is slow, and these pairs do not say which.",
            evidence=tuple(line for pair, line in lines.items() if set(pair) <= set(group))[:4],
            remedy=f"run {' and '.join(ask)}" if ask else "run them with a node known to be good",
            confidence=0.6,
        )


def _pair(evidence: Evidence) -> tuple[str, str] | None:
    """The two hosts of a run, or None where there are not two."""
    hosts = sorted(
        {
            str(fact.value)
            for fact in evidence.facts
            if fact.attribute == "host" and fact.subject.startswith("rank")
        }
    )
    return (hosts[0], hosts[1]) if len(hosts) == 2 else None


def _largest(evidence: Evidence) -> Row | None:
    rows = [row for m in evidence.measurements for row in m.rows if row.size and row.busbw]
    return max(rows, key=lambda row: row.size or 0, default=None)

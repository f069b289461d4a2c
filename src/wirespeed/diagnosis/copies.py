"""copy_findings: in a matrix of copies, the GPU that is slower than the others to every peer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from wirespeed.catalog import gpu
from wirespeed.errors import UnknownName
from wirespeed.evidence import Evidence, EvidenceLine, Fact, Finding

_SLOWER = 0.93
"""Of the others' rate: one link of twelve is 0.92, repeated runs differ by 1 to 4 %."""
_ALIKE = 0.06
"""By how much copies of equal pairs differ at most."""
_USUAL_LINKS = (18, 12, 6)
_SURE_OF_LINKS = 0.02
_LEAST = 100.0
"""[GB/s] below which copies go over PCIe, where slots and sockets differ by design."""
_SOURCE = "https://github.com/NVIDIA/nccl/issues/557"

Pairs = dict[tuple[str, str], Fact]


def copy_findings(
    evidence: Iterable[Evidence], texts: Mapping[str, Sequence[str]] | None = None
) -> tuple[Finding, ...]:
    """GPUs that copy more slowly to and from all others than these do among themselves.

    NVLink only. `texts` are the lines of each file, to be quoted.
    """
    found: dict[tuple[str, str], Finding] = {}
    for part in evidence:
        for attribute, pairs in _matrices(part).items():
            for finding, name in _slow_gpus(part, attribute, pairs, texts or {}):
                found.setdefault((part.file, name), finding)
    return tuple(found.values())


def _matrices(part: Evidence) -> dict[str, Pairs]:
    """Copies between GPUs by test: what a benchmark measured with peer access."""
    matrices: dict[str, Pairs] = {}
    for fact in part.facts:
        source, _, target = fact.subject.partition(">")
        is_copy = fact.attribute.endswith("_GBps") and "p2p_off" not in fact.attribute
        if is_copy and source.startswith("gpu") and target.startswith("gpu"):
            matrices.setdefault(fact.attribute, {})[source, target] = fact
    return matrices


def _slow_gpus(
    part: Evidence, attribute: str, pairs: Pairs, texts: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Finding, str]]:
    names = sorted({end for pair in pairs for end in pair}, key=lambda name: int(name[3:]))
    if len(names) < 4:
        return
    for name in names:
        own = [fact for pair, fact in pairs.items() if name in pair]
        others = [_rate(fact) for pair, fact in pairs.items() if name not in pair]
        if len(own) < 3 or len(others) < 3:
            continue
        usual = median(others)
        if usual < _LEAST or max(others) > min(others) * (1 + _ALIKE):
            continue
        rates = [_rate(fact) for fact in own]
        if max(rates) < _SLOWER * usual:
            yield _finding(part, attribute, name, own, usual, texts), name


def _finding(
    part: Evidence,
    attribute: str,
    name: str,
    own: list[Fact],
    usual: float,
    texts: Mapping[str, Sequence[str]],
) -> Finding:
    rate = median(map(_rate, own))
    share = rate / usual
    links = _links(part, share)
    lines = dict.fromkeys(fact.line for fact in own if fact.subject.startswith(f"{name}>"))
    return Finding(
        code="nvlink_down",
        severity="warning",
        cause=f"{name} copies at {rate:.4g} GB/s to and from every peer, the others at "
        f"{usual:.4g} among themselves: {share:.2f} of it{links}.",
        evidence=tuple(_line(part.file, line, attribute, texts) for line in list(lines)[:3]),
        remedy=f"`nvidia-smi nvlink -s -i {name[3:]}` shows inactive links; if all are up, "
        "look for another process on that GPU and measure again",
        confidence=0.75 if links else 0.5,
        source_url=_SOURCE,
    )


def _links(part: Evidence, share: float) -> str:
    """A clause such as "as 10 of 12 links would give", where some number has that share."""
    models = (str(fact.value) for fact in part.facts if fact.attribute == "model")
    counts = [_links_of(model) for model in models][:1] or list(_USUAL_LINKS)
    for count in counts:
        left = round(share * count)
        if 0 < left < count and abs(left / count - share) <= _SURE_OF_LINKS:
            return f", as {left} of {count} links would give"
    return ""


def _links_of(model: str) -> int:
    try:
        return gpu(model).nvlink_links
    except UnknownName:
        return 0


def _rate(fact: Fact) -> float:
    return float(fact.value) if isinstance(fact.value, int | float) else 0.0


def _line(file: str, line: int, attribute: str, texts: Mapping[str, Sequence[str]]) -> EvidenceLine:
    lines = texts.get(file, ())
    text = lines[line - 1].strip() if 0 < line <= len(lines) else attribute
    return EvidenceLine(file, line, text[:200])

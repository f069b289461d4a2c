"""Runs the layers of the test suite one after the other and prints what each of them counted.

python tools/run_tests.py [fast real corpus]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
PARALLEL = ("-n", "2", "--dist", "worksteal")
LAYERS = {
    "fast": ("-m", "fast", *PARALLEL),
    "real": ("-m", "real", "-n", "0"),
    "corpus": ("-m", "corpus and not real", *PARALLEL),
}
NO_TESTS = 5  # pytest's exit status


class Outcome(NamedTuple):
    """What one layer counted."""

    layer: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    good: bool


def run_layer(layer: str, report: Path) -> Outcome:
    """Run one layer; its counts come from pytest's own report."""
    print(f"\n{layer} layer", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-rfEs", *LAYERS[layer]]
    start = time.monotonic()
    status = subprocess.run([*command, f"--junitxml={report}"], cwd=ROOT, check=False).returncode
    seconds = time.monotonic() - start
    total, failed, skipped = counts(report)
    good = status in (0, NO_TESTS) and not failed
    return Outcome(layer, total - failed - skipped, failed, skipped, seconds, good)


def counts(report: Path) -> tuple[int, int, int]:
    """Tests, failures with errors, and skips; zeros when pytest wrote no report."""
    if not report.is_file():
        return 0, 0, 0
    suites = ElementTree.parse(report).iter("testsuite")
    rows = [
        [int(s.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")] for s in suites
    ]
    tests, failures, errors, skipped = (sum(column) for column in zip(*rows, strict=True))
    return tests, failures + errors, skipped


def table(outcomes: list[Outcome]) -> str:
    """One line a layer."""
    lines = [f"{'layer':8}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}"]
    for o in outcomes:
        line = f"{o.layer:8}{o.passed:8}{o.failed:8}{o.skipped:9}{o.seconds:9.1f}"
        lines.append(line if o.good else f"{line}  FAILED")
    return "\n".join(lines)


def main(layers: list[str]) -> int:
    """Exit status: 0 when every layer passed, 1 when one failed, 2 for an unknown layer."""
    unknown = [layer for layer in layers if layer not in LAYERS]
    if unknown:
        print(f"no layer {', '.join(unknown)}: there are {', '.join(LAYERS)}", file=sys.stderr)
        return 2
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for layer in layers or list(LAYERS):
            outcomes.append(run_layer(layer, Path(folder, f"{layer}.xml")))
    print(f"\n{table(outcomes)}")
    return 0 if all(o.good for o in outcomes) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)

"""Group table and worst records of a file of published measurements, for work on the model."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from wirespeed.readers.records import read_records
from wirespeed.validation.groups import Group
from wirespeed.validation.report import report

USAGE = "usage: validate.py FILE [--by-operation] [--by-generation] [--record ID] [--worst N]"


def main(words: list[str]) -> None:
    """Prints the tables that the options ask for."""
    if not words:
        raise SystemExit(USAGE)
    file = Path(words[0])
    started = time.perf_counter()
    good, bad = read_records(file.read_bytes(), file=str(file))
    if "--record" in words:
        wanted = words[words.index("--record") + 1]
        good = [record for record in good if wanted in record.id]
    result = report(good, bad)
    seconds = time.perf_counter() - started
    detailed = "--by-operation" in words
    print(f"{len(good)} records, {len(result.rows)} rows in {seconds:.1f} s")
    for group in result.groups:
        if group.folds != "all":
            continue
        if group.operation != "all" and not detailed:
            continue
        if group.generation != "all" and "--by-generation" not in words:
            continue
        print(line(group))
    if "--record" in words:
        for row in result.rows:
            print(
                f"{row.id[:40]:40} {'in' if row.in_place else 'out':3} {row.size_bytes!s:>12} "
                f"{row.measured_us or 0:12.1f} {row.forecast_us:12.1f} us "
                f"{row.measured_GBps or 0:8.2f} {row.forecast_GBps:8.2f} GB/s "
                f"{100 * (row.error or 0):+7.0f} % {row.algorithm}/{row.protocol}"
            )
        return
    count = int(words[words.index("--worst") + 1]) if "--worst" in words else 30
    print(f"worst {count}:")
    for entry in result.worst[:count]:
        print(
            f"{entry.median:8.0%} {entry.bias:+8.0%} {entry.rows:4} rows {entry.platform:9}"
            f"{entry.operation:15} {entry.gpu:14} {entry.nodes}x{entry.ranks}  {entry.id}"
        )
    reasons: dict[str, int] = {}
    for entry in result.skipped:
        reasons[entry.reason] = reasons.get(entry.reason, 0) + 1
    print(
        f"skipped {len(result.skipped)}:",
        *(f"{n} {text}" for text, n in reasons.items()),
        sep="\n  ",
    )
    print("notes:", *(f"{note.text} ({note.where})" for note in result.warnings), sep="\n  ")


def line(group: Group) -> str:
    """One group as a line."""
    return (
        f"{group.platform:9} {group.operation:15} {group.size_class:6} {group.generation:14} "
        f"{group.rows:6} rows {group.records:4} rec {group.sources:3} src  "
        f"median {group.median:6.1%}  p90 {group.p90:7.1%}  bias {group.bias:+7.1%}  "
        f"by source {group.source_median:6.1%}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])

"""Write docs/validation.md, and hold the errors of today against docs/validation-groups.json.

python tools/generate_validation_docs.py [RECORDS] [--accept]

Exit status 1 where a group's median error has worsened by more than a point; with --accept the
errors of today become the baseline instead. RECORDS is ../shared/validation/collectives.json.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from held_out import HeldOut, held_out
from held_out_shares import SharesHeldOut, shares_held_out, shares_section
from validation_reasons import REASONS

from wirespeed.readers.records import Record, read_records
from wirespeed.validation.baseline import read_baseline, worsened
from wirespeed.validation.groups import ALL, Group
from wirespeed.validation.report import ValidationReport, report

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT.parent / "shared" / "validation" / "collectives.json"
PAGE = ROOT / "docs" / "validation.md"
BASELINE = ROOT / "docs" / "validation-groups.json"

WORST = 30
"""Records that are listed."""

PLATFORMS = {
    ALL: "everything",
    "nvswitch": "one NVSwitch node or rack",
    "mesh": "PCIe and mesh nodes",
    "network": "beyond one NVLink domain",
}
SIZES = ("<=64K", "<=16M", ">16M", ALL)

HEAD = """# Validation

How far forecasts lie from what people have measured and published with nccl-tests and the like.

**Error** is forecast time over measured time, less 1: +10 % is a forecast that is too slow. Tables
show the median and the 90th percentile of its absolute value, and as *bias* the median with its
sign. Where only a bandwidth was printed, bandwidths are compared. Only rows of healthy records
count; beyond one NVLink domain, of repeated runs of one setting, the fastest of each size, since
the others met the network's other users. A forecast sees the machine, the library and the call,
never who measured, where, or when.

{counts} Parameters `{digest}`.

Written by `make validation`, which fails where the median of a group has worsened by more than a
point against [validation-groups.json](validation-groups.json);
`make validation ACCEPT=--accept` takes today's errors as that baseline.
`wirespeed validate RECORDS --baseline docs/validation-groups.json` compares without writing.
"""


class Target(NamedTuple):
    """What a group is meant to reach: median and 90th percentile of the absolute error."""

    platform: str
    size: str
    median: float
    p90: float
    by_source: bool = False


TARGETS = (
    Target("nvswitch", ALL, 0.06, 0.30),
    Target("nvswitch", ">16M", 0.03, 0.18),
    Target("mesh", ALL, 0.10, 0.35),
    Target("network", ALL, 0.25, 0.80, by_source=True),
    Target("network", ">16M", 0.15, 0.50, by_source=True),
)


class Errors(NamedTuple):
    """The errors of some rows in a few figures."""

    records: int
    rows: int
    median: float
    p90: float
    bias: float


def page(
    result: ValidationReport, records: Sequence[Record], unseen: HeldOut, shares: SharesHeldOut
) -> str:
    """All of docs/validation.md."""
    groups = result.groups
    parts = [
        head(result),
        "## Against the targets",
        "",
        "Targets are for rows whose folds were held out: a fold is a source, or a part of a large",
        "one. All parameters are fitted ten times, each time without about a tenth of the folds,",
        "whose rows are then forecast. Beyond one NVLink domain the median is the median over",
        "sources of each source's median, since a few of them have most rows.",
        "",
        *targets(groups, unseen),
        "",
        "## GPUs that no parameter has seen",
        "",
        "All parameters fitted without a single row of a GPU, whose rows are then forecast.",
        "",
        *unseen_gpus(unseen),
        "",
        *shares_section(shares),
        "",
        "## Bands",
        "",
        *covered(unseen),
        "",
        "## By platform and size",
        "",
        *by_size(groups, unseen),
        "",
        "## By operation",
        "",
        "Median error as shipped, with the number of rows in brackets.",
        "",
        *crossed(groups, lambda g: g.operation, lambda g: g.generation == ALL),
        "",
        "## By generation of GPU",
        "",
        "Median error as shipped, with the number of rows in brackets.",
        "",
        *crossed(groups, lambda g: g.generation, lambda g: g.operation == ALL),
        "",
        "## By source",
        "",
        *by_source(result, records),
        "",
        f"## The {WORST} worst records",
        "",
        "The reason is ours, where one is known.",
        "",
        *worst(result),
        "",
        "## Skipped",
        "",
        *skipped(result),
        "",
        "## Words that were not understood, and what was taken instead",
        "",
        *[f"- {note.text} ({note.where})" for note in result.warnings],
    ]
    return "\n".join(parts) + "\n"


def head(result: ValidationReport) -> str:
    """What is compared, by what rules."""
    counted = [row for row in result.rows if row.counts]
    in_use = len({row.record for row in counted})
    read = len({row.record for row in result.rows})
    counts = (
        f"{read} records with {len(result.rows):,} rows are forecast, {len(result.skipped)} are "
        f"skipped; {in_use} healthy ones with {len(counted):,} rows count."
    )
    return HEAD.format(counts=counts, digest=result.parameters.hash)


def targets(groups: Sequence[Group], unseen: HeldOut) -> list[str]:
    """The table of what was aimed at and what is reached."""
    lines = table("group", "size", "target", "folds held out", "as shipped", right=2)
    for target in TARGETS:
        held = unseen.classes[target.platform, target.size]
        shipped = one(groups, target.platform, size_class=target.size)
        cells = [PLATFORMS[target.platform], size_words(target.size)]
        cells.append(f"{percent(target.median)} / {percent(target.p90)}")
        cells.append(reached(target, held.by_source if target.by_source else held.median, held.p90))
        assert shipped is not None
        median = shipped.source_median if target.by_source else shipped.median
        lines.append(row([*cells, f"{percent(median)} / {percent(shipped.p90)}"]))
    return [*lines, "", "Each cell: median / 90th percentile, in %. Bold: reached."]


def reached(target: Target, median: float, p90: float) -> str:
    """Median and 90th percentile, each bold where it is good enough."""
    pairs = ((median, target.median), (p90, target.p90))
    return " / ".join(f"**{percent(v)}**" if v <= t else percent(v) for v, t in pairs)


def unseen_gpus(unseen: HeldOut) -> list[str]:
    """Errors of GPUs that were left out, beside those with all parameters fitted."""
    names = ("GPU", "group", "rows", "median %", "90th %", "bias %")
    lines = table(*names, "as shipped: median %", "90th %", right=2)
    for (gpu, platform), (held, shipped) in unseen.gpus.items():
        cells = [gpu, PLATFORMS[platform], f"{held.rows:,}"]
        cells += [percent(held.median), percent(held.p90), signed(held.bias)]
        lines.append(row([*cells, percent(shipped.median), percent(shipped.p90)]))
    return lines


def covered(unseen: HeldOut) -> list[str]:
    """How often unseen rows lie in their bands, and how wide these are."""
    names = ("group", "size", "rows", "inside %", "half width %", "median error %")
    lines = table(*names, "ratio", "80 % within %", "ratio", right=2)
    for platform in PLATFORMS:
        for size in SIZES:
            entry = unseen.bands[platform, size]
            cells = [PLATFORMS[platform], size_words(size), f"{entry.rows:,}"]
            cells += [percent(entry.covered), percent(entry.half_width), percent(entry.error)]
            cells += [f"{entry.half_width / entry.error:.1f}", percent(entry.within)]
            lines.append(row([*cells, f"{entry.within / entry.error:.1f}"]))
    return [
        "Bands made without a row's fold, and the row: 75 to 85 % of the rows of a size are to be",
        "inside, and half the width is to be 2.5 times the median error at most. Folds weigh alike",
        "in a band, whatever the number of their rows. The last columns say what is in the way of",
        "narrower ones: the error that four of five rows keep, over the median error. A band of a",
        "single width that holds four of five rows cannot be narrower than that.",
        "",
        *lines,
    ]


def by_size(groups: Sequence[Group], unseen: HeldOut) -> list[str]:
    """Errors by platform and size class, with the folds held out and as shipped."""
    names = ("group", "size", "", "rows", "records", "sources")
    lines = table(*names, "median %", "90th %", "bias %", "by source %", right=3)
    for platform in PLATFORMS:
        for size in SIZES:
            where = [PLATFORMS[platform], size_words(size)]
            held = unseen.classes.get((platform, size))
            if held is not None:
                cells = [*where, "folds held out", f"{held.rows:,}", "", ""]
                cells += [percent(held.median), percent(held.p90), signed(held.bias)]
                lines.append(row([*cells, percent(held.by_source)]))
            group = one(groups, platform, size_class=size)
            if group is not None:
                cells = [*where, "as shipped"]
                cells += [f"{n:,}" for n in (group.rows, group.records, group.sources)]
                cells += [percent(group.median), percent(group.p90), signed(group.bias)]
                lines.append(row([*cells, percent(group.source_median)]))
    return [
        *lines,
        "",
        "Copies are not fitted; beyond one NVLink domain in place and out of place are one setting",
        "where folds are held out, so that there are fewer rows.",
    ]


def crossed(
    groups: Iterable[Group], name: Callable[[Group], str], belongs: Callable[[Group], bool]
) -> list[str]:
    """Medians of a platform's operations or generations, by size class."""
    lines = table("platform", "", *map(size_words, SIZES), right=2)
    chosen = [g for g in groups if g.folds == ALL and belongs(g) and name(g) != ALL]
    for platform in PLATFORMS:
        for label in sorted({name(g) for g in chosen if g.platform == platform}):
            mine = {g.size_class: g for g in chosen if g.platform == platform and name(g) == label}
            cells = [
                f"{percent(mine[size].median)} ({mine[size].rows:,})" if size in mine else ""
                for size in SIZES
            ]
            lines.append(row([PLATFORMS[platform], label, *cells]))
    return lines


def by_source(result: ValidationReport, records: Sequence[Record]) -> list[str]:
    """Errors by where a record was published and where the data went."""
    at = {record.position: record for record in records}
    platform = {entry.record: entry.platform for entry in result.worst}
    errors: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for entry in result.rows:
        if entry.counts and entry.error is not None:
            key = (platform[entry.record], at[entry.record].source)
            errors.setdefault(key, []).append((entry.record, entry.error))
    lines = table("platform", "source", "records", "rows", "median %", "90th %", "bias %", right=2)
    order = list(PLATFORMS)
    for (where, source), found in sorted(
        errors.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
    ):
        figures = summed(found)
        cells = [PLATFORMS[where], escaped(source), f"{figures.records}", f"{figures.rows:,}"]
        cells += [percent(figures.median), percent(figures.p90), signed(figures.bias)]
        lines.append(row(cells))
    return lines


def summed(found: Sequence[tuple[int, float]]) -> Errors:
    """Figures of (record, error)."""
    errors = np.array([error for _, error in found])
    return Errors(
        len({record for record, _ in found}),
        len(found),
        float(np.median(np.abs(errors))),
        float(np.quantile(np.abs(errors), 0.9)),
        float(np.median(errors)),
    )


def worst(result: ValidationReport) -> list[str]:
    """The records with the largest median error, and why where that is known."""
    names = ("record", "operation", "GPU", "nodes", "ranks", "rows", "median %", "bias %")
    lines = table(*names, "reason", right=3, left_again=1)
    for entry in result.worst[:WORST]:
        cells = [escaped(entry.id or str(entry.record)), entry.operation, entry.gpu]
        cells += [str(entry.nodes), str(entry.ranks), str(entry.rows)]
        cells += [percent(entry.median), signed(entry.bias), reason(entry.id)]
        lines.append(row(cells))
    return lines


def reason(identity: str) -> str:
    """Why a record's forecast is far off; empty where it is not known."""
    return next((why for start, why in REASONS.items() if identity.startswith(start)), "")


def skipped(result: ValidationReport) -> list[str]:
    """Reasons with the records that they hold for."""
    reasons = Counter(entry.reason for entry in result.skipped)
    lines = []
    for text, count in reasons.most_common():
        positions = [entry.record for entry in result.skipped if entry.reason == text]
        noun = "record" if count == 1 else "records"
        lines.append(f"- {count}: {text} ({noun} {', '.join(map(str, positions))})")
    return lines


def one(
    groups: Iterable[Group], platform: str, *, size_class: str = ALL, folds: str = ALL
) -> Group | None:
    """The group of a platform and size class over all operations and generations."""
    key = (platform, ALL, size_class, ALL, folds)
    named = ((g.platform, g.operation, g.size_class, g.generation, g.folds) == key for g in groups)
    return next((g for g, same in zip(groups, named, strict=True) if same), None)


def table(*heads: str, right: int, left_again: int = 0) -> list[str]:
    """Head and rule of a table; columns are set to the right from `right` on."""
    numbers = len(heads) - right - left_again
    return [row(heads), f"|{'---|' * right}{'---:|' * numbers}{'---|' * left_again}"]


def row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def size_words(size: str) -> str:
    """A size class as a table shows it."""
    words = {"<=64K": "up to 64K", "<=16M": "up to 16M", ">16M": "above 16M"}
    return words.get(size, "all")


def percent(share: float) -> str:
    """A share in per cent."""
    return f"{share * 100:.1f}"


def signed(share: float) -> str:
    """A share in per cent with its sign."""
    return f"{share * 100:+.1f}"


def escaped(text: str) -> str:
    """Text as Markdown shows it literally inside a table."""
    return text.replace("|", r"\|").replace("*", r"\*").replace("_", r"\_").replace("<", r"\<")


def baseline(result: ValidationReport) -> bytes:
    """The groups as `wirespeed validate --baseline` reads them, one a line, errors to 0.01 %."""
    lines = [msgspec.json.encode(rounded(group)).decode() for group in result.groups]
    body = ",\n".join(lines)
    return f'{{"parameters": "{result.parameters.hash}", "groups": [\n{body}\n]}}\n'.encode()


def rounded(group: Group) -> Group:
    """The group with errors as precise as a comparison needs them."""
    figures = ("median", "p90", "bias", "source_median")
    return msgspec.structs.replace(
        group, **{name: round(getattr(group, name), 4) for name in figures}
    )


def main() -> int:
    """Exit status: 0 unless a group got worse (1) or there are no records (2)."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("records", nargs="?", type=Path, default=RECORDS)
    parser.add_argument("--accept", action="store_true", help="take today's errors as baseline")
    options = parser.parse_args()
    if not options.records.is_file():
        print(f"there is no {options.records}: name the file of records", file=sys.stderr)
        return 2
    good, bad = read_records(options.records.read_bytes(), file=str(options.records))
    result = report(good, bad)
    unseen = held_out(good)
    PAGE.write_text(page(result, good, unseen, shares_held_out(good)), encoding="utf-8")
    print("\n".join(targets(result.groups, unseen)))
    before = read_baseline(BASELINE.read_bytes(), file=BASELINE.name) if BASELINE.is_file() else ()
    worse = worsened(before, result.groups)
    if options.accept or not before:
        BASELINE.write_bytes(baseline(result))
    for entry in worse:
        print(f"worse than {BASELINE.name}: {entry}", file=sys.stderr)
    return 1 if worse and not options.accept else 0


if __name__ == "__main__":
    sys.exit(main())

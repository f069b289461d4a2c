"""Write docs/training-validation.md, and hold today's errors against docs/training-groups.json.

python tools/generate_training_validation.py [RECORDS] [--accept] [--cross]

Exit status 1 where a group's median error has worsened by more than a point; with --accept the
errors of today become the baseline instead. --cross fits the parameters of compute once for each
part of the folds, forecasts what that fit has not seen, and writes docs/training-held-out.json and
the bands of steps; it takes its time. RECORDS is ../shared/validation/training.json.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec
import tomli_w
from fit_training import chosen, fit

from wirespeed.comparison.training_bands import StepBandFile, step_bands
from wirespeed.readers.training_records import read_training_records
from wirespeed.validation.training_groups import (
    TrainingGroup,
    grouped,
    read_training_baseline,
    worsened,
)
from wirespeed.validation.training_held_out import PARTS, fit_bands, held_out, unseen
from wirespeed.validation.training_report import TrainingReport, TrainingRow, training_report
from wirespeed.validation.training_targets import Target, targets
from wirespeed.views.validate_training import FIGURES, figure

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT.parent / "shared" / "validation" / "training.json"
PAGE = ROOT / "docs" / "training-validation.md"
BASELINE = ROOT / "docs" / "training-groups.json"
HELD_OUT = ROOT / "docs" / "training-held-out.json"
BANDS = ROOT / "src/wirespeed/comparison/data/training_bands.toml"
BANDS_HEAD = "# 80 % bands of steps by class: measured over forecast time, whole folds held out.\n"
ONE_NODE = ("cnn", "dle-bert", "dle-nlp", "nvlink-pcie")
"""Collections of data-parallel runs that have small sizes."""
WORST = 30
"""Runs that are listed."""

HEAD = """# Validation of training steps

How far forecasts of training steps lie from what people have published.

**Error** is forecast step time over the measured one, less 1: +10 % is a forecast that is too slow.
Where a rate was published it is compared as the step time that follows; TFLOP/s and MFU are not,
since sources count FLOPs in many ways. Runs count whose source says enough (grades A and B); of the
others only how they scale. *Bias* is the median error with its sign. *tau* is Kendall's rank
correlation between forecast and measured times of the layouts of a series of five or more, *regret*
how much slower the layout is that the forecast prefers than the best; both are means over series.
*Efficiency* is the rate of a GPU against that on the largest size inside one node, and the figure
is by how many points forecast and measured differ. A forecast sees the machine, the model, the
layout and the framework, never who measured, where, or when; what a run leaves open (micro-batch,
recompute, the layout itself) is chosen as a user would.

{counts} Parameters `{digest}`.

Written by `make validation`, which fails where the median of a group has worsened by more than a
point against [training-groups.json](training-groups.json);
`make validation ACCEPT=--accept` takes today's errors as that baseline.
`wirespeed validate RECORDS --baseline docs/training-groups.json` compares without writing.
"""


class HeldOut(msgspec.Struct):
    """Steps [s] by position in the file, and the parameters that the package had then."""

    parameters: str
    seconds: dict[str, float]


def page(result: TrainingReport, without: list[TrainingRow] | None) -> str:
    """All of docs/training-validation.md."""
    parts = [
        head(result),
        "## Against the targets",
        "",
        *held_out_words(without),
        "",
        *target_table(result.targets, list(targets(without)) if without else None),
        "",
        "## By collection, as shipped",
        "",
        *collections(result.groups),
        "",
        *by_collection_unseen(without),
        "## Inside one node",
        "",
        *inside(result.rows),
        "",
        f"## The {WORST} worst runs",
        "",
        *worst(result.rows),
        "",
        "## Bands",
        "",
        *bands(),
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


def head(result: TrainingReport) -> str:
    """What is compared, by what rules."""
    judged = [row for row in result.rows if row.counts and row.error is not None]
    counts = (
        f"{len(result.rows):,} runs are forecast, {len(result.skipped)} are skipped; "
        f"{len(judged):,} with a time count."
    )
    return HEAD.format(counts=counts, digest=result.parameters.hash)


def held_out_words(without: list[TrainingRow] | None) -> list[str]:
    """What the columns are."""
    if without is None:
        return ["As shipped: nothing has been held out under these parameters yet."]
    return [
        f"Held out: folds, whole, are dealt into {PARTS} parts; all parameters of compute and host",
        "are fitted without a part, whose runs are then forecast. As shipped: fitted on all.",
        "Memory has no fitted parameter of these kinds.",
    ]


def target_table(shipped: Sequence[Target], without: Sequence[Target] | None) -> list[str]:
    """The table of what was aimed at and what is reached; bold: reached."""
    lines = table("runs of", "figure", "runs", "target", "folds held out", "as shipped", right=2)
    for k, target in enumerate(shipped):
        cells = [target.name, FIGURES[target.figure], str(target.runs)]
        cells.append(figure(target.figure, target.limit))
        cells.append(reached(without[k]) if without else "")
        lines.append(row([*cells, reached(target)]))
    return [*lines, "", "Bold: reached."]


def reached(target: Target) -> str:
    """A figure, bold where it is good enough."""
    if target.reached is None:
        return ""
    text = figure(target.figure, target.reached)
    return f"**{text}**" if target.met else text


def by_collection_unseen(without: list[TrainingRow] | None) -> list[str]:
    """The same table of collections with folds held out."""
    if without is None:
        return []
    return ["## By collection, folds held out", "", *collections(grouped(without)), ""]


def collections(groups: Iterable[TrainingGroup]) -> list[str]:
    """Errors of every collection."""
    names = ("collection", "runs", "mean %", "median %", "90th %", "bias %", "tau", "regret %")
    more = ("efficiency, mean", "worst", "memory runs", "memory, median %")
    lines = table(*names, *more, right=1)
    for group in groups:
        cells = [group.group, str(group.rows)]
        cells += [percent(x) for x in (group.mean, group.median, group.p90)]
        cells.append("" if group.bias is None else f"{group.bias * 100:+.1f}")
        cells.append("" if group.tau is None else f"{group.tau:.2f}")
        cells.append(percent(group.regret))
        points = (group.efficiency_points, group.efficiency_worst)
        cells += ["" if x is None else f"{x:.1f}" for x in points]
        cells += [str(group.memory_rows or ""), percent(group.memory_median)]
        lines.append(row(cells))
    return lines


def inside(rows: Iterable[TrainingRow]) -> list[str]:
    """How data-parallel runs scale inside a node: input and host decide there as much as links."""
    series: dict[str, list[TrainingRow]] = {}
    for entry in rows:
        if entry.group in ONE_NODE and entry.nodes == 1 and entry.measured_s:
            series.setdefault(entry.series, []).append(entry)
    lines = table("series", "GPU", "GPUs", "measured", "forecast", right=2)
    for name, members in series.items():
        members.sort(key=lambda entry: entry.gpus)
        first = members[0]
        for entry in members[1:]:
            work = entry.items / first.items * first.gpus / entry.gpus
            measured = work * (first.measured_s or 0.0) / (entry.measured_s or 1.0)
            forecast = work * first.forecast_s / entry.forecast_s
            cells = (escaped(name), entry.gpu, f"{first.gpus} to {entry.gpus}")
            lines.append(row([*cells, f"{measured:.2f}", f"{forecast:.2f}"]))
    return [
        "Efficiency of data-parallel runs within a node, where input and host decide as much as",
        "links: reported, not judged.",
        "",
        *lines,
    ]


def worst(rows: Iterable[TrainingRow]) -> list[str]:
    """The runs with the largest error."""
    judged = [row for row in rows if row.counts and row.error is not None]
    judged.sort(key=lambda entry: (-abs(entry.error or 0.0), entry.record))
    lines = table(
        "run", "collection", "GPU", "GPUs", "measured s", "forecast s", "error %", right=3
    )
    for entry in judged[:WORST]:
        cells = [escaped(entry.id or str(entry.record)), entry.group, entry.gpu, str(entry.gpus)]
        cells += [f"{entry.measured_s:.4g}", f"{entry.forecast_s:.4g}"]
        lines.append(row([*cells, f"{(entry.error or 0.0) * 100:+.0f}"]))
    return lines


def bands() -> list[str]:
    """The bands that the package ships."""
    shipped = step_bands().band
    if not shipped:
        return ["There are none yet."]
    lines = table("GPUs", "where", "low", "high", "runs", "folds", right=2)
    for band in shipped:
        ends = (f"{(x - 1) * 100:+.0f} %" for x in (band.low, band.high))
        lines.append(row([band.generation, band.reach, *ends, str(band.runs), str(band.folds)]))
    return [
        "Between which times, from the forecast, four of five published runs lie that the",
        "parameters have not seen; folds weigh alike.",
        "",
        *lines,
    ]


def skipped(result: TrainingReport) -> list[str]:
    """Reasons with the runs that they hold for."""
    reasons = Counter(entry.reason for entry in result.skipped)
    lines = []
    for text, count in reasons.most_common():
        positions = [str(entry.record) for entry in result.skipped if entry.reason == text]
        shown = ", ".join(positions[:12]) + (", …" if len(positions) > 12 else "")
        lines.append(f"- {count}: {text} ({'run' if count == 1 else 'runs'} {shown})")
    return lines


def table(*heads: str, right: int) -> list[str]:
    """Head and rule of a table; columns are set to the right from `right` on."""
    return [row(heads), f"|{'---|' * right}{'---:|' * (len(heads) - right)}"]


def row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def percent(share: float | None) -> str:
    """A share in per cent."""
    return "" if share is None else f"{share * 100:.1f}"


def escaped(text: str) -> str:
    """Text as Markdown shows it literally inside a table."""
    return text.replace("|", r"\|").replace("*", r"\*").replace("_", r"\_").replace("<", r"\<")


def baseline(result: TrainingReport) -> bytes:
    """The groups as `wirespeed validate --baseline` reads them, one a line, errors to 0.01 %."""
    lines = [msgspec.json.encode(rounded(group)).decode() for group in result.groups]
    body = ",\n".join(lines)
    return f'{{"parameters": "{result.parameters.hash}", "groups": [\n{body}\n]}}\n'.encode()


def rounded(group: TrainingGroup) -> TrainingGroup:
    """The group with figures as precise as a comparison needs them."""
    figures = {
        name: round(value, 4)
        for name, value in msgspec.structs.asdict(group).items()
        if isinstance(value, float)
    }
    return msgspec.structs.replace(group, **figures)


def read_held_out(parameters: str) -> dict[int, float] | None:
    """The steps that were held out under these parameters; None under others."""
    if not HELD_OUT.is_file():
        return None
    saved = msgspec.json.decode(HELD_OUT.read_bytes(), type=HeldOut)
    if saved.parameters != parameters:
        return None
    return {int(position): seconds for position, seconds in saved.seconds.items()}


def write_held_out(result: TrainingReport, seconds: dict[int, float]) -> None:
    """The steps, a line each, and the bands that follow from them."""
    body = ",\n".join(f'"{k}": {value:.5g}' for k, value in sorted(seconds.items()))
    HELD_OUT.write_text(
        f'{{"parameters": "{result.parameters.hash}", "seconds": {{\n{body}\n}}}}\n',
        encoding="utf-8",
    )
    file = StepBandFile(result.parameters.hash, tuple(fit_bands(unseen(result.rows, seconds))))
    BANDS.write_text(BANDS_HEAD + tomli_w.dumps(msgspec.to_builtins(file)), encoding="utf-8")
    step_bands.cache_clear()


def main() -> int:
    """Exit status: 0 unless a group got worse (1) or there are no records (2)."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("records", nargs="?", type=Path, default=RECORDS)
    parser.add_argument("--accept", action="store_true", help="take today's errors as baseline")
    parser.add_argument("--cross", action="store_true", help="hold folds out anew")
    options = parser.parse_args()
    if not options.records.is_file():
        print(f"there is no {options.records}: name the file of records", file=sys.stderr)
        return 2
    good, bad = read_training_records(options.records.read_bytes(), file=str(options.records))
    result = training_report(good, bad)
    if options.cross:
        said = partial(print, file=sys.stderr, flush=True)
        write_held_out(result, held_out(good, chosen(good), fit, said))
    seconds = read_held_out(result.parameters.hash)
    without = unseen(result.rows, seconds) if seconds else None
    PAGE.write_text(page(result, without), encoding="utf-8")
    print("\n".join(target_table(result.targets, list(targets(without)) if without else None)))
    before = (
        read_training_baseline(BASELINE.read_bytes(), file=BASELINE.name)
        if BASELINE.is_file()
        else ()
    )
    worse = worsened(before, result.groups)
    if options.accept or not before:
        BASELINE.write_bytes(baseline(result))
    for entry in worse:
        print(f"worse than {BASELINE.name}: {entry}", file=sys.stderr)
    return 1 if worse and not options.accept else 0


if __name__ == "__main__":
    sys.exit(main())

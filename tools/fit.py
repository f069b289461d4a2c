"""Fits the parameters and the bands to published measurements: `make fit`.

fit.py RECORDS            rewrites parameters.toml and bands.toml
fit.py RECORDS --cross    only prints the errors with whole folds held out
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np

from wirespeed.catalog import Parameters, parameters
from wirespeed.readers.records import read_records
from wirespeed.validation.bands import Residual, as_toml, calibrated_shares, coverage, fit_bands
from wirespeed.validation.fitted import (
    FAR,
    NEAR,
    beginning,
    cross_fitted,
    fit_all,
    residuals_of,
)
from wirespeed.validation.fitting import Sample, collect
from wirespeed.validation.search import changed, depends_on

ROOT = Path(__file__).resolve().parents[1]
PARAMETERS = ROOT / "src/wirespeed/catalog/data/parameters.toml"
LISTS_FOLDS = ("gpu.copy.rate", "protocol.ll.network_share")
"""Of the parameters that rest on all rows within one domain, or beyond, one names the folds."""
BANDS = ROOT / "src/wirespeed/comparison/data/bands.toml"


def main(words: list[str]) -> None:
    """Fits, cross-validates, writes."""
    file = Path(words[0])
    good, _ = read_records(file.read_bytes(), file=str(file))
    data = collect(good)
    start = beginning(parameters())
    print(f"{len(data.rows)} rows of {len({row.fold for row in data.rows})} folds")
    unseen: list[Residual] = []
    sources: list[str] = []
    for fitted, part in cross_fitted(data, start):
        unseen += residuals_of(part, fitted)
        sources += [row.source for row in part.rows]
    print(table(unseen, sources))
    if "--cross" in words:
        return
    best = fit_all(data, start)
    write_parameters(best, data)
    shares = calibrated_shares(unseen)
    BANDS.write_text(as_toml(fit_bands(unseen, shares), digest_of(best)), "utf-8")
    for entry in coverage(unseen, shares):
        print(
            f"{entry.platform:9} {entry.size:6} {entry.rows:5} rows  {entry.covered:5.1%} inside  "
            f"half width {entry.half_width:6.1%}  error {entry.error:6.1%}"
        )


def table(rows: list[Residual], sources: list[str]) -> str:
    """Errors with whole folds held out, by platform and size class."""
    lines = []
    error = np.abs([row.error for row in rows])
    platform = np.array([row.of.platform for row in rows])
    size = np.array([row.of.size for row in rows])
    source = np.array(sources)
    for name in ("nvswitch", "mesh", "network"):
        for wide in ("<=64K", "<=16M", ">16M", "all"):
            mine = (platform == name) & ((size == wide) | (wide == "all"))
            each = [np.median(error[mine & (source == one)]) for one in set(source[mine])]
            lines.append(
                f"{name:9} {wide:6} {mine.sum():5} rows  median {np.median(error[mine]):6.1%}  "
                f"p90 {np.quantile(error[mine], 0.9):6.1%}  by source {np.median(each):6.1%}"
            )
    return "\n".join(lines)


def write_parameters(best: Parameters, data: Sample) -> None:
    """Puts the fitted values into the file, four digits each, with the folds they rest on."""
    text = PARAMETERS.read_text("utf-8")
    for key in (*NEAR, *FAR):
        group, name, entry = key.split(".")
        mine = depends_on(data, key)
        folds = sorted({row.fold for row, keep in zip(data.rows, mine, strict=True) if keep})
        section = re.search(rf"^\[{group}\.{re.escape(name)}\]\n(?:(?!\[).*\n)*", text, re.M)
        assert section is not None, key
        listed = f", folds = {json.dumps(folds)}" if key in LISTS_FOLDS else ""
        line = (
            f'{entry} = {{ value = {best.number(key):.4g}, unit = "{best.table[key].unit}", '
            f'source = "published sweeps, {len(folds)} folds", confidence = "fitted", '
            f"start = {best.table[key].start:g}{listed} }}"
        )
        escaped = line.replace("\\", r"\\")
        changed_section = re.sub(rf"^{entry} = .*$", escaped, section[0], flags=re.M)
        text = text.replace(section[0], changed_section)
    PARAMETERS.write_text(text, "utf-8")


def digest_of(best: Parameters) -> str:
    """The hash that these parameters have once they are in the file."""
    rounded = {key: float(f"{best.number(key):.4g}") for key in (*NEAR, *FAR)}
    return Parameters.hashed(changed(best, rounded).table)


if __name__ == "__main__":
    main(sys.argv[1:])

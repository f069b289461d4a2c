"""Shares of links taken from sweeps that are also scored: what they cost when held out too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import parameters
from wirespeed.comparison.classes import Platform
from wirespeed.readers.records import Record
from wirespeed.validation.bands import PARTS, part_of
from wirespeed.validation.fitting import Sample, collect
from wirespeed.validation.search import changed, search

Errors = npt.NDArray[np.float64]

_NAMES = ("nvlink_share", "switched_share")
_UNMEASURED = "generation.other.nvlink_share"
"""What every share begins at: a generation of which no row is left keeps the value of others."""


class ShareHeldOut(NamedTuple):
    """A share as shipped, and the least and the most of it when a tenth of the folds is unseen."""

    key: str
    shipped: float
    least: float
    most: float


class SharesHeldOut(NamedTuple):
    """The shares, and by platform and size the absolute errors as shipped and with shares unseen.

    All other parameters are as shipped on both sides, so that the difference is the shares' own.
    """

    shares: tuple[ShareHeldOut, ...]
    errors: dict[tuple[str, str], tuple[Errors, Errors]]


def shares_held_out(records: Sequence[Record]) -> SharesHeldOut:
    """Each share found again without a row's fold, within one domain; a quarter of a minute."""
    every = collect(records)
    near = np.array([row.platform != Platform.NETWORK.value for row in every.rows])
    data, shipped = every.part(near), parameters()
    keys = [
        key
        for key, entry in shipped.table.items()
        if key.endswith(_NAMES) and entry.confidence == "measured"
    ]
    start = changed(shipped, dict.fromkeys(keys, shipped.number(_UNMEASURED)))
    parts = np.array([part_of(row.fold) for row in data.rows])
    errors = np.empty((2, len(data.rows)))
    found: dict[str, list[float]] = {key: [] for key in keys}
    for part in range(PARTS):
        unseen = parts == part
        fitted = search(data.part(~unseen), start, keys)
        for row, values in enumerate((shipped, fitted)):
            mine = data.part(unseen)
            errors[row, unseen] = np.abs(mine.times(values) / mine.measured - 1)
        for key in keys:
            found[key].append(fitted.number(key))
    shares = [ShareHeldOut(k, shipped.number(k), min(found[k]), max(found[k])) for k in keys]
    return SharesHeldOut(tuple(shares), _by_class(data, errors))


def _by_class(data: Sample, errors: Errors) -> dict[tuple[str, str], tuple[Errors, Errors]]:
    classes = {}
    for platform in (Platform.NVSWITCH.value, Platform.MESH.value):
        for size in ("all", ">16M"):
            rows = [r.platform == platform and size in (r.size_class, "all") for r in data.rows]
            kept = np.array(rows)
            classes[platform, size] = (errors[0, kept], errors[1, kept])
    return classes


def shares_section(held: SharesHeldOut) -> list[str]:
    """Lines of the page: what the shares are without a tenth of the folds, and what that costs."""
    lines = [
        "## Shares of links held out",
        "",
        "The share of a link's rate that its traffic keeps is read from sweeps that are scored",
        "too, and the tables above keep it. Here each share begins at that of an unknown",
        "generation and is found ten times without a tenth of the folds, whose rows are then",
        "forecast; all other values are as shipped, fitted on every row. The last table is what",
        "the shares owe to having been seen. Shares of PCIe and of the host's memory, which few",
        "sources show, are not among them.",
        "",
        "| share | as shipped | least | most |",
        "|---|---:|---:|---:|",
    ]
    for share in held.shares:
        lines.append(
            f"| `{share.key}` | {share.shipped:.3f} | {share.least:.3f} | {share.most:.3f} |"
        )
    lines += [
        "",
        "| group | size | rows | as shipped: median % | 90th % | held out: median % | 90th % |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    names = {"nvswitch": "one NVSwitch node or rack", "mesh": "PCIe and mesh nodes"}
    words = {"all": "all", ">16M": "above 16M"}
    for (platform, size), both in held.errors.items():
        cells = [f"{np.quantile(e, q) * 100:.1f}" for e in both for q in (0.5, 0.9)]
        row = [names[platform], words[size], f"{len(both[0]):,}", *cells]
        lines.append(f"| {' | '.join(row)} |")
    return lines

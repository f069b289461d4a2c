"""Folds are held out whole, and bands are quantiles over folds that weigh alike."""

from __future__ import annotations

import json

import msgspec
import pytest

from validation.test_training_groups import record, run
from wirespeed.readers.training_records import read_training_records
from wirespeed.training.compute import pace_table
from wirespeed.validation.training_held_out import PARTS, fit_bands, held_out, parts_of, unseen

GROUPS = {"a": 7, "b": 1, "c": PARTS}


def records():
    plain = [
        record(group=group, fold=f"{group}{k}", series=f"{group}{k}", id=f"{group}{k}{n}")
        for group, folds in GROUPS.items()
        for k in range(folds)
        for n in range(2)
    ]
    return read_training_records(json.dumps(plain), file="r")[0]


def test_a_fold_is_in_one_part_and_a_groups_folds_are_spread():
    runs = records()
    parts = parts_of(runs)
    assert set(parts) <= set(range(PARTS))
    where: dict[str, set[int]] = {}
    for one, part in zip(runs, parts, strict=True):
        where.setdefault(one.fold, set()).add(part)
    assert all(len(found) == 1 for found in where.values())
    assert {next(iter(where[f"c{k}"])) for k in range(PARTS)} == set(range(PARTS))


def test_a_run_is_forecast_by_a_fit_that_has_not_seen_its_fold():
    runs = [one for one in records() if one.group == "c"]
    seen: list[set[str]] = []

    def fit(others):
        seen.append({run.record.fold for run in others})
        # A host so slow that the part shows in the forecast.
        slower = 10.0 ** len(seen)
        return {
            key: msgspec.structs.replace(entry, value=entry.value * slower)
            if key.startswith("host-")
            else entry
            for key, entry in pace_table().items()
        }

    found = held_out(runs, runs, fit)
    assert set(found) == {one.position for one in runs}
    parts = dict(zip((one.position for one in runs), parts_of(runs), strict=True))
    for one in runs:
        assert one.fold not in seen[parts[one.position]]
    by_part = sorted((parts[position], seconds) for position, seconds in found.items())
    assert [seconds for _, seconds in by_part] == sorted(found.values())


def test_rows_take_the_unseen_forecast_and_its_error():
    rows = [run(2.0, 2.0, record=0), run(2.0, 2.0, record=1)]
    first, second = unseen(rows, {0: 3.0})
    assert (first.forecast_s, first.error) == (3.0, pytest.approx(0.5))
    assert second == rows[1]


def test_a_large_fold_weighs_no_more_than_a_small_one():
    crowd = [run(1.0, 1.0, fold="crowd") for _ in range(96)]
    others = [run(0.5, 1.0, fold=f"low{k}") for k in range(2)]
    others += [run(2.0, 1.0, fold=f"high{k}") for k in range(2)]
    bands = {(band.generation, band.reach): band for band in fit_bands(crowd + others)}
    band = bands["Hopper", "node"]
    assert (band.low, band.high) == (0.5, 2.0)
    assert (band.runs, band.folds) == (100, 5)
    assert ("any", "any") in bands


def test_a_class_of_few_has_no_band_of_its_own():
    few = [run(1.0, 1.1, fold=f"f{k}") for k in range(5)]
    assert {(band.generation, band.reach) for band in fit_bands(few)} == {("any", "any")}

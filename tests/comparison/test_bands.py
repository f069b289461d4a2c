"""Bands belong to the parameters that they were made with, and stand beside every forecast."""

from __future__ import annotations

from wirespeed import collective
from wirespeed.catalog import parameters
from wirespeed.comparison.bands import bands, bands_for


def test_the_bands_are_of_todays_parameters():
    assert bands_for() == parameters().digest


def test_every_band_holds_its_forecast():
    assert bands()
    assert all(band.low <= 1 <= band.high for band in bands().values())


def test_a_forecast_says_between_which_times_four_of_five_machines_lie():
    rows = collective("all_reduce", "dgx-h100", sizes="8,1M,1G").rows
    assert all(row.low_us < row.time_us < row.high_us for row in rows)
    assert {row.validity for row in rows} == {"inside"}

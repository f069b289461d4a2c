"""Which size a measured row is forecast at, and which figures stand beside each other."""

from __future__ import annotations

import pytest

from wirespeed.collectives.operation import Operation
from wirespeed.collectives.result import ForecastRow
from wirespeed.comparison.measured import compare, forecast_size
from wirespeed.readers.records import RecordRow


def forecast(size=2**30, time_us=10_000.0) -> ForecastRow:
    algbw = size / time_us / 1e3
    return ForecastRow(
        nodes=1,
        ranks=8,
        operation="all_reduce",
        size_bytes=size,
        time_us=time_us,
        algbw_GBps=algbw,
        busbw_GBps=algbw * 1.75,
        algorithm="Ring",
        protocol="Simple",
        channels=16,
        bottleneck="",
        wire_share=0.8,
        bound_us=1.0,
        bound_p2p_us=1.0,
        low_us=None,
        high_us=None,
        validity="inside",
    )


def test_a_plateau_is_forecast_at_4_gib_and_a_copy_at_256_mib():
    plateau = RecordRow(None, None, None, 100.0)
    assert forecast_size(plateau, Operation.ALL_REDUCE) == 4 * 2**30
    assert forecast_size(plateau, Operation.H2D) == 256 * 2**20


def test_times_are_compared_where_there_is_one():
    row = compare(RecordRow(2**30, 8_000.0, 134.2, 234.9), forecast(), Operation.ALL_REDUCE)
    assert row.error == pytest.approx(0.25)


def test_without_a_time_bandwidths_are_compared_as_the_times_they_stand_for():
    expected = forecast()
    row = RecordRow(2**30, None, None, expected.busbw_GBps * 1.25)
    compared = compare(row, expected, Operation.ALL_REDUCE)
    assert compared.measured_us is None
    assert compared.error == pytest.approx(0.25)


def test_of_a_plateau_a_printed_time_is_not_its_own():
    expected = forecast(256 * 2**20)
    row = RecordRow(None, 1.24, expected.algbw_GBps, None)
    compared = compare(row, expected, Operation.P2P_COPY)
    assert (compared.measured_us, compared.error) == (None, pytest.approx(0.0))


def test_an_empty_message_is_no_measurement_of_anything():
    compared = compare(RecordRow(0, 0.3, 0.0, 0.0), forecast(1, 5.0), Operation.ALL_GATHER)
    assert compared.error is None


def test_a_row_without_figures_is_forecast_all_the_same():
    compared = compare(RecordRow(2**30, None, None, None), forecast(), Operation.ALL_REDUCE)
    assert (compared.error, compared.forecast.time_us) == (None, 10_000.0)

"""ACS sends GPUDirect through the root complex, past the PCIe switch of GPU and NIC."""

from __future__ import annotations

import pytest

from collectives.collective_cases import cluster
from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.collectives.result import ForecastRow


def row(preset: str, change: str) -> ForecastRow:
    on = cluster(preset, 2, change)
    return forecast(Collective(Operation.ALLTOALL), on, [2**30]).rows[0]


@pytest.mark.parametrize("preset", ["dgx-a100", "dgx-h100"])
def test_acs_moves_the_bottleneck_above_the_switch_of_gpu_and_nic(preset: str):
    free, redirected = row(preset, "acs=off"), row(preset, "acs=on")
    assert free.bottleneck == "node0/nic0>leaf0"
    assert redirected.bottleneck == "node0/pcie0>node0/root0"
    assert redirected.time_us > 1.2 * free.time_us


@pytest.mark.parametrize("preset", ["dgx-a100", "dgx-h100"])
def test_the_root_complex_costs_less_than_a_stop_in_host_memory(preset: str):
    assert row(preset, "acs=on").time_us < row(preset, "gdr=off").time_us


def test_acs_changes_nothing_where_every_device_has_a_root_port_of_its_own():
    free, redirected = row("hgx-a100-4", "acs=off"), row("hgx-a100-4", "acs=on")
    assert redirected.time_us == pytest.approx(free.time_us, rel=1e-3)

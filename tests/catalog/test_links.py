"""Links run at their wire rate after encoding, in one direction."""

from __future__ import annotations

import pytest

from wirespeed import catalog
from wirespeed.errors import UnknownName


@pytest.mark.parametrize(
    ("generation", "lanes", "rate"),
    [
        (1, 16, 4.0),
        (3, 16, 15.754),
        (4, 16, 31.508),
        (4, 8, 15.754),
        (5, 16, 63.015),
        (5, 4, 15.754),
        (6, 16, 121.0),
        (7, 16, 242.0),
    ],
)
def test_pcie_wire_rate(generation: int, lanes: int, rate: float) -> None:
    assert catalog.pcie(generation).bandwidth(lanes) / 1e9 == pytest.approx(rate, abs=1e-3)


@pytest.mark.parametrize("name", [4, "4", "Gen4", "gen4", "PCIe Gen4", "4.0"])
def test_pcie_generations_have_several_spellings(name: int | str) -> None:
    assert catalog.pcie(name).generation == 4


@pytest.mark.parametrize(("payload", "share"), [(128, 0.842), (256, 0.914), (512, 0.955)])
def test_small_pcie_packets_waste_more(payload: int, share: float) -> None:
    assert catalog.pcie_payload_share(payload) == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize(("generation", "rate"), [(1, 20), (2, 25), (3, 25), (4, 25), (5, 50)])
def test_nvlink_rate_of_one_link(generation: int, rate: float) -> None:
    assert catalog.nvlink(generation).bandwidth() == rate * 1e9


def test_nvidia_smi_prints_the_raw_nvlink_rate() -> None:
    link = catalog.nvlink(4)
    assert link.smi_GBps_dir == 26.5625
    assert link.bandwidth_GBps_dir / link.smi_GBps_dir == pytest.approx(0.9412, abs=1e-4)


def test_switches_and_gpus_of_a_generation_speak_the_same_nvlink() -> None:
    for switch in catalog.nvswitch_generations():
        if switch.port_GBps_dir is not None:
            assert switch.port_bandwidth == catalog.nvlink(switch.nvlink_generation).bandwidth()


def test_a_pair_of_mi300x_shares_one_of_seven_links() -> None:
    links = catalog.xgmi("MI300X")
    assert (links.links, links.links_per_pair, links.bandwidth) == (7, 1, 64e9)


def test_infiniband_rates_double() -> None:
    rates = [catalog.infiniband(name).bandwidth for name in ("EDR", "HDR", "NDR", "XDR")]
    assert rates == [12.5e9, 25e9, 50e9, 100e9]


def test_adapters_are_found_by_model_and_short_key() -> None:
    assert catalog.nic("ConnectX-7") == catalog.nic("cx7")
    assert catalog.nic("cx7").bandwidth == 50e9


def test_socket_links_have_a_raw_rate_and_a_planning_constant() -> None:
    link = catalog.cpu_link("Sapphire Rapids")
    assert link.bandwidth() == 96e9
    assert link.bandwidth(4) == 128e9
    assert link.planning_GBps_dir == 22


def test_chip_to_chip_is_450_GBps_each_way() -> None:
    assert catalog.c2c("GH200").bandwidth == 450e9


def test_latencies_come_in_seconds() -> None:
    assert catalog.hop_latency("nvlink").latency == pytest.approx(500e-9)
    assert catalog.hop_latency("peer-copy").latency == pytest.approx(1.9e-6)
    assert catalog.switch_latency("QM9700").latency == pytest.approx(250e-9)
    assert catalog.rdma_latency("gpudirect").latency == pytest.approx(1.5e-6)
    assert catalog.launch_latency("kernel").latency == pytest.approx(2.5e-6)


def test_an_unknown_adapter_says_what_is_near() -> None:
    with pytest.raises(UnknownName, match="cx7"):
        catalog.nic("cx77")

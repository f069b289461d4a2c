"""A machine is a unit with what is known about it; presets say what they are."""

from __future__ import annotations

import pytest

from wirespeed.errors import UnknownName
from wirespeed.topology.change import parse_change
from wirespeed.topology.fabrics.latency import Network
from wirespeed.topology.machine import alter_machine
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.presets import preset_names

SPOKEN = {*Network, "efa", "tcpx"}


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_speaks_a_network_that_fabrics_understand(name):
    machine = preset_machine(name)
    assert machine.network in SPOKEN
    assert machine.library in ("nccl", "rccl")
    assert machine.basis.preset == name


def test_amd_gpus_run_rccl():
    assert preset_machine("mi300x-8").library == "rccl"
    assert preset_machine("dgx-h100").library == "nccl"


def test_cpus_are_of_their_makers():
    assert preset_machine("dgx-h100").cpu_vendor == "Intel"
    assert preset_machine("dgx-a100").cpu_vendor == "AMD"
    assert preset_machine("gb200-nvl72").cpu_vendor == "NVIDIA"


def test_geforce_cards_do_without_peer_to_peer():
    assert preset_machine("pcie-8x-rtx4090").peer_to_peer is False
    assert preset_machine("pcie-8x-a100").peer_to_peer is not False


def test_a_rack_says_how_many_nodes_it_is():
    assert preset_machine("gb200-nvl72").unit.nodes == 18
    assert preset_machine("gb200-nvl72").has_nvswitch
    assert not preset_machine("dgx-1v").has_nvswitch


def test_an_unknown_preset_gets_near_names():
    with pytest.raises(UnknownName, match="dgx-h100"):
        preset_machine("dgx-h1000")


def test_changes_leave_the_machine_itself_alone():
    machine = preset_machine("dgx-h100")
    rates = machine.unit.rate.copy()
    changed = alter_machine(machine, [parse_change("nic=800G"), parse_change("nodes=3")])
    assert (machine.unit.rate == rates).all()
    assert changed.unit.rate.max() == 100e9
    assert changed.unit.nodes == machine.unit.nodes

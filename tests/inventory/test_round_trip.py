"""Every preset, printed as its own matrix and read back, is the same machine."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from inventory.matrices import machine_from
from wirespeed.catalog import gpu
from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.inventory.design_words import DesignWords
from wirespeed.inventory.graph_words import graph_words
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.readers import read_text
from wirespeed.topology.cluster import build_cluster
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machine import Machine
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.presets import preset, preset_names

PRESETS = [name for name in preset_names() if gpu(preset(name).gpu).vendor == "NVIDIA"]
# One GPU shows nothing of the rack that it belongs to.
WHOLE = [name for name in PRESETS if name != "dgx-gh200"]
SIZES = [2**13, 2**20, 2**30]


@cache
def there_and_back(name: str) -> tuple[Machine, Machine]:
    machine = preset_machine(name)
    text = matrix_text(machine.unit)
    return machine, machine_from([read_text(text, file=name)], gpu=machine.gpu)


def of_first_node(machine: Machine, kind: ComponentKind, column: str) -> list[int]:
    unit = machine.unit
    return getattr(unit, column)[(unit.kind == kind) & (unit.node == 0)].tolist()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_read_from_its_own_matrix_prints_that_matrix(name):
    machine, back = there_and_back(name)
    assert graph_words(back.unit) == graph_words(machine.unit)
    said = {notice.code for notice in back.warnings}
    assert not said & {"matrix-contradicted", "sys-inside-numa", "pair-unknown"}


@pytest.mark.parametrize("name", WHOLE)
def test_it_has_the_same_numa_nodes_compute_nics_and_trays(name):
    machine, back = there_and_back(name)
    for kind in (ComponentKind.GPU, ComponentKind.NIC):
        assert of_first_node(back, kind, "numa") == of_first_node(machine, kind, "numa")
    rails = of_first_node(machine, ComponentKind.NIC, "rail")
    assert of_first_node(back, ComponentKind.NIC, "rail") == rails
    assert back.unit.nodes == machine.unit.nodes


@pytest.mark.parametrize("name", PRESETS)
def test_a_sound_machine_has_no_oddity(name):
    assert there_and_back(name)[1].oddities == ()


@pytest.mark.parametrize("name", [n for n in WHOLE if preset(n).gpus > 1])
def test_its_all_reduce_is_forecast_the_same(name):
    times = []
    for machine in there_and_back(name):
        cluster = build_cluster(machine, nodes=1)
        rows = forecast(Collective(Operation.ALL_REDUCE), cluster, SIZES).rows
        times.append([row.time_us for row in rows])
    assert times[1] == pytest.approx(times[0], rel=0.01)


@pytest.mark.parametrize("name", PRESETS)
def test_words_read_off_a_design_are_those_of_its_graph(name):
    words, graph = DesignWords(preset(name)), graph_words(preset_machine(name).unit)
    for (a, b), printed in graph.items():
        if a == b:
            continue
        if printed.startswith("NV"):
            assert f"NV{words.links(int(a[3:]), int(b[3:]))}" == printed
        elif (word := words.word(a, b)) is not None:
            assert word.name == printed, (a, b)
        else:
            # What hangs from the CPU by a coherent link alone.
            assert printed == "SYS", (a, b)


def test_only_the_first_node_of_a_rack_is_printed():
    text = matrix_text(preset_machine("gb200-nvl72").unit)
    assert "GPU3" in text
    assert "GPU4" not in text
    assert np.all([len(line.split("\t")) >= 11 for line in text.splitlines()[:11]])

"""What is known of real nodes holds for the presets."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from wirespeed.catalog import gpu
from wirespeed.errors import UnknownName
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.presets import aliases, preset, preset_names
from wirespeed.topology.unit import Unit

GPU, NIC, CPU = ComponentKind.GPU, ComponentKind.NIC, ComponentKind.CPU
FIRST = [
    "dgx-1v",
    "dgx-a100",
    "hgx-a100-4",
    "dgx-h100",
    "dgx-b200",
    "gb200-nvl72",
    "mi300x-8",
    "pcie-8x-rtx4090",
]

BETWEEN_GPUS = (LinkKind.NVLINK, LinkKind.XGMI)


def links_matrix(unit: Unit) -> np.ndarray:
    """Links between GPUs of the first node: [gpu, gpu], as nvidia-smi's NV# counts them."""
    ids = {int(g): i for i, g in enumerate(unit.of_kind(GPU))}
    matrix = np.zeros((len(ids), len(ids)), int)
    for k in np.flatnonzero(np.isin(unit.link_kind, BETWEEN_GPUS)):
        a, b = int(unit.source[k]), int(unit.target[k])
        if a in ids and b in ids:
            matrix[ids[a], ids[b]] = unit.lanes[k]
    return matrix


def out_of_gpu(unit: Unit, gpu_id: int) -> float:
    """NVLink or xGMI bandwidth that leaves a GPU [B/s]."""
    leaving = (unit.source == gpu_id) & np.isin(unit.link_kind, BETWEEN_GPUS)
    return float(unit.bandwidth[leaving].sum())


def undirected(unit: Unit) -> nx.Graph:
    result = nx.Graph()
    result.add_nodes_from(range(unit.components))
    result.add_edges_from(zip(unit.source.tolist(), unit.target.tolist(), strict=True))
    return result


def test_the_first_presets_bear_their_promised_names():
    assert set(FIRST) <= set(preset_names())


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_builds_into_one_connected_unit(name):
    design = preset(name)
    unit = unit_of(design)
    assert unit.nodes == design.nodes_per_unit
    assert len(unit.of_kind(GPU)) == design.gpus * design.nodes_per_unit
    assert len(unit.of_kind(NIC)) == design.nic_count * design.nodes_per_unit
    assert (unit.bandwidth > 0).all()
    assert np.isfinite(unit.bandwidth).all()
    assert (unit.latency > 0).all()
    for part in nx.connected_components(undirected(unit)):
        nodes = {int(unit.node[c]) for c in part} - {-1}
        assert len(part) == unit.components or len(nodes) == 1


@pytest.mark.parametrize("name", preset_names())
def test_every_gpu_reaches_every_nic_and_cpu_of_its_node_over_the_host(name):
    design = preset(name)
    unit = unit_of(design, nodes=1)
    host = undirected(unit)
    drop = np.isin(unit.link_kind, BETWEEN_GPUS)
    host.remove_edges_from(zip(unit.source[drop].tolist(), unit.target[drop].tolist(), strict=True))
    for start in unit.of_kind(GPU).tolist():
        reach = nx.node_connected_component(host, start)
        assert set(unit.of_kind(NIC).tolist()) <= reach
        assert set(unit.of_kind(CPU).tolist()) <= reach


@pytest.mark.parametrize("name", preset_names())
def test_devices_stand_on_a_numa_node(name):
    unit = unit_of(preset(name), nodes=1)
    for kind in (GPU, NIC):
        assert (unit.numa[unit.of_kind(kind)] >= 0).all()
    assert (unit.numa < len(unit.of_kind(CPU))).all()


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_says_where_it_comes_from(name):
    design = preset(name)
    assert design.source.startswith("https://")
    assert design.description
    assert gpu(design.gpu)


def test_gpus_use_all_links_that_the_catalog_gives_them():
    for name, total in {
        "dgx-1v": 150,
        "dgx-a100": 300,
        "hgx-a100-4": 300,
        "dgx-h100": 450,
        "dgx-b200": 900,
        "gb200-nvl72": 900,
        "mi300x-8": 448,
    }.items():
        unit = unit_of(preset(name))
        for one in unit.of_kind(GPU):
            assert out_of_gpu(unit, one) == pytest.approx(total * 1e9)


def test_dgx_1_is_a_hybrid_cube_mesh():
    matrix = links_matrix(unit_of(preset("dgx-1v")))
    assert matrix.sum(axis=1).tolist() == [6] * 8
    assert matrix[0].tolist() == [0, 1, 1, 2, 2, 0, 0, 0]
    assert matrix[5].tolist() == [0, 2, 0, 0, 1, 0, 2, 1]
    assert (matrix == matrix.T).all()


def test_four_a100_without_a_switch_have_nv4_everywhere():
    matrix = links_matrix(unit_of(preset("hgx-a100-4")))
    assert (matrix == 4 * (1 - np.eye(4))).all()


def test_a_pair_of_mi300x_has_a_seventh_of_a_gpus_links():
    unit = unit_of(preset("mi300x-8"))
    assert (links_matrix(unit) == 1 - np.eye(8)).all()
    assert set(unit.bandwidth[unit.link_kind == LinkKind.XGMI]) == {64e9}


def test_geforce_cards_have_no_links_and_no_peer_to_peer():
    design = preset("pcie-8x-rtx4090")
    assert not design.p2p
    assert design.nvlink_domain == 1
    assert not links_matrix(unit_of(design)).any()


def test_an_nvl72_rack_is_18_trays_of_4_behind_18_switches():
    design = preset("gb200-nvl72")
    unit = unit_of(design)
    assert design.nvlink_domain == 72
    assert len(unit.of_kind(GPU)) == 72
    assert np.bincount(unit.node[unit.of_kind(GPU)]).tolist() == [4] * 18
    switches = unit.of_kind(ComponentKind.NVSWITCH)
    assert len(switches) == 18
    for switch in switches:
        assert (unit.source == switch).sum() == 72


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("dgx-1v", [100] * 4),
        ("dgx-a100", [200] * 8),
        ("hgx-a100-4", [200] * 4),
        ("dgx-h100", [400] * 8),
        ("dgx-b200", [400] * 8),
        ("gb200-nvl72", [400] * 4),
        ("mi300x-8", [400] * 8),
        ("pcie-8x-rtx4090", [200]),
    ],
)
def test_compute_nics_and_their_rates(name, rates):
    unit = unit_of(preset(name), nodes=1)
    nics = unit.of_kind(NIC)
    compute = nics[unit.rail[nics] >= 0]
    assert (unit.rate[compute] / 1e9 * 8).tolist() == rates
    assert unit.rail[compute].tolist() == list(range(len(rates)))


def test_a_wrong_name_gets_near_ones():
    with pytest.raises(UnknownName, match="dgx-h100"):
        preset("dgx-h10")
    with pytest.raises(UnknownName):
        preset("../data/dgx-h100")


def test_aliases_mean_presets_and_never_hide_one():
    assert preset("hgx-h100") == preset("DGX-H100")
    assert set(aliases().values()) <= set(preset_names())
    assert not set(aliases()) & set(preset_names())
    assert all(name == name.lower() for name in aliases())

"""What is known of real nodes holds for the presets."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from wirespeed.catalog import gpu, nvlink_of, xgmi
from wirespeed.errors import UnknownName
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.path_types import smi_word
from wirespeed.topology.presets import aliases, preset, preset_names
from wirespeed.topology.unit import Unit, first_nodes
from wirespeed.topology.unit_routes import UnitRoutes

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


def node_of(name: str) -> Unit:
    """The first node of a preset."""
    return first_nodes(unit_of(preset(name)), 1)


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
    unit = node_of(name)
    host = undirected(unit)
    drop = np.isin(unit.link_kind, BETWEEN_GPUS)
    host.remove_edges_from(zip(unit.source[drop].tolist(), unit.target[drop].tolist(), strict=True))
    for start in unit.of_kind(GPU).tolist():
        reach = nx.node_connected_component(host, start)
        assert set(unit.of_kind(NIC).tolist()) <= reach
        assert set(unit.of_kind(CPU).tolist()) <= reach


@pytest.mark.parametrize("name", preset_names())
def test_devices_stand_on_a_numa_node(name):
    unit = node_of(name)
    for kind in (GPU, NIC):
        assert (unit.numa[unit.of_kind(kind)] >= 0).all()
    assert (unit.numa < len(unit.of_kind(CPU))).all()


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_says_where_it_comes_from(name):
    design = preset(name)
    assert design.source.startswith("http")
    assert design.description
    assert gpu(design.gpu)


@pytest.mark.parametrize("name", [n for n in preset_names() if preset(n).nvlink.style != "none"])
def test_gpus_use_all_links_that_the_catalog_gives_them(name):
    design = preset(name)
    model = gpu(design.gpu)
    if model.key == "mi250x":
        pytest.skip("dies differ: the even ones of a package have one link more")
    if model.xgmi:
        total = xgmi(model.xgmi).total_GBps_dir * 1e9
    else:
        generation, links = nvlink_of(model)
        total = generation.bandwidth(links)
    unit = unit_of(design)
    for one in unit.of_kind(GPU)[: design.gpus]:
        assert out_of_gpu(unit, one) == pytest.approx(total)


@pytest.mark.parametrize(
    ("name", "GBps"),
    [
        ("dgx-1p", 80),
        ("dgx-1v", 150),
        ("dgx-2", 150),
        ("dgx-a100", 300),
        ("hgx-a100-4", 300),
        ("hgx-a800", 200),
        ("dgx-h100", 450),
        ("hgx-h800", 200),
        ("hgx-h20", 450),
        ("dgx-b200", 900),
        ("gb300-nvl72", 900),
        ("vera-rubin-nvl72", 1800),
        ("pcie-8x-a100-nvlink", 300),
        ("pcie-8x-rtx3090-nvlink", 56.25),
        ("pcie-8x-h200-nvl-4way", 450),
        ("mi300x-8", 448),
        ("mi355x-8", 537.6),
    ],
)
def test_links_of_one_gpu_add_up_to_the_published_rate(name, GBps):
    unit = unit_of(preset(name))
    assert out_of_gpu(unit, int(unit.of_kind(GPU)[0])) == pytest.approx(GBps * 1e9)


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
        ("dgx-2", [100] * 8),
        ("dgx-b300", [800] * 8),
        ("gb300-nvl72", [800] * 4),
        ("vera-rubin-nvl72", [800] * 8),
        ("aws-p3", [25]),
        ("aws-p3dn", [100]),
        ("aws-p4d", [100] * 4),
        ("aws-p5", [100] * 32),
        ("aws-p5en", [200] * 16),
        ("aws-p6-b200", [400] * 8),
        ("aws-p6-b300", [400] * 16),
        ("aws-p6e-gb200", [400] * 4),
        ("gcp-a2-highgpu", [100]),
        ("gcp-a3-high", [200] * 4),
        ("gcp-a3-mega", [200] * 8),
        ("gcp-a3-ultra", [400] * 8),
        ("gcp-a4x-max", [800] * 4),
        ("azure-ndv2", [100]),
        ("azure-nda100-v4", [200] * 8),
        ("azure-ndh100-v5", [400] * 8),
        ("azure-ndgb300-v6", [800] * 4),
        ("oci-gpu4-8", [200] * 8),
        ("oci-h100-8", [400] * 8),
        ("oci-gb200-v3-4", [400] * 8),
        ("polaris", [200] * 2),
        ("mi250x-8", [200] * 4),
    ],
)
def test_compute_nics_and_their_rates(name, rates):
    unit = node_of(name)
    nics = unit.of_kind(NIC)
    compute = nics[unit.rail[nics] >= 0]
    assert (unit.rate[compute] / 1e9 * 8).tolist() == rates
    assert unit.rail[compute].tolist() == list(range(len(rates)))


def test_dgx_2_crosses_a_trunk_between_its_boards_only():
    unit = unit_of(preset("dgx-2"))
    routes = UnitRoutes(unit, np.concatenate([unit.bandwidth, unit.throughput]))
    gpus = unit.of_kind(GPU).tolist()
    assert {smi_word(routes, gpus[0], other) for other in gpus[1:]} == {"NV6"}
    same, across = routes.nvlink(gpus[0], gpus[7]), routes.nvlink(gpus[0], gpus[8])
    assert len(across.resource) == 3 * len(same.resource) // 2
    trunks = unit.lanes[(unit.link_kind == LinkKind.NVLINK) & (unit.lanes == 8)]
    assert len(trunks) == 2 * 6


def test_dgx_gh200_tapers_by_two_above_its_groups():
    unit = unit_of(preset("dgx-gh200"))
    switch = ComponentKind.NVSWITCH
    assert len(unit.of_kind(GPU)) == 256
    assert len(unit.of_kind(switch)) == 32 * 3 + 36
    down = (unit.kind[unit.source] == switch) & (unit.kind[unit.target] == GPU)
    lower = np.unique(unit.source[down])
    up = np.isin(unit.source, lower) & (unit.kind[unit.target] == switch)
    assert unit.bandwidth[down].sum() == 2 * unit.bandwidth[up].sum()
    assert unit.lanes[up].sum() == 36 * 64


def test_a_bridge_joins_two_cards_and_a_mesh_all():
    assert preset("pcie-8x-a100-nvlink").nvlink_domain == 2
    assert preset("pcie-8x-h200-nvl-4way").nvlink_domain == 4
    assert preset("dgx-1v").nvlink_domain == 8
    assert preset("dgx-gh200").nvlink_domain == 256
    assert preset("gh200").nvlink_domain == 1


def test_announced_parts_carry_their_status():
    announced = {name for name in preset_names() if preset(name).status == "announced"}
    assert announced == {"vera-rubin-nvl72"}
    for name in preset_names():
        assert gpu(preset(name).gpu).status == preset(name).status


def test_p4d_runs_its_a100_at_gen3():
    unit = unit_of(preset("aws-p4d"))
    pcie = unit.bandwidth[unit.link_kind == LinkKind.PCIE]
    assert set(pcie.round(-6)) == {15.754e9}


def test_a_gpu_that_hangs_off_its_nic_reaches_it_at_gen6():
    unit = node_of("gb300-nvl72")
    gpu_id = unit.of_kind(GPU)[0]
    out = (unit.source == gpu_id) & (unit.link_kind == LinkKind.PCIE)
    assert unit.bandwidth[out] == pytest.approx([121e9])
    c2c = (unit.source == gpu_id) & (unit.link_kind == LinkKind.C2C)
    assert unit.bandwidth[c2c] == pytest.approx([450e9])


def test_clouds_without_rdma_say_so():
    sockets = {n for n in preset_names() if not preset(n).network.rdma}
    assert {"aws-p3", "gcp-a2-highgpu", "gcp-a3-high", "azure-nca100-v4"} <= sockets
    assert "gcp-a3-ultra" not in sockets
    assert not preset("aws-p3dn").gdr
    assert preset("aws-p4d").gdr


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

"""From what a record says to the machine, the GPUs and the software of a forecast."""

from __future__ import annotations

import msgspec
import pytest

from wirespeed.comparison.setup import Workshop, setting_of, setup_of
from wirespeed.errors import Infeasible, UnknownName
from wirespeed.readers.records import Inputs, RecordCluster


def inputs(gpu="H100-SXM", nodes=1, per_node=8, collective="all_reduce", **more) -> Inputs:
    cluster = {k: more.pop(k) for k in list(more) if k in RecordCluster.__struct_fields__}
    return Inputs(
        cluster=RecordCluster(gpu=gpu, nodes=nodes, gpus_per_node=per_node, **cluster),
        collective=collective,
        ranks=more.pop("ranks", nodes * per_node),
        **more,
    )


def preset(**facts) -> str:
    return setup_of(inputs(**facts)).wiring.design.name


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        ({}, "dgx-h100"),
        ({"per_node": 4}, "dgx-h100"),
        ({"gpu": "A100-SXM-80GB", "per_node": 4}, "dgx-a100"),
        ({"gpu": "V100-SXM3", "per_node": 8}, "dgx-2"),
        ({"gpu": "GB200", "nodes": 18, "per_node": 4, "nvlink_domain": 72}, "gb200-nvl72"),
        (
            {"nodes": 2, "fabric": "EFA v2 (32x100G)", "nics_per_node": 32, "nic_gbps": 100},
            "aws-p5",
        ),
        ({"nodes": 2, "fabric": "Ethernet, GPUDirect-TCPXO"}, "gcp-a3-mega"),
        (
            {"gpu": "GH200", "nodes": 2, "per_node": 4, "fabric": "Slingshot-11"},
            "gh200-4",
        ),
        ({"gpu": "A40", "per_node": 2, "path": "NV"}, "pcie-8x-a40-nvlink"),
        ({"gpu": "A40", "per_node": 2, "path": "NODE"}, "pcie-8x-a40"),
    ],
)
def test_the_board_is_the_one_that_fits_what_is_known(facts, name):
    assert preset(**facts) == name


def test_nics_are_as_many_and_as_fast_as_the_record_says():
    setup = setup_of(inputs(nodes=2, fabric="IB NDR", nics_per_node=4, nic_gbps=200))
    compute = [g for g in setup.wiring.design.nics if g.role == "compute"]
    assert [(g.count, g.rate_Gbps) for g in compute] == [(4, 200)]


def test_a_rack_that_is_partitioned_is_so_many_nodes():
    facts = {"gpu": "GB200", "nodes": 4, "per_node": 2, "nvlink_domain": 2, "fabric": "RDMA IB"}
    setup = setup_of(inputs(**facts))
    assert setup.wiring.design.nodes_per_unit == 1
    assert setup.beyond


def test_ranks_of_one_domain_are_not_beyond_it():
    facts = {"gpu": "GB200", "nodes": 18, "per_node": 4, "nvlink_domain": 72}
    assert not setup_of(inputs(**facts)).beyond


def test_ranks_are_the_first_gpus_of_each_node():
    setup, workshop = setup_of(inputs(nodes=2, per_node=4)), Workshop()
    cluster = workshop.cluster(setup)
    group = workshop.group(setup, cluster)
    assert cluster.topology.node[group.gpus].tolist() == [0] * 4 + [1] * 4


def test_a_pair_across_sockets_lies_across_sockets():
    assert setup_of(inputs(gpu="RTX-4090", per_node=2, path="SYS")).members == (0, 4)
    assert setup_of(inputs(gpu="RTX-4090", per_node=2, path="NODE")).members == (0, 1)


def test_a_path_that_no_choice_of_gpus_has_regroups_the_board():
    setup = setup_of(inputs(gpu="RTX-4090", per_node=2, path="PIX"))
    first = setup.wiring.design.pcie[0]
    assert (first.levels, first.gpus[:2]) == (1, (0, 1))


def test_peer_to_peer_is_what_the_record_says():
    setup, workshop = setup_of(inputs(gpu="RTX-4090", per_node=2, p2p=True)), Workshop()
    assert workshop.cluster(setup).machine.peer_to_peer is True


def test_sockets_take_gpudirect_away():
    setup = setup_of(inputs(nodes=2, fabric="Ethernet, TCP sockets"))
    assert (setup.abilities.socket, setup.abilities.gdr) == (True, False)


def test_the_fabric_reduces_only_where_it_is_said_to():
    assert not setup_of(inputs(nodes=2, env=(("NCCL_COLLNET_ENABLE", "1"),))).abilities.sharp
    assert setup_of(inputs(nodes=2, algo="CollNet SHARP")).abilities.sharp
    assert setup_of(inputs(nodes=2, fabric="IB HDR with SHARP")).abilities.sharp


def test_settings_that_only_name_the_default_are_not_set():
    env = (("NCCL_ALGO", "Ring"), ("NCCL_NVLS_ENABLE", "default"))
    assert dict(setup_of(inputs(env=env)).software.env) == {"NCCL_ALGO": "Ring"}


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"dtype": "posit"}, "unknown-dtype"),
        ({"launch": "by hand"}, "unknown-launch"),
        ({"algo": "recursive doubling"}, "unknown-algorithm"),
        ({"nccl_version": "NCCLX"}, "unknown-library"),
        ({"nccl_version": "the newest"}, "unknown-version"),
        ({"nodes": 2, "fabric": "some wires"}, "unknown-fabric"),
    ],
)
def test_an_unknown_word_is_a_notice_and_no_error(facts, code):
    assert code in {note.code for note in setup_of(inputs(**facts)).notes}


def test_a_gpu_without_a_preset_stands_on_a_pcie_node_and_that_is_said():
    setup = setup_of(inputs(gpu="RTX-2080-Ti", per_node=2))
    assert setup.wiring.design.gpu == "rtx-2080-ti"
    assert [note.code for note in setup.notes] == ["machine-assumed"]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"gpu": None}, "GPU is not known"),
        ({"collective": "ep_dispatch"}, "not forecast"),
        ({"collective": "alltoall_raw"}, "not forecast"),
        ({"per_node": 64}, "no preset"),
        ({"per_node": 1}, "on 1 GPU"),
        ({"nodes": 0, "ranks": 8}, "0 nodes"),
        ({"per_node": 0, "ranks": 8}, "0 GPUs on a node"),
        ({"ranks": -8}, "-8 ranks"),
    ],
)
def test_what_cannot_be_forecast_has_a_reason(facts, reason):
    with pytest.raises(Infeasible, match=reason):
        setup_of(inputs(**facts))


def test_an_unknown_gpu_offers_near_names():
    with pytest.raises(UnknownName, match="did you mean"):
        setup_of(inputs(gpu="H100-SXMM"))


def test_runs_that_differ_in_what_no_forecast_reads_are_of_one_setting():
    one = inputs(nodes=2, fabric="Slingshot-11 via aws-ofi-nccl 1.9.2", gpu="GH200", per_node=4)
    env = (("FI_CXI_RX_MATCH_MODE", "software"), ("NCCL_IGNORE_CPU_AFFINITY", "1"))
    cluster = msgspec.structs.replace(one.cluster, fabric="Slingshot-11 via aws-ofi-nccl 1.13.0")
    other = msgspec.structs.replace(one, env=env, cluster=cluster)
    assert setting_of(one) == setting_of(other)
    forced = msgspec.structs.replace(one, env=(("NCCL_ALGO", "Ring"),))
    assert setting_of(one) != setting_of(forced)

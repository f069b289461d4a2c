"""Logs of NCCL and RCCL: what they say of hosts, NICs, ranks, ways and failures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import shared
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence
from wirespeed.readers import read_text

TWO_NODES = """\
[1,0]<stdout>:gpu-a:410:410 [0] NCCL INFO Bootstrap : Using ens3:192.168.7.11<0>
[1,0]<stdout>:gpu-a:410:410 [0] NCCL INFO NCCL version 2.21.5+cuda12.4
[1,1]<stdout>:gpu-b:512:512 [0] NCCL INFO Bootstrap : Using ens3:192.168.7.12<0>
[1,0]<stdout>:gpu-a:410:433 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]{mlx5_1,mlx5_2}:1/RoCE [RO]; OOB ens3:192.168.7.11<0>
[1,1]<stdout>:gpu-b:512:533 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ens3:192.168.7.12<0>
[1,0]<stdout>:gpu-a:410:433 [0] NCCL INFO Using network IB
[1,0]<stdout>:gpu-a:410:433 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_0,mlx5_1
[1,0]<stdout>:gpu-a:410:433 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'
[1,0]<stdout>:gpu-a:410:433 [0] NCCL INFO comm 0x5581 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
[1,0]<stdout>:gpu-a:410:433 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 48.0/48.0, type LOC/PIX, sameChannels 1
[1,0]<stdout>:gpu-a:410:433 [0] NCCL INFO Channel 00/02 : 0 1
[1,0]<stdout>:gpu-a:410:433 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
[1,1]<stdout>:gpu-b:512:533 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0
[1,0]<stdout>:gpu-a:410:433 [0] NCCL INFO 2 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer
[2026-03-02 10:11:12] gpu-a:410:470 [0] transport/net_ib.cc:1345 NCCL WARN NET/IB : Got completion from peer 192.168.7.12<40111> with status=12 opcode=0 len=0 vendor err 129 (Send)
"""  # noqa: E501


def values(evidence: Evidence, subject: str) -> dict[str, object]:
    """What a text says of a subject, by attribute."""
    return {f.attribute: f.value for f in evidence.facts if f.subject == subject}


@pytest.fixture(scope="module")
def log() -> Evidence:
    return read_text(TWO_NODES, file="run.log")


def test_the_library_and_the_size_of_the_job(log: Evidence):
    said = values(log, "log")
    assert (said["library"], said["version"], said["cuda"]) == ("nccl", "2.21.5", "12.4")
    assert (said["ranks"], said["nodes"], said["channels_per_peer"]) == (2, 2, 2)
    assert set(str(said["subsystems"]).split(",")) == {"GRAPH", "INIT", "NET"}


def test_hosts_are_told_apart_and_their_nics_listed(log: Evidence):
    assert values(log, "host0")["name"] == "gpu-a"
    assert values(log, "host1")["net_devices"] == "mlx5_0:1/IB"
    assert values(log, "host0 net1") == {
        "name": "{mlx5_1,mlx5_2}",
        "port": 1,
        "layer": "RoCE",
        "gdr": False,
    }


def test_ways_between_ranks_on_both_sides(log: Evidence):
    said = values(log, "rank1>rank0")
    assert said["receive_by"] == "host0 NET/IB/0/GDRDMA"
    assert said["send_by"] == "host1 NET/IB/0"
    assert values(log, "ring0")["order"] == (0, 1)


def test_settings_and_failures_with_their_lines(log: Evidence):
    assert values(log, "env") == {"NCCL_IB_HCA": "mlx5_0,mlx5_1"}
    (failure,) = [f for f in log.facts if f.subject == "warn"]
    assert failure.attribute == "rdma_completion"
    assert failure.line == 15


def test_a_warning_of_an_unknown_kind_is_not_lost():
    text = "a:1:1 [0] some.cc:1 NCCL WARN The moon is in the wrong phase\n"
    (remark,) = read_text(text, file="x").remarks
    assert "moon" in remark.text


def test_results_inside_a_log_are_measurements_too():
    run = TWO_NODES + (
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong\n"
        "     1048576        262144     float     sum      -1    85.3   12.29   12.29      0"
        "    85.1   12.32   12.32      0\n"
    )
    evidence = read_text(run, file="run.log")
    assert {"nccl-log", "nccl-tests"} == set(evidence.format.split("+"))
    assert len(evidence.measurements) == 1


@given(st.data())
def test_cuts_and_joins_are_read_or_refused(data: st.DataObject):
    begin = data.draw(st.integers(0, len(TWO_NODES)))
    end = data.draw(st.integers(begin, len(TWO_NODES)))
    noise = data.draw(st.text(max_size=40))
    try:
        evidence = read_text(TWO_NODES[begin:end] + noise + TWO_NODES[:end], file="x")
    except InputError:
        return
    assert all(fact.line >= 1 for fact in evidence.facts)


CONCLUSIONS = [
    ("03-a100-4node-2chan-2.10.3.txt", "log", "coll_channels", 2),
    ("03-a100-4node-2chan-2.10.3.txt", "rank31>rank0", "transport", "NET/IB/1"),
    ("04-a100-noshm-nop2p-2.7.8.txt", "env", "NCCL_P2P_LEVEL", "LOC"),
    ("05-4090-8-2.26.5-shm.txt", "rank0>rank1", "transport", "SHM/direct/direct"),
    ("06-h100-affinity-mismatch.txt", "host0 dev2", "cpu_affinity", "ffffff,ffffffff,ffffffff"),
    ("07-gdr-distance.txt", "host0 gpu 18000>net0", "gdr", False),
    ("08-gdr-disabled-driver.txt", "host0 net1", "gdr", False),
    ("09-p2p-not-enabled-pcie.txt", "host0 dev1>dev0", "p2p_refused", True),
    ("12-gb200-channels.txt", "log", "rings", 32),
    ("13-ib-open-failed.txt", "host0", "network", "Socket"),
    ("14-rccl-topology-tree.txt", "host0", "graph_xgmi", "GPU/4C000 24.0"),
    ("19-no-nvls-4gpu.txt", "host0 dev3", "nvls", False),
    ("22-efa-tcp-provider.txt", "host0", "provider", "tcp"),
    ("24-horovod-2.3.txt", "host0", "bootstrap", "lo"),
]


@pytest.mark.corpus
@pytest.mark.parametrize(("file", "subject", "attribute", "value"), CONCLUSIONS)
def test_what_samples_conclude(file: str, subject: str, attribute: str, value: object):
    evidence = read_text(shared("samples", "nccl-info-log", file).read_bytes(), file=file)
    found = [f.value for f in evidence.facts if (f.subject, f.attribute) == (subject, attribute)]
    assert value in found


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("13-ib-open-failed.txt", "ib_open"),
        ("15-rccl-missing-iommu.txt", "missing_setting"),
        ("17-error12.txt", "rdma_completion"),
        ("18-shm-nospace.txt", "shm_full"),
        ("24-horovod-2.3.txt", "connect"),
    ],
)
def test_failures_of_samples(file: str, kind: str):
    evidence = read_text(shared("samples", "nccl-info-log", file).read_bytes(), file=file)
    assert any(f.subject == "warn" and f.attribute == kind for f in evidence.facts)

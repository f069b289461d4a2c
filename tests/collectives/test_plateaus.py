"""Published bandwidths at large sizes come out of the graph, for the ring and for plain copies."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

from collectives.collective_cases import PLATEAU, build, cluster, group, machine, option, rows
from support import shared
from wirespeed.topology.cluster import Cluster

VTRAIN = "https://github.com/VIA-Research/vTrain/tree/main/trace"
STAS = "https://github.com/stas00/ml-engineering/blob/master/network/README.md"
CHLC = "https://blog.chlc.cc/p/rtx4090-gpudirect-p2p-unlocked"
NVBANDWIDTH = "https://github.com/NVIDIA/nvbandwidth/issues/50"
PATCHED = "https://github.com/tinygrad/open-gpu-kernel-modules"

RINGS = [
    # preset, GPUs, busbw [GB/s] of the all-reduce ring, source
    ("dgx-a100", 8, 231, "https://github.com/Azure/AI-benchmarking-guide"),
    ("dgx-h100", 8, 369, "https://github.com/NVIDIA/nccl/issues/1455"),
    ("dgx-h200", 8, 366, STAS),
    ("dgx-b200", 8, 682, "https://github.com/ai-dynamo/aiconfigurator"),
    ("hgx-a100-4", 4, 235, "NCCL 2.16 on GPUs 4 to 7 of a DGX A100"),
    ("dgx-1v", 2, 22.5, VTRAIN),
    ("dgx-1v", 3, 45, VTRAIN),
    ("dgx-1v", 4, 85, VTRAIN),
    ("dgx-1v", 6, 45.7, VTRAIN),
    ("dgx-1v", 7, 87, VTRAIN),
    ("dgx-1v", 8, 134, VTRAIN),
    ("mi300x-8", 8, 315, "rccl-tests on a Kubernetes MI300X node"),
    ("mi300x-8", 2, 47.7, STAS),
]

# preset, GPUs, peer to peer, both directions at once, GB/s as printed, source
COPIES = [
    ("pcie-8x-rtx4090", (0, 1), True, False, 25.6, CHLC),
    ("pcie-8x-rtx4090", (0, 4), True, False, 21.36, CHLC),
    ("pcie-8x-rtx4090", (0, 1), True, True, 50.1, CHLC),
    ("pcie-8x-rtx4090", (0, 4), True, True, 39.9, CHLC),
    ("pcie-8x-rtx4090", (0, 1), False, False, 18.77, CHLC),
    ("pcie-8x-rtx4090", (0, 4), False, False, 18.72, CHLC),
    ("pcie-8x-rtx4090", (0, 1), False, True, 21.03, CHLC),
    ("pcie-8x-rtx4090", (0, 4), False, True, 20.69, CHLC),
    ("pcie-8x-a6000", (0, 1), True, False, 26.34, NVBANDWIDTH),
    ("pcie-8x-a6000", (0, 4), True, False, 22.2, NVBANDWIDTH),
]

PCIE_RINGS = [
    ("pcie-8x-rtx4090", 8, True, 20.6, CHLC),
    ("pcie-8x-rtx4090", 8, False, 14.5, CHLC),
    ("pcie-8x-rtx4090", 4, True, 25.3, "GPUs of one socket, 2-socket EPYC"),
    ("pcie-6x-rtx4090", 6, True, 24.6, PATCHED),
]


@cache
def patched(name: str, p2p: bool) -> Cluster:
    """A preset whose driver lets its GPUs reach each other, or does not."""
    return build(replace(machine(name), peer_to_peer=p2p))


def ring_plateau(on: Cluster, gpus: int) -> float:
    """busbw of the all-reduce ring over the first GPUs of a node [GB/s]."""
    members = group(on, list(range(gpus)))
    time = option("all_reduce", on, members, "Ring").time(PLATEAU)
    return 2 * (gpus - 1) / gpus * PLATEAU / time / 1e9


@pytest.mark.parametrize(("name", "gpus", "published", "source"), RINGS)
def test_a_ring_over_nvlink_or_xgmi_reaches_the_published_plateau(name, gpus, published, source):
    assert ring_plateau(cluster(name), gpus) == pytest.approx(published, rel=0.10), source


@pytest.mark.parametrize(("name", "gpus", "p2p", "published", "source"), PCIE_RINGS)
def test_a_ring_over_pcie_reaches_the_published_plateau(name, gpus, p2p, published, source):
    assert ring_plateau(patched(name, p2p), gpus) == pytest.approx(published, rel=0.10), source


@pytest.mark.parametrize(("name", "pair", "p2p", "both", "published", "source"), COPIES)
def test_a_pair_of_pcie_gpus_copies_as_published(name, pair, p2p, both, published, source):
    on = patched(name, p2p)
    row = rows("p2p_copy", on, [2**28], group(on, list(pair)), bidirectional=both)[0]
    assert row.algbw_GBps == pytest.approx(published, rel=0.10), source


def test_forcing_the_ring_gives_the_ring():
    on = cluster("dgx-h100", 1, "algo=Ring")
    row = rows("all_reduce", on, [PLATEAU])[0]
    assert row.algorithm == "Ring"
    assert row.busbw_GBps == pytest.approx(369, rel=0.10)


RECORDS = {
    "nccl1455-h100-2to8-ring": ("dgx-h100", 8, None),
    "h200-1n-nvls-off": ("dgx-h200", 8, None),
    "azure-a100_v4-allreduce": ("azure-nda100-v4", 8, None),
    "aic-b200_sxm-nccl2.27.5-all_reduce-8gpu-half": ("dgx-b200", 8, None),
    "dgxa100-4gpu": ("hgx-a100-4", 4, None),
    **{f"vtrain-v100-{n}gpu-allreduce": ("dgx-1v", n, None) for n in (2, 3, 4, 6, 7, 8)},
    "mi300x-8-allreduce": ("mi300x-8", 8, None),
    "stas-mi300x-2": ("mi300x-8", 2, None),
    "chlc-4090x8-p2p": ("pcie-8x-rtx4090", 8, True),
    "chlc-4090x8-nop2p": ("pcie-8x-rtx4090", 8, False),
    "pptest-4090x4-p2p": ("pcie-8x-rtx4090", 4, True),
    "tinygrad-4090x6-p2p": ("pcie-6x-rtx4090", 6, True),
}

PAIRS = {
    f"chlc-4090-pair-{ways}-{p2p}-{place}": (
        ("pcie-8x-rtx4090"),
        (0, 1 if place == "near" else 4),
        p2p == "p2p",
    )
    for ways in ("uni", "bidi")
    for p2p in ("p2p", "nop2p")
    for place in ("near", "far")
} | {
    "nvb50-a6000-p2p-near": ("pcie-8x-a6000", (0, 1), True),
    "nvb50-a6000-p2p-far": ("pcie-8x-a6000", (0, 4), True),
}


@cache
def records() -> dict[str, dict]:
    path = shared("validation", "collectives.json")
    return {record["id"]: record for record in json.loads(path.read_text(encoding="utf-8"))}


@pytest.mark.corpus
@pytest.mark.parametrize("record", RECORDS)
def test_the_ring_comes_within_a_tenth_of_the_record(record):
    name, gpus, p2p = RECORDS[record]
    on = cluster(name) if p2p is None else patched(name, p2p)
    measured = max(row[3] for row in records()[record]["rows"] if row[3])
    assert ring_plateau(on, gpus) == pytest.approx(measured, rel=0.10)


@pytest.mark.corpus
@pytest.mark.parametrize("record", PAIRS)
def test_a_copy_comes_within_a_tenth_of_the_record(record):
    (name, pair, p2p), written = PAIRS[record], records()[record]
    on = patched(name, p2p)
    both = bool(written["bidirectional"])
    row = rows("p2p_copy", on, [2**28], group(on, list(pair)), bidirectional=both)[0]
    assert row.algbw_GBps == pytest.approx(written["rows"][0][2], rel=0.10)

"""What people write about networks, types and algorithms, and what it is read as."""

from __future__ import annotations

import pytest

from wirespeed.comparison.words import (
    algorithm_words,
    dtype_word,
    launch_word,
    network_words,
    version_word,
)


@pytest.mark.parametrize(
    ("text", "kind", "sockets"),
    [
        ("IB NDR", "infiniband", False),
        ("RoCE v2, single leaf, PFC+ECN", "ethernet", False),
        ("EFA v2 (32x100G)", "efa", False),
        ("Slingshot-11 via aws-ofi-nccl 1.9.2", "slingshot", False),
        ("Slingshot-11, TCP sockets", "slingshot", True),
        ("Ethernet, GPUDirect-TCPXO", "tcpx", False),
        ("Ethernet, TCP sockets", "ethernet", True),
        ("NVLink MNNVL inside rack, RoCE between racks", "ethernet", False),
        ("IB (QM8700)", "infiniband", False),
        ("Omni-Path (hfi1)", "infiniband", False),
        ("intra-node only", None, False),
        ("unknown", None, False),
    ],
)
def test_networks_are_known_by_their_words(text, kind, sockets):
    words = network_words(text)
    assert (words.kind, words.sockets, words.understood) == (kind, sockets, True)


def test_a_network_without_a_known_word_is_not_understood():
    assert not network_words("4x ConnectX-6").understood


def test_sharp_is_heard():
    assert network_words("IB HDR with SHARP").sharp


@pytest.mark.parametrize(
    ("text", "algorithm", "sharp"),
    [
        ("Ring (CTRAN ctring)", "Ring", None),
        ("CollNet SHARP", "CollNet", True),
        ("auto (CollNet on, no SHARP job)", None, False),
        ("NVLSTree", "NVLSTree", None),
        ("CollNetDirect", "CollNetDirect", None),
    ],
)
def test_algorithms_are_read_and_brackets_are_remarks(text, algorithm, sharp):
    words = algorithm_words(text)
    assert (words.algorithm, words.sharp, words.understood) == (algorithm, sharp, True)


def test_an_algorithm_of_another_library_is_not_understood():
    assert not algorithm_words("recursive doubling (CTRAN ctsrd)").understood


@pytest.mark.parametrize(
    ("text", "dtype"),
    [("fp32", "float"), ("bf16", "bfloat16"), ("fp8/bf16", "fp8_e4m3"), ("complex", None)],
)
def test_types_have_many_spellings(text, dtype):
    assert dtype_word(text) == dtype


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.29.7+cuda12.9", (2, 29, 7)),
        ("RCCL 2.26.6", (2, 26, 6)),
        ("2.4-2.8", (2, 4, 0)),
        ("NCCLX", None),
    ],
)
def test_the_first_number_is_the_version(text, version):
    assert version_word(text) == version


def test_launches_are_process_thread_or_graph():
    assert [launch_word(t) for t in ("graph", "single process", "one process a GPU", "magic")] == [
        "graph",
        "thread",
        "process",
        None,
    ]

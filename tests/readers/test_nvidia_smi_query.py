"""GPU listings and CSV queries say model, bus id, memory and PCIe link, and never a UUID."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.matrix_text import codes
from wirespeed.errors import InputError, WirespeedError
from wirespeed.evidence import Evidence
from wirespeed.readers import read_text

HEADER = (
    "index, name, pci.bus_id, uuid, memory.total [MiB], pcie.link.gen.current, "
    "pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max"
)
ROWS = (
    "0, NVIDIA L40S, 00000000:4F:00.0, GPU-11112222-aaaa, 46068 MiB, 1, 4, 16, 16",
    "1, NVIDIA L40S, 00000001:52:00.0, GPU-33334444-bbbb, 46068 MiB, 4, 4, 16, 16",
)


def read(text: str) -> Evidence:
    return read_text(text, file="query")


def test_a_query_gives_one_fact_a_column() -> None:
    found = read("\n".join(["$ nvidia-smi --query-gpu=index,name --format=csv", HEADER, *ROWS]))
    assert found.format == "nvidia-smi-query"
    facts = {f.attribute: f.value for f in found.facts if f.subject == "gpu1"}
    assert facts == {
        "index": 1,
        "model": "NVIDIA L40S",
        "bus_id": "0001:52:00.0",
        "memory_MiB": 46068,
        "pcie_gen_current": 4,
        "pcie_gen_max": 4,
        "pcie_width_current": 16,
        "pcie_width_max": 16,
    }
    assert [f.line for f in found.facts if f.attribute == "model"] == [3, 4]


def test_a_link_below_its_maximum_may_be_idle() -> None:
    found = read("\n".join([HEADER, *ROWS]))
    assert [(r.code, r.line) for r in found.remarks] == [("pcie-idle", 2)]


def test_a_uuid_is_never_kept() -> None:
    text = "\n".join([HEADER, *ROWS, "", "GPU 0: NVIDIA L40S (UUID: GPU-11112222-aaaa)"])
    found = read(text)
    assert not any("GPU-" in str(part.value) for part in found.facts)
    assert not any("GPU-" in remark.text for remark in found.remarks)


def test_values_without_units_are_read_alike() -> None:
    found = read("name, memory.total [MiB]\nTesla T4, 15360\nTesla T4, 15360\n")
    assert [found.value(f"gpu{at}", "memory_MiB") for at in (0, 1)] == [15360, 15360]


def test_without_an_index_column_gpus_count_by_line() -> None:
    found = read("name, pci.bus_id\nTesla T4, 00000000:04:00.0\nTesla T4, 00000000:05:00.0\n")
    assert found.value("gpu1", "bus_id") == "0000:05:00.0"
    assert all(f.inferred for f in found.facts if f.attribute == "index")


def test_what_the_gpu_does_not_say_is_no_fact() -> None:
    found = read("index, name, memory.total [MiB]\n0, NVIDIA GB10, [N/A]\n")
    assert found.value("gpu0", "memory_MiB") is None
    assert not found.remarks


def test_a_gpu_that_answers_with_an_error_is_remarked() -> None:
    found = read("index, name, memory.total [MiB]\n0, Tesla T4, [GPU is lost]\n")
    assert codes(found) == {"gpu-lost"}


def test_a_listing_gives_models_and_mig_instances() -> None:
    found = read(
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5f)\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-1a)\n"
        "  MIG 3g.40gb     Device  1: (UUID: MIG-2b)\n"
        "GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-6e)\n"
    )
    assert found.value("gpu0", "model") == "NVIDIA A100-SXM4-80GB"
    assert found.value("gpu0", "mig_instances") == 2
    assert found.value("gpu1", "mig_instances") is None


def test_a_listing_cut_inside_a_name_leaves_it_out() -> None:
    found = read("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5f)\nGPU 1: NVIDIA A1")
    assert found.value("gpu1", "model") is None
    assert codes(found) == {"lines-left-out"}


def test_a_row_that_does_not_fit_its_header_is_remarked() -> None:
    found = read("index, name\n0, Tesla T4\n1, Tesla T4, 5\n[...]\n")
    assert [r.line for r in found.remarks] == [3, 4]


def test_a_header_without_rows_is_refused() -> None:
    with pytest.raises(InputError, match="no GPU is listed"):
        read(HEADER + "\n")


def test_the_gpus_of_a_thousand_hosts_are_refused() -> None:
    with pytest.raises(InputError, match="too many for one host"):
        read("GPU 0: NVIDIA L4 (UUID: GPU-1)\n" * 5000)


@given(st.integers(0, 400), st.binary(max_size=3))
def test_damaged_queries_are_read_or_refused(at: int, put: bytes) -> None:
    text = "\n".join([HEADER, *ROWS, "GPU 0: NVIDIA L40S (UUID: GPU-1)"]).encode()
    for damaged in (text[:at], text[:at] + put + text[at + 1 :]):
        try:
            read_text(damaged, file="query")
        except WirespeedError as error:
            del error

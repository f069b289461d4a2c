"""GPUs are found by any usual spelling, and their links add up."""

from __future__ import annotations

import pytest

from wirespeed import catalog
from wirespeed.errors import UnknownName


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("A100 SXM4 80GB", "a100-sxm-80gb"),
        ("A100-SXM-80GB", "a100-sxm-80gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("A100-SXM4-40GB", "a100-sxm-40gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("H200-SXM", "h200-sxm"),
        ("NVIDIA H200", "h200-sxm"),
        ("NVIDIA GH200 480GB", "gh200-96gb"),
        ("NVIDIA B300 SXM6 AC", "b300-sxm"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("RTX4090", "rtx-4090"),
        ("RTX-PRO-6000", "rtx-pro-6000"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("Tesla V100-SXM2-16GB", "v100-sxm2-16gb"),
        ("Tesla V100-SXM3-32GB-H", "v100-sxm3"),
        ("MI300X", "mi300x"),
        ("AMD Instinct MI300X", "mi300x"),
        ("h100_sxm", "h100-sxm"),
    ],
)
def test_one_gpu_has_many_spellings(name: str, key: str) -> None:
    assert catalog.gpu(name).key == key


def test_an_unknown_gpu_names_its_nearest() -> None:
    with pytest.raises(UnknownName, match=r"h100-sxm"):
        catalog.gpu("H100-SMX")


def test_hopper_has_eighteen_links_of_25_GBps_each_way() -> None:
    found = catalog.nvlink_of(catalog.gpu("H100 SXM5 80GB"))
    assert found is not None
    generation, links = found
    assert links == 18
    assert generation.bandwidth(links) == 450e9


def test_h800_keeps_eight_of_them() -> None:
    found = catalog.nvlink_of(catalog.gpu("H800"))
    assert found is not None
    assert found[0].bandwidth(found[1]) == 200e9


def test_ga102_links_are_slower_than_those_of_a100() -> None:
    found = catalog.nvlink_of(catalog.gpu("RTX 3090"))
    assert found is not None
    assert found[0].bandwidth(found[1]) == 56.25e9


def test_a_geforce_4090_has_no_nvlink() -> None:
    assert catalog.nvlink_of(catalog.gpu("RTX 4090")) is None


def test_peaks_are_dense_and_absent_where_the_part_has_no_rate() -> None:
    h100 = catalog.gpu("H100")
    assert h100.peak("bf16") == 989.4e12
    assert h100.peak("fp8") == 1978.9e12
    assert h100.peak("fp4") is None
    assert h100.memory_bandwidth == 3350e9


def test_stock_drivers_keep_geforce_cards_apart() -> None:
    assert not catalog.gpu("RTX 4090").pcie_p2p
    assert catalog.gpu("RTX PRO 6000").pcie_p2p


def test_every_name_in_every_spelling_means_its_own_row() -> None:
    for row in catalog.gpus():
        for name in row.names:
            for spelling in (name, f"{row.vendor} {name}", name.upper(), name.replace(" ", "-")):
                assert catalog.gpu(spelling) == row, spelling

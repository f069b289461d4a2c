"""Every row of every table says where it is from and how sure it is, in sane units."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from wirespeed import catalog
from wirespeed.catalog import TABLES, Row

DATA = Path(catalog.__file__).parent / "data"
KINDS = sorted({type(read()[0]) for read in TABLES.values()}, key=lambda kind: kind.__name__)

LIMITS = {
    "_GBps_dir": (1, 8_000),
    "bidirectional_GBps": (1, 100_000),
    "busbw_GBps": (1, 3_000),
    "memory_GBps": (100, 50_000),
    "_GTps": (2, 256),
    "_Gbps": (1, 30_000),
    "_TFLOPS": (1, 100_000),
    "_TOPS": (1, 100_000),
    "_GB": (8, 1_000),
    "_MiB": (8_000, 1_000_000),
    "_W": (50, 3_000),
    "_ns": (1, 25_000),
    "_us": (0.1, 100),
}


def test_every_table_of_the_data_files_is_read() -> None:
    apart = ("parameters.toml", "library_nccl.toml", "library_rccl.toml")
    files = [file for file in DATA.glob("*.toml") if file.name not in apart]
    written = {name for file in files for name in tomllib.loads(file.read_text())}
    assert written == set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_a_source_and_a_confidence(table: str) -> None:
    for row in TABLES[table]():
        assert row.source.startswith(("https://", "http://")), row.key
        assert row.check_source == "" or row.check_source.startswith("http"), row.key
        assert row.confidence in {"spec", "measured", "assumed"}


@pytest.mark.parametrize("table", TABLES)
def test_what_is_assumed_is_a_column_of_the_row(table: str) -> None:
    for row in TABLES[table]():
        for column in row.assumed:
            assert getattr(row, column) not in (None, "", ()), (row.key, column)


@pytest.mark.parametrize("table", TABLES)
def test_recalled_or_doubted_rows_never_pass_as_sure(table: str) -> None:
    """A doubt that a second fact settled keeps that source, or a note that says so."""
    for row in TABLES[table]():
        if row.confidence != "assumed" and not row.assumed:
            assert row.basis != "recall" or row.note, row.key
            assert not row.doubt or row.check_source or row.note, row.key


def numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        value = tuple(value.values())
    return [n for n in (value if isinstance(value, tuple) else (value,)) if n is not None]


@pytest.mark.parametrize("table", TABLES)
def test_numbers_lie_in_sane_ranges(table: str) -> None:
    for row in TABLES[table]():
        for column in row.__struct_fields__:
            suffix = next((suffix for suffix in LIMITS if column.endswith(suffix)), None)
            if suffix:
                least, most = LIMITS[suffix]
                values = numbers(getattr(row, column))
                assert all(least <= value <= most for value in values), (row.key, column)


@pytest.mark.parametrize("kind", KINDS)
def test_every_bandwidth_says_its_direction(kind: type[Row]) -> None:
    for column in kind.__struct_fields__:
        if "GBps" in column:
            assert column.endswith("_dir") or any(
                word in column for word in ("bidirectional", "busbw", "memory")
            ), column


@pytest.mark.parametrize("table", TABLES)
def test_keys_are_unique_and_short(table: str) -> None:
    keys = Counter(row.key for row in TABLES[table]())
    assert max(keys.values()) == 1
    assert all(key == key.lower() and len(key) <= 24 for key in keys)


@pytest.mark.parametrize("table", TABLES)
def test_no_name_means_two_rows(table: str) -> None:
    owners: dict[str, str] = {}
    for row in TABLES[table]():
        for name in row.names:
            assert owners.setdefault(name.lower(), row.key) == row.key, name


def test_rows_point_at_rows_that_exist() -> None:
    for gpu in catalog.gpus():
        assert catalog.pcie(gpu.pcie_generation)
        assert not gpu.c2c or catalog.c2c(gpu.c2c)
        assert not gpu.xgmi or catalog.xgmi(gpu.xgmi)
        assert bool(gpu.nvlink_generation) == bool(gpu.nvlink_links)
        catalog.nvlink_of(gpu)
    for row in (*catalog.platforms(), *catalog.clouds()):
        assert not row.nic or catalog.nic(row.nic).key == row.nic
        assert not row.cpu_link or catalog.cpu_link(row.cpu_link).key == row.cpu_link
    for key in (
        *(cloud.gpu for cloud in catalog.clouds()),
        *(name for p in catalog.platforms() for name in (p.gpu, *p.other_gpus) if name),
        *(fabric.gpu for fabric in catalog.fabrics() if fabric.gpu),
        *(copy.gpu for copy in catalog.pcie_p2p() if copy.gpu),
    ):
        assert catalog.gpu(key).key == key
    for switch in catalog.nvswitch_generations():
        assert catalog.nvlink(switch.nvlink_generation)


def test_every_correction_leads_to_the_right_figure() -> None:
    for correction in catalog.corrections():
        for reference in correction.right_in:
            table, _, key = reference.partition("/")
            assert key in {row.key for row in TABLES[table]()}, reference


def test_gpus_listed_without_nvlink_have_none() -> None:
    for key in catalog.without_nvlink()[0].gpus:
        assert catalog.gpu(key).nvlink_links == 0


def test_rows_can_be_hashed_and_survive_json() -> None:
    for table, read in TABLES.items():
        for row in read():
            assert hash(row) == hash(row.key)
            text = msgspec.json.encode(row)
            assert msgspec.json.decode(text, type=type(row)) == row, table

"""What sources say, before anything is concluded."""

from __future__ import annotations

import tarfile

import pytest

import wirespeed as ws
from nccl_tests_text import cluster_of, printed
from wirespeed.errors import InputError, UsageError

MATRIX = "examples/dgx-h100-topo-m.txt"


def test_a_file_says_facts_with_their_lines():
    (said,) = ws.read(MATRIX)
    assert said.measurements == ()
    assert {fact.subject for fact in said.facts} >= {"gpu0>gpu1", "gpu0>nic0"}
    assert all(fact.line > 0 for fact in said.facts if not fact.inferred)


def test_several_sources_are_read_each_by_its_reader(tmp_path):
    run = tmp_path / "run.txt"
    run.write_text(printed(cluster_of("dgx-h100")))
    matrix, rows = ws.read(MATRIX, str(run))
    assert (matrix.measurements, rows.format) == ((), "nccl-tests")
    assert rows.measurements[0].rows


def test_an_archive_is_its_texts(tmp_path):
    bundle = tmp_path / "bundle.tgz"
    with tarfile.open(bundle, "w:gz") as archive:
        archive.add(MATRIX, "topo.txt")
    (said,) = ws.read(str(bundle))
    assert said.facts == ws.read(MATRIX)[0].facts
    assert said.file == "bundle.tgz:topo.txt"


def test_what_says_nothing_is_an_error_with_what_to_do(tmp_path):
    nothing = tmp_path / "nothing.txt"
    nothing.write_text("once upon a time\n")
    with pytest.raises(InputError) as caught:
        ws.read(str(nothing))
    assert caught.value.remedy
    with pytest.raises(UsageError):
        ws.read()

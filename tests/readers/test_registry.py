"""What a text is, is told by its content; what cannot be read is refused with one message."""

from __future__ import annotations

import codecs

import pytest

from readers.matrix_text import TWO_SOCKETS, pairs_of, print_matrix
from wirespeed.errors import InputError
from wirespeed.readers import FORMATS, read_text

MATRIX = print_matrix(TWO_SOCKETS)


@pytest.mark.parametrize(
    "data",
    [
        MATRIX,
        MATRIX.encode(),
        codecs.BOM_UTF8 + MATRIX.encode(),
        "\ufeff" + MATRIX,
        codecs.BOM_UTF16_LE + MATRIX.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + MATRIX.encode("utf-16-be"),
        f"Größe unbekannt\n{MATRIX}".encode("latin-1"),
    ],
)
def test_a_matrix_is_read_in_any_encoding(data: str | bytes) -> None:
    assert pairs_of(read_text(data, file="paste")) == TWO_SOCKETS.pairs()


@pytest.mark.parametrize("data", [b"", b"\n\n", codecs.BOM_UTF8, "\ufeff "])
def test_nothing_is_refused(data: bytes | str) -> None:
    with pytest.raises(InputError, match="nothing to read"):
        read_text(data, file="paste")


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01\x00\x00" + bytes(range(256)),
        MATRIX.encode()[:80] + b"\0" + MATRIX.encode()[80:],
        bytes(range(1, 256)) * 4,
    ],
)
def test_a_binary_file_is_refused_as_such(data: bytes) -> None:
    with pytest.raises(InputError, match="binary file"):
        read_text(data, file="core")


def test_a_text_of_unknown_kind_is_refused_with_what_is_known() -> None:
    with pytest.raises(InputError, match="no format that can be read") as caught:
        read_text("Dear all,\nplease find attached.\n", file="mail")
    message = str(caught.value)
    assert message.startswith("mail: ")
    assert all(form.what in message for form in FORMATS)


def test_a_huge_text_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(InputError, match="this is too much to read"):
        read_text(b"GPU0 X\n" * (9 * 2**20 // 7 + 1), file="log")


def test_a_paste_of_two_commands_is_read_by_both_readers() -> None:
    listing = "GPU 0: NVIDIA L4 (UUID: GPU-0)\nGPU 1: NVIDIA L4 (UUID: GPU-1)\n"
    found = read_text(listing + MATRIX, file="paste")
    assert found.format == "topo-m+nvidia-smi-query"
    assert found.value("gpu1", "model") == "NVIDIA L4"
    assert pairs_of(found) == TWO_SOCKETS.pairs()


def test_format_names_are_unique() -> None:
    names = [form.name for form in FORMATS]
    assert len(set(names)) == len(names)

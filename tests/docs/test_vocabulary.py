"""The vocabulary has a line for every word that the package shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wirespeed.collectives.library.names import Algorithm
from wirespeed.collectives.operation import Operation, bus_factor
from wirespeed.collectives.protocol import Protocol
from wirespeed.topology.kinds import ComponentKind, PathType, SmiWord

PAGE = Path(__file__).resolve().parents[2] / "docs" / "vocabulary.md"
WORDS = [*Algorithm, *Operation, *Protocol, *PathType.__members__, *SmiWord.__members__]
WORDS += [kind.word for kind in ComponentKind if kind.word not in ("gpu", "pcie")]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_the_package_is_explained(word):
    assert re.search(rf"\b{re.escape(word)}\b", PAGE.read_text(), re.IGNORECASE)


def test_the_factors_of_busbw_are_those_of_the_code():
    assert "2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter and alltoall; 1" in (
        PAGE.read_text()
    )
    assert bus_factor(Operation.ALL_REDUCE, 8) == 2 * 7 / 8
    assert bus_factor(Operation.ALLTOALL, 8) == 7 / 8
    assert bus_factor(Operation.BROADCAST, 8) == bus_factor(Operation.SENDRECV, 8) == 1

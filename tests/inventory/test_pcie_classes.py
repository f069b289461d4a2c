"""Words of one tree give the classes back, whatever NVLink hides."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from wirespeed.inventory.pcie_classes import LEVELS, nested_classes
from wirespeed.topology.kinds import SmiWord

DEVICES = tuple(f"gpu{i}" for i in range(5)) + tuple(f"nic{i}" for i in range(3))
# Where each device hangs: NUMA node, host bridge, upper switch, lower switch.
PLACES = st.lists(st.tuples(*[st.integers(0, 1)] * 4), min_size=len(DEVICES), max_size=len(DEVICES))


def words_of(places: list[tuple[int, ...]]) -> dict[tuple[str, str], SmiWord]:
    """Words between devices by how much of their place they share."""
    farthest = [SmiWord.SYS, SmiWord.NODE, SmiWord.PHB, SmiWord.PXB, SmiWord.PIX]
    words = {}
    for (a, one), (b, other) in combinations(zip(DEVICES, places, strict=True), 2):
        shared = next((k for k in range(4) if one[k] != other[k]), 4)
        words[a, b] = words[b, a] = farthest[shared]
    return words


@given(PLACES)
def test_the_words_of_a_tree_come_back(places):
    words = words_of(places)
    classes = nested_classes(DEVICES, words, {})
    assert {pair: classes.word(*pair) for pair in words} == words


@given(PLACES)
def test_what_nvlink_hides_contradicts_no_word_that_is_shown(places):
    words = words_of(places)
    shown = {pair: word for pair, word in words.items() if not all("gpu" in d for d in pair)}
    classes = nested_classes(DEVICES, shown, {})
    assert {pair: classes.word(*pair) for pair in shown} == shown


@given(
    PLACES,
    st.dictionaries(st.sampled_from(list(combinations(DEVICES[:5], 2))), st.sampled_from(LEVELS)),
)
def test_a_suggestion_never_overrules_a_word(places, suggested):
    words = words_of(places)
    shown = {pair: word for pair, word in words.items() if not all("gpu" in d for d in pair)}
    classes = nested_classes(DEVICES, shown, suggested)
    assert {pair: classes.word(*pair) for pair in shown} == shown


def test_gpus_that_see_the_same_nic_at_one_word_may_be_as_near_as_suggested():
    shown = {("gpu0", "nic0"): SmiWord.PXB, ("gpu1", "nic0"): SmiWord.PXB}
    near = nested_classes(("gpu0", "gpu1", "nic0"), shown, {("gpu0", "gpu1"): SmiWord.PIX})
    assert near.word("gpu0", "gpu1") == SmiWord.PIX
    assert nested_classes(("gpu0", "gpu1", "nic0"), shown, {}).word("gpu0", "gpu1") == SmiWord.PXB


def test_words_that_are_no_tree_keep_the_nearest():
    known = {
        ("gpu0", "gpu1"): SmiWord.PIX,
        ("gpu1", "gpu2"): SmiWord.PIX,
        ("gpu0", "gpu2"): SmiWord.SYS,
    }
    assert nested_classes(("gpu0", "gpu1", "gpu2"), known, {}).word("gpu0", "gpu2") == SmiWord.PIX

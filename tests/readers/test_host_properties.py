"""Cut, joined or damaged, outputs of host tools are read or refused with a message, and in time."""

from __future__ import annotations

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers import host_texts as texts
from support import shared
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence
from wirespeed.readers import FORMATS, read_text

NAMES = sorted(texts.TEXTS)
FOLDERS = (
    *("astra-sim", "dmesg", "ibnetdiscover", "ibstat-ibdev2netdev", "ibswinfo", "lspci"),
    *("lstopo-xml", "nvbandwidth", "nvidia-smi-nvlink", "nvidia-smi-query"),
    *("p2pBandwidthLatencyTest", "perfquery", "perftest", "rocm-smi-topo", "slurm-topology-conf"),
)


def read_or_refuse(text: str) -> Evidence | None:
    """Evidence, or None where it is refused with a message; any other error fails the test."""
    started = time.process_time()
    try:
        found = read_text(text, file="paste")
    except InputError as error:
        found, told = None, bool(error.what and error.remedy)
        assert told
    assert time.process_time() - started <= 2 + 2 * len(text) / 2**20
    return found


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A text with pieces lost, doubled, replaced or taken from another one."""
    text = texts.TEXTS[draw(st.sampled_from(NAMES))][0]
    for _ in range(draw(st.integers(1, 3))):
        pieces = re.findall(draw(st.sampled_from([r"(?s).", r"\s*\S+", r"[^\n]*\n?"])), text)
        if not pieces:
            break
        at = draw(st.integers(0, len(pieces) - 1))
        other = texts.TEXTS[draw(st.sampled_from(NAMES))][0]
        piece = draw(
            st.sampled_from(
                ["", pieces[at] * 2, pieces[at] * 40, pieces[-1], other, "\x1b[4m", "9"]
            )
        )
        text = "".join([*pieces[:at], piece, *pieces[at + 1 :]])
    return text


@settings(max_examples=100, deadline=None)
@given(damaged())
def test_damage_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_a_cut_says_nothing_that_the_whole_does_not_say(name: str, data: st.DataObject) -> None:
    text = texts.TEXTS[name][0]
    part = text[: data.draw(st.integers(0, len(text)))]
    whole: dict[tuple[str, str], set[object]] = {}
    for fact in read_text(text, file="paste").facts:
        whole.setdefault((fact.subject, fact.attribute), set()).add(fact.value)
    found = read_or_refuse(part)
    for fact in found.facts if found else ():
        counted = fact.attribute in ("nvlinks", "nvlinks_active", "lines", *COUNTED)
        # The far end of a cable has a GUID once its own lines are there.
        counted |= name == "iblinkinfo" and "lid " in fact.subject
        if not (counted or fact.inferred):
            assert fact.value in whole.get((fact.subject, fact.attribute), ()), part[-60:]


COUNTED = ("level", "levels", "roots", "switches", "node_count", "nodes", "npus", "dimensions")
"""What sums over lines that a cut takes away."""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
def test_a_paste_of_several_outputs_is_read_by_each_reader(names: list[str]) -> None:
    pasted = "".join(f"$ {name}\n{texts.TEXTS[name][0]}\n" for name in names)
    found = read_or_refuse(pasted)
    assert found is not None
    assert set(found.format.split("+")) <= {form.name for form in FORMATS}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("glue", ["\n", ""])
def test_time_grows_with_length_and_no_faster(name: str, glue: str) -> None:
    text = texts.TEXTS[name][0].replace("\n", glue)
    started = time.process_time()
    read_or_refuse(text * (1 + 2**17 // len(text)))
    # An eighth of a mebibyte: what takes time by the square of its length is far beyond.
    assert time.process_time() - started <= 0.75


@pytest.mark.corpus
@pytest.mark.parametrize("folder", FOLDERS)
def test_published_outputs_may_be_damaged_too(folder: str) -> None:
    for path in sorted(shared("samples", folder).iterdir()):
        text = path.read_text("utf-8", errors="replace")
        draw = random.Random(path.name)
        for _ in range(6):
            pieces = re.findall(draw.choice([r"(?s).", r"\s*\S+", r"[^\n]*\n?"]), text)
            at = draw.randrange(len(pieces))
            other = draw.choice(["", pieces[at] * 2, draw.choice(pieces), "\x7f", "-1"])
            read_or_refuse("".join([*pieces[:at], other, *pieces[at + 1 :]]) or " ")
            read_or_refuse("".join(pieces[:at]) or "-")

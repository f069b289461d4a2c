"""Graph XML of the library: the channels that it searched, with their devices and speeds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import shared
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence
from wirespeed.readers import read_text

TWO_NODES = """\
<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="40" speedinter="24" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="1">
    <channel>
      <net dev="1"/>
      <gpu dev="0"/>
      <gpu dev="1"/>
      <net dev="1"/>
    </channel>
    <channel>
      <net dev="0x100000000"/>
      <gpu dev="1"/>
      <gpu dev="0"/>
      <net dev="0"/>
    </channel>
  </graph>
  <graph id="3" pattern="5" crossnic="0" nchannels="0" speedintra="0" speedinter="0" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="1"/>
</graphs>
"""  # noqa: E501


def values(evidence: Evidence, subject: str) -> dict[str, object]:
    return {f.attribute: f.value for f in evidence.facts if f.subject == subject}


def codes(evidence: Evidence) -> list[str]:
    return [remark.code for remark in evidence.remarks]


@pytest.fixture(scope="module")
def graph() -> Evidence:
    return read_text(TWO_NODES, file="graph.xml")


def test_a_ring_has_pattern_channels_speeds_and_paths(graph: Evidence):
    assert graph.format == "nccl-graph"
    assert values(graph, "graphs") == {"version": 1, "searched": 2}
    assert values(graph, "search0") == {
        "kind": "ring",
        "pattern": "ring",
        "channels": 2,
        "intra_GBps": 40.0,
        "inter_GBps": 24.0,
        "latency_us": 0.0,
        "cross_nic": 0,
        "same_channels": True,
        "intra_type": "NVL",
        "inter_type": "PIX",
        "gpus": (0, 1),
        "nets": (0, 1, 2**32),
    }
    assert graph.remarks == ()


def test_a_channel_enters_and_leaves_by_its_nics(graph: Evidence):
    assert values(graph, "search0 channel0") == {"gpus": (0, 1), "net_in": 1, "net_out": 1}
    assert values(graph, "search0 channel1") == {"gpus": (1, 0), "net_in": 2**32, "net_out": 0}
    (order,) = [f for f in graph.facts if (f.subject, f.value) == ("search0 channel1", (1, 0))]
    assert order.line == 9


def test_what_was_searched_and_not_found_has_no_channels(graph: Evidence):
    said = values(graph, "search3")
    assert (said["kind"], said["channels"]) == ("nvls", 0)
    assert "gpus" not in said


def test_fewer_channels_than_announced_are_told():
    one = TWO_NODES.replace('nchannels="2"', 'nchannels="16"')
    (remark,) = read_text(one, file="x").remarks
    assert (remark.code, remark.line) == ("channels-differ", 2)
    assert "16 channels are announced, 2 are listed" in remark.text


def test_numbers_of_path_types_are_not_guessed():
    old = TWO_NODES.replace('typeintra="NVL"', 'typeintra="4"')
    evidence = read_text(old, file="x")
    assert "intra_type" not in values(evidence, "search0")
    assert "path-number" in codes(evidence)


def test_patterns_and_words_that_are_not_known_are_told():
    odd = TWO_NODES.replace('pattern="4"', 'pattern="77"').replace('speedintra="40"', "")
    odd = odd.replace('typeinter="PIX"', 'typeinter="FAR"').replace('<net dev="1"/>', "<fan/>")
    odd = odd.replace('id="3"', 'id="0"')
    evidence = read_text(odd, file="x")
    assert {"pattern-unknown", "value-unclear", "unknown-element", "no-graph-id"} == set(
        codes(evidence)
    )
    assert "search1" in {fact.subject for fact in evidence.facts}


def test_a_cut_file_is_mended_and_keeps_its_lines():
    evidence = read_text(TWO_NODES[: TWO_NODES.index("</channel>\n  </graph>")], file="x")
    assert {"not-well-formed", "not-closed"} <= set(codes(evidence))
    assert values(evidence, "search0 channel1")["net_out"] == 0
    assert max(fact.line for fact in evidence.facts) == 9


def test_entities_are_refused():
    with pytest.raises(InputError, match="document types and entities"):
        read_text('<!DOCTYPE g [<!ENTITY a "b">]>\n' + TWO_NODES, file="x")


def test_a_file_without_graphs_says_how_to_get_one():
    with pytest.raises(InputError, match="NCCL_GRAPH_DUMP_FILE"):
        read_text('<graphs version="1"></graphs>', file="x")


@pytest.mark.slow
def test_more_elements_than_any_machine_has_are_refused_soon():
    many = TWO_NODES.replace("<gpu dev=", '<gpu dev="0"/>' * 26_000 + "<gpu dev=")
    begin = time.process_time()
    with pytest.raises(InputError, match="more than 100000 elements"):
        read_text(many, file="x")
    assert time.process_time() - begin < 5


@given(st.data())
def test_cuts_are_read_or_refused(data: st.DataObject):
    begin = data.draw(st.integers(0, len(TWO_NODES)))
    end = data.draw(st.integers(begin, len(TWO_NODES)))
    noise = data.draw(st.text(max_size=20))
    try:
        evidence = read_text(TWO_NODES[begin:end] + noise + TWO_NODES[:end], file="x")
    except InputError:
        return
    assert all(fact.line >= 1 for fact in evidence.facts)


@pytest.mark.corpus
def test_four_a100_over_pcie_search_two_rings_and_four_trees_over_sys_without_a_network():
    sample = shared("samples", "nccl-graph-xml", "01-azure-ncv4-graph.xml")
    evidence = read_text(sample.read_bytes(), file=sample.name)
    ring, tree = values(evidence, "search0"), values(evidence, "search1")
    assert (ring["pattern"], ring["channels"]) == ("ring", 2)
    assert (ring["intra_GBps"], ring["intra_type"]) == (12.0, "SYS")
    assert (tree["pattern"], tree["channels"]) == ("balanced tree", 4)
    assert values(evidence, "search2")["kind"] == "collnet chain"
    assert not any(f.attribute in ("nets", "net_in", "net_out") for f in evidence.facts)
    assert values(evidence, "search1 channel3")["gpus"] == (2, 3, 0, 1)
    assert evidence.remarks == ()

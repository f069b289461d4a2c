"""Parameters are few, physical, and none belongs to a source."""

from __future__ import annotations

from collections import Counter

import pytest

from wirespeed.catalog import parameters
from wirespeed.collectives.costs import CostClass, costs_of
from wirespeed.collectives.protocol import Protocol
from wirespeed.validation.counts import parameter_counts
from wirespeed.validation.fitted import FAR, NEAR

NETWORKS = ("infiniband", "ethernet", "efa", "efa2", "slingshot", "tcpx", "socket")
GENERATIONS = ("volta", "ampere", "hopper", "blackwell", "cdna3", "cdna4", "other")
MOST_FITTED = {"generation": 8, "transport": 6}


def test_fitted_ones_are_at_most_eight_a_generation_and_six_a_transport():
    table = parameters().table
    fitted = Counter(tuple(k.split(".")[:2]) for k, e in table.items() if e.confidence == "fitted")
    for (group, name), count in fitted.items():
        assert count <= MOST_FITTED.get(group, 2), (group, name)


def test_the_fit_moves_what_the_file_calls_fitted_and_nothing_else():
    table = parameters().table
    said = {key for key, entry in table.items() if entry.confidence == "fitted"}
    assert said == {*NEAR, *FAR}
    assert all(table[key].start is not None and table[key].source for key in said)


def test_no_parameter_is_for_a_source_a_cluster_or_a_size():
    groups = {key.split(".")[0] for key in parameters().table}
    assert groups == {
        "call",
        "generation",
        "gpu",
        "launch",
        "pipeline",
        "protocol",
        "transport",
    }


def test_the_count_has_a_line_for_each_group():
    lines = parameter_counts()
    names = {".".join(key.split(".")[:2]) for key in parameters().table}
    assert [line.split()[0] for line in lines if line.split()[0] in names] == [
        line.split()[0] for line in lines
    ]
    assert len(lines) == len(names)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_step_of_ll128_never_waits_longer_than_one_of_simple(generation: str, network: str):
    costs = costs_of(CostClass(generation, network, "process", True), parameters())
    assert (costs.step[Protocol.LL128] <= costs.step[Protocol.SIMPLE]).all()

"""The functions that notebooks and scripts call."""

from __future__ import annotations

import json
import math

import msgspec
import numpy as np
import pytest

import wirespeed as ws
from wirespeed.errors import Infeasible, InputError, UnknownName, UsageError
from wirespeed.inventory import resolve
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.result import to_json


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(lambda: ws.topo("gb200-nvl72"), id="topo"),
        pytest.param(
            lambda: ws.collective("all_reduce", "dgx-a100", sizes="1M,1G", explain=True),
            id="collective",
        ),
        pytest.param(
            lambda: ws.collective("alltoall", "dgx-a100", sizes="1G", loads=True), id="loads"
        ),
        pytest.param(lambda: ws.faults("all_reduce", "dgx-a100", "64M"), id="faults"),
    ],
)
def test_a_result_goes_to_json_and_back_unchanged(result, tmp_path):
    made = result()
    file = tmp_path / "result.json"
    file.write_bytes(to_json(made))
    assert ws.load(file) == made
    assert str(ws.load(file)) == str(made)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "truncated"),
        ("[1, 2]", "object"),
        ('{"rows": []}', "schema"),
        ('{"schema": "wirespeed.topo/0"}', "known"),
        ('{"schema": "wirespeed.topo/1", "name": 3}', "str"),
    ],
)
def test_what_is_no_result_is_not_loaded(tmp_path, content, message):
    file = tmp_path / "other.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"other\.json: is not a result") as caught:
        ws.load(file)
    assert message in str(caught.value)


def test_a_missing_result_is_said(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        ws.load(tmp_path / "nothing.json")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_json_has_no_numbers_that_are_none(value):
    made = ws.collective("all_reduce", "dgx-a100", sizes="1M")
    row = msgspec.structs.replace(made.rows[0], bound_us=value)
    with pytest.raises(Infeasible, match=r"rows\[0\]\.bound_us"):
        to_json(msgspec.structs.replace(made, rows=(row,)))


def test_a_machine_is_given_by_name_by_object_or_resolved():
    ways = ["dgx-a100", preset_machine("dgx-a100"), resolve("dgx-a100"), ws.cluster("dgx-a100")]
    rows = [ws.collective("all_gather", way, sizes="1G").rows for way in ways]
    assert all(row == rows[0] for row in rows)
    assert len({ws.topo(way).name for way in ways}) == 1


def test_racks_count_the_nodes_of_a_rack():
    assert ws.cluster("gb200-nvl72").nodes == 18
    assert ws.cluster("gb200-nvl72", racks=2).nodes == 36
    assert ws.cluster("gb200-nvl72", nodes=4).nodes == 4
    assert ws.cluster("dgx-h100", changes=["nodes=4"]).nodes == 4


@pytest.mark.parametrize("counts", [{"nodes": 0}, {"racks": -1}, {"nodes": 2, "racks": 2}])
def test_counts_that_make_no_cluster_are_refused(counts):
    with pytest.raises(UsageError):
        ws.cluster("dgx-h100", **counts)


def test_one_machine_needs_no_fabric_and_more_get_the_platforms():
    assert ws.cluster("dgx-a100").fabric == ""
    assert ws.cluster("dgx-a100", nodes=2).fabric == "superpod-a100"
    assert ws.cluster("pcie-8x-rtx4090", nodes=2).fabric == "fat-tree"
    assert ws.cluster("dgx-a100", nodes=2, fabric="single").fabric == "single"


def test_library_and_environment_reach_the_cluster():
    on = ws.cluster("dgx-h100", library="nccl@2.19", env={"NCCL_P2P_LEVEL": "SYS"})
    assert str(on.software) == "nccl@2.19"
    assert on.software.env == {"NCCL_P2P_LEVEL": "SYS"}
    assert ws.cluster("mi300x-8").software.library == "rccl"


@pytest.mark.parametrize(("name", "library"), [("mi300x-8", "nccl@2.27"), ("dgx-h100", "rccl")])
def test_a_library_that_does_not_drive_these_gpus_is_refused(name, library):
    with pytest.raises(UsageError, match="does not drive"):
        ws.cluster(name, library=library)


def test_sizes_are_text_numbers_or_lists():
    for sizes in ("1M,2M", [2**20, 2**21], np.array([2**20, 2**21])):
        rows = ws.collective("all_reduce", "dgx-a100", sizes=sizes).rows
        assert [row.size_bytes for row in rows] == [2**20, 2**21]
    (row,) = ws.collective("all_reduce", "dgx-a100", sizes=2**20).rows
    assert row.size_bytes == 2**20


def test_ranks_are_text_or_numbers():
    for ranks in ("0-3", [0, 1, 2, 3]):
        (row,) = ws.collective("all_reduce", "dgx-a100", sizes="1G", ranks=ranks).rows
        assert row.ranks == 4


def test_a_forced_protocol_is_taken():
    (row,) = ws.collective("all_reduce", "dgx-a100", sizes="1G", proto="LL").rows
    assert row.protocol == "LL"


def test_an_unknown_launch_is_refused():
    with pytest.raises(UsageError, match="'rocket'"):
        ws.collective("all_reduce", "dgx-a100", launch="rocket")


def test_a_curve_gives_the_times_of_the_table_in_seconds():
    curve = ws.curve("all_reduce", "dgx-a100", sizes="1M:1G")
    rows = ws.collective("all_reduce", "dgx-a100", sizes="1M:1G").rows
    assert curve.time * 1e6 == pytest.approx([row.time_us for row in rows])


def test_a_bound_is_below_the_table_in_seconds():
    least = ws.bound("all_reduce", "dgx-a100", "1G")
    (row,) = ws.collective("all_reduce", "dgx-a100", sizes="1G").rows
    assert least.network * 1e6 == pytest.approx([row.bound_us])
    assert least.p2p * 1e6 == pytest.approx([row.bound_p2p_us])
    assert least.p2p[0] * 1e6 < row.time_us
    assert least.network_cut
    assert least.p2p_cut.startswith("gpu: ")


def test_results_name_the_parameters_behind_them():
    made = json.loads(to_json(ws.collective("all_reduce", "dgx-a100", sizes="1M")))
    assert len(made["parameters"]["hash"]) == 12
    assert made["version"] == ws.__version__


def test_a_data_type_that_is_none_is_refused_and_other_spellings_are_taken():
    with pytest.raises(UnknownName, match="data type 'foo'"):
        ws.collective("all_reduce", "dgx-h100", sizes="1M", dtype="foo")
    one, other = (
        ws.collective("all_reduce", "dgx-h100", sizes="1G", dtype=name).rows
        for name in ("bf16", "bfloat16")
    )
    assert one == other

"""`wirespeed collective`: the table of nccl-tests, forecast."""

from __future__ import annotations

import pytest

ROW = {
    *("nodes", "ranks", "operation", "size_bytes", "time_us", "algbw_GBps", "busbw_GBps"),
    *("algorithm", "protocol", "channels", "bottleneck", "wire_share", "bound_us"),
    *("bound_p2p_us", "low_us", "high_us", "validity", "routing_spread"),
}
ON_H100 = ("collective", "all_reduce", "--on", "dgx-h100", "--sizes", "1M,1G")


def test_the_json_has_the_fields_of_the_contract(run):
    found = run(*ON_H100, "--json").json
    assert found["schema"] == "wirespeed.collective/1"
    assert {"version", "inputs", "parameters", "warnings", "rows"} <= set(found)
    assert all(set(row) == ROW for row in found["rows"])
    assert [row["size_bytes"] for row in found["rows"]] == [2**20, 2**30]
    assert all(row["low_us"] < row["time_us"] < row["high_us"] for row in found["rows"])


def test_inputs_say_what_was_asked(run):
    found = run(*ON_H100, "--nodes", "1,2", "--change", "node0/nic3=down", "--json").json
    inputs = found["inputs"]
    assert inputs["op"] == "all_reduce"
    assert inputs["on"] == "dgx-h100"
    assert inputs["nodes"] == [1, 2]
    assert inputs["changes"] == ["node0/nic3=down"]


def test_without_sizes_the_table_runs_from_8_bytes_to_16_GiB(run):
    rows = run("collective", "all_reduce", "--on", "dgx-h100", "--json").json["rows"]
    assert [row["size_bytes"] for row in rows] == [2**k for k in range(3, 35)]


def test_busbw_is_algbw_times_the_factor_of_nccl_tests(run):
    for row in run(*ON_H100, "--json").json["rows"]:
        assert row["busbw_GBps"] == pytest.approx(row["algbw_GBps"] * 2 * 7 / 8)
        assert row["algbw_GBps"] == pytest.approx(row["size_bytes"] / row["time_us"] / 1e3)
        assert row["bound_us"] <= row["bound_p2p_us"] <= row["time_us"]


def test_a_list_of_nodes_gives_rows_for_each(run):
    rows = run(*ON_H100, "--nodes", "1:4", "--json").json["rows"]
    assert [(row["nodes"], row["ranks"]) for row in rows] == [
        *((1, 8), (1, 8)),
        *((2, 16), (2, 16)),
        *((4, 32), (4, 32)),
    ]


def test_the_default_fabric_is_named(run):
    found = run(*ON_H100, "--nodes", "16", "--json").json
    (cluster,) = found["clusters"]
    assert cluster["fabric"] == "superpod-h100"
    assert "leaf" in cluster["fabric_description"]
    assert "superpod-h100: " in run(*ON_H100, "--nodes", "16").out


def test_a_fabric_can_be_named_or_written_down(run, tmp_path):
    named = run(*ON_H100, "--nodes", "4", "--fabric", "leaf-spine", "--json").json
    assert named["clusters"][0]["fabric"] == "leaf-spine"
    file = tmp_path / "ours.toml"
    file.write_text('[fabric]\nkind = "leaf-spine"\nradix = 32\n')
    written = run(*ON_H100, "--nodes", "4", "--fabric", str(file), "--json").json
    assert "radix 32" in written["clusters"][0]["fabric_description"]


def test_the_bottleneck_is_described(run):
    found = run(*ON_H100, "--json").json
    described = {resource["name"]: resource for resource in found["bottlenecks"]}
    assert {row["bottleneck"] for row in found["rows"]} <= set(described)


@pytest.mark.parametrize(
    ("ranks", "count"),
    [("0-3", 4), ("0,2,4,6", 4), ("0-7:2", 4), ("node*/gpu0", 2), ("per-node=3", 6)],
)
def test_ranks_can_be_a_part(run, ranks, count):
    rows = run(*ON_H100, "--nodes", "2", "--ranks", ranks, "--json").json["rows"]
    assert {row["ranks"] for row in rows} == {count}


def test_the_table_explains_its_bottleneck(run):
    out = run(*ON_H100).out
    assert "1 node, 8 GPUs" in out
    assert "sets the pace: at 1G payload fills" in " ".join(out.split())
    assert "Leaving the NVLink domain" not in out
    assert all(len(line) <= 100 and line == line.rstrip() for line in out.splitlines())


def test_several_nodes_end_with_the_drop(run):
    out = run(*ON_H100, "--nodes", "1,2,16").out
    drop = out.partition("Leaving the NVLink domain\n")[2]
    assert drop.splitlines()[0].split() == [
        *("nodes", "GPUs", "busbw", "1M", "busbw", "1G", "at", "1G", "algorithm", "bottleneck")
    ]
    assert [line.split()[:2] for line in drop.splitlines()[3:6]] == [
        ["1", "8"],
        ["2", "16"],
        ["16", "128"],
    ]
    assert (
        "From 8 GPUs inside the NVLink domain to 16 on 2 nodes, busbw goes at 1M from"
        in " ".join(drop.split())
    )
    assert "On 16 nodes it is" in drop


def test_inside_one_rack_nothing_leaves_the_nvlink_domain(run):
    out = run("collective", "all_reduce", "--on", "gb200-nvl72", "--nodes", "1,18").out
    assert "Over nodes" in out
    assert "Leaving" not in out


def test_explain_shows_what_the_library_chose_from(run):
    found = run(*ON_H100, "--explain", "--json").json
    for size in (2**20, 2**30):
        options = [option for option in found["options"] if option["size_bytes"] == size]
        assert len(options) > 1
        assert sum(option["chosen"] for option in options) == 1
        assert options == sorted(options, key=lambda option: option["planned_us"])
        assert options[0]["chosen"]
    assert "library plans" in run(*ON_H100, "--explain").out


def test_copies_have_a_table_too(run):
    (row,) = run("collective", "p2p_copy", "--on", "dgx-a100", "--sizes", "256M", "--json").json[
        "rows"
    ]
    assert row["algorithm"] == "Copy"

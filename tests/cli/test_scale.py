"""`wirespeed scale`: the curve over nodes, and where communication stops being hidden."""

from __future__ import annotations

import pytest

GPT = ("scale", "gpt2-medium", "--on", "dgx-a100", "--seq", "1024")


def test_the_json_has_a_row_for_each_number_of_nodes(run):
    found = run(*GPT, "--nodes", "1:4", "--json").json
    assert found["schema"] == "wirespeed.scale/1"
    assert [row["nodes"] for row in found["rows"]] == [1, 2, 4]
    assert [row["gpus"] for row in found["rows"]] == [8, 16, 32]
    for row in found["rows"]:
        assert {"step_time_s", "mfu", "efficiency", "breakdown_s", "memory_GiB"} <= set(row)
        rate = row["tokens_per_s_per_gpu"] / found["rows"][0]["tokens_per_s_per_gpu"]
        assert row["efficiency"] == pytest.approx(rate)
    assert found["rows"][0]["efficiency"] == 1


def test_weak_scaling_grows_the_batch_and_strong_scaling_keeps_it(run):
    words = (*GPT, "--nodes", "1,4", "--global-batch", "64", "--json")
    weak, strong = run(*words).json, run(*words, "--strong").json
    assert (weak["mode"], strong["mode"]) == ("weak", "strong")
    assert [row["global_batch"] for row in weak["rows"]] == [64, 256]
    assert [row["global_batch"] for row in strong["rows"]] == [64, 64]
    # The less there is to do for a GPU, the less there is to hide communication behind.
    assert strong["rows"][1]["efficiency"] < weak["rows"][1]["efficiency"] <= 1.001
    assert strong["rows"][1]["step_time_s"] < strong["rows"][0]["step_time_s"]


def test_a_slow_network_shows_where_communication_stops_being_hidden(run):
    words = (*GPT, "--nodes", "1:2", "--global-batch", "256", "--change", "nic=1G")
    found = run(*words, "--json").json
    (hidden,) = found["hidden"]
    assert hidden["kind"] == "data parallelism"
    assert hidden["until_nodes"] == 1
    last = found["rows"][-1]
    share = last["breakdown_s"]["exposed_dp"] / last["step_time_s"]
    assert hidden["share"] == pytest.approx(share)
    text = " ".join(run(*words).out.split())
    assert "Communication of data parallelism stops being hidden between 1 and 2 nodes" in text


def test_sizes_that_cannot_be_done_are_left_out_with_the_reason(run):
    words = ("scale", "llama3-70b", "--on", "dgx-a100", "--nodes", "1,4", "--json")
    found = run(*words).json
    assert [row["nodes"] for row in found["rows"]] == [4]
    assert found["left_out"][0]["nodes"] == 1
    assert "out of memory" in found["left_out"][0]["reason"]
    assert run(*words[:-2], "1", "--json").status == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--dp", "8"), "--dp"), (("--nodes", "0"), "--nodes"), (("--racks", "1"), "--racks")],
)
def test_wrong_use_is_said(run, words, message):
    done = run(*GPT, *words)
    assert done.status == 2
    assert message in done.err

"""`wirespeed train`: the breakdown, the sentences, the trace, and what is said of bad layouts."""

from __future__ import annotations

import json

import pytest

LLAMA = ("train", "llama3-8b", "--on", "dgx-a100", "--nodes", "2", "--global-batch", "32")
SPENT = {"compute", "exposed_tp", "exposed_dp", "exposed_pp", "bubble", "host", "optimizer"}
HELD = {
    *("weights", "gradients", "optimizer", "activations", "nccl", "other"),
    *("allocated", "reserved"),
}


def test_the_json_has_the_fields_of_the_contract(run):
    done = run(*LLAMA, "--tp", "4", "--json")
    assert done.status == 0
    found = done.json
    assert found["schema"] == "wirespeed.train/1"
    assert {"step_time_s", "tokens_per_s_per_gpu", "mfu", "hfu", "layout"} <= set(found)
    assert {"low_s", "high_s", "sentences", "warnings", "inputs", "parameters"} <= set(found)
    assert set(found["breakdown_s"]) >= SPENT
    assert set(found["memory_GiB"]) == HELD
    assert found["layout"]["dp"] == 4
    assert found["gpus"] == 16
    assert found["inputs"]["nodes"] == [2]


def test_the_breakdown_sums_to_the_step_and_the_rate_is_tokens_over_it(run):
    found = run(*LLAMA, "--tp", "2", "--pp", "2", "--json").json
    assert sum(found["breakdown_s"].values()) == pytest.approx(found["step_time_s"], rel=1e-6)
    tokens = found["global_batch"] * found["seq_len"]
    rate = tokens / found["step_time_s"] / found["gpus"]
    assert found["tokens_per_s_per_gpu"] == pytest.approx(rate)
    memory = found["memory_GiB"]
    parts = sum(memory[kind] for kind in HELD - {"allocated", "reserved"})
    assert parts == pytest.approx(memory["allocated"], rel=1e-6)
    assert memory["reserved"] >= memory["allocated"]


def test_a_person_reads_the_breakdown_and_three_sentences(run):
    out = run(*LLAMA, "--tp", "4").out
    assert out.splitlines()[0] == "llama3-8b on 16 GPUs of dgx-a100: one step"
    text = " ".join(out.split())
    assert "Where the time goes" in text
    assert "Memory of the fullest GPU" in text
    _, _, told = text.partition("In short ")
    bound, rest = told.split(". ", 1)
    assert bound.startswith("The step is bound by computing: ")
    assert rest.startswith("What would help most is matrix units twice as fast")
    assert "published step" in rest
    assert "Fabric" in text


def test_what_nobody_named_is_chosen_and_starred(run):
    words = ("train", "llama3-8b", "--on", "dgx-a100", "--nodes", "2")
    found = run(*words, "--json").json
    assert {"global_batch", "seq_len", "dp", "micro_batch", "recompute"} <= set(found["chosen"])
    assert found["seq_len"] == 8192
    assert found["global_batch"] * found["seq_len"] == 2**22
    assert "(* chosen here)" in run(*words).out
    named = run(*LLAMA, "--tp", "4", "--recompute", "full", "--json").json["chosen"]
    assert not {"global_batch", "dp", "tp", "recompute"} & set(named)


def test_the_same_words_give_the_same_step_however_they_are_given(run, tmp_path):
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 8192,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    options = (*LLAMA[2:], "--tp", "4", "--json")
    shipped = run(*LLAMA[:2], *options).json
    for name in (str(tmp_path), str(tmp_path / "config.json")):
        assert run("train", name, *options).json["step_time_s"] == shipped["step_time_s"]


def test_the_trace_is_json_with_a_track_a_stream(run):
    done = run(*LLAMA, "--pp", "2", "--to", "perfetto")
    assert done.status == 0
    trace = done.json
    names = {e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"}
    assert names == {"stage 0", "stage 1"}
    begins = [event["ts"] for event in trace["traceEvents"] if event["ph"] == "X"]
    assert min(begins) == 0.0


def test_the_timeline_has_a_row_a_stream(run):
    out = run(*LLAMA, "--pp", "2", "--timeline").out
    rows = [line for line in out.splitlines() if line.startswith("stage ")]
    assert [row[:18].split() for row in rows if "compute" in row] == [
        ["stage", "0", "compute"],
        ["stage", "1", "compute"],
    ]
    assert "Timeline of " in out


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (("--tp", "3"), ("no multiple of tp = 3", "the nearest that works: --dp ")),
        (("--pp", "64"), ("more stages than the 32 layers", "the nearest that works")),
        (("--dp", "5"), ("and there are 16", "the nearest that works")),
        (("--dp", "16", "--micro-batch", "4"), ("no multiple of dp x micro-batch",)),
        (("--dp", "16", "--sharding", "none"), ("out of memory", "the nearest that fits: --dp ")),
        (("--cp", "2"), ("not forecast yet",)),
        (("--ep", "2"), ("no experts",)),
        (("--framework", "Megatron-Cor"), ("did you mean",)),
        (("--precision", "fp8"), ("has no fp8",)),
    ],
)
def test_what_cannot_be_is_said_with_what_can(run, words, messages):
    done = run(*LLAMA, *words)
    assert done.status == 2
    assert not done.out
    for message in messages:
        assert message in " ".join(done.err.split())


def test_the_nearest_that_is_offered_does_work(run):
    done = run(*LLAMA, "--tp", "3")
    offered = done.err.partition("the nearest that works: ")[2].split()
    words = [w for w in LLAMA if w not in ("--global-batch", "32")]
    assert run(*words, *offered).status == 0


def test_an_unknown_model_is_offered_the_nearest(run):
    done = run("train", "llama3-7b", "--on", "dgx-a100")
    assert done.status == 2
    assert "llama3-70b" in done.err or "llama3-8b" in done.err


def test_several_numbers_of_nodes_are_for_scale(run):
    done = run("train", "llama3-8b", "--on", "dgx-a100", "--nodes", "1,2")
    assert done.status == 2
    assert "one number is needed" in done.err

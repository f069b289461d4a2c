"""training_setup: a record's inputs as a job on a cluster, and what is left for later."""

from __future__ import annotations

import json

import msgspec
import pytest

from support import shared
from wirespeed.comparison.training_setup import TrainingWorkshop, training_setup_of
from wirespeed.errors import Infeasible, WirespeedError
from wirespeed.readers.training_records import TrainingInputs, read_training_records

GPT = {"layers": 24, "hidden": 2048, "heads": 16, "vocab": 51200, "seq_len": 2048, "name": "GPT"}
CLUSTER = {"gpu": "A100-80GB", "gpus": 16, "gpus_per_node": 8, "nics_per_node": 8, "nic_gbps": 200}
RUN = {
    "cluster": CLUSTER,
    "model": GPT,
    "framework": "Megatron-LM",
    "task": "pretrain",
    "precision": "fp16",
    "global_batch": 32,
    "micro_batch": 2,
    "layout": {"dp": 4, "tp": 2, "pp": 2, "schedule": "1f1b", "sharding": "none"},
    "recompute": "full",
}


def inputs(**changes: object) -> TrainingInputs:
    plain = {**RUN, **changes}
    (record,), _ = read_training_records(json.dumps([plain]), file="r")
    return record.inputs


def test_a_record_is_a_job_on_as_many_gpus_as_it_names():
    setup = training_setup_of(inputs())
    job = setup.job
    assert (job.layout.dp, job.layout.tp, job.layout.pp, job.layout.gpus) == (4, 2, 2, 16)
    assert (job.global_batch, job.seq_len, job.precision) == (32, 2048, "fp16")
    assert (job.layout.micro_batch, job.layout.recompute) == (2, "full")
    cluster = TrainingWorkshop().cluster(setup)
    assert len(cluster.topology.gpus()) == 16
    assert not setup.chosen


def test_names_dates_and_measurements_do_not_reach_a_job():
    said = {
        **{"id": "x", "group": "seqpar", "series": "s", "fold": "f", "grade": "C"},
        **{"measured": {"step_time_s": 1.0}, "date": "2024", "notes": "fast", "pair": "p"},
    }
    assert inputs(**said) == inputs()


def test_the_least_splitting_is_chosen_where_no_degree_is_stated():
    setup = training_setup_of(inputs(layout={}, framework="Megatron-Core"))
    assert setup.job.layout.gpus == 16
    assert set(setup.chosen) == {"dp", "tp", "pp"}


def test_the_micro_batch_follows_from_accumulation():
    layout = {"dp": 4, "tp": 2, "pp": 2, "grad_accum": 2}
    assert training_setup_of(inputs(micro_batch=None, layout=layout)).job.layout.micro_batch == 4


@pytest.mark.parametrize(
    ("word", "schedule"),
    [("Interleaved1F1B", "interleaved"), ("1F1B", "1f1b"), ("GPipe", "gpipe"), (None, None)],
)
def test_schedules_are_known_by_their_sources_words(word, schedule):
    layout = {"dp": 2, "tp": 2, "pp": 4, "vpp": 2 if schedule == "interleaved" else 1}
    setup = training_setup_of(inputs(layout={**layout, "schedule": word}))
    assert setup.job.layout.schedule == schedule


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task": "lora"}, "LoRA"),
        ({"layout": {"dp": 8, "cp": 2}}, "context parallelism"),
        ({"model": {**GPT, "experts": 8, "topk": 2}}, "mixture"),
        ({"framework": None}, "framework"),
        ({"framework": "Keras"}, "Keras"),
        ({"global_batch": None}, "global batch"),
        ({"precision": "int4"}, "int4"),
        ({"cluster": {**CLUSTER, "gpu": None}}, "GPUs"),
        ({"cluster": {**CLUSTER, "gpu": "Abacus"}}, "Abacus"),
        ({"layout": {"dp": 4, "pp": 4, "schedule": "DualPipe"}}, "DualPipe"),
        ({"layout": {"dp": 4, "tp": 8}}, "there are 16"),
        ({"layout": {"dp": 16, "sharding": "zero9"}}, "layout"),
    ],
)
def test_what_cannot_be_forecast_is_said(changes, reason):
    with pytest.raises(WirespeedError, match=reason):
        training_setup_of(inputs(**changes))


def test_a_dgx_2_is_found_though_its_gpus_are_called_sxm2():
    dgx2 = {"gpu": "V100-32GB", "gpus": 16, "gpus_per_node": 16}
    setup = training_setup_of(inputs(cluster=dgx2))
    assert setup.setup.wiring.design.gpus == 16


def test_a_run_on_one_gpu_has_a_machine():
    one = inputs(cluster={**CLUSTER, "gpus": 1}, layout={}, global_batch=2)
    assert training_setup_of(one).job.layout.gpus == 1


@pytest.mark.corpus
def test_every_published_run_is_a_job_or_has_a_reason():
    file = shared("validation", "training.json")
    good, _ = read_training_records(file.read_bytes(), file=str(file))
    reasons = {}
    for inputs_ in {msgspec.json.encode(r.inputs): r.inputs for r in good}.values():
        try:
            training_setup_of(inputs_)
        except Infeasible as error:
            reasons[error.what] = error.why
        except WirespeedError as error:
            reasons[str(error)] = ""
    assert not [what for what in reasons if "out of memory" in what]

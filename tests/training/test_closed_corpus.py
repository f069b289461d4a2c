"""Published runs by formula and by the engine: within 3 % of each other, each of them."""

from __future__ import annotations

import pytest

from support import shared
from wirespeed.comparison.training_setup import TrainingWorkshop, training_setup_of
from wirespeed.errors import WirespeedError
from wirespeed.readers.training_records import read_training_records
from wirespeed.training.closed import Closed
from wirespeed.training.forecast import simulate_step
from wirespeed.training.memory_arrays import arrays_of

pytestmark = pytest.mark.corpus

EVERY = {"vtrain-single": 30, "vtrain-multi": 3, "llm-foundry": 4}
"""Of groups with many runs that are alike, every so-manieth; of others every second."""


def test_published_runs_take_what_the_engine_says():
    file = shared("validation", "training.json")
    records, _ = read_training_records(file.read_text(), file=file.name)
    workshop, off = TrainingWorkshop(), {}
    for record in records:
        if record.position % EVERY.get(record.group, 2):
            continue
        try:
            setup = training_setup_of(record.inputs)
            cluster = workshop.cluster(setup)
            step = simulate_step(setup.job, cluster)
        except WirespeedError:
            continue
        got = Closed(step.job, cluster).seconds(arrays_of([step.job.layout]))[0]
        off[record.position] = got / step.seconds - 1
    assert len(off) > 150
    assert {k: v for k, v in off.items() if abs(v) > 0.03} == {}

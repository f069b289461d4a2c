"""What the library does not understand or cannot do is said beside the forecast."""

from __future__ import annotations

import pytest

from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.topology.cluster import build_cluster
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.software import Software

GIB = 2**30


def notices(preset: str, operation: Operation, software: Software) -> list[str]:
    on = build_cluster(preset_machine(preset), software=software)
    return [notice.code for notice in forecast(Collective(operation), on, [GIB]).warnings]


def test_an_algorithm_that_the_machine_lacks_is_said():
    forced = Software(settings={"algo": "NVLS"})
    assert "algorithm-not-available" in notices("dgx-a100", Operation.ALL_REDUCE, forced)


@pytest.mark.parametrize("operation", [Operation.ALL_REDUCE, Operation.ALLTOALL])
def test_a_setting_that_is_not_modelled_is_said(operation: Operation):
    typo = Software(env={"NCCL_IB_HCAA": "mlx5_0"})
    assert notices("dgx-h100", operation, typo) == ["setting-not-modelled"]


def test_a_word_that_the_library_does_not_know_is_said():
    typo = Software(env={"NCCL_ALGO": "Rung"})
    assert notices("dgx-h100", Operation.ALL_REDUCE, typo) == ["setting-not-understood"]


def test_settings_that_are_understood_need_no_word():
    understood = Software(env={"NCCL_ALGO": "Ring", "NCCL_DEBUG": "INFO"})
    assert notices("dgx-h100", Operation.ALL_REDUCE, understood) == []

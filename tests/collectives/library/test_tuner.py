"""A tuner's table overrides the choice where it speaks."""

from __future__ import annotations

import pytest

from wirespeed.collectives.library.graph_summary import Team
from wirespeed.collectives.library.plan import make_plan
from wirespeed.collectives.library.tuner import parse_tuner
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.errors import InputError
from wirespeed.topology.cluster import build_cluster, everyone
from wirespeed.topology.machines import preset_machine

pytestmark = pytest.mark.fast

TABLE = """# what, from, to, algorithm, protocol, channels, nodes, ranks
allreduce,0,65536,tree,ll,4,-1,-1
allreduce,65537,1048576,ring,ll128,-1,2,16
allgather,0,4294967296,ring,simple,8,1,-1,-1,-1
"""


def test_a_tables_first_line_that_fits_counts():
    tuner = parse_tuner(TABLE)
    one, two = Team(8, 1, 90), Team(16, 2, 90)
    assert tuner.pick(Operation.ALL_REDUCE, 4096, one).channels == 4
    assert tuner.pick(Operation.ALL_REDUCE, 2**20, one) is None
    assert tuner.pick(Operation.ALL_REDUCE, 2**20, two).protocol == "LL128"
    assert tuner.pick(Operation.BROADCAST, 4096, one) is None


def test_the_plan_takes_what_the_table_says_and_decides_the_rest():
    cluster = build_cluster(preset_machine("dgx-h100"))
    tuner = parse_tuner(TABLE)
    plan = make_plan(Collective(Operation.ALL_REDUCE), cluster, everyone(cluster), tuner=tuner)
    picked = [plan.options[k] for k in plan.choice([4096, 2**30])]
    assert [f"{o.algorithm}/{o.protocol}" for o in picked] == ["Tree/LL", "NVLS/Simple"]
    assert plan.channels([4096])[plan.choice([4096])[0], 0] == 4


@pytest.mark.parametrize(
    "line", ["allreduce,0,10", "allsum,0,10,ring,ll", "allreduce,a,10,ring,ll"]
)
def test_an_unreadable_line_is_named(line):
    with pytest.raises(InputError) as error:
        parse_tuner(f"# table\n{line}\n", file="mine.csv")
    assert error.value.where == "mine.csv:2"

"""scaling: efficiency against the fewest nodes, and how far each kind of communication hides."""

from __future__ import annotations

import msgspec
import pytest

import wirespeed as ws
from wirespeed.planning.scaling import LeftOut, ScalePoint, scale_report
from wirespeed.training.result import Breakdown


@pytest.fixture(scope="module")
def step():
    words = {"layout": {"tp": 2}, "global_batch": 16, "seq": 1024, "explain": False}
    return ws.train("gpt2-medium", "dgx-a100", **words)


def point(step, nodes: int, rate: float, **exposed: float) -> ScalePoint:
    spent = Breakdown(compute=1 - sum(exposed.values()), **exposed)
    made = msgspec.structs.replace(
        step, gpus=8 * nodes, step_time_s=1.0, tokens_per_s_per_gpu=rate, breakdown_s=spent
    )
    return ScalePoint(nodes, made)


def test_efficiency_is_the_rate_against_the_fewest_nodes(step):
    report = scale_report([point(step, 2, 100.0), point(step, 4, 80.0)], "weak")
    assert [row.efficiency for row in report.rows] == [1.0, pytest.approx(0.8)]
    assert report.rows[1].tokens_per_s == pytest.approx(80.0 * 32)
    assert report.sentences[-1] == "A GPU of 32 does 80 % of what one of 16 does."


def test_a_kind_hides_up_to_the_last_size_before_it_shows(step):
    shares = {1: 0.0, 2: 0.019, 4: 0.03, 8: 0.01}
    points = [point(step, n, 1.0, exposed_dp=s, exposed_tp=0.3) for n, s in shares.items()]
    found = {kind.kind: kind for kind in scale_report(points, "strong").hidden}
    assert found["data parallelism"].until_nodes == 2
    assert found["data parallelism"].share == pytest.approx(0.01)
    assert found["tensor parallelism"].until_nodes is None
    assert "the pipeline" not in found


def test_what_is_told_follows_from_the_rows(step):
    points = [point(step, n, 1.0, exposed_dp=s, exposed_pp=0.001) for n, s in ((1, 0), (4, 0.05))]
    report = scale_report(points, "weak", [LeftOut(2, "out of memory")])
    told = " ".join(report.sentences)
    assert "of data parallelism stops being hidden between 1 and 4 nodes: 5 %" in told
    assert "of the pipeline stays hidden up to 4 nodes" in told
    assert "2 nodes: out of memory" in " ".join(str(report).split())

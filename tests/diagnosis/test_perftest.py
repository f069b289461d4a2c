"""What a test between two NICs moves, beside the rates that ports have."""

from __future__ import annotations

import pytest

from readers.host_texts import PERFTEST
from support import shared
from wirespeed import doctor
from wirespeed.diagnosis.rules.perftest import _words


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (196.0, "a port of 200 Gb/s gives no more"),
        (201.8, "a port of 200 Gb/s gives no more"),
        (93.0, "a port of 100 Gb/s gives no more"),
        (130.0, "65% of a port of 200 Gb/s"),
        (300.0, "75% of a port of 400 Gb/s"),
        (5.0, "50% of a port of 10 Gb/s"),
        (900.0, "more than a port of 800 Gb/s"),
    ],
)
def test_a_rate_is_that_of_a_port_or_a_part_of_the_next(rate, words):
    assert _words(rate) == words


def test_the_finding_bears_the_line_of_the_best_row(tmp_path):
    file = tmp_path / "write_bw.txt"
    file.write_text(PERFTEST)
    report = doctor(str(file))
    (found,) = report.findings
    assert (report.verdict, found.code) == ("ok", "line_rate")
    assert found.evidence[0].line > 0


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("01-loopback-both-sides-one-log.txt", "201.8 Gb/s each way: a port of 200 Gb/s"),
        ("03-bidir-rocm-gbits.txt", "102.3 Gb/s each way: a port of 100 Gb/s"),
    ],
)
def test_published_outputs_are_at_the_rate_of_their_port(name, words):
    report = doctor(str(shared("samples", "perftest", name)))
    assert words in report.findings[0].cause

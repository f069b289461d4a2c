"""What the suite does with its own tests: layers, and the limit on fast ones."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).with_name("conftest.py")
PREFACE = """
import time, pytest
def spin():
    start = time.process_time()
    while time.process_time() - start < 0.2:
        pass
"""
SETTINGS = """
[pytest]
fast_cpu_limit_s = 0.1
fast_wall_limit_s = 0.5
markers =
    fast
    real
    corpus
    slow
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A suite apart with this one's conftest and a limit of 0.1 s CPU time, 0.5 s in all."""
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makeini(SETTINGS)
    return pytester


def outcome(suite: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    suite.makepyfile(PREFACE + dedent(body))
    return suite.runpytest_inprocess("-p", "no:xdist", *options)


def test_a_test_without_a_layer_is_fast(suite):
    body = """
    def test_plain(): pass
    @pytest.mark.slow
    def test_slow(): pass
    @pytest.mark.real
    def test_real(): pass
    @pytest.mark.corpus
    def test_corpus(): pass
    """
    outcome(suite, body, "-m", "fast").assert_outcomes(passed=2, deselected=2)


def test_a_fast_test_over_its_cpu_time_fails_and_says_what_to_do(suite):
    result = outcome(suite, "def test_busy(): spin()\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*this test used 0.* s CPU time; a fast test has 0.1 s.*", "*pytest.mark.slow*"]
    )


def test_a_fast_test_that_waits_fails(suite):
    result = outcome(suite, "def test_idle(): time.sleep(0.6)\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*this test took 0.* s by the clock*"])


@pytest.mark.parametrize("layer", ["slow", "real", "corpus"])
def test_other_tests_may_take_longer(suite, layer):
    outcome(suite, f"@pytest.mark.{layer}\ndef test_busy(): spin()\n").assert_outcomes(passed=1)


def test_time_in_fixtures_does_not_count(suite):
    body = """
    @pytest.fixture
    def busy(): spin()
    def test_plain(busy): pass
    """
    outcome(suite, body).assert_outcomes(passed=1)


def test_a_long_test_that_fails_shows_its_own_failure(suite):
    result = outcome(suite, "def test_wrong(): spin(); assert 1 == 2\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])
    result.stdout.no_fnmatch_line("*a fast test has*")


def test_examples_are_the_same_on_every_run():
    assert settings.get_current_profile_name() == "fast"
    assert settings().derandomize
    assert settings().deadline is None

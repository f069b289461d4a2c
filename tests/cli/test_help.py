"""What --help and --version say."""

from __future__ import annotations

import pytest

from wirespeed import __version__
from wirespeed.cli.app import VERBS

COMMON = ["--nodes", "--racks", "--gpu", "--fabric", "--change", "--json"]
LIBRARY = ["--library", "--env", "--algo", "--proto", "--ranks"]


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_lists_every_verb_that_there_is(run, words):
    done = run(*words)
    assert done.status == 0
    assert done.err == ""
    for verb in VERBS:
        assert verb in done.out


def test_the_version_is_the_packages(run):
    assert run("--version").out.strip() == f"wirespeed {__version__}"


@pytest.mark.parametrize(
    ("verb", "options"),
    [("topo", COMMON), ("collective", [*COMMON, *LIBRARY, "--on", "--sizes", "--explain"])],
)
def test_every_option_of_a_verb_is_explained(run, verb, options):
    done = run(verb, "--help")
    assert done.status == 0
    for option in options:
        assert option in done.out


def test_no_option_has_a_negative_twin(run):
    assert "--no-" not in run("topo", "--help").out

"""The command as other programs meet it: pipes, signals, exit statuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import wirespeed
from readers.matrix_text import TWO_SOCKETS, print_matrix

pytestmark = pytest.mark.real

WIRESPEED = [sys.executable, "-m", "wirespeed"]
SOURCE = Path(wirespeed.__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(SOURCE), "WIRESPEED": " ".join(WIRESPEED)}


def shell(script: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A line of shell in which $WIRESPEED is the command; a failure in a pipe counts."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    file = tmp_path / "topo.txt"
    file.write_text(print_matrix(TWO_SOCKETS))
    return file


def test_a_matrix_comes_through_a_pipe(matrix):
    piped = shell("cat topo.txt | $WIRESPEED topo -", cwd=matrix.parent)
    assert piped.returncode == 0, piped.stderr
    assert piped.stderr == ""
    assert "Between GPUs" in piped.stdout
    read = shell("$WIRESPEED topo topo.txt", cwd=matrix.parent)
    assert piped.stdout.splitlines()[1:] == read.stdout.splitlines()[1:]


def test_a_forecast_over_several_node_counts_reads_the_pipe_once(matrix):
    command = "cat topo.txt | $WIRESPEED collective all_gather --on - --nodes 1,2 --sizes 1M"
    done = shell(command, cwd=matrix.parent)
    assert done.returncode == 0, done.stderr
    assert "2 nodes" in done.stdout


def test_an_empty_pipe_is_said():
    done = shell("true | $WIRESPEED topo -")
    assert done.returncode == 2
    assert "stdin: there is nothing to read" in done.stderr


def test_a_reader_that_leaves_early_gets_no_traceback():
    command = "$WIRESPEED topo dgx-2 --json"
    script = f"set +o pipefail; {command} | head -1; echo ${{PIPESTATUS[0]}}"
    done = shell(script)
    assert done.stdout.splitlines() == ["{", "141"]
    assert done.stderr == ""


def test_an_interrupt_ends_it_quietly():
    process = subprocess.Popen(
        [*WIRESPEED, "topo", "-"],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"\tGPU0\tGPU1\n" * 10_000)  # taken only when it has begun to read
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == b""


def test_an_unreadable_file_is_said(tmp_path):
    # Root reads every file, but nobody reads a file through a file.
    (tmp_path / "plain").write_text("")
    done = shell("$WIRESPEED topo plain/topo.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_module_and_the_command_are_the_same():
    script = Path(sys.executable).with_name("wirespeed")
    if not script.exists():
        pytest.skip("the package is not installed in this environment")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == shell("$WIRESPEED --version").stdout

"""Setting up either ends with a whole environment or leaves none behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("Makefile", "tools", "requirements", "pyproject.toml", "LICENSE", "README.md", "src")
PYTHONS = ("python3", "python3.11", "python3.12", "python3.13", "python3.14")
APT = "apt-get install -y python3 python3-venv make"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The parts of this tree that setting up needs, in a folder whose name has a space."""
    folder = tmp_path / "fresh checkout"
    folder.mkdir()
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def environment(**changes: str) -> dict[str, str]:
    """This environment without what an outer make or pip's own settings put there."""
    outer = ("MAKE", "MFLAGS", "PIP_", "PYTHON")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(outer)}
    return kept | {"PIP_CONFIG_FILE": os.devnull} | changes


def make(checkout: Path, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *words],
        cwd=checkout,
        env=environment(**changes),
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )


def fake_pythons(folder: Path, script: str) -> str:
    """A PATH on which every Python that the Makefile looks for is this shell script."""
    folder.mkdir()
    for name in PYTHONS:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_an_old_python_is_refused_with_what_to_install(checkout, tmp_path):
    done = make(checkout, "test", PATH=fake_pythons(tmp_path / "old", "echo 3.9"))
    assert done.returncode == 2
    assert "needs Python 3.11 or newer" in done.stderr
    assert "python3 is 3.9" in done.stderr
    assert APT in done.stderr
    assert not (checkout / ".venv").exists()


def test_a_python_without_venv_is_refused_with_what_to_install(checkout, tmp_path):
    script = 'case "$2" in *ensurepip*) exit 1 ;; esac; echo 3.11'
    done = make(checkout, "demo", PATH=fake_pythons(tmp_path / "bare", script))
    assert done.returncode == 2
    assert "python3 is 3.11 but has no venv" in done.stderr
    assert APT in done.stderr
    assert not (checkout / ".venv").exists()


def test_the_python_that_is_named_is_the_only_one_tried(checkout):
    done = make(checkout, "demo", "PYTHON=python-of-nowhere")
    assert done.returncode == 2
    assert "python-of-nowhere" in done.stderr
    assert not (checkout / ".venv").exists()


def test_a_failed_install_leaves_no_environment_and_shows_why(checkout):
    done = make(checkout, "demo", PIP_NO_INDEX="1")
    assert done.returncode == 2
    assert "No matching distribution found" in done.stderr
    assert ".venv could not be made whole and was removed" in done.stderr
    assert not (checkout / ".venv").exists()


def test_an_environment_without_its_stamp_is_not_believed(checkout):
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/bin/true")
    done = make(checkout, "demo", PIP_NO_INDEX="1")
    assert done.returncode == 2
    assert not (checkout / ".venv").exists()


def test_a_stamp_of_another_checkout_is_not_believed(checkout):
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".ready-core").write_text("made elsewhere")
    done = make(checkout, "demo", PIP_NO_INDEX="1")
    assert done.returncode == 2
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM to make"])
def test_an_interrupted_install_leaves_no_environment(checkout, how):
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.settimeout(60)
        changes = {"PIP_INDEX_URL": f"http://127.0.0.1:{index.getsockname()[1]}/simple"}
        process = subprocess.Popen(
            ["make", "demo"],
            cwd=checkout,
            env=environment(**changes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        connection, _ = index.accept()  # pip waits for an answer that never comes
        with connection:
            assert (checkout / ".venv" / "bin" / "python").exists()
            if how == "Ctrl-C":
                os.killpg(process.pid, signal.SIGINT)
            else:
                process.terminate()
            process.wait(timeout=30)
    assert process.returncode != 0
    assert not (checkout / ".venv").exists()

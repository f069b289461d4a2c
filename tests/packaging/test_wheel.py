"""The wheel holds all that the package needs and works in an environment that has nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


def run(*command: object, cwd: Path = ROOT) -> str:
    """What a command prints; it must succeed without help from this environment."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (file,) = folder.glob("wirespeed-*.whl")
    return file


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, with_pip=True)
    pip = (folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "-q")
    run(*pip, "-c", ROOT / "requirements" / "core.txt", wheel)
    return folder / "bin"


def test_the_wheel_has_every_file_of_the_package(wheel):
    made = {".pyc", ".pyo"}
    files = (p for p in SOURCE.rglob("*") if p.is_file() and p.suffix not in made)
    expected = {str(p.relative_to(SOURCE)) for p in files}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert expected <= names, sorted(expected - names)


def test_the_wheel_has_the_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("licenses/LICENSE"))
        assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


def test_the_wheel_has_nothing_but_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0].partition("-")[0] for name in archive.namelist()}
    assert tops == {"wirespeed"}


def test_the_command_works_from_any_folder(clean, tmp_path):
    version = run(clean / "python", "-c", "import wirespeed; print(wirespeed.__version__)").strip()
    assert version in run(clean / "wirespeed", "--version", cwd=tmp_path)
    assert "wirespeed" in run(clean / "wirespeed", "--help", cwd=tmp_path)


def test_the_pins_are_all_that_the_wheel_pulls_in(clean):
    pins = (ROOT / "requirements" / "core.txt").read_text().splitlines()
    pinned = {line.lower().replace("_", "-") for line in pins if "==" in line}
    frozen = run(clean / "python", "-m", "pip", "freeze").lower().replace("_", "-").splitlines()
    assert {line for line in frozen if not line.startswith("wirespeed")} == pinned

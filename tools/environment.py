"""Makes a virtual environment with pinned packages and this one in place: whole, or not at all.

python tools/environment.py .venv core

Runs with nothing but the standard library. A stamp inside the environment says what it was made
from; where the stamp is missing or differs, the environment is made anew.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
PROFILES = {"core": ("core",), "test": ("core", "test"), "lint": ("core", "lint")}

# Inside an activated .venv sys.executable lies in the folder that is about to be deleted.
BASE_PYTHON = getattr(sys, "_base_executable", None) or sys.executable


def recipe(profile: str) -> str:
    """A digest of all that decides what an environment of this profile holds."""
    digest = hashlib.sha256(f"{ROOT}\n{sys.version_info[:2]}\n".encode())
    files = ["pyproject.toml", "tools/environment.py", "requirements/build.txt"]
    files += [f"requirements/{name}.txt" for name in PROFILES[profile]]
    for file in files:
        digest.update((ROOT / file).read_bytes())
    return digest.hexdigest()


def stamp(folder: Path, profile: str) -> Path:
    """The file that says that an environment has all of this profile."""
    return folder / f".ready-{profile}"


def is_ready(folder: Path, profile: str) -> bool:
    """Whether the environment has all of this profile, is of today's recipe, and starts."""
    try:
        if stamp(folder, profile).read_text() != recipe(profile):
            return False
        return subprocess.run([folder / "bin" / "python", "-c", ""], check=False).returncode == 0
    except OSError:
        return False


def run(command: Sequence[str | Path]) -> None:
    """Run a command to its end, or on a signal end it with all the processes that it started."""
    pinned = {"PIP_CONSTRAINT": "requirements/build.txt"}
    # From pip 25.3 on, what builds a package has constraints of its own.
    pinned["PIP_BUILD_CONSTRAINT"] = pinned["PIP_CONSTRAINT"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | pinned, stdout=sys.stderr, start_new_session=True
    )
    try:
        status = process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if status:
        raise subprocess.CalledProcessError(status, [str(word) for word in command])


def make(folder: Path, profile: str) -> None:
    """Make the environment; the stamps come last."""
    shutil.rmtree(folder, ignore_errors=True)
    run([BASE_PYTHON, "-m", "venv", folder])
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    run([*pip, "-r", f"requirements/{profile}.txt"])
    run([*pip, "--no-deps", "-e", "."])
    for name in PROFILES[profile]:
        stamp(folder, name).write_text(recipe(name))


def stop(number: int, _frame: object) -> NoReturn:
    """Turn a signal into an exit that passes through the clean-up."""
    sys.exit(128 + number)


def main() -> int:
    """Exit status: 0 when the environment is there and whole."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("profile", choices=PROFILES)
    options = parser.parse_args()
    folder = ROOT / options.folder
    if is_ready(folder, options.profile):
        return 0

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        signal.signal(number, stop)
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"Making {options.folder} ({options.profile}, Python {version}) ...", file=sys.stderr)
    try:
        make(folder, options.profile)
    except BaseException as error:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        shutil.rmtree(folder, ignore_errors=True)
        print(f"{options.folder} could not be made whole and was removed.", file=sys.stderr)
        if not isinstance(error, subprocess.CalledProcessError | OSError):
            raise
        print(f"  {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

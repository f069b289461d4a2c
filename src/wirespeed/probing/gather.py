"""gather: what this host says about itself, and what it could not be asked."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.probing.commands import COMMANDS, Command

_LIMIT_S = 60
"""A driver that has to wake its GPUs first takes seconds; one that hangs never answers."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One command and its output."""

    command: Command
    text: str


@dataclass(frozen=True, slots=True)
class Missing:
    """One command without an answer, and why."""

    command: Command
    why: str


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that was asked: in the order of `COMMANDS`."""

    printed: tuple[Printed, ...]
    missing: tuple[Missing, ...]


def gather(commands: Sequence[Command] = COMMANDS) -> Gathered:
    """The outputs of commands that describe this host; nothing is changed on it.

    A command that is not installed, fails or does not come back within a minute is `missing`.
    """
    answers = [_ask(command) for command in commands]
    return Gathered(
        tuple(answer for answer in answers if isinstance(answer, Printed)),
        tuple(answer for answer in answers if isinstance(answer, Missing)),
    )


def _ask(command: Command) -> Printed | Missing:
    tool = shutil.which(command.words[0])
    if tool is None:
        return Missing(command, f"{command.words[0]} is not installed")
    try:
        done = subprocess.run(
            [tool, *command.words[1:]],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        return Missing(command, f"no answer within {_LIMIT_S} s")
    except OSError as error:
        return Missing(command, error.strerror or str(error))
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        return Missing(command, said[-1][:200] if said else f"exit status {done.returncode}")
    if not done.stdout.strip():
        return Missing(command, "it prints nothing")
    return Printed(command, done.stdout)

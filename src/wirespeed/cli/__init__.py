"""The command line: a verb a file, and one way to report what went wrong."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wirespeed.errors import UnknownName, UsageError, WirespeedError

if TYPE_CHECKING:
    from cyclopts import CycloptsError

LINE_WIDTH = 100
WRONG_USE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
"""What a shell reports for a program that Ctrl-C or a closed pipe ended."""


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; `words` are the arguments after the name.

    0: done. 1: done, and the verb found what it looks for. 2: wrong use or unreadable input, with
    the reason on standard error.
    """
    arguments = list(sys.argv[1:] if words is None else words)
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except WirespeedError as error:
        return _complain(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone: nothing more may be flushed to it on the way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return status


def _run(words: list[str]) -> int:
    # No verb multiplies large matrices: starting threads for that is a third of NumPy's import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from wirespeed.cli.app import VERBS, build

    if words and not words[0].startswith("-") and words[0] not in VERBS:
        raise UnknownName("verb", words[0], VERBS)
    from cyclopts import CycloptsError

    try:
        status = build()(
            words or ["--help"],
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        verb = words[0] if words and words[0] in VERBS else ""
        raise _misused(error, verb) from error
    return int(status or 0)


def _misused(error: CycloptsError, verb: str) -> UsageError:
    """A parse error in the form of all others."""
    command = f"wirespeed {verb}".strip()
    return UsageError(_said(error), remedy=f"`{command} --help` lists arguments and options")


def _said(error: CycloptsError) -> str:
    from cyclopts import MissingArgumentError, UnknownOptionError, UnusedCliTokensError

    match error:
        case MissingArgumentError(argument=argument) if argument is not None:
            return f"{argument.name} {'has no value' if argument.tokens else 'is missing'}"
        case UnusedCliTokensError(unused_tokens=[first, *_]):
            return f"{first!r} is one argument too many"
        case UnknownOptionError(token=token):
            return f"there is no option {token.keyword or token.value}"
    return " ".join(str(error).split()).rstrip(".")


def _complain(error: WirespeedError) -> int:
    sys.stdout.flush()
    what, *more = f"wirespeed: {error}".splitlines()
    print(what, *map(_folded, more), sep="\n", file=sys.stderr)
    return WRONG_USE


def _folded(line: str) -> str:
    """An indented line in lines of 100 columns below each other; long names are kept whole."""
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(
        line,
        LINE_WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )

"""Keeps README and docs/ true: reruns the commands that they show, and follows their links.

python tools/docs.py [--check]

A block fenced as `console` holds lines `$ command`, each followed by what it prints. Commands that
start with wirespeed are rerun, pipes included; without --check, their output is written back.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^\$ (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)(?P<target>[^)#\s]+)[^)]*\)")


def pages() -> list[Path]:
    """README and every page below docs/."""
    return [
        page
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
        if page.is_file()
    ]


def printed(command: str) -> str:
    """What a command prints on a plain terminal of 100 columns, errors included."""
    plain = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=os.environ | plain | {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = (line.rstrip() for line in done.stdout.rstrip().splitlines())
    return "".join(f"{line}\n" for line in lines)


def refreshed(text: str) -> str:
    """The page with today's output under each command."""

    def example(match: re.Match[str]) -> str:
        command = match["command"]
        runs = re.search(r"(^|\| *)wirespeed ", command)
        return f"$ {command}\n{printed(command)}" if runs else match[0]

    return BLOCK.sub(lambda block: EXAMPLE.sub(example, block[0]), text)


def broken_links(page: Path, text: str) -> Iterator[str]:
    """The links of a page to files that are not there."""
    for match in LINK.finditer(text):
        if not (page.parent / match["target"]).exists():
            yield match["target"]


def main() -> int:
    """Exit status: 1 when a link is broken, or with --check when an output is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    if not Path(sys.executable).with_name("wirespeed").exists():
        print("wirespeed is not installed beside this Python: run `make docs`", file=sys.stderr)
        return 2
    status = 0
    for page in pages():
        name, text = page.relative_to(ROOT), page.read_text()
        for target in broken_links(page, text):
            print(f"{name}: the link to {target} leads nowhere")
            status = 1
        today = refreshed(text)
        if today == text:
            continue
        if check:
            print(f"{name}: a command prints something else today; run `make docs` and read it")
            status = 1
        else:
            page.write_text(today)
            print(f"{name}: rewritten")
    return status


if __name__ == "__main__":
    sys.exit(main())

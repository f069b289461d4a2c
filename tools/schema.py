"""Keeps docs/schema/ true: the JSON schema of every result that the command line prints.

python tools/schema.py [--check]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from wirespeed._api.load import RESULTS, result_type

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "schema"


def file_of(schema: str) -> Path:
    """docs/schema/topo-1.json of wirespeed.topo/1."""
    return FOLDER / f"{schema.removeprefix('wirespeed.').replace('/', '-')}.json"


def generated(schema: str) -> str:
    """The JSON schema of a result, as text."""
    plain = msgspec.json.encode(msgspec.json.schema(result_type(schema)))
    return msgspec.json.format(plain, indent=1).decode() + "\n"


def main() -> int:
    """Exit status: 1 with --check where a file is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    stale = [
        schema
        for schema in RESULTS
        if not file_of(schema).is_file() or file_of(schema).read_text() != generated(schema)
    ]
    for schema in stale:
        if not check:
            FOLDER.mkdir(parents=True, exist_ok=True)
            file_of(schema).write_text(generated(schema))
        print(f"{file_of(schema).name}: {'out of date' if check else 'rewritten'}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())

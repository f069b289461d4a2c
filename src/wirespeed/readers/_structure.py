"""structured: plain tables to a Struct, with every error in them, not the first alone."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec.structs import fields

from wirespeed.errors import InputError, WirespeedError

S = TypeVar("S", bound=msgspec.Struct)

_PLACE = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<at>[^`]*)`)?", re.DOTALL)
_WORDS = {
    "`array`": "a list",
    "`bool`": "true or false",
    "`float`": "a number",
    "`int`": "a whole number",
    "`object`": "a table",
    "`str`": "a text",
}
"""What msgspec calls the types of TOML, and what a person does."""


def structured(
    kind: type[S],
    table: object,
    key: str,
    problems: list[WirespeedError],
    *,
    file: str,
    partial: bool = False,
) -> S | None:
    """The Struct that a table holds, or that it already is; None where it is wrong.

    `problems` grows by all that is wrong. `key` is the table's own path in the file. With `partial`
    a missing field is no problem, and the result is None.
    """
    if isinstance(table, kind):
        return table
    before = len(problems)
    if not isinstance(table, Mapping):
        problems.append(_wrong("a table is expected here", key, file))
        return None
    known = {field.name: field for field in fields(kind)}
    for name in table:
        if name not in known:
            problems.append(_unknown(str(name), known, key, file))
    values: dict[str, Any] = {}
    missing = False
    for name, field in known.items():
        path = f"{key}.{name}" if key else name
        if name in table:
            values[name] = _value(field.type, table[name], path, problems, file, partial)
        elif field.required:
            missing = True
            if not partial:
                problems.append(_wrong("missing", path, file))
    return kind(**values) if len(problems) == before and not missing else None


def _value(
    kind: Any, raw: object, key: str, problems: list[WirespeedError], file: str, partial: bool
) -> Any:
    if _is_struct(kind):
        return structured(kind, raw, key, problems, file=file, partial=partial)
    inner = get_args(kind)
    if get_origin(kind) is tuple and _is_struct(inner[0]):
        if not isinstance(raw, list | tuple):
            problems.append(_wrong("a list of tables is expected here", key, file))
            return None
        # What an array of tables leaves out is missing, whatever the preset has in its place.
        return tuple(
            structured(inner[0], item, f"{key}[{i}]", problems, file=file)
            for i, item in enumerate(raw)
        )
    if get_origin(kind) is dict and isinstance(raw, Mapping):
        return {
            name: _value(inner[1], item, f"{key}.{name}", problems, file, partial)
            for name, item in raw.items()
        }
    try:
        value = msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        problems.append(_invalid(error, kind, raw, key, file))
        return None
    if isinstance(value, float) and not math.isfinite(value):
        problems.append(_wrong(f"{value} is not a finite number", key, file))
    return value


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _unknown(name: str, known: Mapping[str, object], key: str, file: str) -> InputError:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
    return InputError(
        "there is no such key", where=place(file, f"{key}.{name}" if key else name), remedy=remedy
    )


def _invalid(
    error: msgspec.ValidationError, kind: Any, raw: object, key: str, file: str
) -> InputError:
    match = _PLACE.fullmatch(str(error))
    what, at = (match["what"], match["at"] or "") if match else (str(error), "")
    if get_origin(kind) is Literal:
        allowed = [str(choice) for choice in get_args(kind)]
        near = difflib.get_close_matches(str(raw), allowed, n=2, cutoff=0.5)
        remedy = f"did you mean {' or '.join(near)}?" if near else ""
        return _wrong(f"{raw!r} is none of {', '.join(allowed)}", key, file, remedy)
    for word, plain in _WORDS.items():
        what = what.replace(word, plain)
    return _wrong(what[:1].lower() + what[1:], key + at, file)


def _wrong(what: str, key: str, file: str, remedy: str = "") -> InputError:
    return InputError(what, where=place(file, key), remedy=remedy)


def place(file: str, key: str) -> str:
    """Where a problem is, for its message: `cluster.toml: node.pcie[2].gpus`."""
    return f"{file}: {key}" if key else file

"""preset, preset_names: a design from its data file, read when it is asked for."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from wirespeed.errors import UnknownName
from wirespeed.topology.node_design import NodeDesign

_DATA = Path(__file__).parent / "data"
_ALIASES = Path(__file__).parent / "aliases.toml"
_LIST = "wirespeed topo --list"


@cache
def preset_names() -> list[str]:
    """Names of all presets, in alphabetical order, without aliases."""
    return sorted(path.stem for path in _DATA.glob("*.toml"))


@cache
def aliases() -> dict[str, str]:
    """Other names, such as a cloud's own spelling, and the preset that each means."""
    return tomllib.loads(_ALIASES.read_text(encoding="utf-8"))


@cache
def preset(name: str) -> NodeDesign:
    """The design of that name or alias, case ignored; UnknownName with near names otherwise."""
    wanted = name.strip().lower()
    key = wanted if (_DATA / f"{wanted}.toml").is_file() else aliases().get(wanted, "")
    if not key or "/" in key:
        raise UnknownName("preset", name, [*preset_names(), *aliases()], see=_LIST)
    return msgspec.convert({**_table(key), "name": key}, NodeDesign)


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over: tables key by key, everything else replaced whole."""
    result = dict(base)
    for key, value in changes.items():
        below = result.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            value = merged(below, value)
        result[key] = value
    return result


@cache
def _table(key: str) -> dict[str, Any]:
    """What a file and those that it inherits from say; shared, never altered."""
    own = tomllib.loads((_DATA / f"{key}.toml").read_text(encoding="utf-8"))
    parent = own.pop("inherits", None)
    return own if parent is None else merged(_table(parent), own)

"""shipped: models by name, from the package's own data."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from wirespeed.errors import UnknownName
from wirespeed.models._types import Model
from wirespeed.models.config import from_config
from wirespeed.models.convolutional import convolutional

DATA = Path(__file__).parent / "data"


@cache
def shipped(name: str) -> Model:
    """The model of that name, in any spelling of case, blanks and dashes; UnknownName otherwise."""
    wanted = _plain(name)
    for key, row in _transformers().items():
        if wanted in map(_plain, (key, *row.get("aliases", ()))):
            return from_config(row["config"], name=key, where=key)
    for key, row in _networks().items():
        if wanted in map(_plain, (key, *row.get("aliases", ()))):
            return convolutional(key, row)
    raise UnknownName("model", name, names())


def names() -> tuple[str, ...]:
    """The names of all shipped models."""
    return (*_transformers(), *_networks())


class Published(msgspec.Struct, frozen=True):
    """What the source of a shipped model says it counts; None where it says nothing exact."""

    source: str
    parameters: int | None
    gmac: float | None


def published(name: str) -> Published:
    """The published counts of a shipped model, by its first name."""
    row = {**_transformers(), **_networks()}[name]
    return Published(row["source"], row.get("parameters"), row.get("GMAC"))


@cache
def _transformers() -> dict[str, Any]:
    return tomllib.loads((DATA / "transformers.toml").read_text(encoding="utf-8"))


@cache
def _networks() -> dict[str, Any]:
    return tomllib.loads((DATA / "convolutional.toml").read_text(encoding="utf-8"))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.lower())

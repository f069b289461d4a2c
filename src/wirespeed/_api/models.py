"""model: a shipped name, or a configuration from disk or memory, as a Model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wirespeed.errors import InputError, UnknownName
from wirespeed.models import Model, from_config, names, shipped
from wirespeed.readers.model_config import read_model_config


def model(name_or_config: str | Path | Mapping[str, Any] | Model) -> Model:
    """The model of a shipped name, of a `config.json` or the folder that holds one, or of its keys.

    Raises UnknownName with the nearest names, InputError for a file that cannot be read, Infeasible
    for a kind of model that is not forecast yet.
    """
    if isinstance(name_or_config, Model):
        return name_or_config
    if isinstance(name_or_config, Mapping):
        return from_config(name_or_config)
    path = Path(name_or_config)
    if path.is_dir():
        return _from_file(path / "config.json", path.resolve().name)
    if path.is_file() or path.suffix == ".json":
        title = path.stem if path.stem != "config" else path.resolve().parent.name
        return _from_file(path, title)
    try:
        return shipped(str(name_or_config))
    except UnknownName as error:
        raise UnknownName("model, file or folder", str(name_or_config), names()) from error


def _from_file(path: Path, title: str) -> Model:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(
            "the configuration cannot be read",
            where=str(path),
            why=error.strerror or "",
            remedy="give the config.json beside a model's weights, or its folder",
        ) from error
    return from_config(read_model_config(text, file=str(path)), name=title, where=str(path))

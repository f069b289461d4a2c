"""Parameters: what the graph does not say, as few physical values per generation and transport."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from wirespeed.errors import UnknownName


class Parameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One value: unit, where it comes from, how sure it is, and the folds it was fitted on."""

    value: float | tuple[float, ...]
    unit: str
    source: str
    confidence: Literal["spec", "measured", "fitted", "assumed"]
    folds: tuple[str, ...] = ()
    start: float | None = None
    """Where a fit begins; set where `make fit` makes the value."""


class Parameters(msgspec.Struct, frozen=True):
    """All parameters by key, such as `generation.hopper.nvlink_share`."""

    table: Mapping[str, Parameter]
    digest: str
    """Hash of keys and values: which parameters made a number."""

    @staticmethod
    def hashed(table: Mapping[str, Parameter]) -> str:
        """What tells one set of values from another."""
        listed = "\n".join(f"{key}={table[key].value}" for key in sorted(table))
        return hashlib.sha256(listed.encode()).hexdigest()[:12]

    def number(self, key: str) -> float:
        """The value of a key that holds one number."""
        value = self._of(key).value
        assert isinstance(value, (int, float))
        return float(value)

    def numbers(self, key: str) -> tuple[float, ...]:
        """The values of a key that holds several."""
        value = self._of(key).value
        assert isinstance(value, tuple)
        return value

    def get(self, *keys: str) -> float:
        """The value of the first of these keys that is there."""
        return self.number(next((key for key in keys if key in self.table), keys[-1]))

    def _of(self, key: str) -> Parameter:
        if key not in self.table:
            raise UnknownName("parameter", key, self.table)
        return self.table[key]


@cache
def parameters() -> Parameters:
    """The parameters that this package ships."""
    text = files("wirespeed.catalog").joinpath("data/parameters.toml").read_text("utf-8")
    tree = msgspec.toml.decode(text, type=dict[str, dict[str, dict[str, Parameter]]])
    table = {
        f"{group}.{name}.{key}": parameter
        for group, names in tree.items()
        for name, entries in names.items()
        for key, parameter in entries.items()
    }
    return Parameters(table, Parameters.hashed(table))


def generation_of(architecture: str, cc: int | None) -> str:
    """The key under `generation` that a GPU's parameters stand under."""
    if architecture == "Ampere" and cc == 86:
        return "ampere-ga102"
    if architecture.startswith("Blackwell"):
        # The cards for workstations share the name, not the links.
        return "blackwell" if cc in (100, 103) else "other"
    name = architecture.lower().replace(" ", "")
    known = {key.split(".")[1] for key in parameters().table if key.startswith("generation.")}
    return name if name in known else "other"

"""Causes: what each cause code means, what to do about it, and who confirms it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec


class Cause(msgspec.Struct, frozen=True):
    """A cause as a person reads it."""

    text: str
    """A sentence."""
    remedy: str
    """A command, a variable, or what to look at next."""
    source_url: str
    """The public thread or document that confirms it."""


@cache
def causes() -> Mapping[str, Cause]:
    """All causes by code."""
    text = files("wirespeed.diagnosis").joinpath("data/causes.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=dict[str, Cause])


def cause_of(code: str) -> Cause:
    """The cause that a code stands for; KeyError where a hypothesis has none, which is a bug."""
    return causes()[code]

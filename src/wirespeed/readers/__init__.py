"""Texts that machines print, read into Evidence: one format a file, recognised by content.

Readers take text and give facts with their lines. They open no files, judge nothing and complete
nothing from outside the text. A new format is a module with a `FORMAT`, listed in `FORMATS`.
"""

from __future__ import annotations

from wirespeed.evidence import Evidence
from wirespeed.readers._format import Format
from wirespeed.readers._names import hosts_in
from wirespeed.readers._paste import paste_of
from wirespeed.readers._registry import FORMATS, joined
from wirespeed.readers._text import SIZE_LIMIT, decode, raw_lines

__all__ = [
    "FORMATS",
    "SIZE_LIMIT",
    "Format",
    "decode",
    "hosts_in",
    "joined",
    "raw_lines",
    "read_parts",
    "read_text",
]


def read_parts(text: str | bytes, *, file: str) -> tuple[Evidence, ...]:
    """Evidence of each output that a text holds; `file` is what messages call it.

    A paste is taken apart where shell prompts, fences, or the prefixes of launchers show where
    outputs begin and whose they are; `Evidence.host` is the host that they name. Lines are those of
    the text as given. A text that is one output is one part. Raises InputError for binary, empty,
    oversized or unknown content, with the formats that are known.
    """
    return paste_of(decode(text, file=file), file)


def read_text(text: str | bytes, *, file: str) -> Evidence:
    """Evidence of a text as one, whatever it holds; `format` joins the names of its formats.

    Raises InputError as `read_parts`.
    """
    return joined(read_parts(text, file=file))

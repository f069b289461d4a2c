"""Texts that machines print, read into Evidence: one format a file, recognised by content.

Readers take text and give facts with their lines. They open no files, judge nothing and complete
nothing from outside the text. A new format is a module with a `FORMAT`, listed in `FORMATS`.
"""

from __future__ import annotations

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Remark
from wirespeed.readers import (
    nccl_log,
    nccl_tests,
    nccl_xml,
    nvidia_smi_query,
    topo_matrix,
    topo_p2p,
)
from wirespeed.readers._format import Format
from wirespeed.readers._text import SIZE_LIMIT, decode

__all__ = ["FORMATS", "SIZE_LIMIT", "Format", "decode", "read_text"]

FORMATS: tuple[Format, ...] = (
    topo_matrix.FORMAT,
    topo_p2p.FORMAT,
    nvidia_smi_query.FORMAT,
    nccl_xml.FORMAT,
    nccl_tests.FORMAT,
    nccl_log.FORMAT,
)


def read_text(text: str | bytes, *, file: str) -> Evidence:
    """Evidence of a text in any known format; `file` is what messages call it.

    A paste of several commands is read by all readers that recognise their part, and `format` joins
    their names. Raises InputError for binary, empty, oversized or unknown content, with the formats
    that are known.
    """
    decoded = decode(text, file=file)
    sure = {form.name: form.sniff(decoded) for form in FORMATS}
    best = max(sure.values())
    if best == 0:
        raise InputError(
            "this is in no format that can be read",
            where=file,
            why=f"known are {'; '.join(form.what for form in FORMATS)}",
            remedy="give the whole output of one of these commands, from its first line on",
        )
    chosen = [form for form in FORMATS if sure[form.name] == best]
    parts: list[Evidence] = []
    failed: list[InputError] = []
    for form in chosen:
        try:
            parts.append(form.read(decoded, file))
        except InputError as error:
            failed.append(error)
    if not parts:
        raise failed[0]
    if failed:
        remarks = tuple(Remark("part-unread", error.what) for error in failed)
        parts.append(Evidence("", file, (), remarks))
    return parts[0] if len(parts) == 1 else _join(parts)


def _join(parts: list[Evidence]) -> Evidence:
    """One Evidence of all parts of a paste, each fact and remark once."""
    facts = dict.fromkeys(fact for part in parts for fact in part.facts)
    remarks: dict[Remark, None] = dict.fromkeys(r for part in parts for r in part.remarks)
    name = "+".join(part.format for part in parts if part.format)
    measured = tuple(m for part in parts for m in part.measurements)
    return Evidence(name, parts[0].file, tuple(facts), tuple(remarks), measured)

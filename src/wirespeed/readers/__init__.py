"""Texts that machines print, read into Evidence: one format a file, recognised by content.

Readers take text and give facts with their lines. They open no files, judge nothing and complete
nothing from outside the text. A new format is a module with a `FORMAT`, listed in `FORMATS`.
"""

from __future__ import annotations

import msgspec

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Remark
from wirespeed.readers import (
    astra_sim,
    dmesg,
    ibdev2netdev,
    iblinkinfo,
    ibnetdiscover,
    ibstat,
    ibswinfo,
    lspci,
    lspci_tree,
    lstopo,
    nccl_graph,
    nccl_log,
    nccl_tests,
    nccl_xml,
    nvbandwidth,
    nvidia_smi_query,
    nvlink,
    p2p_bandwidth,
    perfquery,
    perftest,
    rocm_topo,
    slurm_topology,
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
    nvlink.FORMAT,
    rocm_topo.FORMAT,
    nccl_xml.FORMAT,
    nccl_graph.FORMAT,
    lstopo.FORMAT,
    nccl_tests.FORMAT,
    nccl_log.FORMAT,
    nvbandwidth.FORMAT,
    p2p_bandwidth.FORMAT,
    perftest.FORMAT,
    lspci.FORMAT,
    lspci_tree.FORMAT,
    dmesg.FORMAT,
    ibstat.FORMAT,
    ibdev2netdev.FORMAT,
    ibnetdiscover.FORMAT,
    iblinkinfo.FORMAT,
    perfquery.FORMAT,
    ibswinfo.FORMAT,
    slurm_topology.FORMAT,
    astra_sim.FORMAT,
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
    refused: list[InputError] = []
    for form in chosen:
        try:
            parts.append(form.read(decoded, file))
        except InputError as error:
            refused.append(error)
    if not parts:
        raise refused[0]
    joined = parts[0] if len(parts) == 1 else _join(parts)
    if not refused:
        return joined
    # A stray line of another tool's output takes nothing from what can be read.
    left = tuple(Remark("part-left-out", f"{error.what}: {error.why}") for error in refused)
    return msgspec.structs.replace(joined, remarks=(*joined.remarks, *left))


def _join(parts: list[Evidence]) -> Evidence:
    """One Evidence of all parts of a paste, each fact and remark once."""
    facts = dict.fromkeys(fact for part in parts for fact in part.facts)
    remarks: dict[Remark, None] = dict.fromkeys(r for part in parts for r in part.remarks)
    name = "+".join(part.format for part in parts)
    measured = tuple(m for part in parts for m in part.measurements)
    return Evidence(name, parts[0].file, tuple(facts), tuple(remarks), measured)

"""FORMATS: all that is read; read_whole: a text by every reader that recognises it."""

from __future__ import annotations

from collections.abc import Sequence

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


_TREES = frozenset({nccl_xml.NAME, lstopo.NAME})


def recognised(text: str) -> bool:
    """Whether any reader knows a part of the text."""
    return any(form.sniff(text) for form in FORMATS)


def read_whole(text: str, *, file: str) -> list[Evidence]:
    """Evidence of a text by all readers that are surest of it; `format` joins their names.

    A tree of devices numbers them in its own way, and so is a part of its own. Raises InputError
    for unknown content, with the formats that are known.
    """
    sure = {form.name: form.sniff(text) for form in FORMATS}
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
            parts.append(form.read(text, file))
        except InputError as error:
            refused.append(error)
    if not parts:
        raise refused[0]
    trees = [part for part in parts if part.format in _TREES]
    others = [part for part in parts if part.format not in _TREES]
    found = [*([joined(others)] if others else []), *trees]
    # A stray line of another tool's output takes nothing from what can be read.
    left = tuple(Remark("part-left-out", f"{error.what}: {error.why}") for error in refused)
    found[0] = msgspec.structs.replace(found[0], remarks=(*found[0].remarks, *left))
    return found


def joined(parts: Sequence[Evidence]) -> Evidence:
    """One Evidence of all parts of a text, each fact and remark once; one part is itself."""
    if len(parts) == 1:
        return parts[0]
    facts = dict.fromkeys(fact for part in parts for fact in part.facts)
    remarks: dict[Remark, None] = dict.fromkeys(r for part in parts for r in part.remarks)
    names = dict.fromkeys(name for part in parts for name in part.format.split("+"))
    measured = tuple(m for part in parts for m in part.measurements)
    hosts = {part.host for part in parts}
    host = hosts.pop() if len(hosts) == 1 else ""
    return Evidence("+".join(names), parts[0].file, tuple(facts), tuple(remarks), measured, host)

"""Evidence of several hosts: kept apart by the names that a paste gives them, then held together.

The first host's machine stands for all. What another is otherwise is told, its oddities with its
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from wirespeed.errors import InputError, WirespeedError, first_of
from wirespeed.evidence import Evidence
from wirespeed.inventory.log_node import FORMATS
from wirespeed.inventory.result import Combined
from wirespeed.readers import nccl_tests
from wirespeed.readers.hostlist import count_hosts
from wirespeed.topology.machine import Machine
from wirespeed.topology.software import Notice

_RANK = "rank "
"""Begins the name of one that only its number tells from others: it may share a host."""
_MOST_NAMED = 4
_OF_A_JOB = FORMATS | {nccl_tests.NAME}
_OF_A_NODE = ("kind", "node", "rate", "source", "target", "link_kind", "lanes", "bandwidth")


def hosts_apart(evidence: Sequence[Evidence]) -> dict[str, list[Evidence]]:
    """Evidence by host, in order of appearance; what names no host goes with the first.

    A name with its domain and without is one host.
    """
    apart: dict[str, list[Evidence]] = {}
    for part in evidence:
        if part.host and not set(part.format.split("+")) <= _OF_A_JOB:
            apart.setdefault(_short(part.host), [])
    first = next(iter(apart), "")
    for part in evidence:
        # A job is of all its hosts, wherever it was started.
        of_a_job = set(part.format.split("+")) <= _OF_A_JOB
        apart.setdefault(first if of_a_job else _short(part.host) or first, []).append(part)
    return {host: parts for host, parts in apart.items() if parts}


def combine_hosts(
    apart: Mapping[str, list[Evidence]], make: Callable[[list[Evidence]], Combined]
) -> Combined:
    """The machine of the first host that has one, how many such hosts there are, what differs.

    Raises the first host's error where no host's texts make a machine.
    """
    made: dict[str, Combined] = {}
    refused: list[WirespeedError] = []
    for host, parts in apart.items():
        try:
            made[host] = make(parts)
        except InputError as error:
            refused.append(error)
    if not made:
        raise refused[0]
    (name, first), *others = made.items()
    if not others:
        return first
    nodes = first.nodes * sum(map(_count, made))
    notices = [*first.machine.warnings, *_compared(name, first.machine, others)]
    odd = [*first.machine.oddities, *_oddities(first.machine, others)]
    machine = replace(first.machine, warnings=tuple(notices), oddities=tuple(odd))
    return replace(first, machine=machine, nodes=max(1, nodes))


def _short(host: str) -> str:
    return host if host.replace(".", "").isdigit() else host.partition(".")[0]


def _count(host: str) -> int:
    """Hosts that a name stands for: parallel shells print node[1-4] above what four say alike."""
    if host.startswith(_RANK):
        return 0
    try:
        return count_hosts(host)
    except InputError:
        return 1


def _compared(
    name: str, first: Machine, others: Sequence[tuple[str, Combined]]
) -> Iterator[Notice]:
    unlike = [host for host, found in others if not _alike(first, found.machine)]
    alike = [host for host, _ in others if host not in unlike]
    if alike:
        text = f"{first_of(alike, _MOST_NAMED)} {'is' if len(alike) == 1 else 'are'} as {name}"
        yield Notice("hosts-alike", text)
    if unlike:
        verb = "differs" if len(unlike) == 1 else "differ"
        text = f"{first_of(unlike, _MOST_NAMED)} {verb} from {name}, whose machine is taken for all"
        yield Notice("hosts-differ", text, ", ".join(unlike[:_MOST_NAMED]))


def _alike(one: Machine, other: Machine) -> bool:
    """Whether both have the same GPU, parts and links; names and addresses of parts may differ."""
    a, b = one.unit, other.unit
    return one.gpu == other.gpu and all(
        np.array_equal(getattr(a, column), getattr(b, column)) for column in _OF_A_NODE
    )


def _oddities(first: Machine, others: Sequence[tuple[str, Combined]]) -> Iterator[Notice]:
    known = {(odd.code, odd.where) for odd in first.oddities}
    for host, found in others:
        for odd in found.machine.oddities:
            if (odd.code, odd.where) not in known:
                yield Notice(odd.code, f"{host}: {odd.text}", f"{host}: {odd.where}")

"""with_links_as_listed: what `nvidia-smi nvlink -s` says of links, held against the machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from wirespeed.catalog import gpu
from wirespeed.inventory.lost_links import without_links
from wirespeed.inventory.merged import Merged
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machine import Machine
from wirespeed.topology.software import Notice


def with_links_as_listed(machine: Machine, merged: Merged) -> Machine:
    """The machine without links that are listed as inactive where its model has them.

    A GPU has as many links as its model, else as its siblings: parts such as H100 NVL list links
    that no board connects. Where files show more links between GPUs than are active, both are told.
    """
    active = {
        name: count
        for name, statement in merged.of_attribute("nvlinks_active")
        if isinstance(count := statement.value, int)
    }
    if not active:
        return machine
    unit = machine.unit
    whole = gpu(machine.gpu).nvlink_links or max(active.values())
    lost: dict[int, int] = {}
    oddities: list[Notice] = []
    warnings: list[Notice] = []
    for component in unit.of_kind(ComponentKind.GPU).tolist():
        name = f"gpu{unit.index[component]}"
        if unit.node[component] or name not in active:
            continue
        shown = _links(machine, component)
        if 0 < shown < active[name] <= whole:
            place = merged.statements[name, "nvlinks_active"].place
            text = (
                f"{name} shows {shown} NVLinks to other GPUs, but {place} lists {active[name]} up"
            )
            warnings.append(Notice("contradiction", f"{text}; the fewer are used", name))
        if active[name] >= whole:
            continue
        missing = whole - active[name]
        lost[component] = min(missing, max(0, shown - active[name]))
        if not _is_told(machine, name):
            oddities.append(_lost(name, missing, whole, merged))
    gone = {component: count for component, count in lost.items() if count}
    if not (gone or oddities or warnings):
        return machine
    return replace(
        machine,
        unit=without_links(unit, {c: count for c, count in lost.items() if count})
        if lost
        else unit,
        warnings=(*machine.warnings, *warnings),
        oddities=(*machine.oddities, *oddities),
    )


def _links(machine: Machine, component: int) -> int:
    """NVLinks of a GPU in the machine."""
    unit = machine.unit
    mine = (unit.source == component) & (unit.link_kind == LinkKind.NVLINK)
    return int(np.sum(unit.lanes[mine]))


def _is_told(machine: Machine, name: str) -> bool:
    """Whether a matrix beside the list shows the same loss already."""
    codes = ("nvlink-lost", "nvlink-short")
    return any(n.code in codes and name in _parts(n.where) for n in machine.oddities)


def _parts(where: str) -> Iterable[str]:
    return where.replace("-", ", ").split(", ")


def _lost(name: str, missing: int, whole: int, merged: Merged) -> Notice:
    down = [
        subject.partition(" link")[2]
        for subject, statement in merged.of_attribute("state")
        if subject.startswith(f"{name} link") and statement.value == "inactive"
    ]
    which = f" ({', '.join(down)})" if down else ""
    text = (
        f"{name} has lost {missing} of {whole} NVLinks{which}; check `nvidia-smi nvlink -e -i "
        f"{name[3:]}`, the fabric manager's log, and `dmesg` for Xid 74"
    )
    return Notice("nvlink-lost", text, name)

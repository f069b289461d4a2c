"""design_of: the design of a machine that was read, where it says all that was read."""

from __future__ import annotations

from typing import cast, get_args

import msgspec
import numpy as np

from wirespeed.catalog import gpu
from wirespeed.inventory.machine import Read
from wirespeed.topology.machines import machine_of
from wirespeed.topology.node_design import NetworkKind, NodeDesign
from wirespeed.topology.unit import Unit


def design_of(read: Read) -> NodeDesign | None:
    """A design from which the same machine follows, numbers and names of devices aside.

    None where links are lost or slots narrow, or where the driver lets GPUs do more than it
    usually lets GPUs of that model: a design has no place for it.
    """
    machine = read.machine
    if machine.peer_to_peer and not gpu(machine.gpu).pcie_p2p:
        return None
    design = msgspec.structs.replace(
        read.completed.design, p2p=read.completed.design.p2p and machine.peer_to_peer is not False
    )
    if machine.network in get_args(NetworkKind):
        kind = cast(NetworkKind, machine.network)
        design = msgspec.structs.replace(
            design, network=msgspec.structs.replace(design.network, kind=kind)
        )
    return design if _is_same(machine_of(design).unit, machine.unit) else None


def _is_same(a: Unit, b: Unit) -> bool:
    columns = ("kind", "node", "rail", "rate", "source", "target", "link_kind", "lanes")
    return a.models == b.models and all(
        np.array_equal(getattr(a, column), getattr(b, column))
        for column in (*columns, "bandwidth", "throughput")
    )

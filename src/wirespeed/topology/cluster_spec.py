"""ClusterSpec: a cluster as a person describes it, before anything is built."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wirespeed.topology.node_design import NodeDesign


class SoftwareSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The collective library, as `nccl@2.27`, and the environment it runs in."""

    library: str = ""
    env: dict[str, str] = {}


class ClusterSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Equal nodes, the fabric between them, the software on them, and changes to all that.

    `fabric` is a name or the table of a design of one's own; empty: the default of the platform.
    `preset` is what `node` was made from; empty where it was written out in full.
    """

    node: NodeDesign
    nodes: Annotated[int, msgspec.Meta(ge=1, le=10**6)] = 1
    fabric: str | dict[str, Any] = ""
    software: SoftwareSpec = SoftwareSpec()
    changes: tuple[str, ...] = ()
    preset: str = ""

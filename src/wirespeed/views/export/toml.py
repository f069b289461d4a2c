"""cluster_toml: a machine's design as a cluster TOML, to edit and to read back."""

from __future__ import annotations

from collections.abc import Iterable

from wirespeed.readers.cluster_toml import write_cluster_toml
from wirespeed.topology.cluster_spec import ClusterSpec, SoftwareSpec
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.software import Software


def cluster_toml(
    design: NodeDesign,
    *,
    nodes: int = 1,
    fabric: str = "",
    software: Software | None = None,
    changes: Iterable[str] = (),
    preset: str = "",
) -> str:
    """The TOML text of `nodes` nodes of a design; with `preset`, only what differs from that one.

    `fabric` is a name, empty for the platform's default; `software` None leaves the default.
    """
    library = SoftwareSpec()
    if software is not None:
        version = ".".join(map(str, software.version))
        library = SoftwareSpec(f"{software.library}@{version}", dict(software.env))
    return write_cluster_toml(
        ClusterSpec(
            node=design,
            nodes=nodes,
            fabric=fabric,
            software=library,
            changes=tuple(changes),
            preset=preset,
        )
    )

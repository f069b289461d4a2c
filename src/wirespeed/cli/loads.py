"""A machine as a drawing of what a call does to it, for `collective --to dot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wirespeed.cli.options import LibraryOptions
from wirespeed.errors import UsageError

if TYPE_CHECKING:
    from wirespeed.topology.cluster import Cluster


def loads_as_dot(
    op: str, clusters: Sequence[Cluster], sizes: str, library: LibraryOptions, *, siblings: bool
) -> str:
    """Graphviz, coloured by load."""
    from wirespeed._api.asked import forced
    from wirespeed._api.loads import utilisation
    from wirespeed._api.topo import topo
    from wirespeed.views.export.dot import dot

    if len(clusters) > 1:
        raise UsageError(
            "several numbers of nodes",
            where="--to dot",
            why="a drawing shows one cluster",
            remedy="give --nodes one number",
        )
    on = forced(clusters[0], library.algo, library.proto)
    used = utilisation(op, on, sizes, ranks=library.ranks, siblings=siblings)
    return dot(topo(on), utilisation=used)

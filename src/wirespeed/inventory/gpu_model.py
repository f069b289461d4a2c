"""gpu_of: which GPU a machine has, from an option, a file, or its links."""

from __future__ import annotations

from wirespeed.catalog import Gpu, gpu, gpus
from wirespeed.errors import UnknownName
from wirespeed.inventory.node_facts import NodeFacts


def named_gpu(facts: NodeFacts, option: str | None) -> tuple[Gpu | None, str]:
    """The GPU that an option or a file names, and which of both: `option`, `read`, or `preset`.

    A name in a file that the catalog does not know counts as none; one in the option raises
    UnknownName.
    """
    if option:
        return gpu(option), "option"
    for name in facts.gpus:
        if model := facts.merged.text(name, "model"):
            try:
                return gpu(model), "read"
            except UnknownName:
                continue
    return None, "preset"


def gpu_by_links(facts: NodeFacts) -> Gpu | None:
    """The GPU of the catalog whose links come nearest to what stands in the matrix, from above.

    In a mesh a GPU's links are the sum of its row; through switches each pair shows them all.
    """
    most = max(facts.links.values(), default=0)
    if not most:
        return None
    total = max(map(facts.links_of, facts.gpus))
    rows = [row for row in gpus() if row.vendor == "NVIDIA" and row.nvlink_links]
    largest = max(row.nvlink_links for row in rows)
    wanted = total if total <= largest else most
    bridged = total == most
    # Two cards under a bridge use all their links with each other.
    fitting = [row for row in rows if row.nvlink_links >= wanted] or rows
    alike = [row for row in fitting if bool(row.nvlink_bridge) == bridged] or fitting
    return min(alike, key=lambda row: row.nvlink_links)

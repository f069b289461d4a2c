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
    """The first GPU of the catalog with as many links as the busiest pair shows, or few more.

    Two cards under a bridge use all their links with each other, so a pair's number is the card's.
    """
    most = max(facts.links.values(), default=0)
    if not most:
        return None
    bridged = all(sum((a, b) in facts.links for b in facts.gpus) <= 1 for a in facts.gpus)
    rows = [row for row in gpus() if row.vendor == "NVIDIA" and row.nvlink_links >= most]
    preferred = [row for row in rows if bool(row.nvlink_bridge) == bridged] or rows
    return min(preferred, key=lambda row: row.nvlink_links, default=None)

"""Slurm's topology.conf (tree and block) and topology.yaml: which nodes share a switch or block.

Subjects and attributes are those of `_slurm_facts`. LinkSpeed is not used by Slurm and not kept.

Remarks: `switch-missing`, `two-parents`, `loop`, `list-unclear`, `lines-left-out`,
`no-common-root`, `line-unended`.
"""

from __future__ import annotations

import re

from wirespeed.evidence import Evidence
from wirespeed.readers import _slurm_yaml
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, whole
from wirespeed.readers._slurm_facts import SlurmTree, Switch, state_tree
from wirespeed.readers._text import Line, sure_lines

NAME = "slurm-topology"

_ENTRY = re.compile(r"\b([A-Za-z]{3,20})=(\S+)")
_SIGN = re.compile(r"^[^#\n]{0,40}\b(?:SwitchName|BlockName|BlockSizes)=\S", re.MULTILINE | re.I)
_COMMENT = re.compile(r"\s*# *([\w.-]{1,80})=([\w.-]{1,80})\s*$")


def sniff(text: str) -> float:
    """1 where a switch or a block is named in either file's way."""
    return float(bool(_SIGN.search(text) or _slurm_yaml.SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of the topology; raises InputError where no switch and no block is described."""
    found = Gathered()
    if _slurm_yaml.SIGN.search(text) and not _SIGN.search(text):
        trees = _slurm_yaml.trees(text, file)
    else:
        trees = [_tree(sure_lines(text), found)]
    for tree in trees:
        if tree.switches or tree.blocks:
            state_tree(tree, found)
    roots = [f for f in found.facts if f.attribute == "roots" and isinstance(f.value, int)]
    for fact in roots:
        if isinstance(fact.value, int) and fact.value > 1:
            said = f"{fact.value} roots: nodes below different ones share no switch"
            found.note("no-common-root", said, fact.line)
    return found.evidence(
        NAME,
        file,
        nothing="no switch and no block is described",
        remedy="give /etc/slurm/topology.conf or topology.yaml",
    )


def _tree(lines: list[Line], found: Gathered) -> SlurmTree:
    tree = SlurmTree()
    real: dict[str, tuple[str, int]] = {}
    continued = ""
    for line in lines:
        if comment := _COMMENT.match(line.text):
            real[comment[1]] = comment[2], line.number
            continue
        words = continued + line.text.partition("#")[0]
        if words.rstrip().endswith("\\"):
            continued = words.rstrip()[:-1]
            continue
        continued = ""
        entries = {name.lower(): value for name, value in _ENTRY.findall(words)}
        if line.ends_text and entries:
            # The last list may be cut inside a number: what it names is not sure.
            found.note("line-unended", "the last line has no end: it may be cut", line.number)
        tree.line = tree.line or (line.number if entries else 0)
        if name := entries.get("switchname"):
            tree.switches[name] = Switch(
                name, line.number, entries.get("switches", ""), entries.get("nodes", "")
            )
        elif name := entries.get("blockname"):
            tree.blocks[name] = entries.get("nodes", ""), line.number
        elif sizes := entries.get("blocksizes"):
            tree.block_sizes = tuple(n for w in sizes.split(",") if (n := whole(w)) is not None)
        elif words.strip():
            found.left_out(words, line.number)
    for name, (own, number) in real.items():
        if name in tree.switches:
            found.add(f"switch {name}", "real_name", own, number)
    return tree


FORMAT = Format(NAME, "Slurm's topology.conf or topology.yaml", sniff, read)

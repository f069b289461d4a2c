"""Slurm's topology.yaml (since 25.05), of which only its own keys are read: no YAML in general."""

from __future__ import annotations

import re

from wirespeed.readers._gathered import whole
from wirespeed.readers._slurm_facts import SlurmTree, Switch
from wirespeed.readers._text import sure_lines

SIGN = re.compile(r"^\s{0,20}(?:- )?(?:switches|blocks|block_sizes):\s*$|^- topology: \S", re.M)
_KEY = re.compile(r"(\s{0,40})(- )?\s{0,20}([a-z_]{2,20}):\s*(.*?)\s*$")
_ITEM = re.compile(r"\s{0,40}- (\d{1,6})\s*$")


def trees(text: str, file: str) -> list[SlurmTree]:
    """The topologies of a file, in its order."""
    found: list[SlurmTree] = []
    switch: Switch | None = None
    block = ""
    sizes = False
    for line in sure_lines(text):
        words = line.text.partition(" #")[0]
        if item := _ITEM.match(words):
            if sizes and found:
                found[-1].block_sizes += (int(item[1]),)
            continue
        key = _KEY.match(words)
        if not key:
            continue
        name, value = key[3], key[4].strip("\"'")
        if name == "topology":
            found.append(SlurmTree(label=value, line=line.number))
            continue
        if not found:
            found.append(SlurmTree(line=line.number))
        tree = found[-1]
        sizes = name == "block_sizes"
        if name == "switch":
            switch = tree.switches[value] = Switch(value, line.number)
        elif name == "block":
            block, switch = value, None
            if value:
                tree.blocks[value] = "", line.number
        elif name == "children" and switch:
            switch.switches = value
        elif name == "nodes":
            if switch:
                switch.nodes = value
            elif block:
                tree.blocks[block] = value, line.number
        elif sizes and value.startswith("["):
            numbers = [whole(part.strip()) for part in value.strip("[]").split(",")]
            tree.block_sizes = tuple(number for number in numbers if number is not None)
    return found

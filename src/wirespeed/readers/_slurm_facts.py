"""Facts on Slurm's view of the network, whichever file states it.

| subject | attributes |
|---|---|
| `switch leaf1` | nodes (the list as written), node_count, parent, level (0: no switch below), |
| | real_name (from topograph's comments) |
| `block b1` | nodes, node_count |
| `topology` | plugin (tree or block), name, switches, roots, node_count, levels, block_sizes |
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wirespeed.errors import InputError, first_of
from wirespeed.readers._gathered import Gathered
from wirespeed.readers.hostlist import MOST_HOSTS, count_hosts, expand_hosts

_NAMED = 3
"""Switches that a remark names."""


@dataclass(slots=True)
class Switch:
    """One switch of a tree: what is below it, as host lists."""

    name: str
    line: int
    switches: str = ""
    nodes: str = ""


@dataclass(slots=True)
class SlurmTree:
    """The switches and blocks of one topology, by name."""

    switches: dict[str, Switch] = field(default_factory=dict)
    blocks: dict[str, tuple[str, int]] = field(default_factory=dict)
    block_sizes: tuple[int, ...] = ()
    label: str = ""
    line: int = 0


def state_tree(tree: SlurmTree, found: Gathered) -> None:
    """States a topology; remarks on nodes under two leaves, loops and switches that are nowhere."""
    prefix = f"topology {tree.label}" if tree.label else "topology"
    children = _children(tree, found)
    counts = {name: _count(s.nodes, s, found) for name, s in tree.switches.items()}
    parents = _parents(tree, children, found)
    levels = _levels(tree, children, found)
    for name, switch in tree.switches.items():
        subject = f"switch {name}"
        found.add(subject, "level", levels.get(name), switch.line)
        if name in parents:
            found.add(subject, "parent", parents[name], tree.switches[parents[name]].line)
        if switch.nodes:
            found.add(subject, "nodes", switch.nodes, switch.line)
            found.add(subject, "node_count", counts[name], switch.line)
    total = sum(counts.values())
    for name, (nodes, line) in tree.blocks.items():
        count = _count(nodes, Switch(name, line), found)
        found.add(f"block {name}", "nodes", nodes, line)
        found.add(f"block {name}", "node_count", count, line)
        total += count
    line = tree.line
    if tree.switches:
        found.add(prefix, "plugin", "tree", line)
        found.add(prefix, "switches", len(tree.switches), line)
        found.add(prefix, "roots", len(tree.switches) - len(parents), line)
        found.add(prefix, "levels", max(levels.values(), default=0) + 1, line)
    elif tree.blocks:
        found.add(prefix, "plugin", "block", line)
        if tree.block_sizes:
            found.add(prefix, "block_sizes", tree.block_sizes, line)
    found.add(prefix, "node_count", total, line)


def _children(tree: SlurmTree, found: Gathered) -> dict[str, list[str]]:
    children: dict[str, list[str]] = {}
    left = MOST_HOSTS
    for name, switch in tree.switches.items():
        count = _count(switch.switches, switch, found)
        if count > left:
            found.note("list-unclear", f"{name}: too many switches below it", switch.line)
            count = 0
        children[name] = expand_hosts(switch.switches) if count else []
        left -= count
    return children


def _count(text: str, switch: Switch, found: Gathered) -> int:
    try:
        return count_hosts(text)
    except InputError as error:
        found.note("list-unclear", f"{switch.name}: {error.why}", switch.line)
        return 0


def _parents(tree: SlurmTree, children: dict[str, list[str]], found: Gathered) -> dict[str, str]:
    parents: dict[str, str] = {}
    for name, below in children.items():
        for child in below:
            if child not in tree.switches:
                text = f"{name} leads to {child}, which is described nowhere"
                found.note("switch-missing", text, tree.switches[name].line)
            elif child in parents:
                text = f"{child} is below {parents[child]} and below {name}: the first holds"
                found.note("two-parents", text, tree.switches[name].line)
            else:
                parents[child] = name
    return parents


def _levels(tree: SlurmTree, children: dict[str, list[str]], found: Gathered) -> dict[str, int]:
    """Levels above the nodes; a switch with both counts its deepest branch. None in a loop."""
    waiting = {n: {c for c in below if c in tree.switches} for n, below in children.items()}
    above: dict[str, list[str]] = {}
    for name, below in waiting.items():
        for child in below:
            above.setdefault(child, []).append(name)
    levels: dict[str, int] = {}
    ready = [name for name, below in waiting.items() if not below]
    left = {name: len(below) for name, below in waiting.items()}
    while ready:
        name = ready.pop()
        levels[name] = max((levels[c] + 1 for c in waiting[name]), default=0)
        for parent in above.get(name, ()):
            left[parent] -= 1
            if not left[parent]:
                ready.append(parent)
    if loops := [name for name in waiting if name not in levels]:
        found.note(
            "loop", f"{first_of(loops, _NAMED)} lie above themselves", tree.switches[loops[0]].line
        )
    return levels

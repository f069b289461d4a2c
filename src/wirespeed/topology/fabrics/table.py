"""A fabric written as a table of a TOML file, with all its errors reported at once.

[fabric]
kind = "rail-optimised"      # single, leaf-spine, three-tier, rail-optimised, rail-only, fat-tree,
                             # dual-plane, dragonfly
radix = 64                   # or one for each tier, from the leaves up
oversubscription = [1, 2]    # ports down for one up, a tier each
nodes_per_leaf = 32
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from wirespeed.errors import Problems, UsageError
from wirespeed.topology.assemble import FabricDesign
from wirespeed.topology.fabrics.clos import ClosDesign
from wirespeed.topology.fabrics.dragonfly import DragonflyDesign
from wirespeed.topology.fabrics.generic import DRAGONFLY, GENERIC
from wirespeed.topology.fabrics.latency import Network
from wirespeed.topology.fabrics.placement import Placement
from wirespeed.topology.fabrics.sizing import Tier
from wirespeed.units import NS

Check = Callable[[Any], str]
_TIERS = ("leaf", "spine", "core")


def fabric_from_table(table: Mapping[str, Any], where: str) -> FabricDesign:
    """The design that a table describes; `where` is the file and key for messages.

    Raises Problems with every wrong key and value.
    """
    problems: list[UsageError] = []
    kind = table.get("kind", "fat-tree")
    if not isinstance(kind, str) or kind not in KINDS:
        problems.append(_problem(where, "kind", f"{kind!r} is no kind of fabric", _one_of(KINDS)))
        kind = "fat-tree"
    checks = _CHECKS | (_DRAGONFLY_CHECKS if kind == DRAGONFLY.name else _CLOS_CHECKS)
    for key, value in table.items():
        if key not in checks:
            problems.append(
                _problem(where, key, f"a {kind} fabric has no {key!r}", _one_of(checks))
            )
        elif text := checks[key](value):
            problems.append(_problem(where, key, f"{value!r} cannot be", text))
    if not problems:
        problems += _conflicts(kind, table, where)
    if problems:
        raise Problems(where, problems)
    base = GENERIC.get(kind, DRAGONFLY)
    common = _common(table)
    if isinstance(base, DragonflyDesign):
        return _dragonfly(base, table, common)
    return _clos(base, table, common)


def _common(table: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if "name" in table:
        fields["name"] = table["name"]
    if "network" in table:
        fields["network"] = Network(table["network"])
    if "switch_latency_ns" in table:
        fields["switch_latency"] = table["switch_latency_ns"] * NS
    if "latency_ns" in table:
        fields["link_latency"] = table["latency_ns"] * NS
    return fields


def _clos(base: ClosDesign, table: Mapping[str, Any], fields: dict[str, Any]) -> ClosDesign:
    fields |= {key: table[key] for key in ("planes", "nodes_per_leaf", "spines") if key in table}
    for tier in ("leaf", "spine"):
        fields[tier] = _tier(getattr(base, tier), tier, table)
    if "radix" in table:
        fields["core_ports"] = _of_tier(table["radix"], 2)
    if "tiers" in table:
        fields["tiers"] = (table["tiers"], table["tiers"])
    if "pods" in table:
        fields["pods_of_rails"] = table["pods"] == "rail"
    if "sizes" in table:
        fields["sizes"] = tuple(table["sizes"])
    if "uplink_speed" in table:
        fields["uplink_speed"] = float(table["uplink_speed"])
    return replace(base, **fields)


def _tier(base: Tier, tier: str, table: Mapping[str, Any]) -> Tier:
    number = _TIERS.index(tier)
    radix = _of_tier(table["radix"], number) if "radix" in table else base.radix
    ratio = table.get("oversubscription", base.oversubscription)
    if f"{tier}_ports" in table:
        down, up = table[f"{tier}_ports"]
        return Tier(max(radix, down + up) if "radix" in table else down + up, down=down, up=up)
    return replace(base, radix=radix, oversubscription=float(_of_tier(ratio, number)))


def _of_tier(value: Any, number: int) -> Any:
    """The value of a tier: one for all, or a list whose last entry stands for those above."""
    return value[min(number, len(value) - 1)] if isinstance(value, list) else value


def _dragonfly(
    base: DragonflyDesign, table: Mapping[str, Any], fields: dict[str, Any]
) -> DragonflyDesign:
    names = {
        "ports": "ports",
        "switches_per_group": "switches",
        "global_ports": "global_ports",
        "groups": "groups",
        "links_per_pair": "pair_links",
    }
    fields |= {field: table[key] for key, field in names.items() if key in table}
    if "placement" in table:
        fields["placement"] = Placement(table["placement"])
    return replace(base, **fields)


def _conflicts(kind: str, table: Mapping[str, Any], where: str) -> list[UsageError]:
    """Values that are fine alone and wrong together."""
    found = []
    if "uplink_speed" in table and "leaf_ports" not in table:
        text = "with faster uplinks the ports of a leaf must be stated as leaf_ports = [down, up]"
        found.append(_problem(where, "uplink_speed", "leaf_ports is missing", text))
    if "leaf_ports" in table and "oversubscription" in table:
        text = "leaf_ports already says how many ports go down and up"
        found.append(_problem(where, "oversubscription", "stated twice", text))
    if table.get("tiers") == 1 and kind == "rail-optimised":
        text = "a leaf a rail needs spines to join them: two or three tiers, or kind = 'rail-only'"
        found.append(_problem(where, "tiers", "one tier cannot join rails", text))
    if kind == DRAGONFLY.name:
        design = _dragonfly(DRAGONFLY, table, {})
        needed = design.links_of_pair * (design.groups - 1)
        if not design.links_of_pair or needed > design.switches * design.global_ports:
            text = (
                f"{design.groups} groups need {needed:,} global ports a group, and "
                f"{design.switches} switches have {design.switches * design.global_ports:,}"
            )
            found.append(_problem(where, "groups", "too many for the global ports", text))
    return found


def _problem(where: str, key: str, what: str, why: str) -> UsageError:
    return UsageError(what, where=f"{where}.{key}", why=why)


def _one_of(names: Any) -> str:
    return f"known: {', '.join(sorted(names))}"


def _whole(low: int, high: int) -> Check:
    def check(value: Any) -> str:
        fine = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return "" if fine else f"it must be a whole number from {low:,} to {high:,}"

    return check


def _number(low: float, high: float) -> Check:
    def check(value: Any) -> str:
        fine = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if fine and low <= value <= high else f"it must be a number from {low} to {high}"

    return check


def _each(one: Check, most: int, *, exactly: bool = False) -> Check:
    """A list of at most (or exactly) that many; alone, too, unless exactly."""

    def check(value: Any) -> str:
        if not isinstance(value, list):
            return f"it must be a list of {most}" if exactly else one(value)
        if not value or len(value) > most or (exactly and len(value) != most):
            return f"it must be a list of {'' if exactly else 'up to '}{most}"
        return next((text for text in map(one, value) if text), "")

    return check


def _among(names: Any) -> Check:
    def check(value: Any) -> str:
        return "" if isinstance(value, str) and value in names else f"it must be {_one_of(names)}"

    return check


def _rising(value: Any) -> str:
    text = _each(_whole(1, 10**7), 100)(value)
    if not text and (not isinstance(value, list) or sorted(set(value)) != value):
        return "it must be a list of node counts that rise"
    return text


def _text(value: Any) -> str:
    return "" if isinstance(value, str) and value.strip() else "it must be a name"


_PORTS = _whole(1, 4096)
_CHECKS: dict[str, Check] = {
    "kind": lambda value: "",
    "name": _text,
    "network": _among([network.value for network in Network]),
    "switch_latency_ns": _number(0, 1e6),
    "latency_ns": _number(0, 1e6),
}
_CLOS_CHECKS: dict[str, Check] = {
    "radix": _each(_whole(2, 2**31), 3),
    "oversubscription": _each(_number(1 / 64, 64), 2),
    "tiers": _whole(1, 3),
    "planes": _whole(1, 16),
    "nodes_per_leaf": _PORTS,
    "spines": _PORTS,
    "leaf_ports": _each(_PORTS, 2, exactly=True),
    "spine_ports": _each(_PORTS, 2, exactly=True),
    "uplink_speed": _number(1 / 16, 16),
    "pods": _among(["rail", "node-group"]),
    "sizes": _rising,
}
_DRAGONFLY_CHECKS: dict[str, Check] = {
    "placement": _among([placement.value for placement in Placement]),
    "ports": _PORTS,
    "switches_per_group": _PORTS,
    "global_ports": _PORTS,
    "groups": _PORTS,
    "links_per_pair": _PORTS,
}
KINDS = (*GENERIC, DRAGONFLY.name)

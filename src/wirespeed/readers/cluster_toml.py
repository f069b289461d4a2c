"""A cluster TOML, read with all its errors at once, and written so that it reads back equal.

nodes = 4
changes = ["node1/nic3=down"]

[node]
preset = "dgx-h100"              # or all fields of a node design; with both, fields override

[fabric]                         # or fabric = "fat-tree"
kind = "fat-tree"

[software]
library = "nccl@2.27"
env = { NCCL_ALGO = "Ring" }
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
import tomli_w
from msgspec.structs import fields

from wirespeed.errors import InputError, Problems, UnknownName, WirespeedError
from wirespeed.readers._structure import place, structured
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster_spec import ClusterSpec, SoftwareSpec
from wirespeed.topology.fabrics.named import fabric_named
from wirespeed.topology.fabrics.table import fabric_from_table
from wirespeed.topology.node_checks import problems_of
from wirespeed.topology.node_design import NicGroup, NodeDesign, PcieGroup
from wirespeed.topology.presets import merged, preset
from wirespeed.topology.software import parse_library

S = TypeVar("S", bound=msgspec.Struct)

_DESIGN = NodeDesign(name="", gpu="", gpus=1)


def read_cluster_toml(text: str, *, file: str = "cluster.toml") -> ClusterSpec:
    """The cluster that a TOML text describes. Without `nodes` it is one node, or one whole rack.

    Raises Problems with all that is wrong, each with file and key; `file` is what messages call it.
    """
    document = _parsed(text, file)
    problems: list[WirespeedError] = []
    texts = list(_parsed_elsewhere(document))
    name = _take_preset(document, problems, file)
    # What an unknown preset would have brought is not missing.
    node = _part(document, "node", NodeDesign, problems, file, partial=name is None)
    software = _part(document, "software", SoftwareSpec, problems, file)
    # What is wrong with a part has been said: a stand-in lets the rest be looked at.
    whole = {**document, "node": node or _DESIGN, "software": software or SoftwareSpec()}
    spec = structured(ClusterSpec, whole, "", problems, file=file)
    if node is not None:
        problems += [
            InputError(found.what, where=place(file, f"node.{found.key}"), remedy=found.remedy)
            for found in problems_of(node)
        ]
    for key, text, parse in texts:
        problems += _unreadable(parse, text, place(file, key))
    problems += _fabric_problems(document.get("fabric"), place(file, "fabric"))
    if spec is None or problems:
        raise Problems(file, problems)
    nodes = spec.nodes if "nodes" in document else spec.node.nodes_per_unit
    return msgspec.structs.replace(spec, nodes=nodes, preset=name or "")


def _part(
    document: Mapping[str, Any],
    key: str,
    kind: type[S],
    problems: list[WirespeedError],
    file: str,
    *,
    partial: bool = False,
) -> S | None:
    if key not in document:
        return None
    return structured(kind, document[key], key, problems, file=file, partial=partial)


def _parsed_elsewhere(
    document: Mapping[str, Any],
) -> Iterator[tuple[str, str, Callable[[str], object]]]:
    """(key, text, parser) of texts with a grammar of their own."""
    software, changes = document.get("software"), document.get("changes")
    if isinstance(software, dict) and isinstance(library := software.get("library"), str):
        yield "software.library", library, parse_library
    for i, change in enumerate(changes if isinstance(changes, list) else ()):
        if isinstance(change, str):
            yield f"changes[{i}]", change, parse_change


def _unreadable(parse: Callable[[str], object], text: str, where: str) -> Iterator[InputError]:
    """Why a text cannot be parsed, with its place in the file; nothing where it can."""
    try:
        parse(text)
    except WirespeedError as error:
        yield InputError(error.what, where=where, why=error.why, remedy=error.remedy)


def _fabric_problems(fabric: object, where: str) -> Iterator[WirespeedError]:
    if isinstance(fabric, dict):
        try:
            fabric_from_table(fabric, where)
        except Problems as error:
            yield from error.problems
    elif isinstance(fabric, str) and fabric and not fabric.endswith(".toml"):
        # The name of another file is opened by whoever has the directory.
        yield from _unreadable(fabric_named, fabric, where)


def _parsed(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        what = f"this is no TOML: {error}"
    except RecursionError:
        what = "this is no TOML that a person wrote: lists in lists without end"
    raise InputError(
        what,
        where=file,
        remedy="see toml.io for the format, or start from `wirespeed topo PRESET --to toml`",
    )


def _take_preset(document: dict[str, Any], problems: list[WirespeedError], file: str) -> str | None:
    """The preset's name, whose fields are laid under `node`; empty for none, None if unknown."""
    if "preset" in document:
        del document["preset"]
        remedy = "write it in the table [node]"
        problems.append(
            InputError("there is no such key", where=place(file, "preset"), remedy=remedy)
        )
    if "node" not in document:
        remedy = 'write [node] with preset = "dgx-h100", or with gpu, gpus and the rest'
        problems.append(InputError("missing", where=place(file, "node"), remedy=remedy))
    node = document.get("node")
    if not isinstance(node, dict):
        return ""
    name = node.pop("preset", "")
    if name == "":
        node.setdefault("name", "cluster")
        return ""
    key = place(file, "node.preset")
    if not isinstance(name, str):
        problems.append(InputError("a preset is named by a text", where=key))
        return None
    try:
        base = msgspec.to_builtins(preset(name))
    except UnknownName as error:
        problems.append(InputError(error.what, where=key, remedy=error.remedy))
        return None
    document["node"] = merged(base, node)
    return name


def write_cluster_toml(spec: ClusterSpec) -> str:
    """The TOML text of a cluster, without what is as the preset or the defaults have it."""
    document: dict[str, Any] = {"nodes": spec.nodes}
    if spec.changes:
        document["changes"] = list(spec.changes)
    if isinstance(spec.fabric, str) and spec.fabric:
        document["fabric"] = spec.fabric
    document["node"] = _node_table(spec)
    if isinstance(spec.fabric, dict):
        document["fabric"] = spec.fabric
    if software := _differing(msgspec.to_builtins(spec.software), _defaults(SoftwareSpec)):
        document["software"] = software
    return tomli_w.dumps(document)


def _node_table(spec: ClusterSpec) -> dict[str, Any]:
    base = msgspec.to_builtins(preset(spec.preset)) if spec.preset else _defaults(NodeDesign)
    table = _differing(msgspec.to_builtins(spec.node), base)
    for key, kind in (("pcie", PcieGroup), ("nics", NicGroup)):
        if key in table:
            table[key] = [_differing(item, _defaults(kind)) for item in table[key]]
    return {"preset": spec.preset} | table if spec.preset else table


def _defaults(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields that may be left out, each with its default."""
    return {
        field.name: msgspec.to_builtins(
            field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        )
        for field in fields(kind)
        if not field.required
    }


def _differing(table: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """What of a table is not in another, tables key by key."""
    result: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            if below := _differing(value, base[key]):
                result[key] = below
        elif key not in base or value != base[key]:
            result[key] = value
    return result

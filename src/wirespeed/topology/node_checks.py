"""problems_of: what does not fit together in a node's design, one check a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from wirespeed.catalog import Gpu, c2c, cpu_link, gpu, nvlink_of, xgmi
from wirespeed.errors import UnknownName
from wirespeed.topology.node_design import NodeDesign


class Problem(NamedTuple):
    """What is wrong at a key of the design, such as `pcie[2].gpus`, and what helps."""

    key: str
    what: str
    remedy: str = ""


Problems = Iterator[Problem]


def problems_of(design: NodeDesign) -> list[Problem]:
    """All that is wrong with a design, in the order of the checks; empty where it can be built."""
    return [problem for check in _CHECKS for problem in check(design)]


def _gpu_is_known(design: NodeDesign) -> Problems:
    try:
        gpu(design.gpu)
    except UnknownName as error:
        yield Problem("gpu", error.what, error.remedy)


def _gpus_hang_once(design: NodeDesign) -> Problems:
    groups = [group.gpus for group in design.pcie]
    yield from _placed_once("GPU", "gpus", groups, design.gpus)
    if design.host_link.kind == "none":
        yield from _placed_at_all("GPU", groups, design.gpus)


def _nics_hang_once(design: NodeDesign) -> Problems:
    groups = [group.nics for group in design.pcie]
    yield from _placed_once("NIC", "nics", groups, design.nic_count)
    yield from _placed_at_all("NIC", groups, design.nic_count)


def _placed_once(word: str, key: str, groups: Sequence[Sequence[int]], count: int) -> Problems:
    times = Counter(index for group in groups for index in group)
    for position, group in enumerate(groups):
        for index in dict.fromkeys(group):
            if index >= count:
                yield Problem(f"pcie[{position}].{key}", _missing(word, index, count))
            elif times[index] > 1:
                what = f"{word} {index} is listed {times[index]} times"
                yield Problem(f"pcie[{position}].{key}", what, "list it in one group, once")


def _placed_at_all(word: str, groups: Sequence[Sequence[int]], count: int) -> Problems:
    placed = {index for group in groups for index in group}
    left = [index for index in range(count) if index not in placed]
    if left:
        numbers = ", ".join(map(str, left[:8])) + (", …" if len(left) > 8 else "")
        yield Problem(
            "pcie",
            f"{word} {numbers} {'is' if len(left) == 1 else 'are'} in no group",
            f"list every {word} of the node in one group, {word} numbers count from 0",
        )


def _missing(word: str, index: int, count: int) -> str:
    return f"{word} {index} does not exist (the node has {count})"


def _numa_nodes_exist(design: NodeDesign) -> Problems:
    count = design.cpu.numa_nodes
    places = [(f"pcie[{i}].numa", group.numa) for i, group in enumerate(design.pcie)]
    places += [(f"host_link.numa[{i}]", numa) for i, numa in enumerate(design.host_link.numa)]
    for key, numa in places:
        if numa >= count:
            yield Problem(key, _missing("NUMA node", numa, count), "or raise cpu.numa_nodes")


def _sockets_are_equal(design: NodeDesign) -> Problems:
    cpu = design.cpu
    if cpu.numa_nodes % cpu.sockets:
        yield Problem(
            "cpu.numa_nodes",
            f"{cpu.numa_nodes} NUMA nodes are no equal shares of {cpu.sockets} sockets",
            "count the NUMA nodes of the whole node, at least one a socket",
        )


def _sockets_are_joined(design: NodeDesign) -> Problems:
    link = design.cpu.link
    if link.kind:
        try:
            rate = cpu_link(link.kind).bandwidth(link.links or None)
        except UnknownName as error:
            yield Problem("cpu.link.kind", error.what, error.remedy)
            return
    else:
        rate = None
    if design.cpu.sockets > 1 and not (link.GBps or rate):
        yield Problem(
            "cpu.link",
            f"{design.cpu.sockets} sockets, and no rate is known of what joins them",
            "give cpu.link.kind, such as upi-spr or epyc-genoa, or cpu.link.GBps",
        )


def _bridges_have_one_home(design: NodeDesign) -> Problems:
    """Groups below one host bridge are on one NUMA node; below one switch, on one bridge too."""
    for word, numbers in (
        ("host bridge", [group.root for group in design.pcie]),
        ("upper switch", [group.upper for group in design.pcie]),
    ):
        key = "root" if word == "host bridge" else "upper"
        first: dict[int, int] = {}
        for i, number in enumerate(numbers):
            if number < 0:
                continue
            j = first.setdefault(number, i)
            one, other = design.pcie[j], design.pcie[i]
            if one.numa != other.numa:
                what = f"{word} {number} is on NUMA node {one.numa} and on {other.numa}"
                yield Problem(f"pcie[{i}].{key}", what, "give one of them another number")
            elif one.root != other.root:
                what = f"{word} {number} hangs from two host bridges"
                yield Problem(f"pcie[{i}].root", what, f"write the root of pcie[{j}]")


def _mesh_joins_gpus(design: NodeDesign) -> Problems:
    links = design.nvlink
    if links.style != "mesh" and (links.edges or links.every_pair):
        key = "edges" if links.edges else "every_pair"
        yield Problem(f"nvlink.{key}", "only a mesh has these", 'write nvlink.style = "mesh"')
    if links.style == "mesh" and not (links.edges or links.every_pair):
        remedy = "give nvlink.edges as [GPU, GPU, links], or nvlink.every_pair"
        yield Problem("nvlink", "a mesh without links", remedy)
    seen: set[frozenset[int]] = set()
    for i, (a, b, _) in enumerate(links.edges):
        key, ends = f"nvlink.edges[{i}]", frozenset((a, b))
        if a == b:
            yield Problem(key, f"joins GPU {a} with itself")
        for g in sorted(ends):
            if g >= design.gpus:
                yield Problem(key, _missing("GPU", g, design.gpus))
        if ends in seen:
            yield Problem(key, f"GPU {a} and {b} stand here twice", "add the links up in one")
        seen.add(ends)


def _switches_are_complete(design: NodeDesign) -> Problems:
    links = design.nvlink
    if links.style != "switch":
        if links.switches or links.links_per_switch:
            key = "switches" if links.switches else "links_per_switch"
            what = "only a design with NVSwitches has these"
            yield Problem(f"nvlink.{key}", what, 'write nvlink.style = "switch"')
        return
    if not links.switches:
        yield Problem("nvlink.switches", "NVSwitches, but none are counted")
    if len(links.links_per_switch) not in (1, links.switches):
        yield Problem(
            "nvlink.links_per_switch",
            f"{len(links.links_per_switch)} numbers for {links.switches} switches",
            "give one for each switch, or one that holds for all",
        )


def _trunks_are_complete(design: NodeDesign) -> Problems:
    links = design.nvlink
    trunk, total = links.trunk, design.gpus * design.nodes_per_unit
    if not trunk.group:
        if trunk.links or trunk.upper_switches:
            remedy = "say how many GPUs share their switches"
            yield Problem("nvlink.trunk.group", "a trunk, but groups are not given", remedy)
        return
    if total % trunk.group:
        what = f"{total} GPUs are no whole groups of {trunk.group}"
        yield Problem("nvlink.trunk.group", what)
    if not trunk.links:
        yield Problem("nvlink.trunk.links", "groups, but no links between them")
    if links.switches and trunk.upper_switches % links.switches:
        what = f"{trunk.upper_switches} do not spread evenly over the {links.switches} of a group"
        yield Problem("nvlink.trunk.upper_switches", what)


def _gpus_have_the_links(design: NodeDesign) -> Problems:
    """No GPU has more links in use than the part has."""
    model, links = _model(design), design.nvlink
    if model is None or links.style == "none":
        return
    limit = _links_of(model)
    if limit is None:
        if not links.link_GBps:
            remedy = 'set nvlink.link_GBps, or nvlink.style = "none"'
            yield Problem("nvlink", f"{model.name} has no links to other GPUs", remedy)
        return
    if links.style == "switch":
        if len(links.links_per_switch) in (1, links.switches):
            used = sum(links.links_to(s) for s in range(links.switches))
            if used > limit:
                yield Problem("nvlink.links_per_switch", _too_many(model, used, limit))
        return
    used_by: Counter[int] = Counter()
    for a, b, count in links.pairs(design.gpus):
        used_by[a] += count
        used_by[b] += count
    for g, used in sorted(used_by.items()):
        if used > limit:
            key = "nvlink.edges" if links.edges else "nvlink.every_pair"
            yield Problem(key, f"GPU {g}: {_too_many(model, used, limit)}")


def _too_many(model: Gpu, used: int, limit: int) -> str:
    return f"{used} links are used, {model.name} has {limit}"


def _links_of(model: Gpu) -> int | None:
    """Links of one GPU as software sees it; None where it has none."""
    if model.xgmi:
        product = xgmi(model.xgmi)
        inside = (product.in_package_GBps_dir or 0) / (product.bandwidth_GBps_dir or 1)
        return None if product.links is None else product.links // model.devices + int(inside)
    fabric = nvlink_of(model)
    return fabric[1] if fabric else None


def _host_links_are_complete(design: NodeDesign) -> Problems:
    link = design.host_link
    if link.kind == "none":
        if link.numa or link.GBps:
            remedy = 'write host_link.kind = "c2c"'
            yield Problem("host_link", "a coherent link, but its kind is none", remedy)
        return
    if len(link.numa) != design.gpus:
        what = f"{len(link.numa)} NUMA nodes for {design.gpus} GPUs"
        yield Problem("host_link.numa", what, "give the NUMA node of every GPU, in order")
    model = _model(design)
    if model is not None and not link.GBps and not _host_rate(model):
        what = f"no coherent link of {model.name} is known"
        yield Problem("host_link.GBps", what, "give its rate")


def _host_rate(model: Gpu) -> float:
    if model.c2c:
        return c2c(model.c2c).bandwidth
    return xgmi(model.xgmi).host_GBps_dir or 0.0 if model.xgmi else 0.0


def _model(design: NodeDesign) -> Gpu | None:
    try:
        return gpu(design.gpu)
    except UnknownName:
        return None


_CHECKS: tuple[Callable[[NodeDesign], Problems], ...] = (
    _gpu_is_known,
    _gpus_hang_once,
    _nics_hang_once,
    _numa_nodes_exist,
    _sockets_are_equal,
    _sockets_are_joined,
    _bridges_have_one_home,
    _mesh_joins_gpus,
    _switches_are_complete,
    _trunks_are_complete,
    _gpus_have_the_links,
    _host_links_are_complete,
)

"""hwloc's XML (`lstopo topology.xml`): the PCI tree of a host with its GPUs, NICs and NVLinks.

The words are those of `nccl_xml`, so that the same machine follows from either:

| subject | attributes |
|---|---|
| `system` | library (nccl or rccl, by the GPUs' maker), hwloc, product |
| `cpu0` | numa, arch, vendor, family, model_id, model: one for each NUMA node |
| `pci 0000:1b:00.0` | parent (a bridge or `cpu0`), class, vendor, device, link_GBps (as printed), |
| | link_GTps and lanes (inferred: the widest slot with that rate) |
| `gpu0` | index, bus_id, model, memory_MiB |
| `nic0` | index, name, parent, dev, bus_id |
| `gpu0>pci …`, `gpu0>gpu1`, `gpu0>cpu0` | nvlink_MBps, target_class |

An idle device may show a lower rate than it has. NVSwitches print 1.0: no rate is stated of them.

Remarks: `no-gpu`, `not-closed`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wirespeed.evidence import Evidence
from wirespeed.evidence._types import Value
from wirespeed.readers._bus import address_of
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, whole
from wirespeed.readers._lstopo_objects import Distances, Object, Tree, parse

NAME = "lstopo"

_SIGN = re.compile(
    r"<object type=\"|<topology version=\"|<distances2|SYSTEM \"hwloc2?\.dtd\"", re.IGNORECASE
)
_TYPE = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\]", re.IGNORECASE)
_DEVICE = re.compile(r"(nvml|cuda|rsmi|ze)(\d{1,3})")
_PORT = re.compile(r"(?:mlx\d_|bnxt_re|hfi1_|irdma|efa_|rocep|ibp|rdmap|cxi|hsi)[\w.-]*")
_BACKENDS = ("nvml", "rsmi", "cuda", "ze")
_LANE_GBPS = {
    2.5: 0.25,
    5.0: 0.5,
    8.0: 8 / 8 * 128 / 130,
    16.0: 16 / 8 * 128 / 130,
    32.0: 32 / 8 * 128 / 130,
    64.0: 64 / 8 * 242 / 256,
}
"""Rate of a lane [GB/s] by its signalling [GT/s], as hwloc counts it. Source: hwloc, pci-common."""
_WIDTHS = (16, 8, 4, 2, 1)
_GPU_CLASSES = ("03", "12")
_VENDORS = ("10de", "1002")
_SWITCH_CLASS = "0x068000"
_SELF_MBPS = 1_000_000


@dataclass(slots=True)
class _Host:
    """What subjects the objects have, as they are found."""

    tree: Tree
    found: Gathered
    cpus: dict[int, str] = field(default_factory=dict)
    """By NUMA node."""
    subjects: dict[int, str] = field(default_factory=dict)
    """By id of the object."""


def sniff(text: str) -> float:
    """1 where an object of hwloc stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of a host; raises InputError where it has no processor and no device."""
    tree = parse(text, file)
    host = _Host(tree, Gathered(remarks=list(tree.remarks)))
    _read_cpus(host)
    gpus = _read_devices(host)
    ends = _ends(host)
    for matrix in tree.distances:
        if matrix.name == "NVLinkBandwidth":
            _read_links(matrix, ends, host.found)
    found = host.found
    if found.facts:
        amd = any(obj.get("pci_type")[5:].startswith("[1002:") for obj in gpus)
        found.add("system", "library", "rccl" if amd else "nccl", 0)
        found.add("system", "hwloc", tree.version or None, 0)
        product = next((obj.infos.get("DMIProductName") for obj in tree.objects[:1]), None)
        found.add("system", "product", product or None, 0)
        if not gpus:
            text_ = "no GPU is in this file: it describes processors (and NICs) only"
            found.note("no-gpu", text_)
    return found.evidence(
        NAME,
        file,
        nothing="no processor and no device can be read",
        remedy="write the file with `lstopo topology.xml` on the machine",
    )


def _read_cpus(host: _Host) -> None:
    arch = {"ppc64le": "ppc64", "aarch64": "arm64"}.get(
        host.tree.infos.get("Architecture", ""), host.tree.infos.get("Architecture", "")
    )
    for obj in host.tree.objects:
        numa = whole(obj.get("os_index"))
        if obj.type != "NUMANode" or numa is None or numa in host.cpus:
            continue
        package = _package_of(obj)
        infos = package.infos if package else {}
        # A node of memory alone (of a GPU, or CXL) has no CPU.
        if obj.get("cpuset") in ("0x0", "", "0x00000000") and host.cpus:
            continue
        cpu = host.cpus[numa] = f"cpu{len(host.cpus)}"
        host.found.add(cpu, "numa", numa, obj.line)
        line = package.line if package else obj.line
        architecture = arch or _arch_of(infos)
        for attribute, value in (
            ("arch", architecture),
            ("vendor", infos.get("CPUVendor")),
            ("family", whole(infos.get("CPUFamilyNumber", ""))),
            ("model_id", whole(infos.get("CPUModelNumber", ""))),
            ("model", infos.get("CPUModel")),
        ):
            host.found.add(cpu, attribute, value if value != "" else None, line)


def _arch_of(infos: dict[str, str]) -> str:
    if "POWER" in infos.get("CPUModel", ""):
        return "ppc64"
    if infos.get("CPUVendor") in ("GenuineIntel", "AuthenticAMD"):
        return "x86_64"
    return "arm64" if "CPUImplementer" in infos else ""


def _package_of(obj: Object) -> Object | None:
    above: Object | None = obj
    while above is not None and above.type != "Package":
        above = above.above
    return above


def _cpu_above(obj: Object, host: _Host) -> str:
    """The CPU that a host bridge hangs from, by the first NUMA node of what lies above."""
    above = obj.above
    while above is not None:
        mask = above.get("nodeset").split(",")
        bits = _mask(mask)
        if bits:
            lowest = (bits & -bits).bit_length() - 1
            if lowest in host.cpus:
                return host.cpus[lowest]
        above = above.above
    return next(iter(host.cpus.values()), "")


def _mask(groups: list[str]) -> int:
    """The bits of a set as hwloc writes it: groups of 32, the highest first."""
    bits = 0
    for group in groups[:64]:
        bits = bits << 32 | ((whole(group, 16) or 0) & 0xFFFFFFFF if group else 0)
    return bits


def _read_devices(host: _Host) -> list[Object]:
    """States the PCI tree, then names GPUs and NICs; the GPUs' objects."""
    devices: list[Object] = []
    for obj in host.tree.objects:
        if obj.type in ("Bridge", "PCIDev") and (address := address_of(obj.get("pci_busid"))):
            host.subjects[id(obj)] = f"pci {address}"
            _read_pci(obj, host)
            if obj.type == "PCIDev":
                devices.append(obj)
    gpus = [obj for obj in devices if _gpu_number(obj) is not None or _is_bare_gpu(obj)]
    gpus.sort(key=lambda obj: (_gpu_number(obj) is None, _gpu_number(obj) or 0, obj.line))
    for index, obj in enumerate(gpus):
        _read_gpu(f"gpu{index}", obj, host)
    ports = [
        (child, obj)
        for obj in devices
        for child in obj.children
        if child.type == "OSDev" and _PORT.fullmatch(child.get("name"))
    ]
    for index, (port, obj) in enumerate(ports):
        nic, place = f"nic{index}", host.subjects[id(obj)]
        for attribute, value in (
            ("index", index),
            ("dev", index),
            ("name", port.get("name")),
            ("parent", place),
            ("bus_id", place.removeprefix("pci ")),
        ):
            host.found.add(nic, attribute, value, port.line)
    return gpus


def _read_pci(obj: Object, host: _Host) -> None:
    subject, found = host.subjects[id(obj)], host.found
    above = obj.above
    parent = host.subjects.get(id(above)) if above is not None else None
    found.add(subject, "parent", parent or _cpu_above(obj, host) or None, obj.line)
    if ids := _TYPE.match(obj.get("pci_type")):
        is_switch = obj.get("subtype") == "NVSwitch"
        class_ = "0680" if is_switch else ids[1]
        found.add(subject, "class", f"0x{class_}00".lower(), obj.line, inferred=is_switch)
        found.add(subject, "vendor", f"0x{ids[2]}".lower(), obj.line)
        found.add(subject, "device", f"0x{ids[3]}".lower(), obj.line)
    try:
        rate = float(obj.get("pci_link_speed") or 0)
    except ValueError:
        return
    if not 0 < rate < 1e4 or obj.get("subtype") == "NVSwitch":
        return
    found.add(subject, "link_GBps", rate, obj.line)
    for width in _WIDTHS:
        for lane, GBps in _LANE_GBPS.items():
            if abs(width * GBps / rate - 1) < 0.005:
                found.add(subject, "link_GTps", lane, obj.line, inferred=True)
                found.add(subject, "lanes", width, obj.line, inferred=True)
                return


def _gpu_number(obj: Object) -> int | None:
    """The number that a driver gives a GPU, NVML's or ROCm's before CUDA's."""
    numbers = {
        match[1]: int(match[2])
        for child in obj.children
        if child.type == "OSDev" and (match := _DEVICE.fullmatch(child.get("name")))
    }
    return next((numbers[name] for name in _BACKENDS if name in numbers), None)


def _is_bare_gpu(obj: Object) -> bool:
    """Whether the PCI ids alone tell a GPU for computing, where hwloc was built without drivers."""
    ids = _TYPE.match(obj.get("pci_type"))
    return bool(ids and ids[1].startswith(_GPU_CLASSES) and ids[2].lower() in _VENDORS)


def _read_gpu(name: str, obj: Object, host: _Host) -> None:
    found, place = host.found, host.subjects[id(obj)]
    infos = {key: value for child in obj.children for key, value in child.infos.items()}
    memory = re.match(r"(\d{1,12})(?:KiB)?$", infos.get("CUDAGlobalMemorySize", ""))
    facts: tuple[tuple[str, Value | None], ...] = (
        ("index", int(name[3:])),
        ("bus_id", place.removeprefix("pci ")),
        ("model", infos.get("GPUModel")),
        ("memory_MiB", int(memory[1]) // 1024 if memory else None),
    )
    for attribute, value in facts:
        found.add(name, attribute, value, obj.line)
    host.subjects[id(obj)] = place
    for child in [obj, *obj.children]:
        host.subjects[-id(child)] = name


def _read_links(matrix: Distances, ends: dict[str, str], found: Gathered) -> None:
    """States the NVLinks of GPUs: to GPUs, to switches, to processors."""
    size = len(matrix.of)
    if len(matrix.values) < size * size:
        said = f"{size * size - len(matrix.values)} of {size * size} values are missing"
        found.note("matrix-cut", said, matrix.line)
    for at, value in enumerate(matrix.values[: size * size]):
        a, b = ends.get(matrix.of[at // size]), ends.get(matrix.of[at % size])
        if a is None or b is None or a == b or not 0 < value < _SELF_MBPS:
            continue
        if a.startswith("gpu"):
            line = matrix.line
            found.add(f"{a}>{b}", "nvlink_MBps", value, line)
            if b.startswith("pci "):
                found.add(f"{a}>{b}", "target_class", _SWITCH_CLASS, line, inferred=True)


def _ends(host: _Host) -> dict[str, str]:
    """Subjects by the type and index with which distances name objects."""
    ends: dict[str, str] = {}
    for obj in host.tree.objects:
        subject = host.subjects.get(-id(obj)) or host.subjects.get(id(obj))
        if subject is None and obj.type in ("Package", "NUMANode"):
            numa = _mask(obj.get("nodeset").split(","))
            subject = host.cpus.get((numa & -numa).bit_length() - 1)
        if subject:
            ends.setdefault(f"{obj.type}:{obj.get('gp_index')}", subject)
    return ends


FORMAT = Format(NAME, "the XML of hwloc's lstopo", sniff, read)

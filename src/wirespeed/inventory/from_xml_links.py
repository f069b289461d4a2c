"""GpuJoiner: NVLink, xGMI and C2C of a topology file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wirespeed.catalog import Gpu, c2c, hop_latency, nvlink, nvlink_of, xgmi
from wirespeed.inventory.from_xml_build import HostBuilder
from wirespeed.inventory.from_xml_facts import Link, Notes, whole
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.unit import UnitBuilder
from wirespeed.units import GB

_SWITCH_CLASS = "0x068000"
_CPU_CLASS = "0x068001"
_XGMI_OF_OLDER = 46 * GB
"""One link of MI50 to MI100, 16 lanes at 23 GT/s; source: AMD's sheets (92 GB/s both ways)."""
_XGMI_OTHERWISE = 64 * GB
"""As an MI300X; MI300A has the same links."""
_OLDER = ("MI50", "MI60", "MI100")
_BY_ARCHITECTURE = ((100, "5"), (90, "4"), (86, "nvlink3-ga102"), (80, "3"), (70, "2"), (60, "1"))


@dataclass(slots=True)
class GpuJoiner:
    """Joins the GPUs of one unit. NVSwitches belong to `node`, -1 for a rack's."""

    builder: UnitBuilder
    gpu_name: str
    gpu: Gpu | None
    node: int
    notices: Notes
    oddities: Notes
    bus_ids: dict[int, str] = field(default_factory=dict)
    _switches: dict[str, int] = field(default_factory=dict)
    _seen: dict[int, list[int]] = field(default_factory=dict)
    """The switches of each GPU."""
    _loads: dict[int, tuple[int, float]] = field(default_factory=dict)
    """Links and width [B/s] from GPUs into each switch."""

    def join(self, host: HostBuilder) -> None:
        """Adds all links of the GPUs of one host."""
        facts = host.host
        bus_of = {gpu: str(given.get("bus_id", "")) for gpu, given in facts.gpus.items()}
        both: dict[tuple[str, str], list[Link]] = {}
        for link in facts.links:
            bus = bus_of.get(link.gpu, "")
            if bus not in host.gpus:
                continue
            if link.target_class.startswith(_SWITCH_CLASS):
                self._to_switch(host.gpus[bus], link, self._rate(host, link))
            elif link.target_class.startswith(_CPU_CLASS):
                self._to_cpu(host, bus, link.count * self._rate(host, link), link.count)
            elif link.target == bus:
                text = f"{{}}: named as the other end of its own {link.count} links"
                self.notices.add("link-to-itself", text, bus)
            elif link.target not in host.gpus:
                text = f"{{}}: {link.count} links to {link.target}, which the file lacks"
                self.notices.add("link-to-nothing", text, bus)
            else:
                pair = (min(bus, link.target), max(bus, link.target))
                both.setdefault(pair, []).append(link)
        for pair, links in both.items():
            self._to_gpu(host, pair, links)
        self._add_c2c(host)

    def _to_switch(self, gpu: int, link: Link, rate: float) -> None:
        if link.target not in self._switches:
            switch = self.builder.add(ComponentKind.NVSWITCH, node=self.node, label=link.target)
            self._switches[link.target] = switch
            self.bus_ids[switch] = link.target
        # A way through a switch is a direct hop and a crossing, in two links.
        latency = (hop_latency("nvlink").latency + hop_latency("nvswitch").latency) / 2
        switch = self._switches[link.target]
        self._seen.setdefault(gpu, []).append(switch)
        lanes, width = self._loads.get(switch, (0, 0.0))
        self._loads[switch] = (lanes + link.count, width + link.count * rate)
        self.builder.connect(
            gpu,
            switch,
            LinkKind.NVLINK,
            bandwidth=link.count * rate,
            lanes=link.count,
            latency=latency,
        )

    def _to_gpu(self, host: HostBuilder, pair: tuple[str, str], links: Sequence[Link]) -> None:
        """One cable for a pair, by the smaller count where the two ends differ."""
        ends = dict.fromkeys(link.gpu for link in links)
        counts = [sum(link.count for link in links if link.gpu == end) for end in ends]
        if min(counts) != max(counts):
            text = f"the two ends of {{}} count {min(counts)} and {max(counts)} links"
            self.oddities.add("link-counts-differ", text, " to ".join(pair))
        kind = LinkKind.XGMI if links[0].kind == "xgmi" else LinkKind.NVLINK
        self.builder.connect(
            host.gpus[pair[0]],
            host.gpus[pair[1]],
            kind,
            bandwidth=min(counts) * self._rate(host, links[0]),
            lanes=min(counts),
            latency=hop_latency("nvlink").latency,
        )

    def _rate(self, host: HostBuilder, link: Link) -> float:
        """Rate of one link [B/s], one direction."""
        if link.kind == "xgmi":
            if self.gpu is not None and self.gpu.xgmi:
                return xgmi(self.gpu.xgmi).bandwidth or _XGMI_OTHERWISE
            return _XGMI_OF_OLDER if self.gpu_name in _OLDER else _XGMI_OTHERWISE
        if self.gpu is not None and (generation := nvlink_of(self.gpu)):
            return generation[0].bandwidth()
        sm = whole(host.host.gpus[link.gpu].get("sm"), 80)
        return nvlink(next((name for cc, name in _BY_ARCHITECTURE if sm >= cc), "1")).bandwidth()

    def _to_cpu(self, host: HostBuilder, bus: str, bandwidth: float, lanes: int) -> None:
        """A coherent link from a GPU to the CPU that it hangs from."""
        at = f"pci {bus}"
        while at.startswith("pci "):
            at = str(host.host.pcis.get(at[4:], {}).get("parent", ""))
        cpu = host.cpus.get(at, next(iter(host.cpus.values())))
        self.builder.connect(
            host.gpus[bus],
            cpu,
            LinkKind.C2C,
            bandwidth=bandwidth,
            lanes=lanes,
            latency=hop_latency("nvlink").latency,
        )

    def _add_c2c(self, host: HostBuilder) -> None:
        for given in host.host.gpus.values():
            bus, links = str(given.get("bus_id", "")), whole(given.get("c2c_links"))
            if bus not in host.gpus or links <= 0:
                continue
            width = links * whole(given.get("c2c_MBps")) * 1e6
            if not width and self.gpu is not None and self.gpu.c2c:
                width = c2c(self.gpu.c2c).bandwidth
            if width:
                self._to_cpu(host, bus, width, links)

    def join_switches(self) -> None:
        """Joins groups of switches that share no GPU: to NCCL, all switches are one.

        Switch k of a group has trunks to switch k of the others, as wide as its GPUs' links: right
        for the two boards of a DGX-2, an assumption elsewhere.
        """
        groups = self._groups()
        if len(groups) < 2:
            return
        text = "NVSwitches come in {} groups; trunks as wide as the GPUs' links are assumed"
        self.notices.add("trunk-assumed", text.replace("{}", str(len(groups))))
        for k in range(max(map(len, groups))):
            alike = [group[k] for group in groups if k < len(group)]
            if len(alike) > 2:
                upper = self.builder.add(ComponentKind.NVSWITCH, node=self.node)
                for switch in alike:
                    self._trunk(switch, upper)
            elif len(alike) == 2:
                self._trunk(*alike)

    def _trunk(self, switch: int, other: int) -> None:
        lanes, width = self._loads[switch]
        latency = hop_latency("nvswitch").latency
        self.builder.connect(
            switch, other, LinkKind.NVLINK, bandwidth=width, lanes=lanes, latency=latency
        )

    def _groups(self) -> list[list[int]]:
        """Switches that GPUs join, in order of their names."""
        group = {switch: {switch} for switch in self._switches.values()}
        for switches in self._seen.values():
            merged = set().union(*(group[switch] for switch in switches))
            for switch in merged:
                group[switch] = merged
        return [list(members) for members in sorted({tuple(sorted(g)) for g in group.values()})]

"""The commands that describe a host, none of which changes anything on it."""

from __future__ import annotations

from dataclasses import dataclass

_PROPERTIES = (
    *("index", "name", "pci.bus_id", "pcie.link.gen.max"),
    *("pcie.link.width.current", "pcie.link.width.max"),
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command, the file that its output is saved under, and what it tells."""

    words: tuple[str, ...]
    file: str
    tells: str

    @property
    def line(self) -> str:
        """As a person would type it."""
        return " ".join(self.words)


COMMANDS = (
    Command(("nvidia-smi", "topo", "-m"), "topo-m.txt", "ways between GPUs and NICs"),
    Command(("nvidia-smi", "topo", "-p2p", "r"), "topo-p2p-r.txt", "which GPUs read each other"),
    Command(
        ("nvidia-smi", f"--query-gpu={','.join(_PROPERTIES)}", "--format=csv"),
        "query-gpu.csv",
        "GPU models and PCIe links",
    ),
    Command(("nvidia-smi", "nvlink", "-s"), "nvlink-s.txt", "which NVLinks are up"),
    Command(("nvidia-smi", "nvlink", "-e"), "nvlink-e.txt", "errors on NVLinks"),
    Command(("rocm-smi", "--showtopo"), "rocm-topo.txt", "ways between AMD GPUs"),
    Command(("lspci", "-vv"), "lspci-vv.txt", "PCIe speeds, widths and ACS"),
    Command(("lspci", "-tv"), "lspci-tv.txt", "the PCIe tree"),
    Command(("ibstat",), "ibstat.txt", "state and rate of RDMA ports"),
    Command(("ibdev2netdev",), "ibdev2netdev.txt", "names of RDMA ports"),
    Command(("dmesg",), "dmesg.txt", "what the kernel says of links"),
)

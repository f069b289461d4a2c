"""Networks that one cloud or vendor builds: AWS EFA, Google's GPU networks, HPE Slingshot."""

from __future__ import annotations

from functools import cache

import msgspec

from wirespeed.catalog._table import Row, find, read


class EfaInstance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """EFA adapters of one instance type; rates in one direction."""

    name: str
    nics: int | None = None
    nic_rate_Gbps: float | None = None
    rate_Gbps: float


class EfaGeneration(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generation of EFA: it follows the Nitro card, not the GPU and not the speed."""

    instances: tuple[EfaInstance, ...]


class GcpNetwork(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How GPUs of one Google machine type reach other machines; rates in one direction."""

    technology: str
    gpu_nics: int
    nic_rate_Gbps: float
    rate_Gbps: float
    """What GPU traffic gets."""
    headline_rate_Gbps: float
    """What is advertised: the front-end NICs count too."""
    measured_allgather_busbw_GBps: float | None = None


class Slingshot(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """HPE Slingshot; one port, one direction."""

    rate_Gbps: float
    bandwidth_GBps_dir: float | None = None
    switch_ports: int | None = None
    hop_latency_ns: float | None = None
    max_hops: int | None = None
    """Switches on the longest minimal route of the usual dragonfly."""


@cache
def efa_generations() -> tuple[EfaGeneration, ...]:
    """All generations of EFA."""
    return read("efa.toml", "efa", EfaGeneration)


def efa(name: str) -> EfaGeneration:
    """A generation of EFA by key ("efa-v2") or by an instance type that has it."""
    return find("EFA generation or instance type", name, efa_generations())


@cache
def gcp_networks() -> tuple[GcpNetwork, ...]:
    """All GPU networks of Google Cloud."""
    return read("gcp.toml", "gcp", GcpNetwork)


def gcp_network(machine: str) -> GcpNetwork:
    """The GPU network of a Google machine type, such as "a3-megagpu-8g"."""
    return find("Google machine type", machine, gcp_networks())


@cache
def slingshots() -> tuple[Slingshot, ...]:
    """All rows about Slingshot."""
    return read("slingshot.toml", "slingshot", Slingshot)


def slingshot(name: str = "slingshot-11") -> Slingshot:
    """Slingshot by key."""
    return find("Slingshot generation", name, slingshots())

"""Write the sums on the pages about how numbers are made, with today's parameters.

python tools/generate_worked_examples.py [--check]

A page holds them between `<!-- sum NAME -->` and `<!-- end -->`. Each is worked out here by hand,
from the machine's data and the parameters alone: tests hold it against what the package forecasts.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import step_example
from worked import GB, MS, US, Line, Worked

from wirespeed import cluster
from wirespeed.catalog import parameters
from wirespeed.collectives.candidates import laid_schedules
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.costs import Costs, Medium, Term, cost_class, costs_of
from wirespeed.collectives.laid import Laid
from wirespeed.collectives.library.names import Algorithm
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.topology.cluster import everyone
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.router import Way

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ("how-a-bandwidth-is-made.md", "how-a-time-is-made.md", "how-a-step-is-made.md")
BLOCK = re.compile(r"(?<=<!-- sum )([\w-]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)

MACHINE = "dgx-h100"
LARGE, SMALL = 16 * 2**30, 8
GPUS = 8
"""Of a node."""


class Priced(NamedTuple):
    """A pipeline's price as a sum, and what comes out [s]."""

    text: str
    time: float


@dataclass(frozen=True)
class Machine:
    """So many nodes: wire rates [B/s] in one direction, latencies [s] and what parameters say.

    Attributes:
        lanes, nvlink: NVLinks of a GPU, and all of them together.
        slot, nic: a GPU's PCIe slot, a NIC's port.
        near, far: wires and switches of a step within a node, and from node to node.
    """

    nodes: int
    ranks: int
    lanes: int
    nvlink: float
    slot: float
    nic: float
    near: float
    far: float
    costs: Costs

    def share(self, term: Term, protocol: Protocol = Protocol.SIMPLE) -> float:
        """The share of a kind of wire that payload gets."""
        return float(1 / self.costs.factor[protocol][term])

    def price(self, fill: float, moving: float) -> Priced:
        """What a pipeline costs that takes `fill` to hand on and `moving` on the wire [s]."""
        e = self.costs.exponent
        text = f"2 x ({us(fill)})^{1 - e:.4g} x ({moving / US:,.0f} us)^{e:.4g}"
        return Priced(text, 2 * fill ** (1 - e) * moving**e)

    def step(self, medium: Medium, protocol: Protocol) -> float:
        """What a step waits [s], besides the wires' latency."""
        return float(self.costs.step[protocol][medium])

    @property
    def crossing(self) -> float:
        """Steps from node to node that a piece of data meets on its way round a ring twice."""
        return 2 * (self.ranks - 1) * self.nodes / self.ranks if self.nodes > 1 else 0.0

    @property
    def staying(self) -> float:
        """The other steps."""
        return 2 * (self.ranks - 1) - self.crossing


def machine(nodes: int) -> Machine:
    """So many DGX H100."""
    on = cluster(MACHINE, nodes=nodes)
    topology, group, router = on.topology, everyone(on), on.router
    out = topology.source == group.gpus[0]
    nvlinks = out & (topology.link_kind == LinkKind.NVLINK)
    slot = out & (topology.link_kind == LinkKind.PCIE)
    ring = laid(nodes, Algorithm.RING)
    near = float(router.inside_latency(group.gpus[:1], group.gpus[1:2], Way.DIRECT)[0])
    far = ring.links - near * float(ring.steps[Medium.NVLINK])
    return Machine(
        nodes=nodes,
        ranks=len(group),
        lanes=int(topology.lanes[nvlinks].sum()),
        nvlink=float(topology.bandwidth[nvlinks].sum()),
        slot=float(topology.bandwidth[slot].sum()),
        nic=float(topology.rate[topology.of_kind(ComponentKind.NIC)[0]]),
        near=near,
        far=far / float(ring.steps[Medium.NETWORK]) if nodes > 1 else 0.0,
        costs=costs_of(cost_class(on, "process"), parameters()),
    )


def laid(nodes: int, algorithm: Algorithm) -> Laid:
    """An all_reduce on all GPUs, as the package lays it on resources."""
    on = cluster(MACHINE, nodes=nodes)
    collective = Collective(Operation.ALL_REDUCE)
    most = {algorithm: 64}
    return laid_schedules(collective, Carrier(on, everyone(on)), most)[algorithm]


def ring_on_one_node() -> Worked:
    """A large all_reduce by a ring of 8 GPUs."""
    on, size = machine(1), LARGE
    share, step = on.share(Term.NVLINK), on.step(Medium.NVLINK, Protocol.SIMPLE)
    sent = 2 * (on.ranks - 1) / on.ranks * size
    wire = sent / on.nvlink
    links = wire / share
    local = size / on.ranks * on.costs.local
    fill = float(on.costs.fill[Medium.NVLINK])
    pipeline = on.price(on.staying * fill, links)
    call = on.costs.call[Protocol.SIMPLE]
    waiting = call + on.staying * (step + on.near)
    time = links + local + pipeline.time + waiting
    lines = (
        Line("S", "16 GiB", f"{size:,} B"),
        Line("a GPU sends", f"2 ({on.ranks} - 1) / {on.ranks} x S", f"{sent:,.0f} B"),
        Line(f"on {on.lanes} NVLinks", f"{sent:,.0f} B / {rate(on.nvlink)}", ms(wire)),
        Line("", f"/ {share:g}, the share of them that payload gets", ms(links)),
        Line("last step", f"S / {on.ranks} / {rate(1 / on.costs.local)}", ms(local)),
        Line("fill", f"{on.staying:g} x {us(fill)}", us(on.staying * fill)),
        Line("pipeline", pipeline.text, ms(pipeline.time)),
        Line("waiting", f"{us(call)} + {on.staying:g} x ({us(step)} + {us(on.near)})", ms(waiting)),
        Line("time", total(links, local, pipeline.time, waiting), ms(time)),
        *speeds(size, time, on.ranks),
    )
    return Worked(lines, time)


def ring_beyond(nodes: int) -> Worked:
    """A large all_reduce by 8 rings, one a NIC, over several nodes."""
    on, size, simple = machine(nodes), LARGE, Protocol.SIMPLE
    sent = 2 * (on.ranks - 1) / on.ranks * size
    each = sent / GPUS
    cable = each / on.nic / on.share(Term.NETWORK)
    slot = each / on.slot / on.share(Term.NIC)
    nvlink = sent * (GPUS - 1) / GPUS / on.nvlink / on.share(Term.NVLINK)
    moving = max(cable, slot, nvlink)
    local = size / on.ranks * on.costs.local
    near, far = (float(on.costs.fill[m]) for m in (Medium.NVLINK, Medium.NETWORK))
    fill = on.staying * near + on.crossing * far
    pipeline = on.price(fill, moving)
    call = on.costs.call[simple]
    inside = on.step(Medium.NVLINK, simple) + on.near
    across = on.step(Medium.NETWORK, simple) + on.far
    waiting = call + on.staying * inside + on.crossing * across
    time = moving + local + pipeline.time + waiting
    n = on.ranks
    lines = (
        Line("S", "16 GiB", f"{size:,} B"),
        Line("a ring sends", f"2 ({n} - 1) / {n} x S / {GPUS}", f"{each:,.0f} B"),
        Line("on its cable", f"/ {rate(on.nic)} / {on.share(Term.NETWORK):g}", ms(cable)),
        Line("GPU to NIC", f"/ {rate(on.slot)} / {on.share(Term.NIC):g}", ms(slot)),
        Line(
            f"on {on.lanes} NVLinks",
            f"x {GPUS - 1} rings / {rate(on.nvlink)} / {on.share(Term.NVLINK):g}",
            ms(nvlink),
        ),
        Line("the slowest", "sets the pace", ms(moving)),
        Line("last step", f"S / {n} / {rate(1 / on.costs.local)}", ms(local)),
        Line("steps", f"2 ({n} - 1) x {nodes} / {n} from node to node", f"{on.crossing:g}"),
        Line("", f"2 ({n} - 1) less those, within a node", f"{on.staying:g}"),
        Line("fill", f"{on.staying:g} x {us(near)} + {on.crossing:g} x {us(far)}", us(fill)),
        Line("pipeline", pipeline.text, ms(pipeline.time)),
        Line(
            "waiting",
            f"{us(call)} + {on.staying:g} x {us(inside)} + {on.crossing:g} x {us(across)}",
            ms(waiting),
        ),
        Line("time", total(moving, local, pipeline.time, waiting), ms(time)),
        *speeds(size, time, n),
    )
    return Worked(lines, time)


def nvls_on_one_node() -> Worked:
    """A large all_reduce by NVSwitches that add up."""
    on, size = machine(1), LARGE
    share = on.share(Term.NVLS)
    sent = (1 + 1 / on.ranks) * size
    moving = sent / on.nvlink / share
    fill = on.costs.nvls_fill
    pipeline = on.price(fill, moving)
    call, step = on.costs.call[Protocol.SIMPLE], on.costs.nvls_step
    time = moving + pipeline.time + call + step
    lines = (
        Line("a GPU sends", f"(1 + 1 / {on.ranks}) x S", f"{sent:,.0f} B"),
        Line(f"on {on.lanes} NVLinks", f"/ {rate(on.nvlink)} / {share:g}", ms(moving)),
        Line("pipeline", pipeline.text, ms(pipeline.time)),
        Line("waiting", f"{us(call)} + {us(step)}", ms(call + step)),
        Line("time", total(moving, pipeline.time, call + step), ms(time)),
        *speeds(size, time, on.ranks),
    )
    return Worked(lines, time)


def small_ring() -> Worked:
    """The smallest all_reduce by a ring of 8 GPUs under LL."""
    on, size = machine(1), SMALL
    call, step = on.costs.call[Protocol.LL], on.step(Medium.NVLINK, Protocol.LL)
    sent = 2 * (on.ranks - 1) / on.ranks * size
    wire = sent / on.nvlink / on.share(Term.NVLINK, Protocol.LL)
    local = size / on.ranks * on.costs.local
    steps = on.staying * (step + on.near)
    time = call + steps + wire + local
    lines = (
        Line("the call", "GPU generation, launch mode and protocol", us(call)),
        Line("a step", f"{us(step)} + {us(on.near)} of wires and switches", us(step + on.near)),
        Line("steps", f"2 ({on.ranks} - 1) x {us(step + on.near)}", us(steps)),
        Line(
            "the bytes", f"{sent:g} B on NVLink, and the last step", f"{(wire + local) / US:.4f} us"
        ),
        Line("time", "call, steps, bytes", us(time)),
    )
    return Worked(lines, time)


def speeds(size: int, time: float, ranks: int) -> tuple[Line, Line]:
    """What nccl-tests would print of a time."""
    algbw = size / time / GB
    busbw = algbw * 2 * (ranks - 1) / ranks
    return (
        Line("algbw", f"S / {ms(time)}", f"{algbw:.1f} GB/s"),
        Line("busbw", f"x 2 ({ranks} - 1) / {ranks}", f"{busbw:.1f} GB/s"),
    )


def total(*parts: float) -> str:
    """Times in ms, added up."""
    return " + ".join(f"{part / MS:.3f}" for part in parts)


def rate(value: float) -> str:
    """A rate in GB/s."""
    return f"{value / GB:.4g} GB/s"


def ms(time: float) -> str:
    """A time in ms."""
    return f"{time / MS:.3f} ms"


def us(time: float) -> str:
    """A time in us."""
    return f"{time / US:.4g} us"


def sheet(worked: Worked) -> str:
    """A sum as a block of text: what, how, result."""
    lines = worked.lines
    first, second, third = (max(map(len, column)) for column in zip(*lines, strict=True))
    text = "\n".join(
        f"{line.what:{first}}  {line.sum:{second}}  {line.result:>{third}}" for line in lines
    )
    return f"```text\n{text}\n```\n"


SUMS: dict[str, Callable[[], Worked]] = {
    "ring-1": ring_on_one_node,
    "ring-2": lambda: ring_beyond(2),
    "ring-16": lambda: ring_beyond(16),
    "nvls-1": nvls_on_one_node,
    "small-ring": small_ring,
    **step_example.SUMS,
}


def parameter_table() -> str:
    """All parameters with what they were taken from."""
    lines = ["| parameter | value | unit | how sure | source |", "|---|---:|---|---|---|"]
    for key, entry in parameters().table.items():
        cells = [f"`{key}`", f"{entry.value:g}", entry.unit, entry.confidence, entry.source]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "parameters": parameter_table,
    "hash": lambda: f"Parameters `{parameters().digest}`.\n",
    **step_example.TABLES,
}


def made(name: str) -> str:
    """The text of a block; KeyError for a name that nothing makes."""
    return sheet(SUMS[name]()) if name in SUMS else TABLES[name]()


def refreshed(page: str) -> str:
    """A page with today's sums."""
    return BLOCK.sub(lambda block: f"{block[1]}{block[2]}{made(block[1])}", page)


def main(words: Sequence[str]) -> int:
    """Exit status: 1 when with --check a page is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(words).check
    status = 0
    for name in PAGES:
        page = DOCS / name
        text = page.read_text(encoding="utf-8")
        today = refreshed(text)
        if today == text:
            continue
        if check:
            print(f"docs/{name}: a sum is out of date; run tools/generate_worked_examples.py")
            status = 1
        else:
            page.write_text(today, encoding="utf-8")
            print(f"docs/{name}: rewritten")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

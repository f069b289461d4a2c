"""oddities_of: what looks wrong on the machine itself, one rule a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations

from wirespeed.inventory.completed import Completed
from wirespeed.topology.kinds import SmiWord
from wirespeed.topology.software import Notice

Rule = Callable[[Completed], Iterable[Notice]]


def oddities_of(completed: Completed) -> Iterable[Notice]:
    """One notice for each thing that a person should look at on the machine."""
    for rule in RULES:
        yield from rule(completed)


def asymmetric(completed: Completed) -> Iterable[Notice]:
    """The two directions of a pair bear different words."""
    for (a, b), (there, back) in completed.facts.differing.items():
        text = f"{a} to {b} is {there}, but {b} to {a} is {back}; the poorer of both is used"
        yield Notice("asymmetric", text, f"{a}-{b}")


def nvlink_lost(completed: Completed) -> Iterable[Notice]:
    """A GPU without any link, or a pair with fewer or none, where the others have theirs."""
    facts = completed.facts
    rows = {gpu: facts.links_of(gpu) for gpu in facts.gpus}
    alone = [gpu for gpu in facts.gpus if rows[gpu] == 0 and _should_have(completed, gpu)]
    if not facts.links and alone:
        text = (
            f"no GPU shows an NVLink, and {completed.match.design.name} has them between its GPUs; "
            f"{_check(alone[0])}"
        )
        yield Notice("nvlink-lost", text, ", ".join(alone))
        return
    whole = max(Counter(facts.links.values()).items(), key=_usual, default=(0, 0))[0]
    for gpu in alone:
        seen = sorted({facts.distance[gpu, b] for b in facts.gpus if (gpu, b) in facts.distance})
        words = "/".join(word.name for word in seen)
        text = (
            f"{gpu} has lost its NVLinks: it shows {words} to every GPU while the others show "
            f"{facts.vendor_word}{whole}; {_check(gpu)}"
        )
        yield Notice("nvlink-lost", text, gpu)
    yield from _short_pairs(completed, alone)


def _usual(item: tuple[int, int]) -> tuple[int, int]:
    """Order of (links, how often they are shown): the most frequent, then the most."""
    return item[1], item[0]


def _should_have(completed: Completed, gpu: str) -> bool:
    """Whether the GPU's row is there, and a machine of this kind links it."""
    facts, words = completed.facts, completed.match.words
    here = facts.gpus.index(gpu)
    shown = any((gpu, other) in facts.distance for other in facts.gpus)
    linked = any(words.links(here, there) for there in range(len(facts.gpus)) if there != here)
    return shown and (linked or not completed.match.same_links)


def _short_pairs(completed: Completed, alone: list[str]) -> Iterable[Notice]:
    """Pairs with fewer links than the preset has there, by the GPUs that have most of them."""
    facts, words = completed.facts, completed.match.words
    if not completed.match.same_links:
        return
    short: dict[tuple[str, str], tuple[int, int]] = {}
    for (i, a), (j, b) in combinations(enumerate(facts.gpus), 2):
        here, there = facts.links.get((a, b), 0), words.links(i, j)
        known = (a, b) in facts.links or (a, b) in facts.distance
        if known and here < there and a not in alone and b not in alone:
            short[a, b] = here, there
    while short:
        tally = Counter(gpu for pair in short for gpu in pair)
        gpu, count = tally.most_common(1)[0]
        pairs = [pair for pair in short if gpu in pair]
        here, there = short[pairs[0]]
        what = f"{facts.vendor_word}{here}" if here else "no NVLink"
        others = ", ".join(b if a == gpu else a for a, b in pairs)
        where = gpu if count > 1 else "-".join(pairs[0])
        text = f"{gpu} has {what} to {others} where {facts.vendor_word}{there} is expected"
        advice = _check(gpu) if count > 1 or len(facts.gpus) > 2 else _bridge(gpu)
        yield Notice("nvlink-short", f"{text}; {advice}", where)
        for pair in pairs:
            del short[pair]


def _check(gpu: str) -> str:
    return (
        f"check `nvidia-smi nvlink -s -i {gpu[3:]}`, the fabric manager's log and the Fabric state "
        "in `nvidia-smi -q`"
    )


def _bridge(gpu: str) -> str:
    return f"a bridge may sit badly: reseat it and check `nvidia-smi nvlink -s -i {gpu[3:]}`"


def gpu_isolated(completed: Completed) -> Iterable[Notice]:
    """One GPU far from all others, which are near to each other, without NVLink."""
    facts = completed.facts
    if len(facts.gpus) < 3 or any(facts.links):
        return
    for gpu in facts.gpus:
        others = [other for other in facts.gpus if other != gpu]
        far = all(facts.distance.get((gpu, b)) == SmiWord.SYS for b in others)
        pairs = combinations(others, 2)
        near = all(facts.distance.get(pair, SmiWord.SYS) < SmiWord.SYS for pair in pairs)
        if far and near:
            text = (
                f"{gpu} is SYS to every other GPU, which are nearer to each other: leave it out of "
                "tensor-parallel groups"
            )
            yield Notice("gpu-isolated", text, gpu)


def nic_far(completed: Completed) -> Iterable[Notice]:
    """GPUs that reach every NIC across NUMA nodes, though there are NICs enough for all nodes."""
    far = far_from_nics(completed)
    homes = {completed.homes.cpu[gpu] for gpu in completed.facts.gpus}
    if far and len(completed.roles.compute) >= len(homes):
        verb = "reaches" if len(far) == 1 else "reach"
        text = (
            f"{', '.join(far)} {verb} every NIC across NUMA nodes (SYS) while other GPUs have one "
            "on their own: a NIC sits at the wrong socket"
        )
        yield Notice("nic-far", text, ", ".join(far))


def far_from_nics(completed: Completed) -> list[str]:
    """GPUs that are SYS to every compute NIC where others are not; none beside coherent CPUs."""
    facts, compute = completed.facts, completed.roles.compute
    if completed.design.host_link.kind != "none" or not compute:
        return []
    nearest = {
        gpu: min(completed.classes.word(gpu, nic) for nic in compute)
        for gpu in facts.gpus
        if facts.nic_words(gpu)
    }
    far = [gpu for gpu, word in nearest.items() if word == SmiWord.SYS]
    return far if len(far) < len(nearest) else []


def nic_idle(completed: Completed) -> Iterable[Notice]:
    """NICs that are nearest to no GPU while GPUs share others."""
    facts, compute = completed.facts, completed.roles.compute
    if completed.roles.basis == "preset" or completed.design.host_link.kind != "none":
        return
    used: Counter[str] = Counter()
    for gpu in facts.gpus:
        words = {nic: completed.classes.word(gpu, nic) for nic in compute}
        least = min(words.values(), default=SmiWord.SYS)
        used.update(nic for nic, word in words.items() if word == least)
    idle = [nic for nic in facts.nics if nic in compute and not used[nic]]
    if idle and max(used.values(), default=0) > 1:
        text = (
            f"{', '.join(idle)} {'is' if len(idle) == 1 else 'are'} nearest to no GPU while "
            "several GPUs share another NIC"
        )
        yield Notice("nic-idle", text, ", ".join(idle))


def pcie_narrow(completed: Completed) -> Iterable[Notice]:
    """A GPU on fewer lanes than it could have; power saving lowers the rate, not the width."""
    merged = completed.facts.merged
    for gpu in completed.facts.gpus:
        now, most = merged.number(gpu, "pcie_width_current"), merged.number(gpu, "pcie_width_max")
        if now and most and now < most:
            text = f"{gpu} runs on {now} of {most} PCIe lanes: reseat it, or look for a narrow slot"
            yield Notice("pcie-narrow", text, gpu)


def p2p_differs(completed: Completed) -> Iterable[Notice]:
    """Some pairs may use peer-to-peer and others not."""
    words = {
        subject: str(statement.value)
        for attribute in ("p2p_read", "p2p_write", "p2p_status")
        for subject, statement in completed.facts.merged.of_attribute(attribute)
    }
    refused = sorted(pair for pair, word in words.items() if word != "OK")
    if refused and len(refused) < len(words):
        text = (
            f"the driver refuses peer-to-peer to some pairs only: {refused[0]} is "
            f"{words[refused[0]]}; {len(refused)} of {len(words)} are refused"
        )
        yield Notice("p2p-differs", text, refused[0])


RULES: tuple[Rule, ...] = (
    asymmetric,
    nvlink_lost,
    gpu_isolated,
    nic_far,
    nic_idle,
    pcie_narrow,
    p2p_differs,
)

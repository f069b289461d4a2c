"""near_by_peers: the NIC beside a GPU whose row is cut, told by how the other GPUs have theirs."""

from __future__ import annotations

from collections import Counter

from wirespeed.inventory.design_words import DesignWords
from wirespeed.inventory.node_facts import NodeFacts, Pair
from wirespeed.topology.kinds import SmiWord


def near_by_peers(facts: NodeFacts, words: DesignWords) -> dict[Pair, SmiWord]:
    """Words for GPUs without a near NIC in what is left of the text; empty where nobody can tell.

    Only where every other GPU has as many NICs to itself: a GPU then gets the first that nobody
    has and that lies on its NUMA node.
    """
    near = {gpu: _near(facts, gpu) for gpu in facts.gpus}
    counts = {len(nics) for nics in near.values() if nics}
    owners = Counter(nic for nics in near.values() for nic in nics)
    if len(counts) != 1 or max(owners.values()) > 1:
        return {}
    share = counts.pop()
    word = Counter(w for nics in near.values() for w in nics.values()).most_common(1)[0][0]
    free = [nic for nic in facts.nics if nic not in owners]
    found: dict[Pair, SmiWord] = {}
    for gpu in facts.gpus:
        if near[gpu]:
            continue
        chosen = [nic for nic in free if _may_be_near(facts, words, gpu, nic)][:share]
        found |= {(gpu, nic): word for nic in chosen}
        free = [nic for nic in free if nic not in chosen]
    return found


def _near(facts: NodeFacts, gpu: str) -> dict[str, SmiWord]:
    return {nic: word for nic, word in facts.nic_words(gpu).items() if word <= SmiWord.PXB}


def _may_be_near(facts: NodeFacts, words: DesignWords, gpu: str, nic: str) -> bool:
    """Whether the pair's word is lost, and the GPUs of the same NUMA node reach the NIC in it."""
    peers = [facts.distance.get((peer, nic)) for peer in _peers(facts, words, gpu)]
    return (gpu, nic) not in facts.distance and SmiWord.SYS not in peers


def _peers(facts: NodeFacts, words: DesignWords, gpu: str) -> list[str]:
    """GPUs on the NUMA node of one; the preset says which, where its row is cut before that."""
    if gpu in facts.numa:
        return [peer for peer in facts.gpus if facts.numa_of(peer) == facts.numa[gpu]]
    home = words.numa(f"gpu{facts.gpus.index(gpu)}")
    return [peer for at, peer in enumerate(facts.gpus) if words.numa(f"gpu{at}") == home]

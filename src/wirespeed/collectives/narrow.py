"""What goes through one channel: a rank moves its bytes by a few blocks of threads.

Each block serves one channel and is only so fast, whatever the links could carry. Rings and trees
spread a rank's bytes evenly over all channels. A message that goes straight has a few of them to
itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.costs import Term
from wirespeed.collectives.library.p2p_channels import P2pChannels
from wirespeed.collectives.schedule import Schedule

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def through_channels(schedule: Schedule, domain: Ids, channels: P2pChannels) -> Floats:
    """[rows, terms] bytes through a channel for each byte of the collective, the most of any.

    `domain` [ranks] tells which ranks reach each other without the network.
    """
    rows = np.zeros((2, len(Term)))
    if schedule.algorithm == "Direct":
        near, far = _straight(schedule, domain, channels)
        rows[0, Term.CHANNEL], rows[1, Term.NET_CHANNEL] = near, far
    else:
        rows[0, Term.CHANNEL] = _most_sent(schedule, len(domain)) / channels.total
    kept: Floats = rows[rows.any(axis=1)]
    return kept


def _most_sent(schedule: Schedule, ranks: int) -> float:
    """What the busiest rank sends, to others and to switches that add up."""
    sent = np.zeros(ranks)
    for phase in schedule.phases:
        one, spokes = phase.transfers, phase.spokes
        sent += phase.repeat * np.bincount(one.source, one.share, minlength=ranks)
        if spokes is not None:
            inside = spokes.nic < 0
            sent += np.bincount(spokes.rank[inside], spokes.out[inside], minlength=ranks)
    return float(sent.max())


def _straight(schedule: Schedule, domain: Ids, channels: P2pChannels) -> tuple[float, float]:
    """The most through a channel within a domain and across the network."""
    most = [0.0, 0.0]
    ranks = len(domain)
    for phase in schedule.phases:
        one = phase.transfers
        away = domain[one.source] != domain[one.target]
        for far in (0, 1):
            share, source = one.share[away == far], one.source[away == far]
            if len(share):
                total = np.bincount(source, share, minlength=ranks).max() / channels.total
                most[far] = max(most[far], float(share.max()) / channels.per_peer, float(total))
        if phase.block is not None:
            together = np.bincount(np.unique(domain, return_inverse=True)[1].reshape(-1))
            peers = (int(together.max()) - 1, ranks - int(together.min()))
            for far, count in enumerate(peers):
                if count:
                    per_rank = phase.block.share * count / channels.total
                    alone = phase.block.share / channels.per_peer
                    most[far] = max(most[far], per_rank, alone)
    return most[0], most[1]

"""upload: a micro-batch on its way from host memory to the GPUs.

All GPUs of a node fetch at once, so that what they share on the way (a PCIe switch's uplink, the
memory) is shared. A loader fetches the next micro-batch while the GPU works on this one.
"""

from __future__ import annotations

import numpy as np

from wirespeed.topology.cluster import Cluster, everyone
from wirespeed.topology.kinds import LinkKind
from wirespeed.topology.ways import Way
from wirespeed.training.layout import Job


def upload_seconds(job: Job, cluster: Cluster) -> float:
    """[s] of a micro-batch of images on its way up, all GPUs of a node at once; 0 for tokens.

    Pixels go in 8 bit and are normalised and widened on the GPU. A sequence of tokens and labels
    is 16 B a token, a hundred-thousandth of what it computes for.
    """
    if job.model.item == "token":
        return 0.0
    return (job.layout.micro_batch or 1) * job.model.pixels * seconds_a_byte(cluster)


def seconds_a_byte(cluster: Cluster) -> float:
    """[s/B] that the slowest GPU of the first node waits for what all fetch at once."""
    topology, router = cluster.topology, cluster.router
    gpus = everyone(cluster).gpus
    mine = gpus[topology.node[gpus] == topology.node[gpus[0]]].tolist()
    paths = router.inside([router.memory_of(gpu) for gpu in mine], mine, Way.UPLOAD)
    is_link = paths.resource < topology.links
    kind = np.where(is_link, topology.link_kind[np.where(is_link, paths.resource, 0)], -1)
    overhead = 1 / cluster.parameters.number("transport.pcie.copy_share")
    wire = paths.share * np.where(kind == LinkKind.PCIE, overhead, 1.0)
    loads = np.bincount(paths.resource, wire, minlength=topology.resources)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(loads > 0, loads / topology.capacity, 0.0).max())

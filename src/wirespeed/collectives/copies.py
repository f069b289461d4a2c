"""Copies: from GPU to GPU, from host to GPU and back, by the copy engines."""

from __future__ import annotations

import numpy as np

from wirespeed.collectives.carry import copy_carrier
from wirespeed.collectives.operation import Collective
from wirespeed.topology.cluster import Cluster, Group


def copy_candidate(collective: Collective, cluster: Cluster, group: Group):
    raise NotImplementedError

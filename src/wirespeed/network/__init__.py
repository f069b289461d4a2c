"""What transfers do to the resources that they share: three exact levels on plain arrays.

`bottleneck_time` for equal transfers that start together, `fair_rates` for a moment, `simulate` for
everything else. `least_cuts` says what nothing can beat. `product_loads` counts blocks; `partition`
and `quotient` use symmetry.
"""

from wirespeed.network._arcs import Arcs, simplify
from wirespeed.network._blocks import Side, product_loads
from wirespeed.network._bottleneck import (
    Bottleneck,
    bottleneck_of,
    bottleneck_time,
    utilisation,
)
from wirespeed.network._cuts import CutTable, least_cuts
from wirespeed.network._fair import fair_rates
from wirespeed.network._partition import Partition, is_equitable, partition, quotient
from wirespeed.network._simulate import After, Finish, simulate
from wirespeed.network._uses import Uses

__all__ = [
    "After",
    "Arcs",
    "Bottleneck",
    "CutTable",
    "Finish",
    "Partition",
    "Side",
    "Uses",
    "bottleneck_of",
    "bottleneck_time",
    "fair_rates",
    "is_equitable",
    "least_cuts",
    "partition",
    "product_loads",
    "quotient",
    "simplify",
    "simulate",
    "utilisation",
]

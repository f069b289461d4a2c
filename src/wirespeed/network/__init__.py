"""What transfers do to the resources that they share: three exact levels on plain arrays.

`bottleneck_time` for equal transfers that start together, `fair_rates` for a moment,
`simulate` for everything else.
"""

from wirespeed.network._bottleneck import (
    Bottleneck,
    bottleneck_of,
    bottleneck_time,
    utilisation,
)
from wirespeed.network._fair import fair_rates
from wirespeed.network._simulate import After, Finish, simulate
from wirespeed.network._uses import Uses

__all__ = [
    "After",
    "Bottleneck",
    "Finish",
    "Uses",
    "bottleneck_of",
    "bottleneck_time",
    "fair_rates",
    "simulate",
    "utilisation",
]

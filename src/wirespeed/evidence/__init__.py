"""What files say: pure types that readers fill, for the inventory, the doctor and validation."""

from wirespeed.evidence._types import (
    Evidence,
    EvidenceLine,
    Fact,
    Finding,
    Measurement,
    Remark,
    Row,
    Severity,
)

__all__ = [
    "Evidence",
    "EvidenceLine",
    "Fact",
    "Finding",
    "Measurement",
    "Remark",
    "Row",
    "Severity",
]

"""What files say: pure types that readers fill, for the inventory, the doctor and validation."""

from wirespeed.evidence._types import Evidence, Fact, Measurement, Remark, Row

__all__ = ["Evidence", "Fact", "Measurement", "Remark", "Row"]

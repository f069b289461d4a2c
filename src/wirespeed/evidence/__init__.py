"""What files say: pure types that readers fill and everything above reads."""

from wirespeed.evidence._types import Evidence, Fact, Measurement, Remark, Row

__all__ = ["Evidence", "Fact", "Measurement", "Remark", "Row"]

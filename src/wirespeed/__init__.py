"""wirespeed: how GPUs communicate, how fast they should, and why they do not."""

__version__ = "0.1.0"

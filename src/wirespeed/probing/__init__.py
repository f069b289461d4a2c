"""The host's own commands, run read-only; what they print goes to the readers."""

from wirespeed.probing.nvidia_smi import Printed, probe

__all__ = ["Printed", "probe"]

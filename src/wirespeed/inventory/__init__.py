"""From what files say to one machine: merged, completed from presets, contradictions told."""

from wirespeed.inventory.machine import Read, machine_from
from wirespeed.inventory.source import Resolved, resolve

__all__ = ["Read", "Resolved", "machine_from", "resolve"]

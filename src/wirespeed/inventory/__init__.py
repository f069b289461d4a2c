"""From what files say to one machine: merged, completed from presets, contradictions told."""

from wirespeed.inventory.source import Resolved, resolve

__all__ = ["Resolved", "resolve"]

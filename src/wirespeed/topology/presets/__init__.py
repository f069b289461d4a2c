"""Presets: known nodes, racks and cloud shapes by name, a data file each."""

from wirespeed.topology.presets._load import aliases, merged, preset, preset_names

__all__ = ["aliases", "merged", "preset", "preset_names"]

"""The host's own commands, run read-only; what they print goes to the readers."""

from wirespeed.probing.commands import COMMANDS, Command
from wirespeed.probing.gather import Gathered, Missing, Printed, gather

__all__ = ["COMMANDS", "Command", "Gathered", "Missing", "Printed", "gather"]

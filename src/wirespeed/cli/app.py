"""The application: its verbs."""

from __future__ import annotations

from collections.abc import Callable

import cyclopts

from wirespeed._version import __version__
from wirespeed.cli.check import check
from wirespeed.cli.collective import collective
from wirespeed.cli.diff import diff
from wirespeed.cli.doctor import doctor
from wirespeed.cli.expect import expect
from wirespeed.cli.faults import faults
from wirespeed.cli.scale import scale
from wirespeed.cli.topo import topo
from wirespeed.cli.train import train
from wirespeed.cli.validate import validate

VERBS: dict[str, Callable[..., int]] = {
    "check": check,
    "collective": collective,
    "diff": diff,
    "doctor": doctor,
    "expect": expect,
    "faults": faults,
    "scale": scale,
    "topo": topo,
    "train": train,
    "validate": validate,
}

_EPILOGUE = (
    "SOURCE is a preset (wirespeed topo --list), a file that a machine wrote, or - for standard "
    "input: nvidia-smi topo -m | wirespeed topo -"
)


def build() -> cyclopts.App:
    """The command line with all verbs that there are."""
    app = cyclopts.App(
        name="wirespeed",
        help="How GPUs communicate, how fast they should, and why they do not.",
        help_epilogue=_EPILOGUE,
        version=f"wirespeed {__version__}",
        version_flags=["--version"],
        help_flags=["--help", "-h"],
        help_format="plaintext",
        default_parameter=cyclopts.Parameter(negative=(), show_default=False),
    )
    for name, verb in VERBS.items():
        app.command(verb, name=name)
    return app

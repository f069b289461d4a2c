"""wirespeed: how GPUs communicate, how fast they should, and why they do not.

    import wirespeed as ws
    print(ws.topo("dgx-h100"))
    print(ws.collective("all_reduce", ws.cluster("dgx-h100", nodes=16)))

Names are loaded when they are first used: importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wirespeed._version import __version__

if TYPE_CHECKING:
    from wirespeed._api.check import check
    from wirespeed._api.clusters import cluster
    from wirespeed._api.collective import bound, collective, curve
    from wirespeed._api.diff import diff
    from wirespeed._api.doctor import doctor
    from wirespeed._api.expect import expect
    from wirespeed._api.faults import faults
    from wirespeed._api.load import load
    from wirespeed._api.models import model
    from wirespeed._api.reading import read
    from wirespeed._api.topo import topo
    from wirespeed._api.train import scale, train
    from wirespeed._api.validate import validate
    from wirespeed.errors import WirespeedError

__all__ = [
    "WirespeedError",
    "__version__",
    "bound",
    "check",
    "cluster",
    "collective",
    "curve",
    "diff",
    "doctor",
    "expect",
    "faults",
    "load",
    "model",
    "read",
    "scale",
    "topo",
    "train",
    "validate",
]

_HOMES = {
    "WirespeedError": "wirespeed.errors",
    "bound": "wirespeed._api.collective",
    "check": "wirespeed._api.check",
    "cluster": "wirespeed._api.clusters",
    "collective": "wirespeed._api.collective",
    "curve": "wirespeed._api.collective",
    "diff": "wirespeed._api.diff",
    "doctor": "wirespeed._api.doctor",
    "expect": "wirespeed._api.expect",
    "faults": "wirespeed._api.faults",
    "load": "wirespeed._api.load",
    "model": "wirespeed._api.models",
    "read": "wirespeed._api.reading",
    "scale": "wirespeed._api.train",
    "topo": "wirespeed._api.topo",
    "train": "wirespeed._api.train",
    "validate": "wirespeed._api.validate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

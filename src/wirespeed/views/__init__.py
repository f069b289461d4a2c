"""Views: results as documents of headings, sentences and tables; as text, as HTML, as other files.

A view computes nothing that a result does not hold.
"""

from __future__ import annotations

import importlib

from wirespeed.topology.result import Result
from wirespeed.views.document import Document

_VIEWS = {
    "wirespeed.check/1": "wirespeed.views.check",
    "wirespeed.collective/1": "wirespeed.views.collective",
    "wirespeed.diff/1": "wirespeed.views.diff",
    "wirespeed.doctor/1": "wirespeed.views.doctor",
    "wirespeed.expect/1": "wirespeed.views.expect",
    "wirespeed.faults/1": "wirespeed.views.faults",
    "wirespeed.scale/1": "wirespeed.views.scale",
    "wirespeed.topo/1": "wirespeed.views.topo",
    "wirespeed.train/1": "wirespeed.views.train",
    "wirespeed.validate/1": "wirespeed.views.validate",
    "wirespeed.validate_training/1": "wirespeed.views.validate_training",
}


def document(result: Result) -> Document:
    """How a result is shown, whatever shows it."""
    schema = str(type(result).__struct_config__.tag)
    made: Document = importlib.import_module(_VIEWS[schema]).document(result)
    return made


def as_text(result: Result) -> str:
    """The result as plain text of 100 columns or the width of its tables."""
    from wirespeed.views.terminal import plain

    return plain(document(result))


def as_html(result: Result) -> str:
    """The result as HTML for a notebook."""
    from wirespeed.views.html import html

    return html(document(result))

"""`wirespeed diff`: two sweeps or two machines, before and after."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from wirespeed.cli.options import Json, refuse_option


def diff(
    a: Annotated[str, Parameter(name="A", allow_leading_hyphen=True, validator=refuse_option)],
    b: Annotated[str, Parameter(name="B", allow_leading_hyphen=True, validator=refuse_option)],
    /,
    *,
    json: Json = False,
) -> int:
    """Two sweeps or two machines, before and after: what changed, and whether it is noise.

    Parameters
    ----------
    a
        Before: output of nccl-tests; or a machine: a preset, a file, a directory; - once.
    b
        After, of the same kind.
    json
        JSON in place of tables.
    """
    from wirespeed._api.diff import diff as report_on
    from wirespeed.cli.output import show

    show(report_on(a, b), json=json)
    return 0

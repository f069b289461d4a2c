"""`wirespeed expect`: the numbers that a healthy machine should show."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from wirespeed.cli.options import (
    OUTPUT,
    THIS_MACHINE,
    USUAL_LIBRARY,
    Json,
    LibraryOptions,
    MachineOptions,
    Source,
)


def expect(
    source: Source,
    /,
    *,
    machine: MachineOptions = THIS_MACHINE,
    library: LibraryOptions = USUAL_LIBRARY,
    to: Annotated[Literal["csv", "azurenhc", "superbench"] | None, Parameter(group=OUTPUT)] = None,
    json: Json = False,
) -> int:
    """The numbers that a healthy machine should show, with the range that counts as healthy.

    Parameters
    ----------
    source
        A preset, a file that the machine wrote, or - for standard input.
    machine
        Which machines.
    library
        Which library.
    to
        Another format: csv, or the configuration of a health check (azurenhc, superbench).
    json
        JSON in place of tables.
    """
    from wirespeed._api.expect import expect as numbers_of
    from wirespeed.cli.options import clusters
    from wirespeed.cli.output import show
    from wirespeed.comparison.expect_formats import FORMATS

    report = numbers_of(clusters(source, machine, library))
    if to is None:
        show(report, json=json)
    else:
        print(FORMATS[to](report), end="")
    return 0

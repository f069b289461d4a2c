"""read_bytes: what a file holds."""

from __future__ import annotations

import os
from pathlib import Path

from wirespeed.errors import InputError


def read_bytes(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """The content of a file, or its first `most` bytes.

    Raises InputError with the system's reason where it cannot be read.
    """
    try:
        with Path(path).expanduser().open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise InputError(
            "cannot be read",
            where=str(path),
            why=error.strerror or "",
            remedy="check the name; a relative one is looked up from here",
        ) from error

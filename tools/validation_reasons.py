"""Why some records lie far from their forecast: the reasons that docs/validation.md shows.

Keys are the beginnings of record ids; the first that fits is taken. A reason says what the forecast
does not know or does not model, and how that is known. No forecast reads this.
"""

from __future__ import annotations

REASONS: dict[str, str] = {
    "gb200-ncclx-": "NCCLX's own transport (CTRAN) with NVLink off: another library, not modelled",
    "gh200-128n-alps-nogdrcopy": "GDRCopy is switched off, which is not modelled",
    "gh200-64n-alps-nogdrcopy": "GDRCopy is switched off, which is not modelled",
    "rtx6000d-2n-": "the NICs' rate is not stated and no preset has this GPU: both are guessed",
    "v100-2n-p3dn": "library and EFA of 2019: about 10 us a rank for the smallest messages",
    "v100-4n-p3dn": "library and EFA of 2019: about 10 us a rank for the smallest messages",
    "v100-8n-p3dn": "library and EFA of 2019: about 10 us a rank for the smallest messages",
}

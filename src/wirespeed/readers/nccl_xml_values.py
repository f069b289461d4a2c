"""What the attributes of a topology XML mean: to the hardware, and to NCCL where that differs."""

from __future__ import annotations

import re

_SPEED = re.compile(r"\s*(\d{1,3}(?:\.\d{1,3})?)\s*GT/s")
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,16}|\d{1,15})")
_DECIMAL = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?")
_BUS_ID = re.compile(r"([0-9a-f]{4}|[0-9a-f]{8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-9a-f])")

# NCCL looks for these at the start of link_speed; the number is per lane, in 80ths of a GB/s.
# Source: the dictionary of PCIe speeds in NCCL's topology code.
_LANE_CODES = (
    ("2.5 GT/s", 15),
    ("5 GT/s", 30),
    ("8 GT/s", 60),
    ("16 GT/s", 120),
    ("32 GT/s", 240),
    ("5.0 GT/s PCIe", 30),
    ("8.0 GT/s PCIe", 60),
    ("16.0 GT/s PCIe", 120),
    ("32.0 GT/s PCIe", 240),
    ("64.0 GT/s PCIe", 480),
)
_OTHERWISE = 60
_DEFAULT_LANES = 16
_DEFAULT_SPEED_MBPS = 10_000
_LARGEST = 2**31 - 1
"""No attribute counts further: NCCL reads them as C ints."""
_IMPLAUSIBLE_MBPS = 10_000_000
"""10 Tb/s: no port has it; what says so counts in kb/s."""


def number(text: str) -> int | None:
    """The integer of "90", "-1" or "0x0200"; None for anything else, and for one beyond 31 bits."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    value = int(text, 16 if "x" in text.lower() else 10)
    return value if abs(value) <= _LARGEST else None


def decimal(text: str) -> float | None:
    """The number of "0.000000"; None for anything else."""
    return float(text) if _DECIMAL.fullmatch(text.strip()) else None


def bus_id(text: str) -> str:
    """0000:1b:00.0, in lower case and without the zeros of a domain of eight digits.

    What is no bus id (some dumps name the switches of a rack so) comes back as it stands.
    """
    plain = text.strip().lower()
    match = _BUS_ID.fullmatch(plain)
    if match and len(match[1]) == 8 and match[1].startswith("0000"):
        return plain[4:]
    return plain[:32]


def lane_rate(link_speed: str) -> float | None:
    """Signalling rate of one lane [GT/s] of "16.0 GT/s PCIe" and its variants; None if unknown."""
    match = _SPEED.match(link_speed)
    rate = float(match[1]) if match else 0.0
    return rate if rate > 0 else None


def lanes(link_width: str) -> int:
    """Lanes as NCCL counts them: 16 where a device says 0 or nothing."""
    width = number(link_width) or 0
    return width if 0 < width <= 64 else _DEFAULT_LANES


def nccl_pcie_GBps(link_speed: str, link_width: str) -> float:
    """What NCCL credits this link with [GB/s]; Gen3 where it does not know the word."""
    code = next((code for word, code in _LANE_CODES if link_speed.startswith(word)), _OTHERWISE)
    return lanes(link_width) * code / 80


def is_misread(link_speed: str) -> bool:
    """Whether NCCL takes a speed that it does not know, such as "16.0 GT/s", for Gen3."""
    known = any(link_speed.startswith(word) for word, _ in _LANE_CODES)
    rate = lane_rate(link_speed)
    return not known and rate is not None and rate != 8.0


def net_rate(speed: int) -> tuple[float, bool]:
    """Port rate [Gb/s] of a speed in Mb/s, and whether that speed was plausible as it stood."""
    if speed <= 0:
        return _DEFAULT_SPEED_MBPS / 1000, False
    if speed >= _IMPLAUSIBLE_MBPS:
        return speed / 1_000_000, False
    return speed / 1000, True

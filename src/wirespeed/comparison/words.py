"""Words that people use for networks, types, launches and libraries, and what they mean here.

Known words are read wherever they stand in a text; a text without any is left to the caller, who
takes the usual default and says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NETWORKS = (
    ("tcpx", r"tcp-?x|fastrak"),
    ("efa", r"\befa\b|elastic fabric"),
    ("slingshot", r"slingshot|\bcxi\b|cassini"),
    ("infiniband", r"\bib\b|infiniband|\b[hnexf]dr(100|200)?\b|quantum|qm\d{4}|omni-?path|\bopa\b"),
    ("ethernet", r"\broce\b|ethernet|spectrum|\brocev2\b|\b\d+gbe\b|pollara|\bgib\b"),
)
"""Kinds of compute networks, the most telling word first."""

_SOCKETS = re.compile(r"tcp sockets?|\bsockets?\b|\btcp\b(?!-?x)", re.IGNORECASE)
_INSIDE = re.compile(r"intra-?node|mnnvl|nvlink", re.IGNORECASE)
_NOT_KNOWN = re.compile(r"unknown|not stated|not shown|\?", re.IGNORECASE)

_DTYPES = {
    "float": ("float", "float32", "fp32", "f32"),
    "half": ("half", "float16", "fp16", "f16"),
    "bfloat16": ("bfloat16", "bf16"),
    "double": ("double", "float64", "fp64"),
    "int8": ("int8", "char"),
    "uint8": ("uint8", "bytes", "byte"),
    "int32": ("int32", "int"),
    "uint32": ("uint32", "uint"),
    "int64": ("int64", "long"),
    "uint64": ("uint64",),
    "fp8_e4m3": ("fp8", "fp8_e4m3", "f8e4m3", "float8"),
    "fp8_e5m2": ("fp8_e5m2", "f8e5m2"),
}
DTYPE_NAMES = tuple(_DTYPES)
"""As nccl-tests has them."""
_DTYPE_OF = {word: dtype for dtype, words in _DTYPES.items() for word in words}

_ALGORITHMS = {
    "ring": "Ring",
    "tree": "Tree",
    "nvls": "NVLS",
    "nvlstree": "NVLSTree",
    "collnetdirect": "CollNetDirect",
    "collnetchain": "CollNetChain",
    "collnet": "CollNet",
    "pat": "PAT",
}


@dataclass(frozen=True, slots=True)
class NetworkWords:
    """What a text about a network says. `kind` is None where no known word names one."""

    kind: str | None
    sockets: bool
    sharp: bool
    understood: bool
    """Whether there was a known word, or a plain statement that it is not known."""


def network_words(text: str) -> NetworkWords:
    """The network that a text such as `RoCE v2, single leaf` names."""
    lower = text.lower()
    kind = next((name for name, pattern in _NETWORKS if re.search(pattern, lower)), None)
    sockets = bool(_SOCKETS.search(text))
    known = kind is not None or sockets or bool(_INSIDE.search(text) or _NOT_KNOWN.search(text))
    return NetworkWords(kind, sockets, "sharp" in lower, known or not lower.strip())


def dtype_word(text: str) -> str | None:
    """nccl-tests' name of the first type that a text names; None where it names none."""
    words = re.findall(r"[a-z]+[a-z0-9_]*", text.lower())
    return next((_DTYPE_OF[word] for word in words if word in _DTYPE_OF), None)


def launch_word(text: str) -> str | None:
    """process, thread or graph; None where the text names none of them."""
    lower = text.lower()
    if "graph" in lower:
        return "graph"
    if "single process" in lower or "thread" in lower:
        return "thread"
    return "process" if "process" in lower else None


@dataclass(frozen=True, slots=True)
class AlgorithmWords:
    """What a text about the algorithm says: the one that ran, and whether the fabric reduced."""

    algorithm: str | None
    sharp: bool | None
    understood: bool


def algorithm_words(text: str) -> AlgorithmWords:
    """The algorithm of a text such as `CollNet SHARP` or `auto (NVLS on)`; a bracket is a remark.

    SHARP is None where nothing is said of it.
    """
    plain = re.sub(r"\(.*?\)", "", text).strip().lower()
    sharp = False if "no sharp" in text.lower() else True if "sharp" in text.lower() else None
    if plain.startswith("auto"):
        return AlgorithmWords(None, sharp, understood=True)
    word = plain.split()[0].replace("_", "") if plain else ""
    return AlgorithmWords(_ALGORITHMS.get(word), sharp, word in _ALGORITHMS)


def version_word(text: str) -> tuple[int, ...] | None:
    """The first version number of a text, as three numbers; None where there is none."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups()) if match else None


def other_library(text: str) -> str | None:
    """The library that a text names where that is neither NCCL nor RCCL: `NCCLX`."""
    named: list[str] = re.findall(r"\b[A-Za-z0-9]*ccl[A-Za-z0-9]*\b", text, re.IGNORECASE)
    known = ("nccl", "rccl")
    return None if any(word.lower() in known for word in named) else next(iter(named), None)

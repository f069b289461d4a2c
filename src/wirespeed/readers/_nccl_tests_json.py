"""The JSON that nccl-tests writes with -J. Of its environment only NCCL's settings are kept."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Measurement, Remark, Row
from wirespeed.units import US

_START = re.compile(r"\s*\{")
_KEYS = ('"results"', '"out_of_place"')
_OURS = re.compile(r"(?:NCCL|RCCL)_\w+")
_PERF = re.compile(r"(\w+?)_perf")


def is_json(text: str) -> bool:
    """Whether a text looks like this JSON."""
    return bool(_START.match(text)) and all(key in text for key in _KEYS)


def read_json(text: str, file: str) -> Evidence:
    """Evidence of a -J file; InputError where it is cut or holds no results."""
    try:
        tree = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            "this JSON of nccl-tests cannot be read",
            where=file,
            why=str(error),
            remedy="give the whole file: it is complete only after the run has ended",
        ) from None
    results = tree.get("results") if isinstance(tree, dict) else None
    results = [e for e in results if isinstance(e, dict)] if isinstance(results, list) else []
    if not results:
        raise InputError(
            "no nccl-tests results found",
            where=file,
            why="the list of results is empty",
            remedy="give the file of a run that got as far as its table",
        )
    operation = _operation(tree)
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for entry in results:
        key = (str(entry.get("type", "")), str(entry.get("redop", "")), str(entry.get("root", "")))
        groups.setdefault(key, []).extend(_rows(entry))
    ranks = _ranks(tree)
    measurements = tuple(
        Measurement(
            operation=operation,
            file=file,
            rows=tuple(rows),
            ranks=ranks,
            dtype=dtype or None,
            launch=_launch(tree),
            reduction=None if redop in ("", "none") else redop,
        )
        for (dtype, redop, _), rows in groups.items()
    )
    return Evidence("nccl-tests", file, tuple(_facts(tree)), tuple(_remarks(tree)), measurements)


def _operation(tree: dict[str, Any]) -> str:
    args = tree.get("args")
    command = " ".join(map(str, args)) if isinstance(args, list) else str(args or "")
    match = _PERF.search(command.replace("/", " "))
    return match[1] if match else "all_reduce"


def _rows(entry: dict[str, Any]) -> list[Row]:
    rows = []
    for name in ("out_of_place", "in_place"):
        reading = entry.get(name)
        if not isinstance(reading, dict):
            continue
        time = _number(reading.get("time", reading.get("cpu_time")))
        algbw = _number(reading.get("alg_bw"))
        busbw = _number(reading.get("bus_bw"))
        if time is None and algbw is None:
            continue
        rows.append(
            Row(
                size=int(_number(entry.get("size")) or 0),
                time=None if time is None else time * US,
                algbw=None if algbw is None else algbw * 1e9,
                busbw=None if busbw is None else busbw * 1e9,
                in_place=name == "in_place",
            )
        )
    return rows


def _number(value: object) -> float | None:
    """A number, also one in quotes; None for nan and what is none."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if number == number and abs(number) != float("inf") else None


def _devices(tree: dict[str, Any]) -> list[dict[str, Any]]:
    config = tree.get("config")
    devices = config.get("devices") if isinstance(config, dict) else None
    return [d for d in devices if isinstance(d, dict)] if isinstance(devices, list) else []


def _ranks(tree: dict[str, Any]) -> int | None:
    return len(_devices(tree)) or None


def _config(tree: dict[str, Any], name: str) -> int:
    config = tree.get("config")
    return int(_number(config.get(name)) or 0) if isinstance(config, dict) else 0


def _launch(tree: dict[str, Any]) -> str | None:
    if _config(tree, "graph"):
        return "graph"
    each = _config(tree, "nthreads") * _config(tree, "ngpus")
    return None if not each else "thread" if each > 1 else "process"


def _facts(tree: dict[str, Any]) -> list[Fact]:
    facts = []
    code = _number(tree.get("nccl_version"))
    if code:
        facts.append(Fact("run", "nccl_version", library_version(int(code)), 0))
    for position, device in enumerate(_devices(tree)):
        number = _number(device.get("rank"))
        subject = f"rank{position if number is None else int(number)}"
        for attribute, key in (("host", "hostname"), ("gpu_model", "device_info")):
            if device.get(key):
                facts.append(Fact(subject, attribute, str(device[key]).strip(), 0))
    return facts + [Fact("env", name, value, 0) for name, value in _settings(tree.get("env"))]


def _settings(env: object) -> list[tuple[str, str]]:
    """NCCL's settings of an environment, a list of NAME=VALUE or a table; all else is dropped."""
    if isinstance(env, dict):
        pairs = [(str(name), str(value)) for name, value in env.items()]
    elif isinstance(env, list):
        pairs = [(name, value) for name, _, value in (str(line).partition("=") for line in env)]
    else:
        pairs = []
    return [(name, value) for name, value in pairs if _OURS.fullmatch(name)]


def library_version(code: int) -> str:
    """2.29.7 of NCCL's number 22907; before 2.9 the number has four digits."""
    scale = 1000 if code < 10000 else 10000
    return f"{code // scale}.{code // 100 % (scale // 100)}.{code % 100}"


def _remarks(tree: dict[str, Any]) -> list[Remark]:
    bounds = tree.get("out_of_bounds")
    if not isinstance(bounds, dict) or str(bounds.get("okay", "true")).lower() != "false":
        return []
    what = f"{bounds.get('count')} results are out of bounds: the bandwidths mean nothing"
    return [Remark("wrong-values", what)]

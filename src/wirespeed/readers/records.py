"""Files of published measurements: one JSON object a line, or an array of them, into Records.

Every field may be absent or null but those without which there is nothing to forecast; unknown
fields are ignored. What cannot be read is kept as a BadRecord, so that positions stay right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from wirespeed.errors import InputError

Cell = float | None
Health = Literal["healthy", "misconfigured", "unclear"]


class RecordCluster(msgspec.Struct, frozen=True):
    """The machines of a record, as far as its source says; inputs of a forecast all."""

    gpu: str | None = None
    nodes: int | None = None
    """Operating systems."""
    gpus_per_node: int | None = None
    """That took part; the machine may have more."""
    nvlink_domain: int | None = None
    """GPUs that shared one NVLink domain; None: those of a node."""
    path: str | None = None
    """The farthest path among the GPUs of one PCIe node, in nvidia-smi's words."""
    p2p: bool | None = None
    nics_per_node: int | None = None
    nic_gbps: float | None = None
    """Rate of one NIC [Gb/s]."""
    fabric: str | None = None
    gdr: str | None = None
    """yes or no."""

    def domain(self) -> int | None:
        """GPUs that shared one NVLink domain, or could have."""
        return self.nvlink_domain or self.gpus_per_node


class Inputs(msgspec.Struct, frozen=True):
    """What a forecast may use of a record, and nothing else."""

    cluster: RecordCluster
    collective: str
    ranks: int | None = None
    nccl_version: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    """Sorted by name."""
    algo: str | None = None
    launch: str | None = None
    tool: str | None = None
    dtype: str | None = None
    in_place: bool = False
    bidirectional: bool = False


class RecordRow(msgspec.Struct, frozen=True):
    """One measured row as printed: size [B], time [us], bandwidths [GB/s]."""

    size: int | None
    time_us: float | None
    algbw: float | None
    busbw: float | None


class Record(msgspec.Struct, frozen=True):
    """One published measurement. `position` counts the records of its file from 0."""

    position: int
    inputs: Inputs
    rows: tuple[RecordRow, ...]
    rows_inplace: tuple[RecordRow, ...] = ()
    id: str = ""
    source: str = ""
    fold: str = ""
    """The unit to hold out whole in cross-validation."""
    health: Health = "healthy"
    grade: str = "A"
    cause: str | None = None


class BadRecord(msgspec.Struct, frozen=True):
    """A record that cannot be read, and why."""

    position: int
    reason: str


class _Raw(msgspec.Struct):
    """A record as it stands in the file."""

    collective: str
    rows: list[list[Cell]]
    cluster: RecordCluster | None = None
    rows_inplace: list[list[Cell]] | None = None
    ranks: int | None = None
    nccl_version: str | None = None
    env: dict[str, Any] | None = None
    algo: str | None = None
    launch: str | None = None
    tool: str | None = None
    dtype: str | None = None
    in_place: bool | None = None
    bidirectional: bool | None = None
    id: str | None = None
    source: str | None = None
    fold: str | None = None
    health: Health | None = None
    grade: str | None = None
    cause: str | None = None


def read_records(data: str | bytes, *, file: str) -> tuple[list[Record], list[BadRecord]]:
    """The records of a file in its order, and those that cannot be read.

    Raises InputError where not a single line is a JSON object.
    """
    good: list[Record] = []
    bad: list[BadRecord] = []
    for position, text in enumerate(objects(data)):
        try:
            good.append(_record(position, msgspec.json.decode(text, type=_Raw, strict=False)))
        except msgspec.MsgspecError as error:
            bad.append(BadRecord(position, f"not a record: {error}"))
    if not good and not any(b"{" in text for text in objects(data)):
        raise InputError(
            "there are no records here",
            where=file,
            why="a file of records holds one JSON object a line, or a JSON array of objects",
            remedy="give a file such as collectives.json",
        )
    return good, bad


def are_records(data: str | bytes) -> bool:
    """Whether this is a file of records: its first object has an operation and rows."""
    raw = data.encode() if isinstance(data, str) else data
    if raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return False
    first = next((text for text in objects(raw) if text.startswith(b"{")), b"")
    try:
        keys = msgspec.json.decode(first, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return False
    return {"collective", "rows"} <= set(keys)


def objects(data: str | bytes) -> Iterator[bytes]:
    """The text of each object: of a whole array if it is sound, else line by line."""
    raw = data.encode() if isinstance(data, str) else data
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        yield from (bytes(part) for part in msgspec.json.decode(raw, type=list[msgspec.Raw]))
    except msgspec.MsgspecError:
        for line in raw.splitlines():
            text = line.strip().rstrip(b",").strip()
            if text not in (b"", b"[", b"]"):
                yield text.removeprefix(b"[") if text.startswith(b"[{") else text


def _record(position: int, raw: _Raw) -> Record:
    env = {name: str(value) for name, value in (raw.env or {}).items() if value is not None}
    inputs = Inputs(
        cluster=raw.cluster or RecordCluster(),
        collective=raw.collective,
        ranks=raw.ranks,
        nccl_version=raw.nccl_version,
        env=tuple(sorted(env.items())),
        algo=raw.algo,
        launch=raw.launch,
        tool=raw.tool,
        dtype=raw.dtype,
        in_place=bool(raw.in_place),
        bidirectional=bool(raw.bidirectional),
    )
    return Record(
        position=position,
        inputs=inputs,
        rows=tuple(map(_row, raw.rows)),
        rows_inplace=tuple(map(_row, raw.rows_inplace or [])),
        id=raw.id or "",
        source=raw.source or "",
        fold=raw.fold or "",
        health=raw.health or "healthy",
        grade=raw.grade or "A",
        cause=raw.cause,
    )


def _row(cells: list[Cell]) -> RecordRow:
    size, time, algbw, busbw = (cells + [None] * 4)[:4]
    return RecordRow(None if size is None else round(size), time, algbw, busbw)

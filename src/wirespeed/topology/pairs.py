"""Pairs: transfers inside units by what decides their route, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.topology.kinds import LinkKind
from wirespeed.topology.paths import Paths
from wirespeed.topology.unit import Unit
from wirespeed.topology.unit_routes import Route

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_SMALL, _CHUNK = 2**16, 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Transfers inside units, grouped by what decides their route.

    Attributes:
        source, target: [t] component ids inside the unit.
        unit: [t] the unit.
        example: [rows] one transfer of each group; `row` [t] is the group of each.
    """

    source: Ids
    target: Ids
    unit: Ids
    example: Ids
    row: Ids


def table_of(rows: list[Route]) -> Paths:
    """The routes as rows of a table."""
    first = np.concatenate([[0], np.cumsum([len(row.resource) for row in rows])])
    resource = [r for row in rows for r in row.resource]
    share = [s for row in rows for s in row.share]
    return Paths(first.astype(np.int64), np.array(resource, np.int64), np.array(share, np.float64))


def first_and_place(key: Ids, keys: int) -> tuple[Ids, Ids]:
    """The first place of each key that occurs, in order of keys; [n] which of them each is."""
    if keys > 8 * len(key) + _SMALL:
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        return first, place.reshape(-1)
    first = np.full(keys, -1, np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    found = np.flatnonzero(first >= 0)
    number = np.zeros(keys, np.int64)
    number[found] = np.arange(len(found))
    return first[found], number[key]


def counted(pairs: Pairs, rows: Ids, amount: Floats) -> tuple[Ids, Floats]:
    """The units in which transfers of these rows run, and [units, rows] how much in each."""
    row, unit = pairs.row, pairs.unit
    if len(rows) < len(pairs.example):
        number = np.full(len(pairs.example), -1, np.int64)
        number[rows] = np.arange(len(rows))
        mine = number[row] >= 0
        row, unit, amount = number[row[mine]], unit[mine], amount[mine]
    units = np.flatnonzero(np.bincount(unit))
    place = np.empty(int(units[-1]) + 1, np.int64)
    place[units] = np.arange(len(units))
    cells = len(units) * len(rows)
    sums = np.bincount(place[unit] * len(rows) + row, amount, minlength=cells)
    return units, sums.astype(np.float64, copy=False).reshape(len(units), len(rows))


def part_of(shape: Unit, kinds: tuple[tuple[LinkKind, ...], ...]) -> Ids:
    """[links + components] the set of kinds that each belongs to; the last number for others."""
    part = np.full(shape.links + shape.components, len(kinds), np.int64)
    for number, several in enumerate(kinds):
        part[: shape.links][np.isin(shape.link_kind, several)] = number
    return part


def spread(counted: Floats, table: Paths, mine: npt.NDArray[np.bool_]) -> tuple[Ids, Floats]:
    """The resources that some uses of a table name, and [units, resources] loads on each.

    `counted` [units, rows] is what runs on the table's routes.
    """
    owner, share = table.owner()[mine], table.share[mine]
    columns, column = np.unique(table.resource[mine], return_inverse=True)
    order = np.argsort(column.reshape(-1), kind="stable")
    first = np.searchsorted(column.reshape(-1)[order], np.arange(len(columns)))
    owner, share = owner[order], share[order]
    local = np.empty((len(counted), len(columns)))
    # The shares are sparse: sums over uses beat a product of matrices, and keep to one thread.
    step = max(1, _CHUNK // len(owner))
    for k in range(0, len(counted), step):
        local[k : k + step] = np.add.reduceat(counted[k : k + step, owner] * share, first, axis=1)
    return columns, local

"""Contacts that come and go while a program runs: instances of part types whose rows are written anew.

A program that was assembled with `detected` has room for contacts of these types. At the start of a step `write_contacts` says
which of them there are: the coordinates that each touches, and its row at the last detection, from which its
percussions are carried over. Any pair of bodies can take any row. A run works on tables of its own (`detected.own_tables`),
because it changes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stickslip.engine.fields import Field
from stickslip.engine.numbering import MULTIPLIERS
from stickslip.engine.program import Program
from stickslip.engine.tables import INDEX, Tables
from stickslip.jit import jit
from stickslip.pages import zeros

# Columns of Rooms.types: the kind, where its rows of integers begin and how long they are, how many there are, where its
# numbers begin and how many a contact has, how many integers name the coordinates of a contact, where its scratch begins; from
# OWN on the first row and the rows of a contact in each of the spaces of multipliers.
KIND, FIRST, WIDTH, CAPACITY, NUMBERS_0, NUMBERS, STARTS, SCRATCH, OWN = range(9)


class Rooms(NamedTuple):
    """Where detected contacts live: a row of `types` for each type, and of every field its place for each type."""

    types: np.ndarray
    fields: np.ndarray  # (fields, types, 2): where the values begin, and how many a contact has
    scratch: np.ndarray
    used: np.ndarray  # by type: rows from here on hold zeros


def rooms_of(program: Program, fields: Sequence[Field]) -> Rooms:
    """The rooms of all detected types, and these fields of them."""
    kinds = [(k, kind) for k, kind in enumerate(program.numbering.kinds) if kind.detected is not None]
    types, places, scratch = [], np.zeros((len(fields), len(kinds), 2), np.int64), 0
    for t, (k, kind) in enumerate(kinds):
        record, detected = program.tables.kinds[k], kind.detected
        assert detected is not None
        starts = 2 * kind.blocks.shape[1]
        numbers = kind.own["numbers"], detected.numbers
        own = [n for x in MULTIPLIERS for n in (kind.own[x], kind.type.n[x])]
        types.append((k, record["first"], record["width"], kind.capacity, *numbers, starts, scratch, *own))
        scratch += kind.capacity * max(kind.type.n[x] for x in MULTIPLIERS)
        for f, each in enumerate(fields):
            if each.space in MULTIPLIERS:
                places[f, t] = program.layout.start[each] + kind.own[each.space], kind.type.n[each.space]
    table = np.array(types, np.int64).reshape(-1, OWN + 2 * len(MULTIPLIERS))
    return Rooms(table, places, zeros(scratch), table[:, CAPACITY].copy())


@jit
def write_contacts(
    rooms: Rooms,
    dofs: np.ndarray,
    memory: np.ndarray,
    which: np.ndarray,
    place: np.ndarray,
    starts: np.ndarray,
    before: np.ndarray,
) -> None:
    """Contacts from now on: type, row, first coordinates and velocities, and row before in the same type, or -1.

    The fields move along with the contacts; those of new contacts are zero. Their numbers are written elsewhere.
    """
    for c in range(which.size):
        own = rooms.types[which[c]]
        row = own[FIRST] + place[c] * own[WIDTH]
        for k in range(own[STARTS]):
            dofs[row + 1 + k] = starts[c, k]
        row += 1 + own[STARTS]
        for k in range(OWN, own.size, 2):
            dofs[row] = own[k] + place[c] * own[k + 1]
            row += 1
        dofs[row] = own[NUMBERS_0] + place[c] * own[NUMBERS]
    for f in range(rooms.fields.shape[0]):
        for t in range(rooms.types.shape[0]):
            first, size, kept = rooms.fields[f, t, 0], rooms.fields[f, t, 1], rooms.types[t, SCRATCH]
            for i in range(rooms.used[t] * size):
                rooms.scratch[kept + i] = memory[first + i]
                memory[first + i] = 0.0
        for c in range(which.size):
            t = which[c]
            first, size, kept = rooms.fields[f, t, 0], rooms.fields[f, t, 1], rooms.types[t, SCRATCH]
            if before[c] >= 0:
                for k in range(size):
                    memory[first + place[c] * size + k] = rooms.scratch[kept + before[c] * size + k]
    rooms.used[:] = 0
    for c in range(which.size):
        rooms.used[which[c]] = max(rooms.used[which[c]], place[c] + 1)


def occupy(
    program: Program,
    tables: Tables,
    memory: np.ndarray,
    which: int,
    blocks: np.ndarray,
    numbers: np.ndarray,
    before: np.ndarray,
) -> None:
    """The contacts of the `which`-th detected kind from now on: blocks (contacts, slots), numbers, and places before or -1.

    All fields over constraints move along; those of new contacts are zero.
    """
    rooms, count = rooms_of(program, list(program.layout.start)), len(blocks)
    if count > rooms.types[which, CAPACITY]:
        raise ValueError(f"{count} contacts, but room for {rooms.types[which, CAPACITY]}")
    own = slice(which, which + 1)
    one = Rooms(rooms.types[own], np.ascontiguousarray(rooms.fields[:, own]), rooms.scratch, rooms.used[own].copy())
    none, places = np.zeros(count, INDEX), np.arange(count)
    starts = program.numbering.starts(blocks)
    write_contacts(one, tables.dofs, memory, none, places, starts.astype(INDEX), np.asarray(before, INDEX))
    values, at = np.asarray(numbers, float), rooms.types[which, NUMBERS_0]
    memory[at : at + values.size] = values.ravel()
    tables.kinds["count"][rooms.types[which, KIND]] = count

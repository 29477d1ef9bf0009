"""Contacts that come and go while a program runs: instances of part types whose rows are written anew.

A program that was assembled with `detected` has room for contacts of these types. At the start of a step `occupy` says which
of them there are: the blocks of coordinates that each touches, its numbers, and its place at the last detection, from which
its percussions are carried over. A run works on tables of its own (`own_tables`), because it changes them.
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.mechanics import PartType
from stickslip.engine.numbering import MULTIPLIERS, Detected
from stickslip.engine.program import Program
from stickslip.engine.tables import Tables

__all__ = ["Detected", "PartType", "occupy", "own_tables"]


def own_tables(program: Program) -> Tables:
    """The tables of a program with rows of instances that may be changed."""
    return program.tables._replace(kinds=program.tables.kinds.copy(), dofs=program.tables.dofs.copy())


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
    numbering = program.numbering
    k, kind = [(k, kind) for k, kind in enumerate(numbering.kinds) if kind.detected is not None][which]
    count = len(blocks)
    if kind.detected is None or count > kind.capacity:
        raise ValueError(f"{count} contacts, but room for {kind.capacity}")
    record = tables.kinds[k]
    first, width = int(record["first"]), int(record["width"])
    rows = tables.dofs[first : first + kind.capacity * width].reshape(kind.capacity, width)
    rows[:count, 1 : 1 + 2 * blocks.shape[1]] = numbering.starts(blocks)
    tables.kinds["count"][k] = count
    at = kind.own["numbers"]
    memory[at : at + count * kind.detected.numbers] = np.ascontiguousarray(numbers).ravel()
    for each, start in program.layout.start.items():
        n = kind.type.n[each.space] if each.space in MULTIPLIERS else 0
        if n:
            begin = start + kind.own[each.space]
            values = memory[begin : begin + kind.capacity * n].reshape(kind.capacity, n)
            moved = np.where(before[:, None] >= 0, values[before], 0.0)
            values[:count], values[count:] = moved, 0.0

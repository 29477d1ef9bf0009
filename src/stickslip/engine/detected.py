"""Kinds of contacts that come and go while a program runs; `engine.rooms` writes them."""

from __future__ import annotations

from stickslip.engine.mechanics import PartType
from stickslip.engine.numbering import Detected
from stickslip.engine.program import Program
from stickslip.engine.tables import Tables
from stickslip.pages import zeros

__all__ = ["Detected", "PartType", "own_tables"]


def own_tables(program: Program) -> Tables:
    """The tables of a program with rows of instances that may be changed; those of detected contacts are not written yet."""
    kinds, own = program.tables.kinds, zeros(program.tables.dofs.size, program.tables.dofs.dtype)
    for first, size in zip(kinds["first"].tolist(), (kinds["count"] * kinds["width"]).tolist(), strict=True):
        own[first : first + size] = program.tables.dofs[first : first + size]
    return program.tables._replace(kinds=kinds.copy(), dofs=own)

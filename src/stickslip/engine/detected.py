"""Kinds of contacts that come and go while a program runs; `engine.rooms` writes them."""

from __future__ import annotations

from stickslip.engine.mechanics import PartType
from stickslip.engine.numbering import Detected
from stickslip.engine.program import Program
from stickslip.engine.tables import Tables

__all__ = ["Detected", "PartType", "own_tables"]


def own_tables(program: Program) -> Tables:
    """The tables of a program with rows of instances that may be changed."""
    return program.tables._replace(kinds=program.tables.kinds.copy(), dofs=program.tables.dofs.copy())

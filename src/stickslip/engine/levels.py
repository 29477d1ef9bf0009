"""What the rows of a stage measure, positions or velocities, and in which units their residual counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from stickslip.engine.fields import DT, GAP_SIZE, MODEL_SIZES, Field, Q, U
from stickslip.engine.stage import NORMAL, ZERO
from stickslip.pages import zeros

if TYPE_CHECKING:
    from stickslip.engine.program import Program
    from stickslip.engine.stage import Stage


def positions_of(sheets: Iterable[Stage]) -> frozenset[Field]:
    """Multipliers of a stage whose rows are positions: they do not change with the velocities in a step of length zero."""
    return frozenset(each for sheet in sheets for each in sheet.once("positions", partial(_positions, sheet)))


def _positions(sheet: Stage) -> list[Field]:
    laws = [law for law in sheet.laws if law.kind in (ZERO, NORMAL)]  # friction has velocities
    return [law.by for law in laws if _is_position(sheet, law.y)]


def _is_position(sheet: Stage, y: ca.SX) -> bool:
    unknown = [symbol for each, symbol in sheet.unknowns.items() if each.space == U]
    dt = sheet.inputs.get(DT)
    if not y.numel() or not unknown:
        return False
    slope = ca.jacobian(y, ca.vertcat(*unknown))
    if dt is not None:
        slope = ca.substitute(slope, dt, 0)
    free = ca.symvar(slope)
    somewhere = np.random.default_rng(0).uniform(0.5, 1.0, len(free)).tolist()
    value = ca.Function("slope", free, [slope]).call([ca.DM(x) for x in somewhere])[0]
    return bool((np.array(value) == 0.0).all())  # not where it is not a number: dt (x/dt) is a velocity


def blank_memory(program: Program, sizes: Mapping[tuple[str, bool], np.ndarray] | None) -> np.ndarray:
    """The memory before anything is known but the sizes of the model; they are those of `row_sizes`."""
    layout = program.layout
    memory = zeros(layout.total)
    for each in MODEL_SIZES:
        if each in layout.start:
            places = layout.places(each)
            memory[places] = 1.0
            if sizes is not None:
                level = each == GAP_SIZE
                given = sizes[str(each.space), level]
                memory[places] = sizes["", level]  # detected contacts, which have no names
                memory[places[: len(given)]] = given
    return memory


def row_sizes(program: Program, sizes: Mapping[tuple[str, bool], np.ndarray]) -> np.ndarray:
    """Sizes of the rows of all stages, from those of each space on velocity and (True) position level; "": of other rows."""
    tables, layout, out = program.tables, program.layout, np.ones(len(program.tables.order))
    places = {start: each for each, start in layout.start.items() if layout.size[each]}
    for k, stage in enumerate(tables.problems):
        for segment in tables.segments[stage["segment_0"] : stage["segment_1"]]:
            if not segment["length"]:
                continue  # it begins where another field does
            each = places[int(segment["start"])]
            level = each.space == Q or each in program.positions[k]
            first = int(stage["order"] + segment["first"])
            length, given = int(segment["length"]), sizes[str(each.space), level]
            out[first : first + length] = sizes["", level]  # detected contacts, which have no names
            out[first : first + len(given)] = given
    return out

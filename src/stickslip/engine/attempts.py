"""The attempts of the compiled loop at a stage: how many come before other solvers are asked, and what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.engine.tables import DENSE

if TYPE_CHECKING:
    from stickslip.engine.program import Program

MANY = 150  # unknowns of a linear system of free bodies, from which on solvers on their graph come after one attempt
CHEAP = 6  # attempts of the compiled loop before other solvers are asked
# What the attempts of the compiled loop are (`engine.newton.ATTEMPTS`), as `solved_by` counts them.
COMPLIANT, SWEPT, OTHER_PROX = (
    "newton with compliance",
    "newton after gauss-seidel",
    "newton with another prox parameter",
)
ATTEMPTED = ("newton", *5 * [COMPLIANT], "newton from zero", *2 * [COMPLIANT], *2 * [SWEPT], *5 * [COMPLIANT], SWEPT)
ATTEMPTED = (*ATTEMPTED, *2 * [OTHER_PROX], "newton with half steps")


def named_counts(solved_by: np.ndarray) -> dict[str, int]:
    """How many stages each kind of attempt has solved, from the counts of the single ones.

    >>> named_counts(np.array([5, 1, 2]))["newton with compliance"]
    3
    """
    out: dict[str, int] = {}
    for name, count in zip(ATTEMPTED, solved_by, strict=False):
        out[name] = out.get(name, 0) + int(count)
    return out


def stages_by_bodies(program: Program) -> np.ndarray:
    """For each stage, whether it may be one of free bodies with so many contacts that solvers on their graph come second.

    Not where a law applies in sets of contacts that others decide, nor where contacts are detected.
    """
    tables = program.tables
    out = np.zeros(len(tables.problems), bool)
    for k, stage in enumerate(tables.problems):
        groups = tables.groups[stage["group_0"] : stage["group_1"]]
        laws = np.concatenate([tables.laws[int(g["law_0"]) : int(g["law_1"])] for g in groups] or [tables.laws[:0]])
        read = {int(each) for key in ("open_where", "only_where", "except_where") for each in laws[key]}
        sets = read & {int(mark) for mark in laws["mark"]} - {-1}
        bilateral = any(g["law_0"] < g["law"] for g in groups)
        one = stage["segment"] - stage["segment_0"] == 1
        out[k] = stage["band"] != DENSE and stage["n"] >= MANY and one and laws.size and not sets and not bilateral
    return out & (not any(kind.detected for kind in program.numbering.kinds))

"""The attempts of the compiled loop at a stage: how many come before other solvers are asked, and what they are called."""

from __future__ import annotations

import numpy as np

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

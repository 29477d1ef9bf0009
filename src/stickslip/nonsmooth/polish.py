"""The last digits: undamped semismooth Newton steps of minimum norm, from a point whose branches are right.

Where light bodies carry large percussions that cancel each other, proximal steps converge slowly although all statuses are
found. With beta = 1/w, A = d project/dy and F = r - project(r - beta u), the step is that of least norm of

    (I - A + A beta W) d = -F,

which exists also where redundant contacts make the matrix singular.
"""

from __future__ import annotations

import numpy as np

from stickslip.nonsmooth.laws import MOST_ROWS, derivatives, natural_map, project
from stickslip.nonsmooth.problem import Problem, elements_rows

STEPS = 8
NEAR = 1e-2  # a residual from which it is worth trying
MOST = 1500  # rows, for which a dense decomposition is affordable
RANK = 1e-12


def polish(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    """The best of a few steps from r, and how many were taken."""
    laws, scales, n = problem.laws, problem.scales, problem.n_rows
    y, p, branch, C = (
        np.empty(n),
        np.empty(n),
        np.empty(laws.kind.size, np.int64),
        np.empty((laws.element.size - 1, MOST_ROWS, MOST_ROWS)),
    )

    def error(r: np.ndarray) -> float:
        return natural_map(laws, r, problem.velocity_of(r), scales.weight, scales.scale, y, p)

    best, least = r, error(r)
    if not tol < least < NEAR or n > MOST:
        return r, 0
    W, one, rows_of = problem.W.toarray() / scales.weight[:, None], np.ones(n), elements_rows(laws)
    x, count = r, 0
    while count < STEPS and least > tol:
        np.subtract(x, problem.velocity_of(x) / scales.weight, out=y)
        project(laws, y, p, branch)
        J, A = np.eye(n), W - np.eye(n)
        derivatives(laws, y, p, branch, one, C)
        for rows, slope in zip(rows_of, C, strict=True):
            J[rows] += slope[: rows.size, : rows.size] @ A[rows]
        x = x + np.linalg.lstsq(J, p - x, rcond=RANK)[0]
        count += 1
        now = error(x)
        if now < least:
            best, least = x, now
    return best, count

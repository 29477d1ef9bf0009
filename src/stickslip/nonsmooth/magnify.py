"""Contacts that nearly stick, and cannot all do so: their small disagreement is magnified, then reduced again.

The corners of a face that sticks have more rows than the face has motions. In a step that tilts the face, or turns it while
it rebounds, these rows differ by a little, say delta = 1e-8 m/s. Then Coulomb's law lets some of them slip by as little,
with all the friction that they can have, and velocities of 1e-8 m/s decide which ones these are. Beside the others they are
nothing: all solvers end where every row misses by a share of delta.

With q + (a - 1) delta, where delta is the part of the velocities of these rows that no multipliers can change, slips are of
the size a delta, while the forces stay the same, as far as slips of this size matter for nothing else. So problems with a
from 1e-3/|delta| down to 1, each from the forces of the one before, lead to the solution: from residuals of 4e-9 and 2.6e-8,
where everything else stops, to 1e-10 (steps of stacks of 20 boxes in the plane and in space).
"""

from __future__ import annotations

import numpy as np

from stickslip.nonsmooth.cones import NORMAL
from stickslip.nonsmooth.measure import error_of, scratch
from stickslip.nonsmooth.operator import size_of
from stickslip.nonsmooth.problem import Problem
from stickslip.nonsmooth.proximal import robust

NEAR = 1e-5  # a residual from which it is worth trying
STICKING = 100.0  # times the residual: slips that may be due to it
LARGEST, FACTOR = 1e-3, 10.0  # relative size of the magnified slips, and how it falls
LOST = 1e-6  # residual of a magnified problem that was not solved
ROUNDS = 6
MOST = 1500  # rows, for which a dense decomposition is affordable
RANK = 1e-9


def magnified(problem: Problem, r: np.ndarray, tol: float) -> tuple[np.ndarray, int]:
    """From multipliers r whose residual is small, but not small enough; what was found, and how many problems were solved."""
    laws, scales, op = problem.laws, problem.scales, problem.operator
    work = scratch(problem.n_rows, size_of(op), laws.kind.size)
    error = error_of(op, laws, scales, r, work)
    if not tol < error < NEAR or problem.n_rows > MOST:
        return r, 0
    delta = disagreement(problem, r, work.u.copy(), STICKING * error)
    size = float(np.abs(delta / scales.scale).max(initial=0.0))
    if not size > 0.1 * tol:
        return r, 0
    x, a, count = r.copy(), max(LARGEST / size, 1.0), 0
    while True:
        bigger = op._replace(offset=op.offset + (a - 1.0) * delta)
        reached = robust(bigger, laws, scales, x, tol, ROUNDS, work)[0]
        count += 1
        if a == 1.0 or not reached < LOST:
            return x, count
        a = max(a / FACTOR, 1.0)


def disagreement(problem: Problem, r: np.ndarray, u: np.ndarray, slow: float) -> np.ndarray:
    """The part of the velocities u of rows that are closed or slip slower than `slow` that no multipliers can change."""
    laws, scales, close = problem.laws, problem.scales, np.zeros(problem.n_rows, bool)
    for b in range(laws.kind.size):
        rows = slice(laws.start[b], laws.start[b] + laws.size[b])
        if laws.kind[b] == NORMAL:
            close[rows] = r[rows] > 0.0
        else:
            radius = laws.radius[b] + (laws.mu[b] * r[laws.normal[b]] if laws.normal[b] >= 0 else 0.0)
            close[rows] = radius > 0.0 and np.abs(u[rows] / scales.scale[rows]).max() < slow
    A = problem.W[close].toarray() / scales.scale[close, None] / np.sqrt(scales.weight)
    b = u[close] / scales.scale[close]
    delta = np.zeros(problem.n_rows)
    delta[close] = (b - A @ np.linalg.lstsq(A, b, rcond=RANK)[0]) * scales.scale[close]
    return delta

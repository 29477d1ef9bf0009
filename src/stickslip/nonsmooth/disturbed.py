"""A solution that no solver leads to may lie on another branch: problems with other free velocities lead there.

Contact problems with friction have several solutions, or branches of them that end where two meet. Following one branch (more
and more friction, a better start) then ends at its fold. Where no contacts jam (`jam`) a solution exists all the same. So the
free velocities are disturbed at random, q + a d with d in the range of W, and the solution of that problem is followed
from a = 1 to a = 0, in steps that a failure divides and a success widens. A heap of 20 spheres at an impact: its branch from
no friction ends at 0.9775 of the friction, and the third disturbance leads to a solution with twice the forces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stickslip.nonsmooth.jam import jam_of
from stickslip.nonsmooth.problem import Problem

TRIALS = 18
SIZES = (0.15, 0.03, 0.006)  # of the disturbance in units of the free velocities, in turn
FIRST, LEAST = 0.25, 1e-3  # step in a, and the one at which a path is given up
MOST = 300  # rows: a path takes 30 solutions, of 10 ms each for 130

Follow = Callable[[Problem, np.ndarray, float], tuple[np.ndarray, bool]]


def from_disturbed(problem: Problem, r: np.ndarray, tol: float, solve: Follow) -> tuple[np.ndarray, int]:
    """What paths from disturbed problems lead to, and how many problems were solved on them; r itself if to nothing."""
    if problem.n_rows > MOST or jam_of(problem) is not None:
        return r, 0
    rng, W, q, scales, count = np.random.default_rng(0), problem.W, problem.q, problem.scales, 0
    for trial in range(TRIALS):
        size = SIZES[trial % len(SIZES)]
        d = size * (W @ (rng.normal(size=r.size) * scales.scale / scales.weight))
        a, step, x = 1.0 + FIRST, FIRST, np.zeros(r.size)
        while a > 0.0 and step > LEAST:
            nearer = max(0.0, a - step)
            found, solved = solve(replace(problem, W_given=W, q_given=q + nearer * d, M=None), x, tol)
            count += 1
            if solved:
                a, x, step = nearer, found, 1.5 * step
            elif a > 1.0:
                break
            else:
                step /= 3.0
        if a == 0.0:
            return x, count
    return r, count

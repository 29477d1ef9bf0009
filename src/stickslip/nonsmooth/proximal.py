"""The robust method: ADMM finds which contacts stick, slip or open; a proximal Newton method finishes.

Both work on the laws r = project(r - beta u) and need only the linear systems of `operator`, which stay regular however
redundant the contacts are. beta = kappa/w max(1, |r| w/speed), w the Delassus diagonal: percussions that are large for
their mass (a light body under a heavy one) count in their own measure, which carries mass ratios of 1e6.

    ADMM            x  minimises the energy plus beta/2 |u - z|^2 with the multipliers r, one factorisation for many steps
                    y = r - beta (1.6 u - 0.6 z),  r+ = project(y),  z = (r+ - y)/beta
                    kappa follows the ratio of |u - z| and |z - z_old|
    proximal Newton F(x) = 0: x belongs to p = project(r - beta u(x)), r fixed; then r = p (`newton`)

Proximal Newton converges superlinearly once kappa is large; with a large kappa from the start it is the semismooth Newton
method with a merit function, solver "newton".
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import jit
from stickslip.nonsmooth.laws import MOST_ROWS, Laws, project
from stickslip.nonsmooth.measure import Scales, Scratch, error_of, set_beta
from stickslip.nonsmooth.newton import CAREFUL, OUTER, newton
from stickslip.nonsmooth.operator import (
    Operator,
    add_elements,
    add_forces,
    clear,
    factor_matrix,
    solve_matrix,
    velocities,
)
from stickslip.patience import look

OVER = 1.6  # over-relaxation of ADMM
REUSE = 25  # steps of ADMM before kappa is looked at again
IDENTIFIED = 1e-3  # residual at which Newton's method takes over


@jit
def _factor_admm(op: Operator, laws: Laws, s: Scratch) -> bool:
    C = np.zeros((laws.element.size - 1, MOST_ROWS, MOST_ROWS))
    for e in range(laws.element.size - 1):
        first, last = laws.element[e], laws.element[e + 1]
        row = laws.start[first]
        for i in range(row, laws.start[last - 1] + laws.size[last - 1]):
            C[e, i - row, i - row] = s.beta[i]
    clear(op)
    add_elements(op, laws, C)
    return factor_matrix(op)


@jit
def admm(
    op: Operator, laws: Laws, scales: Scales, r: np.ndarray, kappa: float, steps: int, target: float, s: Scratch
) -> tuple[float, float, int, int]:
    """Improve r and the velocities s.z until the residual is below `target`; residual, kappa, factorisations and steps."""
    n, refactor, since, primal, dual, factored = r.size, True, 0, 0.0, 0.0, 0
    error, least = np.inf, np.inf  # not that of the start: rounds that all begin at one r would all end at one r
    s.best[:] = r
    s.best_z[:] = s.z
    for step in range(steps):
        if refactor:
            set_beta(laws, scales, r, kappa, s.beta)
            if not _factor_admm(op, laws, s):
                break
            factored, since, primal, dual, refactor = factored + 1, 0, 0.0, 0.0, False
        if op.bodies:
            for i in range(n):
                s.y[i] = r[i] - s.beta[i] * (op.offset[i] - s.z[i])
            s.x[:] = op.f
            add_forces(op, laws, s.y, 1.0, s.x)
        else:
            for i in range(n):
                s.x[i] = r[i] + s.beta[i] * (s.z[i] - op.offset[i])
        solve_matrix(op, s.x, s.work)
        velocities(op, laws, s.x, s.u)
        for i in range(n):
            s.y[i] = r[i] - s.beta[i] * (OVER * s.u[i] + (1.0 - OVER) * s.z[i])
        project(laws, s.y, s.p, s.branch)
        change, gap = 0.0, 0.0
        for i in range(n):
            z = (s.p[i] - s.y[i]) / s.beta[i]
            gap += (s.u[i] - z) ** 2 * s.beta[i] / scales.scale[i]
            change += (z - s.z[i]) ** 2 * s.beta[i] / scales.scale[i]
            s.z[i] = z
            r[i] = s.p[i]
        since += 1
        primal += math.log(max(math.sqrt(gap), 1e-300))
        dual += math.log(max(math.sqrt(change), 1e-300))
        if step % 5 == 4:
            error = error_of(op, laws, scales, r, s)
            if error < least:
                least = error
                s.best[:] = r
                s.best_z[:] = s.z
            if error <= target or not error < np.inf:
                break
        if since >= REUSE:
            ratio = math.exp((primal - dual) / since)
            if ratio > 3.0 or ratio < 1.0 / 3.0:
                kappa *= min(max(ratio, 1.0 / 30.0), 30.0)
                refactor = True
            elif since >= 4 * REUSE:
                refactor = True
    r[:] = s.best
    s.z[:] = s.best_z
    return least, kappa, factored, step + 1


def robust(
    op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float, rounds: int, s: Scratch
) -> tuple[float, int, int]:
    """Rounds of ADMM and proximal Newton from r; residual, factorisations and steps of ADMM.

    Not compiled: it calls compiled functions a few times, and compiling it took as long as compiling these.
    """
    error, kappa, factored, steps = error_of(op, laws, scales, r, s), 1.0, 0, 0
    least = error
    s.kept[:] = r
    s.z[:] = s.u
    for k in range(rounds):
        if error <= tol:
            break
        look()
        if k > 0 or error > IDENTIFIED:
            target = max(tol, min(IDENTIFIED, 0.1 * error))
            error, kappa, a, b = admm(op, laws, scales, r, kappa, 100 if k < 2 else 200, target, s)
            factored, steps = factored + a, steps + b
        if error > tol:
            finished, a = newton(op, laws, scales, r, tol, CAREFUL, OUTER, s)
            factored += a
            if finished < error:
                error = error_of(op, laws, scales, r, s)
                s.z[:] = s.u
        if error < least:
            least = error
            s.kept[:] = r
    r[:] = s.kept
    return least, factored, steps

"""Proximal Newton: the end of the robust method, and all of it where the start is nearly a solution.

F(x) = 0 says that x belongs to p = project(r - beta u(x)) with r fixed; semismooth Newton solves it, then r = p. kappa, the
size of beta, grows while that takes few steps and shrinks where it fails. Percussions move by beta u per proximal step: those
that have to travel far (contacts that cannot all stick) need a large kappa, and that needs what a smaller one has found.

Of bodies, F is the gradient of a convex function of v but for the coupling of friction and normal force. So a step d goes as
far as d F(v + t d) stays negative, like an exact line search; |F|^2, which the stiffest contact rules, stops ten times as early
(18 capped stages of 1000 spheres: 15 solved, 16 with d F, which takes a third less time). Where that coupling makes d F
positive from the start, and of local problems, |F|^2 has to fall (of 240 runs with random heaps 2 fail instead of 6).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import jit
from stickslip.nonsmooth.krylov import affordable, gmres
from stickslip.nonsmooth.laws import MOST_ROWS, Laws, derivatives, project
from stickslip.nonsmooth.measure import Scales, Scratch, error_of, set_beta
from stickslip.nonsmooth.operator import (
    Operator,
    add_elements,
    clear,
    factor_matrix,
    largest,
    merit,
    residual_of,
    solve_matrix,
    unknowns_of,
    velocities,
)

OUTER = 40
INNER, INNER_LOCAL = 20, 10
BACKTRACKS, SHORTEST = 6, 0.05
LEFT = 0.3  # of the slope d F, that a line search may leave
LARGEST_KAPPA = 1e8


class Pace(NamedTuple):
    """How kappa begins, grows after steps that were easy and shrinks after those that failed, and how many may fail in a row.

    A step also fails if it does not lower the residual.
    """

    kappa: float
    up: float
    down: float
    failures: int


CAREFUL = Pace(1.0, 4.0, 16.0, 6)  # where the statuses of most contacts are still to be found


@jit
def _evaluate(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, x: np.ndarray, s: Scratch) -> None:
    """F(x) in s.g, for the proximal centre r."""
    velocities(op, laws, x, s.u)
    for i in range(r.size):
        s.y[i] = r[i] - s.beta[i] * s.u[i]
    project(laws, s.y, s.p, s.branch)
    residual_of(op, laws, x, s.p, s.g)


@jit
def _direction(op: Operator, laws: Laws, s: Scratch, C: np.ndarray, V: np.ndarray, factored: int) -> tuple[bool, int]:
    """The step s.step, with the factors at hand or with new ones; whether there is one, and factorisations so far."""
    derivatives(laws, s.y, s.p, s.branch, s.beta, C)
    for i in range(s.g.size):
        s.step[i] = -s.g[i]
    if factored > 0 and V.shape[0] > 1 and gmres(op, laws, C, s.step, V.shape[0] - 1, V, s.x, s.work):
        return True, factored
    clear(op)
    add_elements(op, laws, C)
    if not factor_matrix(op):
        return False, factored
    for i in range(s.g.size):
        s.step[i] = -s.g[i]
    solve_matrix(op, s.step, s.work)
    return True, factored + 1


@jit
def _go(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, x: np.ndarray, share: float, s: Scratch) -> float:
    """Evaluate at s.x + share s.step, which becomes x; the slope d F."""
    slope = 0.0
    for i in range(x.size):
        x[i] = s.x[i] + share * s.step[i]
    _evaluate(op, laws, scales, r, x, s)
    for i in range(x.size):
        slope += s.step[i] * s.g[i]
    return slope


@jit
def _search(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, x: np.ndarray, s: Scratch) -> bool:
    """Go along s.step, at most all of it, to where d F is nearly zero, by false position; False, and x stays, if it rises."""
    start = 0.0
    for i in range(x.size):
        start += s.step[i] * s.g[i]
    if not start < 0.0:
        return False
    s.x[:] = x
    low, slope_low, high, slope_high, share, side = 0.0, start, 1.0, 0.0, 1.0, 0
    for _ in range(2 * BACKTRACKS):
        slope = _go(op, laws, scales, r, x, share, s)
        if abs(slope) <= -LEFT * start or (slope < 0.0 and share == 1.0):
            return True
        if not abs(slope) < np.inf:
            _go(op, laws, scales, r, x, 0.0, s)
            return False
        if slope > 0.0:
            high, slope_high = share, slope
            slope_low *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            low, slope_low = share, slope
            slope_high *= 0.5 if side == -1 else 1.0
            side = -1
        share = low - slope_low * (high - low) / (slope_high - slope_low)
        share = min(max(share, low + SHORTEST * (high - low)), high - SHORTEST * (high - low))
    return True


@jit
def _backtrack(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, x: np.ndarray, s: Scratch) -> bool:
    """Go along s.step as far as |F|^2 falls; False if it does not."""
    square, share = merit(op, scales.weight, scales.scale, s.g, s.work), 1.0
    s.x[:] = x
    for _ in range(BACKTRACKS):
        _go(op, laws, scales, r, x, share, s)
        now = merit(op, scales.weight, scales.scale, s.g, s.work)
        if now <= (1.0 - 0.1 * share) * square or now < 1e-26 * _unit(scales):
            return True
        share *= 0.5
    return False


@jit
def _unit(scales: Scales) -> float:
    """Square of a residual of the size of the problem."""
    total = 0.0
    for i in range(scales.weight.size):
        total += scales.scale[i] / scales.weight[i]
    return total


@jit
def newton(
    op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float, pace: Pace, outer: int, s: Scratch
) -> tuple[float, int]:
    """Proximal Newton from r; residual and factorisations."""
    elements, kappa = laws.element.size - 1, pace.kappa
    C = np.empty((elements, MOST_ROWS, MOST_ROWS))
    V = np.empty((affordable(op, elements) + 1 if op.bodies else 1, s.g.size))
    error, factored, failures = error_of(op, laws, scales, r, s), 0, 0
    least = error
    s.best[:] = r
    unknowns_of(op, laws, r, s.trial, s.work)
    x = s.trial
    for _ in range(outer):
        if error <= tol:
            break
        set_beta(laws, scales, r, kappa, s.beta)
        s.start[:] = x
        _evaluate(op, laws, scales, r, x, s)
        converged, taken = False, 0
        for _ in range(INNER if op.bodies else INNER_LOCAL):
            if largest(op, scales.weight, scales.scale, scales.speed, s.g, s.work) <= max(0.1 * tol, 1e-2 * error):
                converged = True
                break
            found, factored = _direction(op, laws, s, C, V, factored)
            taken += 1
            if not found:
                break
            if not ((op.bodies and _search(op, laws, scales, r, x, s)) or _backtrack(op, laws, scales, r, x, s)):
                break
        if converged:
            for i in range(r.size):
                r[i] = s.p[i]
            error = error_of(op, laws, scales, r, s)
            if error < least:
                least, failures = error, 0
                s.best[:] = r
            else:
                failures += 1
            if taken <= 4:
                kappa = min(LARGEST_KAPPA, pace.up * kappa)
        else:
            failures += 1
            kappa /= pace.down
            x[:] = s.start
        if failures >= pace.failures or not error < np.inf:
            break
    r[:] = s.best
    return least, factored

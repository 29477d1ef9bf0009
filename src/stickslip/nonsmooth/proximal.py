"""The robust method: ADMM finds which contacts stick, slip or open; a proximal Newton method finishes.

Both work on the laws r = project(r - beta u) and need only the linear systems of `operator`, which stay regular however
redundant the contacts are. beta = kappa/w max(1, |r| w/speed), w the Delassus diagonal: percussions that are large for
their mass (a light body under a heavy one) count in their own measure, which carries mass ratios of 1e6.

    ADMM            x  minimises the energy plus beta/2 |u - z|^2 with the multipliers r, one factorisation for many steps
                    y = r - beta (1.6 u - 0.6 z),  r+ = project(y),  z = (r+ - y)/beta
                    kappa follows the ratio of |u - z| and |z - z_old|
    proximal Newton F(x) = 0: x belongs to p = project(r - beta u(x)), r fixed; semismooth Newton with backtracking on |F|^2,
                    then r = p. kappa grows while that takes few steps and shrinks where it fails.

Proximal Newton converges superlinearly once kappa is large; with a large kappa from the start it is the semismooth Newton
method with a merit function, solver "newton".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import jit
from stickslip.nonsmooth.laws import MOST_ROWS, Laws, derivative, natural_map, project
from stickslip.nonsmooth.operator import (
    Operator,
    add_element,
    add_forces,
    clear,
    factor_matrix,
    largest,
    merit,
    residual_of,
    solve_matrix,
    unknowns_of,
    velocities,
)

OVER = 1.6  # over-relaxation of ADMM
REUSE = 25  # steps of ADMM before kappa is looked at again
IDENTIFIED = 1e-3  # residual at which Newton's method takes over
INNER, OUTER, BACKTRACKS = 10, 40, 6
LARGEST_KAPPA = 1e8
FAILURES = 6  # of proximal steps, after which ADMM goes on


class Scales(NamedTuple):
    """Of rows: `weight`, the Delassus diagonal of their block, and `scale`, the velocity (or gap) they are held against.

    `speed`: the largest free velocity. A residual is relative to these.
    """

    weight: np.ndarray
    scale: np.ndarray
    speed: float


class Scratch(NamedTuple):
    """Arrays of one value per row (r, u, ...), per unknown (x, ...) and per block."""

    u: np.ndarray
    y: np.ndarray
    p: np.ndarray
    z: np.ndarray
    best: np.ndarray
    best_z: np.ndarray
    kept: np.ndarray
    beta: np.ndarray
    x: np.ndarray
    start: np.ndarray
    trial: np.ndarray
    g: np.ndarray
    step: np.ndarray
    work: np.ndarray
    branch: np.ndarray
    C: np.ndarray


def scratch(rows: int, unknowns: int, blocks: int) -> Scratch:
    """Scratch arrays of a problem."""
    by_row = {name: np.zeros(rows) for name in ("u", "y", "p", "z", "best", "best_z", "kept", "beta")}
    by_unknown = {name: np.zeros(unknowns) for name in ("x", "start", "trial", "g", "step")}
    work = np.zeros(max(rows, unknowns))
    return Scratch(
        **by_row, **by_unknown, work=work, branch=np.zeros(blocks, np.int64), C=np.zeros((MOST_ROWS, MOST_ROWS))
    )


@jit
def error_of(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, s: Scratch) -> float:
    """The relative natural map at r; its velocities are left in s.u."""
    unknowns_of(op, laws, r, s.x, s.work)
    velocities(op, laws, s.x, s.u)
    return natural_map(laws, r, s.u, scales.weight, scales.scale, s.y, s.p)


@jit
def _set_beta(laws: Laws, scales: Scales, r: np.ndarray, kappa: float, beta: np.ndarray) -> None:
    """beta = kappa/w max(1, |r| w/speed), with the largest |r| w/speed of the element."""
    for e in range(laws.element.size - 1):
        last = laws.element[e + 1] - 1
        first, end, share = laws.start[laws.element[e]], laws.start[last] + laws.size[last], 1.0
        for i in range(first, end):
            share = max(share, abs(r[i]) * scales.weight[i] / scales.scale[i])
        for i in range(first, end):
            beta[i] = kappa * share / scales.weight[i]


@jit
def _factor_admm(op: Operator, laws: Laws, s: Scratch) -> bool:
    clear(op)
    for e in range(laws.element.size - 1):
        first, last = laws.element[e], laws.element[e + 1]
        row = laws.start[first]
        s.C[:, :] = 0.0
        for i in range(row, laws.start[last - 1] + laws.size[last - 1]):
            s.C[i - row, i - row] = s.beta[i]
        add_element(op, laws, e, s.C)
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
            _set_beta(laws, scales, r, kappa, s.beta)
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


@jit
def _evaluate(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, x: np.ndarray, s: Scratch) -> float:
    """F(x) in s.g and its square, for the proximal centre r."""
    velocities(op, laws, x, s.u)
    for i in range(r.size):
        s.y[i] = r[i] - s.beta[i] * s.u[i]
    project(laws, s.y, s.p, s.branch)
    residual_of(op, laws, x, s.p, s.g)
    return merit(op, scales.weight, scales.scale, s.g, s.work)


@jit
def _newton_direction(op: Operator, laws: Laws, s: Scratch) -> bool:
    clear(op)
    for e in range(laws.element.size - 1):
        if derivative(laws, e, s.y, s.p, s.branch, s.beta, s.C):
            add_element(op, laws, e, s.C)
    if not factor_matrix(op):
        return False
    for i in range(s.g.size):
        s.step[i] = -s.g[i]
    solve_matrix(op, s.step, s.work)
    return True


@jit
def newton(
    op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float, kappa: float, outer: int, s: Scratch
) -> tuple[float, int]:
    """Proximal Newton from r; residual and factorisations."""
    error, factored, failures = error_of(op, laws, scales, r, s), 0, 0
    least = error
    s.best[:] = r
    unknowns_of(op, laws, r, s.trial, s.work)
    x = s.trial
    for _ in range(outer):
        if error <= tol:
            break
        _set_beta(laws, scales, r, kappa, s.beta)
        s.start[:] = x
        square, converged, taken = _evaluate(op, laws, scales, r, x, s), False, 0
        for _ in range(INNER):
            if largest(op, scales.weight, scales.scale, scales.speed, s.g, s.work) <= max(0.1 * tol, 1e-2 * error):
                converged = True
                break
            if not _newton_direction(op, laws, s):
                break
            factored += 1
            taken += 1
            share, decreased = 1.0, False
            s.x[:] = x
            for _ in range(BACKTRACKS):
                for i in range(x.size):
                    x[i] = s.x[i] + share * s.step[i]
                now = _evaluate(op, laws, scales, r, x, s)
                if now <= (1.0 - 0.1 * share) * square or now < 1e-26 * _unit(op, scales):
                    decreased = True
                    break
                share *= 0.5
            if not decreased:
                break
            square = now
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
                kappa = min(LARGEST_KAPPA, 4.0 * kappa)
        else:
            failures += 1
            kappa /= 16.0
            x[:] = s.start
        if failures >= FAILURES or not error < np.inf:
            break
    r[:] = s.best
    return least, factored


@jit
def _unit(op: Operator, scales: Scales) -> float:
    """Square of a residual of the size of the problem."""
    if op.bodies:
        return scales.speed**2
    total = 0.0
    for i in range(scales.weight.size):
        total += scales.scale[i] / scales.weight[i]
    return total


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
        if k > 0 or error > IDENTIFIED:
            target = max(tol, min(IDENTIFIED, 0.1 * error))
            error, kappa, a, b = admm(op, laws, scales, r, kappa, 100 if k < 2 else 200, target, s)
            factored, steps = factored + a, steps + b
        if error > tol:
            finished, a = newton(op, laws, scales, r, tol, 1.0, OUTER, s)
            factored += a
            if finished < error:
                error = error_of(op, laws, scales, r, s)
                s.z[:] = s.u
        if error < least:
            least = error
            s.kept[:] = r
    r[:] = s.kept
    return least, factored, steps

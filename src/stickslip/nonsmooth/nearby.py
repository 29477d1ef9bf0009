"""Solvers of bodies from a start that is nearly a solution, as sweeps that hit their cap leave it: arrays in, no `Problem`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.measure import Scales, error_of, scratch
from stickslip.nonsmooth.newton import Pace, newton
from stickslip.nonsmooth.operator import Operator, size_of
from stickslip.nonsmooth.proximal import robust

# Percussions of such a start are 5 to 15 % off, a few contacts have a wrong status. With kappa = 1e4 the first step fails in
# most of 18 capped stages of 1000 spheres. Where friction makes forces grow that a proximal step should reduce, the residual
# rises for many steps, and falls again once kappa is large: hence the patience, and a kappa that falls slowly.
NEAR = Pace(160.0, 4.0, 4.0, 20)
PACES = NEAR, NEAR._replace(kappa=1e4), NEAR._replace(up=10.0)
OUTER, FEWER, LONG = 60, 20, 120
# Tries: a pace, and the share of the tolerance by which free velocities are disturbed. Which branches a path leads through, and
# where it ends, is chance where friction makes forces grow. Of 11 stages of a settled pile of 1000 spheres that cost most, NEAR
# solves 8, and gives up 8 of them if it may fail 8 times only; the first of these solves one of two others that were tried.
SLOWLY = Pace(160.0, 2.0, 2.0, 30)
TRIES = (SLOWLY, 0.0, LONG), (SLOWLY, 0.6, LONG)
FRICTION = 0.9, 0.95, 0.98
LESS, SHORT = 30.0, 12  # times the tolerance, and proximal steps, of a problem with less friction
ROUNDS = 3

Nearby = Callable[[Operator, Laws, Scales, np.ndarray, float], bool]


def by_newton(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """Proximal Newton alone; r becomes the best that was found. Whether it is below tol."""
    return bool(newton(op, laws, scales, r, tol, NEAR, OUTER, scratch(r.size, size_of(op), laws.kind.size))[0] <= tol)


def by_patience(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """The same for many steps, in which kappa changes slowly, in one try after the other."""
    work, random = scratch(r.size, size_of(op), laws.kind.size), np.random.default_rng(0)
    start, least = r.copy(), np.inf
    for pace, share, outer in TRIES:
        x, other = start.copy(), op
        if share > 0.0:  # gaps, whose scale is larger, by as much as slips
            other = op._replace(offset=op.offset + share * tol * scales.scale.min() * random.uniform(-1, 1, r.size))
        newton(other, laws, scales, x, (1.0 - share) * tol, pace, outer, work)
        error = error_of(op, laws, scales, x, work)
        if error < least:
            least, r[:] = error, x
        if least <= tol:
            return True
    return False


def at_one_pace(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """Proximal Newton at the last of these paces, for fewer steps: where sweeps go on whatever comes out of it."""
    return bool(
        newton(op, laws, scales, r, tol, PACES[-1], FEWER, scratch(r.size, size_of(op), laws.kind.size))[0] <= tol
    )


def by_friction(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """The same with less friction at first: contacts that slip there and stick at last are found one after the other."""
    work = scratch(r.size, size_of(op), laws.kind.size)
    for share in FRICTION:
        newton(op, laws._replace(mu=share * laws.mu), scales, r, LESS * tol, NEAR, SHORT, work)
    return bool(newton(op, laws, scales, r, tol, NEAR, OUTER, work)[0] <= tol)


def by_admm(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """The robust method: rounds of ADMM and Newton."""
    work = scratch(r.size, size_of(op), laws.kind.size)
    return bool(robust(op, laws, scales, r, tol, ROUNDS, work)[0] <= tol)

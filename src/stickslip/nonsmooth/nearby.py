"""Solvers of bodies from a start that is nearly a solution, as sweeps that hit their cap leave it: arrays in, no `Problem`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.measure import Scales, scratch
from stickslip.nonsmooth.newton import Pace, newton
from stickslip.nonsmooth.operator import Operator, size_of
from stickslip.nonsmooth.proximal import robust

# Percussions of such a start are 5 to 15 % off, a few contacts have a wrong status. With kappa = 1e4 the first step fails in
# most of 18 capped stages of 1000 spheres. Where friction makes forces grow that a proximal step should reduce, the residual
# rises for many steps, and falls again once kappa is large: hence the patience, and a kappa that falls slowly.
NEAR = Pace(160.0, 4.0, 4.0, 20)
PACES = NEAR, NEAR._replace(kappa=1e4), NEAR._replace(up=10.0)
OUTER, FEWER = 60, 20
FRICTION = 0.9, 0.95, 0.98
LESS, SHORT = 30.0, 12  # times the tolerance, and proximal steps, of a problem with less friction
ROUNDS = 3

Nearby = Callable[[Operator, Laws, Scales, np.ndarray, float], bool]


def by_newton(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """Proximal Newton alone, at one pace after the other; r becomes the best that was found. Whether it is below tol."""
    work = scratch(r.size, size_of(op), laws.kind.size)
    start, least = r.copy(), np.inf
    for pace in PACES:
        x = start.copy()
        error = newton(op, laws, scales, x, tol, pace, OUTER, work)[0]
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

"""Solvers of bodies from a start that is nearly a solution, as sweeps that hit their cap leave it: arrays in, no `Problem`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.measure import Scales, scratch
from stickslip.nonsmooth.newton import newton
from stickslip.nonsmooth.operator import Operator, size_of
from stickslip.nonsmooth.proximal import robust

# Percussions of such a start are 5 to 15 % off, a few contacts have a wrong status. With kappa = 1e4 the first step fails in
# most of 18 capped stages of 1000 spheres.
KAPPA = 160.0
OUTER = 40
FRICTION = 0.9, 0.95, 0.98
LESS, SHORT = 30.0, 12  # times the tolerance, and proximal steps, of a problem with less friction
ROUNDS = 3

Nearby = Callable[[Operator, Laws, Scales, np.ndarray, float], bool]


def by_newton(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """Proximal Newton alone; r is overwritten by the best that was found. Whether its residual is below tol."""
    work = scratch(r.size, size_of(op), laws.kind.size)
    return bool(newton(op, laws, scales, r, tol, KAPPA, OUTER, work)[0] <= tol)


def by_friction(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """The same with less friction at first: contacts that slip there and stick at last are found one after the other."""
    work = scratch(r.size, size_of(op), laws.kind.size)
    for share in FRICTION:
        newton(op, laws._replace(mu=share * laws.mu), scales, r, LESS * tol, KAPPA, SHORT, work)
    return bool(newton(op, laws, scales, r, tol, KAPPA, OUTER, work)[0] <= tol)


def by_admm(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """The robust method: rounds of ADMM and Newton."""
    work = scratch(r.size, size_of(op), laws.kind.size)
    return bool(robust(op, laws, scales, r, tol, ROUNDS, work)[0] <= tol)

"""Solvers of bodies for stages whose sweeps hit their cap: Newton's method from where they are, then the path to a solution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stickslip.nonsmooth.curve import curve_of
from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.measure import Scales, error_of, scratch
from stickslip.nonsmooth.newton import Pace, newton
from stickslip.nonsmooth.operator import Operator, size_of
from stickslip.nonsmooth.path import path_to_solution
from stickslip.nonsmooth.proximal import robust

# Percussions of such a start are a little off, and a few contacts have a wrong status, so a large kappa makes the first step
# fail. Where friction makes forces grow that a proximal step should reduce, the residual
# rises for many steps, and falls again once kappa is large: hence patience, and a kappa that falls slowly. Forces of a pile
# that moves slowly hold each other from step to step, and the branch of solutions that they belong to may end: no step of
# Newton's method leads on from there, but the path does.
NEAR = Pace(160.0, 4.0, 4.0, 20)
FASTER = NEAR._replace(up=10.0)
OUTER, FEWER = 60, 20
# Newton's method from points of a path: it mostly succeeds soon, or not at all. Errors of points are of the size of t. Rounding
# errors may end a path at a sharp bend, where t is 1e-4 and less: then with patience, from the last points.
SOON = NEAR._replace(failures=4)
LAST_POINTS = 2
WORTH = 1000.0, 2e-3  # of the tolerance, or of the free velocities: the error of a point from which it is tried
MOST_ON_PATH = 5000  # contacts: a path takes hundreds of factorisations
ROUNDS = 3  # of ADMM and Newton, where laws have no path

Nearby = Callable[[Operator, Laws, Scales, np.ndarray, float], bool]


def by_newton(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """Proximal Newton alone; r becomes the best that was found. Whether it is below tol."""
    return _newton(op, laws, scales, r, tol, NEAR, OUTER)


def at_one_pace(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """The same at another pace, for fewer steps: where sweeps go on whatever comes out of it."""
    return _newton(op, laws, scales, r, tol, FASTER, FEWER)


def _newton(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float, pace: Pace, outer: int) -> bool:
    return bool(newton(op, laws, scales, r, tol, pace, outer, scratch(r.size, size_of(op), laws.kind.size))[0] <= tol)


def by_path(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float) -> bool:
    """The path to a solution, which forgets r; the robust method where there is none. r stays if nothing better is found."""
    work = scratch(r.size, size_of(op), laws.kind.size)
    if laws.element.size - 1 > MOST_ON_PATH:
        return False
    if curve_of(op, laws, scales) is None:
        return bool(robust(op, laws, scales, r, tol, ROUNDS, work)[0] <= tol)

    def finish(x: np.ndarray) -> tuple[np.ndarray, float]:
        error = error_of(op, laws, scales, x, work)
        if error <= max(WORTH[0] * tol, WORTH[1]):
            points.append(x.copy())
            error = newton(op, laws, scales, x, tol, SOON, FEWER, work)[0]
        return x, error

    points: list[np.ndarray] = []
    found, least = path_to_solution(op, laws, scales, tol, finish).reaction, error_of(op, laws, scales, r, work)
    for x in (found, *points[: -1 - LAST_POINTS : -1]):
        if x is None or least <= tol:
            break
        error = error_of(op, laws, scales, x, work)
        if x is not found and error > tol:
            error = newton(op, laws, scales, x, tol, NEAR, OUTER, work)[0]
        if error < least:
            r[:], least = x, error
    return bool(least <= tol)

"""Equations of the path to a solution (`path`), and their derivatives, in the unknowns of an `Operator`.

In units in which the cones of all contacts are |x_T| <= x_N, with multipliers r = D x and velocities y = K u of every row,

    x = P(x - ŷ),    ŷ_N = y_N + (1 - t^2) |y_T| + t^2 s,  ŷ_T = y_T              P: the smoothed projection of `cones`
    y + t^2 x = 0                                                                 constraints, also redundant ones

with numbers s of every contact. With Q of `smoothed_cone` and S = dŷ/dy a change of x is
dx = (I + Q) (right-hand side) - Q S K du, so that what is left to solve is a system M + F^T C G on the graph of bodies with
C = D Q S K of every contact, like those of other solvers. Of local problems it is (I - J) dx + J S K du = right-hand side,
whose rows are of unit size: with forces of 1e7 on the way to a jam rounding errors of Q would rule.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import jit
from stickslip.nonsmooth.cones import BALL, NORMAL, ZERO, quadratic, smoothed_cone
from stickslip.nonsmooth.laws import MOST_ROWS, Laws
from stickslip.nonsmooth.measure import Scales
from stickslip.nonsmooth.operator import (
    Operator,
    add_elements,
    add_forces,
    clear,
    factor_matrix,
    size_of,
    solve_matrix,
    unknowns_of,
    velocities,
)

ROUND = 0.3  # of the free velocities: |y_T| is smoothed by t^2 times this
LEFT_OUT, CONTACT, CONSTRAINT = range(3)


class Curve(NamedTuple):
    """By rows r = D x and y = K u; by elements what they are, how many rows take part, and the opening s."""

    D: np.ndarray
    K: np.ndarray
    element: np.ndarray
    rows: np.ndarray
    opening: np.ndarray


class Along(NamedTuple):
    """A point of the curve: scratch, and by rows the right-hand sides of a Newton step and of the tangent."""

    r: np.ndarray
    u: np.ndarray
    x: np.ndarray
    work: np.ndarray
    newton: np.ndarray
    drift: np.ndarray
    B: np.ndarray  # by elements: I + Q, or I of local problems
    Q: np.ndarray  # Q S K, or J S K of local problems
    C: np.ndarray  # D times that
    rest: np.ndarray  # I - J of local problems


def curve_of(op: Operator, laws: Laws, scales: Scales) -> Curve | None:
    """The curve of a problem, without openings; None where laws are of other kinds than contacts and constraints."""
    n, rows = laws.element.size - 1, scales.scale.size
    D, K, element, taking_part = np.zeros(rows), np.zeros(rows), np.zeros(n, np.int64), np.zeros(n, np.int64)
    unit = _units(op, scales)
    size = np.sqrt(unit / scales.weight)
    head, last = laws.element[:-1], laws.element[1:] - 1
    first, friction = laws.start[head], last > head
    count = laws.start[last] + laws.size[last] - first
    constraint = (laws.kind[head] == ZERO) & ~friction
    idle = (laws.normal[head] < 0) & (laws.kind[head] == BALL) & (laws.radius[head] == 0.0)
    contact = ~constraint & ~idle
    if not contact.any() or (laws.kind[head][contact] != NORMAL).any() or (last - head)[contact].max() > 1:
        return None
    slips = last[contact & friction]
    if (laws.kind[slips] != BALL).any() or laws.radius[slips].any() or (laws.normal[slips] < 0).any():
        return None
    if (laws.size[slips] > 2).any():
        return None
    mu = np.where(contact & friction, laws.mu[last], 0.0)
    element[contact], element[constraint] = CONTACT, CONSTRAINT
    taking_part[:] = np.where(constraint | (mu > 0.0), count, np.where(contact, 1, 0))
    of, place = np.repeat(np.arange(n), count), np.arange(rows) - np.repeat(first, count)
    here = place < taking_part[of]
    factor = np.where(contact[of], size[first[of]] * np.where(place > 0, mu[of], 1.0), size)
    D[here], K[here] = (factor * scales.speed)[here], (factor / (unit * scales.speed))[here]
    return Curve(D, K, element, taking_part, np.zeros(n))


def _units(op: Operator, scales: Scales) -> np.ndarray:
    """Of rows, such that K W D is symmetric if it can be: gaps and velocities may stand side by side.

    For bodies these are |G|/|F|, so that what is called a unit by the caller does not matter.
    """
    unit = scales.scale / scales.speed
    if op.bodies:
        along, across = (np.sqrt((a * a + b * b).sum(axis=1)) for a, b in ((op.G_a, op.G_b), (op.F_a, op.F_b)))
        unit = np.where((along > 0.0) & (across > 0.0), along / np.where(across > 0.0, across, 1.0), unit)
    return np.asarray(unit)


def along(op: Operator, curve: Curve) -> Along:
    """Scratch for points."""
    rows, n, unknowns = curve.D.size, curve.rows.size, size_of(op)
    a, b, c, d = (np.zeros(rows) for _ in range(4))
    B, Q, C, rest = (np.zeros((n, MOST_ROWS, MOST_ROWS)) for _ in range(4))
    return Along(a, b, np.zeros(unknowns), np.zeros(max(rows, unknowns)), c, d, B, Q, C, rest)


@jit
def velocities_at(op: Operator, laws: Laws, curve: Curve, x: np.ndarray, s: Along) -> None:
    """s.u of multipliers x."""
    for i in range(x.size):
        s.r[i] = curve.D[i] * x[i]
    unknowns_of(op, laws, s.r, s.x, s.work)
    velocities(op, laws, s.x, s.u)


@jit
def residual_at(
    op: Operator, laws: Laws, curve: Curve, x: np.ndarray, tau: float, derive: bool, s: Along, F: np.ndarray
) -> float:
    """F is zero on the curve, at t = exp(-tau); its length. derive: with the derivatives here, else those at hand stay.

    Leaves the right-hand side of a Newton step in s.newton.
    """
    t = math.exp(-tau)
    t_2, total = t * t, 0.0
    y, p, off = np.zeros(MOST_ROWS), np.zeros(MOST_ROWS), np.zeros(MOST_ROWS)
    J, rest = np.zeros((MOST_ROWS, MOST_ROWS)), np.zeros((MOST_ROWS, MOST_ROWS))
    velocities_at(op, laws, curve, x, s)
    for e in range(curve.rows.size):
        row, m = laws.start[laws.element[e]], curve.rows[e]
        if curve.element[e] == CONSTRAINT:
            for i in range(row, row + m):
                F[i] = curve.K[i] * s.u[i] + t_2 * x[i]
                if derive:
                    k = i - row
                    s.B[e, k, k], s.rest[e, k, k] = 1.0 / t_2 if op.bodies else 1.0, t_2
                    s.drift[i] = s.B[e, k, k] * 2.0 * t_2 * x[i]
                    s.Q[e, k, k] = s.B[e, k, k] * curve.K[i]
        elif m > 0:
            square, slip, turn = 0.0, 0.0, 0.0
            for i in range(m):
                y[i] = curve.K[row + i] * s.u[row + i]
                off[i] = x[row + i] - y[i]
                square += y[i] * y[i] if i > 0 else 0.0
            later = -2.0 * t_2 * curve.opening[e]  # dŷ_N/dtau
            if m > 1:
                slip = math.sqrt(square + (ROUND * t_2) ** 2)
                turn = (1.0 - t_2) / slip
                later += 2.0 * t_2 * slip - 2.0 * (1.0 - t_2) * (ROUND * t_2) ** 2 / slip
            off[0] -= (1.0 - t_2) * slip + t_2 * curve.opening[e]
            det = smoothed_cone(off, m, t, p, J, rest)
            for i in range(m):
                F[row + i] = x[row + i] - p[i]
            if derive:
                _derive(op, curve, e, row, m, t, p, det, J, rest, later, turn, y, s)
        for i in range(m):
            s.newton[row + i] = 0.0
            total += F[row + i] ** 2
            for j in range(m):
                s.newton[row + i] -= s.B[e, i, j] * F[row + j]
    return math.sqrt(total)


@jit
def _derive(
    op: Operator, curve: Curve, e: int, row: int, m: int, t: float, p: np.ndarray, det: float, J: np.ndarray,
    rest: np.ndarray, later: float, turn: float, y: np.ndarray, s: Along,
) -> None:  # fmt: skip
    """Derivatives of a contact, as they stand in s."""
    if op.bodies:
        quadratic(p, det, m, t, J)  # Q takes the place of J
    for i in range(m):
        s.drift[row + i] = -J[i, 0] * later
        for j in range(m):
            own = 1.0 if i == j else 0.0
            s.B[e, i, j], s.rest[e, i, j] = own + J[i, j] if op.bodies else own, rest[i, j]
            s.drift[row + i] -= 2.0 * p[j] * (own if op.bodies else rest[i, j])  # dP/dt = (I - J) 2 p/t
            s.Q[e, i, j] = (J[i, j] + (J[i, 0] * turn * y[j] if j > 0 else 0.0)) * curve.K[row + j]


@jit
def factor_at(op: Operator, laws: Laws, curve: Curve, s: Along) -> bool:
    """Factorise the matrix of the derivatives at hand."""
    clear(op)
    for e in range(curve.rows.size):
        row, m = laws.start[laws.element[e]], curve.rows[e]
        for i in range(m):
            for j in range(m):
                s.C[e, i, j] = curve.D[row + i] * s.Q[e, i, j]
                if not op.bodies:
                    op.matrix[row + i, row + j] = s.rest[e, i, j] * curve.D[row + i] / curve.D[row + j]
    add_elements(op, laws, s.C)
    return factor_matrix(op)


@jit
def direction(op: Operator, laws: Laws, curve: Curve, s: Along, right: np.ndarray, out: np.ndarray) -> None:
    """The change of x that belongs to a right-hand side, s.newton or s.drift."""
    for i in range(right.size):
        s.r[i] = curve.D[i] * right[i]
    if not op.bodies:
        s.x[:] = s.r
        solve_matrix(op, s.x, s.work)
        for i in range(right.size):
            out[i] = s.x[i] / curve.D[i] if curve.D[i] > 0.0 else 0.0
        return
    s.x[:] = 0.0
    add_forces(op, laws, s.r, 1.0, s.x)
    solve_matrix(op, s.x, s.work)
    velocities(op, laws, s.x, s.r)
    for e in range(curve.rows.size):
        row, m = laws.start[laws.element[e]], curve.rows[e]
        for i in range(m):
            out[row + i] = right[row + i]
            for j in range(m):
                out[row + i] -= s.Q[e, i, j] * (s.r[row + j] - op.offset[row + j])

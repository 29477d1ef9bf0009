"""A linearised stage whose sweeps hit their cap, for solvers of `nonsmooth` that factorise: bodies, rows and laws as arrays.

It is the same problem, in the same measure, as that of the sweeps: forces have the directions that the scheme gives them, and a
row counts in shares of what is enough there. What is solved here is solved for the sweeps too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.engine.contact_plan import SIZE
from stickslip.engine.contact_state import (
    D_F,
    D_N,
    FIRST,
    HOME_F,
    HOME_N,
    MU,
    RADIUS,
    ROWS,
    SECOND,
    STAYS_OPEN,
    W_F,
    W_N,
    Sweeping,
)
from stickslip.engine.contact_sweeps import natural_map
from stickslip.engine.contact_values import respond
from stickslip.native.wide import place
from stickslip.nonsmooth.cones import BALL, NORMAL
from stickslip.nonsmooth.graph import graph_of
from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.measure import Scales
from stickslip.nonsmooth.nearby import Nearby
from stickslip.nonsmooth.operator import Operator, unknowns_of, velocities
from stickslip.nonsmooth.problem import Problem, elements_rows

SMALLEST = 1e-12  # relative residual that rounding still reaches


def find_start(solver: Nearby, s: Sweeping, count: int, tolerance: float) -> float:
    """Multipliers of another solver that aims at the tolerance, and the velocities that belong to them; their natural map."""
    op, laws, scales, rows = linearised(s, count)
    z = s.z[:count].ravel()
    r = z[rows]
    solver(op, laws, scales, r, max(tolerance / scales.speed, SMALLEST))
    if np.isfinite(r).all():
        z[rows] = r
        s.z[:count] = z.reshape(-1, 3)
        respond(s, count)
    return float(natural_map(s, count))


def linearised(s: Sweeping, count: int) -> tuple[Operator, Laws, Scales, np.ndarray]:
    """The stage as M v = f + F^T r, u = G v + w, with its laws and scales; and which multipliers its rows are.

    Contacts that stay open in this stage are left out. A residual that is relative to `speed` times the unit of a row is the
    natural map of the sweeps over `speed`.
    """
    n, who, numbers = len(s.inverse), s.who[:count], s.numbers[:count]
    takes_part, own = who[:, STAYS_OPEN] == 0, who[:, ROWS]
    here = (np.arange(3) <= own[:, None]) & takes_part[:, None]
    rows = np.flatnonzero(here.ravel())
    A = np.where(s.diagonal[:, None, None], s.inverse[:, :, None] * np.eye(SIZE), s.A)
    M = np.linalg.inv(A)
    bodies, G, F = [], [], []
    for side, column in ((0, FIRST), (1, SECOND)):
        body = who[:, column].astype(np.int64)
        there = body < n
        places = [place(side, i) for i in range(SIZE)]
        along, across = (each[:count][:, :, places].astype(float) for each in (s.G, s.T))
        force = np.where(there[:, None, None], across @ M[np.where(there, body, 0)].transpose(0, 2, 1), 0.0)
        bodies.append(np.where(there, body, -1)[takes_part])
        G.append(np.ascontiguousarray(along[here]))
        F.append(np.ascontiguousarray(force[here]))
    first, slips = np.cumsum(here.ravel()).reshape(-1, 3)[takes_part, 0] - 1, own[takes_part] > 0
    laws = _laws(first, own[takes_part], slips, numbers[takes_part])
    f, z = np.einsum("bij,bj->bi", M, s.v[:n]), s.z[:count][here]  # without the forces of contacts that stay open
    of = np.repeat(np.arange(len(first)), 1 + own[takes_part])
    for body, force in zip(bodies, F, strict=True):
        there = body[of] >= 0
        np.subtract.at(f, body[of][there], (force * z[:, None])[there])
    none, offset = np.zeros(0, np.int64), s.u[:count][here]
    a, b = bodies
    op = Operator(
        1, M, A, f.ravel(), a, b, G[0], G[1], F[0], F[1], graph_of(n, a, b), none, none, np.zeros(0), offset,
        np.zeros((0, 0)), none,
    )  # fmt: skip
    return op, laws, _scales(s, count, here, op, laws), rows


def problem_of(s: Sweeping, count: int) -> tuple[Problem, np.ndarray] | None:
    """The same as a problem that can be kept, and where its multipliers lie in the memory; None if it is not finite.

    Directions are those of the sweeps, in single precision.
    """
    op, laws, scales, rows = linearised(s, count)
    of = np.repeat(np.arange(op.a.size), [each.size for each in elements_rows(laws)])
    row, columns = np.repeat(np.arange(rows.size), SIZE), np.arange(SIZE)

    def matrix(*sides: np.ndarray) -> sp.csr_matrix:
        """Rows by velocities, from the blocks of both bodies; the ground has none."""
        out = sp.csr_matrix((rows.size, op.f.size))
        for body, blocks in zip((op.a[of], op.b[of]), sides, strict=True):
            at = (SIZE * np.maximum(body, 0)[:, None] + columns).ravel()
            out += sp.csr_matrix(((blocks * (body >= 0)[:, None]).ravel(), (row, at)), out.shape)
        return out

    A = sp.block_diag(list(op.M_inverse), format="csr")
    G, F = matrix(op.G_a, op.G_b), matrix(op.F_a, op.F_b)
    W, q = sp.csr_matrix(G @ A @ F.T), G @ (A @ op.f) + op.offset
    if not (np.isfinite(W.data).all() and np.isfinite(q).all()):
        return None
    contact, component = np.divmod(rows, 3)
    places = np.where(component == 0, s.who[contact, HOME_N], s.who[contact, HOME_F] + component - 1)
    return Problem(laws, W, q, units=scales.scale / scales.speed), places


def _laws(first: np.ndarray, own: np.ndarray, slips: np.ndarray, numbers: np.ndarray) -> Laws:
    """Two laws per contact, normal and friction; the second only where there is friction."""
    kept = np.column_stack([np.ones(len(first), bool), slips]).ravel()

    def both(normal: Any, friction: Any, kind: Any = np.int64) -> np.ndarray:
        laws = np.empty((len(first), 2), kind)
        laws[:, 0], laws[:, 1] = normal, friction
        return laws.ravel()[kept]

    return Laws(
        kind=both(NORMAL, BALL),
        start=both(first, first + 1),
        size=both(1, own),
        normal=both(-1, first),
        mu=both(0.0, numbers[:, MU], float),
        radius=both(0.0, numbers[:, RADIUS], float),
        element=np.concatenate([[0], np.cumsum(1 + slips)]).astype(np.int64),
    )


def _scales(s: Sweeping, count: int, here: np.ndarray, op: Operator, laws: Laws) -> Scales:
    """Weights are the diagonals of the sweeps. Units make |change| weight/unit what W_N and W_F make of it there."""
    numbers, info = s.numbers[:count], s.info[:count]
    weight = np.stack([info[:, D_N], info[:, D_F], info[:, D_F]], axis=1)[here]
    unit = weight / np.stack([numbers[:, W_N], numbers[:, W_F], numbers[:, W_F]], axis=1)[here]
    x, free = np.zeros(op.f.size), np.zeros(len(weight))
    unknowns_of(op, laws, free, x, np.zeros(x.size))
    velocities(op, laws, x, free)
    speed = float(np.abs(free / unit).max(initial=0.0)) or 1.0
    return Scales(weight, speed * unit, speed)

"""Cones: for each kind what solvers need, a projection, its residual and its derivative, and nothing else.

A problem pairs rows u with multipliers r in blocks,

    ZERO     r free               u = 0                                   bilateral constraints
    NORMAL   r >= 0               u >= 0,  u r = 0                        unilateral contact
    BALL     |r| <= radius        stick: u = 0;  slip: r = -radius u/|u|  friction, radius = radius_0 + mu r_N

and each law is r = project(r - beta u) for any beta > 0. Its residual r - project(r - beta u) is the natural map. The radius of
a ball is that of the projected normal multiplier, so that Coulomb's law with its normal contact is one map of
(r_N, r_F), as Alart and Curnier wrote it; beta may differ from block to block.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import jit
from stickslip.nonsmooth.laws import BALL, CLOSED, NORMAL, OPEN, SLIP, ZERO

MOST_ROWS = 6  # of one element


class Laws(NamedTuple):
    """The laws of all rows, block by block.

    Block b has `kind[b]` and the rows start[b] to start[b] + size[b]. A ball has the radius radius[b] + mu[b] r[normal[b]];
    normal[b] is -1 where it has none. Blocks that belong together (a contact and its friction) are an element: element e
    has the blocks element[e] to element[e + 1], the normal before its balls.
    """

    kind: np.ndarray
    start: np.ndarray
    size: np.ndarray
    normal: np.ndarray
    mu: np.ndarray
    radius: np.ndarray
    element: np.ndarray


# -- one block ---------------------------------------------------------------------------------------------------------


@jit
def project_normal(y: float) -> float:
    """The nearest number that is not negative."""
    return max(y, 0.0)


@jit
def project_ball(y: np.ndarray, first: int, size: int, radius: float, p: np.ndarray) -> int:
    """The nearest point of a ball, to the same places of p; CLOSED (inside), SLIP (on it) or OPEN (no ball)."""
    square = 0.0
    for i in range(first, first + size):
        square += y[i] * y[i]
    if radius <= 0.0:
        for i in range(first, first + size):
            p[i] = 0.0
        return OPEN
    share = 1.0
    if square > radius * radius:
        share = radius / math.sqrt(square)
    for i in range(first, first + size):
        p[i] = share * y[i]
    return CLOSED if share == 1.0 else SLIP


@jit
def derive_ball(
    y: np.ndarray, first: int, size: int, radius: float, branch: int, slope: np.ndarray, out: np.ndarray
) -> None:
    """d project_ball = slope dy + out dradius, for the branch that it took."""
    length = 0.0
    for i in range(size):
        length += y[first + i] * y[first + i]
    length = math.sqrt(length)
    for i in range(size):
        out[i] = y[first + i] / length if branch == SLIP else 0.0
        for j in range(size):
            slope[i, j] = 1.0 if i == j and branch == CLOSED else 0.0
    if branch == SLIP:
        for i in range(size):
            for j in range(size):
                slope[i, j] = ((1.0 if i == j else 0.0) - out[i] * out[j]) * radius / length


# -- all blocks --------------------------------------------------------------------------------------------------------


@jit
def project(laws: Laws, y: np.ndarray, p: np.ndarray, branch: np.ndarray) -> None:
    """The projection p of y, and the branch that each block took."""
    for b in range(laws.kind.size):
        i = laws.start[b]
        if laws.kind[b] == ZERO:
            for k in range(i, i + laws.size[b]):
                p[k] = y[k]
            branch[b] = CLOSED
        elif laws.kind[b] == NORMAL:
            p[i] = project_normal(y[i])
            branch[b] = CLOSED if y[i] > 0.0 else OPEN
        else:
            branch[b] = project_ball(y, i, laws.size[b], _radius(laws, b, p), p)


@jit
def _radius(laws: Laws, b: int, p: np.ndarray) -> float:
    return laws.radius[b] + (laws.mu[b] * p[laws.normal[b]] if laws.normal[b] >= 0 else 0.0)


@jit
def derivative(
    laws: Laws, e: int, y: np.ndarray, p: np.ndarray, branch: np.ndarray, beta: np.ndarray, C: np.ndarray
) -> bool:
    """C = (d project/dy) diag(beta) of element e, a matrix of its rows; False if it is zero."""
    first, last = laws.element[e], laws.element[e + 1]
    row, slope, out, any_closed = laws.start[first], np.empty((MOST_ROWS, MOST_ROWS)), np.empty(MOST_ROWS), False
    C[:, :] = 0.0
    for b in range(first, last):
        i, size = laws.start[b] - row, laws.size[b]
        if branch[b] == OPEN:
            continue
        any_closed = True
        if laws.kind[b] != BALL:
            for k in range(i, i + size):
                C[k, k] = beta[row + k]
            continue
        derive_ball(y, laws.start[b], size, _radius(laws, b, p), branch[b], slope, out)
        for k in range(size):
            for j in range(size):
                C[i + k, i + j] = slope[k, j] * beta[row + i + j]
            n = laws.normal[b]
            if n >= 0 and p[n] > 0.0:
                C[i + k, n - row] = out[k] * laws.mu[b] * beta[n]
    return any_closed


@jit
def natural_map(
    laws: Laws, r: np.ndarray, u: np.ndarray, weight: np.ndarray, scale: np.ndarray, y: np.ndarray, p: np.ndarray
) -> float:
    """The largest row of weight (r - project(r - u/weight)) over scale; infinite if anything is not a number.

    `weight` is the Delassus diagonal, so that the map is measured like u; `scale` is what u is held against. The
    projection of the start is left in p.
    """
    branch = np.empty(laws.kind.size, np.int64)
    for i in range(r.size):
        y[i] = r[i] - u[i] / weight[i]
    project(laws, y, p, branch)
    error, total = 0.0, 0.0
    for i in range(r.size):
        size = abs(r[i] - p[i]) * weight[i] / scale[i]
        total += size
        error = max(error, size)
    return error if total < np.inf else np.inf

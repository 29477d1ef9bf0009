"""The laws of all rows of a problem, block by block, each of one of the kinds in `cones`.

Each law is r = project(r - beta u) for any beta > 0, and r - project(r - beta u) is the natural map. The radius of friction is
that of the projected normal multiplier, so that Coulomb's law with its normal contact is one map of (r_N, r_F), as Alart and
Curnier wrote it; beta may differ from block to block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import jit
from stickslip.nonsmooth.cones import (
    BALL,
    CLOSED,
    MOST_COMPONENTS,
    NORMAL,
    OPEN,
    SLIP,
    VALUES,
    ZERO,
    derive_ball,
    derive_cone,
    project_ball,
    project_cone,
    project_normal,
)

MOST_ROWS = 6  # of one element
# Of r weight/scale, the largest multiplier in terms of the velocity that it makes alone. With more the sum W r, in which such
# velocities cancel, is rounded to 1e-6 of the velocities of the problem, and says nothing about a residual of 1e-8. Percussions
# of a wall whose top row is 1e6 times as heavy reach 2e6; solvers that diverge pass 1e14, where a residual of zero is chance.
LARGEST = 1e10


class Laws(NamedTuple):
    """The laws of all rows, block by block.

    Block b has `kind[b]` and the rows start[b] to start[b] + size[b]. Friction has the radius radius[b] + mu[b] r[normal[b]];
    normal[b] is -1 where it has none. Blocks that belong together (a contact and its friction) are an element: element e
    has the blocks element[e] to element[e + 1], the normal before its friction. `cone` and `coefficients`: address of the
    kernel, and its further inputs, of blocks of the kind CONE; empty where there are none.
    """

    kind: np.ndarray
    start: np.ndarray
    size: np.ndarray
    normal: np.ndarray
    mu: np.ndarray
    radius: np.ndarray
    element: np.ndarray
    cone: np.ndarray = np.zeros(0, np.int64)
    coefficients: np.ndarray = np.zeros((0, 0))


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
        elif laws.kind[b] == BALL:  # the usual one, without a call that takes all laws with it: twice as fast
            radius = laws.radius[b] + (laws.mu[b] * p[laws.normal[b]] if laws.normal[b] >= 0 else 0.0)
            branch[b] = project_ball(y, i, laws.size[b], radius, p)
        else:
            branch[b] = project_friction(laws, b, y, i, _radius(laws, b, p), p)


@jit
def project_friction(laws: Laws, b: int, y: np.ndarray, first: int, radius: float, p: np.ndarray) -> int:
    """The projection of one block of friction, whose rows begin at `first` in y and p; the branch."""
    size = laws.size[b]
    if laws.kind[b] == BALL:
        return project_ball(y, first, size, radius, p)
    values = np.empty(VALUES)
    branch = _evaluate_cone(laws, b, y, first, radius, values)
    for a in range(size):
        p[first + a] = values[a]
    return branch


@jit
def _evaluate_cone(laws: Laws, b: int, y: np.ndarray, first: int, radius: float, values: np.ndarray) -> int:
    """Projection and derivatives of a block of the kind CONE; the branch."""
    size, further = laws.size[b], laws.coefficients.shape[1]
    inputs = np.empty(MOST_COMPONENTS + 1 + further)
    for a in range(size):
        inputs[a] = y[first + a]
    for a in range(further):
        inputs[size + 1 + a] = laws.coefficients[b, a]
    return project_cone(laws.cone[b], inputs, size, radius, values, 0)


@jit
def _radius(laws: Laws, b: int, p: np.ndarray) -> float:
    return laws.radius[b] + (laws.mu[b] * p[laws.normal[b]] if laws.normal[b] >= 0 else 0.0)


@jit
def derivatives(laws: Laws, y: np.ndarray, p: np.ndarray, branch: np.ndarray, beta: np.ndarray, C: np.ndarray) -> None:
    """C[e] = (d project/dy) diag(beta) of every element e, a matrix of its rows."""
    slope, out = np.empty((MOST_ROWS, MOST_ROWS)), np.empty(MOST_ROWS)
    C[:, :, :] = 0.0
    for e in range(laws.element.size - 1):
        first, last = laws.element[e], laws.element[e + 1]
        row = laws.start[first]
        for b in range(first, last):
            start, size, n = laws.start[b], laws.size[b], laws.normal[b]
            i = start - row
            if branch[b] == OPEN:
                continue
            if laws.kind[b] == ZERO or laws.kind[b] == NORMAL:
                for k in range(size):
                    C[e, i + k, i + k] = beta[start + k]
                continue
            radius = laws.radius[b] + (laws.mu[b] * p[n] if n >= 0 else 0.0)
            if laws.kind[b] == BALL or branch[b] != SLIP:
                derive_ball(y, start, size, radius, branch[b], slope, out)
            else:
                _derive_cone(laws, b, y, radius, slope, out)
            for k in range(size):
                for j in range(size):
                    C[e, i + k, i + j] = slope[k, j] * beta[start + j]
                if n >= 0 and p[n] > 0.0:
                    C[e, i + k, n - row] = out[k] * laws.mu[b] * beta[n]


@jit
def _derive_cone(laws: Laws, b: int, y: np.ndarray, radius: float, slope: np.ndarray, out: np.ndarray) -> None:
    """d project_friction = slope dy + out dradius, of a block of the kind CONE that slips."""
    values = np.empty(VALUES)
    _evaluate_cone(laws, b, y, laws.start[b], radius, values)
    derive_cone(values, 0, laws.size[b], slope, out)


@jit
def natural_map(
    laws: Laws, r: np.ndarray, u: np.ndarray, weight: np.ndarray, scale: np.ndarray, y: np.ndarray, p: np.ndarray
) -> float:
    """The largest row of weight (r - project(r - u/weight)) over scale; infinite if it is not a number, or r beyond LARGEST.

    `weight` is the Delassus diagonal, so that the map is measured like u; `scale` is what u is held against. The
    projection of the start is left in p. Where it does not move r - u/weight the row is u itself: as a difference it would be
    lost in the rounding of r if multipliers are very large, as those of a jam are (`jam`).
    """
    branch = np.empty(laws.kind.size, np.int64)
    for i in range(r.size):
        y[i] = r[i] - u[i] / weight[i]
    project(laws, y, p, branch)
    error, total, large = 0.0, 0.0, 0.0
    for b in range(laws.kind.size):
        for i in range(laws.start[b], laws.start[b] + laws.size[b]):
            large = max(large, abs(r[i]) * weight[i] / scale[i])
            off = u[i] if branch[b] == CLOSED else (r[i] - p[i]) * weight[i]
            size = abs(off) / scale[i]
            total += size
            error = max(error, size)
    return error if total < np.inf and large < LARGEST else np.inf

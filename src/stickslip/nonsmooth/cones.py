"""The kinds of cones, and for each of them what solvers need: a projection, its residual and its derivative.

A law pairs rows y with multipliers z, which lie in a set C of admissible ones, and is  -y in N_C(z),  that is
z = project(z - r y) for any r > 0:

    ZERO     z free               y = 0                                   bilateral constraints
    NORMAL   z >= 0               y >= 0,  y z = 0                        unilateral contact
    BALL     |z| <= rho           stick: y = 0;  slip: z = -rho y/|y|     friction, isotropic
    CONE     z in rho C           -y in the normal cone of rho C at z     friction, as a user writes it (`stickslip.Cone`)

rho of friction is mu times a normal multiplier, or fixed. Functions of one block stand here, those of many blocks in `laws`.

The residual is the natural map z - project(z - r y), in the active-set form: where the projection does not move z - r y the
row is y, so r decides which branch holds and does not enter the residual of that branch (for balls of more than one
dimension it weighs the direction of slip, r y - z, whose limit is y/|y| for every r). Zeros do not depend on r.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import jit
from stickslip.native.call import call_kernel

ZERO, NORMAL, BALL, CONE = 0, 1, 2, 3
CLOSED, OPEN, SLIP, OFF = 0, 1, 2, 3  # branches: y = 0 (closed or stick), z = 0 (open), z = project; not applied

MOST_COMPONENTS = 3  # of one element of friction
VALUES = MOST_COMPONENTS * (2 + MOST_COMPONENTS)  # of a CONE: projection, derivatives by y and by rho
INSIDE = 1e-14  # relative to z - r y and rho: what a projection may move by rounding


# -- NORMAL ------------------------------------------------------------------------------------------------------------


@jit
def project_normal(y: float) -> float:
    """The nearest number that is not negative."""
    return max(y, 0.0)


@jit
def normal_branch(y: float, z: float, r: float) -> int:
    """CLOSED (y = 0) if z - r y is not negative, else OPEN (z = 0)."""
    return CLOSED if r * y - z <= 0.0 else OPEN


# -- BALL --------------------------------------------------------------------------------------------------------------


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


@jit
def ball_branch(v: np.ndarray, y: int, z: int, size: int, rho: float, r: float, direction: np.ndarray, b: int) -> int:
    """CLOSED (stick), OPEN (no reservoir, z = 0) or SLIP (z + rho d = 0), for y and z that begin at these places of v.

    Writes the unit vector d of r y - z and its length to row b of `direction`.
    """
    if rho <= 0.0:
        return OPEN
    square = 0.0
    for a in range(size):
        direction[b, a] = r * v[y + a] - v[z + a]
        square += direction[b, a] * direction[b, a]
    length = math.sqrt(square)
    if length <= rho:
        return CLOSED
    for a in range(size):
        direction[b, a] /= length
    direction[b, 3] = length
    return SLIP


@jit
def slip_weights(direction: np.ndarray, b: int, size: int, rho: float, r: float, weight: np.ndarray) -> None:
    """Jacobian of z + rho d with d = (r y - z)/|r y - z|: weight[0] dy + weight[1] dz + d drho.

    dd = (I - d d^T)(r dy - dz)/|r y - z|.
    """
    length = direction[b, 3]
    for i in range(size):
        for j in range(size):
            same = 1.0 if i == j else 0.0
            tangent = (same - direction[b, i] * direction[b, j]) * rho / length
            weight[0, i, j] = r * tangent
            weight[1, i, j] = same - tangent


# -- CONE: its kernel gives projection and derivatives together -----------------------------------------------------------


@jit
def project_cone(cone: int, inputs: np.ndarray, size: int, rho: float, out: np.ndarray, at: int) -> int:
    """The projection of the first inputs, by the kernel at the address `cone`; CLOSED (inside), SLIP or OPEN (rho <= 0).

    After y and rho, which is written here, the inputs are the coefficients. From out[at] on: the projection, its derivative
    by y, column by column, and the one by rho.
    """
    if rho <= 0.0:
        for a in range(size * (2 + size)):
            out[at + a] = 0.0
        return OPEN
    inputs[size] = rho
    call_kernel(cone, inputs, 0, out, at)
    branch = CLOSED
    for a in range(size):
        if not abs(out[at + a] - inputs[a]) <= INSIDE * (abs(inputs[a]) + rho):
            branch = SLIP  # NaN too, which the residual shows
    return branch


@jit
def derive_cone(values: np.ndarray, at: int, size: int, slope: np.ndarray, out: np.ndarray) -> None:
    """d project_cone = slope dy + out drho."""
    for i in range(size):
        out[i] = values[at + size + size * size + i]
        for j in range(size):
            slope[i, j] = values[at + size + size * j + i]


@jit
def cone_weights(
    values: np.ndarray, at: int, size: int, r: float, weight: np.ndarray, direction: np.ndarray, b: int
) -> None:
    """Jacobian of z - project(z - r y, rho): weight[0] dy + weight[1] dz + d drho, d in row b of `direction`."""
    for i in range(size):
        direction[b, i] = -values[at + size + size * size + i]
        for j in range(size):
            slope = values[at + size + size * j + i]
            weight[0, i, j] = r * slope
            weight[1, i, j] = (1.0 if i == j else 0.0) - slope

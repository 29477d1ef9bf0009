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


# -- the cone |x_T| <= x_N of a contact, smoothed ------------------------------------------------------------------------


@jit
def smoothed_positive(x: float, t: float) -> float:
    """(x + sqrt(x^2 + 4 t^2))/2, which is max(x, 0) for t = 0 (Chen, Harker, Kanzow and Smale)."""
    root = math.sqrt(x * x + 4.0 * t * t)
    return 0.5 * (x + root) if x > 0.0 else 2.0 * t * t / (root - x)


@jit
def smoothed_cone(y: np.ndarray, size: int, t: float, p: np.ndarray, J: np.ndarray, rest: np.ndarray) -> float:
    """p = P(y) of the first `size` components, normal first: y = p - d with p, d inside of the cone and p ∘ d = t^2 e.

    J is the derivative of P, `rest` is I - J without its rounding errors. The determinant of p is returned (`quadratic`).
    """
    square = 0.0
    for i in range(1, size):
        square += y[i] * y[i]
    length = math.sqrt(square)
    low, high = smoothed_positive(y[0] - length, t), smoothed_positive(y[0] + length, t)
    across = low * high / (low * high + t * t)
    p[0] = 0.5 * (high + low)
    for i in range(1, size):
        p[i] = across * y[i]
    # eigenvalues of J: along (1, e) and (1, -e) with e = y_T/|y_T|, and across; of I - J first
    rest_high, rest_low = t * t / (high * high + t * t), t * t / (low * low + t * t)
    rest_across = t * t / (low * high + t * t)
    rest[0, 0] = 0.5 * (rest_high + rest_low)
    J[0, 0] = 0.5 * (high * high / (high * high + t * t) + low * low / (low * low + t * t))
    for i in range(1, size):
        e_i = y[i] / length if length > 0.0 else 0.0
        rest[i, 0] = rest[0, i] = 0.5 * (rest_high - rest_low) * e_i
        J[i, 0] = J[0, i] = -rest[i, 0]
        for j in range(1, size):
            e_j = y[j] / length if length > 0.0 else 0.0
            own = 1.0 if i == j else 0.0
            rest[i, j] = rest_across * own + (rest[0, 0] - rest_across) * e_i * e_j
            J[i, j] = across * own + (J[0, 0] - across) * e_i * e_j
    return low * high


@jit
def quadratic(p: np.ndarray, det: float, size: int, t: float, Q: np.ndarray) -> None:
    """Q = (I - J)^-1 J of `smoothed_cone`, with I + Q = (I - J)^-1 and (I - J)^-1 dP/dt = 2 p/t.

    It is p's quadratic representation in the Jordan algebra of the cone over t^2.
    """
    for i in range(size):
        for j in range(size):
            Q[i, j] = (2.0 * p[i] * p[j] + (0.0 if i != j else -det if i == 0 else det)) / (t * t)


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

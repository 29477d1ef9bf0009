"""The laws of bilateral constraints, unilateral contact and friction, as equations for Newton's method.

Each law pairs rows y with multipliers z and is an inclusion  y in N_C(-z),  that is  z + prox_C(r y - z) = 0  for any r > 0:

    ZERO     C = R^n                 y = 0
    NORMAL   C = R-                  0 <= y,  0 <= z,  y z = 0
    BALL     C = {|x| <= rho}        stick: y = 0;  slip: z = -rho y/|y|

In the active-set form used here r decides which branch holds and does not enter the residual of that branch (for balls of
more than one dimension it weighs the direction of slip, r y - z, whose limit is y/|y| for every r). Zeros do not depend
on it.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import jit

ZERO, NORMAL, BALL = 0, 1, 2
CLOSED, OPEN, SLIP, OFF = 0, 1, 2, 3  # branches: y = 0 (closed or stick), z = 0 (open), z + rho d = 0; not applied


@jit
def normal_branch(y: float, z: float, r: float) -> int:
    """CLOSED if prox of R- at r y - z is r y - z itself, else OPEN."""
    return CLOSED if r * y - z <= 0.0 else OPEN


@jit
def ball_branch(v: np.ndarray, y: int, z: int, size: int, rho: float, r: float, direction: np.ndarray, b: int) -> int:
    """CLOSED (stick), OPEN (no reservoir, z = 0) or SLIP, for y and z that begin at these places of v.

    Writes the unit vector of r y - z and its length to row b of `direction`.
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

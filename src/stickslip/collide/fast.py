"""Round features that are so fast that a step could take one past the middle of the other.

The gap of two balls, |x_A - x_B| - r_A - r_B, does not know from which side they came: beyond the middle it grows again. So
where they move farther towards each other than they are apart, the place of their impact is found with the velocities of the
moment, as if nothing else happened, and the plane that touches both there is the contact of this step. Balls that miss each
other keep the gap that they have.
"""

from __future__ import annotations

import numpy as np

from stickslip.collide.scene import FIXED, PLANAR, TRANSLATING, Scene
from stickslip.collide.vectors import Triple, along, cross, dot, length, minus, row, times
from stickslip.collide.world import BALL_BALL, BALL_LINE, BALL_PLANE, BODY, World
from stickslip.jit import jit_bare


@jit_bare
def face_fast_balls(world: World, scene: Scene, u: np.ndarray, within: float) -> None:
    """Give contacts of balls, and of balls with lines, that impact within some time the plane of their impact."""
    for c in range(min(world.found[0], world.rows.shape[0])):
        found = world.rows[c]
        kind, R = int(found[4]), found[9] + found[13]
        if kind != BALL_BALL and kind != BALL_LINE:
            continue
        first, second = scene.shapes[int(found[0]), BODY], scene.shapes[int(found[1]), BODY]
        x_a, x_b, d = (
            (found[6], found[7], found[8]),
            (found[10], found[11], found[12]),
            (found[17], found[18], found[19]),
        )
        w = minus(x_a, x_b)
        v = minus(velocity(world, scene, first, u, x_a), velocity(world, scene, second, u, x_b))
        if kind == BALL_LINE:
            w, v = along(w, -dot(w, d), d), along(v, -dot(v, d), d)
        size, closing = length(w), dot(w, v)
        if R == 0.0 or -closing * within < size * size:  # it stays on this side of the other's middle
            continue
        t, square = 0.0, dot(v, v)
        if size > R:
            root = closing * closing - square * (size * size - R * R)
            t = (-closing - np.sqrt(max(root, 0.0))) / square
            if root < 0.0 or t > within:
                continue
        n = along(w, t, v)
        n = times(1.0 / length(n), n)
        found[4], found[5] = BALL_PLANE, dot(n, w) - R
        for k in range(3):
            found[17 + k] = found[20 + k] = n[k]


@jit_bare
def velocity(world: World, scene: Scene, b: int, u: np.ndarray, x: Triple) -> Triple:
    """Of the point of a body that is at x."""
    kind, first = scene.bodies[b, 0], scene.bodies[b, 3]
    if kind == FIXED:
        return (0.0, 0.0, 0.0)
    if scene.dimension == 2:
        v, spin = (u[first], u[first + 1], 0.0), (0.0, 0.0, u[first + 2] if kind == PLANAR else 0.0)
    else:
        v, spin = (u[first], u[first + 1], u[first + 2]), (0.0, 0.0, 0.0)
        if kind != TRANSLATING:  # angular velocities are components along the axes of the body
            A = world.A[b]
            p, q, r = u[first + 3], u[first + 4], u[first + 5]
            spin = (
                A[0, 0] * p + A[0, 1] * q + A[0, 2] * r,
                A[1, 0] * p + A[1, 1] * q + A[1, 2] * r,
                A[2, 0] * p + A[2, 1] * q + A[2, 2] * r,
            )
    return along(v, 1.0, cross(spin, minus(x, row(world.x, b))))

"""Features that are so fast that within a step their gap would lose its meaning; a plane takes its place for this step.

The gap of two balls, |x_A - x_B| - r_A - r_B, does not know from which side they came: beyond the middle it grows again. So
where they move farther towards each other than they are apart, the place of their impact is found with the velocities of the
moment, as if nothing else happened, and the plane that touches both there is the contact of this step. Balls that miss each
other keep the gap that they have.

The gap of two lines that cross is measured along d_A x d_B, which turns fast where they are nearly parallel: it reverses where
one turns past the other, and where they open like scissors it belongs to places far beyond their ends. There the places that
are closest at the moment are held apart, along the normal of the moment.
"""

from __future__ import annotations

import numpy as np

from stickslip.collide.poses import turned, velocity
from stickslip.collide.scene import FIXED, PLANAR, TRANSLATING, Scene
from stickslip.collide.vectors import Triple, along, cross, dot, length, minus, times
from stickslip.collide.world import BALL_BALL, BALL_LINE, BALL_PLANE, BODY, LINE_LINE, World
from stickslip.jit import jit_bare

TURNS = 0.9  # cosine of the angle by which the normal of two lines may turn


@jit_bare
def face_fast_features(world: World, scene: Scene, u: np.ndarray, within: float) -> None:
    """Give contacts of balls, and of balls with lines, that impact within some time the plane of their impact; and those of
    lines whose normal could turn too far the plane of the moment.
    """
    for c in range(min(world.found[0], world.rows.shape[0])):
        found = world.rows[c]
        kind, R = int(found[4]), found[9] + found[13]
        if kind == LINE_LINE:
            _face_turning_lines(world, scene, u, within, found)
        if kind != BALL_BALL and kind != BALL_LINE:
            continue
        first, second = scene.shapes[int(found[0]), BODY], scene.shapes[int(found[1]), BODY]
        x_a, x_b, d = (
            (found[6], found[7], found[8]),
            (found[10], found[11], found[12]),
            (found[17], found[18], found[19]),
        )
        w = minus(x_a, x_b)
        v = minus(velocity(scene, world.A, world.x, first, u, x_a), velocity(scene, world.A, world.x, second, u, x_b))
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
def _face_turning_lines(world: World, scene: Scene, u: np.ndarray, within: float, found: np.ndarray) -> None:
    first, second = scene.shapes[int(found[0]), BODY], scene.shapes[int(found[1]), BODY]
    d_a, d_b = (found[14], found[15], found[16]), (found[17], found[18], found[19])
    now = cross(d_a, d_b)
    change = along(
        cross(cross(_spin(world, scene, first, u), d_a), d_b),
        1.0,
        cross(d_a, cross(_spin(world, scene, second, u), d_b)),
    )
    then = along(now, within, change)
    if dot(then, now) > TURNS * length(then) * length(now):
        return
    x_a, x_b, n = (
        (found[6], found[7], found[8]),
        (found[10], found[11], found[12]),
        (found[20], found[21], found[22]),
    )
    w, b = minus(x_a, x_b), dot(d_a, d_b)
    x_a = along(x_a, (b * dot(d_b, w) - dot(d_a, w)) / (1.0 - b * b), d_a)
    x_b = along(x_a, -dot(n, w), n)
    found[4] = BALL_PLANE
    for k in range(3):
        found[6 + k], found[10 + k], found[17 + k] = x_a[k], x_b[k], n[k]


@jit_bare
def _spin(world: World, scene: Scene, b: int, u: np.ndarray) -> Triple:
    """Angular velocity of a body, whose components in u are those along its own axes."""
    kind, first = scene.bodies[b, 0], scene.bodies[b, 3]
    if kind in (FIXED, TRANSLATING):
        return (0.0, 0.0, 0.0)
    if kind == PLANAR:
        return (0.0, 0.0, u[first + 2])
    return turned(world.A[b], u, first + 3)

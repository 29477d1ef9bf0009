"""Pairs with ellipsoids, in the plane with ellipses: c + S n/s(n), s(n)^2 = n . S n, is the point where n is the normal.

    kind          gap F(n)                                   normal
    EGG_PLANE     n . (c - x_B) - s_A(n) - r_B               that of the plane
    EGG_BALL      n . (c - x_B) - s_A(n) - r_B               the unit vector at which F is stationary
    EGG_LINE      n . (c - x_B) - s_A(n) - r_B               the same among those across the line
    EGG_EGG       n . (c_A - c_B) - s_A(n) - s_B(n)          the same

Where shapes are apart F has one maximum, which is their distance. In a round hole r_B is negative and the gap is a minimum.
As F is stationary, an error of the normal counts only with its square.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from stickslip.collide.polyhedra import beyond
from stickslip.collide.solids import BALL, HALF_SPACE, HOLLOW
from stickslip.collide.solids import EGG as EGG_SHAPE
from stickslip.collide.vectors import Triple, across, along, cross, dot, length, minus, row, times
from stickslip.collide.world import (
    EDGE,
    EDGE_0,
    EDGE_1,
    EGG_BALL,
    EGG_EGG,
    EGG_LINE,
    EGG_PLANE,
    FACE,
    FACE_0,
    FACE_1,
    KIND,
    MIDDLE,
    NORMAL_0,
    VERTEX,
    VERTEX_0,
    VERTEX_1,
    ZERO,
    World,
    normal,
    put_round,
    rounding,
)
from stickslip.jit import apart, jit

Spread = tuple[float, float, float, float, float, float]
POINT = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
UP = (0.0, 0.0, 1.0)
ITERATIONS = 60
MOST = 1000  # iterations, where two farthest points are about to become one and they advance by a hundredth of what is left
EDGE_OF = 1e-9  # share of the size by which a foot may lie beyond the edge of a feature, so that none falls between two


@jit
def spread(points: Any, first: int, dimension: int) -> Spread:
    """The matrix S of an ellipsoid (xx, yy, zz, yz, xz, xy), from its axes and their lengths."""
    xx = yy = zz = yz = xz = xy = 0.0
    for k in range(first, first + dimension):
        e, a = row(points, k), points[k, 3] * points[k, 3]
        xx, yy, zz = xx + a * e[0] * e[0], yy + a * e[1] * e[1], zz + a * e[2] * e[2]
        yz, xz, xy = yz + a * e[1] * e[2], xz + a * e[0] * e[2], xy + a * e[0] * e[1]
    return xx, yy, zz, yz, xz, xy


@jit
def applied(S: Spread, n: Triple) -> Triple:
    """S n."""
    return (
        S[0] * n[0] + S[5] * n[1] + S[4] * n[2],
        S[5] * n[0] + S[1] * n[1] + S[3] * n[2],
        S[4] * n[0] + S[3] * n[1] + S[2] * n[2],
    )


@jit
def far(S: Spread, n: Triple) -> Triple:
    """The point S n/s of an ellipsoid about the origin where n is the normal."""
    y = applied(S, n)
    s = dot(y, n)
    return times(1.0 / sqrt(s), y) if s > 0.0 else ZERO


@jit
def bent(S: Spread, t: Triple, n: Triple, v: Triple) -> float:
    """t . H v with the derivative H of `far`: in tangents, radii of curvature."""
    y = applied(S, n)
    s = dot(y, n)
    return (dot(t, applied(S, v)) - dot(t, y) * dot(y, v) / s) / sqrt(s) if s > 0.0 else 0.0


@jit
def newton_step(S: Spread, R: Spread, w: Triple, d: Triple, n: Triple, ascend: bool) -> Triple:
    """Newton's step, across n, towards the normal where F is stationary; d is the line that n stays across, or zero.

    ascend: where F is not concave, leave out what makes it convex, so that the step goes uphill.
    """
    g = minus(minus(w, far(S, n)), far(R, n))
    F = dot(n, g)
    if dot(d, d) > 0.0:
        m = cross(d, n)
        h = bent(S, m, n, m) + bent(R, m, n, m)
        return times(dot(m, g) / (h + F if h + F > 0.0 or not ascend else h), m)
    t_1 = across(n, UP)
    t_2 = cross(n, t_1)
    a = bent(S, t_1, n, t_1) + bent(R, t_1, n, t_1)
    b = bent(S, t_1, n, t_2) + bent(R, t_1, n, t_2)
    c = bent(S, t_2, n, t_2) + bent(R, t_2, n, t_2)
    if not ascend or ((a + F) * (c + F) > b * b and a + F > 0.0):
        a, c = a + F, c + F
    g_1, g_2, det = dot(t_1, g), dot(t_2, g), a * c - b * b
    return along(times((c * g_1 - b * g_2) / det, t_1), (a * g_2 - b * g_1) / det, t_2)


@jit
def moved(n: Triple, step: Triple) -> Triple:
    """A unit vector after a step across it."""
    n = along(n, 1.0, step)
    return times(1.0 / length(n), n)


@jit
def farthest_apart(S: Spread, R: Spread, w: Triple, d: Triple) -> tuple[float, Triple]:
    """The normal that separates two ellipsoids best, or one and a point or a line, and F there; w is from the second centre.

    Newton's method, uphill at every step.
    """
    if dot(d, d) > 0.0:
        start = along(w, -dot(w, d), d)
        n = times(1.0 / length(start), start) if length(start) > 0.0 else across(d, UP)
    else:
        n = times(1.0 / length(w), w) if length(w) > 0.0 else UP
    F = dot(n, minus(minus(w, far(S, n)), far(R, n)))
    for _ in range(ITERATIONS):
        step = newton_step(S, R, w, d, n, True)
        size = length(step)
        if size > 1.0:
            step = times(1.0 / size, step)
        to = moved(n, step)
        value = dot(to, minus(minus(w, far(S, to)), far(R, to)))
        while value < F and length(step) > 1e-7:
            step = times(0.5, step)
            to = moved(n, step)
            value = dot(to, minus(minus(w, far(S, to)), far(R, to)))
        if length(step) <= 1e-7:  # close enough for Newton's method alone, whatever rounding says about F
            break
        n, F = to, value
    for _ in range(2):
        n = moved(n, newton_step(S, R, w, d, n, True))
    return dot(n, minus(minus(w, far(S, n)), far(R, n))), n


@apart("boolean", allocates=True)
def meet_eggs(world: World, i: int, j: int, margin: float) -> bool:
    """All contacts of an ellipsoid i with a ball, a rod, a polyhedron, an ellipsoid, a half-space or a round hole j."""
    kind = world.shapes[j, KIND]
    S = spread(world.points, world.shapes[i, NORMAL_0], world.dimension)
    c, y = row(world.points, world.shapes[i, VERTEX_0]), row(world.points, world.shapes[j, VERTEX_0])
    flat = UP if world.dimension == 2 else ZERO
    if kind == HALF_SPACE:
        egg_on_plane(world, i, S, j, normal(world, world.shapes[j, FACE_0]), y, 0.0, FACE, margin)
    elif kind == HOLLOW:
        _in_hollow(world, i, S, j, margin)
    elif kind == EGG_SHAPE:
        R = spread(world.points, world.shapes[j, NORMAL_0], world.dimension)
        gap, n = farthest_apart(S, R, minus(c, y), flat)
        if gap < margin:
            put_round(world, i, j, VERTEX, VERTEX, EGG_EGG, gap, c, 0.0, y, 0.0, n, ZERO, n, 1.0)
    elif kind == BALL:
        gap, n = farthest_apart(S, POINT, minus(c, y), flat)
        egg_on_ball(world, i, j, VERTEX, gap, y, rounding(world, j), n, margin)
    else:
        _on_core(world, i, S, j, margin)
    return True


@jit
def egg_on_plane(
    world: World, i: int, S: Spread, j: int, n: Triple, y: Triple, r: float, feature: int, margin: float
) -> None:
    """An ellipsoid above a plane through y."""
    c = row(world.points, world.shapes[i, VERTEX_0])
    gap = dot(n, minus(minus(c, y), far(S, n))) - r
    if gap < margin:
        put_round(world, i, j, VERTEX, feature, EGG_PLANE, gap, c, 0.0, y, r, n, n, n, 1.0)


@jit
def egg_on_ball(
    world: World, i: int, j: int, feature: int, apart: float, y: Triple, r: float, n: Triple, margin: float
) -> None:
    """An ellipsoid at the distance `apart` from the centre y of a ball with radius r."""
    if apart - r < margin:
        c = row(world.points, world.shapes[i, VERTEX_0])
        put_round(world, i, j, VERTEX, feature, EGG_BALL, apart - r, c, 0.0, y, r, n, ZERO, n, 1.0)


@jit
def egg_on_line(
    world: World, i: int, j: int, feature: int, apart: float, y: Triple, d: Triple, r: float, n: Triple, margin: float
) -> None:
    """An ellipsoid at the distance `apart` from a line through y, with a rounding r."""
    if apart - r < margin:
        c = row(world.points, world.shapes[i, VERTEX_0])
        put_round(world, i, j, VERTEX, feature, EGG_LINE, apart - r, c, 0.0, y, r, n, d, n, 1.0)


@jit
def _in_hollow(world: World, i: int, S: Spread, j: int, margin: float) -> None:
    """The points of an ellipsoid that are farthest from the centre of a round hole, one on each side along its long axis."""
    c, y, R = (
        row(world.points, world.shapes[i, VERTEX_0]),
        row(world.points, world.shapes[j, VERTEX_0]),
        rounding(world, j),
    )
    first = world.shapes[i, NORMAL_0]
    long = first
    for k in range(first, first + world.dimension):
        if world.points[k, 3] > world.points[long, 3]:
            long = k
    w, d, before = minus(c, y), UP if world.dimension == 2 else ZERO, ZERO
    for side in range(2):
        # The farthest point in the direction of a farther point is farther still.
        n = times(-1.0 if side == 0 else 1.0, row(world.points, long))
        for _ in range(MOST):
            x = minus(w, far(S, n))
            last, n = n, times(-1.0 / length(x), x)
            if length(minus(n, last)) < 1e-5:
                break
        for _ in range(6):
            n = moved(n, newton_step(S, POINT, w, d, n, False))
        gap = R + dot(n, minus(w, far(S, n)))
        if gap < margin and (side == 0 or length(minus(n, before)) > 1e-6):
            put_round(world, i, j, 4 * side + VERTEX, VERTEX, EGG_BALL, gap, c, 0.0, y, -R, n, ZERO, n, 1.0)
        before = n


@jit
def supports(world: World, j: int, n: Triple, x: Triple) -> bool:
    """Whether no vertex of a convex shape lies beyond x in the direction n."""
    size = length(minus(x, row(world.points, world.shapes[j, MIDDLE])))
    for v in range(world.shapes[j, VERTEX_0], world.shapes[j, VERTEX_1]):
        if dot(n, minus(row(world.points, v), x)) > EDGE_OF * size:
            return False
    return True


@jit
def over_face(world: World, f: int, n: Triple, x: Triple) -> bool:
    """Whether x lies above a face, or so little beside it that it may as well."""
    first, last = world.parts[f, 1], world.parts[f, 2]
    a, b = row(world.points, world.loop[first]), row(world.points, world.loop[first + 1])
    size = length(minus(b, a))
    if world.dimension == 2:
        share = dot(minus(x, a), minus(b, a)) / (size * size)
        return -EDGE_OF <= share <= 1.0 + EDGE_OF
    inside = True
    for k in range(last - first):
        inside = inside and beyond(world, f, k, n, x) <= EDGE_OF * size
    return inside


@jit
def _on_core(world: World, i: int, S: Spread, j: int, margin: float) -> None:
    """The face, edge or vertex of a polyhedron or a rod at which it is separated best from an ellipsoid.

    The normal of the best one is a normal of the feature, and the ellipsoid's foot lies over it. Apart there is exactly one;
    inside each other the least depth counts.
    """
    c, r = row(world.points, world.shapes[i, VERTEX_0]), rounding(world, j)
    flat = UP if world.dimension == 2 else ZERO
    best, what, at, n_best = -np.inf, -1, -1, ZERO
    widest, face = -np.inf, -1
    for f in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
        n = normal(world, f)
        x = minus(c, far(S, n))
        gap = dot(n, minus(x, row(world.points, world.loop[world.parts[f, 1]])))
        if gap - r >= margin:
            return
        if gap > widest:
            widest, face = gap, f
        if gap > best and over_face(world, f, n, x):
            best, what, at, n_best = gap, FACE, f, n
    if best <= 0.0 and world.dimension == 3:
        for e in range(world.shapes[j, EDGE_0], world.shapes[j, EDGE_1]):
            p, q = row(world.points, world.parts[e, 0]), row(world.points, world.parts[e, 1])
            d = minus(q, p)
            size = length(d)
            d = times(1.0 / size, d)
            gap, n = farthest_apart(S, POINT, minus(c, p), d)
            share = dot(d, minus(minus(c, far(S, n)), p)) / size
            if gap > best and -EDGE_OF <= share <= 1.0 + EDGE_OF and supports(world, j, n, p):
                best, what, at, n_best = gap, EDGE, e, n
    if best <= 0.0:
        for v in range(world.shapes[j, VERTEX_0], world.shapes[j, VERTEX_1]):
            p = row(world.points, v)
            gap, n = farthest_apart(S, POINT, minus(c, p), flat)
            if gap > best and supports(world, j, n, p):
                best, what, at, n_best = gap, VERTEX, v, n
    if what < 0 and face >= 0:  # rounding left it between all features; the plane of a face separates them at least
        what, at, n_best = FACE, face, normal(world, face)
    if what == FACE:
        y = row(world.points, world.loop[world.parts[at, 1]])
        egg_on_plane(world, i, S, j, n_best, y, r, 4 * (at - world.shapes[j, FACE_0]) + FACE, margin)
    elif what == EDGE:
        p, q = row(world.points, world.parts[at, 0]), row(world.points, world.parts[at, 1])
        d = times(1.0 / length(minus(q, p)), minus(q, p))
        egg_on_line(world, i, j, 4 * (at - world.shapes[j, EDGE_0]) + EDGE, best, p, d, r, n_best, margin)
    elif what == VERTEX:
        feature = 4 * (at - world.shapes[j, VERTEX_0]) + VERTEX
        egg_on_ball(world, i, j, feature, best, row(world.points, at), r, n_best, margin)

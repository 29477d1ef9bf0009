"""Pairs with outlines in the plane: all places where rounds of one (corners, arcs, balls) come closest to pieces of the other.

    round with a corner or an arc       BALL_BALL, with the radii of both
    round with a bay                    BALL_CAVITY, if it fits into it
    round with a side                   BALL_PLANE

An arc touches only in directions between the normals at its ends.
"""

from __future__ import annotations

import numpy as np

from stickslip.collide.chains import ARC, AT, BAY, CORNER, END, FROM, PIECE, SIDE, TO
from stickslip.collide.ellipsoids import POINT, UP, egg_on_ball, egg_on_plane, far, farthest_apart, spread
from stickslip.collide.solids import EGG, HALF_SPACE, HOLLOW, MESH
from stickslip.collide.vectors import Triple, along, dot, length, minus, row, times
from stickslip.collide.world import (
    BALL_BALL,
    BALL_CAVITY,
    BALL_PLANE,
    EDGE,
    FACE,
    FACE_0,
    FACE_1,
    KIND,
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

OVER = 1e-9  # share of its size by which a place may lie beside a piece and still count as over it
OUTSIDE = 1e-3  # share of a gap < 0 by which the deepest place may lie outside of another piece
ITERATIONS = 60


@apart("boolean", allocates=True)
def meet_outlines(world: World, i: int, j: int, margin: float) -> bool:
    """All contacts of an outline j with any shape i, also with a half-space or a hole."""
    kind = world.shapes[i, KIND]
    if kind >= HALF_SPACE:
        _in_the_open(world, j, i, margin)
    elif kind == EGG:
        _egg_on_outline(world, i, j, margin)
    elif kind == MESH:
        for k in range(world.shapes[i, FACE_0], world.shapes[i, FACE_1]):
            if world.facets[k, PIECE] <= ARC:
                _piece_on_outline(world, i, k, j, margin, CORNER)
        for k in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
            if world.facets[k, PIECE] <= ARC:
                _piece_on_outline(world, j, k, i, margin, BAY)  # two rounds were met above
    else:
        for v in range(world.shapes[i, VERTEX_0], world.shapes[i, VERTEX_1]):
            feature = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX
            _round_on_outline(world, i, row(world.points, v), world.points[v, 3], -1, feature, j, margin, CORNER)
        for k in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
            if world.facets[k, PIECE] <= ARC:
                _piece_on_sides(world, j, k, i, margin)
    return True


@jit
def between(world: World, k: int, n: Triple) -> bool:
    """Whether n is a normal of a corner, an arc or a bay: between those at its ends."""
    a, b = row(world.points, world.facets[k, FROM]), row(world.points, world.facets[k, TO])
    if dot(n, a) + dot(n, b) <= 0.0:
        return False
    first, last = a[0] * n[1] - a[1] * n[0], n[0] * b[1] - n[1] * b[0]
    if world.facets[k, PIECE] == BAY:
        first, last = -first, -last
    return first >= -OVER and last >= -OVER


@jit
def feature_of(world: World, j: int, k: int) -> int:
    """The identity of a piece of an outline."""
    kind, place = world.facets[k, PIECE], 4 * (k - world.shapes[j, FACE_0])
    return place + (VERTEX if kind == CORNER else FACE if kind == SIDE else EDGE)


@jit
def height_over(world: World, k: int, x: Triple, r: float) -> tuple[float, Triple]:
    """How high x lies above a piece, and the normal there; infinite where it does not lie over it, or a ball does not fit."""
    piece = world.facets[k]
    y = row(world.points, piece[AT])
    w = minus(x, y)
    if piece[PIECE] == SIDE:
        n, d = row(world.points, piece[FROM]), minus(row(world.points, piece[END]), y)
        share = dot(w, d) / dot(d, d)
        return (dot(n, w) if -OVER <= share <= 1.0 + OVER else np.inf), n
    size, radius = length(w), world.points[piece[AT], 3]
    if size == 0.0 or (piece[PIECE] == BAY and r >= radius):
        return np.inf, UP
    n = times((-1.0 if piece[PIECE] == BAY else 1.0) / size, w)
    if not between(world, k, n):
        return np.inf, n
    return (radius - size if piece[PIECE] == BAY else size - radius), n


@jit
def _round_on_outline(
    world: World, i: int, x: Triple, r: float, own: int, feature: int, j: int, margin: float, least: int
) -> None:
    """A round about x and all pieces of an outline from the kind `least` on; `own` is the piece that it is, if it is an arc.

    It is outside where the closest piece says so; then pieces that look away, on the other side of a thin wall, do not count.
    """
    closest, height = np.inf, 0.0
    for k in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
        h, n = height_over(world, k, x, r)
        if abs(h) < closest:
            closest, height = abs(h), h
    deepest = 2.0 * height if height < 0.0 else 0.0
    for k in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
        kind = world.facets[k, PIECE]
        if kind < least:
            continue
        h, n = height_over(world, k, x, r)
        if h - r >= margin or (
            own < 0 and h < deepest - 1e-9 * length(minus(x, row(world.points, world.facets[k, AT])))
        ):
            continue
        if own >= 0 and not (between(world, own, times(-1.0, n)) and _reaches_in(world, j, along(x, -r, n), h - r)):
            continue
        g, y, radius = (
            feature_of(world, j, k),
            row(world.points, world.facets[k, AT]),
            world.points[world.facets[k, AT], 3],
        )
        if kind == SIDE:
            put_round(world, i, j, feature, g, BALL_PLANE, h - r, x, r, y, 0.0, ZERO, n, n, 1.0)
        else:
            what = BALL_CAVITY if kind == BAY else BALL_BALL
            put_round(world, i, j, feature, g, what, h - r, x, r, y, radius, ZERO, ZERO, n, 1.0)


@jit
def _reaches_in(world: World, j: int, x: Triple, gap: float) -> bool:
    """Whether the place x of an arc that is so far below a piece of an outline is inside of it, and that piece on its side.

    Else the arc is beyond the outline: it looks at a side that looks away.
    """
    if gap >= 0.0:
        return True
    closest, height = np.inf, gap
    for k in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
        h, _ = height_over(world, k, x, 0.0)
        if abs(h) < closest:
            closest, height = abs(h), h
    return height <= -OUTSIDE * gap and gap >= (2.0 + OUTSIDE) * min(height, 0.0) - OVER


@jit
def _piece_on_outline(world: World, i: int, k: int, j: int, margin: float, least: int) -> None:
    """A corner or an arc of an outline, and another outline."""
    v, own = world.facets[k, AT], k if world.facets[k, PIECE] == ARC else -1
    x, r = row(world.points, v), world.points[v, 3]
    _round_on_outline(world, i, x, r, own, feature_of(world, i, k), j, margin, least)


@jit
def _piece_on_sides(world: World, j: int, k: int, i: int, margin: float) -> None:
    """A corner or an arc of an outline, and the sides of a polygon or a stadium: the one that it is farthest outside of."""
    v, arc = world.facets[k, AT], world.facets[k, PIECE] == ARC
    x, r, r_i = row(world.points, v), world.points[v, 3], rounding(world, i)
    best, face = -np.inf, -1
    for f in range(world.shapes[i, FACE_0], world.shapes[i, FACE_1]):
        height = dot(normal(world, f), minus(x, row(world.points, world.loop[world.parts[f, 1]])))
        if height > best:
            best, face = height, f
    if face < 0:
        return
    n, a = normal(world, face), row(world.points, world.loop[world.parts[face, 1]])
    gap, beyond = best - r - r_i, -np.inf
    for f in range(world.shapes[i, FACE_0], world.shapes[i, FACE_1]):
        y = row(world.points, world.loop[world.parts[f, 1]])
        beyond = max(beyond, dot(normal(world, f), minus(along(x, -r, n), y)) - r_i)
    d = minus(row(world.points, world.loop[world.parts[face, 1] + 1]), a)
    share = dot(minus(x, a), d) / dot(d, d)
    if (
        gap >= margin
        or not -OVER <= share <= 1.0 + OVER
        or (arc and not ((gap >= 0.0 or beyond <= -OUTSIDE * gap) and between(world, k, times(-1.0, n))))
    ):
        return
    g = 4 * (face - world.shapes[i, FACE_0]) + FACE
    put_round(world, j, i, feature_of(world, j, k), g, BALL_PLANE, gap, x, r, a, r_i, ZERO, n, n, 1.0)


@jit
def _in_the_open(world: World, i: int, j: int, margin: float) -> None:
    """Corners and arcs of an outline above a line, or in a round hole."""
    hole = world.shapes[j, KIND] == HOLLOW
    y, R = row(world.points, world.shapes[j, VERTEX_0]), rounding(world, j)
    for k in range(world.shapes[i, FACE_0], world.shapes[i, FACE_1]):
        kind, v = world.facets[k, PIECE], world.facets[k, AT]
        if kind > ARC:
            continue
        x, r, f = row(world.points, v), world.points[v, 3], feature_of(world, i, k)
        w = minus(x, y)
        size = length(w)
        if hole:
            gap = R - r - size
            if gap < margin and size > 0.0 and r < R and (kind == CORNER or between(world, k, times(1.0 / size, w))):
                put_round(world, i, j, f, VERTEX, BALL_CAVITY, gap, x, r, y, R, ZERO, ZERO, times(-1.0 / size, w), 1.0)
        else:
            n = normal(world, world.shapes[j, FACE_0])
            gap = dot(n, w) - r
            if gap < margin and (kind == CORNER or between(world, k, times(-1.0, n))):
                put_round(world, i, j, f, FACE, BALL_PLANE, gap, x, r, y, 0.0, ZERO, n, n, 1.0)


@jit
def _egg_on_outline(world: World, i: int, j: int, margin: float) -> None:
    """An ellipse and all pieces of an outline over which one of its feet lies."""
    S, first = spread(world.points, world.shapes[i, NORMAL_0], 2), world.shapes[i, NORMAL_0]
    c = row(world.points, world.shapes[i, VERTEX_0])
    thin, wide = (
        min(world.points[first, 3], world.points[first + 1, 3]),
        max(world.points[first, 3], world.points[first + 1, 3]),
    )
    for k in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
        piece = world.facets[k]
        y, r, g = row(world.points, piece[AT]), world.points[piece[AT], 3], feature_of(world, j, k)
        w = minus(c, y)
        if piece[PIECE] == SIDE:
            n = row(world.points, piece[FROM])
            x = minus(c, far(S, n))
            if dot(n, minus(x, y)) > -thin and height_over(world, k, x, 0.0)[0] < np.inf:
                egg_on_plane(world, i, S, j, n, y, 0.0, g, margin)
        elif piece[PIECE] == BAY:
            if length(w) + wide + margin < r:
                continue
            n = row(world.points, piece[FROM])
            for _ in range(ITERATIONS):  # the farthest point in the direction of a farther point is farther still
                x = minus(w, far(S, n))
                n = times(-1.0 / length(x), x)
            apart = dot(n, minus(w, far(S, n)))
            if apart + r > -thin and between(world, k, n):
                egg_on_ball(world, i, j, g, apart, y, -r, n, margin)
        elif length(w) - wide - r < margin:
            apart, n = farthest_apart(S, POINT, w, UP)
            if apart - r > -thin and between(world, k, n):
                egg_on_ball(world, i, j, g, apart, y, r, n, margin)

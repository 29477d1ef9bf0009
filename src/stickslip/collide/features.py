"""Two features that meet, as a contact: balls (vertices with their rounding) and lines.

    kind          gap
    BALL_BALL     |x_A - x_B| - r_A - r_B
    BALL_PLANE    n_B . (x_A - x_B) - r_A - r_B
    BALL_LINE     |(1 - d_B d_B^T)(x_A - x_B)| - r_A - r_B
    LINE_LINE     n . (x_A - x_B) - r_A - r_B,      n = (d_A x d_B)/|d_A x d_B|
    BALL_CAVITY   r_B - r_A - |x_A - x_B|

All of them are gaps of two features that are fixed to two bodies, so they are exact functions of the poses as long as the
same features are closest, and action equals reaction whatever the poses are.
"""

from __future__ import annotations

from stickslip.collide.vectors import Triple, along, cross, dot, length, minus, row, times
from stickslip.collide.world import (
    BALL_BALL,
    BALL_LINE,
    EDGE,
    EDGE_0,
    LINE_LINE,
    VERTEX,
    VERTEX_0,
    ZERO,
    World,
    put,
    rounding,
)
from stickslip.jit import jit_bare


@jit_bare
def balls(world: World, i: int, v: int, j: int, w: int, margin: float) -> None:
    """A vertex of one shape and one of another, with their roundings."""
    x, y = row(world.points, v), row(world.points, w)
    d = minus(x, y)
    size = length(d)
    gap = size - rounding(world, i) - rounding(world, j)
    if gap < margin and size > 0.0:
        f, g = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX, 4 * (w - world.shapes[j, VERTEX_0]) + VERTEX
        n = times(1.0 / size, d)
        put(world, i, j, f, g, BALL_BALL, gap, x, y, ZERO, ZERO, n, 1.0)


@jit_bare
def ball_on_rod(
    world: World, i: int, v: int, j: int, margin: float, ends: bool
) -> None:  # fmt: skip
    """A vertex with its rounding, and a capsule: its middle, or its ends where asked for."""
    x, p, q = (
        row(world.points, v),
        row(world.points, world.shapes[j, VERTEX_0]),
        row(world.points, world.shapes[j, VERTEX_0] + 1),
    )
    d = minus(q, p)
    share = dot(minus(x, p), d) / dot(d, d)
    if share <= 0.0 or share >= 1.0:
        if ends:
            balls(world, i, v, j, world.shapes[j, VERTEX_0] + (1 if share >= 1.0 else 0), margin)
        return
    d = times(1.0 / length(d), d)
    w = minus(x, p)
    w = along(w, -dot(w, d), d)
    size = length(w)
    gap = size - rounding(world, i) - rounding(world, j)
    if gap < margin and size > 0.0:
        n = times(1.0 / size, w)
        f = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX
        put(world, i, j, f, EDGE, BALL_LINE, gap, x, p, ZERO, d, n, 1.0)


@jit_bare
def lines(
    world: World, i: int, v0: int, v1: int, e: int, j: int, w0: int, w1: int, g: int,
    outward: Triple, margin: float,
) -> None:  # fmt: skip
    """Two edges that cross; the normal looks to the side of `outward`."""
    p, q = row(world.points, v0), row(world.points, w0)
    d_a, d_b = minus(row(world.points, v1), p), minus(row(world.points, w1), q)
    d_a, d_b = times(1.0 / length(d_a), d_a), times(1.0 / length(d_b), d_b)
    c = cross(d_a, d_b)
    n = times(1.0 / length(c), c)
    sign = 1.0
    if dot(n, outward) < 0.0:
        n, sign = times(-1.0, n), -1.0
    gap = dot(n, minus(p, q)) - rounding(world, i) - rounding(world, j)
    if gap < margin:
        f, h = 4 * e + EDGE, 4 * g + EDGE
        put(world, i, j, f, h, LINE_LINE, gap, p, q, d_a, d_b, n, sign)


@jit_bare
def vertex_on_edge(world: World, i: int, v: int, j: int, e: int, margin: float) -> None:
    """A corner next to an edge."""
    x, a = row(world.points, v), row(world.points, world.parts[e, 0])
    d = minus(row(world.points, world.parts[e, 1]), a)
    d = times(1.0 / length(d), d)
    w = along(minus(x, a), -dot(minus(x, a), d), d)
    size = length(w)
    gap = size - rounding(world, i) - rounding(world, j)
    if gap < margin and size > 0.0:
        f, g = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX, 4 * (e - world.shapes[j, EDGE_0]) + EDGE
        n = times(1.0 / size, w)
        put(world, i, j, f, g, BALL_LINE, gap, x, a, ZERO, d, n, 1.0)

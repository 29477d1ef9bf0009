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

FLUSH = 1e-5  # ends that lie beside each other by less than this share of their distance are flush
CROSSING = 0.1  # sine of the angle of round edges below which they are nearly parallel
SAG = 1e-3  # lateral distance of their ends, as a share of their distance, up to which they are as good as parallel


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
def ball_on_line(world: World, i: int, v: int, j: int, e: int, beyond: float, margin: float) -> bool:
    """A vertex with its rounding, and an edge: whether it lies over the edge, or beside an end of it by less than `beyond`
    times its distance.
    """
    x, a = row(world.points, v), row(world.points, world.parts[e, 0])
    d = minus(row(world.points, world.parts[e, 1]), a)
    long = length(d)
    d = times(1.0 / long, d)
    w = minus(x, a)
    foot = dot(w, d)
    w = along(w, -foot, d)
    size = length(w)
    if max(-foot, foot - long) > beyond * size or size == 0.0:
        return False
    gap = size - rounding(world, i) - rounding(world, j)
    if gap < margin:
        f, g = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX, 4 * (e - world.shapes[j, EDGE_0]) + EDGE
        put(world, i, j, f, g, BALL_LINE, gap, x, a, ZERO, d, times(1.0 / size, w), 1.0)
    return True


@jit_bare
def round_lines(
    world: World, i: int, e: int, j: int, g: int, s: float, t: float, outward: Triple, margin: float
) -> None:  # fmt: skip
    """Two edges, one of them round: each end that lies over the other one, and the closest points, s and t, if they are others.

    Ends that lie over the other edge are those of the piece that parallel edges share. Where ends are flush, they belong to
    the first edge, so that they have one name whichever of them is longer by rounding errors.
    """
    over_j = over_i = 0  # ends of the first and of the second edge
    for k in range(2):
        if ball_on_line(world, i, world.parts[e, k], j, g, FLUSH, margin):
            over_j += k + 1
        if ball_on_line(world, j, world.parts[g, k], i, e, -0.5 * FLUSH, margin):
            over_i += k + 1
    k, m = (1 if s > 0.5 else 0), (1 if t > 0.5 else 0)
    if 0.0 < s < 1.0 and 0.0 < t < 1.0:
        crossing(world, i, e, j, g, s, outward, margin)
    elif over_j & (k + 1) or over_i & (m + 1):
        return
    elif 0.0 < s < 1.0:
        ball_on_line(world, j, world.parts[g, m], i, e, 0.0, margin)
    else:
        balls(world, i, world.parts[e, k], j, world.parts[g, m], margin)


@jit_bare
def crossing(
    world: World, i: int, e: int, j: int, g: int, s: float, outward: Triple, margin: float
) -> None:  # fmt: skip
    """Two edges, at least one of them round, that are closest between their ends; on the first one at p + s d.

    The common normal of lines that cross at a small angle turns by as much as they tilt, divided by this angle: within a
    step it may lie down. There, the ball about the closest point of the first edge stands for it. Where even this one is not
    lower than those at the ends, they carry alone.
    """
    first, second = world.parts[e], world.parts[g]
    p, q = row(world.points, first[0]), row(world.points, second[0])
    d, b = minus(row(world.points, first[1]), p), minus(row(world.points, second[1]), q)
    turn, size, other = length(cross(d, b)), length(d), length(b)
    f, h = e - world.shapes[i, EDGE_0], g - world.shapes[j, EDGE_0]
    if turn > CROSSING * size * other:
        lines(world, i, first[0], first[1], f, j, second[0], second[1], h, outward, margin)
    elif turn > SAG * length(outward) * max(size, other):
        x, b = along(p, s, d), times(1.0 / other, b)
        w = minus(x, q)
        w = along(w, -dot(w, b), b)
        apart = length(w)
        gap = apart - rounding(world, i) - rounding(world, j)
        if gap < margin:
            put(world, i, j, 4 * f + EDGE, 4 * h + EDGE, BALL_LINE, gap, x, q, ZERO, b, times(1.0 / apart, w), 1.0)


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

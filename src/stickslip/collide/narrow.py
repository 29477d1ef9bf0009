"""Narrow phase: the features of two shapes that are closest, as contacts, for every pair of solids.

Pairs of round shapes, half-spaces and holes are here. Polyhedra, ellipsoids and meshes stand apart.
"""

from __future__ import annotations

from stickslip.collide.features import ball_on_line, balls, round_lines
from stickslip.collide.solids import BALL, EGG, HALF_SPACE, HOLLOW, MESH, ROD, SOLID
from stickslip.collide.surfaces import OUTER
from stickslip.collide.vectors import along, closest_on_segments, dot, length, minus, row, times
from stickslip.collide.world import (
    BALL_CAVITY,
    BALL_PLANE,
    EDGE_0,
    EGGS,
    FACE,
    FACE_0,
    HULLS,
    KIND,
    MESHES,
    OUTLINES,
    VERTEX,
    VERTEX_0,
    VERTEX_1,
    ZERO,
    World,
    normal,
    put,
    rounding,
)
from stickslip.jit import jit_bare
from stickslip.native.call import call_apart


@jit_bare
def meet(world: World, i: int, j: int, margin: float) -> None:
    """All contacts of two shapes that are closer than the margin."""
    if world.shapes[i, KIND] > world.shapes[j, KIND]:
        i, j = j, i
    first, second = world.shapes[i, KIND], world.shapes[j, KIND]
    if world.dimension == 2 and first == MESH:
        call_apart(world.apart[OUTLINES], (world, j, i, margin))
    elif world.dimension == 2 and second == MESH:
        call_apart(world.apart[OUTLINES], (world, i, j, margin))
    elif second == MESH:
        call_apart(world.apart[MESHES], (world, i, j, margin))
    elif first == EGG:
        call_apart(world.apart[EGGS], (world, i, j, margin))
    elif second == EGG:
        call_apart(world.apart[EGGS], (world, j, i, margin))
    elif second == HALF_SPACE:
        _on_half_space(world, i, j, margin)
    elif second == HOLLOW:
        _in_hollow(world, i, j, margin)
    elif second == SOLID or (world.dimension == 2 and first == ROD):
        call_apart(world.apart[HULLS], (world, i, j, margin))
    elif first == BALL and second == BALL:
        balls(world, i, world.shapes[i, VERTEX_0], j, world.shapes[j, VERTEX_0], margin)
    elif first == BALL:
        _ball_on_rod(world, i, j, margin)
    else:
        _rods(world, i, j, margin)


@jit_bare
def _ball_on_rod(world: World, i: int, j: int, margin: float) -> None:
    """A ball and a capsule: its middle, or the end that is closest."""
    v, w = world.shapes[i, VERTEX_0], world.shapes[j, VERTEX_0]
    if not ball_on_line(world, i, v, j, world.shapes[j, EDGE_0], 0.0, margin):
        x, p, q = row(world.points, v), row(world.points, w), row(world.points, w + 1)
        balls(world, i, v, j, w + (1 if length(minus(x, q)) < length(minus(x, p)) else 0), margin)


@jit_bare
def _rods(world: World, i: int, j: int, margin: float) -> None:
    """Two capsules in space: where they cross, and each end of the piece that they share, which carries parallel ones."""
    v, w = world.shapes[i, VERTEX_0], world.shapes[j, VERTEX_0]
    p, q = row(world.points, v), row(world.points, w)
    d, b = minus(row(world.points, v + 1), p), minus(row(world.points, w + 1), q)
    s, t = closest_on_segments(p, d, q, b)
    outward = minus(along(p, s, d), along(q, t, b))
    round_lines(world, i, world.shapes[i, EDGE_0], j, world.shapes[j, EDGE_0], s, t, outward, margin)


@jit_bare
def _on_half_space(world: World, i: int, j: int, margin: float) -> None:
    """Every vertex against the plane."""
    if world.shapes[i, KIND] >= HALF_SPACE:
        return
    n, x_0 = normal(world, world.shapes[j, FACE_0]), row(world.points, world.shapes[j, VERTEX_0])
    mesh = world.shapes[i, KIND] == MESH
    for v in range(world.shapes[i, VERTEX_0], world.shapes[i, VERTEX_1]):
        if mesh and not world.marks[v] & OUTER:
            continue
        x = row(world.points, v)
        gap = dot(n, minus(x, x_0)) - rounding(world, i)
        if gap < margin:
            f = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX
            put(world, i, j, f, FACE, BALL_PLANE, gap, x, x_0, ZERO, n, n, 1.0)


@jit_bare
def _in_hollow(world: World, i: int, j: int, margin: float) -> None:
    """Every vertex inside a round hole: the farthest point of a convex shape from a centre is one of them."""
    if world.shapes[i, KIND] >= HALF_SPACE:
        return
    y = row(world.points, world.shapes[j, VERTEX_0])
    mesh = world.shapes[i, KIND] == MESH
    for v in range(world.shapes[i, VERTEX_0], world.shapes[i, VERTEX_1]):
        if mesh and not world.marks[v] & OUTER:
            continue
        x = row(world.points, v)
        d = minus(x, y)
        size = length(d)
        gap = rounding(world, j) - rounding(world, i) - size
        if gap < margin and size > 0.0:
            f, n = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX, times(-1.0 / size, d)
            put(world, i, j, f, VERTEX, BALL_CAVITY, gap, x, y, ZERO, ZERO, n, 1.0)

"""Pairs with triangle meshes in space: all places where features come closest locally, found through a tree of boxes.

    vertex of one, face of the other       the vertex stays above the plane, wherever it lies over the face
    two edges that stick out               where they cross, if their common normal points out of both
    vertex near an edge or a vertex        if it lies in the sector that belongs to the edge or vertex

Triangles in one plane count as one face, and edges inside a plane or a valley never touch, so a box on a flat part of a mesh
has the same four contacts wherever it stands.
"""

from __future__ import annotations

import numpy as np

from stickslip.collide.ellipsoids import (
    POINT,
    egg_on_ball,
    egg_on_line,
    egg_on_plane,
    far,
    farthest_apart,
    spread,
)
from stickslip.collide.features import FLUSH, ball_on_line, crossing, lines
from stickslip.collide.polyhedra import ball_on_solid
from stickslip.collide.solids import BALL, EGG, MESH, ROD
from stickslip.collide.surfaces import CORNERS, EDGES_0, EDGES_1, NORMAL, OWN_0, OWN_1, PLANE, SHARP
from stickslip.collide.vectors import Triple, along, closest_on_segments, cross, dot, length, minus, row, times
from stickslip.collide.world import (
    BALL_BALL,
    BALL_LINE,
    BALL_PLANE,
    BODY,
    EDGE,
    EDGE_0,
    EDGE_1,
    FACE,
    FACE_0,
    FACE_1,
    KIND,
    MIDDLE,
    NORMAL_0,
    TREE,
    VERTEX,
    VERTEX_0,
    VERTEX_1,
    ZERO,
    World,
    normal,
    put_round,
)
from stickslip.jit import apart, jit

OVER = 1e-7  # share of its size by which a place may lie beside a triangle and still count as over it
# Sine by which the common normal of two edges may lie beside the sector of an edge: a box that is tilted by little on a ridge
# keeps both of its contacts.
BESIDE = 0.2
WEDGE = 0.02  # share of the depth of two edges by which the place between them may lie outside
TIE = 1e-6  # share of a distance by which two count as equal
PARALLEL = 1e-3  # sine of the angle of edges from which on they count as crossing
DEEP = 0.25  # of the size of the smaller shape: so deep features are found, for schemes that let bodies sink in
STACK = 128  # nodes of a tree that wait


@apart("boolean", allocates=True)
def meet_meshes(world: World, i: int, j: int, margin: float) -> bool:
    """All contacts of a bounded shape i with a mesh j."""
    kind = world.shapes[i, KIND]
    if kind == EGG:
        _egg_on_mesh(world, i, j, margin)
        return True
    start, size = world.found[0], size_of(world, i)
    deep = max(margin, DEEP * (min(size, size_of(world, j)) if kind == MESH else size))
    if kind == MESH:
        count = near(world, 0, i, row(world.points, world.shapes[j, MIDDLE]), size_of(world, j) + margin)
        for k in range(count):
            f = world.facets[world.near[0, k]]
            for v in range(f[OWN_0], f[OWN_1]):
                if world.marks[v] & SHARP:
                    vertex_on_mesh(world, i, v, j, margin, deep, start)
            for e in range(f[EDGES_0], f[EDGES_1]):
                p, q = row(world.points, world.parts[e, 0]), row(world.points, world.parts[e, 1])
                half = times(0.5, minus(q, p))
                some = near(world, 1, j, along(p, 1.0, half), length(half) + deep)
                _edge_on_edges(world, i, e, j, 1, some, count, margin, deep)
        count = near(world, 0, j, row(world.points, world.shapes[i, MIDDLE]), size_of(world, i) + margin)
        for k in range(count):
            f = world.facets[world.near[0, k]]
            for v in range(f[OWN_0], f[OWN_1]):
                if world.marks[v] & SHARP:
                    vertex_on_mesh(world, j, v, i, margin, deep, start)
        return True
    for v in range(world.shapes[i, VERTEX_0], world.shapes[i, VERTEX_1]):
        vertex_on_mesh(world, i, v, j, margin, deep, start)
    if kind == BALL:
        return True
    count = near(world, 0, j, row(world.points, world.shapes[i, MIDDLE]), size_of(world, i) + margin)
    for e in range(world.shapes[i, EDGE_0], world.shapes[i, EDGE_1]):
        _edge_on_edges(world, i, e, j, 0, count, 0, margin, deep)
    for k in range(count):
        f = world.facets[world.near[0, k]]
        for v in range(f[OWN_0], f[OWN_1]):
            if world.marks[v] & SHARP:
                if kind == ROD:
                    ball_on_line(world, j, v, i, world.shapes[i, EDGE_0], -0.5 * FLUSH, margin)
                else:
                    ball_on_solid(world, j, v, i, margin)
    return True


@jit
def size_of(world: World, i: int) -> float:
    """The radius of a ball around the middle of a shape that holds it."""
    x, size = row(world.points, world.shapes[i, MIDDLE]), 0.0
    for v in range(world.shapes[i, VERTEX_0], world.shapes[i, VERTEX_1]):
        size = max(size, length(minus(row(world.points, v), x)) + world.points[v, 3])
    if world.shapes[i, KIND] == EGG:
        for k in range(world.shapes[i, NORMAL_0], world.shapes[i, NORMAL_0] + 3):
            size = max(size, world.points[k, 3])
    return size


@jit
def near(world: World, to: int, j: int, x: Triple, radius: float) -> int:
    """The triangles of a mesh whose boxes are close to x, as row `to` of `world.near`; their number."""
    b = world.shapes[j, BODY]
    A, y = world.A[b], minus(x, row(world.x, b))
    z = (
        A[0, 0] * y[0] + A[1, 0] * y[1] + A[2, 0] * y[2],
        A[0, 1] * y[0] + A[1, 1] * y[1] + A[2, 1] * y[2],
        A[0, 2] * y[0] + A[1, 2] * y[1] + A[2, 2] * y[2],
    )
    stack = np.empty(STACK, np.int64)
    stack[0], waiting, count = world.shapes[j, TREE], 1, 0
    while waiting > 0:
        waiting -= 1
        node, box = world.nodes[stack[waiting]], world.boxes[stack[waiting]]
        square = 0.0
        for k in range(3):
            off = max(box[k] - z[k], z[k] - box[3 + k])
            if off > 0.0:
                square += off * off
        if square > radius * radius:
            continue
        if node[0] < 0:
            for f in range(node[1], node[2]):
                world.near[to, count] = f
                count += 1
        else:
            stack[waiting], stack[waiting + 1] = node[1], node[2]
            waiting += 2
    return count


@jit
def over(world: World, f: int, n: Triple, x: Triple) -> bool:
    """Whether x lies above or below a triangle."""
    for k in range(3):
        a = row(world.points, world.facets[f, CORNERS + k])
        b = row(world.points, world.facets[f, CORNERS + (k + 1) % 3])
        d = minus(b, a)
        if dot(cross(d, n), minus(x, a)) > OVER * dot(d, d):
            return False
    return True


@jit
def out_of(world: World, e: int, n: Triple) -> float:
    """The sine by which n lies inside the sector of an edge, between the normals beside it; negative outside of it."""
    if world.parts[e, 2] < 0:
        return 1.0
    a, b = row(world.points, world.parts[e, 2]), row(world.points, world.parts[e, 3])
    if dot(n, a) + dot(n, b) <= 0.0:
        return -1.0
    t = minus(row(world.points, world.parts[e, 1]), row(world.points, world.parts[e, 0]))
    t = times(1.0 / length(t), t)
    side = 1.0 if dot(t, cross(a, b)) > 0.0 else -1.0
    return min(side * dot(t, cross(a, n)), side * dot(t, cross(n, b)))


@jit
def widest(world: World, v: int, n: Triple) -> float:
    """The largest cosine of n with an edge that begins at a vertex of a mesh: not positive if n points out of it."""
    x, most = row(world.points, v), -1.0
    for k in range(world.ring_at[v], world.ring_at[v + 1]):
        d = minus(row(world.points, world.ring[k]), x)
        most = max(most, dot(n, d) / length(d))
    return most


@jit
def known(world: World, start: int, f_i: int, i: int, f_j: int, j: int) -> bool:
    """Whether a contact of these features was found before: triangles of one plane touch once."""
    for c in range(start, min(world.found[0], world.rows.shape[0])):
        found = world.rows[c]
        if found[0] == i and found[1] == j and found[2] == f_i and found[3] == f_j:
            return True
    return False


@jit
def corner(d: Triple, b: Triple) -> float:
    """The angle between two directions."""
    return np.arctan2(length(cross(d, b)), dot(d, b))


@jit
def beside(world: World, f: int, x: Triple) -> tuple[float, float]:
    """The distance of x from the edges of a triangle, and the angle that the triangle fills around the closest point."""
    least, angle = np.inf, np.pi
    for k in range(3):
        a = row(world.points, world.facets[f, CORNERS + k])
        b = row(world.points, world.facets[f, CORNERS + (k + 1) % 3])
        c = row(world.points, world.facets[f, CORNERS + (k + 2) % 3])
        d = minus(b, a)
        share = dot(minus(x, a), d) / dot(d, d)
        away = length(minus(x, along(a, min(max(share, 0.0), 1.0), d)))
        if away < least:
            least, angle = away, np.pi
            if share <= 0.0:
                angle = corner(d, minus(c, a))
            if share >= 1.0:
                angle = corner(minus(a, b), minus(c, b))
    return least, angle


@jit
def height_over(world: World, which: int, count: int, x: Triple, most: float) -> float:
    """The distance of x from the closest of the triangles that were found near, negative inside; `most` if it is farther.

    Where an edge or a vertex is closest, several triangles are equally far, and x is on the side of their normals, weighted
    by the angles that they fill around it [Baerentzen, Aanaes 2005].
    """
    closest, side = most, 1.0
    for k in range(count):
        f = world.facets[world.near[which, k]]
        n = row(world.points, f[NORMAL])
        h = dot(n, minus(x, row(world.points, f[CORNERS])))
        if abs(h) > closest * (1.0 + TIE):
            continue
        away, angle = abs(h), 2.0 * np.pi
        if not over(world, world.near[which, k], n, x):
            away, angle = beside(world, world.near[which, k], x)
        if away < closest * (1.0 - TIE):
            closest, side = away, angle * h
        elif away <= closest * (1.0 + TIE):
            side += angle * h
    return closest if side >= 0.0 else -closest


@jit
def vertex_on_mesh(world: World, i: int, v: int, j: int, margin: float, deep: float, start: int) -> None:
    """A vertex of shape i with its rounding, and all faces, edges and vertices of a mesh that it is close to.

    It is outside of the mesh where the closest one says so; then faces that look away, behind a thin wall or an edge, do not
    count. Inside, below the bottom of a valley, it lies beside the faces that are closest to it.
    """
    x, r = row(world.points, v), world.points[v, 3]
    of = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX
    count = near(world, 1, j, x, deep + r)
    height = height_over(world, 1, count, x, deep + r)
    deepest = 2.0 * height if height < 0.0 else 0.0
    for k in range(count):
        f = world.facets[world.near[1, k]]
        n, x_0 = row(world.points, f[NORMAL]), row(world.points, f[CORNERS])
        h = dot(n, minus(x, x_0))
        size = length(minus(row(world.points, f[CORNERS + 1]), x_0))
        below = h < 0.0 and beside(world, world.near[1, k], x)[0] <= -height * (1.0 + TIE)
        if h - r < margin and h >= deepest - OVER * size and (below or over(world, world.near[1, k], n, x)):
            g = 4 * f[PLANE] + FACE
            if not known(world, start, of, i, g, j):
                put_round(world, i, j, of, g, BALL_PLANE, h - r, x, r, x_0, 0.0, ZERO, n, n, 1.0)
        for e in range(f[EDGES_0], f[EDGES_1]):
            p, q = row(world.points, world.parts[e, 0]), row(world.points, world.parts[e, 1])
            d = minus(q, p)
            size = length(d)
            d = times(1.0 / size, d)
            foot = dot(minus(x, p), d)
            w = minus(x, along(p, foot, d))
            apart = length(w)
            if not (0.0 < apart < margin + r and max(-foot, foot - size) <= FLUSH * apart):
                continue
            n = times(1.0 / apart, w)
            if out_of(world, e, n) >= 0.0:
                g = 4 * (e - world.shapes[j, EDGE_0]) + EDGE
                put_round(world, i, j, of, g, BALL_LINE, apart - r, x, r, p, 0.0, ZERO, d, n, 1.0)
        for u in range(f[OWN_0], f[OWN_1]):
            if world.marks[u] & SHARP:
                w = minus(x, row(world.points, u))
                apart = length(w)
                if 0.0 < apart < margin + r and widest(world, u, times(1.0 / apart, w)) < -0.5 * FLUSH:
                    g, n = 4 * (u - world.shapes[j, VERTEX_0]) + VERTEX, times(1.0 / apart, w)
                    put_round(
                        world, i, j, of, g, BALL_BALL, apart - r, x, r, row(world.points, u), 0.0, ZERO, ZERO, n, 1.0
                    )


@jit
def height_over_shape(world: World, i: int, own: int, x: Triple, most: float) -> float:
    """The distance of x from a polyhedron, or from the first `own` triangles of a mesh i; negative inside."""
    if world.shapes[i, KIND] == MESH:
        return height_over(world, 0, own, x, most)
    highest = -np.inf
    for f in range(world.shapes[i, FACE_0], world.shapes[i, FACE_1]):
        highest = max(highest, dot(normal(world, f), minus(x, row(world.points, world.loop[world.parts[f, 1]]))))
    return highest


@jit
def _edge_on_edges(
    world: World, i: int, e: int, j: int, which: int, count: int, own: int, margin: float, deep: float
) -> None:
    """An edge of shape i and those of the triangles of a mesh that were found near, where they cross.

    own: triangles of i that were found near, if it is a mesh, too.
    """
    p, r = row(world.points, world.parts[e, 0]), world.points[world.parts[e, 0], 3]
    d = minus(row(world.points, world.parts[e, 1]), p)
    for k in range(count):
        f = world.facets[world.near[which, k]]
        for g in range(f[EDGES_0], f[EDGES_1]):
            q = row(world.points, world.parts[g, 0])
            b = minus(row(world.points, world.parts[g, 1]), q)
            s, t = closest_on_segments(p, d, q, b)
            if not (0.0 < s < 1.0 and 0.0 < t < 1.0):
                continue
            c = cross(d, b)
            size = length(c)
            if r > 0.0:
                w = minus(along(p, s, d), along(q, t, b))
                apart = length(w)
                if 0.0 < apart < margin + r and out_of(world, g, times(1.0 / apart, w)) > -BESIDE:
                    crossing(world, i, e, j, g, s, w, margin)
                continue
            if size <= PARALLEL * length(d) * length(b):
                continue
            n = times(1.0 / size, c)
            outward = along(row(world.points, world.parts[g, 2]), 1.0, row(world.points, world.parts[g, 3]))
            if dot(n, outward) < 0.0:
                n = times(-1.0, n)
            gap = dot(n, minus(p, q)) - r
            if -deep < gap < margin and min(out_of(world, g, n), out_of(world, e, times(-1.0, n))) > -BESIDE:
                between = along(along(p, s, d), -0.5 * gap, n)
                if gap < 0.0:
                    height = height_over_shape(world, i, own, between, deep)
                    height = max(height, height_over(world, which, count, between, deep))
                    if height > max(-WEDGE * gap, OVER * length(b)):
                        continue  # one passes behind a wedge of the other
                first, second = world.parts[e], world.parts[g]
                lines(
                    world, i, first[0], first[1], e - world.shapes[i, EDGE_0], j, second[0], second[1],
                    g - world.shapes[j, EDGE_0], n, margin,
                )  # fmt: skip


@jit
def _egg_on_mesh(world: World, i: int, j: int, margin: float) -> None:
    """An ellipsoid and all faces, edges and vertices of a mesh over which one of its feet lies."""
    S = spread(world.points, world.shapes[i, NORMAL_0], 3)
    c, thin = row(world.points, world.shapes[i, VERTEX_0]), np.inf
    for k in range(world.shapes[i, NORMAL_0], world.shapes[i, NORMAL_0] + 3):
        thin = min(thin, world.points[k, 3])
    start = world.found[0]
    count = near(world, 0, j, c, size_of(world, i) + margin)
    for k in range(count):
        f = world.facets[world.near[0, k]]
        n, y = row(world.points, f[NORMAL]), row(world.points, f[CORNERS])
        x = minus(c, far(S, n))
        gap = dot(n, minus(x, y))
        if -thin < gap < margin and over(world, world.near[0, k], n, x):
            if gap < -OVER * thin and height_over(world, 0, count, x, thin) > 0.0:
                continue  # its foot lies behind another face
            g = 4 * f[PLANE] + FACE
            if not known(world, start, VERTEX, i, g, j):
                egg_on_plane(world, i, S, j, n, y, 0.0, g, margin)
        for e in range(f[EDGES_0], f[EDGES_1]):
            p, q = row(world.points, world.parts[e, 0]), row(world.points, world.parts[e, 1])
            d = minus(q, p)
            size = length(d)
            d = times(1.0 / size, d)
            gap, n = farthest_apart(S, POINT, minus(c, p), d)
            share = dot(d, minus(minus(c, far(S, n)), p)) / size
            if -thin < gap < margin and 0.0 < share < 1.0 and out_of(world, e, n) >= 0.0:
                egg_on_line(world, i, j, 4 * (e - world.shapes[j, EDGE_0]) + EDGE, gap, p, d, 0.0, n, margin)
        for u in range(f[OWN_0], f[OWN_1]):
            if world.marks[u] & SHARP:
                p = row(world.points, u)
                gap, n = farthest_apart(S, POINT, minus(c, p), ZERO)
                if -thin < gap < margin and widest(world, u, n) <= 0.0:
                    egg_on_ball(world, i, j, 4 * (u - world.shapes[j, VERTEX_0]) + VERTEX, gap, p, 0.0, n, margin)

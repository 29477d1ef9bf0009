"""Narrow phase: the features of two shapes that are closest, as contacts, for every pair of solids.

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

from typing import NamedTuple

import numpy as np

from stickslip.collide.solids import BALL, HALF_SPACE, HOLLOW, ROD, SOLID
from stickslip.collide.vectors import Triple, along, closest_on_segments, cross, dot, length, minus, row, times
from stickslip.jit import jit

BALL_BALL, BALL_PLANE, BALL_LINE, LINE_LINE, BALL_CAVITY = range(5)
# Kinds of features, in the identity of a contact.
VERTEX, EDGE, FACE, CLIPPED = range(4)
# Columns of Scene.shapes.
KIND, BODY, VERTEX_0, VERTEX_1, FACE_0, FACE_1, EDGE_0, EDGE_1, MATERIAL, MIDDLE = range(10)
ROW = 24  # columns of World.rows: shapes, features, kind, gap, x_a, r_a, x_b, r_b, d_a, d_b, n, sign
CLIP = 64  # corners of a clipped face
# The reference face is kept, and preferred to edges, where others are better by less than this share of the size.
PREFER = 1e-6
PARALLEL = 1e-6  # sine of the angle of edges from which on they count as crossing


class World(NamedTuple):
    """Where everything is, and the contacts that were found.

    points: vertices with their rounding; normals of faces with the size of the shape; the middle of each shape. parts: of a
    face its normal and where its corners begin and end in `loop`; of an edge two vertices and the normals beside it, or -1.
    """

    dimension: int
    shapes: np.ndarray
    parts: np.ndarray
    loop: np.ndarray
    points: np.ndarray
    polygon: np.ndarray  # two of CLIP corners, with their feature
    rows: np.ndarray  # what was found, see ROW
    found: np.ndarray  # their number


@jit
def rounding(world: World, i: int) -> float:
    """The radius by which a shape is larger than its core."""
    return world.points[world.shapes[i, VERTEX_0], 3]


@jit
def normal(world: World, f: int) -> Triple:
    """The outward normal of a face."""
    return row(world.points, world.parts[f, 0])


@jit
def put(
    world: World, i: int, j: int, f_i: int, f_j: int, kind: int, gap: float, x_a: Triple, x_b: Triple, d_a: Triple, d_b: Triple,
    n: Triple, sign: float,
) -> None:  # fmt: skip
    """Write a contact of shape i (the ball or the first line) with shape j; without room, only count it."""
    c = world.found[0]
    world.found[0] = c + 1
    if c >= world.rows.shape[0]:
        return
    to = world.rows[c]
    to[0], to[1], to[2], to[3], to[4], to[5], to[23] = i, j, f_i, f_j, kind, gap, sign
    to[9], to[13] = rounding(world, i), rounding(world, j)
    for k in range(3):
        to[6 + k], to[10 + k], to[14 + k], to[17 + k], to[20 + k] = x_a[k], x_b[k], d_a[k], d_b[k], n[k]


@jit
def meet(world: World, i: int, j: int, margin: float) -> None:
    """All contacts of two shapes that are closer than the margin."""
    if world.shapes[i, KIND] > world.shapes[j, KIND]:
        i, j = j, i
    first, second = world.shapes[i, KIND], world.shapes[j, KIND]
    if second == HALF_SPACE:
        _on_half_space(world, i, j, margin)
    elif second == HOLLOW:
        _in_hollow(world, i, j, margin)
    elif second == SOLID and first == BALL:
        _ball_on_solid(world, i, j, margin)
    elif second == SOLID or (world.dimension == 2 and first == ROD):
        _hulls(world, i, j, margin)
    elif first == BALL and second == BALL:
        _balls(world, i, world.shapes[i, VERTEX_0], j, world.shapes[j, VERTEX_0], margin)
    elif first == BALL:
        _ball_on_rod(world, i, world.shapes[i, VERTEX_0], j, margin, True)
    else:
        _rods(world, i, j, margin)


ZERO = (0.0, 0.0, 0.0)


@jit
def _balls(world: World, i: int, v: int, j: int, w: int, margin: float) -> None:
    """A vertex of one shape and one of another, with their roundings."""
    x, y = row(world.points, v), row(world.points, w)
    d = minus(x, y)
    size = length(d)
    gap = size - rounding(world, i) - rounding(world, j)
    if gap < margin and size > 0.0:
        f, g = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX, 4 * (w - world.shapes[j, VERTEX_0]) + VERTEX
        n = times(1.0 / size, d)
        put(world, i, j, f, g, BALL_BALL, gap, x, y, ZERO, ZERO, n, 1.0)


@jit
def _ball_on_rod(
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
            _balls(world, i, v, j, world.shapes[j, VERTEX_0] + (1 if share >= 1.0 else 0), margin)
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


@jit
def _rods(world: World, i: int, j: int, margin: float) -> None:
    """Two capsules in space: where they cross, and each end against the other one, which carries parallel ones."""
    v, w = world.shapes[i, VERTEX_0], world.shapes[j, VERTEX_0]
    p, q = row(world.points, v), row(world.points, w)
    d, e = minus(row(world.points, v + 1), p), minus(row(world.points, w + 1), q)
    s, t = closest_on_segments(p, d, q, e)
    c = cross(d, e)
    crossing = length(c) > PARALLEL * length(d) * length(e)
    if crossing and 0.0 < s < 1.0 and 0.0 < t < 1.0:
        out = minus(along(p, s, d), along(q, t, e))
        _lines(world, i, v, v + 1, 0, j, w, w + 1, 0, out, margin)
    elif not (0.0 < s < 1.0 or 0.0 < t < 1.0):
        _balls(world, i, v + (1 if s > 0.5 else 0), j, w + (1 if t > 0.5 else 0), margin)
    for k in range(2):
        _ball_on_rod(world, i, v + k, j, margin, False)
        _ball_on_rod(world, j, w + k, i, margin, False)


@jit
def _lines(
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


@jit
def _on_half_space(world: World, i: int, j: int, margin: float) -> None:
    """Every vertex against the plane."""
    if world.shapes[i, KIND] >= HALF_SPACE:
        return
    n, x_0 = normal(world, world.shapes[j, FACE_0]), row(world.points, world.shapes[j, VERTEX_0])
    for v in range(world.shapes[i, VERTEX_0], world.shapes[i, VERTEX_1]):
        x = row(world.points, v)
        gap = dot(n, minus(x, x_0)) - rounding(world, i)
        if gap < margin:
            f = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX
            put(world, i, j, f, FACE, BALL_PLANE, gap, x, x_0, ZERO, n, n, 1.0)


@jit
def _in_hollow(world: World, i: int, j: int, margin: float) -> None:
    """Every vertex inside a round hole: the farthest point of a convex shape from a centre is one of them."""
    if world.shapes[i, KIND] >= HALF_SPACE:
        return
    y = row(world.points, world.shapes[j, VERTEX_0])
    for v in range(world.shapes[i, VERTEX_0], world.shapes[i, VERTEX_1]):
        x = row(world.points, v)
        d = minus(x, y)
        size = length(d)
        gap = rounding(world, j) - rounding(world, i) - size
        if gap < margin and size > 0.0:
            f, n = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX, times(-1.0 / size, d)
            put(world, i, j, f, VERTEX, BALL_CAVITY, gap, x, y, ZERO, ZERO, n, 1.0)


@jit
def _beyond(world: World, f: int, k: int, n: Triple, x: Triple) -> float:
    """How far a place lies outside of side k of a face."""
    first, last = world.parts[f, 1], world.parts[f, 2]
    a = row(world.points, world.loop[first + k])
    b = row(world.points, world.loop[first + k + 1 if first + k + 1 < last else first])
    side = cross(minus(b, a), n)
    return dot(side, minus(x, a)) / length(side)


@jit
def _ball_on_solid(world: World, i: int, j: int, margin: float) -> None:
    """The closest point of a polyhedron or polygon to a centre: on a face, an edge or a vertex."""
    x, r = row(world.points, world.shapes[i, VERTEX_0]), rounding(world, i)
    best, face = -np.inf, -1
    for f in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
        height = dot(normal(world, f), minus(x, row(world.points, world.loop[world.parts[f, 1]])))
        if height > best:
            best, face = height, f
    if best - r >= margin:
        return
    distance, on = np.inf, -1
    if best <= 0.0:
        distance, on = best, face
    else:
        for f in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
            n = normal(world, f)
            first, last = world.parts[f, 1], world.parts[f, 2]
            height = dot(n, minus(x, row(world.points, world.loop[first])))
            if height <= 0.0 or height >= distance:
                continue
            inside = True
            if world.dimension == 2:
                a, b = row(world.points, world.loop[first]), row(world.points, world.loop[first + 1])
                inside = dot(minus(x, a), minus(b, a)) >= 0.0 and dot(minus(x, b), minus(a, b)) >= 0.0
            else:
                for k in range(last - first):
                    inside = inside and _beyond(world, f, k, n, x) <= 0.0
            if inside:
                distance, on = height, f
    if on >= 0:
        n, x_0 = normal(world, on), row(world.points, world.loop[world.parts[on, 1]])
        if distance - r < margin:
            g = 4 * (on - world.shapes[j, FACE_0]) + FACE
            put(world, i, j, VERTEX, g, BALL_PLANE, distance - r, x, x_0, ZERO, n, n, 1.0)
        return
    vertex = -1
    for w in range(world.shapes[j, VERTEX_0], world.shapes[j, VERTEX_1]):
        size = length(minus(x, row(world.points, w)))
        if size < distance:
            distance, vertex = size, w
    edge = -1
    for e in range(world.shapes[j, EDGE_0], world.shapes[j, EDGE_1]):
        a = row(world.points, world.parts[e, 0])
        d = minus(row(world.points, world.parts[e, 1]), a)
        share = dot(minus(x, a), d) / dot(d, d)
        if 0.0 < share < 1.0:
            size = length(minus(x, along(a, share, d)))
            if size < distance:
                distance, edge = size, e
    if edge < 0:
        _balls(world, i, world.shapes[i, VERTEX_0], j, vertex, margin)
        return
    a = row(world.points, world.parts[edge, 0])
    d = minus(row(world.points, world.parts[edge, 1]), a)
    d = times(1.0 / length(d), d)
    w_ = along(minus(x, a), -dot(minus(x, a), d), d)
    n, gap = times(1.0 / distance, w_), distance - r - rounding(world, j)
    if gap < margin:
        g = 4 * (edge - world.shapes[j, EDGE_0]) + EDGE
        put(world, i, j, VERTEX, g, BALL_LINE, gap, x, a, ZERO, d, n, 1.0)


@jit
def _lowest(world: World, j: int, n: Triple) -> float:
    """The smallest component of a shape's vertices along n."""
    low = np.inf
    for v in range(world.shapes[j, VERTEX_0], world.shapes[j, VERTEX_1]):
        low = min(low, dot(n, row(world.points, v)))
    return low


@jit
def _best_face(world: World, i: int, j: int) -> tuple[float, int]:
    """The face of shape j that separates it best from shape i, and by how much."""
    best, face = -np.inf, -1
    for f in range(world.shapes[j, FACE_0], world.shapes[j, FACE_1]):
        n = normal(world, f)
        apart = _lowest(world, i, n) - dot(n, row(world.points, world.loop[world.parts[f, 1]]))
        if apart > best:
            best, face = apart, f
    return best, face


@jit
def _hulls(world: World, i: int, j: int, margin: float) -> None:
    """Two polyhedra, polygons or rods by the axis that separates them best: a face of one, or two edges."""
    reach = margin + rounding(world, i) + rounding(world, j)
    apart_j, face_j = _best_face(world, i, j)
    if apart_j >= reach:
        return
    apart_i, face_i = _best_face(world, j, i)
    if apart_i >= reach:
        return
    tie = PREFER * world.points[world.parts[world.shapes[j, FACE_0], 0], 3]
    apart, edge_i, edge_j, outward = -np.inf, -1, -1, ZERO
    if world.dimension == 3:
        apart, edge_i, edge_j, outward = _best_edges(world, i, j)
        if apart >= reach:
            return
    before, limit = world.found[0], margin
    if apart <= max(apart_i, apart_j) + tie:
        if apart_i > apart_j + tie:
            _on_face(world, j, i, face_i, margin)
        else:
            _on_face(world, i, j, face_j, margin)
        if world.found[0] > before and rounding(world, i) + rounding(world, j) == 0.0:
            return
        for c in range(before, min(world.found[0], world.rows.shape[0])):
            limit = min(limit, world.rows[c, 5] - tie)
    elif apart < 0.0:
        e, g = world.parts[edge_i], world.parts[edge_j]
        f, h = edge_i - world.shapes[i, EDGE_0], edge_j - world.shapes[j, EDGE_0]
        _lines(world, i, e[0], e[1], f, j, g[0], g[1], h, outward, margin)
        return
    # Apart, and closest beside the faces: at corners and edges. Round ones meet there, and so do sharp ones at last.
    if max(apart, apart_i, apart_j) >= 0.0:
        _closest_edges(world, i, j, limit)


@jit
def _best_edges(world: World, i: int, j: int) -> tuple[float, int, int, Triple]:
    """The pair of edges whose common normal separates two shapes best, if they are the ones that meet there.

    The edges of convex shapes that can meet are those whose normal lies between the faces beside both of them; others are
    never the closest ones.
    """
    best, edge_i, edge_j, outward = -np.inf, -1, -1, ZERO
    # From the second to the first: into a solid first shape at its own edge, or out of the second one.
    solid_first = world.shapes[i, KIND] == SOLID
    middle = row(world.points, world.shapes[i if solid_first else j, MIDDLE])
    for e in range(world.shapes[i, EDGE_0], world.shapes[i, EDGE_1]):
        p = row(world.points, world.parts[e, 0])
        d = minus(row(world.points, world.parts[e, 1]), p)
        for g in range(world.shapes[j, EDGE_0], world.shapes[j, EDGE_1]):
            q = row(world.points, world.parts[g, 0])
            b = minus(row(world.points, world.parts[g, 1]), q)
            c = cross(d, b)
            size = length(c)
            if size <= PARALLEL * length(d) * length(b):
                continue
            n = times(1.0 / size, c)
            if dot(n, minus(middle, p) if solid_first else minus(q, middle)) < 0.0:
                n = times(-1.0, n)
            if not (_between(world, e, times(-1.0, n)) and _between(world, g, n)):
                continue
            apart = dot(n, minus(p, q))
            if apart > best:
                best, edge_i, edge_j, outward = apart, e, g, n
    return best, edge_i, edge_j, outward


@jit
def _between(world: World, e: int, n: Triple) -> bool:
    """Whether n points out of a shape at its edge e, between the normals of the faces beside it."""
    f, g = world.parts[e, 2], world.parts[e, 3]
    if f < 0:
        return True
    a, b = row(world.points, f), row(world.points, g)
    t = minus(row(world.points, world.parts[e, 1]), row(world.points, world.parts[e, 0]))
    # n lies in the plane of a and b; the arc from a to b turns about +t or -t.
    turn = dot(t, cross(a, b))
    if abs(turn) < PARALLEL * length(t):
        return False
    return dot(t, cross(a, n)) * turn >= 0.0 and dot(t, cross(n, b)) * turn >= 0.0 and dot(n, a) + dot(n, b) > 0.0


@jit
def _on_face(world: World, i: int, j: int, face: int, margin: float) -> None:
    """The part of shape i that lies over a face of shape j: its corners are the contacts."""
    n, x_0 = normal(world, face), row(world.points, world.loop[world.parts[face, 1]])
    count = _incident(world, i, n)
    first, last = world.parts[face, 1], world.parts[face, 2]
    now = 0
    if world.dimension == 2:
        a, b = row(world.points, world.loop[first]), row(world.points, world.loop[first + 1])
        t = minus(b, a)
        t = times(1.0 / length(t), t)
        count = _clip(world.polygon, now, count, t, dot(t, b), 0)
        count = _clip(world.polygon, 1, count, times(-1.0, t), -dot(t, a), 1)
    else:
        for k in range(last - first):
            a = row(world.points, world.loop[first + k])
            b = row(world.points, world.loop[first + k + 1 if first + k + 1 < last else first])
            side = cross(minus(b, a), n)
            side = times(1.0 / length(side), side)
            count = _clip(world.polygon, now, count, side, dot(side, a), k)
            now = 1 - now
    g = 4 * (face - world.shapes[j, FACE_0]) + FACE
    for k in range(count):
        x = row(world.polygon[now], k)
        gap = dot(n, minus(x, x_0)) - rounding(world, i) - rounding(world, j)
        if gap < margin:
            f = int(world.polygon[now, k, 3])
            put(world, i, j, f, g, BALL_PLANE, gap, x, x_0, ZERO, n, n, 1.0)


@jit
def _incident(world: World, i: int, n: Triple) -> int:
    """The face of a shape that looks most against n, or a rod's axis, as the polygon to be clipped; its corners."""
    v_0 = world.shapes[i, VERTEX_0]
    if world.shapes[i, KIND] == ROD:
        for k in range(2):
            world.polygon[0, k, 3] = 4 * k + VERTEX
            for c in range(3):
                world.polygon[0, k, c] = world.points[v_0 + k, c]
        return 2
    face, best = -1, np.inf
    for f in range(world.shapes[i, FACE_0], world.shapes[i, FACE_1]):
        value = dot(normal(world, f), n)
        if value < best - 1e-9:
            face, best = f, value
    first, last = world.parts[face, 1], world.parts[face, 2]
    for k in range(last - first):
        v = world.loop[first + k]
        world.polygon[0, k, 3] = 4 * (v - v_0) + VERTEX
        for c in range(3):
            world.polygon[0, k, c] = world.points[v, c]
    return last - first


@jit
def _clip(polygon: np.ndarray, now: int, count: int, side: Triple, limit: float, number: int) -> int:
    """Cut off what lies beyond a side plane; the result goes to the other polygon. Cut corners are known by the side and
    the corner that they were cut next to.
    """
    then, out = 1 - now, 0
    for k in range(count):
        nxt = k + 1 if k + 1 < count else 0
        x, y = row(polygon[now], k), row(polygon[now], nxt)
        a, b = dot(side, x) - limit, dot(side, y) - limit
        if a <= 0.0 and out < CLIP:
            polygon[then, out, 3] = polygon[now, k, 3]
            for c in range(3):
                polygon[then, out, c] = x[c]
            out += 1
        if (a < 0.0 < b or b < 0.0 < a) and out < CLIP and not (count == 2 and k == 1):
            z = along(x, a / (a - b), minus(y, x))
            inner = polygon[now, k, 3] if a < 0.0 else polygon[now, nxt, 3]
            corner = 2 * ((int(inner) // 4) % 1000) + (1 if a < 0.0 else 0)
            polygon[then, out, 3] = 4 * (2000 * (number + 1) + corner) + CLIPPED
            for c in range(3):
                polygon[then, out, c] = z[c]
            out += 1
    return out


@jit
def _closest_edges(world: World, i: int, j: int, margin: float) -> None:
    """Shapes that are apart and meet beside their faces: the closest points of all edges, in the plane of all corners."""
    best, s_best, t_best, e_i, e_j, outward = np.inf, 0.0, 0.0, -1, -1, ZERO
    if world.dimension == 2:
        for v in range(world.shapes[i, VERTEX_0], world.shapes[i, VERTEX_1]):
            for w in range(world.shapes[j, VERTEX_0], world.shapes[j, VERTEX_1]):
                size = length(minus(row(world.points, v), row(world.points, w)))
                if size < best:
                    best, e_i, e_j = size, v, w
        _balls(world, i, e_i, j, e_j, margin)
        return
    for e in range(world.shapes[i, EDGE_0], world.shapes[i, EDGE_1]):
        p = row(world.points, world.parts[e, 0])
        d = minus(row(world.points, world.parts[e, 1]), p)
        for g in range(world.shapes[j, EDGE_0], world.shapes[j, EDGE_1]):
            q = row(world.points, world.parts[g, 0])
            b = minus(row(world.points, world.parts[g, 1]), q)
            s, t = closest_on_segments(p, d, q, b)
            way = minus(along(p, s, d), along(q, t, b))
            size = length(way)
            if size < best:
                best, s_best, t_best, e_i, e_j, outward = size, s, t, e, g, way
    if best - rounding(world, i) - rounding(world, j) >= margin or best == 0.0:
        return
    e, g = world.parts[e_i], world.parts[e_j]
    inner_i, inner_j = 0.0 < s_best < 1.0, 0.0 < t_best < 1.0
    if inner_i and inner_j:
        _lines(
            world, i, e[0], e[1], e_i - world.shapes[i, EDGE_0], j, g[0], g[1],
            e_j - world.shapes[j, EDGE_0], outward, margin,
        )  # fmt: skip
    elif inner_j:
        _vertex_on_edge(world, i, e[1] if s_best >= 1.0 else e[0], j, e_j, margin)
    elif inner_i:
        _vertex_on_edge(world, j, g[1] if t_best >= 1.0 else g[0], i, e_i, margin)
    else:
        _balls(world, i, e[1] if s_best >= 1.0 else e[0], j, g[1] if t_best >= 1.0 else g[0], margin)


@jit
def _vertex_on_edge(world: World, i: int, v: int, j: int, e: int, margin: float) -> None:
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

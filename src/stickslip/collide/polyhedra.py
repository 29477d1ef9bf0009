"""Pairs with polyhedra, in the plane with polygons: the closest point of one to a centre, and manifolds of two of them.

Two of them meet at the axis that separates them best: a face of one, where the corners of the area over it are the contacts, or
two edges.
"""

from __future__ import annotations

import numpy as np

from stickslip.collide.features import CROSSING, ball_on_line, balls, lines, round_lines
from stickslip.collide.solids import BALL, ROD, SOLID
from stickslip.collide.vectors import Triple, along, closest_on_segments, cross, dot, length, minus, row, times
from stickslip.collide.world import (
    BALL_PLANE,
    CLIP,
    CLIPPED,
    EDGE_0,
    EDGE_1,
    FACE,
    FACE_0,
    FACE_1,
    KIND,
    MIDDLE,
    VERTEX,
    VERTEX_0,
    VERTEX_1,
    ZERO,
    World,
    normal,
    put,
    rounding,
)
from stickslip.jit import apart, jit

# The reference face is kept, and preferred to edges, where others are better by less than this share of the size.
PREFER = 1e-6
PARALLEL = 1e-6  # sine of the angle of edges from which on they count as crossing
SAME = 1e-9  # share by which distances differ that are the same but for rounding errors
ALIKE = 0.98  # cosine of the angle of two normals up to which faces lie on each other


@apart("boolean", allocates=True)
def meet_hulls(world: World, i: int, j: int, margin: float) -> bool:
    """All contacts of a ball, a rod or a polyhedron i with a polyhedron j; in the plane also of two rods."""
    if world.shapes[i, KIND] == BALL:
        ball_on_solid(world, i, world.shapes[i, VERTEX_0], j, margin)
    else:
        _hulls(world, i, j, margin)
    return True


@jit
def beyond(world: World, f: int, k: int, n: Triple, x: Triple) -> float:
    """How far a place lies outside of side k of a face."""
    first, last = world.parts[f, 1], world.parts[f, 2]
    a = row(world.points, world.loop[first + k])
    b = row(world.points, world.loop[first + k + 1 if first + k + 1 < last else first])
    side = cross(minus(b, a), n)
    return dot(side, minus(x, a)) / length(side)


@jit
def ball_on_solid(world: World, i: int, v: int, j: int, margin: float) -> None:
    """The closest point of a polyhedron or polygon to vertex v of shape i: on a face, an edge or a vertex."""
    x, r = row(world.points, v), rounding(world, i)
    of = 4 * (v - world.shapes[i, VERTEX_0]) + VERTEX
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
                    inside = inside and beyond(world, f, k, n, x) <= 0.0
            if inside:
                distance, on = height, f
    if on >= 0:
        n, x_0 = normal(world, on), row(world.points, world.loop[world.parts[on, 1]])
        if distance - r < margin:
            g = 4 * (on - world.shapes[j, FACE_0]) + FACE
            put(world, i, j, of, g, BALL_PLANE, distance - r, x, x_0, ZERO, n, n, 1.0)
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
        balls(world, i, v, j, vertex, margin)
        return
    ball_on_line(world, i, v, j, edge, 0.0, margin)


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
def _tie(world: World, j: int) -> float:
    """By how much axes must differ to be told apart."""
    return PREFER * world.points[world.parts[world.shapes[j, FACE_0], 0], 3]


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
    tie = _tie(world, j)
    apart, edge_i, edge_j, outward = -np.inf, -1, -1, ZERO
    if world.dimension == 3:
        apart, edge_i, edge_j, outward = _best_edges(world, i, j)
        if apart >= reach:
            return
    before, limit = world.found[0], margin
    faces = max(apart_i, apart_j)
    edges_win = apart > faces + tie
    reference = normal(world, face_i if apart_i > apart_j + tie else face_j)
    if not edges_win or abs(dot(outward, reference)) > ALIKE:
        # Tilted by little, boxes that overhang each other are separated by edges; the area over the face still counts.
        if apart_i > apart_j + tie:
            _on_face(world, j, i, face_i, margin)
        else:
            _on_face(world, i, j, face_j, margin)
        for c in range(before, min(world.found[0], world.rows.shape[0])):
            limit = min(limit, world.rows[c, 5] - tie)
        if not edges_win and limit <= faces and rounding(world, i) + rounding(world, j) == 0.0:
            return  # nothing is closer than the planes of their faces
    if edges_win and apart < 0.0:
        e, g = world.parts[edge_i], world.parts[edge_j]
        f, h = edge_i - world.shapes[i, EDGE_0], edge_j - world.shapes[j, EDGE_0]
        lines(world, i, e[0], e[1], f, j, g[0], g[1], h, outward, margin)
        return
    # Apart, and closest beside the faces: at corners and edges. Round ones meet there, and so do sharp ones at last.
    if max(apart, faces) >= 0.0:
        _closest_edges(world, i, j, limit, margin)


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
            if not (between(world, e, times(-1.0, n)) and between(world, g, n)):
                continue
            apart = dot(n, minus(p, q))
            if apart > best:
                best, edge_i, edge_j, outward = apart, e, g, n
    return best, edge_i, edge_j, outward


@jit
def between(world: World, e: int, n: Triple) -> bool:
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
    now, thin = 0, _tie(world, j) if world.shapes[i, KIND] == SOLID else -1.0
    if world.dimension == 2:
        a, b = row(world.points, world.loop[first]), row(world.points, world.loop[first + 1])
        t = minus(b, a)
        t = times(1.0 / length(t), t)
        for side, limit in ((t, dot(t, b)), (times(-1.0, t), -dot(t, a))):
            if _passes(world.polygon[now], count, side, limit, thin):
                return
        count = _clip(world.polygon, now, count, t, dot(t, b), 0, max(thin, 0.0))
        count = _clip(world.polygon, 1, count, times(-1.0, t), -dot(t, a), 1, max(thin, 0.0))
    else:
        for k in range(last - first):
            a = row(world.points, world.loop[first + k])
            b = row(world.points, world.loop[first + k + 1 if first + k + 1 < last else first])
            side = cross(minus(b, a), n)
            side = times(1.0 / length(side), side)
            if _passes(world.polygon[now], count, side, dot(side, a), thin):
                return
            count = _clip(world.polygon, now, count, side, dot(side, a), k, max(thin, 0.0))
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
    """The face at the lowest vertex of a shape that looks most against n, or a rod's axis, as the polygon to be clipped.

    The face of a pointed stone that looks most against n need not be one of those at its tip. Returns the number of corners.
    """
    v_0 = world.shapes[i, VERTEX_0]
    if world.shapes[i, KIND] == ROD:
        for k in range(2):
            world.polygon[0, k, 3] = 4 * k + VERTEX
            for c in range(3):
                world.polygon[0, k, c] = world.points[v_0 + k, c]
        return 2
    face, best = -1, np.inf
    size = world.points[world.parts[world.shapes[i, FACE_0], 0], 3]
    low = _lowest(world, i, n) + PREFER * size
    for f in range(world.shapes[i, FACE_0], world.shapes[i, FACE_1]):
        value = dot(normal(world, f), n)
        if value < best - 1e-9:
            for k in range(world.parts[f, 1], world.parts[f, 2]):
                if dot(n, row(world.points, world.loop[k])) <= low:
                    face, best = f, value
    first, last = world.parts[face, 1], world.parts[face, 2]
    for k in range(last - first):
        v = world.loop[first + k]
        world.polygon[0, k, 3] = 4 * (v - v_0) + VERTEX
        for c in range(3):
            world.polygon[0, k, c] = world.points[v, c]
    return last - first


@jit
def _passes(polygon: np.ndarray, count: int, side: Triple, limit: float, thin: float) -> bool:
    """Whether a polygon lies beyond a side plane, or inside of it by next to nothing.

    A block that slides over flush tiles lies over the side of the next one by nothing but rounding errors.
    """
    for k in range(count):
        if dot(side, row(polygon, k)) - limit < -thin:
            return False
    return thin >= 0.0


@jit
def _clip(polygon: np.ndarray, now: int, count: int, side: Triple, limit: float, number: int, thin: float) -> int:
    """Cut off what lies beyond a side plane; the result goes to the other polygon. Cut corners are known by the side and
    the corner that they were cut next to.

    A corner that is flush with the side, beyond it by no more than `thin`, stays: that of a box on an equal one would be
    another contact after each step, known by no percussion of the last one.
    """
    then, out = 1 - now, 0
    for k in range(count):
        nxt = k + 1 if k + 1 < count else 0
        x, y = row(polygon[now], k), row(polygon[now], nxt)
        a, b = dot(side, x) - limit, dot(side, y) - limit
        if a <= thin and out < CLIP:
            polygon[then, out, 3] = polygon[now, k, 3]
            for c in range(3):
                polygon[then, out, c] = x[c]
            out += 1
        if min(a, b) < 0.0 and max(a, b) > thin and out < CLIP and not (count == 2 and k == 1):
            z = along(x, a / (a - b), minus(y, x))
            inner = polygon[now, k, 3] if a < 0.0 else polygon[now, nxt, 3]
            corner = 2 * ((int(inner) // 4) % 1000) + (1 if a < 0.0 else 0)
            polygon[then, out, 3] = 4 * (2000 * (number + 1) + corner) + CLIPPED
            for c in range(3):
                polygon[then, out, c] = z[c]
            out += 1
    return out


@jit
def _closest_edges(world: World, i: int, j: int, limit: float, margin: float) -> None:
    """Shapes that are apart and meet beside their faces: the closest points of all edges, in the plane of all corners.

    What is found at faces is closer than the margin; a corner or an edge counts if it is closer than the limit, too.
    """
    best, s_best, t_best, e_i, e_j, outward, angle = np.inf, 0.0, 0.0, -1, -1, ZERO, 1.0
    if world.dimension == 2:
        for v in range(world.shapes[i, VERTEX_0], world.shapes[i, VERTEX_1]):
            for w in range(world.shapes[j, VERTEX_0], world.shapes[j, VERTEX_1]):
                size = length(minus(row(world.points, v), row(world.points, w)))
                if size < best:
                    best, e_i, e_j = size, v, w
        balls(world, i, e_i, j, e_j, limit)
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
            if size > (1.0 + SAME) * best:
                continue
            # Edges that end in the same corner are as close as each other: parallel ones share more.
            sine = length(cross(d, b)) / (length(d) * length(b))
            if size < (1.0 - SAME) * best or sine < angle:
                best, s_best, t_best, e_i, e_j, outward, angle = size, s, t, e, g, way, sine
    gap, e, g = best - rounding(world, i) - rounding(world, j), world.parts[e_i], world.parts[e_j]
    if gap >= margin or best == 0.0:
        return
    if angle < CROSSING and rounding(world, i) + rounding(world, j) > 0.0:
        # Also where the area over a face ends at this edge: what lies beside it is hardly farther away.
        if gap < limit + 2.0 * _tie(world, j):
            round_lines(world, i, e_i, j, e_j, s_best, t_best, outward, margin)
        return
    if gap >= limit:
        return
    inner_i, inner_j = 0.0 < s_best < 1.0, 0.0 < t_best < 1.0
    k, m = (1 if s_best >= 1.0 else 0), (1 if t_best >= 1.0 else 0)
    if inner_i and inner_j:
        f, h = e_i - world.shapes[i, EDGE_0], e_j - world.shapes[j, EDGE_0]
        lines(world, i, e[0], e[1], f, j, g[0], g[1], h, outward, limit)
    elif inner_j:
        ball_on_line(world, i, e[k], j, e_j, 0.0, limit)
    elif inner_i:
        ball_on_line(world, j, g[m], i, e_i, 0.0, limit)
    else:
        balls(world, i, e[k], j, g[m], limit)

"""Shapes that lie so deep inside a mesh or an outline that none of its surface is near, or that go through it: a check for the
start of a run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.collide.chains import AT, BAY, CORNER, END, FROM, PIECE, SIDE, TO
from stickslip.collide.room import Room
from stickslip.collide.scene import FIXED, Scene
from stickslip.collide.solids import BALL, EGG, HALF_SPACE, MESH, ROD, SOLID
from stickslip.collide.surfaces import CORNERS
from stickslip.collide.world import BODY, EDGE_0, EDGE_1, FACE_0, FACE_1, KIND, MIDDLE, NORMAL_0, VERTEX_0, VERTEX_1

FEW = 200  # vertices of a shape that are looked at
PAIRS = 200_000  # of edges and faces that are looked at at once
CLEAR = 1e-6  # share of the size: edges that are less deep are found as a contact
EDGE, CENTRE, VERTEX, RIM = "an edge", "its centre", "its deepest vertex", "a point of its rim"
POINTS = {BALL: CENTRE, EGG: CENTRE, ROD: "the deeper end of its axis"}  # of round shapes, in place of vertices


class Inside(NamedTuple):
    """A shape that begins inside another one: which point of which of them is inside, where, and how far from the surface.

    `point` is the deepest of those that were looked at: vertices, or middles of the pieces of edges that are inside.
    """

    shape: int
    other: int
    point: str
    owner: int  # `shape`, or `other`: an edge of a mesh may go through a shape that has no vertex inside
    place: np.ndarray
    depth: float


def swallowed(scene: Scene, room: Room, tolerance: float = 0.0) -> Inside | None:
    """A shape and a mesh or outline that it begins inside of, or an ellipsoid that a mesh begins inside of, by more than
    the tolerance.

    The points of bodies in `room` must be where they are.
    """
    kinds, owner, n = scene.shapes[:, KIND], scene.shapes[:, BODY], len(scene.shapes)
    middles, fixed = room.points[scene.shapes[:, MIDDLE], :3], scene.bodies[owner, 0] == FIXED
    for j in np.flatnonzero(kinds == MESH).tolist():
        near = np.linalg.norm(middles - middles[j], axis=1) <= scene.reach + scene.reach[j]
        near &= (kinds < HALF_SPACE) & (owner != owner[j]) & ~(fixed & fixed[j])
        for i in np.flatnonzero(near).tolist():
            if min(i, j) * n + max(i, j) in scene.apart:
                continue
            for of, other in ((i, j), (j, i)):
                found = _deepest_vertex(scene, room, of, other)
                if found is not None and found[1] > tolerance:
                    return Inside(of, other, _point(scene, of), of, *found)
                found = _deepest_edge(scene, room, of, other)
                if found is not None and found[1] > tolerance + CLEAR * scene.reach[of]:
                    return Inside(i, j, EDGE, of, *found)
    return None


def _point(scene: Scene, i: int) -> str:
    """What the vertex of a shape that was found is called."""
    if scene.dimension == 2 and scene.shapes[i, KIND] == MESH and not (_pieces(scene, i)[:, PIECE] == CORNER).any():
        return RIM
    first, last = scene.shapes[i, [VERTEX_0, VERTEX_1]]
    return POINTS.get(int(scene.shapes[i, KIND]), VERTEX if last - first <= FEW else "a vertex of it")


def _vertices(scene: Scene, room: Room, i: int) -> np.ndarray:
    """Vertices of a shape; of an outline the ends of its pieces."""
    outline = scene.dimension == 2 and scene.shapes[i, KIND] == MESH
    x = sides(scene, room, i)[0] if outline else room.points[slice(*scene.shapes[i, [VERTEX_0, VERTEX_1]]), :3]
    return x[:: max(1, len(x) // FEW)]


def _deepest_vertex(scene: Scene, room: Room, i: int, j: int) -> tuple[np.ndarray, float] | None:
    """The vertex of a shape i that is deepest inside of j, and how far from the surface."""
    x, kind = _vertices(scene, room, i), scene.shapes[j, KIND]
    if kind == EGG:
        depth = _depth_in_egg(scene, room, j, x)
    elif kind in (MESH, SOLID):
        low, high = _box(scene, room, j)
        x = x[((x >= low) & (x <= high)).all(axis=1)]  # most of what lies on a ground does not
        x = x[_winding(scene, room, j, x) > 0.5]
        depth = _depth(scene, room, j, x)
    else:  # round shapes are close to the surface that they hold: that is a contact
        return None
    if not len(x):
        return None
    k = int(depth.argmax())
    return x[k], float(depth[k])


def _box(scene: Scene, room: Room, j: int) -> tuple[np.ndarray, np.ndarray]:
    """The low and the high corner of a box around a mesh, a polyhedron, or what is bounded by an outline."""
    x = _triangles(scene, room, j).reshape(-1, 3) if scene.dimension == 3 else np.vstack(sides(scene, room, j))
    return x.min(axis=0), x.max(axis=0)


def _deepest_edge(scene: Scene, room: Room, i: int, j: int) -> tuple[np.ndarray, float] | None:
    """Where an edge of a shape i is inside of j after it went through its surface, and how far from it.

    An edge may enter and leave several times. Its piece between two faces is as deep as its middle, at least.
    """
    a, b = _edges(scene, room, i)
    if scene.dimension == 3:
        edge, share = _crossings(a, b, _triangles(scene, room, j))
    else:
        edge, share = _crossings_of_sides(a, b, *sides(scene, room, j))
    if not edge.size:
        return None
    places = []
    for e in np.unique(edge)[:FEW].tolist():
        s = np.concatenate([[0.0], np.sort(share[edge == e]), [1.0]])
        places.append(a[e] + ((s[1:] + s[:-1]) / 2)[:, None] * (b[e] - a[e]))
    x = np.concatenate(places)
    x = x[_winding(scene, room, j, x) > 0.5]
    if not len(x):  # it meets the surface only
        return None
    depth = _depth(scene, room, j, x)
    k = int(depth.argmax())
    return x[k], float(depth[k])


def _crossings(a: np.ndarray, b: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which edges from a to b go through faces, and at which share of their lengths."""
    nothing = np.zeros(0, np.int64), np.zeros(0)
    if not len(a) or not len(faces):
        return nothing
    low, high = np.minimum(a, b), np.maximum(a, b)
    meets = ((faces.max(1) >= low.min(0)) & (faces.min(1) <= high.max(0))).all(1)
    faces = faces[meets]
    if not len(faces):
        return nothing
    near = np.flatnonzero(((high >= faces.min((0, 1))) & (low <= faces.max((0, 1)))).all(1))
    u, v = faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]
    normals, chunk, edges, shares = np.cross(u, v), max(1, PAIRS // len(faces)), [nothing[0]], [nothing[1]]
    for first in range(0, len(near), chunk):
        these = near[first : first + chunk]
        p, d = a[these, None], (b - a)[these, None]
        slope, w = (normals * d).sum(2), p - faces[:, 0]
        across = np.cross(w, d)  # Cramer's rule for w + s d = y u + z v [Moeller and Trumbore]
        with np.errstate(divide="ignore", invalid="ignore"):
            s, y, z = (x / slope for x in (-(normals * w).sum(2), -(v * across).sum(2), (u * across).sum(2)))
            through = (s > 0) & (s < 1) & (y > 0) & (z > 0) & (y + z < 1)
        edges.append(these[np.nonzero(through)[0]])
        shares.append(s[through])
    return np.concatenate(edges), np.concatenate(shares)


def _crossings_of_sides(
    a: np.ndarray, b: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same in the plane, for sides from begin to end."""
    edges, shares = [np.zeros(0, np.int64)], [np.zeros(0)]
    along = end - begin
    for e in range(len(a) if len(begin) else 0):
        d, w = b[e] - a[e], begin - a[e]
        with np.errstate(divide="ignore", invalid="ignore"):
            s, y = (
                (w[:, 0] * x[..., 1] - w[:, 1] * x[..., 0]) / (d[0] * along[:, 1] - d[1] * along[:, 0])
                for x in (along, d)
            )
            through = (s > 0) & (s < 1) & (y >= 0) & (y < 1)
        edges.append(np.full(int(through.sum()), e))
        shares.append(s[through])
    return np.concatenate(edges), np.concatenate(shares)


def _edges(scene: Scene, room: Room, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the edges of a shape, moved towards its middle by very little, so that they do not run along faces."""
    middle = room.points[scene.shapes[i, MIDDLE], :3]
    if scene.dimension == 2 and scene.shapes[i, KIND] != ROD:
        a, b = sides(scene, room, i, BAY)  # the chord of a bay lies outside
        return a + CLEAR * (middle - a), b + CLEAR * (middle - b)
    if scene.shapes[i, KIND] == MESH:
        corners = scene.surfaces.facets[scene.shapes[i, FACE_0] : scene.shapes[i, FACE_1], CORNERS : CORNERS + 3]
        ends = np.unique(np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])), axis=0)
    else:
        ends = scene.parts[scene.shapes[i, EDGE_0] : scene.shapes[i, EDGE_1], :2].astype(np.int64)
    a, b = (x + CLEAR * (middle - x) for x in (room.points[ends[:, 0], :3], room.points[ends[:, 1], :3]))
    return a, b


def _triangles(scene: Scene, room: Room, j: int) -> np.ndarray:
    """The faces of a mesh or a polyhedron as triangles, three corners each; none of round shapes."""
    first, last = scene.shapes[j, [FACE_0, FACE_1]]
    if scene.shapes[j, KIND] == MESH:
        return room.points[scene.surfaces.facets[first:last, CORNERS : CORNERS + 3], :3]
    if scene.shapes[j, KIND] != SOLID:
        return np.zeros((0, 3, 3))
    faces = [scene.loop[begin:end] for _, begin, end, *_ in scene.parts[first:last]]
    fans = [[loop[0], loop[k], loop[k + 1]] for loop in faces for k in range(1, len(loop) - 1)]
    return room.points[np.array(fans, np.int64), :3]


def _depth_in_egg(scene: Scene, room: Room, i: int, x: np.ndarray) -> np.ndarray:
    """How far places are from the surface of an ellipsoid that they are inside of; 0 outside.

    The closest point is y a^2 / (a^2 + t), with axes a and the root t of its equation between -min(a)^2 and 0. Where y has no
    part along the shortest axis, that part of the closest point is what the others leave.
    """
    axes = room.points[scene.shapes[i, NORMAL_0] : scene.shapes[i, NORMAL_0] + scene.dimension]
    y, squares = np.abs((x - room.points[scene.shapes[i, VERTEX_0], :3]) @ axes[:, :3].T), axes[:, 3] ** 2
    short = int(squares.argmin())
    low, high = np.full(len(y), -squares[short] * (1 - 1e-12)), np.zeros(len(y))  # y may be 0 along this axis
    for _ in range(60):
        t = (low + high) / 2
        outside = (squares * (y / (squares + t[:, None])) ** 2).sum(1) > 1
        low, high = np.where(outside, t, low), np.where(outside, high, t)
    closest = squares * y / (squares + high[:, None])
    rest = 1 - np.delete(closest**2 / squares, short, axis=1).sum(1)
    closest[:, short] = np.sqrt(squares[short] * np.maximum(rest, 0.0))
    within = (y**2 / squares).sum(1) < 1 - 1e-3
    return np.where(within, np.linalg.norm(closest - y, axis=1), 0.0)


def _winding(scene: Scene, room: Room, j: int, x: np.ndarray) -> np.ndarray:
    """How often a surface goes around places: 1 inside, 0 outside."""
    if scene.dimension == 3:
        return _turns(_triangles(scene, room, j), x)
    a, b = sides(scene, room, j)
    out = np.zeros(len(x))
    for k, place in enumerate(x):
        p, q = a - place, b - place
        out[k] = np.arctan2(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0], (p * q).sum(1)).sum() / (2 * np.pi)
    return out


def _turns(triangles: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same for triangles: their solid angles [van Oosterom and Strackee]."""
    out = np.zeros(len(x))
    for k, place in enumerate(x):
        a, b, c = (triangles[:, m] - place for m in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        volume = np.einsum("ij,ij->i", a, np.cross(b, c))
        below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
        out[k] = 2 * np.arctan2(volume, below).sum() / (4 * np.pi)
    return out


def _depth(scene: Scene, room: Room, j: int, x: np.ndarray) -> np.ndarray:
    """How far places that it winds around are below the surface of a mesh or a polyhedron, or inside of an outline."""
    if scene.dimension == 3:
        return _far_from_triangles(_triangles(scene, room, j), x)
    if scene.shapes[j, KIND] == MESH:
        return _below_outline(room, _pieces(scene, j), x)
    begin, end = sides(scene, room, j)
    return np.array([_far_from_segments(begin, end - begin, place).min() for place in x])


def _far_from_triangles(triangles: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Distances of places from the closest of these triangles: from its plane, or from its edges."""
    sides = [(triangles[:, m], triangles[:, (m + 1) % 3] - triangles[:, m]) for m in range(3)]
    normals = np.cross(sides[0][1], -sides[2][1])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    out = np.zeros(len(x))
    for k, place in enumerate(x):
        over, away = np.ones(len(triangles), bool), np.full(len(triangles), np.inf)
        for p, d in sides:
            over &= (np.cross(d, place - p) * normals).sum(1) >= 0
            away = np.minimum(away, _far_from_segments(p, d, place))
        height = np.abs(((place - triangles[:, 0]) * normals).sum(1))
        out[k] = np.where(over, height, away).min()
    return out


def _far_from_segments(p: np.ndarray, d: np.ndarray, place: np.ndarray) -> np.ndarray:
    share = np.clip(((place - p) * d).sum(1) / (d * d).sum(1), 0.0, 1.0)
    return np.asarray(np.linalg.norm(place - p - share[:, None] * d, axis=1))


def _below_outline(room: Room, pieces: np.ndarray, x: np.ndarray) -> np.ndarray:
    """How far places are from the closest piece of an outline; arcs turn by less than half a turn. Chords also wind around
    what lies between them and a bay, which is outside: there it is less than zero.
    """
    pieces = pieces[pieces[:, PIECE] != CORNER]
    begin, end = _ends(room, pieces)
    side, center, radius = pieces[:, PIECE] == SIDE, room.points[pieces[:, AT], :3], room.points[pieces[:, AT], 3]
    first, last = begin - center, end - center
    turn = np.sign(first[:, 0] * last[:, 1] - first[:, 1] * last[:, 0])
    out = np.zeros(len(x))
    for k, place in enumerate(x):
        w = place - center
        after = turn * (first[:, 0] * w[:, 1] - first[:, 1] * w[:, 0]) >= 0
        before = turn * (w[:, 0] * last[:, 1] - w[:, 1] * last[:, 0]) >= 0
        ends = np.minimum(np.linalg.norm(place - begin, axis=1), np.linalg.norm(place - end, axis=1))
        height = np.where(pieces[:, PIECE] == BAY, -1.0, 1.0) * (radius - np.linalg.norm(w, axis=1))
        depth = np.where(side, _far_from_segments(begin, end - begin, place), np.where(after & before, height, ends))
        out[k] = depth[np.abs(depth).argmin()]
    return out


def _pieces(scene: Scene, j: int) -> np.ndarray:
    return np.asarray(scene.surfaces.facets[scene.shapes[j, FACE_0] : scene.shapes[j, FACE_1]])


def sides(scene: Scene, places: Room | Scene, j: int, without: int = CORNER) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of the sides of a polygon, or of the pieces of an outline but one kind; none of round shapes. With `scene`
    as places those at home, in the frame of its body.
    """
    if scene.shapes[j, KIND] == MESH:
        pieces = _pieces(scene, j)
        return _ends(places, pieces[pieces[:, PIECE] != without])
    first, last = scene.shapes[j, [FACE_0, FACE_1]] if scene.shapes[j, KIND] == SOLID else (0, 0)
    corners = np.array([scene.loop[begin:end] for _, begin, end, *_ in scene.parts[first:last]], np.int64).reshape(
        -1, 2
    )
    return places.points[corners[:, 0], :3], places.points[corners[:, 1], :3]


def _ends(places: Room | Scene, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of the pieces of an outline; arcs as their chords."""
    pieces = pieces[pieces[:, PIECE] != CORNER]
    side, points = (pieces[:, PIECE] == SIDE)[:, None], places.points
    radius = points[pieces[:, AT], 3:] * np.where(pieces[:, PIECE] == BAY, -1.0, 1.0)[:, None]
    center = points[pieces[:, AT], :3]
    begin = np.where(side, center, center + radius * points[pieces[:, FROM], :3])
    end = np.where(side, points[pieces[:, END], :3], center + radius * points[pieces[:, TO], :3])
    return begin, end

"""Shapes that lie so deep inside a mesh or an outline that none of its surface is near, or that go through it: a check for the
start of a run.
"""

from __future__ import annotations

import numpy as np

from stickslip.collide.detect import Room
from stickslip.collide.scene import FIXED, Scene
from stickslip.collide.solids import EGG, HALF_SPACE, MESH, SOLID
from stickslip.collide.surfaces import CORNERS
from stickslip.collide.world import BODY, EDGE_0, EDGE_1, FACE_0, FACE_1, KIND, MIDDLE, NORMAL_0, VERTEX_0, VERTEX_1

FEW = 200  # vertices of a shape that are looked at
PAIRS = 200_000  # of edges and faces that are looked at at once
CLEAR = 1e-6  # share of the size: what is less deep is found as a contact


def swallowed(scene: Scene, room: Room) -> tuple[int, int] | None:
    """A shape and a mesh or outline that it begins inside of, or an ellipsoid that a mesh begins inside of.

    The points of bodies in `room` must be where they are.
    """
    kinds, owner = scene.shapes[:, KIND], scene.shapes[:, BODY]
    for j in np.flatnonzero(kinds == MESH).tolist():
        low, high = _box(scene, room, j)
        for i in np.flatnonzero((kinds < HALF_SPACE) & (owner != owner[j])).tolist():
            still = scene.bodies[owner[i], 0] == FIXED and scene.bodies[owner[j], 0] == FIXED
            code = min(i, j) * len(kinds) + max(i, j)
            way = room.points[scene.shapes[i, MIDDLE], :3] - room.points[scene.shapes[j, MIDDLE], :3]
            if still or code in scene.apart or np.linalg.norm(way) > scene.reach[i] + scene.reach[j]:
                continue
            x = _vertices(scene, room, i)
            x = x[((x >= low) & (x <= high)).all(axis=1)]  # most of what lies on a ground does not
            if len(x) and (_winding(scene, room, j, x) > 0.5).any():
                return i, j
            if scene.dimension == 3 and (_pierces(scene, room, i, j) or _pierces(scene, room, j, i)):
                return i, j
            if kinds[i] == EGG and _within_egg(scene, room, i, _vertices(scene, room, j)):
                return j, i
    return None


def _vertices(scene: Scene, room: Room, i: int) -> np.ndarray:
    """Vertices of a shape, moved towards its middle by very little, so that what merely touches is not inside."""
    x = room.points[scene.shapes[i, VERTEX_0] : scene.shapes[i, VERTEX_1], :3]
    if scene.dimension == 2 and scene.shapes[i, KIND] == MESH:
        x = room.points[scene.surfaces.facets[scene.shapes[i, FACE_0] : scene.shapes[i, FACE_1], 1], :3]
        x = x[scene.surfaces.facets[scene.shapes[i, FACE_0] : scene.shapes[i, FACE_1], 0] == 3]
    x = x[:: max(1, len(x) // FEW)]
    return x + CLEAR * (room.points[scene.shapes[i, MIDDLE], :3] - x)


def _box(scene: Scene, room: Room, j: int) -> tuple[np.ndarray, np.ndarray]:
    """The low and the high corner of a box around a mesh or an outline."""
    pieces = scene.surfaces.facets[scene.shapes[j, FACE_0] : scene.shapes[j, FACE_1]]
    x = (
        room.points[pieces[:, CORNERS : CORNERS + 3].ravel(), :3]
        if scene.dimension == 3
        else np.vstack(_ends(room, pieces))
    )
    return x.min(axis=0), x.max(axis=0)


def _pierces(scene: Scene, room: Room, i: int, j: int) -> bool:
    """Whether an edge of a shape i in space goes through a face of j."""
    a, b = _edges(scene, room, i)
    faces = _triangles(scene, room, j)
    if not len(a) or not len(faces):
        return False
    low, high = np.minimum(a, b), np.maximum(a, b)
    meets = ((faces.max(1) >= low.min(0)) & (faces.min(1) <= high.max(0))).all(1)
    faces = faces[meets]
    if not len(faces):
        return False
    near = ((high >= faces.min((0, 1))) & (low <= faces.max((0, 1)))).all(1)
    a, b = a[near], b[near]
    u, v = faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]
    normals, chunk = np.cross(u, v), max(1, PAIRS // len(faces))
    for first in range(0, len(a), chunk):
        p, d = a[first : first + chunk, None], (b - a)[first : first + chunk, None]
        slope, w = (normals * d).sum(2), p - faces[:, 0]
        across = np.cross(w, d)  # Cramer's rule for w + s d = y u + z v [Moeller and Trumbore]
        with np.errstate(divide="ignore", invalid="ignore"):
            s, y, z = (x / slope for x in (-(normals * w).sum(2), -(v * across).sum(2), (u * across).sum(2)))
        if ((s > 0) & (s < 1) & (y > 0) & (z > 0) & (y + z < 1)).any():
            return True
    return False


def _edges(scene: Scene, room: Room, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the edges of a shape in space, moved towards its middle by very little."""
    if scene.shapes[i, KIND] == MESH:
        corners = scene.surfaces.facets[scene.shapes[i, FACE_0] : scene.shapes[i, FACE_1], CORNERS : CORNERS + 3]
        ends = np.unique(np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])), axis=0)
    else:
        ends = scene.parts[scene.shapes[i, EDGE_0] : scene.shapes[i, EDGE_1], :2].astype(np.int64)
    middle = room.points[scene.shapes[i, MIDDLE], :3]
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


def _within_egg(scene: Scene, room: Room, i: int, x: np.ndarray) -> bool:
    axes = room.points[scene.shapes[i, NORMAL_0] : scene.shapes[i, NORMAL_0] + scene.dimension]
    local = (x - room.points[scene.shapes[i, VERTEX_0], :3]) @ axes[:, :3].T / axes[:, 3]
    return bool(((local**2).sum(1) < 1 - 1e-3).any())


def _winding(scene: Scene, room: Room, j: int, x: np.ndarray) -> np.ndarray:
    """How often a surface goes around places: 1 inside, 0 outside."""
    pieces = scene.surfaces.facets[scene.shapes[j, FACE_0] : scene.shapes[j, FACE_1]]
    out = np.zeros(len(x))
    if scene.dimension == 3:
        corners = room.points[pieces[:, CORNERS : CORNERS + 3], :3]
        for k, place in enumerate(x):  # solid angles of the triangles [van Oosterom and Strackee]
            a, b, c = (corners[:, m] - place for m in range(3))
            la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
            volume = np.einsum("ij,ij->i", a, np.cross(b, c))
            below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
            out[k] = 2 * np.arctan2(volume, below).sum() / (4 * np.pi)
        return out
    a, b = _ends(room, pieces)
    for k, place in enumerate(x):
        p, q = a - place, b - place
        out[k] = np.arctan2(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0], (p * q).sum(1)).sum() / (2 * np.pi)
    return out


def _ends(room: Room, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of the pieces of an outline; arcs as their chords."""
    from stickslip.collide.chains import AT, BAY, CORNER, END, FROM, PIECE, SIDE, TO

    pieces = pieces[pieces[:, PIECE] != CORNER]
    side = (pieces[:, PIECE] == SIDE)[:, None]
    radius = room.points[pieces[:, AT], 3:] * np.where(pieces[:, PIECE] == BAY, -1.0, 1.0)[:, None]
    center = room.points[pieces[:, AT], :3]
    begin = np.where(side, center, center + radius * room.points[pieces[:, FROM], :3])
    end = np.where(side, room.points[pieces[:, END], :3], center + radius * room.points[pieces[:, TO], :3])
    return begin, end

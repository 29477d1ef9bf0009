"""Shapes as numbers: vertices, edges and faces of a convex core in the frame of its body, and a radius of rounding.

    sphere, circle      one vertex
    capsule             two vertices, one edge
    box, polyhedron     vertices, edges, faces
    polygon             vertices; in the plane each edge is a face
    plane, line         one face without boundary
    cavity              one vertex, seen from inside
    ellipsoid           its centre, and its axes with their lengths
    mesh, height field  triangles, edges that stick out, vertices, and a tree of boxes

Two shapes touch where features of their cores are closest, so few kinds of contacts serve all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stickslip.collide.chains import ArcChain, curve_chain, polygon_chain
from stickslip.collide.surfaces import MeshTables, mesh_tables
from stickslip.errors import ModelError
from stickslip.math import is_symbolic
from stickslip.model.frames import Frame
from stickslip.model.geometry import Box, Capsule, Cavity, Cylinder, Ellipsoid, Plane, Sphere
from stickslip.model.outlines import ClosedCurve, SimplePolygon
from stickslip.model.polytopes import ConvexPolygon, Polyhedron, prism
from stickslip.model.surfaces import HeightField, TriangleMesh

# Kinds of solids.
# Those below HALF_SPACE are bounded.
BALL, ROD, SOLID, EGG, MESH, HALF_SPACE, HOLLOW = range(7)
NO_FACES: np.ndarray = np.zeros((0, 3))


@dataclass(frozen=True)
class RoundedCore:
    """A convex core with a rounding, in the frame of its body.

    normals: of faces, outward; loops: vertices around each face; edges: two vertices and the two faces beside them. Of an
    ellipsoid the normals are its axes, with their lengths as `sizes`.
    """

    kind: int
    vertices: np.ndarray
    radius: float = 0.0
    normals: np.ndarray = field(default_factory=lambda: NO_FACES)
    loops: tuple[tuple[int, ...], ...] = ()
    edges: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    sizes: np.ndarray | None = None
    mesh: MeshTables | None = None
    chain: ArcChain | None = None
    bounds: np.ndarray | None = None  # points whose hull holds the shape, where that of its vertices does not


def solid(where: str, shape: Any, dimension: int) -> RoundedCore:
    """A shape as numbers."""
    if isinstance(shape, Sphere):
        return RoundedCore(BALL, _points(where, [shape.center.coordinates]), _number(where, shape.radius))
    if isinstance(shape, Cavity):
        return RoundedCore(HOLLOW, _points(where, [shape.center.coordinates]), _number(where, shape.radius))
    if isinstance(shape, Capsule):
        ends = _points(where, [shape.end_1.coordinates, shape.end_2.coordinates])
        sides = _flat(ends) if dimension == 2 else RoundedCore(ROD, ends)
        return replace(sides, kind=ROD, radius=_number(where, shape.radius), edges=np.array([[0, 1, -1, -1]]))
    if isinstance(shape, Plane):
        n = _points(where, [shape.normal])
        return RoundedCore(HALF_SPACE, _points(where, [shape.point]), normals=n / np.linalg.norm(n), loops=((),))
    if isinstance(shape, ConvexPolygon):
        return _flat(_placed(where, shape.at, np.array(shape.vertices, dtype=float)))
    if isinstance(shape, Box):
        half = np.array([_number(where, x) for x in shape.size]) / 2
        if dimension == 2:
            corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
            return _flat(_placed(where, shape.at, corners))
        return _box(_placed(where, shape.at, CORNERS * half))
    if isinstance(shape, Ellipsoid):
        lengths = np.array([_number(where, x) for x in shape.semi_axes])
        place = _placed(where, shape.at, np.vstack([np.zeros(dimension), np.eye(dimension)]))
        return RoundedCore(EGG, place[:1], normals=place[1:] - place[0], sizes=lengths)
    if isinstance(shape, Polyhedron):
        return _hull(_placed(where, shape.at, shape.vertices), shape.faces)
    if isinstance(shape, Cylinder):
        center, axis = _points(where, [shape.center.coordinates])[0], _points(where, [shape.axis])[0]
        size = _number(where, shape.radius), _number(where, shape.length)
        return _hull(*prism(center, axis / np.linalg.norm(axis), *size, shape.points))
    if isinstance(shape, (TriangleMesh, HeightField)):
        tables = mesh_tables(_placed(where, shape.at, shape.vertices), shape.triangles)
        return RoundedCore(MESH, tables.vertices, normals=tables.normals, edges=tables.edges, mesh=tables)
    if isinstance(shape, (SimplePolygon, ClosedCurve)):
        return _chained(where, shape)
    raise ModelError(f"{where}: a {type(shape).__name__} cannot be detected. Declare its contacts with Contact")


def _chained(where: str, shape: SimplePolygon | ClosedCurve) -> RoundedCore:
    """An outline as a chain of pieces."""
    chain = curve_chain(shape.rim, shape.tangents) if isinstance(shape, ClosedCurve) else polygon_chain(shape.rim)
    points = _placed(where, shape.at, chain.points)
    normals = _placed(where, shape.at, chain.normals) - _placed(where, shape.at, np.zeros((1, 2)))
    bounds = _placed(where, shape.at, shape.fine_rim if isinstance(shape, ClosedCurve) else shape.rim)
    return RoundedCore(MESH, points, normals=normals, chain=chain, bounds=bounds)


def _number(where: str, value: Any) -> float:
    if is_symbolic(value):
        raise ModelError(f"{where}: sizes of detected shapes must be numbers, not parameters, got {value}")
    return float(value)


def _points(where: str, rows: Any) -> np.ndarray:
    """Rows of three numbers; in the plane the third one is zero."""
    out = np.array([[_number(where, x) for x in row] for row in rows])
    return np.hstack([out, np.zeros((len(out), 3 - out.shape[1]))])


def _placed(where: str, at: Any, points: np.ndarray) -> np.ndarray:
    """Points of a shape in the frame of its body."""
    if isinstance(at, Frame):
        points = points @ np.array(at.rotation, dtype=float).T + np.array(at.origin, dtype=float)
    return _points(where, points)


CORNERS = np.array([[x, y, z] for z in (-1.0, 1.0) for y in (-1.0, 1.0) for x in (-1.0, 1.0)])
SIDES = ((0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6))


def _box(corners: np.ndarray) -> RoundedCore:
    return _hull(corners, SIDES)


def _flat(corners: np.ndarray) -> RoundedCore:
    """A polygon, counter-clockwise: edge k from vertex k to the next one."""
    n = len(corners)
    loops = tuple((k, (k + 1) % n) for k in range(n))
    along = corners[[j for _, j in loops]] - corners
    normals = np.stack([along[:, 1], -along[:, 0], np.zeros(n)], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    return RoundedCore(SOLID, corners, normals=normals, loops=loops)


def _hull(vertices: np.ndarray, faces: Any) -> RoundedCore:
    """A convex polyhedron whose faces run counter-clockwise, seen from outside."""
    normals, beside = [], {}
    for f, loop in enumerate(faces):
        corners = vertices[list(loop)]
        n = sum(np.cross(corners[k] - corners[0], corners[k + 1] - corners[0]) for k in range(1, len(corners) - 1))
        normals.append(n / np.linalg.norm(n))
        for i, j in zip(loop, (*loop[1:], loop[0]), strict=True):
            beside[i, j] = f
    edges = [(i, j, beside[i, j], beside[j, i]) for i, j in beside if i < j]
    return RoundedCore(
        SOLID, vertices, normals=np.array(normals), loops=tuple(map(tuple, faces)), edges=np.array(edges)
    )

"""Convex polygons and polyhedra as shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.model.frames import Carrier, Frame
from stickslip.model.given import instance

FLAT = 1e-9  # share of the size by which a corner may lie off a plane
CORNERS = 32  # of one face


@dataclass(frozen=True)
class ConvexPolygon:
    """A convex polygon in the plane with these corners, in the frame of a body or in a frame of it.

    >>> import stickslip as ss
    >>> wedge = ss.PlanarBody("wedge", mass=1, inertia=0.1)
    >>> skin = ConvexPolygon(wedge, [(0, 0), (2, 0), (0, 1)])
    """

    at: Carrier | Frame
    vertices: Any

    def __post_init__(self) -> None:
        instance("polygon", "its place", self.at, (Carrier, Frame), "a body, or a frame of one")
        p = _corners("polygon", self.vertices, 2, 3)
        along = np.roll(p, -1, axis=0) - p
        after = np.roll(along, -1, axis=0)
        turns = along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0]
        if turns.sum() < 0:
            p, turns = p[::-1], -turns[::-1]
        size = np.ptp(p, axis=0).max()
        winding = np.arctan2(turns, (along * after).sum(1)).sum() / (2 * np.pi)
        if turns.min() <= FLAT * size**2 or abs(abs(winding) - 1) > 1e-6:
            raise ModelError(
                "polygon: its corners are not those of a convex polygon, in order, without straight angles; make a concave one "
                "of several convex polygons"
            )
        object.__setattr__(self, "vertices", p)

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.at.body if isinstance(self.at, Frame) else self.at


@dataclass(frozen=True)
class Polyhedron:
    """A convex polyhedron with these corners, in the frame of a body or in a frame of it.

    Without `faces` it is the convex hull, and every corner must be one of the hull. With them, each face lists its corners
    counter-clockwise as seen from outside.

    >>> import stickslip as ss
    >>> stone = ss.RigidBody("stone", mass=1, inertia=[1, 1, 1])
    >>> skin = Polyhedron(stone, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    >>> len(skin.faces)
    4
    """

    at: Carrier | Frame
    vertices: Any
    faces: Any = None

    def __post_init__(self) -> None:
        instance("polyhedron", "its place", self.at, (Carrier, Frame), "a body, or a frame of one")
        p = _corners("polyhedron", self.vertices, 3, 4)
        _require_apart(p)
        faces = hull_faces(p) if self.faces is None else _closed("polyhedron", self.faces, len(p))
        _require_convex(p, faces)
        object.__setattr__(self, "vertices", p)
        object.__setattr__(self, "faces", faces)

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.at.body if isinstance(self.at, Frame) else self.at


def _corners(what: str, given: Any, n: int, least: int) -> np.ndarray:
    try:
        p = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        p = np.zeros(0)
    if p.ndim != 2 or p.shape[1] != n or len(p) < least or not np.isfinite(p).all():
        raise ModelError(f"{what}: vertices must be at least {least} rows of {n} finite numbers, got {given!r}")
    return p


def _require_apart(p: np.ndarray) -> None:
    """Corners at one place would make edges without length."""
    for k in range(1, len(p)):
        same = np.flatnonzero(np.abs(p[:k] - p[k]).max(axis=1) <= FLAT * np.ptp(p, axis=0).max())
        if same.size:
            raise ModelError(
                f"polyhedron: corners {same[0]} and {k} are at the same place, {p[k].tolist()}; give it once"
            )


def hull_faces(p: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """The faces of the convex hull of points, each with all of its corners in order.

    >>> sorted(len(face) for face in hull_faces(np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)])))
    [4, 4, 4, 4, 4, 4]
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(p)
    except QhullError:
        raise ModelError("polyhedron: its corners lie in one plane; it has no volume") from None
    size, faces = np.ptp(p, axis=0).max(), []
    planes: list[np.ndarray] = []
    for plane in hull.equations:
        if any(plane[:3] @ other[:3] > 1 - 1e-12 and abs(plane[3] - other[3]) < FLAT * size for other in planes):
            continue
        planes.append(plane)
        n = plane[:3]
        corners = np.flatnonzero(np.abs(p @ n + plane[3]) < FLAT * size)
        x = p[corners[0]] - p[corners].mean(0)
        x, y = x / np.linalg.norm(x), np.cross(n, x) / np.linalg.norm(np.cross(n, x))
        around = p[corners] - p[corners].mean(0)
        faces.append(tuple(int(v) for v in corners[np.argsort(np.arctan2(around @ y, around @ x))]))
    return tuple(faces)


def _closed(what: str, given: Sequence[Sequence[int]], count: int) -> tuple[tuple[int, ...], ...]:
    """Faces whose edges all have a face on both sides."""
    try:
        faces = tuple(tuple(int(v) for v in face) for face in given)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: faces must be lists of corners, by their number, got {given!r}") from None
    if any(len(face) < 3 or min(face) < 0 or max(face) >= count for face in faces):
        raise ModelError(f"{what}: each face must list at least 3 of the {count} corners, by numbers from 0")
    edges = [(i, j) for face in faces for i, j in zip(face, (*face[1:], face[0]), strict=True)]
    for i, j in edges:
        if edges.count((i, j)) > 1 or (j, i) not in edges:
            raise ModelError(
                f"{what}: its surface is not closed at the edge from corner {i} to {j}; each edge needs a face on both sides, "
                "and all faces must run counter-clockwise as seen from outside"
            )
    return faces


def _require_convex(p: np.ndarray, faces: tuple[tuple[int, ...], ...]) -> None:
    size = np.ptp(p, axis=0).max()
    used = {v for face in faces for v in face}
    if len(used) < len(p):
        inner = min(set(range(len(p))) - used)
        raise ModelError(
            f"polyhedron: corner {inner} at {p[inner].tolist()} is not a corner of the convex hull. For the hull of these "
            "points give points[scipy.spatial.ConvexHull(points).vertices]; a body that is not convex is a TriangleMesh"
        )
    for k, face in enumerate(faces):
        if len(face) > CORNERS:
            raise ModelError(f"polyhedron: face {k} has {len(face)} corners; at most {CORNERS} are possible")
        corners = p[list(face)]
        n = sum(np.cross(corners[i] - corners[0], corners[i + 1] - corners[0]) for i in range(1, len(face) - 1))
        if np.linalg.norm(n) < FLAT * size**2:
            raise ModelError(f"polyhedron: face {k} has no area")
        heights = (p - corners[0]) @ n / np.linalg.norm(n)
        if np.abs(heights[list(face)]).max() > 1e3 * FLAT * size:
            raise ModelError(f"polyhedron: the corners of face {k} do not lie in a plane")
        if heights.max() > 1e3 * FLAT * size:
            raise ModelError(
                f"polyhedron: corner {int(heights.argmax())} lies outside of face {k}; it is not convex, or the face runs "
                "clockwise. Make a concave body of several convex shapes"
            )


def prism(center: np.ndarray, axis: np.ndarray, radius: float, length: float, points: int) -> tuple[np.ndarray, Any]:
    """Corners and faces of a prism inside a cylinder."""
    from stickslip.model.frames import triad

    x, y = triad(axis)
    angles = 2 * np.pi * np.arange(points) / points
    ring = radius * (np.cos(angles)[:, None] * x + np.sin(angles)[:, None] * y)
    p = np.vstack([center + ring - length / 2 * axis, center + ring + length / 2 * axis])
    sides = [(k, (k + 1) % points, points + (k + 1) % points, points + k) for k in range(points)]
    return p, (tuple(range(points))[::-1], tuple(range(points, 2 * points)), *sides)

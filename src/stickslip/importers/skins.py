"""Shapes of links: for contacts, and for pictures. Meshes are known by the corners of their convex hulls."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.model.declaration import Equations
from stickslip.model.frames import Carrier, Ground
from stickslip.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Plane, Sphere
from stickslip.model.system import System

if TYPE_CHECKING:
    from stickslip.looks.sketch import Sketch

MOST_BYTES = 100_000_000  # of a mesh file
MOST_CORNERS = 5_000_000


@dataclass(frozen=True)
class SkinShape:
    """A shape in the frame of its link: box (edges), sphere (radius), cylinder and capsule (radius, length along z),
    ellipsoid (semi-axes), plane (normal z), hull (corners).
    """

    kind: str
    place: np.ndarray
    turn: np.ndarray
    sizes: tuple[float, ...] = ()
    corners: np.ndarray | None = None


class Skin:
    """The shapes of an imported link: they are drawn, and can be used in contacts. It adds nothing to the equations."""

    def __init__(self, name: str, skins: tuple[Any, ...]):
        self.name, self.skins = name, skins

    def __repr__(self) -> str:
        return f"<Skin {self.name!r}: {len(self.skins)} shapes>"

    def declare(self, system: System, equations: Equations) -> None:
        """Nothing."""

    def look(self, sketch: Sketch) -> None:
        """Shapes of the ground; those of bodies are drawn with their bodies."""
        from stickslip.looks.contacts import skin

        for shape in self.skins:
            if isinstance(shape.body, Ground) and isinstance(shape, Box | Sphere | Cylinder | Capsule | Ellipsoid):
                skin(shape, sketch)


def placed(shape: SkinShape, body: Carrier, place: np.ndarray, axes: np.ndarray) -> list[Any]:
    """The shape on a body whose link has this place and these axes in it; a hull becomes points."""
    r, A = place + axes @ shape.place, axes @ shape.turn
    if shape.kind == "sphere":
        return [Sphere(body.point(*r.tolist()), shape.sizes[0])]
    if shape.kind == "box":
        return [Box(body.frame(r, A), list(shape.sizes))]
    if shape.kind == "ellipsoid":
        return [Ellipsoid(body.frame(r, A), list(shape.sizes))]
    if shape.kind == "cylinder":
        return [Cylinder(body.point(*r.tolist()), axis=A[:, 2], radius=shape.sizes[0], length=shape.sizes[1])]
    if shape.kind == "capsule":
        half = shape.sizes[1] / 2 * A[:, 2]
        ends = [body.point(*(r + s * half).tolist()) for s in (-1, 1)]
        return [Capsule(ends[0], ends[1], shape.sizes[0])]
    if shape.kind == "plane":
        return [Plane(r, A[:, 2], body)]
    corners = shape.corners if shape.corners is not None else np.zeros((0, 3))
    return [body.point(*(r + A @ corner).tolist()) for corner in corners]


def hull(vertices: np.ndarray) -> np.ndarray:
    """The corners of the convex hull of points in space.

    >>> cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)] + [[0.5, 0.5, 0.5]])
    >>> len(hull(cube))
    8
    """
    from scipy.spatial import ConvexHull, QhullError  # here, because SciPy takes long to import

    try:
        return np.asarray(vertices[np.sort(ConvexHull(vertices).vertices)])
    except (QhullError, ValueError):
        raise ModelError("the mesh has no volume: its points lie in a plane") from None


def mesh_corners(data: bytes, suffix: str) -> np.ndarray:
    """The vertices of an STL or OBJ file; nothing else of it matters."""
    if len(data) > MOST_BYTES:
        raise ModelError(f"the mesh has {len(data) / 1e6:.0f} MB, more than {MOST_BYTES / 1e6:.0f} MB")
    try:
        vertices = _stl(data) if suffix == ".stl" else _obj(data)
    except (ValueError, struct.error, IndexError):
        raise ModelError("the mesh file is damaged") from None
    if not np.isfinite(vertices).all() or len(vertices) < 4:
        raise ModelError("the mesh needs at least four finite vertices")
    return np.unique(vertices, axis=0)


def _stl(data: bytes) -> np.ndarray:
    if len(data) >= 84:
        (count,) = struct.unpack_from("<I", data, 80)
        if len(data) == 84 + 50 * count:
            record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
            triangles = np.frombuffer(data, record, count, 84)
            return triangles["corners"].reshape(-1, 3).astype(float)
    if not data.lstrip().startswith(b"solid"):
        raise ValueError("neither a binary nor a text STL file")
    return _lines_of(data, "vertex")


def _obj(data: bytes) -> np.ndarray:
    return _lines_of(data, "v")


def _lines_of(data: bytes, key: str) -> np.ndarray:
    """The numbers of lines that begin with a word."""
    rows = [line.split()[1:4] for line in data.decode("utf-8", "replace").splitlines() if line.split()[:1] == [key]]
    if len(rows) > MOST_CORNERS:
        raise ModelError(f"the mesh has more than {MOST_CORNERS} corners")
    return np.array(rows, dtype=float).reshape(-1, 3)

"""Closed surfaces of triangles as shapes: meshes, and grounds given by heights over a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.model.frames import Carrier, Frame
from stickslip.model.given import instance, number, vector

FLAT = 1e-12  # share of the squared size: a triangle with a smaller area has no normal
MOST = 1_000_000  # triangles


@dataclass(frozen=True)
class TriangleMesh:
    """A solid, convex or not, bounded by triangles, in the frame of a body or in a frame of it.

    Each triangle lists three vertices, by their number, counter-clockwise as seen from outside. The surface must be closed.

    >>> import stickslip as ss
    >>> part = ss.RigidBody("part", mass=1, inertia=[1, 1, 1])
    >>> skin = TriangleMesh(part, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    """

    at: Carrier | Frame
    vertices: Any
    triangles: Any

    def __post_init__(self) -> None:
        instance("mesh", "its place", self.at, (Carrier, Frame), "a body, or a frame of one")
        p, faces = _rows("mesh", "vertices", self.vertices, float), _rows("mesh", "triangles", self.triangles, np.int64)
        _require_closed(p, faces)
        object.__setattr__(self, "vertices", p)
        object.__setattr__(self, "triangles", faces)

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.at.body if isinstance(self.at, Frame) else self.at


@dataclass(frozen=True)
class HeightField:
    """A ground given by heights over a rectangular grid, centred in a frame: heights[i][j] at x_i, y_j, flat triangles between.

    size: length of the grid along x and y. The solid reaches `depth` below the lowest height, by default a tenth of the longer
    side, and ends at the edge of the grid.

    >>> import numpy as np
    >>> import stickslip as ss
    >>> x, y = np.meshgrid(np.linspace(-1, 1, 21), np.linspace(-1, 1, 21), indexing="ij")
    >>> hills = HeightField(ss.ground, 0.1 * np.cos(3 * x) * np.cos(3 * y), size=[2, 2])
    """

    at: Carrier | Frame
    heights: Any
    size: Any
    depth: float | None = None

    def __post_init__(self) -> None:
        where = "height field"
        instance(where, "its place", self.at, (Carrier, Frame), "ground, a body, or a frame of one")
        try:
            heights = np.array(self.heights, dtype=float)
        except (TypeError, ValueError, OverflowError):
            heights = np.zeros(0)
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise ModelError(
                f"{where}: heights must be a table of finite numbers, at least 2 by 2, got {self.heights!r}"
            )
        for k, length in enumerate(vector(where, "size", self.size, 2)):
            number(where, f"size[{k}]", length, above=0)
        if self.depth is not None:
            number(where, "depth", self.depth, above=0)
        if 2 * heights.size > MOST:
            raise ModelError(f"{where}: {heights.size} heights; at most {MOST // 2} are possible")
        object.__setattr__(self, "heights", heights)

    @property
    def body(self) -> Carrier:
        """What it is fixed to."""
        return self.at.body if isinstance(self.at, Frame) else self.at

    @property
    def vertices(self) -> np.ndarray:
        """The places of the heights, and those of the base below the edge of the grid."""
        n, m = self.heights.shape
        x, y = (np.linspace(-0.5, 0.5, k) * float(length) for k, length in zip((n, m), self.size, strict=True))
        depth = 0.1 * max(map(float, self.size)) if self.depth is None else float(self.depth)
        top = np.column_stack([np.repeat(x, m), np.tile(y, n), self.heights.ravel()])
        base = top[self._rim()]
        base[:, 2] = self.heights.min() - depth
        middle = [[0.0, 0.0, self.heights.min() - depth]]
        return np.vstack([top, base, middle])

    @property
    def triangles(self) -> np.ndarray:
        """Two for each cell of the grid, two for each side of its edge, and the base."""
        n, m = self.heights.shape
        number_of = np.arange(n * m).reshape(n, m)
        a, b, c, d = number_of[:-1, :-1], number_of[1:, :-1], number_of[1:, 1:], number_of[:-1, 1:]
        top = np.concatenate([np.stack(x, axis=-1).reshape(-1, 3) for x in ((a, b, c), (a, c, d))])
        rim = self._rim()
        low = n * m + np.arange(len(rim))
        after, below = np.roll(rim, -1), np.roll(low, -1)
        sides = np.concatenate([np.column_stack(x) for x in ((rim, low, below), (rim, below, after))])
        base = np.column_stack([low, np.full(len(rim), n * m + len(rim)), below])
        return np.concatenate([top, sides, base])

    def _rim(self) -> np.ndarray:
        """The places at the edge of the grid, counter-clockwise as seen from above."""
        n, m = self.heights.shape
        k = np.arange(n * m).reshape(n, m)
        return np.concatenate([k[:-1, 0], k[-1, :-1], k[:0:-1, -1], k[0, :0:-1]])


def _rows(what: str, name: str, given: Any, kind: Any) -> np.ndarray:
    try:
        rows = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        rows = np.zeros(0)
    least = 4
    if rows.ndim != 2 or rows.shape[1] != 3 or len(rows) < least or not np.isfinite(rows).all():
        raise ModelError(f"{what}: {name} must be at least {least} rows of 3 finite numbers, got an array {rows.shape}")
    if len(rows) > MOST:
        raise ModelError(f"{what}: {len(rows)} {name}; at most {MOST} are possible")
    if kind is not float and (rows != np.round(rows)).any():
        raise ModelError(f"{what}: {name} must name vertices by whole numbers")
    return rows.astype(kind)


def _require_closed(p: np.ndarray, faces: np.ndarray) -> None:
    """Every edge has one triangle on each side, and the inside has a volume."""
    if faces.min() < 0 or faces.max() >= len(p):
        raise ModelError(
            f"mesh: triangles name vertices by numbers from 0 to {len(p) - 1}, got {faces.min()} to {faces.max()}"
        )
    a, b, c = (p[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    small = np.flatnonzero(np.linalg.norm(across, axis=1) <= FLAT * np.ptp(p, axis=0).max() ** 2)
    if small.size:
        raise ModelError(f"mesh: triangle {small[0]} with the vertices {faces[small[0]].tolist()} has no area")
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    codes, counts = np.unique(edges[:, 0] * len(p) + edges[:, 1], return_counts=True)
    if counts.max() > 1:
        i, j = divmod(int(codes[counts.argmax()]), len(p))
        raise ModelError(
            f"mesh: several triangles run from vertex {i} to {j}; all must run counter-clockwise as seen from outside, and two "
            "triangles meet at each edge"
        )
    missing = np.flatnonzero(~np.isin(edges[:, 1] * len(p) + edges[:, 0], codes))
    if missing.size:
        i, j = edges[missing[0]].tolist()
        remedy = "Close it, or use HeightField for a ground"
        if len(np.unique(p, axis=0)) < len(p):  # as files of triangles without common vertices have them
            remedy = (
                "Vertices lie at the same place: merge them, as `vertices, number = numpy.unique(vertices, axis=0, "
            )
            remedy += "return_inverse=True); triangles = number.ravel()[triangles]` does"
        raise ModelError(
            f"mesh: its surface is open at the edge from vertex {i} to {j} ({missing.size} open edges); each edge needs a "
            f"triangle on both sides. {remedy}"
        )
    volume = float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6
    if volume <= 0:
        raise ModelError(
            f"mesh: its volume is {volume:.3g}; its triangles must run counter-clockwise as seen from outside: swap two of the "
            "vertices of each"
        )

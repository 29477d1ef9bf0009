"""An outline in the plane as a chain of pieces: corners, arcs that bulge out, bays, straight sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Columns of pieces: kind, its point (corner, centre of an arc, first end of a side), second end, normals at its two ends.
PIECE, AT, END, FROM, TO = range(5)
CORNER, ARC, BAY, SIDE = range(4)
STRAIGHT = 1e-7  # sine of the angle between chord and tangent below which an arc is a straight side


@dataclass(frozen=True)
class ArcChain:
    """points with the radius of an arc around each, directions, and pieces that name them by numbers from zero."""

    points: np.ndarray
    radii: np.ndarray
    normals: np.ndarray
    pieces: np.ndarray


class _Links:
    """Collects points, normals and pieces."""

    def __init__(self) -> None:
        self.points: list[np.ndarray] = []
        self.radii: list[float] = []
        self.normals: list[np.ndarray] = []
        self.pieces: list[list[int]] = []

    def point(self, x: np.ndarray, radius: float = 0.0) -> int:
        self.points.append(x)
        self.radii.append(radius)
        return len(self.points) - 1

    def normal(self, n: np.ndarray) -> int:
        self.normals.append(n)
        return len(self.normals) - 1

    def side(self, a: np.ndarray, b: np.ndarray) -> None:
        n = self.normal(_right(b - a))
        row = [0] * 9
        row[:5] = [SIDE, self.point(a), self.point(b), n, n]
        self.pieces.append(row)

    def arc(self, a: np.ndarray, t: np.ndarray, b: np.ndarray) -> np.ndarray:
        """From a, where t is its tangent, to b; the tangent at its end."""
        chord = b - a
        left = np.array([-t[1], t[0]])
        bend = 2 * (left @ chord) / (chord @ chord)  # curvature, positive where it bulges out
        end = np.asarray(2 * (t @ chord) / (chord @ chord) * chord - t)
        if abs(left @ chord) <= STRAIGHT * np.linalg.norm(chord):
            self.side(a, b)
            return end
        center = a + left / bend
        n_0, n_1 = (a - center) * bend, (b - center) * bend
        n_0, n_1 = n_0 / np.linalg.norm(n_0), n_1 / np.linalg.norm(n_1)
        row = [0] * 9
        row[:5] = [ARC if bend > 0 else BAY, self.point(center, abs(1 / bend)), 0, self.normal(n_0), self.normal(n_1)]
        self.pieces.append(row)
        return end

    def chain(self) -> ArcChain:
        return ArcChain(*[np.array(x) for x in (self.points, self.radii, self.normals, self.pieces)])


def _right(d: np.ndarray) -> np.ndarray:
    """The outward normal of a side that runs along d."""
    return np.array([d[1], -d[0]]) / np.linalg.norm(d)


def polygon_chain(p: np.ndarray) -> ArcChain:
    """Sides of a polygon, counter-clockwise, and its corners that stick out."""
    links, n = _Links(), len(p)
    for k in range(n):
        a, b, c = p[k - 1], p[k], p[(k + 1) % n]
        links.side(b, c)
        if (b - a)[0] * (c - b)[1] - (b - a)[1] * (c - b)[0] > STRAIGHT * np.linalg.norm(b - a) * np.linalg.norm(c - b):
            row = [0] * 9
            row[:5] = [CORNER, links.point(b), 0, links.normal(_right(b - a)), links.normal(_right(c - b))]
            links.pieces.append(row)
    return links.chain()


def curve_chain(p: np.ndarray, t: np.ndarray) -> ArcChain:
    """Pairs of arcs with common tangents through places with given tangents, counter-clockwise."""
    links, n = _Links(), len(p)
    for k in range(n):
        a, b, t_a, t_b = p[k], p[(k + 1) % n], t[k], t[(k + 1) % n]
        v = b - a
        quadratic, linear = 2 * (1 - t_a @ t_b), 2 * v @ (t_a + t_b)
        # The positive root of quadratic d^2 + linear d = v^2, without cancellation where both tangents are alike.
        d = 2 * (v @ v) / (linear + np.sqrt(linear**2 + 4 * quadratic * (v @ v)))
        middle = (a + d * t_a + b - d * t_b) / 2
        links.arc(middle, links.arc(a, t_a, middle), b)
    return links.chain()

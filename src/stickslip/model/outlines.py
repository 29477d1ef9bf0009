"""Outlines in the plane as shapes: polygons that need not be convex, and smooth closed curves such as cam profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.model.frames import Carrier, Frame
from stickslip.model.given import instance

CORNERS = 2000  # of an outline
FLAT = 1e-9  # share of the size below which a side has no length


@dataclass(frozen=True)
class SimplePolygon:
    """A polygon in the plane whose sides do not cross, convex or not, in the frame of a body or in a frame of it.

    >>> import stickslip as ss
    >>> bracket = ss.PlanarBody("bracket", mass=1, inertia=0.1)
    >>> skin = SimplePolygon(bracket, [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
    """

    at: Carrier | Frame
    vertices: Any

    def __post_init__(self) -> None:
        instance("polygon", "its place", self.at, (Carrier, Frame), "a body, or a frame of one")
        object.__setattr__(self, "vertices", _outline("polygon", self.vertices, 3))

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.at.body if isinstance(self.at, Frame) else self.at

    @property
    def rim(self) -> np.ndarray:
        """Places along it, counter-clockwise."""
        return np.asarray(self.vertices)


@dataclass(frozen=True)
class ClosedCurve:
    """A smooth closed curve in the plane through these points, in their order: the profile of a cam, a rocker, a wheel.

    Between the points runs a periodic cubic spline. It touches as a chain of circular arcs with common tangents, two for each
    of its `pieces`; the distance of the chain from the spline falls with the third power of their number (of an ellipse with
    the axes 0.8 and 0.4: 3e-7 for 200 pieces).

    >>> import numpy as np
    >>> import stickslip as ss
    >>> cam = ss.PlanarBody("cam", mass=1, inertia=0.1)
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> radius = 0.03 + 0.01 * np.cos(angle)
    >>> profile = ClosedCurve(cam, np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
    """

    at: Carrier | Frame
    points: Any
    pieces: int = 200

    def __post_init__(self) -> None:
        from scipy.interpolate import CubicSpline

        instance("curve", "its place", self.at, (Carrier, Frame), "a body, or a frame of one")
        if not isinstance(self.pieces, int) or not 8 <= self.pieces <= CORNERS:
            raise ModelError(f"curve: pieces = {self.pieces} must be a whole number from 8 to {CORNERS}")
        p = _outline("curve", self.points, 4)
        closed = np.vstack([p, p[:1]])
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
        spline = CubicSpline(along, closed, bc_type="periodic")
        places = np.linspace(0, along[-1], self.pieces, endpoint=False)
        tangents = spline(places, 1)
        object.__setattr__(self, "points", p)
        object.__setattr__(self, "_places", _outline("curve", spline(places), 4))
        object.__setattr__(self, "_tangents", tangents / np.linalg.norm(tangents, axis=1)[:, None])
        object.__setattr__(self, "_fine", spline(np.linspace(0, along[-1], 20 * self.pieces, endpoint=False)))

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.at.body if isinstance(self.at, Frame) else self.at

    @property
    def rim(self) -> np.ndarray:
        """Places along it, counter-clockwise."""
        return self._places  # type: ignore[attr-defined]

    @property
    def fine_rim(self) -> np.ndarray:
        """Many places along it, for its area."""
        return self._fine  # type: ignore[attr-defined]

    @property
    def tangents(self) -> np.ndarray:
        """Unit tangents at the places of `rim`."""
        return self._tangents  # type: ignore[attr-defined]


def _outline(what: str, given: Any, least: int) -> np.ndarray:
    """Corners of a closed line that does not cross itself, counter-clockwise."""
    try:
        p = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        p = np.zeros(0)
    if p.ndim != 2 or p.shape[1] != 2 or not least <= len(p) <= CORNERS or not np.isfinite(p).all():
        raise ModelError(f"{what}: it needs from {least} to {CORNERS} rows of 2 finite numbers, got an array {p.shape}")
    along = np.roll(p, -1, axis=0) - p
    size = np.ptp(p, axis=0).max()
    short = np.flatnonzero(np.linalg.norm(along, axis=1) <= FLAT * size)
    if short.size:
        again = " (the last point must not repeat the first)" if short[0] == len(p) - 1 else ""
        raise ModelError(f"{what}: points {short[0]} and {(short[0] + 1) % len(p)} coincide{again}")
    area = (p[:, 0] * along[:, 1] - p[:, 1] * along[:, 0]).sum() / 2
    if np.linalg.svd(p - p.mean(axis=0), compute_uv=False)[1] <= FLAT * size:
        raise ModelError(f"{what}: its points lie on a line; it has no area")
    crossing = _crossing(p, along)
    if crossing is not None:
        raise ModelError(
            f"{what}: it crosses itself, between points {crossing[0]} and {crossing[1]}; give the points in order"
        )
    return p if area > 0 else p[::-1].copy()


def _crossing(p: np.ndarray, along: np.ndarray) -> tuple[int, int] | None:
    """Two sides that cross, if there are any."""
    n = len(p)
    q = p + along

    def side(k: Any, x: np.ndarray) -> Any:
        return along[k, 0] * (x[..., 1] - p[k, 1]) - along[k, 1] * (x[..., 0] - p[k, 0])

    every = np.arange(n)
    for k in range(n):
        other = np.ones(n, dtype=bool)
        other[[k, (k + 1) % n, k - 1]] = False
        low, high = np.minimum(p, q), np.maximum(p, q)
        boxes = (low <= high[k]).all(1) & (low[k] <= high).all(
            1
        )  # sides of one line that do not meet are none that cross
        hit = boxes & other & (side(k, p) * side(k, q) <= 0) & (side(every, p[k]) * side(every, q[k]) <= 0)
        if hit.any():
            return k, int(np.flatnonzero(hit)[0])
    return None

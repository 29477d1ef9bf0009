"""Geometry of films: poses and quaternions, prisms and hulls, as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.errors import OptionError

DEPTH = 1.6  # of planar bodies, in symbols


def three(points: np.ndarray) -> np.ndarray:
    """Points with three components."""
    missing = 3 - points.shape[-1]
    return np.concatenate([points, np.zeros((*points.shape[:-1], missing))], axis=-1) if missing else points


def sized(entry: Any, symbol: float) -> Any:
    """Lengths in symbols become lengths."""
    if isinstance(entry, dict):
        return entry["symbols"] * symbol if "symbols" in entry else {k: sized(v, symbol) for k, v in entry.items()}
    return [sized(x, symbol) for x in entry] if isinstance(entry, list | tuple) else entry


def pose_of(body: dict[str, Any], q: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Place and quaternion of a body in every frame, from columns of q or from the outputs of a tape."""
    pose = np.zeros((len(q), 7))
    pose[:, 3] = 1.0
    if body["kind"] == "moving":
        n, first = body["dimension"], body["first"]
        pose[:, :n] = values[:, first : first + n]
        axes = values[:, first + n : first + n + n * n].reshape(-1, n, n).swapaxes(1, 2)
        if n > 1:
            R = np.broadcast_to(np.eye(3), (len(q), 3, 3)).copy()
            R[:, :n, :n] = axes
            pose[:, 3:] = quaternions(R.reshape(-1, 9))
        return pose
    own = q[:, body["columns"]]
    if body["kind"] == "rigid":
        pose[:] = own
        pose[:, 3:] /= np.linalg.norm(own[:, 3:], axis=1, keepdims=True)
    elif body["kind"] == "planar":
        pose[:, :2] = own[:, :2]
        pose[:, 3:] = quaternions(own[:, 2:])
    else:
        pose[:, : own.shape[1]] = own
    return pose


def quaternions(turn: np.ndarray) -> np.ndarray:
    """Angles in the plane (n, 1), quaternions (n, 4) or matrices (n, 9) as unit quaternions, scalar part first.

    >>> quaternions(np.array([[np.pi]])).round(12)
    array([[0., 0., 0., 1.]])
    """
    if turn.shape[1] == 1:
        half, zero = turn[:, 0] / 2, np.zeros(len(turn))
        return np.column_stack([np.cos(half), zero, zero, np.sin(half)])
    if turn.shape[1] == 4:
        return turn / np.linalg.norm(turn, axis=1, keepdims=True)
    if turn.shape[1] != 9:
        raise OptionError("turn must be an angle, a quaternion or a 3 x 3 rotation matrix")
    from scipy.spatial.transform import Rotation

    out = Rotation.from_matrix(turn.reshape(-1, 3, 3)).as_quat()[:, [3, 0, 1, 2]]
    flips = np.cumprod(np.where((out[1:] * out[:-1]).sum(axis=1) < 0, -1.0, 1.0))  # no jumps between p and -p
    out[1:] *= flips[:, None]
    return out


def turned(quaternion: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points turned by a unit quaternion, or by one each: (4,) or (n, 4) with (n, 3).

    >>> turned(np.array([0.0, 0.0, 0.0, 1.0]), np.array([[1.0, 0.0, 0.0]]))
    array([[-1.,  0.,  0.]])
    """
    w, v = quaternion[..., :1], quaternion[..., 1:]
    return points + 2 * np.cross(v, np.cross(v, points) + w * points)


def prism(corners: np.ndarray, depth: float) -> dict[str, Any]:
    """Vertices and faces of a polygon that is `depth` thick."""
    n = len(corners)
    z = np.full((n, 1), depth / 2)
    vertices = np.vstack([np.hstack([corners, z]), np.hstack([corners, -z])])
    faces = [[0, k, k + 1] for k in range(1, n - 1)] + [[n, n + k + 1, n + k] for k in range(1, n - 1)]
    for k in range(n):
        a, b = k, (k + 1) % n
        faces += [[a, n + a, n + b], [a, n + b, b]]
    return {"vertices": vertices.tolist(), "faces": faces, "outline": n}


def gear(radius: float, tooth: float, depth: float) -> dict[str, Any]:
    """Vertices and faces of a toothed wheel with this pitch radius about z; a tooth and a gap take about `tooth`."""
    count = int(np.clip(round(2 * np.pi * radius / tooth), 8, 90))
    high = min(0.22 * tooth, 0.2 * radius)
    profile = ((-0.32, -high), (-0.14, high), (0.14, high), (0.32, -high))  # of one tooth, in teeth
    angles = np.array([(k + x) * 2 * np.pi / count for k in range(count) for x, _ in profile])
    radii = radius + np.tile([y for _, y in profile], count)
    return fan(np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]), depth)


def fan(corners: np.ndarray, depth: float) -> dict[str, Any]:
    """Vertices and faces of a polygon that is `depth` thick and can be seen as a whole from the origin."""
    made, n = prism(corners, depth), len(corners)
    made["vertices"] += [[0.0, 0.0, depth / 2], [0.0, 0.0, -depth / 2]]
    sides = made["faces"][2 * (n - 2) :]
    caps = [[2 * n, k, (k + 1) % n] for k in range(n)] + [[2 * n + 1, n + (k + 1) % n, n + k] for k in range(n)]
    return made | {"faces": caps + sides}


def slab(corners: np.ndarray, depth: float) -> dict[str, Any]:
    """Vertices and faces of any polygon, counter-clockwise, that is `depth` thick.

    >>> len(slab(np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]), 0.1)["faces"])
    20
    """
    made, n = prism(corners, depth), len(corners)
    sides = made["faces"][2 * (n - 2) :]
    caps = _ears(corners)
    return made | {"faces": [*caps, *[[n + a, n + c, n + b] for a, b, c in caps], *sides]}


def _ears(corners: np.ndarray) -> list[list[int]]:
    """Triangles of a polygon, counter-clockwise: corners in whose triangle no other one lies are cut off, one after another."""
    left, out = list(range(len(corners))), []
    p = np.asarray(corners, float)

    def turn(a: int, b: int, c: Any) -> Any:
        return (p[b, 0] - p[a, 0]) * (p[c, 1] - p[a, 1]) - (p[b, 1] - p[a, 1]) * (p[c, 0] - p[a, 0])

    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            others = np.array([v for v in left if v not in (a, b, c)])
            inside = (turn(a, b, others) >= 0) & (turn(b, c, others) >= 0) & (turn(c, a, others) >= 0)
            if turn(a, b, c) > 0 and not inside.any():
                break
        out.append([a, b, c])
        left.remove(b)
    return [*out, left]


def sector(lower: float, upper: float, inner: float, outer: float, depth: float) -> dict[str, Any]:
    """Vertices and faces of a piece of a ring about z between two angles from x."""
    angles = np.linspace(lower, upper, max(2, int(np.ceil(abs(upper - lower) / 0.12)) + 1))
    circle, n = np.column_stack([np.cos(angles), np.sin(angles)]), len(angles)
    made = prism(np.vstack([outer * circle, inner * circle[::-1]]), depth)
    sides, m = made["faces"][2 * (2 * n - 2) :], 2 * n
    caps = []
    for k in range(n - 1):
        a, b, c, d = k, k + 1, m - 2 - k, m - 1 - k
        caps += [[a, b, c], [a, c, d], [m + a, m + c, m + b], [m + a, m + d, m + c]]
    return made | {"faces": caps + sides}


def arc(at: np.ndarray, axis: np.ndarray, radius: float, turn: np.ndarray, count: int = 25) -> np.ndarray:
    """Points (frames, count, 3) of circular arcs about axes, each as long as its `turn` in radians."""
    hint = np.where(np.abs(axis[:, :1]) < 0.9, [[1.0, 0, 0]], [[0, 1.0, 0]])
    x = np.cross(axis, np.cross(hint, axis))
    x = x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-300)
    angles = np.linspace(0, 1, count)[None, :, None] * turn[:, None, None]
    return at[:, None] + radius * (np.cos(angles) * x[:, None] + np.sin(angles) * np.cross(axis, x)[:, None])


def hull_2(points: np.ndarray) -> np.ndarray:
    """The convex hull of points in the plane, counter-clockwise."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # on a line
        along = points - points[0]
        order = np.argsort(along @ along[np.abs(along).sum(axis=1).argmax()])
        a, b = points[order[0]], points[order[-1]]
        side = 0.03 * np.array([a[1] - b[1], b[0] - a[0]])
        return np.array([a - side, b - side, b + side, a + side])


def hull_3(points: np.ndarray) -> dict[str, Any]:
    """Vertices and faces of the convex hull of points in space."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except QhullError:  # flat: give it a little depth
        _, _, axes = np.linalg.svd(points - points.mean(axis=0))
        depth = 0.02 * np.linalg.norm(np.ptp(points, axis=0)) * axes[-1]
        hull = ConvexHull(np.vstack([points - depth, points + depth]))
    center = hull.points.mean(axis=0)
    faces = []
    for face in hull.simplices.tolist():
        a, b, c = hull.points[face]
        outward = np.dot(np.cross(b - a, c - a), a - center) > 0
        faces.append(face if outward else face[::-1])
    return {"vertices": hull.points.tolist(), "faces": faces}

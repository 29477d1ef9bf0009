"""A film as a flat picture: what figures, GIFs and MP4s draw.

Solids of a film in space become areas as a camera without perspective sees them. Few kinds of tracks are left:

| kind | points | from |
| --- | --- | --- |
| line, area, arrow | as they are | lines, outlines of solids, arrows |
| disk, dot, touch | one | disks and balls, points, contacts |
| ground, hatch, band | a line; pairs, each a stroke; an area without a fill | `GroundLine`, `Wall`, planes |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stickslip.errors import OptionError
from stickslip.filming import FRAMES, Film, Solid, Trace, drawing_of, shoot
from stickslip.placing import turned
from stickslip.shapes import Drawing
from stickslip.solution import Solution
from stickslip.touching import mean_forces

MARGIN = 0.06  # around what moves, in sizes of the picture
SLIMMEST = 0.4  # no picture is slimmer or flatter than this
HATCH = 0.022  # distance and length of the strokes, in sizes of the picture
BEYOND = 1.5  # an endless wall goes on beyond the picture, for windows that are wider, in sizes of the picture
CAMERA = (-60.0, 20.0)  # azimuth and elevation in degrees
ROUND = 24  # corners of a circle in space


@dataclass(frozen=True, eq=False)
class Track:
    """A shape in time: `points` has one entry per frame, or only one if it never moves; x and y of the picture."""

    kind: str
    points: np.ndarray
    look: dict[str, Any]

    def at(self, frame: int) -> np.ndarray:
        """The points in a frame."""
        return self.points[frame if len(self.points) > 1 else 0]


class FlatSpots(NamedTuple):
    """Detected contacts: the `frame` of each, in order, its place in the picture, glow and state."""

    frame: np.ndarray
    places: np.ndarray
    glow: np.ndarray
    states: np.ndarray

    def of(self, frame: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places, glow and states of those in one frame."""
        own = slice(*np.searchsorted(self.frame, [frame, frame + 1]).tolist())
        return self.places[own], self.glow[own], self.states[own]


@dataclass(frozen=True, eq=False)
class FlatFilm:
    """A flat film: `rows` of the solution and their times `t`; `glow` of the `contacts`, 0 to 1, in every frame.

    `found` are the contacts that were detected.
    """

    rows: np.ndarray
    t: np.ndarray
    tracks: tuple[Track, ...]
    bounds: tuple[float, float, float, float]
    glow: np.ndarray
    contacts: tuple[str, ...]
    found: FlatSpots
    note: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the picture."""
        x_0, x_1, y_0, y_1 = self.bounds
        return x_1 - x_0, y_1 - y_0


def film(
    solution: Solution,
    drawing: Drawing | None = None,
    *,
    frames: int = FRAMES,
    t_start: float | None = None,
    t_end: float | None = None,
) -> FlatFilm:
    """Sample a solution at up to `frames` moments, evenly in time, and draw it there.

    Without t_end the film ends with the solution, or earlier if the drawing has a span. Every frame is a state of the
    solution and not an interpolation; percussions between two frames belong to the second.

    >>> import stickslip as ss
    >>> scene = film(ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=1e-3), frames=100)
    >>> len(scene), [track.kind for track in scene.tracks]
    (100, ['ground', 'hatch', 'disk', 'touch'])
    """
    shot = shoot(solution, drawing, frames=frames, t_start=t_start, t_end=t_end)
    camera = shot.camera or CAMERA
    tracks, more = flattened(shot, camera), shot.detected
    places = more.places @ np.column_stack(_axes(shot, camera)[:2])
    drawn = drawing or drawing_of(solution)
    bounds = (drawn.bounds if drawn is not None else None) or _bounds(tracks)
    return FlatFilm(
        shot.rows,
        shot.t,
        tuple(piece for track in tracks for piece in _tracks(track, bounds)),
        bounds,
        _glow(mean_forces(solution.t, solution.P_N, shot.rows)),
        solution.names.contacts,
        FlatSpots(more.frame, places, _glow(more.strength), more.states),
        shot.note,
    )


def flattened(film: Film, camera: tuple[float, float]) -> list[Track]:
    """Everything that a film shows, projected; in the plane in the order of layers, in space from back to front."""
    right, up, toward = _axes(film, camera)
    found: list[tuple[float, list[Track]]] = []
    for solid in film.solids:
        place = _placed(film, solid)
        found.append((float(np.nanmean(place[0] @ toward)), _flat_solid(film, solid, place, right, up)))
    tracks: list[Track] = []
    front: list[Track] = []
    for trace in film.traces:
        if trace.kind in ("ground", "plane", "surface"):
            tracks += _flat_trace(trace, film, right, up)
        elif film.planar:
            front += _flat_trace(trace, film, right, up)
        else:
            found.append((float(np.nanmean(trace.points @ toward)), _flat_trace(trace, film, right, up)))
    found.sort(key=lambda entry: entry[0])
    tracks += [track for _, group in found for track in group] + front
    for k, name in enumerate(film.spots.names):
        points = film.spots.places[:, k : k + 1]
        look = {"contact": name, "states": film.spots.states[:, k]}
        tracks.append(_still("touch", points @ np.column_stack([right, up]), look))
    return tracks


def _axes(film: Film, camera: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right, up, and toward the onlooker."""
    if film.planar:
        return np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), np.array([0, 0, 1.0])
    azimuth, elevation = np.radians(camera)
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    up = np.array([-np.sin(elevation) * np.cos(azimuth), -np.sin(elevation) * np.sin(azimuth), np.cos(elevation)])
    z = film.up
    if (z != [0.0, 0.0, 1.0]).any():  # turned on the shortest way from z to what is up
        turn = np.array([1 + z[2], -z[1], z[0], 0.0]) if z[2] > -1 + 1e-9 else np.array([0.0, 1.0, 0.0, 0.0])
        right, up = (turned(turn / np.linalg.norm(turn), v) for v in (right, up))
    return right, up, np.cross(right, up)


def _placed(film: Film, solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    """Places and quaternions of a solid in all frames, or in one if it never moves."""
    if solid.body < 0:
        return solid.at[None], solid.turn[None]
    pose = film.poses[solid.body]
    place = pose[:, :3] + turned(pose[:, 3:], np.broadcast_to(solid.at, (len(pose), 3)))
    return place, pose[:, 3:]


def _corners(solid: Solid, planar: bool) -> np.ndarray:
    """Points whose outline is that of the solid, in its own frame."""
    look, circle = solid.look, np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    ring = np.column_stack([np.cos(circle), np.sin(circle), np.zeros(ROUND)])
    match solid.kind:
        case "box":
            signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], float)
            flat = np.hstack([signs, np.zeros((4, 1))])
            corners = flat if planar else np.vstack([flat - np.eye(3)[2], flat + np.eye(3)[2]])
            return corners * np.array(look["size"]) / 2
        case "mesh":
            return np.array(look["vertices"])[: look["outline"] if planar and "outline" in look else None]
        case "cylinder":
            half = np.array([0, 0, look["length"] / 2])
            rim = look["radius"] * ring
            return rim if planar else np.vstack([rim - half, rim + half])
        case "ellipsoid":
            i, j = np.meshgrid(np.linspace(0.1, np.pi - 0.1, 9), circle)
            sphere = np.stack([np.sin(i) * np.cos(j), np.sin(i) * np.sin(j), np.cos(i)], axis=-1).reshape(-1, 3)
            return sphere * np.array(look["semi_axes"])
        case "link":
            a, b = np.asarray(look["ends"], float)
            axis = (b - a) / max(float(np.linalg.norm(b - a)), 1e-300)
            side = np.cross(axis, [0, 0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0, 0])
            side = side / np.linalg.norm(side)
            other = np.cross(axis, side)
            if planar:
                arc = np.linspace(-np.pi / 2, np.pi / 2, 8)[:, None]
                tip = np.cos(arc) * axis + np.sin(arc) * side
                return np.vstack([b + look["radius"] * tip, a - look["radius"] * tip])
            rim = look["radius"] * (np.cos(circle)[:, None] * side + np.sin(circle)[:, None] * other)
            return np.vstack([a + rim, b + rim])
    return np.zeros((1, 3))


def _flat_solid(
    film: Film, solid: Solid, place: tuple[np.ndarray, np.ndarray], right: np.ndarray, up: np.ndarray
) -> list[Track]:
    screen, tone = np.column_stack([right, up]), solid.look.get("tone", "body")
    at, quaternion = place
    if solid.kind in ("ball", "knob"):
        if solid.kind == "knob" and film.planar:
            return [_still("disk", at[:, None] @ screen, {"radius": solid.look["radius"], "tone": tone})]
        marks = np.vstack([np.eye(3), -np.eye(3)]) * solid.look["radius"]
        disk = _still("disk", at[:, None] @ screen, {"radius": solid.look["radius"], "tone": tone})
        if solid.kind == "knob":
            return [disk]
        seen = np.stack([at + turned(quaternion, np.broadcast_to(m, at.shape)) for m in marks[:1]], axis=1)
        line = np.concatenate([at[:, None], seen], axis=1)
        return [disk, _still("line", line @ screen, {"tone": tone, "width": 1.2})]
    local = turned(solid.turn, _corners(solid, film.planar))
    points = np.array([p + turned(r, local) for p, r in zip(at, quaternion, strict=True)]) @ screen
    out = []
    if not film.planar:
        points = np.array([_outline(frame) for frame in points])
    out.append(_still("area", points, {"tone": tone}))
    if solid.look.get("marked"):
        radius = solid.look["radius"]
        for axis in (0, 1):
            spoke = turned(solid.turn, np.array([-radius * np.eye(3)[axis], radius * np.eye(3)[axis]]))
            lines = np.array([p + turned(r, spoke) for p, r in zip(at, quaternion, strict=True)])
            out.append(_still("line", lines @ screen, {"tone": tone, "width": 1.2}))
    return out


def _outline(points: np.ndarray, corners: int = 36) -> np.ndarray:
    """The convex outline of points, always with as many corners: the farthest points in so many directions."""
    angles = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    heights = points @ np.array([np.cos(angles), np.sin(angles)])
    return points[heights.argmax(axis=0)]


def _flat_trace(trace: Trace, film: Film, right: np.ndarray, up: np.ndarray) -> list[Track]:
    screen, look = np.column_stack([right, up]), {k: v for k, v in trace.look.items() if k != "name"}
    points = trace.points @ screen
    tone = look.get("tone", "ink")
    match trace.kind:
        case "tube":
            return [_still("line", points, {"tone": tone, "width": 4.0})]
        case "beam":
            return [_still("line", points, {"tone": tone, "width": 4.0})]
        case "sections":
            return [
                _still("dot", points[:, k : k + 1], {"tone": tone, "trail": False}) for k in range(points.shape[1])
            ][: 0 if points.shape[1] > 12 else None]
        case "coil":
            return [_still("line", coil(points, look["radius"]), {"tone": tone, "width": 1.6})]
        case "ring":
            axis = trace.points[:, 1] - trace.points[:, 0]
            return [
                _still("line", _ring(trace.points[:, 0], axis, look["radius"]) @ screen, {"tone": tone, "width": 2.0})
            ]
        case "surface":
            n = look["columns"]
            grid = points.reshape(len(points), -1, n, 2)
            step = max(1, n // 12)
            lines = [grid[:, k] for k in range(0, grid.shape[1], step)] + [grid[:, :, k] for k in range(0, n, step)]
            return [_still("line", line, {"tone": "faint", "width": 1.0}) for line in lines]
        case "plane" if not film.planar:
            return _tiles(trace, film, screen)
    return [Track(trace.kind, points, look)]


def _still(kind: str, points: np.ndarray, look: dict[str, Any]) -> Track:
    return Track(kind, points[:1] if (points == points[:1]).all() else points, look)


def coil(ends: np.ndarray, radius: float, coils: int = 8) -> np.ndarray:
    """Zigzag lines (frames, points, 2) between two points each."""
    a, b = ends[:, 0], ends[:, 1]
    along = np.concatenate([[0.0, 0.2], 0.2 + 0.6 * (np.arange(2 * coils) + 0.5) / (2 * coils), [0.8, 1.0]])
    side = np.concatenate([[0.0, 0.0], radius * (-1.0) ** np.arange(2 * coils), [0.0, 0.0]])
    way = b - a
    normal = np.stack([-way[:, 1], way[:, 0]], axis=-1)
    normal = normal / np.maximum(np.linalg.norm(way, axis=-1, keepdims=True), 1e-300)
    return a[:, None] + along[:, None] * way[:, None] + side[:, None] * normal[:, None]


def _ring(center: np.ndarray, axis: np.ndarray, radius: float) -> np.ndarray:
    """Circles (frames, points, 3) about axes."""
    axis = axis / np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-300)
    hint = np.where(np.abs(axis[:, :1]) < 0.9, [[1.0, 0, 0]], [[0, 1.0, 0]])
    x = np.cross(axis, hint)
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    y = np.cross(axis, x)
    angles = np.linspace(0, 2 * np.pi, 33)[:, None, None]
    return (
        center + radius * (np.cos(angles) * x + np.sin(angles) * y).swapaxes(0, 1)
        if len(center) == 1
        else np.stack([center + radius * (np.cos(a) * x + np.sin(a) * y) for a in angles[:, 0, 0]], axis=1)
    )


def _tiles(trace: Trace, film: Film, screen: np.ndarray) -> list[Track]:
    """A plane in space: a square of tiles as large as the motion, around the foot of its middle."""
    point, normal = trace.points[:, 0], trace.points[:, 1] - trace.points[:, 0]
    middle, half = (film.low + film.high) / 2, 0.6 * max((film.high - film.low).max(), 1e-300)
    foot = middle - ((middle - point) * normal).sum(axis=-1, keepdims=True) * normal
    hint = np.where(np.abs(normal[:, :1]) < 0.9, [[1.0, 0, 0]], [[0, 1.0, 0]])
    y = np.cross(normal, hint)
    y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    x = np.cross(y, normal)
    out = []
    for s in np.linspace(-half, half, 5):
        for a, b in ((x, y), (y, x)):
            line = np.stack([foot + s * a - half * b, foot + s * a + half * b], axis=1)
            out.append(_still("line", line @ screen, {"tone": "faint", "width": 1.0}))
    return out


def _bounds(tracks: list[Track]) -> tuple[float, float, float, float]:
    low, high = [], []
    for track in tracks:
        points = track.points
        seen = points[:, :1] if track.kind == "plane" else points
        seen = seen[np.isfinite(seen).all(axis=-1)]
        if len(seen):
            radius = track.look["radius"] if track.kind == "disk" else 0.0
            low.append(seen.min(axis=0) - radius)
            high.append(seen.max(axis=0) + radius)
    if not low:
        raise OptionError("the drawing shows nothing: it has no shape with finite points")
    lowest, highest = np.min(low, axis=0), np.max(high, axis=0)
    size = highest - lowest
    largest = size.max() or 1.0
    half = np.maximum(size, SLIMMEST * largest) / 2 + MARGIN * largest
    middle = (lowest + highest) / 2
    (x_0, y_0), (x_1, y_1) = (middle - half).tolist(), (middle + half).tolist()
    return x_0, x_1, y_0, y_1


def _tracks(track: Track, bounds: tuple[float, float, float, float]) -> list[Track]:
    """A ground with its hatching; everything else as it is."""
    size = max(bounds[1] - bounds[0], bounds[3] - bounds[2])
    if track.kind not in ("ground", "plane"):
        return [track]
    depth, points = HATCH * size, track.points
    if track.kind == "plane":
        given = track.look.get("depth")
        depth = depth if given is None else given
        point, normal = points[:, 0], points[:, 1] - points[:, 0]
        normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
        along = np.stack([normal[:, 1], -normal[:, 0]], axis=-1)  # the solid side is on the right
        centre = np.array([bounds[0] + bounds[1], bounds[2] + bounds[3]]) / 2
        foot = point + np.sum((centre - point) * along, axis=-1, keepdims=True) * along
        reach = (0.75 + BEYOND) * size
        points = np.stack([foot - reach * along, foot + reach * along], axis=1)
        if given is not None:
            back = points - depth * normal[:, None]
            closed = np.concatenate([points, back[:, ::-1]], axis=1)
            return [Track("hatch", _strokes(points, HATCH * size, depth), {}), Track("band", closed, {})]
    return [Track("ground", points, {}), Track("hatch", _strokes(points, HATCH * size, depth), {})]


def _strokes(lines: np.ndarray, distance: float, depth: float) -> np.ndarray:
    """Strokes at 45 degrees on the right of lines (frames, points, 2), as many for every frame."""
    edges = np.diff(lines, axis=1)
    lengths = np.linalg.norm(edges, axis=-1)
    counts = int(max(1, round(lengths[0].sum() / distance)))
    strokes = []
    for line, edge, length in zip(lines, edges, lengths, strict=True):
        ends = np.concatenate([[0.0], np.cumsum(length)])
        places = (np.arange(counts) + 0.75) / counts * ends[-1]
        k = np.clip(np.searchsorted(ends, places) - 1, 0, len(edge) - 1)
        along = edge[k] / np.maximum(length[k], 1e-300)[:, None]
        start = line[k] + (places - ends[k])[:, None] * along
        right = np.stack([along[:, 1], -along[:, 0]], axis=-1)
        strokes.append(np.stack([start, start + depth * (right - along)], axis=1).reshape(-1, 2))
    return np.array(strokes)


def _glow(force: np.ndarray) -> np.ndarray:
    largest = force.max(initial=0.0)
    # The root shows persistent contact beside impacts, which are often a hundred times stronger.
    return np.where(force > 1e-9 * largest, 0.3 + 0.7 * np.sqrt(np.maximum(force, 0) / (largest or 1.0)), 0.0)

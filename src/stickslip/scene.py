"""A film of a solution as data: the moments that it shows, and where each shape is at each of them.

Figures and pages draw a scene; neither calls a drawing itself. Few kinds of tracks are left here of the shapes:

| kind | points | from |
| --- | --- | --- |
| line, area, arrow | as they are | `Polyline`, `Polygon`, `Arrow` |
| disk, dot, touch | one | `Disk`, `Point`, `Touch` |
| ground, hatch, band | a line; pairs, each a stroke; an area without a fill | `Ground`, `Wall` |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.errors import OptionError, unknown_name
from stickslip.shapes import DRAWINGS, Arrow, Disk, Drawing, Ground, Point, Polygon, Polyline, Shape, Touch, Wall
from stickslip.solution import Solution

FRAMES = 600  # ten seconds at sixty a second
MARGIN = 0.06  # around what moves, in sizes of the picture
SLIMMEST = 0.4  # no picture is slimmer or flatter than this
HATCH = 0.022  # distance and length of the strokes, in sizes of the picture
BEYOND = 1.5  # an endless wall goes on beyond the picture, for windows that are wider, in sizes of the picture
KINDS = {Polyline: "line", Polygon: "area", Arrow: "arrow", Disk: "disk", Point: "dot", Touch: "touch"}


@dataclass(frozen=True, eq=False)
class Track:
    """A shape in time: `points` has an entry a frame, or only one if it never moves; x and y of the picture."""

    kind: str
    points: np.ndarray
    look: dict[str, Any]

    def at(self, frame: int) -> np.ndarray:
        """The points in a frame."""
        return self.points[frame if len(self.points) > 1 else 0]


@dataclass(frozen=True, eq=False)
class Scene:
    """A film: `rows` of the solution and their times `t`; `glow` of the `contacts`, 0 to 1, in every frame."""

    drawing: Drawing
    rows: np.ndarray
    t: np.ndarray
    tracks: tuple[Track, ...]
    bounds: tuple[float, float, float, float]
    glow: np.ndarray
    contacts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the picture."""
        x_0, x_1, y_0, y_1 = self.bounds
        return x_1 - x_0, y_1 - y_0


def drawing_of(solution: Solution) -> Drawing:
    """The drawing that the solution's system has.

    >>> import stickslip as ss
    >>> drawing_of(ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.01, dt=1e-3)).name
    'bouncing_ball'
    """
    about = solution.provenance
    remembered = about.get("drawing")
    if remembered is None:
        raise OptionError(
            f"{about.get('system', 'this system')!r} has no drawing. Set `system.drawing` before solving it, or pass one: "
            "`solution.view(drawing)`; docs/viewing.md shows how."
        )
    if remembered["name"] not in DRAWINGS:
        text = unknown_name("drawing", remembered["name"], DRAWINGS)
        raise OptionError(f"{text}. Import the module that defines it, or pass it: `solution.view(drawing)`.")
    return DRAWINGS[remembered["name"]]


def film(
    solution: Solution,
    drawing: Drawing | None = None,
    *,
    frames: int = FRAMES,
    t_start: float | None = None,
    t_end: float | None = None,
) -> Scene:
    """Sample a solution at up to `frames` moments, evenly in time, and draw it there.

    Without t_end the film ends with the solution, or earlier if the drawing has a span. Every frame is a state of the
    solution and not an interpolation; percussions between two frames belong to the second.

    >>> import stickslip as ss
    >>> scene = film(ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=1e-3), frames=100)
    >>> len(scene), [track.kind for track in scene.tracks]
    (100, ['ground', 'hatch', 'disk', 'touch'])
    """
    drawing = drawing or drawing_of(solution)
    rows = _rows(solution.t, drawing.span, frames, t_start, t_end)
    parameters = (solution.provenance.get("drawing") or solution.provenance).get("parameters", {})
    pictures = [drawing(float(solution.t[k]), solution.q[k], parameters) for k in rows]
    tracks = _turned(drawing, pictures)
    for shape, _ in tracks:
        if isinstance(shape, Touch) and shape.contact not in solution.names.contacts:
            raise OptionError(
                f"drawing {drawing.name!r}: {unknown_name('contact', shape.contact, solution.names.contacts)}"
            )
    bounds = drawing.bounds or _bounds(drawing, tracks)
    finished = [track for shape, points in tracks for track in _tracks(shape, points, bounds)]
    return Scene(
        drawing,
        rows,
        solution.t[rows],
        tuple(finished),
        bounds,
        _glow(mean_forces(solution.t, solution.P_N, rows)),
        solution.names.contacts,
    )


def mean_forces(t: np.ndarray, P: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The percussions of the steps between one frame and the next, over the time between them; zero in the first frame.

    >>> mean_forces(np.array([0.0, 0.5, 1.0, 1.5]), np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0, 1, 3]))
    array([[0.],
           [2.],
           [6.]])
    """
    force = np.zeros((len(rows), P.shape[1]))
    if len(rows) > 1 and P.size:
        sums = np.add.reduceat(P[: rows[-1] + 1], rows[:-1] + 1, axis=0)
        force[1:] = sums / np.diff(t[rows])[:, None]
    return force


def _rows(t: np.ndarray, span: float | None, frames: int, t_start: float | None, t_end: float | None) -> np.ndarray:
    if frames < 1:
        raise OptionError(f"frames = {frames} must be at least 1")
    if not len(t):
        raise OptionError("the solution is empty: there is nothing to see")
    begin = t[0] if t_start is None else t_start
    end = t_end if t_end is not None else t[-1] if span is None else min(t[-1], begin + span)
    inside = np.flatnonzero((t >= begin - 1e-9 * abs(begin)) & (t <= end + 1e-9 * abs(end)))
    if not len(inside):
        raise OptionError(
            f"no state lies between t = {begin:g} and {end:g}; the solution has t = {t[0]:g} .. {t[-1]:g}"
        )
    first, last = inside[0], inside[-1]
    wanted = np.linspace(t[first], t[last], min(frames, len(inside)))
    after = np.clip(np.searchsorted(t, wanted), first, last)
    before = np.maximum(after - 1, first)
    return np.unique(np.where(t[after] - wanted <= wanted - t[before], after, before))


def _turned(drawing: Drawing, pictures: list[list[Shape]]) -> list[tuple[Shape, np.ndarray]]:
    """The pictures, turned: every shape with its points in all frames, or in one if they are the same in all."""
    anchors = [[shape.anchors for shape in shapes] for shapes in pictures]

    def kinds(k: int) -> list[Any]:
        return [(type(shape), points.shape, shape.look) for shape, points in zip(pictures[k], anchors[k], strict=True)]

    first = kinds(0)
    for k in range(len(pictures)):
        if kinds(k) != first:
            raise OptionError(
                f"drawing {drawing.name!r}: frame {k} has other shapes than frame 0. Return the same shapes, with as many "
                "points and the same looks, for every state; only points may move."
            )
    columns = [drawing.project(np.array(column)) for column in zip(*anchors, strict=True)]
    still = [(points == points[:1]).all() for points in columns]
    return [(s, p[:1] if same else p) for s, p, same in zip(pictures[0], columns, still, strict=True)]


def _bounds(drawing: Drawing, tracks: list[tuple[Shape, np.ndarray]]) -> tuple[float, float, float, float]:
    low, high = [], []
    for shape, points in tracks:
        seen = points[:, :1] if isinstance(shape, Wall) else points
        seen = seen[np.isfinite(seen).all(axis=-1)]
        if len(seen):
            radius = shape.radius if isinstance(shape, Disk) else 0.0
            low.append(seen.min(axis=0) - radius)
            high.append(seen.max(axis=0) + radius)
    if not low:
        raise OptionError(f"drawing {drawing.name!r} shows nothing: it has no shape with finite points")
    lowest, highest = np.min(low, axis=0), np.max(high, axis=0)
    size = highest - lowest
    largest = size.max() or 1.0
    half = np.maximum(size, SLIMMEST * largest) / 2 + MARGIN * largest
    middle = (lowest + highest) / 2
    (x_0, y_0), (x_1, y_1) = (middle - half).tolist(), (middle + half).tolist()
    return x_0, x_1, y_0, y_1


def _tracks(shape: Shape, points: np.ndarray, bounds: tuple[float, float, float, float]) -> list[Track]:
    size = max(bounds[1] - bounds[0], bounds[3] - bounds[2])
    if not isinstance(shape, Ground | Wall):
        return [Track(KINDS[type(shape)], points, shape.look)]
    depth = HATCH * size
    if isinstance(shape, Wall):
        depth = depth if shape.depth is None else shape.depth
        point, normal = points[:, 0], points[:, 1] / np.linalg.norm(points[:, 1], axis=-1, keepdims=True)
        along = np.stack([normal[:, 1], -normal[:, 0]], axis=-1)  # the solid side is on the right
        centre = np.array([bounds[0] + bounds[1], bounds[2] + bounds[3]]) / 2
        foot = point + np.sum((centre - point) * along, axis=-1, keepdims=True) * along
        reach = (0.75 + BEYOND) * size
        points = np.stack([foot - reach * along, foot + reach * along], axis=1)
        if shape.depth is not None:
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

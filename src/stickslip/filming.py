"""A film of a solution in space as data: which moments it shows, where every body is, and what is drawn of it.

Pages, figures, films and files for ParaView are made of a `Film`; none of them looks at a model. What a solution
remembers of its parts (`stickslip.looks`) and a drawing of the user become the same two kinds of things:

| solids, fixed to a body | sizes |
| --- | --- |
| box, ellipsoid | size, semi_axes |
| ball, knob, cavity | radius; the rotation of a ball can be seen |
| cylinder | radius, length, along its own z |
| link | ends, radius |
| mesh | vertices, faces |

| tracks, whose points move | points |
| --- | --- |
| line, area, ground, beam, sections | as they are |
| disk, dot | one |
| tube, coil, arrow | both ends |
| ring, plane | centre and a point along its axis or normal |
| surface | a grid of columns x rows |

Lengths are those of the mechanism. Planar mechanisms lie in z = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.analysis.events import contact_states
from stickslip.errors import OptionError, unknown_name
from stickslip.looks import evaluate
from stickslip.placing import hull_2, hull_3, pose_of, prism, quaternions, sized, three, turned
from stickslip.shapes import (
    DRAWINGS,
    FORMER,
    Arrow,
    Ball,
    Block,
    Circle,
    Coil,
    Dot,
    Drawing,
    GroundLine,
    Polygon,
    Polyline,
    Shape,
    Touch,
    Tube,
    Wall,
)
from stickslip.solution import Solution
from stickslip.touching import DetectedSpots, Spots, detected, mean_forces, most

FRAMES = 600  # ten seconds at sixty per second
IMPACT_FRAMES = 600  # in addition, for impacts; the strongest ones if there are more
SYMBOL = 0.014  # size of joints and other symbols, in sizes of the picture
DEPTH = 1.6  # of planar bodies, in symbols
NAMES = {
    Polyline: "line",
    Polygon: "area",
    Arrow: "arrow",
    Circle: "disk",
    Dot: "dot",
    GroundLine: "ground",
    Wall: "plane",
}
NAMES |= {Tube: "tube", Coil: "coil"}
UNBOUNDED = ("plane", "force", "surface", "ring")  # do not count for the size of the picture
PLACES = {"axle": [0], "rail": [0, 2], "guide": [0, 2]}  # which points do; the others are directions
KINDS: dict[str, type[Shape]] = {kind.__name__: kind for kind in (*NAMES, Touch, Block, Ball)}
KINDS |= {name: kind for name, kind in FORMER.items() if issubclass(kind, Shape)}  # in files of older versions


@dataclass(frozen=True, eq=False)
class Solid:
    """A shape fixed to a body of the film, -1 for the ground, at a place and turned by a quaternion in its frame."""

    kind: str
    body: int
    at: np.ndarray
    turn: np.ndarray
    look: dict[str, Any]

    @property
    def reach(self) -> float:
        """No point of it is farther from its place than this."""
        look = self.look
        match self.kind:
            case "box":
                return float(np.linalg.norm(look["size"]) / 2)
            case "ellipsoid":
                return float(max(look["semi_axes"]))
            case "cylinder":
                return float(np.hypot(look["radius"], look["length"] / 2))
            case "link":
                return float(np.linalg.norm(look["ends"], axis=1).max() + look["radius"])
            case "mesh":
                return float(np.linalg.norm(look["vertices"], axis=1).max())
        return float(look["radius"])


@dataclass(frozen=True, eq=False)
class Trace:
    """Points in time: one entry per frame, or only one if they never move; three components."""

    kind: str
    points: np.ndarray
    look: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Film:
    """`rows` of the solution at the times `t`, bodies with poses (place, quaternion), and what is drawn of them."""

    rows: np.ndarray
    t: np.ndarray
    planar: bool
    bodies: tuple[str, ...]
    poses: list[np.ndarray]
    solids: list[Solid]
    traces: list[Trace]
    spots: Spots
    detected: DetectedSpots
    low: np.ndarray
    high: np.ndarray
    symbol: float
    impacts: np.ndarray = field(default_factory=lambda: np.zeros(0))
    note: str = ""
    camera: tuple[float, float] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> float:
        """Diagonal of the box that holds the motion."""
        return float(np.linalg.norm(self.high - self.low)) or 1.0


def drawing_of(solution: Solution) -> Drawing | None:
    """The drawing that the solution's system has; None where its parts show themselves.

    >>> import stickslip as ss
    >>> drawing_of(ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.01, dt=1e-3)).name
    'bouncing_ball'
    """
    about = solution.provenance
    remembered = about.get("drawing")
    if remembered is None:
        if seen(about.get("look")):
            return None
        raise OptionError(
            f"{about.get('system', 'this system')!r} has nothing to draw: no parts, and no shapes. Name points, lines and "
            "solids in its symbols before solving it, `system.show(...)`, or pass a drawing: `solution.view(drawing)`; "
            "docs/viewing.md shows how."
        )
    if remembered["name"] not in DRAWINGS:
        if seen(about.get("look")):
            return None
        text = unknown_name("drawing", remembered["name"], DRAWINGS)
        raise OptionError(f"{text}. Import the module that defines it, or pass it: `solution.view(drawing)`.")
    return DRAWINGS[remembered["name"]]


def seen(look: dict[str, Any] | None) -> bool:
    """Whether a look shows anything."""
    if look is not None and "error" in look:
        raise OptionError(f"the parts could not be drawn: {look['error']}. Pass a drawing: `solution.view(drawing)`.")
    return look is not None and bool(look["bodies"] or look["tracks"])


def shoot(
    solution: Solution,
    drawing: Drawing | None = None,
    *,
    frames: int = FRAMES,
    impact_frames: int = 0,
    t_start: float | None = None,
    t_end: float | None = None,
) -> Film:
    """Film a solution: up to `frames` moments, evenly in time, and `impact_frames` more where impacts are.

    Every frame is a state of the solution and not an interpolation; percussions between two frames belong to the
    second. A drawing replaces what the parts show, unless it is made with `adds=True`.

    >>> import stickslip as ss
    >>> s = ss.System("throw")
    >>> ball = s.add(ss.PointMass("ball", mass=1, position=[0, 1], velocity=[1, 1]))
    >>> film = shoot(ss.solve(s, t_end=0.1, dt=1e-2))
    >>> film.bodies, [solid.kind for solid in film.solids], film.poses[0].shape
    (('ball',), ['knob'], (11, 7))
    """
    drawing = drawing or drawing_of(solution)
    states = contact_states(solution)
    rows = moments(solution.t, None if drawing is None else drawing.span, frames, t_start, t_end)
    struck = np.flatnonzero((states == 3).any(axis=1))
    struck = struck[(struck >= rows[0]) & (struck <= rows[-1])]
    if impact_frames:
        strongest = struck
        if len(struck) > impact_frames:
            order = np.argsort(-solution.P_N[struck].max(axis=1), kind="stable")
            strongest = struck[order[:impact_frames]]
        rows = np.unique(np.concatenate([rows, strongest, np.maximum(strongest - 1, rows[0])]))
    shot = _Shot(solution, rows)
    look = solution.provenance.get("look")
    if look is not None and (drawing is None or drawing.adds):
        shot.look(look)
    if drawing is not None:
        shot.drawing(drawing)
    return shot.film(drawing, states, solution.t[struck])


def moments(t: np.ndarray, span: float | None, frames: int, t_start: float | None, t_end: float | None) -> np.ndarray:
    """Rows of a solution that are evenly spaced in time, as far as possible."""
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


class _Shot:
    """Takes in looks and drawings, then finds sizes and makes the film."""

    def __init__(self, solution: Solution, rows: np.ndarray):
        self.solution, self.rows, self.t, self.q = solution, rows, solution.t[rows], solution.q[rows]
        self.bodies: list[str] = []
        self.poses: list[np.ndarray] = []
        self.solids: list[dict[str, Any]] = []
        self.raw: list[tuple[str, np.ndarray, dict[str, Any]]] = []
        self.touches: dict[str, np.ndarray] = {}
        self.graphs: list[dict[str, Any]] = []
        self.layers: list[int] = []
        self.planar = True
        self.what = f"the look of {solution.provenance.get('system', 'the system')!r}"

    # -- what the parts remember -------------------------------------------------------------------------------------

    def look(self, look: dict[str, Any]) -> None:
        """Poses and points from the record of `stickslip.looks`."""
        parameters = np.broadcast_to(np.array(look["parameters"], float), (len(self.rows), len(look["parameters"])))
        values = evaluate(look["tape"], np.column_stack([self.t, self.q, parameters]))
        self.planar = self.planar and bool(look["planar"])
        self.layers += look.get("layers", [0] * len(look["bodies"]))
        for body in look["bodies"]:
            self.bodies.append(body["name"])
            self.poses.append(pose_of(body, self.q, values))
        self.solids += look["solids"]
        for track in look["tracks"]:
            if track["kind"] == "graph":
                self.graphs.append(track)
            elif track["kind"] == "shape":
                self._shown(track, values)
            else:
                first, count, n = track["first"], track["count"], track["dimension"]
                points = values[:, first : first + count * n].reshape(-1, count, n)
                rest = {k: v for k, v in track.items() if k not in ("kind", "first", "count", "dimension")}
                self._points(track["kind"], points, rest)

    def _shown(self, track: dict[str, Any], values: np.ndarray) -> None:
        entry = track["shape"]
        moving = {}
        for name, where in entry["fields"].items():
            shape, first = tuple(where["shape"]), where["first"]
            moving[name] = values[:, first : first + int(np.prod(shape))].reshape(-1, *shape)
        self._shape(KINDS[entry["kind"]], moving, track["look"])

    # -- what a drawing shows ------------------------------------------------------------------------------------------

    def drawing(self, drawing: Drawing) -> None:
        """The shapes of a drawing, called for every frame."""
        self.what = f"drawing {drawing.name!r}"
        about = self.solution.provenance
        parameters = (about.get("drawing") or about).get("parameters", {})
        pictures = [drawing(float(t), q, parameters) for t, q in zip(self.t, self.q, strict=True)]
        first = _kinds(pictures[0])
        for k, picture in enumerate(pictures):
            if _kinds(picture) != first:
                raise OptionError(
                    f"drawing {drawing.name!r}: frame {k} has other shapes than frame 0. Return the same shapes, with as "
                    "many points and the same looks, for every state; only points may move."
                )
        for shapes in zip(*pictures, strict=True):
            moving = {}
            for name in shapes[0].moving:
                if getattr(shapes[0], name) is not None:
                    moving[name] = np.array([np.array(getattr(s, name), float, ndmin=2) for s in shapes])
            self._shape(type(shapes[0]), moving, shapes[0].look)

    def _shape(self, kind: type[Shape], moving: dict[str, np.ndarray], look: dict[str, Any]) -> None:
        places = [points for name, points in moving.items() if name != "turn"]
        if kind in (Block, Ball):
            self._turned(kind, places[0][:, 0], moving["turn"], look)
        elif kind is Touch:
            rows = [three(places[0])]
            if "normal" in moving:
                normal = three(moving["normal"])
                rows.append(rows[0] + normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-300))
            self._points("touch", np.concatenate(rows, axis=1), look, flat=places[0].shape[-1] == 2)
        elif kind is Wall:
            point, normal = places
            normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
            self._points("plane", np.concatenate([point, point + normal], axis=1), look)
        else:
            points = np.concatenate(places, axis=1)
            if kind is Coil and look["radius"] is None:
                look = look | {"radius": {"symbols": 1.1}}
            self._points(NAMES[kind], points, look)

    def _turned(self, kind: type[Shape], center: np.ndarray, turn: np.ndarray, look: dict[str, Any]) -> None:
        pose = np.zeros((len(center), 7))
        pose[:, : center.shape[1]] = center
        pose[:, 3:] = quaternions(turn.reshape(len(turn), -1))
        if center.shape[1] == 3:
            self.planar = False
        self.bodies.append("")
        self.layers.append(0)
        self.poses.append(pose)
        rest = {k: v for k, v in look.items() if k != "tone"}
        if kind is Block:
            size = list(look["size"])
            rest["size"] = [*size, *[{"symbols": DEPTH}] * (3 - len(size))]
        entry = {"kind": kind.__name__.lower().replace("block", "box"), "body": len(self.bodies) - 1, "at": [0.0] * 3}
        self.solids.append(entry | {"turn": [1.0, 0, 0, 0], "tone": look["tone"], **rest})

    def _points(self, kind: str, points: np.ndarray, look: dict[str, Any], flat: bool | None = None) -> None:
        if points.shape[-1] == 3 and kind not in ("ring",) and not flat:
            self.planar = False
        if kind == "touch":
            self._touch(look["contact"], three(points))
            return
        if (points == points[:1]).all():
            points = points[:1]
        self.raw.append((kind, three(points), look))

    def _touch(self, name: str, points: np.ndarray) -> None:
        if name not in self.solution.names.contacts:
            if name in self.solution.names.friction:  # friction without a normal contact
                return
            text = unknown_name("contact", name, self.solution.names.contacts)
            raise OptionError(f"{self.what}: {text}")
        self.touches[name] = points

    # -- the film ------------------------------------------------------------------------------------------------------

    def film(self, drawing: Drawing | None, states: np.ndarray, impacts: np.ndarray) -> Film:
        """Sizes of symbols, then everything with them."""
        low, high = self._bounds()
        size = float(np.linalg.norm(high - low)) or 1.0
        symbol = SYMBOL * size
        solids = [self._solid(entry, symbol) for entry in self.solids]
        if self.planar:
            for k, layer in enumerate(self.layers):
                self.poses[k] = self.poses[k] + np.array([0, 0, layer * DEPTH * symbol, 0, 0, 0, 0])
        traces = [trace for kind, points, look in self.raw for trace in self._trace(kind, points, look, symbol)]
        traces += [self._surface(graph, low, high) for graph in self.graphs]
        return Film(
            rows=self.rows,
            t=self.t,
            planar=self.planar,
            bodies=tuple(self.bodies),
            poses=[pose[:1] if (pose == pose[:1]).all() else pose for pose in self.poses],
            solids=solids,
            traces=traces,
            spots=self._spots(states),
            detected=detected(self.solution, self.rows),
            low=low,
            high=high,
            symbol=symbol,
            impacts=impacts,
            note="" if drawing is None else drawing.note,
            camera=None if drawing is None or self.planar else drawing.camera,
        )

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        lows, highs = [], []
        for entry in self.solids:
            pose = self.poses[entry["body"]][:, :3] if entry["body"] >= 0 else np.zeros((1, 3))
            solid = self._solid(entry, 0.0)
            reach = solid.reach + float(np.linalg.norm(solid.at))
            flat = np.array([1.0, 1.0, 0.0]) if self.planar else np.ones(3)
            lows.append(np.nanmin(pose, axis=0) - reach * flat)
            highs.append(np.nanmax(pose, axis=0) + reach * flat)
        points = [
            (p[:, PLACES[kind]] if kind in PLACES else p, look)
            for kind, p, look in self.raw
            if kind not in UNBOUNDED or "bounds" in look
        ]
        points += [(p[:, :1], {}) for p in self.touches.values()]
        points += [(p[:, :1], {}) for kind, p, _ in self.raw if kind == "plane" and len(p) == 1 and not self.solids]
        points += [(pose[:, None, :3], {}) for pose in self.poses]
        for array, look in points:
            finite = array[np.isfinite(array).all(axis=-1)]
            if len(finite):
                radius = look.get("radius", 0.0)
                radius = float(radius) if isinstance(radius, int | float) else 0.0
                lows.append(finite.min(axis=0) - radius * np.array([1, 1, 0.0 if self.planar else 1]))
                highs.append(finite.max(axis=0) + radius * np.array([1, 1, 0.0 if self.planar else 1]))
        if not lows:
            raise OptionError(f"{self.what} shows nothing: it has no shape with finite points")
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        if not (high > low).any():
            low, high = low - 0.5, high + 0.5
        return low, high

    def _solid(self, entry: dict[str, Any], symbol: float) -> Solid:
        look = {k: v for k, v in entry.items() if k not in ("kind", "body", "at", "turn")}
        kind, at = entry["kind"], np.array(entry["at"], float)
        look, depth = sized(look, symbol), DEPTH * symbol
        deep = (max(self.layers, default=0) + 1) * depth
        if kind == "pin":
            kind, look = "cylinder", look | {"radius": 0.75 * symbol, "length": deep + 0.8 * symbol}
            layer = self.layers[entry["body"]] if entry["body"] >= 0 and self.layers else 0
            at = at + np.array([0, 0, deep / 2 - depth / 2 - layer * depth])
        elif kind == "weld":
            kind, look = "box", look | {"size": [1.2 * symbol, 1.2 * symbol, 1.2 * symbol if not self.planar else deep]}
        elif kind == "support":
            corners = symbol * np.array([(0.0, 0.9), (-2.4, -2.6), (2.4, -2.6)])
            kind, at = "mesh", at + np.array([0, 0, deep / 2 - depth / 2])
            look |= prism(corners, deep)
        elif kind == "hull":
            vertices = np.array(look.pop("vertices"), float)
            kind = "mesh"
            look |= prism(hull_2(vertices[:, :2]), depth or 1e-9) if self.planar else hull_3(vertices)
        elif kind == "link":
            look["ends"] = np.array(look["ends"], float)
        elif kind == "knob" and self.planar:
            at = at + np.array([0, 0, 0.2 * depth])
        if kind == "ball" and self.planar:
            kind, look = "cylinder", look | {"length": depth, "marked": True}
        if kind == "ellipsoid" and self.planar:
            a, b = look["semi_axes"][:2]
            angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
            kind, look = (
                "mesh",
                {"tone": look["tone"]}
                | prism(np.column_stack([a * np.cos(angles), b * np.sin(angles)]), depth or 1e-9),
            )
        return Solid(kind, entry["body"], at, np.array(entry["turn"], float), look)

    def _trace(self, kind: str, points: np.ndarray, look: dict[str, Any], symbol: float) -> list[Trace]:
        look = sized(look, symbol)
        if kind == "axle":
            axis = points[:, 1] - points[:, 0]
            axis = axis / np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-300)
            half = look.pop("length") / 2 * axis
            return [Trace("tube", np.stack([points[:, 0] - half, points[:, 0] + half], axis=1), look)]
        if kind in ("rail", "guide"):
            at, axis = points[:, 0], points[:, 1] - points[:, 0]
            way = ((points[:, 2] - at) * axis).sum(axis=-1)
            low, high = min(way.min(), 0.0) - 4 * symbol, max(way.max(), 0.0) + 4 * symbol
            ends = np.stack([at + low * axis, at + high * axis], axis=1)
            if kind == "guide":  # hatched on the right, so away from the slider
                inside = ((points[:, 2] - at) * np.cross([0, 0, 1.0], axis)).sum(axis=-1)[0] > 0
                return [Trace("ground", ends if inside else ends[:, ::-1], {})]
            return [Trace("tube", ends, look)]
        if kind == "force":
            arrows = points[:, 1] - points[:, 0]
            longest = np.linalg.norm(arrows, axis=-1).max()
            scale = 9 * symbol / longest if longest > 0 else 0.0
            return [Trace("arrow", np.stack([points[:, 0], points[:, 0] + scale * arrows], axis=1), look)]
        return [Trace(kind, points, look)]

    def _surface(self, graph: dict[str, Any], low: np.ndarray, high: np.ndarray) -> Trace:
        """A curved ground as far as the motion goes, and a little more; one that is fixed to a body moves with it."""
        room = 0.25 * (high - low).max()
        x = np.linspace(low[0] - room, high[0] + room, 161 if graph["dimension"] == 2 else 61)
        if graph["dimension"] == 2:
            points = np.column_stack([x, evaluate(graph["tape"], x[:, None])[:, 0], np.zeros(len(x))])
            kind, look = "ground", {}
        else:
            y = np.linspace(low[1] - room, high[1] + room, 61)
            grid = np.array([(a, b) for b in y for a in x])
            points = np.column_stack([grid, evaluate(graph["tape"], grid)[:, 0]])
            kind, look = "surface", {"columns": len(x)}
        points = points[None]
        if graph["body"] >= 0:
            pose = self.poses[graph["body"]]
            points = np.array([p[:3] + turned(p[3:], points[0]) for p in pose])
        return Trace(kind, points, look)

    def _spots(self, states: np.ndarray) -> Spots:
        solution, rows = self.solution, self.rows
        names = solution.names
        shown = [k for k, name in enumerate(names.contacts) if name in self.touches]
        P_N, P_F = (mean_forces(solution.t, P, rows) for P in (solution.P_N, solution.P_F))
        places = np.full((len(rows), len(shown), 3), np.nan)
        forces = np.full((len(rows), len(shown), 3), np.nan)
        for i, k in enumerate(shown):
            points = self.touches[names.contacts[k]]
            places[:, i] = points[:, 0]
            if points.shape[1] > 1:
                force = P_N[:, k : k + 1] * (points[:, 1] - points[:, 0])
                if k in names.friction_contact:
                    columns = names.friction_slices[names.friction_contact.index(k)]
                    for c, column in enumerate(range(columns.start, columns.stop)):
                        if 2 + c < points.shape[1]:
                            force = force + P_F[:, column : column + 1] * (points[:, 2 + c] - points[:, 0])
                forces[:, i] = force
        strength = P_N[:, shown] if shown else np.zeros((len(rows), 0))
        return Spots(
            tuple(names.contacts[k] for k in shown),
            places,
            forces,
            most(states[:, shown], rows),
            np.maximum(strength, 0),
        )


def _kinds(picture: list[Shape]) -> list[Any]:
    return [(type(s), s.anchors.shape, [v if np.isscalar(v) else repr(v) for v in s.look.values()]) for s in picture]

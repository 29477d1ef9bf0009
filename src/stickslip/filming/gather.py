"""What looks and drawings show, brought into one form: poses of bodies, entries of solids, points of tracks in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.errors import OptionError, unknown_name
from stickslip.looks import AXIAL, evaluate
from stickslip.placing import DEPTH, pose_of, quaternions, three
from stickslip.shapes import (
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

NAMES: dict[type[Shape], str] = {Polyline: "line", Polygon: "area", Arrow: "arrow", Circle: "disk", Dot: "dot"}
NAMES |= {GroundLine: "ground", Wall: "plane", Tube: "tube", Coil: "coil"}
KINDS: dict[str, type[Shape]] = {kind.__name__: kind for kind in (*NAMES, Touch, Block, Ball)}
KINDS |= {name: kind for name, kind in FORMER.items() if issubclass(kind, Shape)}  # in files of older versions


class Gathered:
    """Takes in a look and a drawing. `solids` are entries as a look has them, `tracks` have kind, points and look."""

    def __init__(self, solution: Solution, rows: np.ndarray):
        self.solution, self.rows, self.t, self.q = solution, rows, solution.t[rows], solution.q[rows]
        self.bodies: list[str] = []
        self.poses: list[np.ndarray] = []
        self.solids: list[dict[str, Any]] = []
        self.tracks: list[tuple[str, np.ndarray, dict[str, Any]]] = []
        self.touches: dict[str, np.ndarray] = {}
        self.graphs: list[dict[str, Any]] = []
        self.layers: list[int] = []
        self.planar = True
        self.up = np.array([0.0, 0.0, 1.0])
        self.what = f"the look of {solution.provenance.get('system', 'the system')!r}"

    # -- what the parts remember -------------------------------------------------------------------------------------

    def look(self, look: dict[str, Any]) -> None:
        """Poses and points from the record of `stickslip.looks`."""
        parameters = np.broadcast_to(np.array(look["parameters"], float), (len(self.rows), len(look["parameters"])))
        velocities = self.solution.u[self.rows]
        values = evaluate(look["tape"], np.column_stack([self.t, self.q, parameters, velocities]))
        self.up = np.array(look.get("up", self.up), float)
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
        if points.shape[-1] == 3 and kind not in AXIAL and not flat:
            self.planar = False
        if kind == "touch":
            self._touch(look["contact"], three(points))
            return
        if (points == points[:1]).all():
            points = points[:1]
        self.tracks.append((kind, three(points), look))

    def _touch(self, name: str, points: np.ndarray) -> None:
        if name not in self.solution.names.contacts:
            if name in self.solution.names.friction:  # friction without a normal contact
                return
            text = unknown_name("contact", name, self.solution.names.contacts)
            raise OptionError(f"{self.what}: {text}")
        self.touches[name] = points


def _kinds(picture: list[Shape]) -> list[Any]:
    return [(type(s), s.anchors.shape, [v if np.isscalar(v) else repr(v) for v in s.look.values()]) for s in picture]

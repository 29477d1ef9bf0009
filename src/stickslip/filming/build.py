"""From what was gathered to a film: sizes of symbols, then every solid and trace in lengths of the mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.errors import OptionError
from stickslip.filming.film import Film, Solid, Trace
from stickslip.filming.gather import Gathered
from stickslip.looks import evaluate
from stickslip.placing import DEPTH, arc, gear, hull_2, hull_3, prism, sector, sized, slab, turned
from stickslip.shapes import Drawing
from stickslip.touching import Spots, detected, mean_forces, most

SYMBOL = 0.014  # size of joints and other symbols, in sizes of the picture
UNBOUNDED = ("plane", "force", "torque", "surface", "ring")  # do not count for the size of the picture
PLACES = {"axle": [0], "rail": [0, 2], "guide": [0, 2]}  # which points do; the others are directions
SAMPLES = 60  # moments at which the corners of solids are looked at
ROUND = ("ball", "knob", "cavity")
LONGEST = 1.5 * np.pi  # arc of the largest torque


def build(found: Gathered, drawing: Drawing | None, states: np.ndarray, impacts: np.ndarray) -> Film:
    """The film of what was gathered; `states` of the contacts in all rows, and the times of all impacts."""
    low, high = bounds(found)
    size = float(np.linalg.norm(high - low)) or 1.0
    symbol = SYMBOL * size
    solids = [solid_of(found, entry, symbol) for entry in found.solids]
    if found.planar:
        for k, layer in enumerate(found.layers):
            found.poses[k] = found.poses[k] + np.array([0, 0, layer * DEPTH * symbol, 0, 0, 0, 0])
    traces = [trace for kind, points, look in found.tracks for trace in traces_of(kind, points, look, symbol)]
    traces += [surface(found, graph, low, high) for graph in found.graphs]
    return Film(
        rows=found.rows,
        t=found.t,
        planar=found.planar,
        bodies=tuple(found.bodies),
        poses=[pose[:1] if (pose == pose[:1]).all() else pose for pose in found.poses],
        solids=solids,
        traces=traces,
        spots=spots(found, states),
        detected=detected(found.solution, found.rows),
        low=low,
        high=high,
        symbol=symbol,
        impacts=impacts,
        note="" if drawing is None else drawing.note,
        camera=None if drawing is None or found.planar else drawing.camera,
        up=found.up,
    )


def bounds(found: Gathered) -> tuple[np.ndarray, np.ndarray]:
    """Two corners of the box that holds everything that is seen of the motion."""
    lows, highs = [], []
    flat = np.array([1.0, 1.0, 0.0]) if found.planar else np.ones(3)
    some = np.unique(np.linspace(0, len(found.rows) - 1, SAMPLES).round().astype(int))
    for entry in found.solids:
        solid = solid_of(found, entry, 0.0)
        corners, round_ = solid.corners, float(solid.look.get("radius", 0.0)) if solid.kind in ROUND else 0.0
        if entry["body"] >= 0:
            pose = found.poses[entry["body"]][some]
            corners = np.concatenate(
                [pose[:, :3] + turned(pose[:, 3:], np.broadcast_to(c, (len(pose), 3))) for c in corners]
            )
        lows.append((np.nanmin(corners, axis=0) - round_) * flat)
        highs.append((np.nanmax(corners, axis=0) + round_) * flat)
    points = [
        (p[:, PLACES[kind]] if kind in PLACES else p, look)
        for kind, p, look in found.tracks
        if kind not in UNBOUNDED or "bounds" in look
    ]
    points += [(p[:, :1], {}) for p in found.touches.values()]
    points += [(p[:, :1], {}) for kind, p, _ in found.tracks if kind == "plane" and len(p) == 1 and not found.solids]
    points += [(pose[:, None, :3], {}) for pose in found.poses]
    for array, look in points:
        finite = array[np.isfinite(array).all(axis=-1)]
        if len(finite):
            radius = look.get("radius", 0.0)
            radius = float(radius) if isinstance(radius, int | float) else 0.0
            lows.append(finite.min(axis=0) - radius * flat)
            highs.append(finite.max(axis=0) + radius * flat)
    if not lows:
        raise OptionError(f"{found.what} shows nothing: it has no shape with finite points")
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    if not (high > low).any():
        low, high = low - 0.5, high + 0.5
    return low, high


# -- solids --------------------------------------------------------------------------------------------------------------


def solid_of(found: Gathered, entry: dict[str, Any], symbol: float) -> Solid:
    """A solid of an entry; symbols, such as pins, become the shapes that they are drawn as."""
    look = {k: v for k, v in entry.items() if k not in ("kind", "body", "at", "turn")}
    kind, at = entry["kind"], np.array(entry["at"], float)
    look, depth = sized(look, symbol), DEPTH * symbol
    if kind in SYMBOLS:
        kind, at, look = SYMBOLS[kind](found, entry["body"], at, look, symbol)
    elif kind == "hull":
        vertices = np.array(look.pop("vertices"), float)
        kind = "mesh"
        look |= prism(hull_2(vertices[:, :2]), depth or 1e-9) if found.planar else hull_3(vertices)
    elif kind == "facets":
        kind = "mesh"
    elif kind == "outline":
        kind, look = "mesh", look | slab(np.array(look["vertices"], float)[:, :2], depth or 1e-9)
    elif kind == "link":
        look["ends"] = np.array(look["ends"], float)
    elif kind == "knob" and found.planar:
        at = at + np.array([0, 0, 0.2 * depth])
    elif kind == "ball" and found.planar:
        kind, look = "cylinder", look | {"length": depth, "marked": True}
    elif kind == "ellipsoid" and found.planar:
        angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        rim = np.column_stack([np.cos(angles), np.sin(angles)]) * look["semi_axes"][:2]
        kind, look = "mesh", {"tone": look["tone"]} | prism(rim, depth or 1e-9)
    return Solid(kind, entry["body"], at, np.array(entry["turn"], float), look)


Symbol = tuple[str, np.ndarray, dict[str, Any]]


def _deep(found: Gathered, symbol: float) -> tuple[float, float]:
    """The depth of all layers of a planar mechanism, and the height of the middle above the lowest one."""
    deep = (max(found.layers, default=0) + 1) * DEPTH * symbol
    return deep, deep / 2 - DEPTH * symbol / 2


def _pin(found: Gathered, body: int, at: np.ndarray, look: dict[str, Any], symbol: float) -> Symbol:
    deep, middle = _deep(found, symbol)
    layer = found.layers[body] if body >= 0 and found.layers else 0
    at = at + np.array([0, 0, middle - layer * DEPTH * symbol])
    return "cylinder", at, look | {"radius": 0.75 * symbol, "length": deep + 0.8 * symbol}


def _weld(found: Gathered, body: int, at: np.ndarray, look: dict[str, Any], symbol: float) -> Symbol:
    deep, edge = _deep(found, symbol)[0], 1.2 * symbol
    return "box", at, look | {"size": [edge, edge, deep if found.planar else edge]}


def _support(found: Gathered, body: int, at: np.ndarray, look: dict[str, Any], symbol: float) -> Symbol:
    deep, middle = _deep(found, symbol)
    corners = symbol * np.array([(0.0, 0.9), (-2.4, -2.6), (2.4, -2.6)])
    return "mesh", at + np.array([0, 0, middle]), look | prism(corners, deep)


def _gear(found: Gathered, body: int, at: np.ndarray, look: dict[str, Any], symbol: float) -> Symbol:
    """In the plane it lies behind its body."""
    depth = DEPTH * symbol
    at = at - np.array([0, 0, 0.8 * depth]) if found.planar else at
    return "mesh", at, look | gear(look.pop("radius") or 1e-9, 1.7 * symbol or 1.0, 0.5 * depth or 1e-9)


def _range(found: Gathered, body: int, at: np.ndarray, look: dict[str, Any], symbol: float) -> Symbol:
    """Where an angle may be: a piece of a ring; about z, from x."""
    outer, depth = look.pop("radius"), 0.3 * DEPTH * symbol
    lower, upper = look.pop("lower"), look.pop("upper")
    at = at - np.array([0, 0, DEPTH * symbol]) if found.planar else at
    return "mesh", at, look | sector(lower, min(upper, lower + 2 * np.pi), 0.8 * outer, outer, depth or 1e-9)


def _stop(found: Gathered, body: int, at: np.ndarray, look: dict[str, Any], symbol: float) -> Symbol:
    """A plate across an axis, which is x in the plane and z in space."""
    if not found.planar:
        return "cylinder", at, look | {"radius": 1.8 * symbol, "length": 0.5 * symbol}
    return "box", at, look | {"size": [0.6 * symbol, 4.0 * symbol, _deep(found, symbol)[0]]}


SYMBOLS = {"pin": _pin, "weld": _weld, "support": _support, "gear": _gear, "range": _range, "stop": _stop}


# -- traces --------------------------------------------------------------------------------------------------------------


def traces_of(kind: str, points: np.ndarray, look: dict[str, Any], symbol: float) -> list[Trace]:
    """Traces of a track; those of symbols are made of lines, tubes and arrows."""
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
    if kind == "belt":
        return [Trace("line", points, look)]
    if kind == "torque":
        return _torque(points[:, 0], points[:, 1] - points[:, 0], look, symbol)
    return [Trace(kind, points, look)]


def _torque(at: np.ndarray, torque: np.ndarray, look: dict[str, Any], symbol: float) -> list[Trace]:
    """An arc about the torque, as long as it is strong, with the head of an arrow at its end."""
    strength = np.linalg.norm(torque, axis=-1)
    axis = np.where(strength[:, None] > 0, torque / np.where(strength > 0, strength, 1.0)[:, None], [0.0, 0.0, 1.0])
    turn = LONGEST * strength / (strength.max() or 1.0)
    line = arc(at, axis, 4 * symbol, turn)
    way = line[:, -1] - line[:, -2]
    size = np.linalg.norm(way, axis=-1, keepdims=True)
    look = {**look, "front": True}  # a body must not hide it
    head = way / np.where(size > 0, size, 1.0) * np.minimum(1.6 * symbol, 4 * symbol * turn[:, None])
    return [
        Trace("line", line, {"width": 3.0} | look),
        Trace("arrow", np.stack([line[:, -1], line[:, -1] + head], axis=1), look),
    ]


def surface(found: Gathered, graph: dict[str, Any], low: np.ndarray, high: np.ndarray) -> Trace:
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
        pose = found.poses[graph["body"]]
        points = np.array([p[:3] + turned(p[3:], points[0]) for p in pose])
    return Trace(kind, points, look)


# -- contacts ------------------------------------------------------------------------------------------------------------


def spots(found: Gathered, states: np.ndarray) -> Spots:
    """The contacts whose places are shown, with mean forces on their first bodies."""
    solution, rows = found.solution, found.rows
    names = solution.names
    shown = [k for k, name in enumerate(names.contacts) if name in found.touches]
    P_N, P_F = (mean_forces(solution.t, P, rows) for P in (solution.P_N, solution.P_F))
    places = np.full((len(rows), len(shown), 3), np.nan)
    forces = np.full((len(rows), len(shown), 3), np.nan)
    for i, k in enumerate(shown):
        points = found.touches[names.contacts[k]]
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
        tuple(names.contacts[k] for k in shown), places, forces, most(states[:, shown], rows), np.maximum(strength, 0)
    )

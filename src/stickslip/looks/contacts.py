"""Shapes that touch: skins of bodies, obstacles, and where contacts are."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from stickslip.looks.sketch import Sketch, symbols
from stickslip.looks.tape import tape
from stickslip.math import array, column, is_symbolic, norm
from stickslip.model.clearance import ClearancePrismatic, ClearanceRevolute
from stickslip.model.contacts import Contact, Rolling
from stickslip.model.frames import Frame, Ground, Point, initial_turn, triad
from stickslip.model.geometry import Box, Capsule, Cavity, Cylinder, Disk, Ellipsoid, Graph, Line, Plane, Sphere
from stickslip.model.laws import OrthotropicCoulomb
from stickslip.model.outlines import ClosedCurve, SimplePolygon
from stickslip.model.surfaces import HeightField, TriangleMesh
from stickslip.model.system import System

OBSTACLES = (Plane, Line, Graph, Cavity)


def shaped(system: System) -> dict[int, list[Any]]:
    """By the id of a body: the shapes with which it takes part in contacts, and those of its skin."""
    out: dict[int, list[Any]] = {}
    for part in system.parts:
        for shape in getattr(part, "skins", ()):  # of imported links
            if not isinstance(shape, OBSTACLES) and not isinstance(shape.body, Ground):
                out.setdefault(id(shape.body), []).append(shape)
        pair = (part.geometry_1, part.geometry_2) if isinstance(part, Contact | Rolling) else ()
        for shape in pair or getattr(part, "shapes", ()):  # detection has a list of them
            if hasattr(shape, "body") and not isinstance(shape, OBSTACLES) and not isinstance(shape.body, Ground):
                out.setdefault(id(shape.body), []).append(shape)
    return out


def only_points(shapes: list[Any]) -> bool:
    """Whether nothing but points of the body can touch."""
    return all(isinstance(shape, Point) for shape in shapes)


def skins(body: Any, shapes: list[Any], sketch: Sketch) -> None:
    """What the body is made of; many points are the corners of a solid."""
    corners: dict[tuple[float, ...], None] = {}
    for shape in shapes:
        if isinstance(shape, Point):
            corners.setdefault(tuple(_known(sketch, shape.coordinates).round(12).tolist()))
        else:
            skin(shape, sketch)
    if len(corners) == 2 == body.dimension and hasattr(body, "inertia"):
        (a, b), (c, d) = corners
        if abs(a * d - b * c) > 1e-9 * max(abs(x) for x in (a, b, c, d)) ** 2:
            # Two feet of a planar body: the block whose other corners lie opposite to them, about the centre of mass.
            corners |= dict.fromkeys([(-a, -b), (-c, -d)])
    if len(corners) > body.dimension:
        sketch.solid("hull", body, vertices=[[*c, *[0.0] * (3 - len(c))] for c in corners])
        return
    for corner in corners:
        if any(corner) and body.dimension > 1 and hasattr(body, "inertia"):
            sketch.solid("link", body, ends=[[0.0] * 3, [*corner, *[0.0] * (3 - len(corner))]], radius=symbols(0.55))
        sketch.solid("knob", body, at=corner, radius=symbols(0.7 if any(corner) else 0.9))


def _known(sketch: Sketch, values: Any) -> np.ndarray:
    values = array(values)
    return np.atleast_1d(np.asarray(sketch.system.initial_value(values) if is_symbolic(values) else values, float))


def skin(shape: Any, sketch: Sketch) -> None:
    """One shape, where it is fixed to its body."""
    if isinstance(shape, Sphere):
        sketch.solid("ball", shape.body, at=shape.center.coordinates, radius=sketch.number(shape.radius))
    elif isinstance(shape, Capsule):
        ends = [sketch.place(p.coordinates) for p in (shape.end_1, shape.end_2)]
        sketch.solid("link", shape.body, ends=ends, radius=sketch.number(shape.radius))
    elif isinstance(shape, Box):
        size = [sketch.number(x) for x in shape.size]
        sketch.solid("box", shape.body, **_placed(shape.at), size=[*size, *[symbols(1.6)] * (3 - len(size))])
    elif isinstance(shape, Ellipsoid):
        axes = [sketch.number(x) for x in shape.semi_axes]
        sketch.solid("ellipsoid", shape.body, **_placed(shape.at), semi_axes=[*axes, *[symbols(0.8)] * (3 - len(axes))])
    elif isinstance(shape, Disk | Cylinder):
        length = sketch.number(shape.length) if isinstance(shape, Cylinder) else symbols(0.35)
        look = {"radius": sketch.number(shape.radius), "length": length, "marked": True}
        sketch.solid(
            "cylinder", shape.body, at=shape.center.coordinates, turn=toward(np.asarray(shape.axis, float)), **look
        )
    elif isinstance(shape, TriangleMesh | HeightField):
        look = {"vertices": shape.vertices.tolist(), "faces": shape.triangles.tolist()}
        sketch.solid("facets", shape.body, **_placed(shape.at), **look)
    elif isinstance(shape, SimplePolygon | ClosedCurve):
        sketch.solid("outline", shape.body, **_placed(shape.at), vertices=[[*x, 0.0] for x in shape.rim.tolist()])
    elif hasattr(shape, "vertices") and hasattr(shape, "at"):  # convex polygons and polyhedra
        vertices = [[*np.asarray(v, float).tolist(), *[0.0] * (3 - len(v))] for v in shape.vertices]
        sketch.solid("hull", shape.body, **_placed(shape.at), vertices=vertices)


def _placed(at: Any) -> dict[str, Any]:
    """Where the frame of a box or an ellipsoid is."""
    if not isinstance(at, Frame):
        return {}
    R = np.eye(3)
    R[: len(at.origin), : len(at.origin)] = at.rotation
    return {"at": at.origin, "turn": quaternion_of(R)}


def quaternion_of(R: np.ndarray) -> tuple[float, float, float, float]:
    """The unit quaternion of a rotation matrix, scalar part first."""
    from scipy.spatial.transform import Rotation  # here, because SciPy takes longer to import than all of the model

    x, y, z, w = Rotation.from_matrix(np.asarray(R, float)).as_quat().tolist()
    return w, x, y, z


def toward(axis: np.ndarray) -> tuple[float, ...]:
    """The quaternion that turns z to an axis."""
    axis = axis / np.linalg.norm(axis)
    x, y = triad(axis)
    return quaternion_of(np.column_stack([x, y, axis]))


def obstacle(shape: Any, sketch: Sketch) -> None:
    """A half-space or a curved ground."""
    if isinstance(shape, Graph):
        _graph(shape, sketch)
    elif isinstance(shape, Plane):
        local = array(shape.normal)
        at = shape.body.position(array(shape.point))
        normal = shape.body.direction(array(local / norm(local)))
        key = f"plane {sketch.body(shape.body)} {shape.point} {shape.normal}"
        if key not in sketch._drawn:
            sketch._drawn.add(key)
            sketch.track("plane", [at, at + normal])
    elif isinstance(shape, Cavity):
        sketch.formed.add(id(shape.body))
        at = shape.body.position(array(shape.center.coordinates))
        if len(at) == 2:
            at = array([*at, 0.0])
            sketch.track("ring", [at, at + np.eye(3)[2]], radius=sketch.number(shape.radius), tone="ink", bounds=True)
        else:
            sketch.solid(
                "cavity", shape.body, at=shape.center.coordinates, radius=sketch.number(shape.radius), tone="faint"
            )
    elif isinstance(shape.body, Ground):
        skin(shape, sketch)


def _graph(shape: Graph, sketch: Sketch) -> None:
    """Its height as instructions: how far it is seen follows from the film."""
    key = f"graph {id(shape.height)} {sketch.body(shape.body)}"
    if key in sketch._drawn:
        return
    sketch._drawn.add(key)
    n = 2 if sketch.planar else 3
    x = ca.SX.sym("x", n - 1)
    height = ca.SX(column(shape.height(*[x[k] for k in range(n - 1)])))
    used = [s for s in ca.symvar(height) if s.__hash__() not in {x[k].__hash__() for k in range(n - 1)}]
    if used:  # parameters in it have their first values
        height = ca.substitute(
            height, ca.vertcat(*used), ca.DM(np.atleast_1d(sketch.system.initial_value(ca.vertcat(*used))))
        )
    entry = {"kind": "graph", "body": sketch.body(shape.body), "dimension": n, "tape": tape([x], height)}
    sketch.tracks.append(entry)


def contact(part: Contact, sketch: Sketch) -> None:
    """Obstacles, and every place where the shapes can touch."""
    _pair(part, sketch)
    spots(part, sketch)


def clearance_revolute(joint: ClearanceRevolute, sketch: Sketch) -> None:
    """The journal, and the bore around it."""
    sketch.hold(joint.point_1, joint.point_2)
    sketch.join(*joint.bodies)
    wide = sketch.number(joint.radius + joint.clearance)
    radius = sketch.number(joint.radius)
    center = joint.point_1.body.position(array(joint.point_1.coordinates))
    axis = np.array([0.0, 0.0, 1.0]) if joint.axis is None else joint.bodies[0].direction(joint.axis)
    center = array([*center, *[0.0] * (3 - len(center))])
    sketch.track("ring", [center, center + axis], radius=wide, tone="ink")
    turn = toward(np.array([0.0, 0.0, 1.0]) if joint.axis is None else _second_axis(joint, sketch))
    length = symbols(2.2) if joint.length is None else sketch.number(joint.length)
    at = joint.point_2.coordinates
    sketch.solid("cylinder", joint.bodies[1], at=at, turn=turn, tone="ink", radius=radius, length=length, marked=True)
    spots(joint, sketch)


def _second_axis(joint: ClearanceRevolute, sketch: Sketch) -> np.ndarray:
    if joint.axis_2 is not None:
        return np.asarray(joint.axis_2, float)
    return np.asarray(initial_turn(sketch.system, *joint.bodies) @ joint.axis, float)


def clearance_prismatic(joint: ClearancePrismatic, sketch: Sketch) -> None:
    """The slider as a block, and the walls of the guide as long as it travels."""
    sketch.hold(joint.point_1, joint.point_2)
    sketch.join(*joint.bodies)
    outer, inner = joint.bodies
    sketch.formed.add(id(inner))
    at, slides = (p.body.position(array(p.coordinates)) for p in (joint.point_1, joint.point_2))
    axis = outer.direction(joint.axis)
    size = [sketch.number(joint.length), sketch.number(joint.height)]
    if joint.dimension == 2:
        half = joint.height / 2 + joint.clearance
        normal = outer.direction(np.array([-joint.axis[1], joint.axis[0]]))
        for side in (1.0, -1.0):
            sketch.track("guide", [at + side * half * normal, at + side * half * normal + axis, slides], tone="faint")
        angle = float(np.arctan2(joint.axis[1], joint.axis[0])) - float(_known(sketch, [joint.turned])[0])
        turn = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))
        sketch.solid("box", inner, at=joint.point_2.coordinates, turn=turn, size=[*size, symbols(1.6)], tone="third")
    else:
        own = initial_turn(sketch.system, *joint.bodies)
        x, y = (own @ joint.axis, own @ joint.side) if joint.axes_2 is None else joint.axes_2
        turn = quaternion_of(np.column_stack([x, y, np.cross(x, y)]))
        size.insert(1, sketch.number(joint.width))
        sketch.track("rail", [at, at + axis, slides], radius=symbols(0.35), tone="faint")
        sketch.solid("box", inner, at=joint.point_2.coordinates, turn=turn, size=size, tone="third")
    spots(joint, sketch)


def spots(part: Any, sketch: Sketch) -> None:
    """Every place where shapes can touch, with the directions of its forces."""
    across = part.law.friction_across / part.law.friction if isinstance(part.law, OrthotropicCoulomb) else 1.0
    for spot in part.spots:
        rows = [spot.place, spot.place + spot.normal]
        for k, tangent in enumerate(spot.tangents):
            rows.append(array(spot.place + (across if k == 1 else 1.0) * tangent))
        sketch.track("touch", rows, contact=spot.name)


def detection(part: Any, sketch: Sketch) -> None:
    """Obstacles of a part that detects contacts between its `shapes`; bodies show their own."""
    for shape in part.shapes:
        if isinstance(shape, Plane) and shape.dimension == 3:
            sketch.planar = False
        sketch.body(shape.body)
    for shape in part.shapes:
        if isinstance(shape, OBSTACLES) or isinstance(shape.body, Ground):
            obstacle(shape, sketch)


def rolling(part: Rolling, sketch: Sketch) -> None:
    """The two shapes."""
    _pair(part, sketch)


def _pair(part: Any, sketch: Sketch) -> None:
    for shape in (part.geometry_1, part.geometry_2):
        if not isinstance(shape, Point | Graph) and shape.body is not None:
            sketch.body(shape.body)
        if isinstance(shape, Plane) and shape.dimension == 3:
            sketch.planar = False
    for shape in (part.geometry_1, part.geometry_2):
        if isinstance(shape, OBSTACLES) or (isinstance(shape.body, Ground) and not isinstance(shape, Point)):
            obstacle(shape, sketch)

"""Bodies and joints, and the picture of a whole system."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from stickslip.looks import contacts, drives, flexible
from stickslip.looks.drives import place
from stickslip.looks.sketch import Sketch, symbols
from stickslip.math import array, is_symbolic, norm
from stickslip.model import drives as along
from stickslip.model import forces, joints
from stickslip.model.bodies import Body, PlanarBody, PointMass, RigidBody
from stickslip.model.clearance import ClearancePrismatic, ClearanceRevolute
from stickslip.model.collisions import Collisions
from stickslip.model.contacts import Contact, Rolling
from stickslip.model.flexible.chain import Chain, Element, Node
from stickslip.model.flexible.spatial import RotorDisk
from stickslip.model.frames import Ground, Point
from stickslip.model.geometry import Sphere
from stickslip.model.system import System

FLATTEST = 0.06  # edges of a box of inertia are at least this share of the longest one


def look_of(system: System) -> Sketch:
    """What the parts of a system and `system.show` make of it; without any of them an empty sketch."""
    sketch = Sketch(system)
    for part in system.parts:
        own = getattr(part, "look", None)
        if callable(own):
            own(sketch)
        else:
            show(part, sketch)
    shaped = contacts.shaped(system)
    for part in system.parts:
        if isinstance(part, Body) and not isinstance(part, Node | Element):
            _body(part, sketch, shaped.get(id(part), []))
    for shape in getattr(system, "shown", []):
        sketch.shape(shape)
    sketch.close()
    return sketch


@singledispatch
def show(part: Any, sketch: Sketch) -> None:
    """Add what a part looks like to the sketch; a part that has no look of its own adds nothing."""
    if getattr(part, "shapes", None) and not isinstance(part, Body):
        contacts.detection(part, sketch)


show.register(Contact)(contacts.contact)
show.register(Rolling)(contacts.rolling)
show.register(ClearanceRevolute)(contacts.clearance_revolute)
show.register(ClearancePrismatic)(contacts.clearance_prismatic)
show.register(Chain)(flexible.chain)
show.register(RotorDisk)(flexible.rotor_disk)
show.register(Collisions)(contacts.detection)
show.register(forces.Gravity)(drives.gravity)
show.register(forces.SpringDamper)(drives.spring)
show.register(forces.Force)(drives.force)
show.register(forces.Torque)(drives.torque)
show.register(forces.Motor)(drives.drive)
show.register(forces.Controller)(drives.drive)
show.register(along.Motion)(drives.drive)
show.register(along.Gear)(drives.gear)
show.register(along.Limits)(drives.limits)
show.register(along.Friction)(drives.friction)


# -- bodies --------------------------------------------------------------------------------------------------------------


def _body(body: Body, sketch: Sketch, shaped: list[Any]) -> None:
    """Its shapes; without any, links to the points where joints hold it and a box of its inertia.

    Nothing would lead from balls alone to a joint outside of them, as at the end of a pendulum: links do there, too.
    """
    sketch.body(body)
    if shaped:
        contacts.skins(body, shaped, sketch)
    points = _places(sketch.attached.get(id(body), []))
    if isinstance(body, PointMass):
        if not shaped:
            sketch.solid("knob", body, radius=symbols(2.0))
        return
    spread = max((float(np.linalg.norm(p)) for p in points), default=0.0)
    balls = _balls(shaped)
    beyond = bool(balls) and any(all(np.linalg.norm(p - c) > r for c, r in balls) for p in points)
    if not shaped or contacts.only_points(shaped) or beyond:
        for point in [*points, *[c for c, _ in balls]]:
            if np.linalg.norm(point) > 0:
                sketch.solid("link", body, ends=[[0.0, 0.0, 0.0], _three(point)], radius=symbols(0.55))
    if not shaped and id(body) not in sketch.formed:
        if isinstance(body, PlanarBody):
            _planar_inertia(body, sketch, points, spread)
        elif isinstance(body, RigidBody):
            _inertia(body, sketch)


def _balls(shaped: list[Any]) -> list[tuple[np.ndarray, float]]:
    """Centres and radii of the shapes of a body, if all of them are balls."""
    if not all(isinstance(shape, Sphere) for shape in shaped):
        return []
    centers = [_numbers(shape.center) for shape in shaped]
    radii = [float(_value(shape.body, shape.radius)) for shape in shaped]
    return [(c, r) for c, r in zip(centers, radii, strict=True) if c is not None]


def _places(points: list[Point]) -> list[np.ndarray]:
    """The local places of points whose coordinates are known, each once."""
    found: dict[tuple[float, ...], np.ndarray] = {}
    for point in points:
        local = _numbers(point)
        if local is not None:
            found.setdefault(tuple(local.round(12).tolist()), local)
    return list(found.values())


def _numbers(point: Point) -> np.ndarray | None:
    values = array(point.coordinates)
    if not is_symbolic(values):
        return np.asarray(values, dtype=float)
    system = getattr(point.body, "_owner", None)
    return None if system is None else np.atleast_1d(system.initial_value(values))


def _three(point: np.ndarray) -> list[float]:
    return [*point.tolist(), *[0.0] * (3 - len(point))]


def _planar_inertia(body: PlanarBody, sketch: Sketch, points: list[np.ndarray], spread: float) -> None:
    """A square with the body's inertia, J = m a^2/6; smaller where links show the body already."""
    edge = (6 * body.inertia / body.mass) ** 0.5
    value = float(_value(body, edge))
    if len(points) > 1 and spread > 0.4 * value:
        sketch.solid("knob", body, radius=symbols(0.8))  # the centre of mass of a link
        return
    shown = edge if spread == 0.0 or value < 1.2 * spread else edge * (1.2 * spread / value)
    sketch.solid("box", body, size=[sketch.number(shown), sketch.number(shown), symbols(1.6)])


def _inertia(body: RigidBody, sketch: Sketch) -> None:
    """A box with the body's mass and principal moments: a_x^2 = 6 (I_y + I_z - I_x)/m."""
    Theta, m = _value(body, body.inertia), float(_value(body, body.mass))
    moments, axes = np.linalg.eigh(Theta)
    if np.allclose(Theta, np.diag(np.diag(Theta))):
        moments, axes = np.diag(Theta), np.eye(3)
    elif np.linalg.det(axes) < 0:
        axes = axes * [1, 1, -1]
    square = np.maximum(6 * (moments.sum() - 2 * moments) / m, 0.0)
    edges = np.sqrt(square)
    edges = np.maximum(edges, FLATTEST * edges.max())
    sketch.solid("box", body, turn=contacts.quaternion_of(axes), size=edges.tolist())


def _value(body: Body, expression: Any) -> Any:
    system: Any = body._owner  # type: ignore[attr-defined]
    return np.asarray(system.initial_value(expression), dtype=float)


# -- joints --------------------------------------------------------------------------------------------------------------


def _axis(body: Any, local: Any) -> np.ndarray:
    return body.direction(array(local))


def _joint(joint: joints.Joint, sketch: Sketch) -> np.ndarray:
    sketch.hold(joint.point_1, joint.point_2)
    sketch.join(*joint.bodies)
    for body in joint.bodies:
        sketch.body(body)
    return place(joint.point_1)


def _axle(sketch: Sketch, at: np.ndarray, axis: np.ndarray, radius: float, length: float, tone: str = "ink") -> None:
    sketch.track("axle", [at, at + axis], radius=symbols(radius), length=symbols(length), tone=tone)


@show.register
def _(joint: joints.Revolute, sketch: Sketch) -> None:
    at = _joint(joint, sketch)
    if joint.axis is not None:
        _axle(sketch, at, _axis(joint.bodies[0], joint.axis), 0.65, 4.0)
        return
    for body, point in zip(joint.bodies, (joint.point_1, joint.point_2), strict=True):
        if isinstance(body, Ground):
            sketch.solid("support", body, at=point.coordinates, tone="faint")
    first = joint.point_1 if not isinstance(joint.point_1.body, Ground) else joint.point_2
    sketch.solid("pin", first.body, at=first.coordinates, tone="ink")


@show.register
def _(joint: joints.Spherical, sketch: Sketch) -> None:
    _joint(joint, sketch)
    sketch.solid("knob", joint.bodies[1], at=joint.point_2.coordinates, radius=symbols(1.0), tone="ink")


@show.register
def _(joint: joints.Universal, sketch: Sketch) -> None:
    at = _joint(joint, sketch)
    for body, axis in zip(joint.bodies, joint.axes, strict=True):
        _axle(sketch, at, _axis(body, axis), 0.45, 4.0)


@show.register
def _(joint: joints.Prismatic, sketch: Sketch) -> None:
    at = _joint(joint, sketch)
    axis = array(joint.axis)
    axis = _axis(joint.bodies[0], array(axis / norm(axis)))
    sketch.track("rail", [at, at + axis, place(joint.point_2)], radius=symbols(0.35), tone="faint")


@show.register
def _(joint: joints.Cylindrical, sketch: Sketch) -> None:
    at = _joint(joint, sketch)
    axis, slides = _axis(joint.bodies[0], joint.axis), place(joint.point_2)
    sketch.track("rail", [at, at + axis, slides], radius=symbols(0.35), tone="faint")
    _axle(sketch, slides, axis, 0.8, 3.0)


@show.register
def _(joint: joints.PlanarJoint, sketch: Sketch) -> None:
    _joint(joint, sketch)
    _axle(sketch, place(joint.point_2), _axis(joint.bodies[0], joint.normal), 2.0, 0.3, "faint")


@show.register
def _(joint: joints.Rod, sketch: Sketch) -> None:
    at = _joint(joint, sketch)
    sketch.track("tube", [at, place(joint.point_2)], radius=symbols(0.3), tone="ink")


@show.register
def _(joint: joints.Fixed, sketch: Sketch) -> None:
    _joint(joint, sketch)
    sketch.solid("weld", joint.bodies[1], at=joint.point_2.coordinates, tone="ink")

"""Forces, torques and what acts along measures: springs, motors, gears, limits, friction.

A measure that is an expression has no place in the picture, so what acts along it shows nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.looks.contacts import quaternion_of, toward
from stickslip.looks.sketch import Sketch, symbols
from stickslip.math import array, cross, norm
from stickslip.model.bodies import PlanarBody
from stickslip.model.declaration import TIME
from stickslip.model.drives import Friction, Gear, Limits
from stickslip.model.forces import Force, Gravity, SpringDamper, Torque
from stickslip.model.frames import Carrier, Ground, Point, initial_turn, triad
from stickslip.model.joints import Joint
from stickslip.model.measures import Angle, Displacement, Distance, Measure, evaluated

Z = np.array([0.0, 0.0, 1.0])
OPEN = 0.6  # rad that are shown beyond a limit without a partner
BELT = 0.35  # radius of the larger pulley, in distances of the axes


def place(point: Point) -> np.ndarray:
    """Where a point is, as an expression."""
    return point.body.position(array(point.coordinates))


# -- where a measure is --------------------------------------------------------------------------------------------------


def ends(measure: Measure, sketch: Sketch) -> list[np.ndarray] | None:
    """The two points that a length is measured between."""
    if not isinstance(measure, Distance | Displacement):
        return None
    sketch.hold(measure.point_1, measure.point_2)
    return [place(measure.point_1), place(measure.point_2)]


def joint_of(measure: Measure, sketch: Sketch) -> Joint | None:
    """The joint whose angle is meant."""
    if not isinstance(measure, Angle):
        return None
    wanted = {id(measure.body_1), id(measure.body_2)}
    for joint in sketch.system.parts:
        if isinstance(joint, Joint) and {id(b) for b in joint.bodies} == wanted:
            return joint
    return None


def _point_on(joint: Joint, body: Carrier) -> Point:
    return joint.point_1 if joint.bodies[0] is body else joint.point_2


def _axis(measure: Angle) -> np.ndarray:
    """The axis of an angle in space, as an expression; in the plane z."""
    return Z if measure.axis is None else measure.body_1.direction(_unit(measure.axis))


def _unit(axis: Any) -> np.ndarray:
    axis = np.asarray(axis, float)
    return axis / np.linalg.norm(axis)


def _spatial(point: np.ndarray) -> np.ndarray:
    return array([*point, *[0.0] * (3 - len(point))])


def around(measure: Measure, sketch: Sketch, tone: str, radius: float) -> None:
    """A ring around the joint whose angle is meant."""
    joint = joint_of(measure, sketch)
    if joint is not None and isinstance(measure, Angle):
        at = _spatial(place(joint.point_1))
        sketch.track("ring", [at, at + _axis(measure)], radius=symbols(radius), tone=tone)


# -- forces --------------------------------------------------------------------------------------------------------------


def gravity(part: Gravity, sketch: Sketch) -> None:
    """Which way is up."""
    a = np.atleast_1d(np.asarray(sketch.system.initial_value(part.acceleration), float))
    if len(a) == 3 and np.linalg.norm(a) > 0:
        sketch.up = (-a / np.linalg.norm(a)).tolist()


def spring(part: SpringDamper, sketch: Sketch) -> None:
    """A coil, or a ring about a joint."""
    found = ends(part.measure, sketch)
    if found is not None:
        sketch.track("coil", found, radius=symbols(1.1), tone="ink")
    around(part.measure, sketch, "ink", 1.5)


def drive(part: Any, sketch: Sketch) -> None:
    """A cylinder with its piston, or a ring about a joint."""
    found = ends(part.measure, sketch)
    if found is not None:
        a, b = found
        sketch.track("tube", [a, array(0.6 * a + 0.4 * b)], radius=symbols(0.8), tone="other")
        sketch.track("tube", [array(0.6 * a + 0.4 * b), b], radius=symbols(0.4), tone="other")
    around(part.measure, sketch, "other", 1.7)


def force(part: Force, sketch: Sketch) -> None:
    """An arrow."""
    f = array(evaluated("force", part.force, t=TIME))
    f = part.point.body.direction(f) if part.local else f
    at = place(part.point)
    sketch.track("force", [at, at + f], tone="other")


def torque(part: Torque, sketch: Sketch) -> None:
    """An arc about the centre of its body, and the opposite one about that of its reaction."""
    T = np.atleast_1d(array(evaluated("torque", part.torque, t=TIME)))
    if len(T) == 1:
        T = array([0.0, 0.0, T[0]])
    elif part.local:
        T = part.body.direction(T)
    for body, sense in ((part.body, 1.0), (part.reaction, -1.0)):
        if body is not None:
            at = _spatial(body.position(np.zeros(body.dimension)))
            sketch.track("torque", [at, array(at + sense * T)], tone="other")


# -- couplings, limits, friction -----------------------------------------------------------------------------------------


def gear(part: Gear, sketch: Sketch) -> None:
    """Wheels that mesh, pulleys with a belt where both turn the same way, or a wheel on a rack."""
    measures = part.measure_1, part.measure_2
    ratio = float(np.asarray(sketch.system.initial_value(part.ratio), float))
    joints = [joint_of(m, sketch) for m in measures]
    if all(joints) and ratio != 0:
        _pair(sketch, measures, joints, ratio)
        return
    rack = [isinstance(m, Displacement) for m in measures]
    for k, joint in enumerate(joints):
        if joint is not None:
            r = abs(ratio) ** (1 if k == 1 else -1) if rack[1 - k] and ratio != 0 else 0.0
            _wheel(sketch, measures[k], joint, r)
    if not any(joints):
        found = [ends(m, sketch) for m in measures]
        if found[0] is not None and found[1] is not None:
            sketch.track("line", [found[0][1], found[1][1]], tone="faint", width=2.0)


def _wheel(sketch: Sketch, measure: Any, joint: Joint, radius: float) -> None:
    """A toothed wheel on the body that turns; without a pitch radius it has the size of a symbol."""
    body = measure.body_2 if not isinstance(measure.body_2, Ground) else measure.body_1
    axis = Z
    if measure.axis is not None:
        axis = _unit(measure.axis)
        axis = axis if body is measure.body_1 else initial_turn(sketch.system, measure.body_1, body) @ axis
    size: Any = radius if radius > 0 else symbols(2.6)
    if radius == 0 and isinstance(body, PlanarBody):  # wheels on one axis: a disk with the inertia of its body
        size = float(np.asarray(sketch.system.initial_value((2 * body.inertia / body.mass) ** 0.5), float))
    sketch.formed.add(id(body))
    at = _point_on(joint, body).coordinates
    sketch.solid("gear", body, at=at, turn=toward(axis), radius=size)


def _pair(sketch: Sketch, measures: Any, joints: Any, ratio: float) -> None:
    """x_1 + ratio x_2 is constant, so the speeds of the rims agree where r_2 = |ratio| r_1."""
    at = [_spatial(place(joint.point_1)) for joint in joints]
    axis = _axis(measures[0])
    start = [np.asarray(sketch.system.initial_value(x), float) for x in (*at, axis)]
    way = start[1] - start[0]
    apart = float(np.linalg.norm(way - (way @ start[2]) * start[2]))
    first = apart / (1 + ratio) if ratio > 0 else BELT * apart / max(1.0, -ratio)
    for measure, joint, radius in zip(measures, joints, (first, abs(ratio) * first), strict=True):
        _wheel(sketch, measure, joint, radius)
    if ratio < 0 and apart > 0:
        side = cross(axis, at[1] - at[0])
        side = array(side / norm(side))
        for sense in (1.0, -1.0):
            rims = [array(at[0] + sense * first * side), array(at[1] - sense * ratio * first * side)]
            sketch.track("belt", rims, tone="ink", width=2.5)


def limits(part: Limits, sketch: Sketch) -> None:
    """A rope for the longest distance, plates for the ends of a displacement, a piece of a ring for a range of angles."""
    measure, joint = part.measure, joint_of(part.measure, sketch)
    if isinstance(measure, Distance):
        a, b = ends(measure, sketch) or []
        if part.upper is not None:
            sketch.track("tube", [a, b], radius=symbols(0.18), tone="third")
        if part.lower is not None:
            tip = array(a + part.lower * (b - a) / norm(b - a))
            sketch.track("tube", [a, tip], radius=symbols(0.4), tone="faint")
    elif isinstance(measure, Displacement):
        axis = _unit(measure.axis)
        planar = len(axis) == 2
        half = np.arctan2(axis[1], axis[0]) / 2
        turn = (np.cos(half), 0.0, 0.0, np.sin(half)) if planar else toward(axis)
        for value in (part.lower, part.upper):
            if value is not None:
                at = array(array(measure.point_1.coordinates) + value * axis)
                sketch.solid("stop", measure.point_1.body, at=at, turn=turn, tone="third")
    elif joint is not None and isinstance(measure, Angle):
        _angles(part, measure, joint, sketch)


def _angles(part: Limits, measure: Angle, joint: Joint, sketch: Sketch) -> None:
    """The angle zero is where the second body, seen from the joint, is when it is not turned against the first."""
    first, second = measure.body_1, measure.body_2
    to_center = -np.asarray(sketch.system.initial_value(_point_on(joint, second).coordinates), float)
    if measure.axis is None:
        zero, axis = _spatial(to_center), Z
    else:
        axis = _unit(measure.axis)
        zero = initial_turn(sketch.system, first, second).T @ to_center
        zero = zero - (zero @ axis) * axis
    size = float(np.linalg.norm(np.asarray(zero, float)))
    x = np.asarray(zero, float) / size if size > 1e-12 else np.asarray(triad(axis)[0], float)
    turn = quaternion_of(np.column_stack([x, np.cross(axis, x), axis]))
    given: Any = part
    lower = given.upper - OPEN if part.lower is None else part.lower
    upper = given.lower + OPEN if part.upper is None else part.upper
    look = {"lower": sketch.number(lower), "upper": sketch.number(upper), "radius": symbols(5.0), "tone": "third"}
    sketch.solid("range", first, at=_point_on(joint, first).coordinates, turn=turn, **look)


def friction(part: Friction, sketch: Sketch) -> None:
    """A ring about a joint, or a pad on what slides."""
    around(part.measure, sketch, "third", 2.0)
    if isinstance(part.measure, Distance | Displacement):
        point = part.measure.point_2
        sketch.hold(part.measure.point_1, point)
        sketch.solid("weld", point.body, at=point.coordinates, tone="third")

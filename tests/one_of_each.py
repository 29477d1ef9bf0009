"""One or more examples of every part that the package exports, to test what all of them must have: a look, a `repr`.

An example prepares a system, bodies and joints included, and returns the part, which is not yet added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stickslip as ss
from stickslip.model.laws import Law

GROUND = ss.Line([0, 0], [0, 1])
HILLS = ss.HeightField(ss.ground, [[0.0, 0.1, 0.0], [0.1, 0.3, 0.1], [0.0, 0.1, 0.0]], [2, 2])
CORNERS, TRIANGLES = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
BRACKET = [(0, 0), (0.5, 0), (0.5, 0.2), (0.2, 0.2), (0.2, 0.5), (0, 0.5)]
MATERIAL = {"density": 7800, "modulus": 2.1e11}
SHEAR = {"shear_modulus": 8.1e10}


def arm(s: ss.System, name: str = "arm", **options: Any) -> Any:
    return s.add(ss.PlanarBody(name, mass=1, inertia=0.1, **{"position": [0.5, 0], **options}))


def space(s: ss.System, **options: Any) -> Any:
    return s.add(ss.RigidBody("arm", mass=1, inertia=[0.1, 0.2, 0.3], **{"position": [0.5, 0, 0], **options}))


def angle(s: ss.System, name: str = "arm", x: float = 0.0) -> Any:
    body = arm(s, name, position=[x + 0.5, 0])
    return s.add(ss.Revolute(f"hinge of {name}", ss.ground.point(x, 0), body.point(-0.5, 0))).angle


def turn(s: ss.System) -> Any:
    """An angle in space."""
    at = ss.ground.point(0, 0, 0), space(s).point(-0.5, 0, 0)
    return s.add(ss.Revolute("hinge", *at, axis=[0, 1, 0])).angle


def way(s: ss.System, name: str = "block") -> Any:
    block = arm(s, name)
    return s.add(ss.Prismatic(f"rail of {name}", ss.ground.point(0, 0), block.point(), axis=[1, 0])).displacement


def way_in_space(s: ss.System) -> Any:
    return s.add(ss.Prismatic("rail", ss.ground.point(0, 0, 0), space(s).point(), axis=[1, 0, 0])).displacement


def length(s: ss.System) -> Any:
    return ss.Distance(ss.ground.point(0, 1), arm(s).point())


def joint(kind: Any, **options: Any) -> Callable[[ss.System], Any]:
    return lambda s: kind("joint", ss.ground.point(0, 0, 0), space(s).point(-0.5, 0, 0), **options)


def shaft(s: ss.System) -> Any:
    return ss.SpatialBeam("shaft", length=0.6, elements=2, **ss.circular(0.0125), **MATERIAL, **SHEAR)


PARTS: dict[type, list[Callable[[ss.System], Any]]] = {
    ss.PointMass: [
        lambda s: ss.PointMass("ball", mass=1, position=[0, 1]),
        lambda s: ss.PointMass("ball", mass=1, position=[0, 1, 2]),
    ],
    ss.PlanarBody: [lambda s: ss.PlanarBody("arm", mass=1, inertia=0.1)],
    ss.RigidBody: [lambda s: ss.RigidBody("arm", mass=1, inertia=[0.1, 0.2, 0.3])],
    ss.Fixed: [lambda s: ss.Fixed("weld", ss.ground.point(0, 0), arm(s).point(-0.5, 0)), joint(ss.Fixed)],
    ss.Revolute: [
        lambda s: ss.Revolute("pin", ss.ground.point(0, 0), arm(s).point(-0.5, 0)),
        joint(ss.Revolute, axis=[0, 0, 1]),
    ],
    ss.Prismatic: [
        lambda s: ss.Prismatic("rail", ss.ground.point(0, 0), arm(s).point(), axis=[1, 0]),
        joint(ss.Prismatic, axis=[1, 0, 0]),
    ],
    ss.Cylindrical: [joint(ss.Cylindrical, axis=[1, 0, 0])],
    ss.Screw: [joint(ss.Screw, axis=[1, 0, 0], pitch=0.1)],
    ss.Spherical: [joint(ss.Spherical)],
    ss.Universal: [joint(ss.Universal, axis_1=[0, 1, 0], axis_2=[0, 0, 1])],
    ss.PlanarJoint: [joint(ss.PlanarJoint, normal=[0, 0, 1])],
    ss.Rod: [lambda s: ss.Rod("rod", ss.ground.point(0, 0), arm(s).point())],
    ss.ClearanceRevolute: [
        lambda s: ss.ClearanceRevolute(
            "bore", ss.ground.point(0, 0), arm(s).point(-0.5, 0), radius=0.05, clearance=1e-3
        )
    ],
    ss.ClearancePrismatic: [
        lambda s: ss.ClearancePrismatic(
            "guide", ss.ground.point(0.5, 0), arm(s).point(), axis=[1, 0], length=0.2, height=0.1, clearance=1e-3
        )
    ],
    ss.Gravity: [lambda s: (space(s), ss.Gravity([0, -9.81, 0]))[1]],
    ss.SpringDamper: [
        lambda s, make=make: ss.SpringDamper("spring", make(s), stiffness=10) for make in (length, angle, turn, way)
    ],
    ss.Motor: [lambda s, make=make: ss.Motor("motor", make(s), 1.0) for make in (length, angle, turn, way)],
    ss.Controller: [
        lambda s, make=make: ss.Controller("servo", make(s), stiffness=1) for make in (length, angle, turn, way)
    ],
    ss.Motion: [lambda s, make=make: ss.Motion("drive", make(s), lambda t: 0 * t) for make in (angle, turn, way)],
    ss.Force: [
        lambda s: ss.Force("push", arm(s).point(), [1, 0]),
        lambda s: (lambda body: ss.Force("drag", body.point(), -2 * body.u[:3]))(space(s)),
        lambda s: ss.Force("thrust", space(s).point(), lambda t: [0, 0, t], local=True),
    ],
    ss.Torque: [
        lambda s: ss.Torque("twist", arm(s), 1.0),
        lambda s: ss.Torque("twist", space(s), lambda t: [0, t, 1], local=True),
        lambda s: ss.Torque("twist", arm(s), 1.0, reaction=arm(s, "other")),
    ],
    ss.Gear: [
        lambda s: ss.Gear("mesh", angle(s), angle(s, "other", 1.0), ratio=2.0),
        lambda s: ss.Gear("belt", angle(s), angle(s, "other", 1.0), ratio=-2.0),
        lambda s: ss.Gear("rack", way(s), angle(s), ratio=0.2),
        lambda s: ss.Gear("lever", way(s), way(s, "other"), ratio=1.0),
    ],
    ss.Limits: [
        *[lambda s, make=make: ss.Limits("stops", make(s), lower=-0.2, upper=2.0) for make in (angle, turn, way)],
        lambda s: ss.Limits("stops", way_in_space(s), upper=2.0),
        lambda s: ss.Limits("stop", angle(s), lower=-0.2),
        lambda s: ss.Limits("rope", length(s), lower=0.1, upper=2.0),
    ],
    ss.Friction: [lambda s, make=make: ss.Friction("brake", make(s), force=1.0) for make in (length, angle, turn, way)],
    ss.Contact: [
        lambda s: ss.Contact("floor", arm(s, position=[0, 1]).point(), GROUND),
        lambda s: ss.Contact("floor", ss.Sphere(space(s).point(), 0.1), ss.Plane([0, 0, -1], [0, 0, 1])),
    ],
    ss.Rolling: [lambda s: ss.Rolling("road", ss.Sphere(arm(s, position=[0, 1]).point(), 1.0), GROUND)],
    ss.Collisions: [
        lambda s: ss.Collisions("contacts", [ss.Sphere(arm(s, position=[0, 1]).point(), 0.5), GROUND], friction=0.3),
        lambda s: ss.Collisions("hills", [ss.Ellipsoid(space(s, position=[0, 0, 2]), [0.3, 0.2, 0.1]), HILLS]),
        lambda s: ss.Collisions("mesh", [ss.TriangleMesh(space(s, position=[0, 0, 2]), CORNERS, TRIANGLES), HILLS]),
        lambda s: ss.Collisions("bracket", [ss.SimplePolygon(arm(s, position=[0, 1]), BRACKET), GROUND]),
        lambda s: ss.Collisions("cam", [ss.ClosedCurve(arm(s, position=[0, 2]), BRACKET[:4], pieces=20), GROUND]),
    ],
    ss.Bar: [lambda s: ss.Bar("bar", length=1, elements=3, area=1e-4, **MATERIAL)],
    ss.Beam: [
        lambda s: ss.Beam("beam", length=1, elements=2, area=1e-4, moment=8e-10, shear_area=8e-5, **MATERIAL, **SHEAR)
    ],
    ss.SpatialBeam: [shaft],
    ss.RotorDisk: [lambda s: ss.RotorDisk("wheel", s.add(shaft(s)).tip, mass=5, polar=0.01, diametral=0.005)],
}


def exported() -> set[type]:
    """All classes of parts that `import stickslip` offers."""
    return {
        c
        for c in map(ss.__dict__.get, ss.__all__)
        if isinstance(c, type) and hasattr(c, "declare") and not issubclass(c, Law)
    }

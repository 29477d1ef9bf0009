"""Joints: bilateral constraints between points and directions of two bodies."""

from __future__ import annotations

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, dot, is_symbolic, norm
from stickslip.model.bodies import Ground, PlanarBody, Point, parameters
from stickslip.model.declaration import Equations
from stickslip.model.system import System


class Revolute:
    """Planar revolute joint: two points coincide.

        g = r_1 - r_2

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> rod = s.add(ss.PlanarBody("rod", mass=1, inertia=0.1, position=[1, 0]))
    >>> pin = s.add(ss.Revolute("pin", ss.ground.point(0, 0), rod.point(-1, 0)))
    """

    def __init__(self, name: str, point_1: Point, point_2: Point):
        self.name, self.point_1, self.point_2 = name, point_1, point_2

    def declare(self, system: System, equations: Equations) -> None:
        r_1 = self.point_1.position(system, f"{self.name}.point_1")
        r_2 = self.point_2.position(system, f"{self.name}.point_2")
        equations.constraint(r_1 - r_2, name=self.name)


class Prismatic:
    """Planar prismatic joint: a body slides along an axis of another body, or of the ground, and does not turn.

        g = (n . (s - s_1), phi_2 - phi_1 - angle)

    with s the place of point_2 seen from the first body, s_1 a point of the axis there, n the normal of the axis.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> slider = s.add(ss.PlanarBody("slider", mass=1, inertia=0.1, position=[1, 0]))
    >>> guide = s.add(ss.Prismatic("guide", ss.ground.point(0, 0), slider.point(0, 0), axis=[1, 0]))
    """

    def __init__(self, name: str, point_1: Point, point_2: Point, *, axis: Vector, angle: Scalar = 0.0):
        if not is_symbolic(axis) and not norm(axis) > 0:
            raise ModelError(f"prismatic joint {name!r}: the axis {axis} has length zero")
        self.name, self.point_1, self.point_2, self.axis, self.angle = name, point_1, point_2, axis, angle

    def declare(self, system: System, equations: Equations) -> None:
        first, second = self.point_1.body, self.point_2.body
        if not isinstance(second, PlanarBody) or not isinstance(first, (PlanarBody, Ground)):
            raise ModelError(f"prismatic joint {self.name!r} joins two planar bodies, or the ground and a planar body")
        s = first.local(self.point_2.position(system, f"{self.name}.point_2"))
        s_1 = parameters(system, f"{self.name}.point_1", self.point_1.coordinates)
        axis = parameters(system, f"{self.name}.axis", array(self.axis))
        normal = array([-axis[1], axis[0]]) / norm(axis)
        angle = system.parameter(f"{self.name}.angle", self.angle)
        turned = second.q[2] - (first.q[2] if isinstance(first, PlanarBody) else 0.0)
        equations.constraint([dot(normal, s - s_1), turned - angle], name=self.name)

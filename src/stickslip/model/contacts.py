"""Contacts: geometry times law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, dot, is_symbolic, norm
from stickslip.model.bodies import Body, Ground, Point, ground, parameters, rate
from stickslip.model.declaration import Equations
from stickslip.model.system import System


@dataclass(frozen=True)
class Line:
    """A straight boundary in the plane, fixed to the ground or to a body: a point of it and the normal into free space.

    >>> floor = Line(point=[0, 0], normal=[0, 1])
    """

    point: Vector
    normal: Vector
    body: Body | Ground = ground

    def __post_init__(self) -> None:
        if not is_symbolic(self.normal) and not norm(self.normal) > 0:
            raise ModelError(f"line: the normal {self.normal} has length zero")
        if len(self.point) != 2 or len(self.normal) != 2:
            raise ModelError("line: point and normal need two components each")


class Contact:
    """Contact of a body-fixed point with a line, with friction and restitution.

        g_N = n . (s - s_0),    gamma_F = t . sdot,    t = (n_y, -n_x)

    with s the place of the point seen from the body that carries the line, so that sdot is the relative velocity.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> ball = s.add(ss.PointMass("ball", mass=1, position=[0, 1]))
    >>> floor = ss.Line(point=[0, 0], normal=[0, 1])
    >>> touch = s.add(ss.Contact("floor", ball.point(), floor, friction=0.3, restitution=0.5))
    """

    def __init__(
        self,
        name: str,
        point: Point,
        line: Line,
        *,
        friction: Scalar = 0.0,
        restitution: Scalar = 0.0,
        tangential_restitution: Scalar = 0.0,
    ):
        self.name, self.point, self.line = name, point, line
        self.friction, self.restitution, self.tangential_restitution = friction, restitution, tangential_restitution

    def declare(self, system: System, equations: Equations) -> None:
        if not isinstance(self.line, Line):
            raise ModelError(f"contact {self.name!r}: a point can touch a Line, not {self.line!r}")
        s = self.line.body.local(self.point.position(system, f"{self.name}.point"))
        s_0 = parameters(system, f"{self.name}.line", array(self.line.point))
        n = parameters(system, f"{self.name}.normal", array(self.line.normal))
        n = n / norm(n)
        t = np.array([n[1], -n[0]])
        law = {
            key: system.parameter(f"{self.name}.{key}", getattr(self, key))
            for key in ("friction", "restitution", "tangential_restitution")
        }
        equations.contact(gap=dot(n, s - s_0), slip=dot(t, rate(system, s)), **law, name=self.name)

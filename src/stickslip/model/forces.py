"""Forces: what acts on bodies and is no constraint."""

from __future__ import annotations

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, derivative, dot, norm
from stickslip.model.bodies import Body, Point, rate, velocities_of
from stickslip.model.declaration import Equations
from stickslip.model.system import System


class Gravity:
    """Weight of every body of the system, those that are added later included.

        V = -m a . r

    with the acceleration a, such as [0, -9.81].

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> weight = s.add(ss.Gravity([0, -9.81]))
    """

    def __init__(self, acceleration: Vector, name: str = "gravity"):
        self.name, self.acceleration = name, acceleration

    def declare(self, system: System, equations: Equations) -> None:
        values = array(self.acceleration)
        self.acceleration = array([system.parameter(f"{self.name}.{'xyz'[k]}", v) for k, v in enumerate(values)])

    def act(self, body: Body, equations: Equations) -> None:
        """Add the weight of one body to its equations."""
        a = self.acceleration
        if len(a) != body.dimension:
            raise ModelError(
                f"{self.name}: {len(a)} components, but body {body.name!r} lives in {body.dimension} dimensions"
            )
        equations.potential_energy(-body.mass * dot(a, body.center))


class SpringDamper:
    """Linear spring and damper along the line between two points.

        V = k (l - l_0)^2 / 2,     f = -d ldot dl/dq

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> ball = s.add(ss.PointMass("ball", mass=1, position=[0, -1]))
    >>> spring = s.add(ss.SpringDamper("spring", ss.ground.point(0, 0), ball.point(), stiffness=100, rest_length=1))
    """

    def __init__(
        self,
        name: str,
        point_1: Point,
        point_2: Point,
        *,
        stiffness: Scalar = 0.0,
        damping: Scalar = 0.0,
        rest_length: Scalar = 0.0,
    ):
        self.name, self.point_1, self.point_2 = name, point_1, point_2
        self.stiffness, self.damping, self.rest_length = stiffness, damping, rest_length

    def declare(self, system: System, equations: Equations) -> None:
        r_1 = self.point_1.position(system, f"{self.name}.point_1")
        r_2 = self.point_2.position(system, f"{self.name}.point_2")
        k = system.parameter(f"{self.name}.stiffness", self.stiffness)
        d = system.parameter(f"{self.name}.damping", self.damping)
        l_0 = system.parameter(f"{self.name}.rest_length", self.rest_length)
        length = norm(r_2 - r_1)
        equations.potential_energy(k / 2 * (length - l_0) ** 2)
        length_dot = rate(system, length)
        u = velocities_of(self.point_1.body, self.point_2.body)
        equations.force(-d * length_dot * derivative(length_dot, by=u), on=u)

"""Measures: scalars of the configuration with their rates, on which springs, motors, limits and couplings act.

A joint has measures for the motion that it allows (`Revolute.angle`, `Prismatic.displacement`, ...), and one can make
further ones between any points and bodies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, atan2, column, cos, cross, dot, is_symbolic, norm, sin
from stickslip.model.frames import (
    Carrier,
    Ground,
    Point,
    initial_turn,
    parameters,
    rate,
    relative_spin,
    triad,
    unit,
    velocities_of,
)
from stickslip.model.given import instance, number
from stickslip.model.system import System


@dataclass(frozen=True)
class Quantity:
    """A measure in the symbols of a system: value, rate, and the velocities that the rate depends on.

    An angle in space is known by its sine and cosine only, so modulo 2 pi: its value lies between -pi and pi, and
    comparing it with a target goes by the shorter way.
    """

    rate: Scalar
    on: np.ndarray
    length: Scalar = 0.0
    turn: tuple[Scalar, Scalar] | None = None  # cosine and sine

    @property
    def value(self) -> Scalar:
        """Its value; of an angle in space, the one between -pi and pi."""
        return self.length if self.turn is None else atan2(self.turn[1], self.turn[0])

    def minus(self, target: Scalar) -> Scalar:
        """Value minus target, by the shorter way round."""
        if self.turn is None:
            return self.length - target
        c, s = self._turned(target)
        return atan2(s, c)

    def equals(self, target: Scalar) -> Scalar:
        """Zero where value and target are equal: their difference, or its sine, which knows no jump from pi to -pi."""
        return self.length - target if self.turn is None else self._turned(target)[1]

    def seen(
        self, force: Callable[[Scalar], Scalar], zero: Scalar = 0.0
    ) -> list[tuple[Scalar, Scalar, Scalar, Scalar]]:
        """What a part that sees it counted from `zero` tells `solve.half_turns`: the angle, its rate, by how much the force
        changes with a whole turn, and its size. Nothing where turns are counted.
        """
        if self.turn is None:
            return []
        x = self.minus(zero)
        now, then = force(x), force(x + 2 * np.pi)
        return [(x, self.rate, then - now, now * now + then * then)]

    def _turned(self, target: Scalar) -> tuple[Scalar, Scalar]:
        (c, s), (c_t, s_t) = self.turn or (1.0, 0.0), (cos(target), sin(target))
        return c * c_t + s * s_t, s * c_t - c * s_t


class Measure:
    """A scalar of the configuration; `quantity` gives it in the symbols of a system, `unit` says what it counts."""

    @property
    def unit(self) -> str:
        """Its unit; empty where it is not known."""
        return {"Distance": "m", "Displacement": "m", "Angle": "rad"}.get(type(self).__name__, "")

    def quantity(self, system: System, prefix: str) -> Quantity:
        """Value and rate; numbers become parameters named after `prefix`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Distance(Measure):
    """Distance of two points.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> ball = s.add(ss.PointMass("ball", mass=1, position=[0, -1]))
    >>> length = ss.Distance(ss.ground.point(0, 0), ball.point())
    """

    point_1: Point
    point_2: Point

    def __post_init__(self) -> None:
        _two_points("distance", self.point_1, self.point_2)

    def quantity(self, system: System, prefix: str) -> Quantity:
        r_1, v_1 = self.point_1.place_and_velocity(system, f"{prefix}.point_1")
        r_2, v_2 = self.point_2.place_and_velocity(system, f"{prefix}.point_2")
        length = norm(r_2 - r_1)
        on = velocities_of(self.point_1.body, self.point_2.body)
        return Quantity(dot(r_2 - r_1, v_2 - v_1) / length, on, length)


@dataclass(frozen=True)
class Displacement(Measure):
    """Distance of point_2 from point_1 along an axis that is fixed to the body of point_1."""

    point_1: Point
    point_2: Point
    axis: Vector

    def __post_init__(self) -> None:
        _two_points("displacement", self.point_1, self.point_2)

    def quantity(self, system: System, prefix: str) -> Quantity:
        first, second, n = self.point_1.body, self.point_2.body, self.point_1.dimension
        r_1 = self.point_1.position(system, f"{prefix}.point_1")
        r_2, v_2 = self.point_2.place_and_velocity(system, f"{prefix}.point_2")
        local = parameters(system, f"{prefix}.axis", unit(prefix, self.axis, n))
        axis = first.direction(local)
        v_1 = first.velocity_at(r_2)  # the point of the first body at the place of the second: the axis turns with it
        return Quantity(dot(axis, v_2 - v_1), velocities_of(first, second), dot(axis, r_2 - r_1))


@dataclass(frozen=True)
class Angle(Measure):
    """Angle by which body_2 is turned against body_1.

    In the plane phi_2 - phi_1, without bounds. In space about an axis fixed to body_1, zero at the initial state, for
    bodies that a joint lets turn about this axis only.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> arm = s.add(ss.PlanarBody("arm", mass=1, inertia=0.1))
    >>> spring = s.add(ss.SpringDamper("spring", ss.Angle(ss.ground, arm), stiffness=2.0))
    """

    body_1: Carrier
    body_2: Carrier
    axis: Vector | None = None

    def __post_init__(self) -> None:
        for body in (self.body_1, self.body_2):
            instance("angle", "each body", body, Carrier, "a body or the ground")
        where = f"angle of {self.body_2.name!r} against {self.body_1.name!r}"
        if self.body_1 is self.body_2:
            raise ModelError(f"{where}: it never changes; name two bodies, or ss.ground and a body")
        dimensions = [getattr(body, "dimension", None) for body in (self.body_1, self.body_2)]
        if self.axis is None and 3 in dimensions:
            raise ModelError(f"{where}: in space it needs axis=")
        if self.axis is not None and 2 in dimensions:
            raise ModelError(f"{where}: in the plane there is no choice of an axis; leave axis= out")

    def quantity(self, system: System, prefix: str) -> Quantity:
        first, second = self.body_1, self.body_2
        on = velocities_of(first, second)
        if self.axis is None:
            phi_1, phi_2 = (0.0 if isinstance(b, Ground) else b.angle for b in (first, second))
            return Quantity(relative_spin(first, second, 2), on, phi_2 - phi_1)
        a_1 = unit(prefix, self.axis, 3)
        x_1, _ = triad(a_1)
        axis = first.direction(parameters(system, f"{prefix}.axis", a_1))
        x = first.direction(parameters(system, f"{prefix}.zero_1", x_1))
        x_2 = second.direction(parameters(system, f"{prefix}.zero_2", initial_turn(system, first, second) @ x_1))
        turn = dot(x, x_2), dot(cross(axis, x), x_2)
        return Quantity(dot(axis, relative_spin(first, second, 3)), on, turn=turn)


@dataclass(frozen=True)
class Expression(Measure):
    """Any expression of t and q, given as a function without arguments, or as the expression itself.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> ball = s.add(ss.PointMass("ball", mass=1, position=[0, 1]))
    >>> height = ss.Expression(ball.q[1])
    """

    value: Any

    def quantity(self, system: System, prefix: str) -> Quantity:
        value = number(prefix, "its measure", evaluated(f"{prefix}: its measure", self.value))
        if any(_depends(value, b.u) for b in system.blocks):
            raise ModelError(
                f"{prefix}: its measure contains a velocity, but is a function of t and q; what acts on a velocity is a "
                "force of system.force(), or a system.velocity_constraint()"
            )
        speed = rate(system, value)
        touched = [array(b.u) for b in system.blocks if _depends(speed, b.u)]
        return Quantity(speed, np.concatenate([np.zeros(0, object), *touched]), value)


def _depends(expression: Any, u: Any) -> bool:
    import casadi as ca

    return bool(ca.depends_on(column(expression), u))


def along(where: str, measure: Any) -> Measure:
    """A measure, or a complaint that it is none."""
    such_as = "a measure such as joint.angle or Distance(p, q)"
    if not isinstance(measure, Measure) and is_symbolic(measure):
        such_as += "; an expression becomes one by Expression(...)"
    return instance(where, "what it acts along", measure, Measure, such_as)


def _two_points(what: str, *points: Any) -> None:
    for k, point in enumerate(points, 1):
        instance(what, f"point_{k}", point, Point, "a point, such as body.point() or ground.point(0, 0)")
    if points[0].dimension != points[1].dimension:
        raise ModelError(f"{what}: {points[0]} and {points[1]} do not live in the same space")
    if points[0].body is points[1].body:
        raise ModelError(f"{what}: {points[0]} and {points[1]} belong to one body, so that it never changes")


def evaluated(what: str, function: Callable[..., Any] | Scalar, **arguments: Any) -> Any:
    """A function's value, or the number or expression that was given instead of a function; `what` it is the value of."""
    if not callable(function):
        return function
    try:
        inspect.signature(function).bind(*arguments.values())
    except TypeError as error:
        takes = f"({', '.join(arguments)})" if arguments else "nothing"
        raise ModelError(f"{what} must be a number, an expression, or a function of {takes}: {error}") from None
    except ValueError:
        pass  # a builtin without a signature
    return function(*arguments.values())

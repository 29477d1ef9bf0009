"""Forces: what acts on bodies and is not a constraint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, column, derivative, dot, is_symbolic
from stickslip.model.bodies import Body
from stickslip.model.declaration import TIME, Equations, Sensor
from stickslip.model.described import Described
from stickslip.model.frames import Ground, Point, rate
from stickslip.model.given import flag, instance, number, vector
from stickslip.model.measures import Distance, Measure, Quantity, along, evaluated
from stickslip.model.system import System

FORCE_UNITS = {"m": "N", "rad": "N m", "": ""}
"""By the unit of a measure, that of the force that does work on it."""


class Gravity(Described):
    """Weight of every body of the system, those that are added later included.

        V = -m a . r

    with the acceleration a, such as [0, -9.81].

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> weight = s.add(ss.Gravity([0, -9.81]))
    """

    def __init__(self, acceleration: Vector, name: str = "gravity"):
        self.name, self.acceleration = name, vector(f"gravity {name!r}", "acceleration", acceleration, (1, 2, 3))

    def declare(self, system: System, equations: Equations) -> None:
        values = enumerate(self.acceleration)
        self.acceleration = array([system.parameter(f"{self.name}.{'xyz'[k]}", v) for k, v in values])

    def act(self, body: Body, equations: Equations) -> None:
        """Add the weight of one body to its equations."""
        a = self.acceleration
        if len(a) != body.dimension:
            raise ModelError(
                f"{self.name}: {len(a)} components, but body {body.name!r} lives in {body.dimension} dimensions"
            )
        equations.potential_energy(-body.mass * dot(a, body.center))


def push(equations: Equations, quantity: Quantity, force: Scalar) -> None:
    """A generalized force along a measure: its power is force times rate."""
    equations.force(force * derivative(quantity.rate, by=quantity.on), on=quantity.on)


class SpringDamper(Described):
    """Spring and damper along the line between two points, or along any measure (the angle of a joint: a torsional
    spring).

        V = k (l - l_0)^2 / 2,     f = -d ldot dl/dq

    `law(l, ldot)` gives an additional force in the direction in which l grows, an expression such as -k * l**3.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> ball = s.add(ss.PointMass("ball", mass=1, position=[0, -1]))
    >>> spring = s.add(ss.SpringDamper("spring", ss.ground.point(0, 0), ball.point(), stiffness=100, rest_length=1))
    >>> stop = s.add(ss.SpringDamper("stop", ss.ground.point(1, 0), ball.point(), law=lambda x, v: -10 * x**3))
    """

    def __init__(
        self,
        name: str,
        point_1: Point | Measure,
        point_2: Point | None = None,
        *,
        stiffness: Scalar = 0.0,
        damping: Scalar = 0.0,
        rest_length: Scalar = 0.0,
        law: Callable[[Any, Any], Any] | None = None,
    ):
        if isinstance(point_1, Point) and isinstance(point_2, Point):
            self.measure: Measure = Distance(point_1, point_2)
        elif isinstance(point_1, Measure) and point_2 is None:
            self.measure = point_1
        else:
            raise ModelError(
                f"spring-damper {name!r} acts between two points, or along one measure such as joint.angle"
            )
        where = f"spring-damper {name!r}"
        for key, value in (("stiffness", stiffness), ("damping", damping), ("rest_length", rest_length)):
            number(where, key, value)
        if law is not None and not callable(law):
            raise ModelError(f"{where}: law must be a function of (x, xdot), got {law!r}")
        self.name, self.law = name, law
        self.stiffness, self.damping, self.rest_length = stiffness, damping, rest_length

    def declare(self, system: System, equations: Equations) -> None:
        x, k, d, x_0, extra = self._pieces(system)
        equations.potential_energy(k / 2 * x.minus(x_0) ** 2)
        push(equations, x, -d * x.rate)
        if self.law is not None:
            push(equations, x, extra)

    def sensors(self, system: System) -> dict[str, Sensor]:
        """Its length, elongation against the rest length, and force, positive where it pulls."""
        x, k, d, x_0, extra = self._pieces(system)
        stretched = x.minus(x_0)
        unit = self.measure.unit
        return {
            "length": Sensor(column(x.value), unit),
            "elongation": Sensor(column(stretched), unit),
            "force": Sensor(column(k * stretched + d * x.rate - extra), FORCE_UNITS[unit]),
        }

    def half_turns(self, system: System) -> list[tuple[Scalar, ...]]:
        """What it sees of an angle in space, and the force that it makes of it."""
        x, k, _, x_0, _ = self._pieces(system)
        law = self.law
        own = [] if law is None else x.seen(lambda angle: law(angle, x.rate))
        return [*x.seen(lambda angle: k * angle, x_0), *own]

    def _pieces(self, system: System) -> tuple[Quantity, Scalar, Scalar, Scalar, Scalar]:
        """Measure, stiffness, damping, rest length, and the force of the law."""
        x = self.measure.quantity(system, self.name)
        k = system.parameter(f"{self.name}.stiffness", self.stiffness)
        d = system.parameter(f"{self.name}.damping", self.damping)
        x_0 = system.parameter(f"{self.name}.rest_length", self.rest_length)
        force = (
            0.0
            if self.law is None
            else evaluated(f"spring-damper {self.name!r}: law", self.law, x=x.value, xdot=x.rate)
        )
        return x, k, d, x_0, number(f"spring-damper {self.name!r}", "the value of its law", force)


class Motor(Described):
    """A force along a measure, or a torque at a joint's angle: a number, or a function force(t, x, xdot).

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> wheel = s.add(ss.PlanarBody("wheel", mass=1, inertia=0.1))
    >>> hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0), wheel.point()))
    >>> motor = s.add(ss.Motor("motor", hub.angle, lambda t, x, v: 2.0 - 0.1 * v))
    """

    def __init__(self, name: str, measure: Measure, force: Scalar | Callable[[Any, Any, Any], Any]):
        self.name, self.measure, self.force = name, along(f"motor {name!r}", measure), force

    def declare(self, system: System, equations: Equations) -> None:
        push(equations, *self._drive(system))

    def sensors(self, system: System) -> dict[str, Sensor]:
        """Its force, positive in the direction in which the measure grows."""
        return {"force": Sensor(column(self._drive(system)[1]), FORCE_UNITS[self.measure.unit])}

    def half_turns(self, system: System) -> list[tuple[Scalar, ...]]:
        """What it sees of an angle in space, and the force that it makes of it."""
        x, force = self.measure.quantity(system, self.name), self.force
        return x.seen(lambda angle: force(TIME, angle, x.rate)) if callable(force) and not is_symbolic(force) else []

    def _drive(self, system: System) -> tuple[Quantity, Scalar]:
        x = self.measure.quantity(system, self.name)
        constant = not callable(self.force) and not is_symbolic(self.force)
        force = system.parameter(f"{self.name}.force", self.force) if constant else self.force
        where = f"motor {self.name!r}"
        return x, number(where, "force", evaluated(f"{where}: force", force, t=TIME, x=x.value, xdot=x.rate))


class Controller(Described):
    """PD controller of a measure: force = k (target - x) + d (target_dot - xdot).

    `target` is a number, or a function of time; angles in space go the shorter way.

    >>> import stickslip as ss
    >>> from stickslip.math import sin
    >>> s = ss.System()
    >>> arm = s.add(ss.PlanarBody("arm", mass=1, inertia=0.1))
    >>> hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0), arm.point()))
    >>> servo = s.add(ss.Controller("servo", hub.angle, lambda t: sin(t), stiffness=50, damping=5))
    """

    def __init__(
        self,
        name: str,
        measure: Measure,
        target: Scalar | Callable[[Any], Any] = 0.0,
        *,
        stiffness: Scalar,
        damping: Scalar = 0.0,
    ):
        where = f"controller {name!r}"
        self.name, self.measure, self.target = name, along(where, measure), target
        self.stiffness, self.damping = number(where, "stiffness", stiffness), number(where, "damping", damping)

    def declare(self, system: System, equations: Equations) -> None:
        x, force, _ = self._drive(system)
        push(equations, x, force)

    def sensors(self, system: System) -> dict[str, Sensor]:
        """Its force, positive in the direction in which the measure grows, and what it lacks to its target."""
        _, force, error = self._drive(system)
        unit = self.measure.unit
        return {"force": Sensor(column(force), FORCE_UNITS[unit]), "error": Sensor(column(error), unit)}

    def _drive(self, system: System) -> tuple[Quantity, Scalar, Scalar]:
        x = self.measure.quantity(system, self.name)
        k = system.parameter(f"{self.name}.stiffness", self.stiffness)
        d = system.parameter(f"{self.name}.damping", self.damping)
        if not callable(self.target) and not is_symbolic(self.target):
            beyond = x.minus(system.parameter(f"{self.name}.target", self.target))
            return x, -k * beyond - d * x.rate, -beyond
        where = f"controller {self.name!r}"
        target = number(where, "target", evaluated(f"{where}: target", self.target, t=TIME))
        beyond = x.minus(target)
        return x, -k * beyond + d * (rate(system, target) - x.rate), -beyond


class Force(Described):
    """A force at a point: numbers, or a function of time that returns components; in space or, `local`, in the body's
    frame.

    Components may also be expressions of coordinates and velocities (`body.q`, `body.u`).

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> drone = s.add(ss.RigidBody("drone", mass=1, inertia=[1, 1, 1]))
    >>> thrust = s.add(ss.Force("thrust", drone.point(0.1, 0, 0), [0, 0, 9.81], local=True))
    """

    def __init__(self, name: str, point: Point, force: Vector | Callable[[Any], Any], *, local: bool = False):
        self.name, self.point, self.force = name, point, force
        self.local = flag(f"force {name!r}", "local", local)
        instance(f"force {name!r}", "its point", point, Point, "a point, such as body.point()")
        if isinstance(point.body, Ground):
            raise ModelError(f"force {name!r} acts on the ground, which does not move")

    def declare(self, system: System, equations: Equations) -> None:
        f = _components(self.name, system, self.force, self.point.dimension)
        f = self.point.body.direction(f) if self.local else f
        _, v = self.point.place_and_velocity(system, f"{self.name}.point")
        u = self.point.body.u  # type: ignore[attr-defined]
        equations.force(f @ np.atleast_2d(derivative(v, by=u)), on=u)


class Torque(Described):
    """A torque on a body, in space or, `local`, in the body's frame; `reaction` is the body that takes the opposite
    one.

    A number in the plane, three components in space, or a function of time that returns them.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> rotor = s.add(ss.RigidBody("rotor", mass=1, inertia=[1, 1, 1]))
    >>> spin = s.add(ss.Torque("spin", rotor, lambda t: [0, 0, 0.1 * t], local=True))
    """

    def __init__(
        self,
        name: str,
        body: Body,
        torque: Any,
        *,
        local: bool = False,
        reaction: Body | None = None,
    ):
        where, wanted = f"torque {name!r}", "a body with an orientation, such as a RigidBody"
        self.name, self.body, self.torque = name, instance(where, "body", body, Body, wanted), torque
        self.local = flag(where, "local", local)
        self.reaction = None if reaction is None else instance(where, "reaction", reaction, Body, wanted)

    def declare(self, system: System, equations: Equations) -> None:
        planar = self.body.dimension == 2
        torque = _components(self.name, system, self.torque, 1 if planar else 3)
        torque = self.body.direction(torque) if self.local and not planar else torque
        for body, sense in ((self.body, 1.0), (self.reaction, -1.0)):
            if body is not None:
                jacobian = derivative([body.angular_velocity] if planar else body.angular_velocity, by=body.u)
                equations.force(array(sense * torque) @ np.atleast_2d(jacobian), on=body.u)


def _components(name: str, system: System, given: Any, n: int) -> np.ndarray:
    """n components of a force; numbers become parameters."""
    values = vector(f"force {name!r}", "force", evaluated(f"force {name!r}", given, t=TIME), n)
    if is_symbolic(values):
        return values
    return array([system.parameter(f"{name}.force.{'xyz'[k]}", v) for k, v in enumerate(values)])

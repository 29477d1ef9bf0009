"""What acts along a measure as a constraint or a contact law: prescribed motion, couplings, limits, friction."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

from stickslip.cone import Cone
from stickslip.errors import ModelError
from stickslip.math import Scalar, is_symbolic
from stickslip.model.declaration import TIME, Equations
from stickslip.model.described import Described
from stickslip.model.given import number
from stickslip.model.laws import bound
from stickslip.model.measures import Measure, along, evaluated
from stickslip.model.system import System


class Motion(Described):
    """Prescribed motion: a measure follows a function of time (a rheonomic constraint). An angle in space may turn on
    and on.

        g = x - x(t)

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> crank = s.add(ss.PlanarBody("crank", mass=1, inertia=0.1, angular_velocity=3.0))
    >>> hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0), crank.point()))
    >>> drive = s.add(ss.Motion("drive", hub.angle, lambda t: 3.0 * t))
    """

    def __init__(self, name: str, measure: Measure, target: Scalar | Callable[[Any], Any]):
        self.name, self.measure, self.target = name, along(f"motion {name!r}", measure), target

    def declare(self, system: System, equations: Equations) -> None:
        x = self.measure.quantity(system, self.name)
        fixed = not callable(self.target) and not is_symbolic(self.target)
        target = system.parameter(f"{self.name}.target", self.target) if fixed else self.target
        about = f"the motion {self.name!r} does not begin at its prescribed value"
        where = f"motion {self.name!r}"
        target = number(where, "target", evaluated(f"{where}: target", target, t=TIME))
        equations.constraint(x.equals(target), name=self.name, about=about)


class Gear(Described):
    """A coupling of two measures: x_1 + ratio x_2 keeps its initial value. Gears, belts, rack and pinion,
    differentials.

    On position level; where an angle in space takes part, which is known modulo 2 pi only, on velocity level.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> a, b = (s.add(ss.PlanarBody(name, mass=1, inertia=0.1)) for name in "ab")
    >>> p = s.add(ss.Revolute("p", ss.ground.point(0, 0), a.point()))
    >>> q = s.add(ss.Revolute("q", ss.ground.point(0, 0), b.point()))
    >>> mesh = s.add(ss.Gear("mesh", p.angle, q.angle, ratio=2.5))
    """

    def __init__(self, name: str, measure_1: Measure, measure_2: Measure, *, ratio: Scalar):
        where = f"gear {name!r}"
        self.name, self.measure_1, self.measure_2 = name, along(where, measure_1), along(where, measure_2)
        self.ratio = number(where, "ratio", ratio)

    def declare(self, system: System, equations: Equations) -> None:
        x_1 = self.measure_1.quantity(system, f"{self.name}.1")
        x_2 = self.measure_2.quantity(system, f"{self.name}.2")
        i = system.parameter(f"{self.name}.ratio", self.ratio)
        if x_1.turn is None and x_2.turn is None:
            together = x_1.value + i * x_2.value
            start = system.parameter(f"{self.name}.start", float(system.initial_value(together)))
            equations.constraint(together - start, name=self.name)
        else:
            equations.velocity_constraint(x_1.rate + i * x_2.rate, name=self.name)


class Limits(Described):
    """Stops of a measure: lower <= x <= upper, as unilateral contacts with restitution.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> arm = s.add(ss.PlanarBody("arm", mass=1, inertia=0.1))
    >>> hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0), arm.point()))
    >>> stops = s.add(ss.Limits("stops", hub.angle, lower=-1.0, upper=1.0, restitution=0.3))
    """

    def __init__(
        self,
        name: str,
        measure: Measure,
        *,
        lower: Scalar | None = None,
        upper: Scalar | None = None,
        restitution: Scalar = 0.0,
    ):
        where = f"limits {name!r}"
        if lower is None and upper is None:
            raise ModelError(f"{where}: give lower=, upper= or both")
        for key, value in (("lower", lower), ("upper", upper)):
            if value is not None:
                number(where, key, value)
        number(where, "restitution", restitution, at_least=0, at_most=1)
        if lower is not None and upper is not None and not is_symbolic([lower, upper]) and not lower < upper:
            raise ModelError(f"{where}: lower = {lower} must be smaller than upper = {upper}")
        self.name, self.measure = name, along(where, measure)
        self.lower, self.upper, self.restitution = lower, upper, restitution

    def declare(self, system: System, equations: Equations) -> None:
        x = self.measure.quantity(system, self.name)
        e_N = system.parameter(f"{self.name}.restitution", self.restitution, at_least=0, at_most=1)
        ends = {
            key: system.parameter(f"{self.name}.{key}", value)
            for key, value in (("lower", self.lower), ("upper", self.upper))
            if value is not None
        }
        # An angle in space is measured from the middle of its range, so that its jump lies opposite to it.
        middle = sum(ends.values()) / len(ends)
        if x.turn is not None:
            self._within_a_turn({key: float(system.initial_value(end)) for key, end in ends.items()})
        for key, end in ends.items():
            beyond = x.minus(middle) - (end - middle)
            gap = beyond if key == "lower" else -beyond
            equations.contact(gap=gap, restitution=e_N, name=f"{self.name}.{key}")

    def _within_a_turn(self, ends: dict[str, float]) -> None:
        """Refuse stops that an angle in space, known only up to whole turns, does not reach."""
        if len(ends) == 2 and ends["upper"] - ends["lower"] >= 2 * pi:
            raise ModelError(
                f"limits {self.name!r}: in space an angle is known only up to whole turns, so its stops must lie less than a "
                f"turn apart; lower = {ends['lower']:g} and upper = {ends['upper']:g} do not"
            )
        if len(ends) == 1 and abs(*ends.values()) >= pi:
            key, end = next(iter(ends.items()))
            raise ModelError(
                f"limits {self.name!r}: in space an angle is known only between -pi and pi, so a single stop must lie there; "
                f"{key} = {end:g} does not. Give both stops, less than a turn apart"
            )

    def half_turns(self, system: System) -> list[tuple[Scalar, ...]]:
        """What a single stop sees of an angle in space. With two stops, the jump lies behind them."""
        if None not in (self.lower, self.upper):
            return []
        key, end = ("upper", self.upper) if self.lower is None else ("lower", self.lower)
        x = self.measure.quantity(system, self.name)
        return x.seen(lambda angle: angle, system.parameter(f"{self.name}.{key}", end))


class Friction(Described):
    """Dry friction along a measure, such as in a joint: a force, or torque, of at most `force` against the motion.

    force: a number, an expression of t, q and u, or a function of the speed |xdot|, such as `Stribeck`. A `cone` takes
    the place of the interval from -force to force, for a ratchet, say; see `Cone`.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> wheel = s.add(ss.PlanarBody("wheel", mass=1, inertia=0.1, angular_velocity=5))
    >>> hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0), wheel.point()))
    >>> bearing = s.add(ss.Friction("bearing", hub.angle, force=0.2))
    """

    def __init__(
        self,
        name: str,
        measure: Measure,
        *,
        force: Scalar | Callable[[Any], Any],
        tangential_restitution: Scalar = 0.0,
        cone: Cone | None = None,
    ):
        where = f"friction {name!r}"
        self.name, self.measure = name, along(where, measure)
        function = callable(force) and not is_symbolic(force)
        self.force = force if function else number(where, "force", force, at_least=0)
        self.restitution = number(where, "tangential_restitution", tangential_restitution, at_least=0, at_most=1)
        self.cone = cone

    def declare(self, system: System, equations: Equations) -> None:
        x = self.measure.quantity(system, self.name)
        equations.contact(
            gap=None,
            slip=x.rate,
            radius=bound(system, self.name, "force", self.force),
            tangential_restitution=system.parameter(
                f"{self.name}.tangential_restitution", self.restitution, at_least=0, at_most=1
            ),
            cone=self.cone,
            name=self.name,
        )

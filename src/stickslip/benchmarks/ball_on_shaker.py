"""A ball that bounces on a shaking table."""

from __future__ import annotations

import math

from stickslip.benchmarks.registry import benchmark
from stickslip.math import sin
from stickslip.model.system import System
from stickslip.shapes import Circle, GroundLine, Shape, Snapshot, Touch, drawing


@benchmark(source="Guckenheimer, Holmes 1983, section 2.4", dt=1e-3, t_end=4.0)
def ball_on_shaker(
    *, A: float = 0.0137, omega: float = 30.0, e: float = 0.5, g: float = 9.81, height: float = 0.06, speed: float = 0.0
) -> System:
    """A ball bounces on a table that moves by A sin(omega t).

    T = m v^2/2, V = m g z, gap z - A sin(omega t), with m = 1. An orbit with one impact per period hits the table at the phase
    A omega^2 cos(phi) = pi g (1 - e)/(1 + e) and leaves it with the velocity g pi/omega. It appears in a fold at phi = 0
    and is stable up to A omega^2 sin(phi) = 2 g (1 + e^2)/(1 + e)^2, where its period doubles on the way to chaos. Its
    multipliers have the product e^2 and the sum 1 + e^2 - (1 + e)^2 A omega^2 sin(phi)/g.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.ball_on_shaker(), t_end=1.0, dt=1e-3)
    >>> bool(solution.gap.min() > -1e-8)
    True
    """
    s = System("ball on a shaker")
    A_, omega_, e_, g_ = s.parameter("A", A), s.parameter("omega", omega), s.parameter("e", e), s.parameter("g", g)
    (z,), (v,) = s.coordinates("z", initial=[height], velocity=[speed], units="m")
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(g_ * z)
    s.contact(gap=z - A_ * sin(omega_ * s.time), restitution=e_, name="table")
    s.drawing = draw
    return s


@drawing("ball_on_shaker")
def draw(state: Snapshot) -> list[Shape]:
    """The ball on its lowest point and the table where it is now."""
    (z,), p = state.q, state.parameters
    table, radius = p["A"] * math.sin(p["omega"] * state.t), 0.006
    return [
        GroundLine([(-0.04, table), (0.04, table)]),
        Circle((0, z + radius), radius),
        Touch("table", (0, z)),
    ]

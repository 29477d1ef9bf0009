"""The bouncing ball."""

from __future__ import annotations

from stickslip.benchmarks.registry import benchmark
from stickslip.model.system import System
from stickslip.shapes import Circle, Shape, Snapshot, Touch, Wall, drawing


@benchmark(source="Capobianco, Eugster 2018, Fig. 2", dt=1e-3, t_end=4.0)
def bouncing_ball(*, m: float = 0.1, g: float = 9.81, e: float = 0.75, height: float = 1.0) -> System:
    """A mass falls on a plane and bounces until it rests.

    T = m v^2/2, V = m g q, gap q. Impacts accumulate in finite time (Zeno): no event-driven scheme passes the point
    t = t_1 (1 + e)/(1 - e) with t_1 = sqrt(2 height/g), an event-capturing one does not notice it.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=1e-3)
    """
    s = System("bouncing ball")
    mass, gravity, restitution = s.parameter("m", m), s.parameter("g", g), s.parameter("e", e)
    (q,), (u,) = s.coordinates("q", initial=[height], velocity=[0], units="m")
    s.kinetic_energy(mass / 2 * u**2)
    s.potential_energy(mass * gravity * q)
    s.contact(gap=q, restitution=restitution, name="floor")
    s.drawing = draw
    return s


@drawing("bouncing_ball")
def draw(state: Snapshot) -> list[Shape]:
    """A ball on its lowest point, which is what q says."""
    (height,) = state.q
    radius = 0.06
    return [Wall((0, 0), normal=(0, 1)), Circle((0, height + radius), radius), Touch("floor", (0, height))]

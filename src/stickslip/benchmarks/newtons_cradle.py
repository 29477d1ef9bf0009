"""Newton's cradle."""

from __future__ import annotations

import math

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Collisions, Gravity, PlanarBody, Revolute, Sphere, ground
from stickslip.model.system import System
from stickslip.shapes import Tube


@benchmark(source="Hinch, Saint-Jean 1999, Proc. R. Soc. A 455, 3201-3220", dt=2e-4, t_end=1.6)
def newtons_cradle(
    *,
    count: int = 5,
    lifted: int = 1,
    angle: float = 40.0,
    R: float = 0.02,
    L: float = 0.15,
    gap: float = 5e-4,
    e: float = 1.0,
    g: float = 9.81,
) -> System:
    """Newton's cradle: as many balls leave on one side as arrive on the other.

    Equal balls on rods of the length L; `lifted` of them begin at an angle (degrees). They hang a hair apart, so that impacts
    come one after the other: two equal balls with e = 1 exchange their velocities, a ball that arrives stops, and the last
    one leaves with its speed. That needs steps shorter than gap/speed. In a longer step, or without a gap, all impacts are
    one, and Newton's law for each contact alone does not say what a row of balls does: that depends on how stiff they are.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.newtons_cradle(count=3), t_end=0.24, dt=2e-4)
    >>> [bool(speed > 0.1) for speed in solution.u[-1, 2::3]]    # the last one moves
    [False, False, True]
    """
    s = System("Newton's cradle")
    s.add(Gravity([0, -g]))
    balls = []
    for k in range(count):
        x, turn = k * (2 * R + gap), math.radians(-angle) if k < lifted else 0.0
        at = [x + L * math.sin(turn), -L * math.cos(turn)]
        ball = s.add(PlanarBody(f"ball {k}", mass=1.0, inertia=0.4 * R**2, position=at, angle=turn))
        s.add(Revolute(f"string {k}", ground.point(x, 0), ball.point(0, L)))
        s.show(Tube((x, 0), ball.position([0, 0]), radius=0.05 * R, tone="ink"))
        balls.append(Sphere(ball.point(), R))
    s.add(Collisions("contacts", balls, restitution=e))
    return s

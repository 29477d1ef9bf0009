"""Bearing balls that jump in a shaken race."""

from __future__ import annotations

import math

from stickslip.benchmarks.registry import benchmark
from stickslip.math import sin
from stickslip.model import Cavity, Collisions, Gravity, Motion, PlanarBody, Prismatic, Sphere, ground, solid
from stickslip.model.system import System


@benchmark(source="d'Alembert", dt=2e-4, t_end=0.6)
def jumping_balls(
    *,
    count: int = 7,
    d: float = 0.012,
    R: float = 0.05,
    A: float = 0.004,
    Gamma: float = 1.6,
    mu: float = 0.2,
    e: float = 0.5,
    g: float = 9.81,
) -> System:
    """Balls in the race of a bearing that an unbalanced machine shakes: they jump when its acceleration exceeds gravity.

    The race, of radius R, moves up and down by A sin(omega t), with Gamma = A omega^2/g. Seen from the race gravity is g - A
    omega^2 sin(omega t), vertical all the time. So as long as Gamma < 1 the balls lie still, whatever their number, their
    arrangement and friction; if Gamma > 1 all contacts, those with the race and those of the balls with each other, open at
    the same moment, sin(omega t) = 1/Gamma, and the balls fly side by side until the race is back.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.jumping_balls(count=3, Gamma=0.9), t_end=0.1, dt=2e-4)
    >>> bool(solution.contacts.gap.max() < 1e-7)    # nothing opens
    True
    """
    omega = math.sqrt(Gamma * g / A)
    s = System("jumping balls")
    s.add(Gravity([0, -g]))
    race = s.add(PlanarBody("race", mass=1.0, inertia=1e-4, velocity=[0, A * omega]))
    guide = s.add(Prismatic("guide", ground.point(0, 0), race.point(), axis=[0, 1]))
    w = s.parameter("omega", omega)
    s.add(Motion("shake", guide.displacement, lambda t: s.parameter("A", A) * sin(w * t)))
    step = 2 * math.asin(d / 2 / (R - d / 2))  # balls side by side
    balls = []
    for k in range(count):
        angle = step * (k - (count - 1) / 2) - math.pi / 2
        at = ground.point((R - d / 2) * math.cos(angle), (R - d / 2) * math.sin(angle))
        balls.append(s.add(solid(f"ball {k}", Sphere(at, d / 2), density=78.0, velocity=[0, A * omega])))
    s.add(Collisions("contacts", [*balls, Cavity(race.point(), R)], friction=mu, restitution=e))
    return s

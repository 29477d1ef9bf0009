"""A ball bearing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Angle, Capsule, Cavity, Collisions, Gravity, Motion, Sphere, ground, solid
from stickslip.model.system import System
from stickslip.shapes import Tube

STEEL, BRASS = 78.0, 30.0  # kg/m^2: a slice of 10 mm, and a cage of sheet metal


@benchmark(source="Harris 2001, Rolling Bearing Analysis, chapter 8", dt=1e-4, t_end=0.4)
def ball_bearing(
    *,
    Z: int = 9,
    D: float = 0.039,
    d: float = 0.0095,
    clearance: float = 5e-5,
    play: float = 3e-5,
    omega: float = 50.0,
    load: float = 20.0,
    start: float = 1.0,
    mu: float = 0.15,
    mu_cage: float = 0.05,
    g: float = 9.81,
) -> System:
    """A ball bearing with a cage, with clearance in the races and in the pockets.

    Z balls of diameter d roll between an inner ring, which turns with omega and carries a load, and a fixed outer ring; the
    diameter of the pitch circle is D. The races have the radii (D - d - clearance)/2 and (D + d + clearance)/2, and a ball
    may move by `play` to each side of its pocket. All contacts are detected: balls in a round hole, on a shaft, between the
    webs of the cage.

    The inner ring rests on one or two balls at the bottom, which roll: their centres move with half of the speed of the race,
    so the cage turns with omega (1 - d/D)/2. They push the cage, and the cage pushes the balls that carry nothing. Balls and
    cage begin with `start` times the speed of rolling; friction brings any other start to 1. The ring hangs c = clearance below
    the centre when a ball is under it and c/cos(pi/Z) when it lies between two, so it bobs Z times per turn of the cage. The
    cage has weight too: it hangs by its play on the balls and turns a little faster for it, by up to play/(D/2 sin(pi/Z)).

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.ball_bearing(), t_end=0.01, dt=1e-4)
    >>> bool(-5.4e-5 < solution["ring.y"].min() < -4.9e-5)
    True
    """
    s = System("ball bearing")
    s.add(Gravity([0, -g]))
    inner, outer, r = (D - d - clearance) / 2, (D + d + clearance) / 2, d / 2
    ring = s.add(solid("ring", Sphere(ground.point(0, 0), inner), density=STEEL, angular_velocity=omega))
    s.add(Motion("drive", Angle(ground, ring), lambda t: s.parameter("omega", omega) * t))
    s.potential_energy(s.parameter("load", load) * ring.q[1])
    around = start * omega * inner / D  # of the cage: half of the speed of the race, at the radius D/2
    balls, webs = [], []
    for k in range(Z):
        angle = 2 * math.pi * k / Z - math.pi / 2
        c, n = math.cos(angle), math.sin(angle)
        rolling: dict[str, Any] = {
            "velocity": [-around * D / 2 * n, around * D / 2 * c],
            "angular_velocity": -start * omega * inner / d,
        }
        balls.append(s.add(solid(f"ball {k}", Sphere(ground.point(D / 2 * c, D / 2 * n), r), density=STEEL, **rolling)))
        angle += math.pi / Z
        half = D / 2 * math.sin(math.pi / Z) - r - play  # of the thickness of a web
        c, n = math.cos(angle), math.sin(angle)
        low, high = D / 2 - 0.1 * d, D / 2 + 0.1 * d
        webs.append(Capsule(ground.point(low * c, low * n), ground.point(high * c, high * n), half))
    cage = s.add(solid("cage", webs, density=BRASS, angular_velocity=around))
    middles = [
        cage.position([D / 2 * math.sin(x), -D / 2 * math.cos(x)]) for x in math.pi / Z * np.arange(1, 2 * Z + 1, 2)
    ]
    s.show(*[Tube(a, b, radius=0.05 * d, tone="ink") for a, b in zip(middles, middles[1:] + middles[:1], strict=True)])
    shapes = {"race": [ring, Cavity(ground.point(0, 0), outer)], "ball": balls, "cage": cage}
    friction = {"race": mu, ("race", "ball"): mu, "ball": mu, "cage": 0.0}
    friction |= {("cage", "ball"): mu_cage, ("cage", "race"): mu_cage}
    s.add(Collisions("contacts", shapes, friction=friction))
    return s

"""A pyramid of cannonballs."""

from __future__ import annotations

import math

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Collisions, Gravity, Plane, Sphere, ground, solid
from stickslip.model.system import System


@benchmark(source="statics", dt=1e-3, t_end=0.6)
def cannonballs(*, layers: int = 4, R: float = 0.1, mu: float = 0.25, mu_floor: float = 0.5, g: float = 9.81) -> System:
    """A pyramid of balls on a floor, three to a triangle: it stands if the balls are rough enough, however rough the floor is.

    Four balls: the top one touches the others at the angle phi from the vertical, sin(phi) = 1/sqrt(3). A lower ball has
    friction f at the top ball and at the floor (the same, or it would roll), so N sin(phi) = f (1 + cos(phi)): it needs mu >
    tan(phi/2) = 0.318 between the balls, and mu_floor > tan(phi/2)/4 = 0.079 below them, whatever they weigh. Higher ones
    need more: three layers stand with mu = 0.45 and fall with 0.4. The default falls.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.cannonballs(layers=2, mu=0.35), t_end=0.05, dt=1e-3)
    >>> bool(abs(solution.u[-1]).max() < 1e-7)
    True
    """
    s = System("cannonballs")
    s.add(Gravity([0, 0, -g]))
    d, balls = 2 * R, []
    for level in range(layers):
        side = layers - level
        for i in range(side):
            for j in range(side - i):
                x = d * (i + j / 2 - (side - 1) / 2)  # rows of a triangle, with its centre above the origin
                y = d * math.sqrt(3) / 2 * (j - (side - 1) / 3)
                z = R + d * math.sqrt(2 / 3) * level
                balls.append(s.add(solid(f"ball {level}.{i}.{j}", Sphere(ground.point(x, y, z), R), density=7000)))
    friction = {"ball": mu, ("ball", "floor"): mu_floor, "floor": 0}
    s.add(Collisions("contacts", {"ball": balls, "floor": Plane([0, 0, 0], [0, 0, 1])}, friction=friction))
    return s

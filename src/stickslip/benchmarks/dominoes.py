"""A row of dominoes."""

from __future__ import annotations

from typing import Any

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Box, Collisions, Gravity, Line, ground, solid
from stickslip.model.system import System


@benchmark(source="van Leeuwen 2010, Am. J. Phys. 78, 721-727", dt=5e-4, t_end=0.8)
def dominoes(
    *,
    count: int = 12,
    h: float = 0.048,
    d: float = 0.0075,
    s: float = 0.02,
    mu: float = 0.0,
    mu_floor: float = 1.5,
    e: float = 0.0,
    omega: float = 3.0,
    g: float = 9.81,
) -> System:
    """A row of dominoes: a push on the first one becomes a wave of a speed of its own.

    Stones of height h and thickness d stand s apart. The first one begins to fall with the angular velocity omega about its
    front edge. Those that have fallen lean on each other, h sin(theta_k - theta_{k+1}) = (s + d) cos(theta_{k+1}) - d, and
    the whole train pushes the front: after a few stones the wave has forgotten the push. For feet that do not slip, stones
    without friction between them and plastic impacts the speed follows from energy between impacts and momentum at impacts;
    it is sqrt(g h) times a function of d/h and s/h: 1.198 m/s here, or 1.75 sqrt(g h).

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.dominoes(count=3), t_end=0.4, dt=1e-3)
    >>> bool((solution.q[-1, 2::3] < -0.3).all())    # all three lean over
    True
    """
    system = System("dominoes")
    system.add(Gravity([0, -g]))
    stones = []
    for k in range(count):
        push: dict[str, Any] = (
            {"velocity": [omega * h / 2, omega * d / 2], "angular_velocity": -omega} if k == 0 else {}
        )
        shape = Box(ground.frame([k * (s + d), h / 2]), [d, h])
        stones.append(system.add(solid(f"stone {k}", shape, density=600, **push)))
    shapes = {"stone": stones, "floor": Line([0, 0], [0, 1])}
    friction = {"stone": mu, ("stone", "floor"): mu_floor, "floor": 0}
    system.add(Collisions("contacts", shapes, friction=friction, restitution=e))
    return system

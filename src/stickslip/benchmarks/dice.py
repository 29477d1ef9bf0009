"""Dice."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.math import quaternion
from stickslip.model import Box, Collisions, Gravity, Plane, ground, solid
from stickslip.model.system import System


@benchmark(source="Nagler, Richter 2008, Phys. Rev. E 78, 036207", dt=1e-3, t_end=1.2)
def dice(
    *, count: int = 3, seed: int = 1, edge: float = 0.016, mu: float = 0.4, e: float = 0.4, g: float = 9.81
) -> System:
    """Dice, thrown onto a table with a random spin: a motion that nobody predicts, and numbers that are.

    Every die comes to rest with a face on the table, so that one of its axes is vertical and its centre edge/2 high. The
    faces are equal: over many seeds each comes up one time in six.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.dice(count=1), t_end=1.0, dt=1e-3)
    >>> bool(abs(solution["die 0.z"][-1] - 0.008) < 1e-7)
    True
    """
    rng = np.random.default_rng(seed)
    s = System("dice")
    s.add(Gravity([0, 0, -g]))
    cubes = []
    for k in range(count):
        axis = rng.normal(size=3)
        motion: dict[str, Any] = {
            "position": [0, 1.8 * edge * (k - (count - 1) / 2), 5 * edge],
            "orientation": quaternion(axis, rng.uniform(0, np.pi)),
            "velocity": np.array([0.5, 0, 0]) + rng.uniform(-0.1, 0.1, 3),
            "angular_velocity": rng.uniform(-30, 30, 3),
        }
        cubes.append(s.add(solid(f"die {k}", Box(ground, [edge, edge, edge]), density=1200, **motion)))
    s.add(Collisions("contacts", [*cubes, Plane([0, 0, 0], [0, 0, 1])], friction=mu, restitution=e))
    return s

"""A heap of spheres."""

from __future__ import annotations

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Collisions, Gravity, Plane, RigidBody, Sphere, ground, inertia
from stickslip.model.system import System


@benchmark(source="Zhou, Xu, Yu, Zulli 2002, Powder Technol. 125, 45-54", dt=2e-3, t_end=1.4, tol=1e-6)
def heap(
    *,
    count: int = 120,
    d: float = 0.02,
    plate: float = 4.0,
    mu: float = 0.5,
    mu_plate: float = 0.5,
    seed: int = 1,
    g: float = 9.81,
) -> System:
    """Spheres poured onto a rough plate: what does not fall off lies in a heap, at the angle of repose.

    A column of spheres of diameter d falls onto a plate of the radius plate d, to which spheres are glued. What has no room
    falls off the edge. The heap that remains has the slope that the spheres can have.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.heap(count=9), t_end=0.1, dt=2e-3, tol=1e-6)
    >>> bool(solution.contacts.gap.min() > -1e-6)
    True
    """
    s = System("heap")
    s.add(Gravity([0, 0, -g]))
    rng = np.random.default_rng(seed)
    pitch = 1.06 * d
    k = np.arange(count)
    places = (
        np.column_stack([k % 3 - 1, k // 3 % 3 - 1, 1.2 + k // 9]) * pitch + rng.uniform(-0.02, 0.02, (count, 3)) * d
    )
    m, J = inertia.sphere(d / 2, density=2500)
    grains = s.add_many(RigidBody("grain", mass=m, inertia=J), position=places)
    n = int(plate) + 1
    rows = [(i + 0.5 * j, np.sqrt(0.75) * j) for j in range(-2 * n, 2 * n + 1) for i in range(-2 * n, 2 * n + 1)]
    glued = [Sphere(ground.point(x * d, y * d, 0), d / 2) for x, y in rows if np.hypot(x, y) <= plate]
    floor = Plane([0, 0, -2 * d], [0, 0, 1])
    shapes = {"grain": [Sphere(grain.point(), d / 2) for grain in grains], "plate": [*glued, floor]}
    s.add(Collisions("contacts", shapes, friction={"grain": mu, ("grain", "plate"): mu_plate, "plate": 0}))
    return s


def repose(q: np.ndarray, d: float = 0.02, plate: float = 4.0) -> tuple[int, float]:
    """How many spheres lie on the plate, and the slope in degrees of a cone of their volume (packed to 60 %) that covers it."""
    p = q.reshape(-1, 7)[:, :3] / d
    left = int(((p[:, 2] > 0.3) & (np.hypot(p[:, 0], p[:, 1]) < plate + 0.6)).sum())
    volume = left * np.pi / 6 / 0.6
    return left, float(np.degrees(np.arctan(3 * volume / (np.pi * (plate + 0.5) ** 3))))

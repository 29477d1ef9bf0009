"""A heap of grains."""

from __future__ import annotations

import math

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Box, Collisions, Gravity, Line, PlanarBody, Sphere, ground
from stickslip.model.system import System

DENSITY = 1000.0  # kg/m^2
SPREAD = 0.3  # of the diameters: equal grains lie in the order of a crystal, which has slopes of its own


@benchmark(source="da Cruz, Emam, Prochnow, Roux, Chevoir 2005, Phys. Rev. E 72, 021309", dt=2e-3, t_end=1.2, tol=1e-6)
def heap(
    *,
    count: int = 250,
    d: float = 0.01,
    plate: float = 14.0,
    abreast: int = 6,
    mu: float = 0.5,
    seed: int = 1,
    g: float = 9.81,
) -> System:
    """Grains in the plane are poured onto a plate with a rim: what does not fall off lies at the angle of repose.

    Grains of diameters between 0.7 d and 1.3 d, `abreast` in a row, fall onto a plate from -plate d to plate d with a rim one
    grain high. What has no room runs over the rim into a bin. The heap that remains is as steep as friction between grains
    allows. Slow flow of discs has an effective friction of 0.25, or 14 degrees, for mu = 0.4, and 0.11, or 6 degrees, without
    friction, because grains stand in each other's way [da Cruz]. The lower fall of a wider column leaves a steeper heap.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.heap(count=24), t_end=0.1, dt=2e-3, tol=1e-6)
    >>> bool(solution.contacts.gap.min() > -2e-6)
    True
    """
    s = System("heap")
    s.add(Gravity([0, -g]))
    rng = np.random.default_rng([seed, 1])
    k = np.arange(count)
    places = np.column_stack([k % abreast - (abreast - 1) / 2, 0.7 + k // abreast]) * (1.02 + SPREAD) * d
    places += rng.uniform(-0.005, 0.005, places.shape) * d
    grains = []
    for j, r in enumerate(radii(count, d, seed)):
        m = DENSITY * math.pi * r**2
        grain = s.add(PlanarBody(f"grain {j}", mass=m, inertia=m * r**2 / 2, position=places[j]))
        grains.append(Sphere(grain.point(), float(r)))
    rim = [Sphere(ground.point(side * plate * d, d / 2), d / 2) for side in (-1, 1)]
    wide, deep = (plate + 7) * d, (6 + count / 14) * d
    walls = [Line([-wide, 0], [1, 0]), Line([wide, 0], [-1, 0]), Line([0, -deep], [0, 1])]
    top = Box(ground.frame([0, -d / 2]), [2 * plate * d, d])
    s.add(Collisions("contacts", [*grains, top, *rim, *walls], friction=mu))
    return s


def radii(count: int = 250, d: float = 0.01, seed: int = 1) -> np.ndarray:
    """The radii of the grains of `heap`."""
    return d / 2 * np.random.default_rng(seed).uniform(1 - SPREAD, 1 + SPREAD, count)


def repose(q: np.ndarray, r: np.ndarray, d: float = 0.01, plate: float = 14.0) -> tuple[int, np.ndarray]:
    """How many grains of radii r lie on the plate, and the slopes in degrees of the left and of the right side of the heap.

    The surface is the highest point of any grain above each place. Lines are fitted to it by least squares, between 2 d beside
    the middle of the plate and 1.5 d from its rim.
    """
    p = q.reshape(-1, 3)[:, :2] / d
    on = (p[:, 1] > 0) & (np.abs(p[:, 0]) < plate + 0.6)
    distance = np.arange(2.0, plate - 1.5, 0.05)
    slopes = []
    for side in (-1, 1):
        rise = (r[on] / d) ** 2 - (side * distance[:, None] - p[on, 0]) ** 2
        surface = np.where(rise > 0, p[on, 1] + np.sqrt(np.maximum(rise, 0)), 0).max(axis=1, initial=0)
        slopes.append(-np.polyfit(distance, surface, 1)[0])
    return int(on.sum()), np.degrees(np.arctan(slopes))

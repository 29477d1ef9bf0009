"""A silo that runs out."""

from __future__ import annotations

import math

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Box, Collisions, Gravity, Line, PlanarBody, Sphere, ground
from stickslip.model.system import System

DENSITY = 1000.0  # kg/m^2


@benchmark(source="Beverloo et al. 1961, Chem. Eng. Sci. 15, 260-269", dt=1e-3, t_end=1.0, tol=1e-6)
def silo(
    *,
    count: int = 200,
    d: float = 0.01,
    width: float = 14.0,
    outlet: float = 5.0,
    mu: float = 0.5,
    seed: int = 1,
    g: float = 9.81,
) -> System:
    """A silo in the plane runs out through a slot, at a rate that grows with the width to the power 3/2.

    Grains of diameters between 0.9 d and 1.1 d between two walls, width d apart, above a slot of outlet d; what comes out
    falls into a bin below. Grains arch over the slot and fall freely from there, from a height of about its width: so they
    pass with sqrt(g D), D = outlet d, and their number per second is C sqrt(g/d) (outlet - k)^(3/2) in the plane, with k
    about 2 because grains do not fit at the edges [Beverloo]. A liquid's rate would grow in proportion to the width.

    Arches are hard problems for any solver: the tolerance is 1e-6.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.silo(count=20, width=8), t_end=0.2, dt=2e-3, tol=1e-6)
    >>> bool((solution.q[-1, 1::3] < 0).sum() > 3)    # some are out
    True
    """
    s = System("silo")
    s.add(Gravity([0, -g]))
    rng = np.random.default_rng(seed)
    half, hole, pitch = width * d / 2, outlet * d / 2, 1.12 * d
    columns = int((2 * half - 0.1 * d) / pitch)
    k = np.arange(count)
    places = np.column_stack([(k % columns - (columns - 1) / 2) * pitch, 0.7 * d + k // columns * pitch])
    places += rng.uniform(-0.005, 0.005, places.shape) * d
    grains = []
    for j, r in enumerate(d / 2 * rng.uniform(0.9, 1.1, count)):
        m = DENSITY * math.pi * r**2
        grain = s.add(PlanarBody(f"grain {j}", mass=m, inertia=m * r**2 / 2, position=places[j]))
        grains.append(Sphere(grain.point(), float(r)))
    length = half - hole + d
    plates = [Box(ground.frame([side * (hole + length / 2), -d / 2]), [length, d]) for side in (-1, 1)]
    deep = 1.3 * count * d**2 / (2 * half) + 4 * d
    walls = [Line([-half, 0], [1, 0]), Line([half, 0], [-1, 0]), Line([0, -deep], [0, 1])]
    s.add(Collisions("contacts", [*grains, *plates, *walls], friction=mu))
    return s

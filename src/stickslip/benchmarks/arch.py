"""A stone arch."""

from __future__ import annotations

import math

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Collisions, ConvexPolygon, Gravity, Line, ground, solid
from stickslip.model.system import System


@benchmark(source="Heyman 1969, Int. J. Mech. Sci. 11, 363-385", dt=2e-3, t_end=1.5)
def arch(*, thickness: float = 0.095, stones: int = 15, mu: float = 0.8, g: float = 9.81) -> System:
    """A semicircular arch of loose stones: it stands if a line of thrust fits into it.

    The stones have the mean radius 1 and no mortar. If they do not slide, the arch stands exactly if joint forces exist that
    are in equilibrium with the weights and act inside of every joint. Between the thinnest arch that stands and one that
    falls there is a sharp limit: for very many stones 0.1075 times the radius, 0.1061 for stones = 15. The default is too
    thin: it opens hinges at the crown, at the haunches and at the springings, and falls.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.arch(thickness=0.2, stones=5), t_end=0.02, dt=2e-3)
    >>> bool(abs(solution.u[-1]).max() < 1e-7)
    True
    """
    s = System("arch")
    s.add(Gravity([0, -g]))
    inner, outer = 1 - thickness / 2, 1 + thickness / 2
    rays = [(math.cos(math.pi * k / stones), math.sin(math.pi * k / stones)) for k in range(stones + 1)]
    rays[-1] = (-1.0, 0.0)
    bodies = []
    for k in range(stones):
        (x_0, y_0), (x_1, y_1) = rays[k : k + 2]
        corners = [
            (r * x, r * y) for r, x, y in ((inner, x_0, y_0), (outer, x_0, y_0), (outer, x_1, y_1), (inner, x_1, y_1))
        ]
        bodies.append(s.add(solid(f"stone {k}", ConvexPolygon(ground, corners), density=2000)))
    s.add(Collisions("joints", [*bodies, Line([0, 0], [0, 1])], friction=mu))
    return s

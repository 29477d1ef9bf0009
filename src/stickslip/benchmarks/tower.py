"""A leaning tower of bricks."""

from __future__ import annotations

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Box, Collisions, Gravity, Plane, ground, solid
from stickslip.model.system import System


@benchmark(source="Johnson 1955, Am. J. Phys. 23, 240", dt=1e-3, t_end=1.0)
def tower(
    *,
    count: int = 7,
    lean: float = 1.02,
    size: tuple[float, float, float] = (0.2, 0.1, 0.05),
    mu: float = 0.5,
    g: float = 9.81,
) -> System:
    """A tower of bricks that leans farther than a brick is long, and only just falls.

    From the top, brick k (k = 1, 2, ...) overhangs the next one by lean a/(2 k), with a = size[0]: for lean = 1 the centre of
    mass of all that lies above an edge is exactly over that edge, for every edge at once. Five bricks overhang by a (1 + 1/2
    + 1/3 + 1/4)/2 = 1.04 a. The tower stands if lean < 1 and topples if lean > 1, as here, whatever friction is.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.tower(count=3, lean=0.99), t_end=0.02, dt=1e-3)
    >>> bool(abs(solution.u[-1]).max() < 1e-7)
    True
    """
    s = System("tower")
    s.add(Gravity([0, 0, -g]))
    a, _, c = size
    x, bricks = 0.0, []
    for level in range(count):
        bricks.append(s.add(solid(f"brick {level}", Box(ground.frame([x, 0, c * (level + 0.5)]), size), density=1800)))
        above = count - 1 - level  # bricks that lie on this one
        x += lean * a / (2 * above) if above else 0.0
    s.add(Collisions("contacts", [*bricks, Plane([0, 0, 0], [0, 0, 1])], friction=mu))
    return s

"""The ball in a box."""

from __future__ import annotations

import math

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.math import dot
from stickslip.model.system import System
from stickslip.shapes import Arrow, Circle, Dot, GroundLine, Shape, Snapshot, Touch, drawing


@benchmark(source="Schindler et al. 2014, section 6.2", dt=5e-3, t_end=5.0)
def ball_in_box(
    *, m: float = 1.0, R: float = 1.0, a: float = 4.0, b: float = 4.0, gamma: float = 9.81, e_N: float = 0.3
) -> System:
    """A ball bounces between four walls, under gravity that is askew, and comes to rest in the lower left corner.

    q = (x, y), M = m I, h = -m gamma (cos 30, sin 30 degrees), gaps y - R, a - x - R, b - y - R, x - R (134 to 137).
    All of it is linear, so every scheme of order 2 is exact in flight and at rest, and a drift in the gaps is the drift
    of the scheme. At rest x = y = R, and the walls carry m gamma cos 30 and m gamma sin 30.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.ball_in_box(), t_end=5.0, dt=5e-3, method="half-explicit")
    >>> bool(abs(solution.q[-1] - 1.0).max() < 1e-2)
    True
    """
    s = System("ball in a box")
    m_, R_, a_, b_ = s.parameter("m", m), s.parameter("R", R), s.parameter("a", a), s.parameter("b", b)
    gamma_, e = s.parameter("gamma", gamma), s.parameter("e_N", e_N)
    (x, y), u = s.coordinates("x y", initial=[2, 2], velocity=[0, 0], units="m m")
    s.kinetic_energy(m_ / 2 * dot(u, u))
    s.potential_energy(m_ * gamma_ * (math.cos(math.pi / 6) * x + math.sin(math.pi / 6) * y))
    walls = {"floor": y - R_, "right wall": a_ - x - R_, "ceiling": b_ - y - R_, "left wall": x - R_}  # (134) to (137)
    for name, gap in walls.items():
        s.contact(gap=gap, restitution=e, name=name)
    s.drawing = draw
    return s


@drawing("ball_in_box")
def draw(state: Snapshot) -> list[Shape]:
    """The ball, its path, the four walls, and the direction of gravity."""
    (x, y), R, a, b = state.q, *(state.parameters[key] for key in ("R", "a", "b"))
    tail, along = np.array([0.9 * a, 0.9 * b]), np.array([math.cos(math.pi / 6), math.sin(math.pi / 6)])
    walls = {"floor": (x, y - R), "right wall": (x + R, y), "ceiling": (x, y + R), "left wall": (x - R, y)}
    return [
        GroundLine([(0, 0), (a, 0), (a, b), (0, b), (0, 0)]),
        Arrow(tail, tail - 0.8 * R * along),
        Circle((x, y), R),
        Dot((x, y), trail=True),
        *[Touch(name, at) for name, at in walls.items()],
    ]

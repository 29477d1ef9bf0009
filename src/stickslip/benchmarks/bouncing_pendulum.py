"""The bouncing rigid pendulum."""

from __future__ import annotations

import numpy as np

from stickslip.benchmarks.pendulum import pendulum_body, pendulum_shapes
from stickslip.benchmarks.registry import benchmark
from stickslip.model.system import System
from stickslip.shapes import GroundLine, Shape, Snapshot, Touch, drawing


@benchmark(source="Brüls, Acary, Cardona 2018, section 6.1", dt=1e-3, t_end=5.0)
def bouncing_pendulum(
    *,
    L: float = 1.0,
    m: float = 1.0,
    J: float = 0.1,
    g: float = 10.0,
    theta: float = np.pi / 12,
    theta_dot: float = 0.0,
    x_min: float = np.sqrt(2) / 2,
    e: float = 0.8,
) -> System:
    """A pendulum in redundant coordinates swings against a wall, bounces, and comes to rest there.

    The pendulum of `pendulum` with the gap x - x_min (77). It joins bilateral constraints, impacts that accumulate and
    a persistent contact: what impacts do to the accelerations of the constraints. The paper does not print the
    restitution; e = 0.8 is ours.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_pendulum(), t_end=5.0, dt=1e-3, method="generalized-alpha")
    >>> bool(abs(solution.q[-1, 0] - 2**0.5 / 2) < 1e-8)  # at rest on the wall
    True
    """
    s = System("bouncing pendulum")
    q = pendulum_body(s, L, m, J, g, theta, theta_dot)
    s.contact(gap=q[0] - s.parameter("x_min", x_min), restitution=s.parameter("e", e), name="wall")  # (77)
    s.drawing = draw
    return s


@drawing("bouncing_pendulum")
def draw(state: Snapshot) -> list[Shape]:
    """The pendulum and the wall, of which only the part that it can reach does not cover the rod."""
    x, y, _ = state.q
    L, x_min = state.parameters["L"], state.parameters["x_min"]
    height = -np.sqrt(max(L**2 - x_min**2, 0.0))
    wall = GroundLine([(x_min, height + 0.04 * L), (x_min, height - 0.25 * L)])
    return [wall, *pendulum_shapes(state), Touch("wall", (x, y))]

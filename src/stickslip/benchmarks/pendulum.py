"""The pendulum in redundant coordinates."""

from __future__ import annotations

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.math import cos, sin, vector
from stickslip.model.system import System
from stickslip.shapes import Dot, Polyline, Shape, Snapshot, drawing


@benchmark(source="Brüls, Acary, Cardona 2018, section 5", dt=2e-3, t_end=5.0)
def pendulum(
    *,
    L: float = 1.0,
    m: float = 1.0,
    J: float = 0.1,
    g: float = 10.0,
    theta: float = np.pi / 6,
    theta_dot: float = 10.0,
) -> System:
    """A rigid pendulum as a constrained body: three coordinates, two constraints.

    q = (x, y, theta), x and y of the centre of mass, x = L cos(theta), y = L sin(theta) (75, 76), gravity along -y. It
    has one degree of freedom, (J + m L^2) theta_ddot = -m g L cos(theta), so that everything is known; the constraints
    show what a scheme does on position, velocity and acceleration level.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.pendulum(), t_end=1.0, dt=2e-3, method="generalized-alpha")
    >>> bool(abs(solution.g).max() < 1e-8)
    True
    """
    s = System("pendulum")
    pendulum_body(s, L, m, J, g, theta, theta_dot)
    s.drawing = draw
    return s


def pendulum_body(s: System, L: float, m: float, J: float, g: float, theta: float, theta_dot: float) -> np.ndarray:
    """Declare the pendulum in a system; return its coordinates."""
    L_, m_, J_, g_ = s.parameter("L", L), s.parameter("m", m), s.parameter("J", J), s.parameter("g", g)
    position = [L * np.cos(theta), L * np.sin(theta), theta]
    velocity = [-L * np.sin(theta) * theta_dot, L * np.cos(theta) * theta_dot, theta_dot]
    q, u = s.coordinates("x y theta", initial=position, velocity=velocity, units="m m rad")
    s.kinetic_energy(m_ / 2 * (u[0] ** 2 + u[1] ** 2) + J_ / 2 * u[2] ** 2)
    s.potential_energy(m_ * g_ * q[1])
    s.constraint(vector(q[0] - L_ * cos(q[2]), q[1] - L_ * sin(q[2])), name="pivot")  # (75, 76)
    return q


@drawing("pendulum")
def draw(state: Snapshot) -> list[Shape]:
    """The rod from the pivot to the centre of mass, and the path of the latter."""
    return pendulum_shapes(state)


def pendulum_shapes(state: Snapshot) -> list[Shape]:
    """The rod is drawn from q = (x, y, theta) without the constraint: if that is violated, the rod misses the pivot."""
    x, y, theta = state.q
    arm = state.parameters["L"] * np.array([np.cos(theta), np.sin(theta)])
    return [
        Dot((x, y), "body", trail=True),
        Polyline([(x, y) - arm, (x, y)], "body", width=6.0),
        Dot((0, 0)),
    ]

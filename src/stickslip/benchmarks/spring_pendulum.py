"""The spring pendulum at a wall."""

from __future__ import annotations

from math import pi

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.math import cos
from stickslip.model.system import System
from stickslip.shapes import Dot, Shape, Snapshot, Touch, Wall, drawing, spring


@benchmark(source="Capobianco, Eugster 2018, section 5", dt=1e-3, t_end=1000.0)
def spring_pendulum(
    *,
    m: float = 1.0,
    l0: float = 1.0,
    k: float = 100.0,
    g: float = 9.81,
    e_N: float = 1.0,
    angle: float = pi / 4,
    length: float = 1.1,
) -> System:
    """A mass on a spring swings against a vertical wall, without loss at the impacts.

    q = (phi, l), T = m (ldot^2 + l^2 phidot^2)/2, V = k (l - l0)^2/2 - m g l cos(phi), gap phi; it starts at rest. The
    mass matrix depends on l and energy is conserved for e_N = 1, so that it shows what a scheme does to energy in the
    long run.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.spring_pendulum(), t_end=2.0, dt=1e-3)
    >>> bool(abs(solution.energy().total / solution.energy().total[0] - 1).max() < 2e-3)
    True
    """
    s = System("spring pendulum")
    m_, l0_, k_, g_ = s.parameter("m", m), s.parameter("l0", l0), s.parameter("k", k), s.parameter("g", g)
    (phi, l), (omega, v) = s.coordinates("phi l", initial=[angle, length], velocity=[0, 0], units="rad m")  # noqa: E741
    s.kinetic_energy(m_ / 2 * (v**2 + l**2 * omega**2))  # (64)
    s.potential_energy(k_ / 2 * (l - l0_) ** 2 - m_ * g_ * l * cos(phi))
    s.contact(gap=phi, restitution=s.parameter("e_N", e_N), name="wall")
    s.drawing = draw
    return s


@drawing("spring_pendulum", span=12.0)
def draw(state: Snapshot) -> list[Shape]:
    """The mass on its spring, with its path."""
    phi, l = state.q  # noqa: E741
    at = np.array([l * np.sin(phi), -l * np.cos(phi)])
    pin = np.zeros(2)
    return [
        Wall((0, 0), normal=(1, 0)),
        spring(pin, at, radius=0.04 * state.parameters["l0"]),
        Dot(pin),
        Dot(at, "body", trail=True),
        Touch("wall", at),
    ]

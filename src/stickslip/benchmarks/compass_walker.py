"""The compass walker."""

from __future__ import annotations

import math
from typing import Any

from stickslip.benchmarks.registry import benchmark
from stickslip.math import Scalar, absolute, cos, pi, sin
from stickslip.model.system import System
from stickslip.shapes import Circle, GroundLine, Polygon, Shape, Snapshot, Tone, Touch, drawing

STEP, DEPTH = 0.4, 0.1  # distance of two stepping stones of different feet, depth of the pits between those of one foot


@benchmark(source="Garcia, Chatterjee, Ruina, Coleman 1998, J. Biomech. Eng. 120, 281-288", dt=1e-3, t_end=12.0)
def compass_walker(
    *,
    gamma: float = 0.009,
    beta: float = 1e-4,
    theta: float = 0.2003109,
    theta_dot: float = -0.1998325,
    phi_dot: float = -0.0158230,
    mu: float = 2.0,
) -> System:
    """Two straight legs walk down a slope by themselves: a mass at the hip, small masses at the feet.

    Leg length, hip mass and gravity are 1, the feet have the mass beta. q = (x, y, left, right): hip, and angles of the legs
    from the normal of the slope gamma, positive if the foot is ahead. A foot that lands sticks (friction mu, e = 0), and the
    other one leaves; nothing else is prescribed. Straight legs scuff where they pass each other. So each foot has stepping
    stones of its own, with pits between them: the gap is the height of the foot above them.

    For beta = 0 this is the simplest walker. At gamma = 0.009 its stance angle at heel strike is theta = 0.2003109, a step
    takes about 3.88, and the gait is stable; its period doubles near gamma = 0.0151. The initial state is that just after
    heel strike: theta and its rate for the stance leg, phi_dot for the angle between the legs.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.compass_walker(), t_end=8.0, dt=2e-3)
    >>> print(f"{solution.q[-1, 0] - solution.q[0, 0]:.1f}")    # two steps of 0.4
    0.8
    """
    s = System("compass walker")
    slope, foot, friction = s.parameter("gamma", gamma), s.parameter("beta", beta), s.parameter("mu", mu)
    hip = [-math.sin(theta), math.cos(theta)]
    rates = [-math.cos(theta) * theta_dot, -math.sin(theta) * theta_dot, theta_dot, theta_dot - phi_dot]
    (x, y, left, right), u = s.coordinates(
        "x y left right", initial=[*hip, theta, -theta], velocity=rates, units="m m rad rad"
    )

    def height(x: Scalar, y: Scalar) -> Any:  # above the slope, in the direction of gravity
        return y * cos(slope) - x * sin(slope)

    feet = [(x + sin(a), y - cos(a)) for a in (left, right)]
    speeds = [(u[0] + cos(a) * w, u[1] + sin(a) * w) for a, w in ((left, u[2]), (right, u[3]))]
    s.kinetic_energy((u[0] ** 2 + u[1] ** 2) / 2 + foot / 2 * sum(v_x**2 + v_y**2 for v_x, v_y in speeds))
    s.potential_energy(height(x, y) + foot * sum(height(*at) for at in feet))
    for name, at, speed, first in (("left foot", feet[0], speeds[0], 0.0), ("right foot", feet[1], speeds[1], STEP)):
        s.contact(gap=at[1] + pit(at[0] - first), slip=speed[0], friction=friction, name=name)
    s.drawing = draw
    return s


def pit(x: Scalar) -> Any:
    """How deep the ground is, at the distance x from a stepping stone of this foot: nothing within STEP/2."""
    away = -cos(pi * x / STEP)
    return DEPTH * ((away + absolute(away)) / 2) ** 4


@drawing("compass_walker", span=12.0)
def draw(state: Snapshot) -> list[Shape]:
    """Legs, hip and feet on the slope; the pits are not drawn."""
    x, y, left, right = state.q
    feet = [(x + math.sin(a), y - math.cos(a)) for a in (left, right)]
    thick = 0.02

    def leg(foot: tuple[float, float], tone: Tone) -> Polygon:
        dx, dy = foot[0] - x, foot[1] - y
        n_x, n_y = -dy * thick, dx * thick
        return Polygon([(x + n_x, y + n_y), (x - n_x, y - n_y), foot], tone)

    return [
        GroundLine([(-0.8, 0), (2.4, 0)]),
        leg(feet[1], "third"),
        leg(feet[0], "body"),
        Circle((x, y), 0.06, "other"),
        Touch("left foot", feet[0]),
        Touch("right foot", feet[1]),
    ]

"""Set-ups whose answer can be computed by hand, as a user would write them, by schemes of every family."""

from __future__ import annotations

from math import cos as cosine
from math import sin as sine
from math import sqrt

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.math import absolute, cos, exp, sin

G = 9.81
METHODS = ["event-driven", "rattle", "lobatto", "generalized-alpha", "theta", "half-explicit", "moreau"]


def end(system: ss.System, t: float, method: str, dt: float = 1e-3) -> ss.Solution:
    """Event-driven integration chooses its steps by its tolerance: there dt says only how often a state is kept."""
    return ss.solve(system, t_end=t, dt=t / 10 if method == "event-driven" else dt, method=method, progress=False)


@pytest.mark.parametrize("method", METHODS)
def test_a_plank_on_two_rollers_that_turn_inwards_oscillates(method):
    """Each roller drags with mu times its share of the weight: x'' = -(mu g/L) x."""
    L, mu, x_0 = 0.5, 0.2, 0.1
    s = ss.System("plank")
    (x, y, phi), u = s.coordinates("x y phi", initial=[x_0, 0, 0], velocity=[0, 0, 0])
    s.kinetic_energy((u[0] ** 2 + u[1] ** 2 + 0.4 * u[2] ** 2) / 2)
    s.potential_energy(G * y)
    for name, place, side in (("right", L, -1.0), ("left", -L, 1.0)):
        s.contact(gap=y + (place - x) * sin(phi) / cos(phi), slip=u[0] - side * 5.0, friction=mu, name=name)
    omega, found = sqrt(mu * G / L), end(s, 1.0, method)
    assert found.q[-1, 0] == pytest.approx(x_0 * cosine(omega), abs=3e-4)
    assert found.u[-1, 0] == pytest.approx(-x_0 * omega * sine(omega), abs=3e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_block_in_a_groove_brakes_by_both_flanks(method):
    """Flanks at 45 degrees carry sqrt(2) m g together."""
    s = ss.System("groove")
    (_, y, z), u = s.coordinates("x y z", initial=[0, 0, 0], velocity=[2, 0, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(G * z)
    s.contact(gap=(z + y) / sqrt(2), name="left")
    s.contact(gap=(z - y) / sqrt(2), name="right")
    s.friction(slip=u[0], of=["left", "right"], friction=0.2, name="flanks")
    found, a = end(s, 0.5, method), sqrt(2) * 0.2 * G
    assert found.u[-1, 0] == pytest.approx(2 - 0.5 * a, abs=1e-6)
    assert found.q[-1, 0] == pytest.approx(1 - a / 8, abs=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_a_turntable_takes_a_block_along(method):
    """The belt's velocity is omega x r: slip turns; SciPy's state."""
    omega, mu = 2.0, 0.1

    def rate(t, y):
        slip = np.array([y[2] + omega * y[1], y[3] - omega * y[0]])
        return [y[2], y[3], *(-mu * G * slip / np.linalg.norm(slip))]

    exact = solve_ivp(rate, (0, 0.6), [1, 0, 0, 0], rtol=1e-10, atol=1e-12).y[:, -1]
    s = ss.System("turntable")
    (x, y, z), u = s.coordinates("x y z", initial=[1, 0, 0], velocity=[0, 0, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(G * z)
    s.contact(gap=z, slip=[u[0] + omega * y, u[1] - omega * x], friction=mu, name="table")
    found = end(s, 0.6, method)
    np.testing.assert_allclose(
        [*found.q[-1, :2], *found.u[-1, :2]], exact, atol=1e-9 if method == "event-driven" else 5e-4
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parts", [False, True], ids=["equations", "parts"])
def test_friction_of_time_place_and_speed(method, parts):
    """mu = 0.2 + 0.1 sin(3 t) + 0.05 x + 0.1 exp(-v): SciPy's state, while it slides."""
    exact = solve_ivp(
        lambda t, y: [y[1], -G * (0.2 + 0.1 * np.sin(3 * t) + 0.05 * y[0] + 0.1 * np.exp(-y[1]))],
        (0, 0.8), [0, 3.0], rtol=1e-10, atol=1e-12,
    ).y[:, -1]  # fmt: skip
    s = ss.System("block")
    if parts:
        b = s.add(ss.PointMass("b", mass=3.0, position=[0, 0], velocity=[3, 0]))
        s.add(ss.Gravity([0, -G]))
        law = lambda v: 0.2 + 0.1 * sin(3 * s.time) + 0.05 * b.q[0] + 0.1 * exp(-v)  # noqa: E731
        s.add(ss.Contact("floor", b.point(), ss.Line([0, 0], [0, 1]), friction=law))
    else:
        (x, y), u = s.coordinates("x y", initial=[0, 0], velocity=[3, 0])
        s.kinetic_energy(u @ u / 2)
        s.potential_energy(G * y)
        mu = 0.2 + 0.1 * sin(3 * s.time) + 0.05 * x + 0.1 * exp(-absolute(u[0]))
        s.contact(gap=y, slip=u[0], friction=mu, name="floor")
    found = end(s, 0.8, method)
    np.testing.assert_allclose([found.q[-1, 0], found.u[-1, 0]], exact, atol=1e-8 if method == "event-driven" else 3e-3)


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_with_restitution_of_its_speed_falls_on_a_belt(method):
    """e = 1/(1 + v), and mu (1 + e) v of tangential percussion along the belt, which is faster."""
    h, mu, t = 0.5, 0.15, 0.4
    v, t_1 = sqrt(2 * G * h), sqrt(2 * h / G)
    e = 1 / (1 + v)
    s = ss.System("belt")
    ball = s.add(ss.PointMass("ball", mass=2.0, position=[0, h]))
    s.add(ss.Gravity([0, -G]))
    belt = ss.Line([0, 0], [0, 1], velocity=[4.0, 0])
    s.add(ss.Contact("belt", ball.point(), belt, friction=mu, restitution=lambda v: 1 / (1 + v)))
    found = end(s, t, method, 2e-4)
    exact = [
        mu * (1 + e) * v * (t - t_1),
        e * v * (t - t_1) - G / 2 * (t - t_1) ** 2,
        mu * (1 + e) * v,
        e * v - G * (t - t_1),
    ]
    np.testing.assert_allclose([*found.q[-1], *found.u[-1]], exact, atol=1e-9 if method == "event-driven" else 3e-3)

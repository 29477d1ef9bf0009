"""Forces, motors and controllers, against closed solutions."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from stickslip.errors import ModelError
from stickslip.math import cos, quaternion, quaternion_rotation, sin


def solve(system: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, progress=False, **options)


def wheel(planar: bool, J: float = 0.5) -> tuple[ss.System, ss.Revolute, int]:
    """A wheel on a hub, and which velocity is its spin."""
    s = ss.System("wheel")
    if planar:
        body = s.add(ss.PlanarBody("wheel", mass=1, inertia=J))
        return s, s.add(ss.Revolute("hub", ss.ground.point(0, 0), body.point())), 2
    body = s.add(ss.RigidBody("wheel", mass=1, inertia=[1, 1, J]))
    return s, s.add(ss.Revolute("hub", ss.ground.point(0, 0, 0), body.point(), axis=[0, 0, 1])), 5


@pytest.mark.parametrize("planar", [True, False])
def test_a_torsional_spring_with_damper_is_a_damped_oscillator(planar):
    s, hub, spin = wheel(planar)
    s.add(ss.SpringDamper("spring", hub.angle, stiffness=8.0, damping=0.4, rest_length=0.3))
    delta, omega_0 = 0.4 / (2 * 0.5), np.sqrt(8 / 0.5)
    omega = np.sqrt(omega_0**2 - delta**2)
    solution = solve(s, 2.0, 1e-3)
    t = solution.t
    exact = 0.3 * omega_0**2 / omega * np.exp(-delta * t) * np.sin(omega * t)
    np.testing.assert_allclose(solution.u[:, spin], exact, atol=1e-4)


@pytest.mark.parametrize("planar", [True, False])
def test_a_controller_follows_its_target(planar):
    """J xdd = -k (x - r) - d (xd - rd), which starts on the target: the lag is due to the target's acceleration."""
    s, hub, spin = wheel(planar)
    s.add(ss.Controller("servo", hub.angle, lambda t: 0.5 * (1 - cos(2 * t)), stiffness=2000.0, damping=40.0))
    solution = solve(s, 3.0, 1e-3)
    assert np.abs(solution.u[:, spin] - np.sin(2 * solution.t)).max() < 0.5 * 4 * 0.5 / 40 * 1.5
    s, hub, spin = wheel(planar)
    s.add(ss.Controller("servo", hub.angle, 0.7, stiffness=50.0, damping=10.0))
    solution = solve(s, 4.0, 1e-2)
    angle = solution.q[-1, 2] if planar else 2 * np.arctan2(solution.q[-1, 6], solution.q[-1, 3])
    assert angle == pytest.approx(0.7, abs=1e-6)


def test_a_motor_with_a_speed_curve_reaches_its_idle_speed():
    s, hub, spin = wheel(False)
    s.add(ss.Motor("motor", hub.angle, lambda t, x, v: 3.0 - 0.5 * v))
    solution = solve(s, 5.0, 1e-3)
    np.testing.assert_allclose(solution.u[:, spin], 6 * (1 - np.exp(-solution.t)), atol=1e-5)


def test_a_nonlinear_spring_conserves_its_energy():
    s = ss.System("Duffing")
    ball = s.add(ss.PointMass("ball", mass=1, position=[1.2, 0, 0]))
    s.add(ss.SpringDamper("spring", ss.ground.point(0, 0, 0), ball.point(), law=lambda x, v: -(x**3)))
    solution = solve(s, 0.8, 1e-3)
    energy = solution.kinetic + solution.q[:, 0] ** 4 / 4
    np.testing.assert_allclose(energy, 1.2**4 / 4, rtol=1e-5)
    assert np.ptp(solution.kinetic) > 0.1


def test_forces_act_in_space_or_in_the_frame_of_the_body():
    """Off the centre of mass they turn the body, too: about a principal axis, alpha = r f/J."""
    A = quaternion_rotation(quaternion([1, 2, 3], 0.9))
    for local in (True, False):
        s = ss.System("drone")
        drone = s.add(ss.RigidBody("drone", mass=2, inertia=[1, 1.5, 0.8], orientation=A))
        force = np.array([0.0, 0.3, 0.0])
        s.add(ss.Force("thrust", drone.point(0.5, 0, 0), force if local else A @ force, local=local))
        first = solve(s, 1e-3, 1e-4)
        np.testing.assert_allclose(first.u[-1, :3], A @ force / 2 * 1e-3, atol=1e-9)
        np.testing.assert_allclose(first.u[-1, 3:], [0, 0, 0.15 / 0.8 * 1e-3], atol=1e-9)


def test_a_force_of_time():
    s = ss.System("shaker")
    body = s.add(ss.PlanarBody("body", mass=2, inertia=1))
    s.add(ss.Force("push", body.point(0.5, 0), lambda t: [0, cos(3 * t)]))
    solution = solve(s, 0.2, 1e-4)
    np.testing.assert_allclose(solution.u[:, 1], np.sin(3 * solution.t) / 6, atol=1e-7)
    assert solution.u[-1, 2] == pytest.approx(0.5 * np.sin(0.6) / 3, rel=1e-3)


@pytest.mark.parametrize("planar", [True, False])
def test_a_torque_has_its_reaction(planar):
    s = ss.System("two rotors")
    if planar:
        a, b = (s.add(ss.PlanarBody(n, mass=1, inertia=J)) for n, J in (("a", 0.5), ("b", 2.0)))
        s.add(ss.Torque("motor", a, 0.3, reaction=b))
    else:
        a, b = (s.add(ss.RigidBody(n, mass=1, inertia=[1, 1.5, J])) for n, J in (("a", 0.5), ("b", 2.0)))
        s.add(ss.Torque("motor", a, [0, 0, 0.3], reaction=b))
    solution = solve(s, 2.0, 1e-2)
    assert solution.u[-1, len(a.u) - 1] == pytest.approx(2 * 0.3 / 0.5, rel=1e-9)
    assert solution.u[-1, -1] == pytest.approx(-2 * 0.3 / 2.0, rel=1e-9)


def test_a_user_expression_is_a_force():
    """Air drag, f = -c |v| v: v = v_0/(1 + c v_0 t/m)."""
    s = ss.System("drag")
    ball = s.add(ss.PointMass("ball", mass=2, position=[0, 0], velocity=[3, 4]))
    speed = (ball.u[0] ** 2 + ball.u[1] ** 2) ** 0.5
    s.add(ss.Force("drag", ball.point(), [-0.1 * speed * ball.u[0], -0.1 * speed * ball.u[1]]))
    solution = solve(s, 2.0, 1e-3)
    np.testing.assert_allclose(np.linalg.norm(solution.u, axis=1), 5 / (1 + 0.1 * 5 * solution.t / 2), rtol=1e-6)


def test_a_measure_of_any_expression():
    s = ss.System("bead")
    ball = s.add(ss.PointMass("ball", mass=2, position=[0, 1.5]))
    s.add(ss.SpringDamper("spring", ss.Expression(ball.q[1] + 0.1 * sin(ball.q[0])), stiffness=8.0, rest_length=1.0))
    solution = solve(s, 1.0, 1e-3)
    energy = solution.energy().total
    assert np.ptp(energy) < 1e-5
    assert np.ptp(solution.q[:, 0]) > 1e-3


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda b: ss.SpringDamper("f", b.point()), "'f' acts between two points, or along one measure"),
        (lambda b: ss.Force("f", ss.ground.point(0, 0, 0), [0, 0, 1]), "acts on the ground"),
        (lambda b: ss.Force("f", b.point(), [0, 1]), r"'f': force = \[0, 1\] needs 3 components"),
        (lambda b: ss.Torque("f", b, 1.0), "needs 3 components"),
        (lambda b: ss.Gravity([0, -9.81]), "2 components, but body 'b' lives in 3 dimensions"),
    ],
)
def test_bad_input_is_named(make, message):
    s = ss.System()
    body = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]))

    def declare() -> None:
        s.add(make(body))
        s.equations()  # fields act on bodies here

    with pytest.raises(ModelError, match=message):
        declare()

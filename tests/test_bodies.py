"""Rigid bodies: inertia, the free top, the heavy top, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.engine.derive import derive
from stickslip.errors import ModelError
from stickslip.math import quaternion, quaternion_rotation

RNG = np.random.default_rng(1)


# --- inertia ----------------------------------------------------------------------------------------------------------


def by_sampling(inside, box, n=400_000):
    """Volume and principal moments at density one, from random points: error about 1/sqrt(n)."""
    x = RNG.uniform(-1, 1, (n, 3)) * box
    x = x[inside(x)]
    cell = np.prod(2 * np.asarray(box, float)) / n
    square = (x**2).sum(axis=0)
    return len(x) * cell, (square.sum() - square) * cell


@pytest.mark.parametrize(
    "given, inside, box",
    [
        (ss.inertia.sphere(0.9, density=1), lambda x: (x**2).sum(1) < 0.81, [1, 1, 1]),
        (ss.inertia.hollow_sphere(0.9, 0.5, density=1), lambda x: abs((x**2).sum(1) - 0.53) < 0.28, [1, 1, 1]),
        (ss.inertia.box(2, 1, 3, density=1), lambda x: np.abs(x[:, 0]) < 2, [1, 0.5, 1.5]),
        (
            ss.inertia.hollow_box((2, 1, 3), (1, 0.5, 2), density=1),
            lambda x: (np.abs(x) > [0.5, 0.25, 1]).any(1),
            [1, 0.5, 1.5],
        ),
        (ss.inertia.cylinder(0.5, 3, density=1), lambda x: x[:, 0] ** 2 + x[:, 1] ** 2 < 0.25, [0.5, 0.5, 1.5]),
        (
            ss.inertia.hollow_cylinder(0.5, 0.3, 3, density=1),
            lambda x: abs(x[:, 0] ** 2 + x[:, 1] ** 2 - 0.17) < 0.08,
            [0.5, 0.5, 1.5],
        ),
        (
            ss.inertia.capsule(0.5, 2, density=1),
            lambda x: x[:, 0] ** 2 + x[:, 1] ** 2 + np.maximum(np.abs(x[:, 2]) - 1, 0) ** 2 < 0.25,
            [0.5, 0.5, 1.5],
        ),
        (ss.inertia.ellipsoid(1, 0.5, 2, density=1), lambda x: ((x / [1, 0.5, 2]) ** 2).sum(1) < 1, [1, 0.5, 2]),
    ],
)
def test_mass_and_inertia_are_those_of_the_shape(given, inside, box):
    mass, inertia = by_sampling(inside, box)
    assert given.mass == pytest.approx(mass, rel=0.01)
    np.testing.assert_allclose(given.inertia, inertia, rtol=0.015)


def test_thin_shapes_are_limits_of_thick_ones():
    thin = 1e-7
    for shape, limit in (
        (ss.inertia.spherical_shell(1, mass=2), ss.inertia.hollow_sphere(1, 1 - thin, mass=2)),
        (ss.inertia.disk(1, mass=2), ss.inertia.cylinder(1, thin, mass=2)),
        (ss.inertia.ring(1, mass=2), ss.inertia.hollow_cylinder(1, 1 - thin, thin, mass=2)),
    ):
        np.testing.assert_allclose(shape.inertia, limit.inertia, rtol=1e-6)
    assert ss.inertia.disk(2, density=3).mass == pytest.approx(12 * np.pi)


# --- motion -----------------------------------------------------------------------------------------------------------


def test_a_free_top_keeps_energy_momentum_and_the_norm_of_its_quaternion_over_a_hundred_thousand_steps():
    """RATTLE is, for a free top, L_0 = L_M + dt/2 omega_M x L_M and L_1 = L_M - dt/2 omega_M x L_M: |L| and the
    energy are kept exactly, the Cayley map keeps |p|, and the direction of L in space is of second order.
    """
    J = np.array([1.0, 2.0, 2.5])
    errors = {}
    for dt, steps in ((0.01, 100_000), (0.02, 1_000), (0.01, 2_000)):
        s = ss.System("top")
        s.add(ss.RigidBody("top", mass=1, inertia=J, velocity=[1, 2, 3], angular_velocity=[0.01, 1, 0.02]))
        solution = ss.solve(s, t_end=steps * dt, dt=dt, tol=1e-13, progress=False)
        energy = solution.kinetic
        states = zip(solution.q[:2001], solution.u[:2001], strict=True)
        L = np.array([quaternion_rotation(q[3:]) @ (J * u[3:]) for q, u in states])
        body = np.linalg.norm(J * solution.u[:, 3:], axis=1)
        assert np.ptp(energy) < 1e-9 * energy[0]
        assert np.ptp(body) < 1e-9
        assert np.abs(np.linalg.norm(solution.q[:, 3:], axis=1) - 1).max() < 1e-11
        np.testing.assert_allclose(solution.q[-1, :3], np.array([1, 2, 3]) * steps * dt, rtol=1e-10)
        assert np.ptp(solution.u[:, 4]) > 1.9  # it tumbles: unstable about the middle axis
        errors[dt, steps] = np.abs(L - L[0]).max()
    assert errors[0.02, 1_000] / errors[0.01, 2_000] == pytest.approx(4, rel=0.1)


def heavy_top(spin: float) -> ss.System:
    s = ss.System("heavy top")
    arm = np.array([0.0, 0.0, 0.5])
    p = quaternion([1, 0, 0], 0.6)
    omega = np.array([0.3, 0.2, spin])
    top = s.add(
        ss.RigidBody(
            "top",
            mass=2,
            inertia=[0.1, 0.12, 0.05],
            position=quaternion_rotation(p) @ arm,
            orientation=p,
            velocity=quaternion_rotation(p) @ np.cross(omega, arm),
            angular_velocity=omega,
        )
    )
    s.add(ss.Gravity([0, 0, -9.81]))
    s.add(ss.Spherical("tip", ss.ground.point(0, 0, 0), top.point(*-arm)))
    return s


def test_the_heavy_top_converges_to_the_reference_with_second_order():
    s = heavy_top(spin=30.0)
    d, m = np.array([0.0, 0.0, 0.5]), 2.0
    Theta = np.diag([0.1, 0.12, 0.05]) + m * (d @ d * np.eye(3) - np.outer(d, d))  # about the tip

    def rate(_, y):
        p, w = y[:4], y[4:]
        pdot = 0.5 * np.array([-p[1:] @ w, *(p[0] * w + np.cross(p[1:], w))])
        moment = np.cross(d, quaternion_rotation(p).T @ [0, 0, -m * 9.81])
        return [*pdot, *np.linalg.solve(Theta, moment - np.cross(w, Theta @ w))]

    exact = solve_ivp(rate, (0, 0.5), [*s.q_initial[3:], *s.u_initial[3:]], rtol=1e-11, atol=1e-12).y[:4, -1]
    errors = []
    for dt in (2e-3, 1e-3):
        solution = ss.solve(s, t_end=0.5, dt=dt, tol=1e-11, progress=False)
        errors.append(np.abs(solution.q[-1, 3:] - exact).max())
        assert np.abs(solution.g).max() < 1e-9
        assert np.abs(solution.g_dot).max() < 1e-9
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_a_turned_and_shifted_frame_of_inertia_changes_nothing():
    """A full inertia matrix in a turned body frame is the same body as its principal moments."""
    A = quaternion_rotation(quaternion([1, 2, 3], 1.1))
    J, omega = np.diag([1.0, 2.0, 2.5]), np.array([0.3, 1.0, -0.4])
    runs = []
    for inertia, orientation, w in ((J, np.eye(3), omega), (A.T @ J @ A, A, A.T @ omega)):
        s = ss.System()
        s.add(ss.RigidBody("top", mass=1, inertia=inertia, orientation=orientation, angular_velocity=w))
        end = ss.solve(s, t_end=2, dt=0.01, progress=False, tol=1e-12)
        runs.append((quaternion_rotation(end.q[-1, 3:]) @ orientation.T, end.kinetic[-1]))
    np.testing.assert_allclose(runs[0][0], runs[1][0], atol=1e-9)
    assert runs[0][1] == pytest.approx(runs[1][1])


def test_a_disk_rolls_in_a_steady_circle():
    """Angular momentum: Omega sin(theta) ((C + m r^2) omega_3 - A Omega cos(theta)) = -m g r cos(theta)."""
    m, r, g, theta, Omega = 1.3, 0.4, 9.81, 0.5, 6.0
    A, _, C = ss.inertia.disk(r, mass=m).inertia
    omega_3 = (A * Omega * np.cos(theta) - m * g * r / (Omega * np.tan(theta))) / (C + m * r**2)
    e_2, e_3 = np.array([0, np.cos(theta), np.sin(theta)]), np.array([0, -np.sin(theta), np.cos(theta)])
    s = ss.System("rolling disk")
    disk = s.add(
        ss.RigidBody(
            "disk",
            mass=m,
            inertia=[A, A, C],
            position=r * e_2,
            orientation=np.column_stack([[1, 0, 0], e_2, e_3]),
            velocity=[-omega_3 * r, 0, 0],
            angular_velocity=[0, Omega * np.sin(theta), omega_3],
        )
    )
    s.add(ss.Gravity([0, 0, -g]))
    s.add(ss.Rolling("road", ss.Disk(disk.point(), [0, 0, 1], r), ss.Plane([0, 0, 0], [0, 0, 1])))
    radius = abs(omega_3 * r / Omega)
    # The published scheme asks gamma(t_1, q_1, u_M) = 0, velocity and position of different times: first order.
    for variant, order in (("printed", 1), ("mean", 2)):
        ends = []
        for n in (400, 800):
            dt = 2 * np.pi / Omega / n
            solution = ss.solve(s, t_end=n * dt, dt=dt, method="rattle", variant=variant, progress=False, tol=1e-11)
            ends.append(solution.q[-1, :3] - solution.q[0, :3])
            assert np.abs(solution.gamma).max() < 1e-9
        assert np.linalg.norm(ends[0]) / np.linalg.norm(ends[1]) == pytest.approx(2**order, rel=0.05)
        assert np.linalg.norm(2**order * ends[1] - ends[0]) < 1e-3 * radius
    middle = (solution.q[:, :2].max(axis=0) + solution.q[:, :2].min(axis=0)) / 2
    np.testing.assert_allclose(np.linalg.norm(solution.q[:, :2] - middle, axis=1), radius, rtol=0.02)


# --- structure --------------------------------------------------------------------------------------------------------


def test_bodies_and_contacts_that_differ_in_numbers_share_one_type():
    s = ss.System()
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    for k in range(5):
        m, J = ss.inertia.sphere(0.1 + k, mass=1 + k)
        ball = s.add(ss.RigidBody(f"ball {k}", mass=m, inertia=J, position=[3 * k, 0, 10]))
        s.add(ss.Contact(f"floor {k}", ss.Sphere(ball.point(), 0.1 + k), floor, friction=0.1 * k, restitution=0.1 * k))
        s.add(ss.Spherical(f"pin {k}", ss.ground.point(3 * k, 0, 9), ball.point(0, 0, -1)))
    s.add(ss.Gravity([0, 0, -9.81]))
    assert len({part.type.key for part in derive(s).parts}) == 3


def test_positions_of_rigid_bodies_are_eliminated():
    """Only velocities and percussions are unknowns: 6 + 3 for a heavy top, in both stages of RATTLE."""
    from stickslip.engine.program import assemble
    from stickslip.schemes import Rattle

    program = assemble(derive(heavy_top(1.0)), step=Rattle().step(), carry=Rattle().carry)
    assert set(program.unknowns.values()) == {9}


def test_frames_carry_points_and_axes():
    s = ss.System()
    body = s.add(
        ss.RigidBody(
            "body", mass=1, inertia=[1, 1, 1], position=[1, 2, 3], orientation=quaternion([0, 0, 1], np.pi / 2)
        )
    )
    frame = body.frame([0.5, 0, 0], quaternion_rotation(quaternion([1, 0, 0], np.pi / 2)))
    np.testing.assert_allclose(frame.point(0, 1, 0).coordinates, [0.5, 0, 1], atol=1e-15)
    np.testing.assert_allclose(frame.axis(0, 0, 1).components, [0, -1, 0], atol=1e-15)
    np.testing.assert_allclose(s.initial_value(body.position([0.5, 0, 1])), [1, 2.5, 4], atol=1e-15)
    np.testing.assert_allclose(s.initial_value(body.local(body.position([0.5, 0, 1]))), [0.5, 0, 1], atol=1e-15)


def test_frames_of_the_plane_take_an_angle():
    frame = ss.ground.frame([1.0, 2.0], 0.3)
    np.testing.assert_array_equal(frame.rotation, ss.math.rotation(0.3))
    np.testing.assert_allclose(frame.point(1, 0).coordinates, [1 + np.cos(0.3), 2 + np.sin(0.3)], rtol=1e-15)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: ss.RigidBody("b", mass=-1, inertia=[1, 1, 1]),
            r"rigid body 'b': mass = -1 must be a finite number > 0",
        ),
        (
            lambda: ss.RigidBody("b", mass=1, inertia=[1, 1, 3]),
            r"'b': .*1, 1, 3 violate the triangle inequality, 3 > 1 \+ 1",
        ),
        (lambda: ss.RigidBody("b", mass=1, inertia=[1, -1, 1]), r"'b': principal moment of inertia -1 must be > 0"),
        (lambda: ss.RigidBody("b", mass=1, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (lambda: ss.RigidBody("b", mass=1, inertia=2.0), "three principal moments or a 3 x 3 matrix"),
        (lambda: ss.RigidBody("b", mass=1, inertia=[1, 1, 1], orientation=[0, 0, 0, 0]), "quaternion .* of length > 0"),
        (
            lambda: ss.RigidBody("b", mass=1, inertia=[1, 1, 1], orientation=np.diag([1, 1, -1.0])),
            "not a rotation matrix",
        ),
        (lambda: ss.PlanarBody("b", mass=1, inertia=0), r"planar body 'b': inertia = 0 must be"),
        (lambda: ss.PointMass("b", mass=np.nan, position=[0]), r"point mass 'b': mass = nan"),
        (lambda: ss.inertia.box(1, -1, 1, mass=1), "box: y = -1"),
        (lambda: ss.inertia.sphere(1), "either mass= or density="),
        (lambda: ss.inertia.hollow_sphere(1, 2, mass=1), "hole 2 must be smaller"),
        (lambda: ss.RigidBody("b", mass=1, inertia=[1, 1, 1]).point(1, 2), "needs 3 coordinates, got 2"),
        (lambda: ss.RigidBody("b", mass=1, inertia=[1, 1, 1]).q, "belongs to no system yet"),
        (lambda: ss.ground.frame([0, 0, 0], np.diag([1, 1, -1.0])), "must be a proper orthogonal 3 x 3"),
        (lambda: ss.ground.frame([0, 0], np.diag([1, -1.0])), "must be an angle or a proper orthogonal 2 x 2"),
        (lambda: ss.ground.frame([0, 0], np.nan), "rotation = nan must be a finite number"),
        (lambda: ss.ground.frame([0, 0, 0], 0.3), "must be a proper orthogonal 3 x 3"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_a_part_belongs_to_one_system():
    a, b = ss.System("first"), ss.System("second")
    body = a.add(ss.RigidBody("body", mass=1, inertia=[1, 1, 1]))
    with pytest.raises(ModelError, match="part 'body' belongs to system 'first' already"):
        b.add(body)
    b.add(ss.Spherical("pin", ss.ground.point(0, 0, 0), body.point(0, 0, 1)))
    with pytest.raises(ModelError, match=r"'body\..*', which this system does not declare"):
        b.equations()

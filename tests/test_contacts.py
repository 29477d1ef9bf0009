"""Contacts: geometry and laws, against textbook motion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import stickslip as ss
from stickslip.errors import ModelError
from stickslip.math import cos, exp, quaternion, quaternion_rotation, sin

G = 9.81
FLOOR = ss.Plane([0, 0, 0], [0, 0, 1])
TETRAHEDRON = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]


def solve(system: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, progress=False, **options)


def world(name: str = "world") -> ss.System:
    s = ss.System(name)
    s.add(ss.Gravity([0, 0, -G]))
    return s


# --- motion -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rattle", "moreau"])
@pytest.mark.parametrize("mu", [0.5, 0.1])
def test_a_sphere_on_an_incline_rolls_or_slides(mu, method):
    """Rolls with 5/7 g sin(alpha) where mu >= 2/7 tan(alpha), else slides with g (sin(alpha) - mu cos(alpha))."""
    alpha, R = 0.5, 0.1
    normal, down = np.array([np.sin(alpha), 0, np.cos(alpha)]), np.array([np.cos(alpha), 0, -np.sin(alpha)])
    s = world("incline")
    m, J = ss.inertia.sphere(R, mass=1.0)
    ball = s.add(ss.RigidBody("ball", mass=m, inertia=J, position=R * normal))
    s.add(ss.Contact("plane", ss.Sphere(ball.point(), R), ss.Plane([0, 0, 0], normal), friction=mu))
    solution = solve(s, 1.0, 1e-2, method=method)
    rolls = mu >= 2 / 7 * np.tan(alpha)
    acceleration = 5 / 7 * G * np.sin(alpha) if rolls else G * (np.sin(alpha) - mu * np.cos(alpha))
    spin = acceleration / R if rolls else 5 / 2 * mu * G * np.cos(alpha) / R
    rel = 1e-6 if method == "rattle" else 0.03  # Moreau's contact closes after the first steps of 1e-2
    assert solution.u[-1, :3] @ down == pytest.approx(acceleration, rel=rel)
    omega = quaternion_rotation(solution.q[-1, 3:]) @ solution.u[-1, 3:]
    assert omega[1] == pytest.approx(spin, rel=rel)


def test_a_box_dropped_on_an_edge_comes_to_rest_without_penetration():
    """Eight vertices, four of them redundant in the end."""
    s = world("box")
    size = [0.3, 0.2, 0.1]
    m, J = ss.inertia.box(*size, mass=1.0)
    p = quaternion([0, 1, 0], np.arctan2(0.1, 0.3) + 0.4)  # on one edge, the centre of mass not above it
    box = s.add(ss.RigidBody("box", mass=m, inertia=J, position=[0, 0, 0.4], orientation=p))
    s.add(ss.Contact("floor", ss.Box(box, size), FLOOR, friction=0.4, restitution=0.2))
    solution = solve(s, 2.0, 2e-3)
    assert solution.gap.min() > -1e-8
    assert np.abs(solution.u[-1]).max() < 1e-6
    np.testing.assert_allclose(np.sort(solution.gap[-1])[:4], 0, atol=1e-8)
    assert np.diff(solution.energy().total).max() < 1e-9
    # All weight is carried: the percussions of a step are m g dt.
    assert solution.P_N[-1].sum() == pytest.approx(m * G * 2e-3, rel=1e-6)


@pytest.mark.parametrize("tilt, points, height", [(0.05, 8, 0.1), (1.2, 0, 0.03)])
def test_a_can_stands_or_lies(tilt, points, height):
    s = world("can")
    m, J = ss.inertia.cylinder(0.03, 0.2, mass=0.3)
    p = quaternion([1, 0.3, 0], tilt)
    can = s.add(ss.RigidBody("can", mass=m, inertia=J, position=[0, 0, 0.12], orientation=p))
    s.add(ss.Contact("floor", ss.Cylinder(can.point(), [0, 0, 1], 0.03, 0.2, points), FLOOR, friction=0.5))
    solution = solve(s, 0.7, 5e-4)
    assert solution.gap.min() > -1e-7
    assert np.diff(solution.energy().total).max() < 1e-6
    assert abs(solution.q[-1, 2] - height) < 2e-3  # it still rocks a little when it stands


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_a_rocking_can_is_solved_at_every_step(method):
    """Two points of one rim that stick are nearly redundant: plain Newton cycles between stick and slip here."""
    s = world("rocking can")
    m, J = ss.inertia.cylinder(0.03, 0.2, mass=0.3)
    p = quaternion([1, 0.3, 0], 0.05)
    can = s.add(ss.RigidBody("can", mass=m, inertia=J, position=[0, 0, 0.12], orientation=p))
    s.add(ss.Contact("floor", ss.Cylinder(can.point(), [0, 0, 1], 0.03, 0.2, 8), FLOOR, friction=0.5))
    solution = solve(s, 1.5, 2e-3, method=method)
    assert solution.stats.max_residuals.max() < 1e-8
    assert abs(solution.q[-1, 2] - 0.1) < 2e-3


def test_an_egg_and_a_capsule_come_down():
    s = world("egg and capsule")
    m, J = ss.inertia.ellipsoid(0.2, 0.3, 0.1, mass=1.0)
    egg = s.add(ss.RigidBody("egg", mass=m, inertia=J, position=[0, 0, 0.5], orientation=quaternion([1, 0, 0], 0.3)))
    s.add(ss.Contact("egg on floor", ss.Ellipsoid(egg, [0.2, 0.3, 0.1]), FLOOR, ss.CoulombContensou(0.5, 0.01)))
    m, J = ss.inertia.capsule(0.1, 0.6, mass=1.0)
    rod = s.add(ss.RigidBody("rod", mass=m, inertia=J, position=[2, 0, 1], orientation=quaternion([1, 0, 0], 1.0)))
    skin = ss.Capsule(rod.point(0, 0, -0.3), rod.point(0, 0, 0.3), 0.1)
    s.add(ss.Contact("rod on floor", skin, FLOOR, friction=0.5))
    solution = solve(s, 2.0, 2e-3)
    assert solution.gap.min() > -1e-8
    assert solution.q[-1, 9] == pytest.approx(0.1, abs=1e-6)  # both ends of the capsule on the floor
    assert np.diff(solution.energy().total).max() < 1e-3


def test_spheres_exchange_their_momentum():
    s = ss.System("collision")
    m, J = ss.inertia.sphere(0.5, mass=1.0)
    a = s.add(ss.RigidBody("a", mass=m, inertia=J, position=[0, 0, 0], velocity=[1, 0, 0]))
    b = s.add(ss.RigidBody("b", mass=m, inertia=J, position=[1.5, 0.6, 0]))
    s.add(ss.Contact("hit", ss.Sphere(a.point(), 0.5), ss.Sphere(b.point(), 0.5), restitution=1.0))
    solution = solve(s, 1.5, 1e-3)
    # Contact at the distance 1: sin of the angle of the line of centres is 0.6.
    n = np.array([0.8, 0.6, 0])
    np.testing.assert_allclose(solution.u[-1, 6:9], 0.8 * n, atol=2e-3)
    np.testing.assert_allclose(solution.u[-1, :3], np.array([1, 0, 0]) - 0.8 * n, atol=2e-3)
    assert solution.kinetic[-1] == pytest.approx(0.5, rel=1e-3)  # the normal turns within the step of the impact


@pytest.mark.parametrize("shape", ["capsule", "box", "sphere", "point"])
def test_a_sphere_rests_on_other_shapes(shape):
    """Exactly above the other one, where all tangents of the contact turn about a vertical normal."""
    make = {
        "capsule": lambda: ss.Capsule(ss.ground.point(-1, 0, 0), ss.ground.point(1, 0, 0), 0.2),
        "box": lambda: ss.Box(ss.ground, [1, 1, 0.4]),
        "sphere": lambda: ss.Sphere(ss.ground.point(0, 0, 0), 0.2),
        "point": lambda: ss.ground.point(0, 0, 0.2),
    }
    s = world(shape)
    m, J = ss.inertia.sphere(0.1, mass=1.0)
    ball = s.add(ss.RigidBody("ball", mass=m, inertia=J, position=[0, 0, 0.5]))
    s.add(ss.Contact("seat", ss.Sphere(ball.point(), 0.1), make[shape](), friction=0.3))
    solution = solve(s, 0.5, 1e-3)
    np.testing.assert_allclose(solution.q[-1, :3], [0, 0, 0.3], atol=1e-7)
    assert solution.gap.min() > -1e-8


# --- laws -------------------------------------------------------------------------------------------------------------


def slider(law: ss.Coulomb, velocity, spin=0.0) -> ss.System:
    s = world("slider")
    m, J = ss.inertia.sphere(0.1, mass=2.0)
    body = s.add(ss.RigidBody("body", mass=m, inertia=J, velocity=velocity, angular_velocity=[0, 0, spin]))
    s.add(ss.Contact("floor", body.point(), FLOOR, law))
    return s


def test_orthotropic_friction_has_two_coefficients_and_an_elliptic_reservoir():
    direction = [np.cos(0.3), np.sin(0.3), 0]
    along, across = np.array(direction), np.array([-np.sin(0.3), np.cos(0.3), 0])
    law = ss.OrthotropicCoulomb(0.1, 0.4, direction=direction)
    for axis, mu in ((along, 0.1), (across, 0.4)):
        solution = solve(slider(law, 2 * axis), 0.3, 1e-2)
        assert solution.u[-1, :3] @ axis == pytest.approx(2 - mu * G * 0.3, rel=1e-9)
    solution = solve(slider(law, along + across), 0.02, 1e-3)
    force = 2.0 * (solution.u[1, :3] - solution.u[0, :3]) / (1e-3 * 2.0 * G)
    f = np.array([force @ along / 0.1, force @ across / 0.4])
    assert np.linalg.norm(f) == pytest.approx(1, rel=1e-9)  # on the boundary of the ellipse
    # maximal dissipation: slip is normal to the ellipse at the force, gamma ~ -(f_1/mu_1, f_2/mu_2)
    slip = np.array([solution.u[1, :3] @ along, solution.u[1, :3] @ across])
    normal = -np.array([f[0] / 0.1, f[1] / 0.4])
    assert slip @ normal / np.linalg.norm(slip) / np.linalg.norm(normal) == pytest.approx(1, abs=1e-4)


def test_drilling_friction_stops_a_spin():
    patch, mu = 0.02, 0.3
    solution = solve(slider(ss.CoulombContensou(mu, patch), [0, 0, 0], spin=3.0), 1.5, 1e-2)
    J = 0.4 * 2.0 * 0.1**2
    torque = 3 * np.pi / 16 * patch * mu * 2.0 * G
    np.testing.assert_allclose(solution.u[:, 5], np.maximum(3 - torque / J * solution.t, 0), atol=1e-6)


def test_friction_of_fixed_radius_needs_no_normal_force():
    s = ss.System("pad")
    body = s.add(ss.PointMass("body", mass=2, position=[0, 0, 5], velocity=[3, 4, 1]))
    s.add(ss.Contact("pad", body.point(), FLOOR, ss.FixedRadius(force=4.0)))
    solution = solve(s, 3.0, 1e-2)
    speed = np.linalg.norm(solution.u[:, :2], axis=1)
    np.testing.assert_allclose(speed, np.maximum(5 - 2.0 * solution.t, 0), atol=1e-6)
    assert solution.u[-1, 2] == pytest.approx(1)


@pytest.mark.parametrize("e_N, e_F", [(0.5, 0.0), (0.8, 0.6), (1.0, 1.0)])
def test_restitution_of_normal_and_tangential_velocity(e_N, e_F):
    """A ball with much friction: the contact point's velocity after the impact is -e times that before."""
    s = ss.System("superball")
    m, J = ss.inertia.sphere(0.1, mass=1.0)
    state = {"position": [0, 0, 0.15], "velocity": [0.5, -0.2, -1], "angular_velocity": [1, 2, 3]}
    ball = s.add(ss.RigidBody("ball", mass=m, inertia=J, **state))
    s.add(ss.Contact("floor", ss.Sphere(ball.point(), 0.1), FLOOR, ss.Coulomb(5.0, e_N, e_F)))
    solution = solve(s, 0.1, 1e-3)
    assert solution.gap_dot[-1, 0] == pytest.approx(e_N, rel=1e-6)
    # The ball turns while it falls, but omega in space is constant for a sphere, and so is the slip.
    np.testing.assert_allclose(solution.slip[-1], -e_F * solution.slip[0], atol=1e-6)


# --- curved ground ----------------------------------------------------------------------------------------------------


def test_a_point_on_a_curve_is_the_benchmark_of_the_slope():
    s = ss.System("slope")
    s.add(ss.Gravity([0, -10]))
    mass = s.add(ss.PointMass("mass", mass=np.pi, position=[0, 1]))
    s.add(ss.Contact("slope", mass.point(), ss.Graph(lambda x: exp(-x)), friction=0.3))
    solution, reference = solve(s, 1.6, 4e-3), solve(ss.benchmarks.point_mass_on_slope(case=1), 1.6, 4e-3)
    np.testing.assert_allclose(solution.q, reference.q, atol=1e-9)
    assert solution.q[-1, 0] == pytest.approx(2.554164, abs=1e-4)  # exact


@pytest.mark.parametrize("where", [[0.3, 0.2, 0.9], [-0.7, 0.4, 0.8], [1.1, -0.5, 1.2]])
def test_the_gap_of_a_sphere_to_a_graph_is_its_distance(where):
    def height(x, y):
        return 0.3 * sin(x) * cos(2 * y)

    s = ss.System()
    ball = s.add(ss.PointMass("ball", mass=1, position=where))
    s.add(ss.Contact("ground", ss.Sphere(ball.point(), 0.2), ss.Graph(height)))
    gap = s.initial_value(s.equations()[-1].contacts[0].gap)
    best = minimize(lambda x: np.linalg.norm([*(x - where[:2]), where[2] - height(*x)]), where[:2], tol=1e-14)
    assert gap == pytest.approx(best.fun - 0.2, abs=1e-7)


def test_a_ball_rolls_in_a_bowl():
    """Frictionless in z = k (x^2 + y^2)/2: the centre swings on the parallel surface, with small oscillations."""
    s = world("bowl")
    R, k = 0.1, 1.0
    ball = s.add(ss.PointMass("ball", mass=1, position=[0.01, 0, 0.2]))
    s.add(ss.Contact("bowl", ss.Sphere(ball.point(), R), ss.Graph(lambda x, y: k / 2 * (x**2 + y**2))))
    s.assemble(obstacles=True)
    # The parallel curve has the radius of curvature 1/k - R at its lowest point.
    omega = np.sqrt(G / (1 / k - R))
    solution = solve(s, 2 * np.pi / omega + 0.4, 1e-3)
    touching = solution.t > 0.2  # it falls onto the bowl first
    crossings = solution.t[1:][touching[1:] & (np.diff(np.sign(solution.q[:, 0])) != 0)]
    assert np.diff(crossings)[0] == pytest.approx(np.pi / omega, rel=1e-2)


# --- tippedisk --------------------------------------------------------------------------------------------------------


def test_the_tippedisk_inverts():
    """Breuling et al. 2024, 5.4: z rises from r - e to about r + e, with at most 3 and on average 2.41 iterations of
    the first stage, 2 and 2 of the second. An independent run passes z = 0.0465 at t = 0.51 and stays near 0.0474.
    """
    solution = solve(ss.benchmarks.tippedisk(), 1.0, 1e-3)
    z = solution.q[:, 2]
    assert z[0] == pytest.approx(0.045 - 2.5e-3)
    assert solution.t[np.argmax(z > 0.0465)] == pytest.approx(0.51, abs=2e-3)
    assert np.abs(z[700:] - 0.0474).max() < 2e-4
    assert solution.gap.min() > -1e-8
    assert np.diff(solution.energy().total).max() < 0
    assert np.all(solution.stats.max_iterations <= [3, 2])
    assert np.all(solution.stats.mean_iterations <= [2.4103, 2.0])


def test_moreaus_scheme_inverts_the_tippedisk_too():
    """With a step a hundred times smaller, as in the paper. Both are of first order in this contact, where the
    directions of friction turn: RATTLE passes z = 0.0465 at 0.5100 with dt = 1e-3 and 0.5151 with 1e-4, Moreau at
    0.5158 with 1e-5.
    """
    moreau = solve(ss.benchmarks.tippedisk(), 0.8, 1e-5, method="moreau")
    coarse, fine = (solve(ss.benchmarks.tippedisk(), 0.8, dt) for dt in (1e-3, 1e-4))
    np.testing.assert_allclose(moreau.q[::100, 2], coarse.q[:, 2], atol=1.5e-4)
    np.testing.assert_allclose(moreau.q[::10, 2], fine.q[:, 2], atol=3e-5)


def test_the_generalized_alpha_method_inverts_the_tippedisk_at_the_step_of_rattle():
    """rho_inf = 0.9, as in the paper: passes z = 0.0465 at 0.511."""
    alpha = solve(ss.benchmarks.tippedisk(), 0.8, 1e-3, method="generalized-alpha", rho_inf=0.9)
    rattle = solve(ss.benchmarks.tippedisk(), 0.8, 1e-3)
    np.testing.assert_allclose(alpha.q[:, 2], rattle.q[:, 2], atol=1e-4)
    assert np.abs(np.linalg.norm(alpha.q[:, 3:], axis=1) - 1).max() < 1e-12


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda b: ss.Contact("c", b.point(), "floor"), "contact 'c': geometry_2 must be a point of a body or a shape"),
        (lambda b: ss.Contact("c", FLOOR, b.point()), "a Plane with a Point.*other way round"),
        (
            lambda b: ss.Contact("c", ss.Graph(lambda x, y: 0 * x), ss.Box(b, [1, 1, 1])),
            r"a Graph with a Box\. .*Collisions finds the contacts of other pairs",
        ),
        (lambda b: ss.Contact("c", ss.Polyhedron(b, TETRAHEDRON), FLOOR), r"a Polyhedron with a Plane\. .*Collisions"),
        (
            lambda b: ss.Contact("c", b.point(), ss.Line([0, 0], [0, 1])),
            "one shape lives in the plane, the other in space",
        ),
        (lambda b: ss.Contact("c", b.point(), FLOOR, ss.Coulomb(0.3), friction=0.2), "give a law .* not both"),
        (lambda b: ss.Contact("c", b.point(), FLOOR, tangential_restitution=0.2), "needs friction="),
        (lambda b: ss.Contact("c", ss.Sphere(b.point(), 0), FLOOR), "sphere: radius = 0 must be"),
        (lambda b: ss.Contact("c", ss.Disk(b.point(), [0, 0, 0], 1), FLOOR), "disk: the axis .* has length zero"),
        (lambda b: ss.Contact("c", ss.Box(b, [1, -1, 1]), FLOOR), r"box: size\[1\] = -1"),
        (lambda b: ss.Contact("c", ss.Capsule(b.point(), b.point(), 1), FLOOR), "ends coincide"),
        (
            lambda b: ss.Capsule(ss.ground.point(0, 0, 0), ss.ground.point(0, 1), 0.1),
            r"capsule: its ends ground.point\(0, 0, 0\) and ground.point\(0, 1\) live in 3 and 2 dimensions; give both",
        ),
        (lambda b: ss.Plane([0, 0, 0], [0, 0, 0]), "plane: the normal .* has length zero"),
        (lambda b: ss.Line([0, 0, 0], [0, 0, 1]), r"line: point = \[0, 0, 0\] needs 2 components"),
        (lambda b: ss.OrthotropicCoulomb(0, 1, [1, 0, 0]), "friction = 0 must be a finite number > 0"),
        (lambda b: ss.Rolling("r", ss.Box(b, [1, 1, 1]), FLOOR), "several points cannot roll"),
    ],
)
def test_bad_input_is_named(make, message):
    s = ss.System()
    body = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]))
    with pytest.raises(ModelError, match=message):
        s.add(make(body))


def test_drilling_friction_needs_space():
    s = ss.System()
    body = s.add(ss.PlanarBody("b", mass=1, inertia=1))
    for law in (ss.CoulombContensou(0.3, 1e-3), ss.OrthotropicCoulomb(0.1, 0.2, [1, 0, 0])):
        with pytest.raises(ModelError, match="needs a contact in space"):
            s.add(ss.Contact("c", body.point(), ss.Line([0, 0], [0, 1]), law))
        s = ss.System()
        body = s.add(ss.PlanarBody("b", mass=1, inertia=1))


def test_laws_out_of_range_are_named():
    with pytest.raises(ModelError, match=r"contact 'floor': friction = -0\.1 must be a finite number >= 0"):
        slider(ss.Coulomb(-0.1), [0, 0, 0])
    s = slider(ss.Coulomb(0.1), [0, 0, 0])
    with pytest.raises(ModelError, match=r"parameter 'floor.friction' = -0\.1 must be a finite number >= 0"):
        solve(s, 0.1, 0.01, parameters={"floor.friction": -0.1})

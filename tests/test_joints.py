"""Joints, prescribed motion, couplings, limits and joint friction; assembling."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from mechanics import Mechanics
from stickslip.errors import InitialStateError, ModelError
from stickslip.math import quaternion, quaternion_rotation, sin

Z = [0, 0, 1]


def solve(system: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, progress=False, **options)


def bar(s: ss.System, name: str, p, q, planar: bool = False):
    """A thin bar of mass 1 between two places, with its x axis along it."""
    p, q = np.array(p, float), np.array(q, float)
    d = q - p
    length = np.linalg.norm(d)
    mass, J = ss.inertia.box(length, 0.05, 0.05, mass=1.0)
    if planar:
        angle = np.arctan2(d[1], d[0])
        body = s.add(ss.PlanarBody(name, mass=mass, inertia=J[2], position=(p + q)[:2] / 2, angle=angle))
        return body, body.point(-length / 2, 0), body.point(length / 2, 0)
    x = d / length
    y = np.cross(Z if abs(x[2]) < 0.5 else [0, 1, 0], x)
    y /= np.linalg.norm(y)
    orientation = np.column_stack([x, y, np.cross(x, y)])
    body = s.add(ss.RigidBody(name, mass=mass, inertia=J, position=(p + q) / 2, orientation=orientation))
    return body, body.point(-length / 2, 0, 0), body.point(length / 2, 0, 0)


def four_bar(planar: bool) -> ss.System:
    s = ss.System("four-bar")
    A, B, C, D = (0, 0, 0), (0, 1, 0), (2.4, 1.5, 0), (2, 0, 0)
    n = 2 if planar else 3
    _, a_0, a_1 = bar(s, "a", A, B, planar)
    _, b_0, b_1 = bar(s, "b", B, C, planar)
    _, c_0, c_1 = bar(s, "c", D, C, planar)
    s.add(ss.Gravity([0, -9.81, 0][:n]))
    pairs = (ss.ground.point(*A[:n]), a_0), (a_1, b_0), (b_1, c_1), (ss.ground.point(*D[:n]), c_0)
    for name, pair in zip("ABCD", pairs, strict=True):
        s.add(ss.Revolute(name, *pair, **({} if planar else {"axis": s.initial_value(_local(pair[0], Z))})))
    return s


def _local(point, axis):
    """A direction of space in the frame of the point's body."""
    body = point.body
    return np.array(axis, float) if body is ss.ground else body.A.T @ np.array(axis, float)


def test_a_four_bar_in_space_is_redundant_and_moves_like_the_planar_one():
    s, planar = four_bar(False), four_bar(True)
    W = Mechanics(s).W("g", s.q_initial)
    assert W.shape == (18, 20)
    assert np.linalg.matrix_rank(W, tol=1e-9) == 17
    a, b = solve(s, 2.0, 2e-3, tol=1e-10), solve(planar, 2.0, 2e-3, tol=1e-10)
    # Planar angles and the Cayley map of quaternions differ by O(dt^2).
    np.testing.assert_allclose(a.q[:, [0, 1, 7, 8, 14, 15]], b.q[:, [0, 1, 3, 4, 6, 7]], atol=2e-6)
    assert np.ptp(b.q[:, 2]) > 1
    assert np.abs(a.g).max() < 1e-9


def test_bricards_mechanism_moves_although_its_constraints_are_dependent():
    """Six hinges and five bars along the edges of a cube: 30 constraints for 30 velocities, of rank 29."""
    s = ss.System("Bricard")
    P = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
    bars = [bar(s, f"bar {k}", P[k], P[k + 1]) for k in range(5)]
    s.add(ss.Gravity([0, -9.81, 0]))
    edges = [P[(k + 1) % 6] - P[k] for k in range(6)]
    for k in range(6):
        before = ss.ground.point(*P[0]) if k == 0 else bars[k - 1][2]
        after = ss.ground.point(*P[5]) if k == 5 else bars[k][1]
        axis = np.cross(edges[k - 1], edges[k])  # perpendicular to the two bars
        s.add(ss.Revolute(f"hinge {k}", before, after, axis=s.initial_value(_local(before, axis))))
    W = Mechanics(s).W("g", s.q_initial)
    assert W.shape == (30, 30)
    assert np.linalg.matrix_rank(W, tol=1e-9) == 29
    solution = solve(s, 1.0, 5e-3)
    energy = solution.energy().total
    assert np.abs(solution.g).max() < 1e-7
    assert np.ptp(solution.kinetic) > 1
    assert np.ptp(energy) < 2e-2 * np.ptp(solution.kinetic)


def test_a_screw_turns_on_and_on():
    s = ss.System("screw")
    nut = s.add(ss.RigidBody("nut", mass=2, inertia=[1, 1, 0.3], position=[0, 0, 1]))
    s.add(ss.Gravity([0, 0, -9.81]))
    s.add(ss.Screw("thread", ss.ground.point(0, 0, 0), nut.point(), axis=Z, pitch=1.0))
    h = 1 / (2 * np.pi)
    acceleration = -2 * 9.81 / (2 + 0.3 / h**2)  # m zdd = -m g - J zdd/h^2
    errors = []
    for dt in (1e-2, 5e-3):
        solution = solve(s, 2.0, dt, tol=1e-12)
        np.testing.assert_allclose(solution.u[:, 5] * h, solution.u[:, 2], atol=1e-9)
        angle = 2 * np.unwrap(np.arctan2(solution.q[:, 6], solution.q[:, 3]), period=np.pi)
        np.testing.assert_allclose(angle * h, solution.q[:, 2] - 1, atol=1e-9)
        errors.append(abs(solution.q[-1, 2] - 1 - acceleration * 2))
    assert angle[-1] < -5 * np.pi  # it made some turns
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("planar", [True, False])
def test_prescribed_motion_holds_over_many_turns(planar):
    s = ss.System("driven")
    if planar:
        body = s.add(ss.PlanarBody("wheel", mass=1, inertia=0.5, angular_velocity=3))
        hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0), body.point()))
    else:
        body = s.add(ss.RigidBody("wheel", mass=1, inertia=[1, 1, 0.5], angular_velocity=[0, 0, 3]))
        hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0, 0), body.point(), axis=Z))
    s.add(ss.Motion("drive", hub.angle, lambda t: 3 * t + t**2 / 2))
    solution = solve(s, 3.0, 1e-2, tol=1e-11)
    np.testing.assert_allclose(solution.u[:, -1], 3 + solution.t, atol=1e-8)
    # J omega_dot = 0.5: the drive's percussion is torque times dt
    np.testing.assert_allclose(solution.P_g[1:, -1], 0.5 * 1e-2, atol=1e-9)


@pytest.mark.parametrize("planar", [True, False])
def test_gears_share_a_torque(planar):
    s = ss.System("gears")
    joints = []
    for name, J, x in (("a", 1.0, 0.0), ("b", 0.2, 2.0)):
        if planar:
            body = s.add(ss.PlanarBody(name, mass=1, inertia=J, position=[x, 0], angle=0.4))
            joints.append(s.add(ss.Revolute(f"hub {name}", ss.ground.point(x, 0), body.point())))
        else:
            body = s.add(ss.RigidBody(name, mass=1, inertia=[1, 1, J], position=[x, 0, 0]))
            joints.append(s.add(ss.Revolute(f"hub {name}", ss.ground.point(x, 0, 0), body.point(), axis=Z)))
    s.add(ss.Gear("mesh", joints[0].angle, joints[1].angle, ratio=2.5))
    s.add(ss.Motor("motor", joints[0].angle, 0.7))
    solution = solve(s, 4.0, 1e-2, tol=1e-11)
    alpha = 0.7 / (1.0 + 0.2 / 2.5**2)
    first, second = (2, 5) if planar else (5, 11)
    assert solution.u[-1, first] == pytest.approx(4 * alpha, rel=1e-9)
    assert solution.u[-1, second] == pytest.approx(-4 * alpha / 2.5, rel=1e-9)


@pytest.mark.parametrize("planar", [True, False])
def test_limits_reflect_with_restitution(planar):
    s = ss.System("stops")
    if planar:
        arm = s.add(ss.PlanarBody("arm", mass=1, inertia=0.5, angular_velocity=4))
        hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0), arm.point()))
    else:
        arm = s.add(ss.RigidBody("arm", mass=1, inertia=[1, 1, 0.5], angular_velocity=[0, 0, 4]))
        hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0, 0), arm.point(), axis=Z))
    s.add(ss.Limits("stops", hub.angle, lower=-0.5, upper=1.0, restitution=0.5))
    solution = solve(s, 1.2, 1e-3)
    assert solution.gap.min() > -1e-8
    speeds = solution.u[:, -1]
    assert speeds[200] == pytest.approx(4)
    assert speeds[600] == pytest.approx(-2)  # 1.0/4 = 0.25 s to the stop, then 1.5/2 = 0.75 s
    assert speeds[1100] == pytest.approx(1)


def test_joint_friction_stops_a_wheel():
    s = ss.System("bearing")
    wheel = s.add(ss.RigidBody("wheel", mass=1, inertia=[1, 1, 0.5], angular_velocity=[0, 0, 2]))
    hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0, 0), wheel.point(), axis=Z))
    s.add(ss.Friction("bearing", hub.angle, force=0.8))
    solution = solve(s, 2.0, 1e-2)
    np.testing.assert_allclose(solution.u[:, 5], np.maximum(2 - 0.8 / 0.5 * solution.t, 0), atol=1e-6)


def test_a_pendulum_of_joints_in_space_is_the_planar_one():
    """Slider on a prismatic joint with a hinged rod: a cart and pendulum, in the plane and tilted into space."""
    A = quaternion_rotation(quaternion([1, 2, 0.5], 0.8))
    runs = []
    for planar in (True, False):
        s = ss.System("cart and pendulum")
        if planar:
            cart = s.add(ss.PlanarBody("cart", mass=2, inertia=1))
            rod = s.add(ss.PlanarBody("rod", mass=1, inertia=0.1, position=[0.5, 0]))
            slide = s.add(ss.Prismatic("slide", ss.ground.point(0, 0), cart.point(), axis=[1, 0]))
            s.add(ss.Revolute("pin", cart.point(), rod.point(-0.5, 0)))
            s.add(ss.Gravity([0, -9.81]))
        else:
            cart = s.add(ss.RigidBody("cart", mass=2, inertia=[1, 1, 1]))
            rod = s.add(ss.RigidBody("rod", mass=1, inertia=[0.1] * 3, position=A @ [0.5, 0, 0], orientation=A))
            slide = s.add(ss.Prismatic("slide", ss.ground.point(0, 0, 0), cart.point(), axis=A @ [1, 0, 0]))
            s.add(ss.Revolute("pin", cart.point(), rod.point(-0.5, 0, 0), axis=A @ Z))
            s.add(ss.Gravity(A @ [0, -9.81, 0]))
        s.add(ss.SpringDamper("spring", slide.displacement, stiffness=5, damping=0.3, rest_length=0.2))
        solution = solve(s, 1.0, 2e-3, tol=1e-11)
        runs.append(solution.q[:, 3:5] if planar else (solution.q[:, 7:10] @ A)[:, :2])
    # The planar body turns with phi, the spatial one by the Cayley map: both of second order, 1e-6 apart.
    np.testing.assert_allclose(runs[0], runs[1], atol=2e-5)


@pytest.mark.parametrize("beta", [0.0, 0.3])
def test_a_universal_joint_passes_turns_on(beta):
    """Two shafts at an angle beta, forks (0, cos a, sin a) and A (0, -sin b, cos b): tan b = cos(beta) tan a."""
    s = ss.System("Cardan")
    A = quaternion_rotation(quaternion([0, 1, 0], beta))
    a = s.add(ss.RigidBody("a", mass=1, inertia=[1, 1, 1], angular_velocity=[2, 0, 0]))
    b = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1], orientation=A))
    s.add(ss.Revolute("bearing a", ss.ground.point(0, 0, 0), a.point(), axis=[1, 0, 0]))
    s.add(ss.Revolute("bearing b", ss.ground.point(0, 0, 0), b.point(), axis=A @ [1, 0, 0]))
    s.add(ss.Universal("cross", a.point(), b.point(), axis_1=[0, 1, 0], axis_2=Z))
    _, u = s.assemble()
    s.add(ss.Motion("drive", ss.Angle(ss.ground, a, [1, 0, 0]), lambda t: u[3] * t))
    solution = solve(s, 1.0, 2e-3, tol=1e-11)
    first = u[3] * solution.t
    turned = np.array([A.T @ quaternion_rotation(p) for p in solution.q[:, 10:]])
    second = np.arctan2(turned[:, 2, 1], turned[:, 2, 2])
    np.testing.assert_allclose(np.sin(second) * np.cos(first), np.cos(beta) * np.sin(first) * np.cos(second), atol=1e-8)


def test_joints_between_points_that_do_not_coincide_are_named():
    s = ss.System("machine")
    rod = s.add(ss.RigidBody("rod", mass=1, inertia=[1, 1, 1], position=[1.25, 0, 0]))
    s.add(ss.Spherical("pin", ss.ground.point(0, 0, 0), rod.point(-1, 0, 0)))
    points = r"points ground.point\(0, 0, 0\) and rod.point\(-1, 0, 0\) do not coincide"
    message = rf"'pin' does not fit .* {points}, .* 0\.25; .*assemble"
    with pytest.raises(InitialStateError, match=message):
        solve(s, 0.1, 0.01)
    q, _ = s.assemble()
    np.testing.assert_allclose(q, [1, 0, 0, 1, 0, 0, 0], atol=1e-12)
    assert solve(s, 0.1, 0.01).g.max() < 1e-9


def test_assembling_moves_little_keeps_quaternions_and_leaves_obstacles():
    s = ss.System("assembly")
    p = quaternion([1, 1, 0], 0.4)
    mass, J = ss.inertia.box(1, 1, 1, mass=1.0)
    box = s.add(ss.RigidBody("box", mass=mass, inertia=J, position=[0, 0, 0.5], orientation=p, velocity=[1, 0, 3]))
    s.add(ss.Contact("floor", ss.Box(box, [1, 1, 1]), ss.Plane([0, 0, 0], Z), friction=0.2))
    s.add(ss.PlanarJoint("guide", ss.ground.point(0, 0, 0), box.point(), normal=[0, 1, 0]))
    with pytest.raises(InitialStateError, match=r"gap 'floor\[\d\]' is -.* < 0; move it out, or call .*obstacles=True"):
        solve(s, 0.1, 0.01)
    q, u = s.assemble(obstacles=True)
    m = Mechanics(s)
    assert np.linalg.norm(q[3:]) == pytest.approx(1, abs=1e-14)
    assert -1e-11 < m.stack("g_N", q, u).min() < 0.05  # it was 0.18 inside; the way out is the smallest to first order
    assert np.abs(m.stack("g", q, u)).max() < 1e-9
    assert np.abs(m.stack("g_dot", q, u)).max() < 1e-9
    np.testing.assert_allclose(q, s.q_initial)
    solve(s, 0.1, 0.01)


def test_constraints_that_contradict_each_other_cannot_be_assembled():
    s = ss.System("contradiction")
    bob = s.add(ss.PointMass("bob", mass=1, position=[1.0, 0.0]))
    s.add(ss.Rod("short", ss.ground.point(0, 0), bob.point(), length=1.0))
    s.add(ss.Rod("long", ss.ground.point(0, 0), bob.point(), length=2.0))
    with pytest.raises(InitialStateError, match=r"cannot be assembled: '(short|long)' remains violated by 0\.5"):
        s.assemble()


def bodies():
    s = ss.System()
    return s, s.add(ss.RigidBody("a", mass=1, inertia=[1, 1, 1])), s.add(ss.PlanarBody("b", mass=1, inertia=1))


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda a, b: ss.Revolute("j", ss.ground.point(0, 0, 0), a.point(), axis=[0, 0, 0]),
            "'j': the axis .* has length zero",
        ),
        (
            lambda a, b: ss.Revolute("j", ss.ground.point(0, 0, 0), a.point()),
            "revolute joint 'j': a joint in space needs axis=",
        ),
        (lambda a, b: ss.Revolute("j", ss.ground.point(0, 0), b.point(), axis=[0, 1]), "no choice of an axis"),
        (lambda a, b: ss.Revolute("j", ss.ground.point(0, 0), a.point()), "need 2 or 3 coordinates each, got 2 and 3"),
        (lambda a, b: ss.Spherical("j", ss.ground.point(0, 0), b.point()), "need 3 coordinates each"),
        (lambda a, b: ss.Prismatic("j", ss.ground.point(0, 0), b.point(), axis=[0, 0]), "length zero"),
        (
            lambda a, b: ss.Universal("j", ss.ground.point(0, 0, 0), a.point(), axis_1=[1, 0], axis_2=Z),
            "needs 3 components",
        ),
        (
            lambda a, b: ss.Screw("j", ss.ground.point(0, 0, 0), a.point(), axis=Z, pitch=0),
            "pitch = 0 must not be zero",
        ),
        (lambda a, b: ss.Rod("j", ss.ground.point(0, 0, 0), a.point(), length=-1), "length = -1 must be"),
        (lambda a, b: ss.Rod("j", ss.ground.point(0, 0, 0), a.point()), "coincide; such points need Spherical"),
        (lambda a, b: ss.Limits("j", ss.Angle(ss.ground, b)), "give lower=, upper= or both"),
        (
            lambda a, b: ss.Limits("j", ss.Angle(ss.ground, b), lower=1, upper=0),
            "lower = 1 must be smaller than upper = 0",
        ),
        (lambda a, b: ss.Friction("j", ss.Angle(ss.ground, b), force=-1), "force = -1 must be"),
        (lambda a, b: ss.Motion("j", ss.Expression([1, 2]), sin), "its measure .* must be"),
        (
            lambda a, b: ss.Motion("j", ss.Angle(ss.ground, a), 0.0),
            "angle of 'a' against 'ground': in space it needs axis=",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    s, a, b = bodies()
    with pytest.raises(ModelError, match=message):
        s.add(make(a, b))

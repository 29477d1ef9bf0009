"""Whole machines from parts against textbook mechanics: what a first user would build and check."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.math import quaternion

G = 9.81


def solve(s, t_end, dt, **options):
    return ss.solve(s, t_end=t_end, dt=dt, progress=False, **options)


def test_parallelogram_in_space_is_a_pendulum():
    """Four revolute joints in space are redundant by three rows; the coupler of a parallelogram only translates."""
    s = ss.System("four-bar")
    s.add(ss.Gravity([0, 0, -G]))

    def link(name, x, z, angle, length):
        mass, inertia = ss.inertia.box(length, 0.05, 0.05, mass=1)
        turned = quaternion([0, 1, 0], -angle)
        return s.add(ss.RigidBody(name, mass=mass, inertia=inertia, position=[x, 0, z], orientation=turned))

    h = np.sqrt(3) / 4
    a, b, c = link("a", 0.25, h, np.pi / 3, 1), link("b", 1.5, 2 * h, 0, 2), link("c", 2.25, h, np.pi / 3, 1)
    left, right = ss.ground.point(0, 0, 0), ss.ground.point(2, 0, 0)
    pairs = [(left, a.point(-0.5, 0, 0)), (a.point(0.5, 0, 0), b.point(-1, 0, 0))]
    pairs += [(b.point(1, 0, 0), c.point(0.5, 0, 0)), (c.point(-0.5, 0, 0), right)]
    for k, (p, q) in enumerate(pairs):
        s.add(ss.Revolute(f"hinge {k}", p, q, axis=[0, 1, 0]))
    coarse, solution = solve(s, 1.0, 4e-3), solve(s, 1.0, 2e-3)
    J = 2 * (ss.inertia.box(1, 0.05, 0.05, mass=1).inertia[1] + 0.25) + 1.0
    exact = solve_ivp(lambda t, y: [y[1], -2 * G * np.cos(y[0]) / J], (0, 1), [np.pi / 3, 0], rtol=1e-10, atol=1e-10)
    errors = [abs(run.q[-1, 2] - 0.5 * np.sin(exact.y[0, -1])) for run in (coarse, solution)]
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)  # order 2
    assert np.abs(solution.q[:, 11]).max() < 1e-8  # p_2 of the coupler
    assert np.abs(solution.g).max() < 1e-8


def test_stewart_platform_carries_its_weight():
    """Six legs of two bodies each, universal, prismatic and spherical joints: 78 velocities, 72 constraints, springs."""
    s = ss.System("hexapod")
    s.add(ss.Gravity([0, 0, -G]))
    mass, inertia = ss.inertia.cylinder(0.5, 0.05, mass=6)
    top = s.add(ss.RigidBody("top", mass=mass, inertia=inertia, position=[0, 0, 1]))
    k = 2e4
    for leg in range(6):
        side, third = (1 if leg % 2 else -1), 2 * np.pi * (leg // 2) / 3
        foot = np.array([np.cos(third + 0.8 * side), np.sin(third + 0.8 * side), 0.0])
        head = 0.5 * np.array([np.cos(third + 0.2 * side), np.sin(third + 0.2 * side), 0.0])
        way = head - foot + np.array([0, 0, 1])
        length = np.linalg.norm(way)
        z = way / length
        x = np.cross([0, 0, 1], z) / np.linalg.norm(np.cross([0, 0, 1], z))
        R = np.column_stack([x, np.cross(z, x), z])
        numbers = {"mass": 0.5, "inertia": [0.02, 0.02, 0.001], "orientation": R}
        low = s.add(ss.RigidBody(f"low {leg}", **numbers, position=foot + length / 4 * z))
        high = s.add(ss.RigidBody(f"high {leg}", **numbers, position=foot + 3 * length / 4 * z))
        foot_joint = {"axis_1": x, "axis_2": [0, 1, 0]}
        s.add(ss.Universal(f"foot {leg}", ss.ground.point(*foot), low.point(0, 0, -length / 4), **foot_joint))
        slide = s.add(ss.Prismatic(f"slide {leg}", low.point(), high.point(), axis=[0, 0, 1]))
        s.add(ss.Spherical(f"head {leg}", high.point(0, 0, length / 4), top.point(*head)))
        s.add(ss.SpringDamper(f"jack {leg}", slide.displacement, stiffness=k, damping=400, rest_length=length / 2))
    solution = solve(s, 1.5, 2e-3)
    # Small sinking w by virtual work: 6 k (z_leg w)^2/2 takes the weights of the platform, of the upper halves, which
    # sink by about 3/4 w, and of the lower ones, 1/4 w.
    w = G * (6 + 6 * 0.5 * (0.75 + 0.25)) / (6 * k / length**2)
    assert 1 - solution.q[-1, 2] == pytest.approx(w, rel=0.05)
    assert np.abs(solution.q[-1, 4:7]).max() < 1e-6
    assert np.abs(solution.g).max() < 1e-8


def test_fast_wheel_precesses_without_nutation():
    """A wheel on a horizontal axle, started with the exact precession m g l/(I_3 Omega), keeps its height."""
    I_1, I_3, m, arm, spin = 0.06, 0.1, 2.0, 0.3, 100.0
    precession = m * G * arm / (I_3 * spin)
    R = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], float)
    omega = np.array([spin, 0, precession])
    s = ss.System("bicycle wheel")
    s.add(ss.Gravity([0, 0, -G]))
    state = {"position": [arm, 0, 0], "orientation": R, "velocity": np.cross(omega, [arm, 0, 0])}
    wheel = s.add(ss.RigidBody("wheel", mass=m, inertia=[I_1, I_1, I_3], angular_velocity=R.T @ omega, **state))
    s.add(ss.Spherical("string", ss.ground.point(0, 0, 0), wheel.point(0, 0, -arm)))
    solution = solve(s, 1.0, 1e-3, method="lobatto")
    angle = np.unwrap(np.arctan2(solution.q[:, 1], solution.q[:, 0]))
    assert angle[-1] == pytest.approx(precession, rel=1e-6)
    assert np.abs(solution.q[:, 2]).max() < 1e-8


def test_stack_of_boxes_carries_its_weight():
    """24 corners, of which 12 carry: redundant contacts, whose sum is what lies above them."""
    s = ss.System("stack")
    s.add(ss.Gravity([0, 0, -G]))
    below = ss.Plane([0, 0, 0], [0, 0, 1])
    for k in range(3):
        mass, inertia = ss.inertia.box(0.2, 0.2, 0.2, mass=1 + k)
        at = [0.01 * k, 0, 0.1 + 0.2 * k + 0.01 * (k + 1)]
        box = s.add(ss.RigidBody(f"box {k}", mass=mass, inertia=inertia, position=at))
        s.add(ss.Contact(f"under {k}", ss.Box(box, [0.2] * 3), below, friction=0.5))
        below = ss.Plane([0, 0, 0.1], [0, 0, 1], box)
    dt = 1e-3
    solution = solve(s, 0.6, dt)
    carried = solution.P_N[-1].reshape(3, 8).sum(axis=1) / dt
    assert carried == pytest.approx(G * np.array([6, 5, 3]), rel=1e-6)
    assert solution.q[-1, 2::7] == pytest.approx([0.1, 0.3, 0.5], abs=1e-8)
    assert np.abs(solution.u[-1]).max() < 1e-8
    assert solution.gap.min() > -1e-8


@pytest.mark.parametrize("space", [False, True])
def test_geared_motor_with_friction(space):
    """(J_1 + J_2/i^2) omega_1' = torque - friction/i, in the plane and in space, over many turns."""
    s, i, J_1, J_2 = ss.System("gears"), 2.5, 0.1, 0.7
    shafts = []
    for name, J, x in (("a", J_1, 0.0), ("b", J_2, 1.0)):
        if space:
            body = s.add(ss.RigidBody(name, mass=1, inertia=[J, J, J], position=[x, 0, 0]))
            place, axis = ss.ground.point(x, 0, 0), {"axis": [0, 0, 1]}
        else:
            body = s.add(ss.PlanarBody(name, mass=1, inertia=J, position=[x, 0]))
            place, axis = ss.ground.point(x, 0), {}
        shafts.append(s.add(ss.Revolute(f"shaft {name}", place, body.point(), **axis)))
    s.add(ss.Gear("mesh", shafts[0].angle, shafts[1].angle, ratio=i))
    s.add(ss.Motor("motor", shafts[0].angle, 2.0))
    s.add(ss.Friction("bearing", shafts[1].angle, force=1.0))
    u = solve(s, 3.0, 5e-3).u[-1]
    speed = 3.0 * (2.0 - 1.0 / i) / (J_1 + J_2 / i**2)
    assert u[[5, 11] if space else [2, 5]] == pytest.approx([speed, -speed / i], rel=1e-9)


def test_arm_falls_on_its_stops():
    """Two links with limits and friction come to rest on the stops, which carry the weight minus what friction holds."""
    s, dt = ss.System("arm"), 1e-3
    s.add(ss.Gravity([0, 0, -G]))
    a = s.add(ss.RigidBody("a", mass=2, inertia=[0.01, 0.1, 0.1], position=[0.5, 0, 0]))
    b = s.add(ss.RigidBody("b", mass=1, inertia=[0.01, 0.1, 0.1], position=[1.5, 0, 0]))
    shoulder = s.add(ss.Revolute("shoulder", ss.ground.point(0, 0, 0), a.point(-0.5, 0, 0), axis=[0, 1, 0]))
    elbow = s.add(ss.Revolute("elbow", a.point(0.5, 0, 0), b.point(-0.5, 0, 0), axis=[0, 1, 0]))
    s.add(ss.Limits("stop 1", shoulder.angle, lower=-0.5, upper=0.8, restitution=0.2))
    s.add(ss.Limits("stop 2", elbow.angle, lower=-0.3, upper=0.3))
    s.add(ss.Friction("bearing", shoulder.angle, force=0.5))
    solution = solve(s, 3.0, dt)
    assert np.abs(solution.u[-1]).max() < 1e-8
    x_1, x_2, x_elbow = solution.q[-1, 0], solution.q[-1, 7], np.cos(0.8)
    stops = solution.P_N[-1] / dt
    assert stops[[1, 3]] == pytest.approx([G * (2 * x_1 + x_2) + solution.P_F[-1, 0] / dt, G * (x_2 - x_elbow)])
    assert np.abs(solution.P_F[-1, 0]) / dt <= 0.5 + 1e-9


def test_masses_that_couple_blocks_are_checked_together():
    s = ss.System("coupled")
    _, u = s.coordinates("x", initial=[0], velocity=[0])
    _, v = s.coordinates("y", initial=[0], velocity=[0])
    s.add(ss.PointMass("apart", mass=1, position=[0]))
    s.kinetic_energy((u[0] + v[0]) ** 2 / 2)
    with pytest.raises(ss.ModelError, match="not positive definite"):
        solve(s, 1.0, 0.1)

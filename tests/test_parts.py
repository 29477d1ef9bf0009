"""Identities of mechanics that every part satisfies, at random states."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stickslip as ss
from mechanics import Mechanics, random_state, rigid_motion
from stickslip.math import column, cos, dot, quaternion, quaternion_rotation, sin
from stickslip.model.contacts import meet
from stickslip.model.frames import rate

INERTIA = np.array([[2.0, 0.2, -0.1], [0.2, 1.8, 0.3], [-0.1, 0.3, 1.5]])


def two_bodies() -> tuple[ss.System, ss.RigidBody, ss.RigidBody]:
    s = ss.System()
    p = quaternion([1, 2, 3], 0.7)
    a = s.add(ss.RigidBody("a", mass=2.0, inertia=INERTIA, position=[0.1, 0.2, 0.3], orientation=p))
    b = s.add(ss.RigidBody("b", mass=1.0, inertia=[1.0, 1.2, 0.9], position=[1.5, 0.4, 0.2]))
    return s, a, b


def two_planar() -> tuple[ss.System, ss.PlanarBody, ss.PlanarBody]:
    s = ss.System()
    a = s.add(ss.PlanarBody("a", mass=2.0, inertia=0.7, position=[0.1, 0.2], angle=0.3))
    b = s.add(ss.PlanarBody("b", mass=1.0, inertia=0.4, position=[1.5, 0.4], angle=-0.2))
    return s, a, b


def points(a, b):
    return (
        (a.point(0.7, 0.1, -0.2), b.point(-0.7, 0.1, 0.3))
        if a.dimension == 3
        else (a.point(0.7, 0.1), b.point(-0.7, 0.2))
    )


AXIS = [1.0, -0.5, 0.3]
JOINTS = {
    "fixed": lambda p, q: ss.Fixed("j", p, q),
    "revolute": lambda p, q: ss.Revolute("j", p, q, axis=AXIS),
    "prismatic": lambda p, q: ss.Prismatic("j", p, q, axis=AXIS),
    "cylindrical": lambda p, q: ss.Cylindrical("j", p, q, axis=AXIS),
    "screw": lambda p, q: ss.Screw("j", p, q, axis=AXIS, pitch=0.5),
    "spherical": lambda p, q: ss.Spherical("j", p, q),
    "universal": lambda p, q: ss.Universal("j", p, q, axis_1=AXIS, axis_2=[0.0, 1.0, 2.0]),
    "plane": lambda p, q: ss.PlanarJoint("j", p, q, normal=AXIS),
    "rod": lambda p, q: ss.Rod("j", p, q),
}
PLANAR_JOINTS = {
    "planar fixed": lambda p, q: ss.Fixed("j", p, q),
    "planar revolute": lambda p, q: ss.Revolute("j", p, q),
    "planar prismatic": lambda p, q: ss.Prismatic("j", p, q, axis=[1.0, 0.4]),
    "planar rod": lambda p, q: ss.Rod("j", p, q),
}
LAW = ss.Coulomb(0.3, 0.5, 0.1)
CONTACTS = {
    "point, plane": lambda a, b: (a.point(0.1, 0.2, 0.3), ss.Plane([0.1, 0, 0], [1, 2, 3], b)),
    "sphere, plane": lambda a, b: (ss.Sphere(a.point(), 0.2), ss.Plane([0.1, 0, 0], [0, 0, 1], b)),
    "capsule, plane": lambda a, b: (
        ss.Capsule(a.point(0, 0, 1), a.point(1, 0, 0), 0.2),
        ss.Plane([0.1, 0, 0], [1, 2, 3], b),
    ),
    "box, plane": lambda a, b: (
        ss.Box(a.frame([0.1, 0, 0], np.eye(3)[[1, 2, 0]]), [1, 2, 3]),
        ss.Plane([0, 0, 0], [1, 2, 3], b),
    ),
    "disk, plane": lambda a, b: (ss.Disk(a.point(0.1, 0, 0), [0, 1, 1], 0.5), ss.Plane([0, 0, 0], [1, 2, 3], b)),
    "cylinder, plane": lambda a, b: (
        ss.Cylinder(a.point(0.1, 0, 0), [0, 1, 1], 0.5, 2),
        ss.Plane([0, 0, 0], [1, 2, 3], b),
    ),
    "ellipsoid, plane": lambda a, b: (
        ss.Ellipsoid(a.frame([0.1, 0, 0], np.eye(3)[[1, 2, 0]]), [1, 2, 3]),
        ss.Plane([0, 0, 0], [1, 2, 3], b),
    ),
    "sphere, sphere": lambda a, b: (ss.Sphere(a.point(0.1, 0, 0), 0.2), ss.Sphere(b.point(0, 0.1, 0), 0.3)),
    "sphere, capsule": lambda a, b: (
        ss.Sphere(a.point(0.1, 0, 0), 0.2),
        ss.Capsule(b.point(0, 0, -1), b.point(0, 0, 1), 0.3),
    ),
    "sphere, box": lambda a, b: (ss.Sphere(a.point(0.1, 0, 0), 0.2), ss.Box(b, [0.1, 0.2, 0.3])),
    "sphere, point": lambda a, b: (ss.Sphere(a.point(0.1, 0, 0), 0.2), b.point(0.1, 0, 0)),
    "sphere, graph": lambda a, b: (
        ss.Sphere(a.point(0.1, 0, 0), 0.2),
        ss.Graph(lambda x, y: 0.1 * sin(x) * cos(y) - 1, b),
    ),
}
PLANAR_CONTACTS = {
    "point, line": lambda a, b: (a.point(0.1, 0.2), ss.Line([0.1, 0], [1, 2], b)),
    "circle, line": lambda a, b: (ss.Sphere(a.point(0.1, 0), 0.2), ss.Line([0.1, 0], [1, 2], b)),
    "rectangle, line": lambda a, b: (ss.Box(a, [1, 2]), ss.Line([0.1, 0], [1, 2], b)),
    "ellipse, line": lambda a, b: (ss.Ellipsoid(a, [1, 2]), ss.Line([0.1, 0], [1, 2], b)),
    "circle, circle": lambda a, b: (ss.Sphere(a.point(0.1, 0), 0.2), ss.Sphere(b.point(0, 0.1), 0.3)),
    "circle, rectangle": lambda a, b: (ss.Sphere(a.point(0.1, 0), 0.2), ss.Box(b, [0.1, 0.2])),
    "circle, curve": lambda a, b: (ss.Sphere(a.point(0.1, 0), 0.2), ss.Graph(lambda x: 0.1 * sin(x) - 1, b)),
}
FORCES = {
    "spring": lambda a, b, p, q: [ss.SpringDamper("f", p, q, stiffness=3.0, rest_length=0.5)],
    "gravitation": lambda a, b, p, q: [ss.SpringDamper("f", p, q, law=lambda x, v: -1 / x**2)],
    "damper": lambda a, b, p, q: [ss.SpringDamper("f", p, q, damping=3.0)],
    "motor": lambda a, b, p, q: [ss.Motor("f", ss.Distance(p, q), lambda t, x, v: x - 0.3 * v)],
    "controller": lambda a, b, p, q: [ss.Controller("f", ss.Distance(p, q), lambda t: sin(t), stiffness=2, damping=1)],
    "own thrust": lambda a, b, p, q: [ss.Force("f", p, [1.0, -2.0, 0.5][: a.dimension], local=True)],
    "torque": lambda a, b, p, q: [ss.Torque("f", a, [1.0, -2.0, 0.5] if a.dimension == 3 else 2.0, local=True,
    reaction=b)],
}  # fmt: skip


@cache
def mechanics(name: str) -> Mechanics:
    """The system with this part, between two free bodies."""
    planar = name.startswith("planar ") or name in PLANAR_CONTACTS
    s, a, b = two_planar() if planar else two_bodies()
    if name in JOINTS or name in PLANAR_JOINTS:
        s.add({**JOINTS, **PLANAR_JOINTS}[name](*points(a, b)))
    elif name in CONTACTS or name in PLANAR_CONTACTS:
        s.add(ss.Contact("c", *{**CONTACTS, **PLANAR_CONTACTS}[name](a, b), LAW))
    elif name.startswith("rolling "):
        s.add(ss.Rolling("r", *CONTACTS[name.removeprefix("rolling ")](a, b)))
    else:
        for part in FORCES[name.removeprefix("planar ")](a, b, *points(a, b)):
            s.add(part)
    return Mechanics(s)


FORCE_NAMES = [*FORCES, *[f"planar {name}" for name in FORCES]]
ROLLING = ["rolling disk, plane", "rolling sphere, sphere"]
ALL = [*JOINTS, *PLANAR_JOINTS, *CONTACTS, *PLANAR_CONTACTS, *FORCE_NAMES, *ROLLING]
SEEDS = st.integers(0, 2**32 - 1)
few = settings(max_examples=3, deadline=None, derandomize=True)


@pytest.mark.parametrize("name", ALL)
@few
@given(seed=SEEDS)
def test_derivatives_are_those_of_finite_differences(name, seed):
    m = mechanics(name)
    q, u = random_state(m.system, np.random.default_rng(seed))
    for position, velocity, which in (("g", "g_dot", "g"), ("g_N", "g_N_dot", "N")):
        numeric = m.along(lambda q, t, p=position: m.stack(p, q, u, t), q, u)
        exact = m.stack(velocity, q, u)
        np.testing.assert_allclose(exact, numeric, atol=1e-7)
        np.testing.assert_allclose(m.W(which, q).T @ u + m.stack(velocity, q, 0 * u), exact, atol=1e-12)
    for velocity, which in (("gamma", "gamma"), ("gamma_F", "F")):
        np.testing.assert_allclose(
            m.W(which, q).T @ u + m.stack(velocity, q, 0 * u), m.stack(velocity, q, u), atol=1e-12
        )


@pytest.mark.parametrize("name", ["spring", "planar spring", "revolute"])
@few
@given(seed=SEEDS)
def test_energies_and_power_balance(name, seed):
    """T = u M u/2, and the power of all forces is what the energies change by: u M udot = u h = -dV/dt."""
    m = mechanics(name)
    q, u = random_state(m.system, np.random.default_rng(seed))
    M = m.M(q)
    assert m.scalar("kinetic", q, u) == pytest.approx(u @ M @ u / 2, rel=1e-12)
    assert np.linalg.eigvalsh(M).min() > 0
    numeric = m.along(lambda q, t: m.scalar("potential", q, u, t), q, u)
    assert u @ m.h(q, u) == pytest.approx(-numeric, abs=1e-7)


@pytest.mark.parametrize("name", ALL)
@few
@given(seed=SEEDS)
def test_nothing_changes_when_the_whole_system_is_turned_and_shifted(name, seed):
    m = mechanics(name)
    random = np.random.default_rng(seed)
    q, u = random_state(m.system, random)
    q_, u_ = rigid_motion(m.system, q, u, random)
    for scalar in ("kinetic", "potential"):
        assert m.scalar(scalar, q_, u_) == pytest.approx(m.scalar(scalar, q, u), rel=1e-9, abs=1e-9)
    assert u_ @ m.h(q_, u_) == pytest.approx(u @ m.h(q, u), rel=1e-8, abs=1e-8)
    for rows in ("g_N", "g_N_dot"):
        np.testing.assert_allclose(m.stack(rows, q_, u_), m.stack(rows, q, u), atol=1e-9)
    # Vectors (two points that coincide, slip in two directions) turn with the system; their length does not change.
    for rows in ("g", "g_dot", "gamma", "gamma_F"):
        assert np.linalg.norm(m.stack(rows, q_, u_)) == pytest.approx(np.linalg.norm(m.stack(rows, q, u)), abs=1e-9)


INTERNAL = [name for name in FORCE_NAMES if "thrust" not in name]


@pytest.mark.parametrize("name", [*CONTACTS, *PLANAR_CONTACTS, *JOINTS, *PLANAR_JOINTS, *INTERNAL])
@few
@given(seed=SEEDS)
def test_action_is_reaction(name, seed):
    """Internal forces have no power in a rigid motion of the whole system: they keep momentum and angular momentum."""
    m = mechanics(name)
    random = np.random.default_rng(seed)
    q, _ = random_state(m.system, random)
    v, w = random.normal(size=3), random.normal(size=3)
    u, at = np.zeros(0), 0
    for block in m.system.blocks:
        x = q[at : at + block.q.numel()]
        if block.canonical:
            own = [v[0] - w[2] * x[1], v[1] + w[2] * x[0], w[2]]
        else:
            own = [*(v + np.cross(w, x[:3])), *(quaternion_rotation(x[3:]).T @ w)]
        u, at = np.append(u, own), at + block.q.numel()
    for which in ("N", "F"):
        np.testing.assert_allclose(m.W(which, q).T @ u, 0, atol=1e-9)
    # Rows of constraints turn with the system, so that only the power of forces along g itself vanishes.
    assert (m.W("g", q).T @ u) @ m.stack("g", q, u) == pytest.approx(0, abs=1e-9)
    # h holds the gyroscopic forces, too; they have no power at all.
    assert m.h(q, u) @ u == pytest.approx(0, abs=1e-9)


@cache
def meetings(name: str) -> tuple[ss.System, ca.Function]:
    """Normal velocity of the material points minus rate of the gap; how far normal and tangents are from a triad."""
    s, a, b = two_planar() if name in PLANAR_CONTACTS else two_bodies()
    rows = []
    for m in meet(s, "c", *{**CONTACTS, **PLANAR_CONTACTS}[name](a, b)):
        axes = [m.normal, *m.tangents()]
        rows += [dot(m.normal, m.velocity) - rate(s, m.gap)]
        rows += [dot(x, y) - (x is y) for k, x in enumerate(axes) for y in axes[k:]]
    inputs = [ca.vertcat(*[getattr(b, x) for b in s.blocks]) for x in ("q", "u")]
    return s, ca.Function("f", [*inputs, ca.vertcat(*s.parameter_symbols().values())], [column(rows)])


@pytest.mark.parametrize("name", [*CONTACTS, *PLANAR_CONTACTS])
@few
@given(seed=SEEDS)
def test_the_gap_grows_with_the_normal_velocity_of_the_material_points(name, seed):
    """What touches is found by geometry, its velocity by kinematics; both must say the same."""
    s, f = meetings(name)
    q, u = random_state(s, np.random.default_rng(seed))
    np.testing.assert_allclose(np.array(f(q, u, list(s.parameter_values().values()))), 0, atol=1e-9)


@pytest.mark.parametrize("name", [*JOINTS, *PLANAR_JOINTS])
def test_a_joint_leaves_the_freedoms_that_it_declares(name):
    m = mechanics(name)
    joint = m.system.parts[-1]
    if name not in ("universal", "rod", "planar rod"):
        q, u = m.system.assemble()
        assert np.abs(m.stack("g", q, u)).max() < 1e-9
    q = m.system.q_initial
    n = 3 if joint.dimension == 2 else 6
    assert 2 * n - np.linalg.matrix_rank(m.W("g", q), tol=1e-9) == n + joint.freedoms[joint.dimension]

"""Joints with clearance, against mechanisms written by hand and textbook statics; friction frames of turning normals."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from stickslip.benchmarks.slider_crank import LENGTHS, MASSES, OMEGA_1, OMEGA_2, PHI_3
from stickslip.errors import ModelError
from stickslip.math import cos, dot, norm, quaternion, quaternion_rotation, sin, vector

G = 9.81


def solve(system: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, progress=False, **options)


# --- prismatic --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_a_guide_with_clearance_is_the_slider_crank(method):
    reference = solve(ss.benchmarks.slider_crank(), 0.02, 1e-4, method=method)
    l1, l2, a, b, d = (LENGTHS[k] for k in ("l1", "l2", "a", "b", "d"))
    s, v = ss.System("slider-crank"), l1 / 2 * OMEGA_1
    s.add(ss.Gravity([0, -G]))
    states = [
        ([l1 / 2, 0], 0, [0, v], OMEGA_1),
        ([l1 + l2 / 2, 0], 0, [0, v], OMEGA_2),
        ([l1 + l2, 0], PHI_3, [0, 0], 0),
    ]
    bodies = []
    for k, (r, phi, u, w) in enumerate(states, 1):
        mass = {"mass": MASSES[f"m{k}"], "inertia": MASSES[f"J{k}"]}
        moving = {"position": r, "angle": phi, "velocity": u, "angular_velocity": w}
        bodies.append(s.add(ss.PlanarBody(f"body {k}", **mass, **moving)))
    crank, rod, slider = bodies
    s.add(ss.Revolute("bearing", ss.ground.point(0, 0), crank.point(-l1 / 2, 0)))
    s.add(ss.Revolute("crank pin", crank.point(l1 / 2, 0), rod.point(-l2 / 2, 0)))
    s.add(ss.Revolute("piston pin", rod.point(l2 / 2, 0), slider.point(0, 0)))
    size = {"length": 2 * a, "height": 2 * b, "clearance": d / 2 - b}
    law = {"friction": 0.01, "restitution": 0.4, "tangential_restitution": 0.0}
    s.add(ss.ClearancePrismatic("guide", ss.ground.point(0, 0), slider.point(), axis=[1, 0], **size, **law))
    solution = solve(s, 0.02, 1e-4, method=method)
    assert reference.P_N.max() > 0  # it hits the guide
    np.testing.assert_allclose(solution.q, reference.q, atol=1e-6)
    np.testing.assert_allclose(solution.gap, reference.gap, atol=1e-6)


def test_a_guide_that_turns_and_a_turned_slider_have_the_same_gaps():
    """Objectivity: guide on a body that is turned by 0.7, slider mounted at 0.4 against it."""
    gaps = []
    for turn, mount in ((0.0, 0.0), (0.7, 0.4)):
        s = ss.System("guide")
        base = s.add(ss.PlanarBody("base", mass=1, inertia=1, angle=turn))
        c, sn = np.cos(turn), np.sin(turn)
        place = np.array([[c, -sn], [sn, c]]) @ [0.3, 2e-4]
        slider = s.add(ss.PlanarBody("slider", mass=1, inertia=1, position=place, angle=turn + mount + 0.003))
        size = {"length": 0.1, "height": 0.05, "clearance": 1e-3, "angle": mount, "friction": 0.1}
        s.add(ss.ClearancePrismatic("guide", base.point(), slider.point(), axis=[1, 0], **size))
        gaps.append([float(s.initial_value(e.gap)) for e in s.equations()[-1].contacts])
    np.testing.assert_allclose(gaps[0], gaps[1], atol=1e-15)
    upper = 1e-3 + 0.025 - 2e-4 - 0.025 * np.cos(0.003)
    np.testing.assert_allclose(gaps[0][:2], [upper + 0.05 * np.sin(0.003), upper - 0.05 * np.sin(0.003)], atol=1e-15)


def test_a_block_settles_in_a_guide_in_space():
    """It falls through the clearance onto the lower wall, lies flat there, and slides down the tilted guide."""
    s = ss.System("block")
    s.add(ss.Gravity([2.0, 0, -G]))
    m, J = ss.inertia.box(0.1, 0.04, 0.06, density=1000)
    p = quaternion([0.3, 1, 0.2], 0.004)
    block = s.add(ss.RigidBody("block", mass=m, inertia=J, orientation=p))
    size = {"length": 0.1, "width": 0.04, "height": 0.06, "clearance": 5e-4}
    axes = {"axis": [1, 0, 0], "side": [0, 1, 0], "axis_2": [1, 0, 0], "side_2": [0, 1, 0]}
    s.add(ss.ClearancePrismatic("guide", ss.ground.point(0, 0, 0), block.point(), **axes, **size, friction=0.1))
    solution = solve(s, 0.2, 2e-4)
    assert solution.gap.min() > -1e-8
    assert solution.gap.shape[1] == 16
    assert solution.q[-1, 2] == pytest.approx(-5e-4, abs=1e-7)
    assert (solution.u[-1, 0] - solution.u[500, 0]) / 0.1 == pytest.approx(2.0 - 0.1 * G, rel=1e-5)


# --- revolute ---------------------------------------------------------------------------------------------------------


def four_bar(radius=0.02, clearance=1e-3, mu=0.1, e=0.3, *, parts: bool) -> ss.System:
    """Crank, coupler and rocker on frictionless pins; the pin between coupler and rocker is a journal in a bearing."""
    L, m, J = np.array([0.1, 0.3, 0.2]), np.array([0.2, 0.5, 0.4]), np.array([3e-4, 4e-3, 1.4e-3])
    ends = np.array([[0, 0], [0, 0.1], [0.3, 0.2 + 0.5 * clearance], [0.3, 0.0]])
    ends[2, 0] = np.sqrt(0.3**2 - (ends[2, 1] - 0.1) ** 2)
    ends[3] = [ends[2, 0], ends[2, 1] - 0.2 - 0.5 * clearance]
    angles = [np.pi / 2, np.arctan2(*(ends[2] - ends[1])[::-1]), np.pi / 2]
    centers = [(ends[0] + ends[1]) / 2, (ends[1] + ends[2]) / 2, ends[3] + [0, 0.1]]
    # The crank turns; the coupler's left end follows, and moves as if its right end were pinned.
    omega = 12.0
    v_pin = np.array([-0.1 * omega, 0.0])
    u = [np.array([v_pin[0] / 2, 0, omega]), np.array([*v_pin, 0.0]), np.array([v_pin[0] / 2, 0, -v_pin[0] / 0.2])]
    s = ss.System("four-bar")
    if parts:
        s.add(ss.Gravity([0, -G]))
        crank, coupler, rocker = (
            s.add(
                ss.PlanarBody(
                    name, mass=m[k], inertia=J[k], position=centers[k], angle=angles[k], velocity=u[k][:2],
                    angular_velocity=u[k][2],
                )
            )
            for k, name in enumerate(("crank", "coupler", "rocker"))
        )  # fmt: skip
        s.add(ss.Revolute("A", ss.ground.point(0, 0), crank.point(-L[0] / 2, 0)))
        s.add(ss.Revolute("B", crank.point(L[0] / 2, 0), coupler.point(-L[1] / 2, 0)))
        s.add(ss.Revolute("D", ss.ground.point(*ends[3]), rocker.point(-L[2] / 2, 0)))
        size = {"radius": radius, "clearance": clearance, "friction": mu, "restitution": e}
        s.add(ss.ClearanceRevolute("C", rocker.point(L[2] / 2, 0), coupler.point(L[1] / 2, 0), **size))
        return s
    q0, u0 = np.concatenate([[*c, a] for c, a in zip(centers, angles, strict=True)]), np.concatenate(u)
    q, v = s.coordinates(" ".join(f"x{k} y{k} phi{k}" for k in range(3)), initial=q0, velocity=u0)
    s.mass_matrix(np.diag(np.array([m, m, J]).T.ravel()))
    s.potential_energy(G * dot(m, q[1::3]))
    arm = [L[k] / 2 * vector(cos(q[3 * k + 2]), sin(q[3 * k + 2])) for k in range(3)]
    r = [vector(q[3 * k], q[3 * k + 1]) for k in range(3)]
    s.constraint(r[0] - arm[0], name="A")
    s.constraint(r[0] + arm[0] - r[1] + arm[1], name="B")
    s.constraint(r[2] - arm[2] - ends[3], name="D")
    way = r[1] + arm[1] - r[2] - arm[2]  # journal centre in the bearing
    along = way / norm(way)
    t = vector(-along[1], along[0])

    def spun(k, place):  # velocity of a body's point at a place
        return vector(
            v[3 * k] - v[3 * k + 2] * (place[1] - r[k][1]), v[3 * k + 1] + v[3 * k + 2] * (place[0] - r[k][0])
        )

    place = r[1] + arm[1] + radius * along
    slip = dot(t, spun(1, place) - spun(2, place))
    s.contact(gap=clearance - norm(way), slip=slip, friction=mu, restitution=e, name="C")
    return s


def test_a_four_bar_with_clearance_moves_as_the_one_written_by_hand():
    by_hand, from_parts = (solve(four_bar(parts=parts), 0.25, 1e-4) for parts in (False, True))
    assert np.count_nonzero(by_hand.P_N) > 100
    assert by_hand.gap.max() > 1e-5
    np.testing.assert_allclose(from_parts.q, by_hand.q, atol=1e-6)
    assert from_parts.gap.min() > -1e-8
    assert np.diff(from_parts.energy().total).max() < 1e-6


def test_a_journal_in_its_bearing_is_a_short_pendulum():
    """Frictionless: small oscillations with the period 2 pi sqrt(c/g)."""
    s, c = ss.System("journal"), 0.02
    s.add(ss.Gravity([0, -G]))
    body = s.add(ss.PlanarBody("body", mass=1, inertia=1, position=[c * np.sin(0.01), -c * np.cos(0.01)]))
    s.add(ss.ClearanceRevolute("b", ss.ground.point(0, 0), body.point(), radius=0.1, clearance=c))
    solution = solve(s, 0.3, 1e-4)
    crossings = solution.t[1:][np.diff(np.sign(solution.q[:, 0])) != 0]
    assert np.diff(crossings)[0] == pytest.approx(np.pi * np.sqrt(c / G), rel=1e-3)


@pytest.mark.parametrize("space", [False, True])
def test_a_driven_journal_climbs_to_the_angle_of_friction(space):
    """The friction circle of the textbooks: contact at atan(mu), torque m g r mu/sqrt(1 + mu^2)."""
    mu, r, c, m = 0.3, 0.05, 1e-3, 2.0
    x, y = c * np.sin(np.arctan(mu)), -c * np.cos(np.arctan(mu))
    s = ss.System("friction circle")
    law = {"radius": r, "clearance": c, "friction": mu}
    if space:
        s.add(ss.Gravity([0, 0, -G]))
        start = {"position": [x, 0, y], "angular_velocity": [0, 50, 0]}
        body = s.add(ss.RigidBody("shaft", mass=m, inertia=[0.02, 0.03, 0.02], **start))
        s.add(ss.ClearanceRevolute("b", ss.ground.point(0, 0, 0), body.point(), **law, axis=[0, 1, 0], length=0.2))
    else:
        s.add(ss.Gravity([0, -G]))
        body = s.add(ss.PlanarBody("shaft", mass=m, inertia=0.03, position=[x, y], angular_velocity=-50))
        s.add(ss.ClearanceRevolute("b", ss.ground.point(0, 0), body.point(), **law))
    solution = solve(s, 0.5, 1e-3)
    np.testing.assert_allclose(solution.q[:, [0, 2 if space else 1]], np.tile([x, y], (501, 1)), atol=0.01 * c)
    spin = abs(solution.u[:, 4 if space else 2])
    assert 0.03 * (spin[0] - spin[-1]) / 0.5 == pytest.approx(m * G * r * mu / np.sqrt(1 + mu**2), rel=2e-3)


def test_a_tilted_journal_touches_where_its_edge_is_farthest_from_the_axis():
    """The gap against a search over the edge, at random poses as tilted as the clearance allows."""
    rng, r, c, length = np.random.default_rng(1), 0.05, 2e-3, 0.1
    for _ in range(20):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        tilt = 1.5 * c / length * rng.normal(size=3)
        p = quaternion(tilt, np.linalg.norm(tilt))
        place = 0.7 * c * rng.normal(size=3)
        s = ss.System("journal")
        body = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1], position=place, orientation=p))
        size = {"radius": r, "clearance": c, "length": length, "axis": axis, "axis_2": axis, "friction": 0.1}
        s.add(ss.ClearanceRevolute("j", ss.ground.point(0, 0, 0), body.point(), **size, axial_clearance=1e-3))
        contacts = s.equations()[-1].contacts
        a_2 = quaternion_rotation(p) @ axis
        x = np.cross(a_2, [1, 0, 0] if abs(a_2[0]) < 0.8 else [0, 1, 0])
        x /= np.linalg.norm(x)
        phi = np.linspace(0, 2 * np.pi, 20001)[:, None]
        for side, contact in zip((-1, 1), contacts[:2], strict=True):
            edge = place + side * length / 2 * a_2 + r * (np.cos(phi) * x + np.sin(phi) * np.cross(a_2, x))
            far = np.linalg.norm(edge - (edge @ axis)[:, None] * axis, axis=1).max()
            gap = float(s.initial_value(contact.gap))
            assert gap == pytest.approx(r + c - far, abs=2e-9 if gap < c / 2 else 1e-5)
        for side, contact in zip((-1, 1), contacts[2:], strict=True):
            assert float(s.initial_value(contact.gap)) == pytest.approx(1e-3 - side * axis @ place, abs=1e-15)


def test_a_shaft_stands_on_its_thrust_bearing():
    s = ss.System("shaft")
    s.add(ss.Gravity([0, 0, -G]))
    body = s.add(ss.RigidBody("shaft", mass=2, inertia=[0.02, 0.02, 0.01], angular_velocity=[0.3, 0, 20]))
    size = {"radius": 0.02, "clearance": 1e-4, "length": 0.2, "axial_clearance": 1e-3, "axis": [0, 0, 1]}
    s.add(ss.ClearanceRevolute("b", ss.ground.point(0, 0, 0), body.point(), **size, friction=0.1, restitution=0.2))
    # With dt = 1e-4 it can end in another whirl, where friction at one end of the shaft carries its weight.
    solution = solve(s, 0.3, 5e-5)
    assert solution.gap.min() > -1e-8
    assert solution.q[-1, 2] == pytest.approx(-1e-3, abs=1e-7)
    axis = np.array([quaternion_rotation(p) @ [0, 0, 1] for p in solution.q[::100, 3:]])
    assert np.linalg.norm(axis[:, :2], axis=1).max() < 2 * 1.1e-4 / 0.2


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_joint_in_space_moves_as_the_one_in_the_plane(kind):
    """In a plane motion both edges of the journal, and both sides of the block, share the forces."""
    ends = []
    for space in (False, True):
        flat = (lambda *x: [*x, 0.0]) if space else (lambda *x: list(x))
        s = ss.System(kind)
        s.add(ss.Gravity(flat(0, -G)))
        about = {"position": flat(0.2, -1e-3) if kind == "revolute" else flat(0, 0), "velocity": flat(0.5, 0.6)}
        if space:
            body = s.add(ss.RigidBody("body", mass=1, inertia=[0.02] * 3, angular_velocity=[0, 0, 3.0], **about))
        else:
            body = s.add(ss.PlanarBody("body", mass=1, inertia=0.02, angular_velocity=3.0, **about))
        law = {"clearance": 1e-3, "friction": 0.3, "restitution": 0.5}
        if kind == "revolute":
            size = {"radius": 0.02, **({"axis": [0, 0, 1], "length": 0.02} if space else {})}
            s.add(ss.ClearanceRevolute("j", ss.ground.point(*flat(0, 0)), body.point(*flat(-0.2, 0)), **size, **law))
        else:
            size = {
                "axis": flat(1, 0),
                "length": 0.1,
                "height": 0.05,
                **({"width": 0.04, "side": [0, 0, 1]} if space else {}),
            }
            s.add(ss.ClearancePrismatic("j", ss.ground.point(*flat(0, 0)), body.point(*flat(0, 0)), **size, **law))
        solution = solve(s, 0.1, 2e-4)
        assert (solution.P_N > 0).any()
        ends.append([*solution.q[-1, :2], solution.u[-1, -1]])
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-8)


# --- frames of friction and centred starts ----------------------------------------------------------------------------


def test_a_centred_journal_or_ball_has_finite_derivatives():
    s = ss.System("centred")
    s.add(ss.Gravity([0, 0, -G]))
    m, J = ss.inertia.sphere(0.1, mass=1.0)
    ball = s.add(ss.RigidBody("ball", mass=m, inertia=J, angular_velocity=[0, 5, 0]))
    s.add(ss.Contact("drum", ss.Sphere(ball.point(), 0.1), ss.Cavity(ss.ground.point(0, 0, 0), 0.3), friction=0.2))
    solution = solve(s, 0.4, 1e-3)
    assert np.isfinite(solution.q).all()
    assert solution.gap.min() > -1e-8


def test_a_normal_may_turn_all_the_way_round():
    """A ball on an arm circles another one: the normal passes the direction opposite to the one it started with."""
    s = ss.System("circling")
    m, J = ss.inertia.sphere(0.5, mass=1.0)
    a = s.add(ss.RigidBody("a", mass=m, inertia=J, position=[1e-9, 0, 0], angular_velocity=[1, 2, 3]))
    arm = s.add(
        ss.RigidBody("arm", mass=m, inertia=J, position=[3, 0, 0], velocity=[0, 3, 0], angular_velocity=[0, 0, 1])
    )
    s.add(ss.Revolute("hub", ss.ground.point(0, 0, 0), arm.point(-3, 0, 0), axis=[0, 0, 1]))
    s.add(ss.Contact("near", ss.Sphere(arm.point(-1.99, 0, 0), 0.5), ss.Sphere(a.point(), 0.5), friction=0.4))
    solution = solve(s, 6.5, 1e-2)
    speed = np.linalg.norm(solution.slip[:, 0] if solution.slip.ndim == 3 else solution.slip, axis=1)
    assert np.isfinite(speed).all()
    assert speed.max() < 3.1


@pytest.mark.parametrize("angle", np.linspace(0.0, np.pi, 9))
def test_tangents_are_a_right_handed_triad_for_every_normal(angle):
    from stickslip.model.frames import triad, turned_triad

    e = np.array([0.0, 0.0, 1.0])
    for turn in (0.3, 2.0, 5.0):
        n = np.array([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), np.cos(angle)])
        t_1, t_2 = turned_triad(n, e, *triad(e))
        np.testing.assert_allclose(np.array([n, t_1, t_2]) @ np.array([n, t_1, t_2]).T, np.eye(3), atol=1e-14)
        np.testing.assert_allclose(np.cross(n, t_1), t_2, atol=1e-14)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, message",
    [
        ({"clearance": -1e-3}, "revolute joint with clearance 'j': clearance = -0.001 must be a finite number > 0"),
        ({"radius": 0.0}, "radius = 0.0 must be a finite number > 0"),
        ({"axis": [0, 0, 1]}, "in the plane there is no axis"),
        ({"friction": -0.1}, "friction = -0.1 must be a finite number >= 0"),
        ({"restitution": 2.0}, "restitution = 2.0 must be .* <= 1"),
        ({"space": True, "axis": [0, 0, 1]}, "needs length="),
        ({"space": True, "length": 1.0}, "needs axis="),
        ({"space": True, "axis": [0, 0, 1], "length": 0.01}, "at least 4 sqrt"),
    ],
)
def test_bad_revolute_joints_are_named(options, message):
    s = ss.System()
    space = options.pop("space", False)
    if space:
        body, point = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1])), ss.ground.point(0, 0, 0)
    else:
        body, point = s.add(ss.PlanarBody("b", mass=1, inertia=1)), ss.ground.point(0, 0)
    with pytest.raises(ModelError, match=message):
        s.add(ss.ClearanceRevolute("j", point, body.point(), **{"radius": 0.1, "clearance": 1e-3} | options))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"height": 0}, "prismatic joint with clearance 'j': height = 0 must be"),
        ({"width": 0.1}, "belong to a guide in space"),
        ({"axis": [0, 0]}, "has length zero"),
        ({"space": True, "axis": [1, 0, 0]}, "needs width= and side="),
        ({"space": True, "axis": [1, 0, 0], "width": 0.1, "side": [1, 1, 0]}, "must be perpendicular to the axis"),
        ({"space": True, "axis": [1, 0, 0], "width": 0.1, "side": [0, 1, 0], "axis_2": [1, 0, 0]}, "together"),
    ],
)
def test_bad_prismatic_joints_are_named(options, message):
    s = ss.System()
    if options.pop("space", False):
        body, point = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1])), ss.ground.point(0, 0, 0)
    else:
        body, point = s.add(ss.PlanarBody("b", mass=1, inertia=1)), ss.ground.point(0, 0)
    size = {"length": 0.1, "height": 0.05, "clearance": 1e-3, "axis": [1, 0]}
    with pytest.raises(ModelError, match=message):
        s.add(ss.ClearancePrismatic("j", point, body.point(), **size | options))


def test_a_pin_that_does_not_close_is_named():
    """A closed contact misses its gap, not its percussion: errors of rows count by their branch."""
    s = ss.System("pendulum")
    s.add(ss.Gravity([0, -G]))
    rod = s.add(
        ss.PlanarBody("rod", mass=1, inertia=0.02, position=[0, -0.30001], velocity=[0.06, 0], angular_velocity=0.2)
    )
    s.add(ss.ClearanceRevolute("pin", ss.ground.point(0, 0), rod.point(0, 0.3), radius=0.01, clearance=1e-5))
    dt = 2 * np.pi / np.sqrt(G * 0.3 / 0.11) / 1000
    with pytest.raises(ss.ConvergenceError, match=r"Not closed: pin\. A smaller dt") as caught:
        solve(s, 2.0, dt)
    assert caught.value.names == ("pin",)

"""Small machines and toys with detected contacts, each with a number that statics, kinematics or counting gives."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from stickslip.errors import ModelError
from stickslip.model import collisions

G = 9.81


def solve(system: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, progress=False, **options)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_die_comes_to_rest_on_a_face(seed):
    """Thrown with any spin it ends with a face on the table: one of its axes is vertical, its centre half an edge high."""
    rng = np.random.default_rng(seed)
    s, edge = ss.System("die"), 0.016
    s.add(ss.Gravity([0, 0, -G]))
    cube = ss.Box(ss.ground.frame([0, 0, 0.04]), [edge, edge, edge])
    spin = rng.uniform(-30, 30, 3)
    die = s.add(ss.solid("die", cube, density=1200, velocity=[0.3, 0.1, 0], angular_velocity=spin))
    s.add(ss.Collisions("contacts", [die, ss.Plane([0, 0, 0], [0, 0, 1])], friction=0.4, restitution=0.3))
    solution = solve(s, 0.8, 1e-3)
    p = solution.q[-1, 3:]
    vertical = 2 * np.array([p[1] * p[3] - p[0] * p[2], p[2] * p[3] + p[0] * p[1], p[0] ** 2 + p[3] ** 2 - 0.5])
    assert np.abs(vertical).max() == pytest.approx(1.0, abs=1e-7)
    assert solution.q[-1, 2] == pytest.approx(edge / 2, abs=1e-7)
    assert np.abs(solution.u[-1]).max() < 1e-6
    energy = solution.kinetic + solution.potential
    assert np.diff(energy).max() < 1e-9


@pytest.mark.parametrize("mu, stands", [(0.35, True), (0.15, False)])
def test_two_cards_lean_on_each_other(mu, stands):
    """A card of weight W, leaning at the angle a, pushes with W tan(a)/2: it stands if that is below mu W."""
    s, length, thick, angle = ss.System("card house"), 0.09, 0.0005, np.radians(25)
    s.add(ss.Gravity([0, -G]))
    foot, top = (length * np.sin(angle) + thick, thick), (thick, length * np.cos(angle) + thick)
    cards = []
    for name, side in (("left", -1), ("right", 1)):
        ends = [ss.ground.point(side * x, y) for x, y in (foot, top)]
        cards.append(s.add(ss.solid(name, ss.Capsule(*ends, thick), density=600)))
    s.add(ss.Collisions("contacts", [*cards, ss.Line([0, 0], [0, 1])], friction=mu))
    solution = solve(s, 0.2, 5e-4)
    fallen = solution.q[0, 1] - solution.q[-1, 1]
    if stands:
        assert abs(fallen) < 2e-5
        last = solution.contacts.at(400)
        push = last.between("left", "right").P_N.sum() / 5e-4
        weight = s.parameter_values()["left.mass"] * G
        assert push == pytest.approx(weight * np.tan(angle) / 2, rel=0.03)
    else:
        assert fallen > 0.005


@pytest.mark.parametrize("force, holds", [(12.0, True), (8.0, False)])
def test_a_gripper_holds_what_friction_can_carry(force, holds):
    """Two jaws press with the force F on a block of mass 1: they hold it if 2 mu F > m g, else it falls with g - 2 mu F/m."""
    s, mu = ss.System("gripper"), 0.5
    s.add(ss.Gravity([0, -G]))
    block = s.add(ss.solid("block", ss.Box(ss.ground.frame([0, 0]), [0.1, 0.1]), density=100.0))
    jaws = []
    for name, side in (("left", -1), ("right", 1)):
        jaw = s.add(ss.solid(name, ss.Box(ss.ground.frame([side * 0.06, 0]), [0.02, 0.06]), density=100.0))
        s.add(ss.Prismatic(f"guide {name}", ss.ground.point(side * 0.06, 0), jaw.point(0, 0), axis=[1, 0]))
        s.add(ss.Force(f"push {name}", jaw.point(0, 0), [-side * force, 0]))
        jaws.append(jaw)
    s.add(ss.Collisions("contacts", [block, *jaws], friction=mu))
    dt, t_end = 1e-3, 0.1
    solution = solve(s, t_end, dt)
    fallen = -solution.u[-1, 1]
    assert s.parameter_values()["block.mass"] == pytest.approx(1.0)
    assert fallen == pytest.approx(0.0 if holds else (G - 2 * mu * force) * t_end, abs=1e-6)


def test_sizes_below_zero_are_refused():
    body = ss.RigidBody("b", mass=1, inertia=[1, 1, 1])
    for make in (
        lambda: ss.Sphere(body.point(), -0.1),
        lambda: ss.Capsule(body.point(), body.point(1, 0, 0), -0.1),
        lambda: ss.Box(body, [0.1, -0.1, 0.1]),
        lambda: ss.Cylinder(body.point(), [0, 0, 1], -1.0, 1.0, points=8),
        lambda: ss.Cavity(body.point(), -1.0),
    ):
        with pytest.raises(ModelError, match=r"must be|positive|> 0"):
            make()


def test_too_many_bodies_are_named(monkeypatch):
    monkeypatch.setattr(collisions, "MANY", 20)
    s = ss.System("gas")
    balls = s.add_many(ss.PointMass("b", mass=1, position=[0, 0, 0]), position=np.arange(63.0).reshape(21, 3))
    with pytest.raises(ModelError, match="21 bodies; detection is meant for at most 20"):
        ss.Collisions("contacts", [ss.Sphere(ball.point(), 0.1) for ball in balls])

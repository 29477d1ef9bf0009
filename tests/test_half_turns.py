"""Angles in space are known only up to whole turns: what depends on more is refused, or says when it is wrong."""

import warnings

import numpy as np
import pytest

import stickslip as ss
from stickslip.math import sin


def hinge(speed: float = 5.0) -> tuple[ss.System, ss.Revolute]:
    s = ss.System("hinge")
    body = s.add(ss.RigidBody("body", mass=1, inertia=[0.1] * 3, angular_velocity=[0, 0, speed]))
    return s, s.add(ss.Revolute("hinge", ss.ground.point(0, 0, 0), body.point(), axis=[0, 0, 1]))


PASSING = {
    "spring": lambda x: ss.SpringDamper("part", x, stiffness=1e-3),
    "law": lambda x: ss.SpringDamper("part", x, law=lambda x, v: -1e-3 * x**3),
    "motor": lambda x: ss.Motor("part", x, lambda t, x, v: -1e-3 * x),
    "one stop": lambda x: ss.Limits("part", x, lower=-2.0),
}
HARMLESS = {
    "damper": lambda x: ss.SpringDamper("part", x, damping=1e-3),
    "periodic motor": lambda x: ss.Motor("part", x, lambda t, x, v: 1e-3 * sin(2 * x) - 1e-3 * v),
    "constant motor": lambda x: ss.Motor("part", x, 1e-3),
    "friction": lambda x: ss.Friction("part", x, force=1e-3),
}


@pytest.mark.parametrize("part", PASSING)
def test_half_a_turn_is_told_with_its_time(part):
    s, joint = hinge()
    s.add(PASSING[part](joint.angle))
    with pytest.warns(
        ss.AngleWarning, match="'part': its angle passes half a turn at t = 0.2" if part == "one stop" else "at t = 0.6"
    ):
        ss.solve(s, 0.8, 1e-2, method="moreau")  # 5 rad/s from 0 to pi; the stop at -2 sees pi - 2 earlier


@pytest.mark.parametrize("part", HARMLESS)
def test_what_does_not_count_turns_is_right_over_many(part):
    s, joint = hinge()
    s.add(HARMLESS[part](joint.angle))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ss.solve(s, 3.0, 1e-2)["hinge.angle"][-1] > 12


def test_less_than_half_a_turn_is_as_in_the_plane():
    s, joint = hinge(speed=5.0)
    s.add(ss.SpringDamper("spring", joint.angle, stiffness=0.5))  # omega = sqrt(5): to 2.24 rad, and back
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = ss.solve(s, 4.0, 1e-3)
        thinned = ss.solve(s, 4.0, 1e-3, save_every=400)
    exact = 5 / np.sqrt(5) * np.sin(np.sqrt(5) * solution.t)
    assert np.abs(solution["hinge.angle"] - exact).max() < 1e-4
    assert np.abs(thinned["hinge.angle"] - exact[::400]).max() < 1e-4


def test_a_stepper_tells_too():
    s, joint = hinge()
    s.add(ss.SpringDamper("spring", joint.angle, stiffness=1e-3))
    with ss.stepper(s, 1e-2) as sim, pytest.warns(ss.AngleWarning, match="SpringDamper 'spring'"):
        sim.run(1.0)


@pytest.mark.parametrize(
    "ends, message",
    [
        ({"lower": -4.0, "upper": 4.0}, "less than a turn apart; lower = -4 and upper = 4 do not"),
        ({"lower": -1.0, "upper": 5.4}, "less than a turn apart"),
        ({"upper": 4.0}, "a single stop must lie there; upper = 4 does not. Give both stops"),
    ],
)
def test_stops_that_an_angle_in_space_does_not_reach_are_refused(ends, message):
    s, joint = hinge()
    with pytest.raises(ss.ModelError) as caught:
        s.add(ss.Limits("stops", joint.angle, **ends))
    assert message in str(caught.value)


def test_stops_almost_a_turn_apart_hold():
    s, joint = hinge()
    s.add(ss.Limits("stops", joint.angle, lower=-1.0, upper=5.2, restitution=1.0))
    angle = ss.solve(s, 3.0, 1e-3)["hinge.angle"]
    assert abs(angle.max() - 5.2) < 1e-2
    assert abs(angle.min() + 1.0) < 1e-2

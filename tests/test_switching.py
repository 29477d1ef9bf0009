"""Modes: what is switched off carries no force, what is switched on holds, and events are where they are."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.integrate import quad

import stickslip as ss
from stickslip.math import minimum

STEPPED = [name for name in ss.METHODS if name not in ("event-driven", "half-explicit-adaptive")]
G = 9.81


def sling(located: str = "event") -> ss.System:
    """A mass on a rod is let go 30 degrees below the horizontal."""
    s = ss.System("sling")
    (x, y), u = s.coordinates("x y", initial=[1, 0], velocity=[0, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(G * y)
    s.constraint((x**2 + y**2 - 1) / 2, active=s.switch("held", on=y + 0.5, located=located), name="rod")
    return s


def flight(t: float) -> np.ndarray:
    """Where it is, exactly."""
    release = quad(lambda phi: 1 / np.sqrt(2 * G * np.sin(phi)), 0, np.pi / 6, epsabs=1e-13)[0]
    v, tau = np.sqrt(2 * G * 0.5), t - release
    start, speed = np.array([np.cos(np.pi / 6), -0.5]), v * np.array([-0.5, -np.cos(np.pi / 6)])
    return start + tau * speed - np.array([0, G / 2 * tau**2])


@pytest.mark.parametrize("method", STEPPED)
def test_a_constraint_is_let_go_at_the_event(method):
    solution = ss.solve(sling(), 0.8, 1e-3, method=method, progress=False)
    held = solution["held"]
    assert held[0] == 1
    assert held[-1] == 0
    assert (np.diff(held) <= 0).all()
    assert np.abs(solution.P_g[held[:].astype(bool)]).max() > 0
    assert (solution.P_g[np.flatnonzero(held == 0)[1:]] == 0).all()
    assert np.allclose(solution.t, np.arange(len(solution)) * 1e-3, rtol=0, atol=1e-12)  # the grid stays
    # Schatzman and Paoli's velocities, from which it begins anew, are of first order.
    first_order = ss.METHODS[method]().facts.order in (None, 1) or method in ("moreau-jean", "schatzman-paoli")
    assert np.abs(solution.q[-1] - flight(solution.t[-1])).max() < (1e-2 if first_order else 5e-6)


def test_the_event_keeps_the_order_of_the_scheme():
    """Located at the event, the error is of second order; at the end of the step, of first."""
    errors = {}
    for located in ("event", "step"):
        ends = [ss.solve(sling(located), 0.8, dt, progress=False).q[-1] for dt in (8e-3, 4e-3, 2e-3, 1e-3)]
        errors[located] = [np.abs(q - flight(0.8)).max() for q in ends]
    assert errors["event"][0] / errors["event"][-1] > 40  # 64
    assert errors["step"][-1] > 20 * errors["event"][-1]


def test_a_part_is_switched_and_runs_are_continued_bit_for_bit(tmp_path):
    s = ss.System("gripper")
    body = s.add(
        ss.PlanarBody("body", mass=2.0, inertia=0.1, position=[0, 0], velocity=[1.0, 0.3], angular_velocity=0.5)
    )
    wall = ss.ground.point(0.5, 0.15)
    grip = s.switch("grip", on=s.blocks[0].q[0] - 0.5, off=s.time - 1.0, located="event")
    s.add(ss.Revolute("hand", wall, body.point(0, 0)), active=grip)
    options = {"dt": 1e-2, "progress": False}
    whole = ss.solve(s, 1.5, **options)
    while_on = (whole["grip"] == 1) & (whole.t > 0.52)
    assert np.allclose(whole.q[while_on, :2], [0.5, 0.15], atol=1e-9)  # it is held
    assert np.allclose(whole.u[while_on, :2], 0, atol=1e-9)
    assert np.allclose(whole["hand.P"].sum(axis=0), [2.0, 0.6])  # the impact took its momentum
    assert np.allclose(whole.u[-1], [0, 0, 0.5])  # and let go, it stays there and turns on
    for middle in (0.3, 0.7, 1.2):
        first = ss.solve(s, middle, **options)
        assert ss.solve(s, 1.5, start=first.state, **options).q.tobytes() == whole.q[len(first) - 1 :].tobytes()
        ss.solve(s, middle, out=tmp_path / "run.h5", overwrite=True, **options)
        longer = ss.resume(tmp_path / "run.h5", s, t_end=1.5, progress=False)
        assert longer.q.tobytes() == whole.q.tobytes()
        assert longer["grip"].tobytes() == whole["grip"].tobytes()
        with ss.stepper(s, dt=1e-2) as sim:
            a, b = sim.run(middle), sim.run(1.5)
        assert np.vstack([a.q, b.q[1:]]).tobytes() == whole.q.tobytes()
    again = pickle.loads(pickle.dumps(s))
    assert ss.solve(again, 1.5, **options).q.tobytes() == whole.q.tobytes()


def test_a_contact_that_is_off_lets_pass():
    """A ball falls through a floor that is not there yet, and lands on the one below it."""
    s = ss.System()
    (y,), (v,) = s.coordinates("y", initial=[1.0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(G * y)
    s.contact(gap=y, name="upper", active=s.switch("later", on=s.time - 2.0))
    s.contact(gap=y + 1, name="lower")
    solution = ss.solve(s, 1.5, 1e-3, progress=False)
    assert solution["upper.P"].max() == 0
    assert solution["lower.P"].max() > 0
    assert np.isclose(solution.q[-1, 0], -1.0)
    with pytest.raises(ss.InitialStateError, match="'upper' is switched on inside its obstacle, gap -1"):
        ss.solve(s, 2.5, 1e-3, progress=False)


def test_a_constraint_that_does_not_hold_is_not_switched_on():
    s = ss.System()
    (x,), (v,) = s.coordinates("x", initial=[0.0], velocity=[1])
    s.kinetic_energy(v**2 / 2)
    s.constraint(x - 0.5001, active=s.switch("stop", on=x - 0.5), name="wall")
    with pytest.raises(ss.InitialStateError, match="constraint 'wall' is switched on, but is"):
        ss.solve(s, 1.0, 1e-2, progress=False)


def test_a_rule_of_forces_and_measures():
    """A bang-bang heater of a spring: forces and measures read the switch of their step."""
    s = ss.System()
    (x,), (v,) = s.coordinates("x", initial=[1.0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    push = s.switch("push", on=-v, off=v, start=False)
    s.force([-x + 0.5 * push])
    s.measure("pushing", 0.5 * push)
    solution = ss.solve(s, 20.0, 1e-3, progress=False)
    assert (solution["pushing"] == 0.5 * solution["push"]).all()
    assert set(solution["push"]) == {0.0, 1.0}
    assert np.allclose(solution["push"][2:], (solution.u[1:-1, 0] < 0), atol=0)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda s, x, v, p: s.constraint(x, active=x), "active= must be a switch or a parameter"),
        (lambda s, x, v, p: s.switch("a", on=x, located="somewhere"), "'step' or 'event'"),
        (lambda s, x, v, p: s.switch("a", on=1.0), "depends on nothing"),
        (lambda s, x, v, p: s.switch("p", on=x), "declared twice"),
        (lambda s, x, v, p: s.switch("a", on=ss.System().coordinates("z", initial=[0], velocity=[0])[0][0]), "'z'"),
        (lambda s, x, v, p: s.add(ss.Gravity([1.0]), active=p), "no constraint and no contact"),
        (lambda s, x, v, p: ss.solve(s, 1.0, 1e-2, parameters={"p": 1}), "is a switch"),
        (lambda s, x, v, p: ss.stepper(s, 1e-2).set(p=1), "is a switch"),
        (lambda s, x, v, p: ss.solve(s, 1.0, 1e-2, method="event-driven"), "steps of equal length"),
        (lambda s, x, v, p: ss.ensemble(s, 1.0, 1e-2), "only `solve`, `sweep` and `stepper` can follow"),
    ],
)
def test_wrong_declarations_are_named(wrong, message):
    s = ss.System()
    (x,), (v,) = s.coordinates("x", initial=[1.0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    p = s.switch("p", on=x)
    with pytest.raises(ss.StickslipError, match=message):
        wrong(s, x, v, p)


def test_two_rules_in_one_step():
    """Switches that turn each other within one step are all located."""
    s = ss.System()
    (x,), (v,) = s.coordinates("x", initial=[0.0], velocity=[1])
    s.kinetic_energy(v**2 / 2)
    for k in range(3):
        s.force([s.switch(f"s{k}", on=minimum(x - 0.101 - 0.002 * k, 1), located="event")])
    solution = ss.solve(s, 0.5, 1e-2, progress=False)
    t, x, v = 0.101, 0.101, 1.0
    for k in range(2):  # exactly: accelerations 1 and 2 over 2 mm each, then 3
        a = k + 1
        tau = (-v + np.sqrt(v**2 + 2 * a * 0.002)) / a
        t, x, v = t + tau, x + 0.002, v + a * tau
    tau = 0.5 - t
    assert np.isclose(solution.q[-1, 0], x + v * tau + 1.5 * tau**2, rtol=0, atol=1e-9)


def test_a_parameter_that_switches_is_one_or_zero():
    """It was a factor: with 2, dry friction pushed twice as hard, and forces of a constraint read half their size."""
    s = ss.System()
    body = s.add(ss.PointMass("body", mass=1.0, position=[0, 0], velocity=[1, 0]))
    s.add(ss.Gravity([0, -3.0]))
    on = s.parameter("on", 1.0)
    s.add(ss.Friction("pad", ss.Displacement(ss.ground.point(0, 0), body.point(), [1, 0]), force=0.5), active=on)
    s.constraint(body.q[1], active=on, name="rail")
    for value, speed, push in ((1.0, 0.95, 3.0), (2.0, 0.95, 3.0), (-0.5, 0.95, 3.0), (0.0, 1.0, 0.0)):
        solution = ss.solve(s, 0.1, 1e-2, parameters={"on": value}, progress=False)
        assert np.isclose(solution.u[-1, 0], speed)
        assert np.isclose(solution["rail.force"][-1], push)

"""Stages with many contacts: linearisations on the graph of bodies, and derivatives without what a step changes in matrices."""

import casadi as ca
import numpy as np
import pytest

import stickslip as ss
from stickslip.engine import body_rescue
from stickslip.engine.calls import LoopCalls
from stickslip.engine.fields import DT
from stickslip.engine.pattern import StagePattern


def stack(n):
    """Boxes that fall on each other, turned a little."""
    s, rng, size = ss.System("stack"), np.random.default_rng(3), [0.2, 0.2, 0.1]
    s.add(ss.Gravity([0, 0, -9.81]))
    m, J = ss.inertia.box(*size, mass=1.0)
    below = ss.Plane([0, 0, 0], [0, 0, 1])
    for i in range(n):
        motion = {"velocity": 0.1 * rng.normal(size=3), "angular_velocity": 0.2 * rng.normal(size=3)}
        place = [*rng.uniform(-0.01, 0.01, 2), 0.05 + 0.1 * i + 1e-3 * (i + 1)]
        box = s.add(ss.RigidBody(f"box {i}", mass=m, inertia=J, position=place, **motion))
        s.add(ss.Contact(f"contact {i}", ss.Box(box, size), below, friction=0.5, restitution=0.2))
        below = ss.Plane([0, 0, 0.05], [0, 0, 1], box)
    return s


def tripods(n):
    """The same with three feet each, whose normal forces are unique; friction of feet that stick is not."""
    s, rng = ss.System("tripods"), np.random.default_rng(1)
    s.add(ss.Gravity([0, 0, -9.81]))
    m, J = ss.inertia.box(0.2, 0.2, 0.1, mass=1.0)
    below = ss.Plane([0, 0, 0], [0, 0, 1])
    for i in range(n):
        motion = {"velocity": 0.1 * rng.normal(size=3), "angular_velocity": 0.2 * rng.normal(size=3)}
        place = [*rng.uniform(-0.01, 0.01, 2), 0.05 + 0.1 * i + 1e-3 * (i + 1)]
        body = s.add(ss.RigidBody(f"body {i}", mass=m, inertia=J, position=place, **motion))
        for x, y in ((0.1, 0.0), (-0.06, 0.09), (-0.06, -0.09)):
            foot = body.point(x, y, -0.05)
            s.add(ss.Contact(f"foot {i} {x} {y}", foot, below, friction=0.5, restitution=0.2))
        below = ss.Plane([0, 0, 0.05], [0, 0, 1], body)
    return s


def both(system, monkeypatch, **run):
    """What is found on bodies, what others find, and the first step that differs: up to there all steps are the same."""
    found = ss.solve(system(), dt=2e-3, **run)
    assert found.stats.solved_by["robust on bodies"] > 0
    assert found.stats.residuals.max() < 1e-8
    monkeypatch.setattr("stickslip.engine.rescue.solve_on_bodies", lambda *_: None)
    other = ss.solve(system(), dt=2e-3, **run)
    assert "robust on bodies" not in other.stats.solved_by
    return found, other, np.flatnonzero(np.abs(found.u - other.u).max(axis=1) > 0.0)[0]


@pytest.mark.parametrize("method", ["generalized-alpha", "lobatto"])
def test_what_is_found_on_bodies_is_the_motion_that_others_find(method, monkeypatch):
    found, other, first = both(lambda: tripods(6), monkeypatch, t_end=0.04, method=method)
    for name in ("q", "u", "P_N"):
        assert np.abs(getattr(found, name)[first] - getattr(other, name)[first]).max() < 3e-8, name


@pytest.mark.parametrize("method, boxes", [("generalized-alpha", 3), ("lobatto", 5)])
def test_what_four_corners_share_differently_does_not_move_a_box_up(method, boxes, monkeypatch):
    """Of boxes that slide their forces are not unique, and so neither is their spin about the vertical."""
    found, other, first = both(lambda: stack(boxes), monkeypatch, t_end=0.04, method=method)
    assert np.abs(found.gap[first] - other.gap[first]).max() < 1e-8
    assert np.abs(found.u[first] - other.u[first])[2::6].max() < 1e-7
    pushes = [each.P_N[first].reshape(boxes, -1).sum(axis=1) for each in (found, other)]
    assert pushes[0] == pytest.approx(pushes[1], abs=1e-7)


def test_newton_with_exact_derivatives_follows_where_rough_ones_do_not_lead_on(monkeypatch):
    monkeypatch.setattr(body_rescue, "_iterate", lambda *_: body_rescue.OnBodies(1e-6))
    solution = ss.solve(stack(3), t_end=0.03, dt=2e-3, method="generalized-alpha")
    assert solution.stats.solved_by["newton with exact derivatives"] > 0
    assert solution.stats.residuals.max() < 1e-8


@pytest.mark.parametrize("method", ["generalized-alpha", "lobatto"])
def test_rough_derivatives_are_exact_up_to_the_order_of_dt(method, monkeypatch):
    made = []
    real = StagePattern.rough
    monkeypatch.setattr(StagePattern, "rough", lambda self, name: made.append((self, real(self, name))) or made[-1][1])
    ss.solve(stack(2), t_end=1e-3, dt=1e-3, method=ss.METHODS[method]())
    if not made:  # the sheet was written before: write it once more
        from stickslip.engine import sheets

        sheets._kept.clear()
        ss.solve(stack(2), t_end=1e-3, dt=1e-3, method=ss.METHODS[method]())
    assert made
    rng = np.random.default_rng(0)
    for pattern, rough in [each for each in made if each[1] is not None]:
        exact = pattern.function("exact")
        assert rough.n_instructions() < 0.5 * exact.n_instructions()
        inputs = [rng.uniform(0.5, 1.0, exact.size1_in(i)) for i in range(exact.n_in())]
        errors = []
        for dt in (1e-3, 1e-4):
            inputs[pattern.fields.index(DT)] = dt
            (f, J), (g, K) = exact.call(inputs), rough.call(inputs)
            assert np.allclose(np.array(f), np.array(g), rtol=1e-12, atol=1e-12)
            rows = np.abs(ca.DM(J).full()).max(axis=1)
            errors.append((np.abs(ca.DM(J).full() - ca.DM(K).full()).max(axis=1) / np.where(rows > 0, rows, 1.0)).max())
        assert 5 < errors[0] / errors[1] < 20


def test_rescues_start_where_the_step_does(monkeypatch):
    """Not where a failed attempt has ended, with accelerations of 1e3 m/s a step and more."""
    starts, real = [], LoopCalls._rescue

    def watched(calls, failed):
        n = int(calls.tables.problems[failed]["n_smooth"])
        starts.append(np.abs(calls.work.start[:n]).max())
        return real(calls, failed)

    monkeypatch.setattr(LoopCalls, "_rescue", watched)
    ss.solve(stack(6), t_end=0.06, dt=2e-3, method="generalized-alpha")
    assert starts  # how many there are depends on rounding
    assert max(starts) < 10.0


@pytest.mark.parametrize("method", ["lobatto", "generalized-alpha"])
def test_a_stage_begins_the_same_whatever_was_solved_before(method):
    """Scales of idle contacts were those of an earlier stage, so a run that continued from a state drew apart by 1e-9 m."""
    s = ss.System("boxes")
    s.add(ss.Gravity([0, 0, -9.81]))
    shapes = [ss.Box(ss.ground.frame([0.02 * k, 0.01 * k, 0.06 + 0.11 * k]), [0.1, 0.1, 0.1]) for k in range(2)]
    boxes = [
        s.add(ss.solid(f"box {k}", shape, density=1000, angular_velocity=[1, 0.5 * k, 0.2]))
        for k, shape in enumerate(shapes)
    ]
    s.add(ss.Collisions("contacts", [*boxes, ss.Plane([0, 0, 0], [0, 0, 1])], friction=0.4, restitution=0.1))
    ends = []
    for left_over in (None, 0.0, 1e3):
        with ss.stepper(s, dt=5e-3, method=method) as sim:
            for _ in range(30):
                if left_over is not None:
                    sim._run.work.x["unit"][:] = left_over
                sim.step()
            assert sim._run.solved_by["robust on bodies"] >= 2
            ends.append(sim.q)
    assert (ends[0] == ends[1]).all()
    assert (ends[0] == ends[2]).all()

"""Stages of free bodies with many contacts, in the unknowns of their bodies."""

import importlib
from functools import cache

import numpy as np
import pytest

import hard_cases
import stickslip as ss
from stickslip.nonsmooth.operator import unknowns_of, velocities

METHODS = ("rattle", "moreau", "moreau-jean", "theta", "half-explicit", "explicit-velocity")


@cache
def stack():
    return hard_cases.stack(10, e=0.2, seed=1, space=True)


@pytest.fixture
def noted(monkeypatch):
    """Every stage that is solved by bodies, with the same stage as a problem of its laws alone."""
    by_bodies = importlib.import_module("stickslip.engine.by_bodies")
    local = importlib.import_module("stickslip.engine.local")
    honest, seen = by_bodies.body_stage, []

    def both(tables, k, memory, work):
        reduced = local.local_problem(tables, k, memory, work)
        work.x["step"][: int(tables.problems[k]["n"])] = 0.0
        stage = honest(tables, k, memory, work)
        seen.append((stage, reduced))
        return stage

    monkeypatch.setattr(by_bodies, "body_stage", both)
    return seen


@pytest.mark.parametrize("method", ["rattle", "moreau", "half-explicit"])
def test_bodies_and_laws_alone_are_the_same_problem(noted, method):
    """W = G M^-1 F^T and q, row by row, and the laws; eliminated by two ways that share nothing."""
    ss.solve(stack(), 0.06, 2e-3, method=method)
    assert noted
    for stage, reduced in noted[:5]:
        assert stage is not None
        n, op = stage.unknown.size, stage.op
        place = np.empty(reduced.unknown.max() + 1, int)
        place[reduced.unknown] = np.arange(n)
        rows = place[stage.unknown]  # where a row of one is in the other
        W, q = reduced.problem.W.toarray()[np.ix_(rows, rows)], reduced.problem.q[rows]
        columns, x, work = np.empty((n, n)), np.zeros(op.f.size), np.zeros(op.f.size)
        u, free = np.zeros(n), np.zeros(n)
        unknowns_of(op, stage.laws, np.zeros(n), x, work)
        velocities(op, stage.laws, x, free)
        for j in range(n):
            unknowns_of(op, stage.laws, np.eye(n)[j], x, work)
            velocities(op, stage.laws, x, u)
            columns[:, j] = u - free
        size = np.sqrt(np.abs(W.diagonal()))
        assert np.abs((columns - W) / np.outer(size, size)).max() < 1e-8
        assert np.allclose(free, q, rtol=0, atol=1e-9 * np.abs(q).max())
        assert np.array_equal(stage.z, reduced.z[rows])
        theirs = reduced.problem.laws
        assert sorted(stage.laws.mu) == pytest.approx(sorted(theirs.mu))
        assert sorted(stage.laws.radius) == pytest.approx(sorted(theirs.radius), abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_steps_that_are_solved_by_bodies_obey_the_laws(method):
    """Weights and impacts of a stack of ten: residuals below the tolerance, contacts push, friction stays in its cones."""
    solution = ss.solve(stack(), 0.07, 2e-3, method=method)
    assert solution.stats.solved_by.get("robust", 0) > 0
    assert solution.stats.residuals.max() < 1e-8
    P_F = np.linalg.norm(solution.P_F.reshape(len(solution.t), -1, 2), axis=2)
    assert solution.P_N.min() >= -1e-8  # of boxes of 1 kg: the tolerance
    assert (P_F <= 0.5 * solution.P_N + 1e-7).all()


def test_a_run_that_is_continued_takes_the_same_ways():
    """Whether a stage is solved by bodies depends on the stage alone."""
    system = stack()
    whole = ss.solve(system, 0.06, 2e-3, method="moreau")
    with ss.stepper(system, 2e-3, method="moreau") as sim:
        sim.step(14)
        state = sim.state
    with ss.stepper(system, 2e-3, method="moreau") as sim:
        sim.state = state
        sim.step(16)
        assert np.array_equal(sim.q, whole.q[30])
        assert np.array_equal(sim.u, whole.u[30])


def test_percussions_found_by_bodies_are_those_of_minimum_norm():
    """A box that lands flat on four corners without slip: each of them takes a quarter of the percussion."""
    system = ss.System("ten boxes side by side")
    system.add(ss.Gravity([0, 0, -9.81]))
    m, J = ss.inertia.box(0.2, 0.2, 0.1, mass=1.0)
    for k in range(10):
        box = system.add(ss.RigidBody(f"box {k}", mass=m, inertia=J, position=[k, 0, 0.0505], velocity=[0, 0, -1.0]))
        system.add(ss.Contact(f"floor {k}", ss.Box(box, [0.2, 0.2, 0.1]), ss.Plane([0, 0, 0], [0, 0, 1]), friction=0.5))
    solution = ss.solve(system, 0.01, 2e-3, method="moreau")
    lands = int(solution.P_N.sum(axis=1).argmax())
    P = solution.P_N[lands].reshape(10, 8)
    assert np.allclose(np.sort(P, axis=1)[:, 4:], P.sum(axis=1)[:, None] / 4, rtol=1e-6)

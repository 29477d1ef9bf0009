"""`solver=` of a run: the contact problems of its steps are solved by one solver alone."""

from functools import cache

import numpy as np
import pytest

import stickslip as ss

SOLVERS = ("newton", "gauss-seidel", "robust", "enumeration")
METHODS = ("rattle", "moreau", "moreau-jean", "half-explicit", "lobatto", "generalized-alpha")


@cache
def ball() -> ss.System:
    return ss.benchmarks.rotating_bouncing_ball(case=1)


@cache
def fall(method: str, solver: str) -> ss.Solution:
    """A bounce with friction. The next one begins exactly at the end of a step: rounding would decide which one it is in."""
    return ss.solve(ball(), 0.8, 1e-2, method=method, solver=solver, q0=[0, 1.0123, 0])


@cache
def boxes(upper: float = 1.0) -> ss.System:
    """Two boxes that fall on each other and on the floor: four contacts with eight forces for six velocities."""
    s = ss.System("two boxes")
    s.add(ss.Gravity([0, -9.81]))
    below = ss.Line([0, 0], [0, 1])
    for i, (x, m) in enumerate(((0.0, 1.0), (0.01, upper))):
        body = s.add(
            ss.PlanarBody(f"box {i}", mass=m, inertia=4e-3 * m, position=[x, 0.051 + 0.102 * i], velocity=[0.1, 0])
        )
        s.add(ss.Contact(f"contact {i}", ss.Box(body, [0.2, 0.1]), below, friction=0.3, restitution=0.2))
        below = ss.Line([0, 0.05], [0, 1], body)
    return s


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_one_solver_finds_the_motion_of_all(solver, method):
    ladder, alone = fall(method, "auto"), fall(method, solver)
    assert np.abs(alone.q - ladder.q).max() < 1e-9
    assert np.abs(alone.u - ladder.u).max() < 1e-9
    assert np.abs(alone.P_F - ladder.P_F).max() < 1e-9
    assert set(alone.stats.solved_by) <= {"newton", solver}
    assert alone.stats.solved_by[solver] > 0
    assert alone.stats.residuals.max() < 1e-8


@pytest.mark.parametrize("method", ["rattle", "theta", "generalized-alpha"])
def test_redundant_contacts_by_the_robust_solver(method):
    ladder, alone = (ss.solve(boxes(), 0.1, 2e-3, method=method, solver=each) for each in ("auto", "robust"))
    assert np.abs(alone.q - ladder.q).max() < 1e-7
    assert np.abs(alone.u - ladder.u).max() < 1e-5
    assert alone.stats.solved_by["robust"] > 30


def test_detected_contacts_by_one_solver():
    ladder, alone = (ss.solve(ss.benchmarks.dominoes(), 0.01, 1e-3, solver=each) for each in ("auto", "robust"))
    assert np.abs(alone.q - ladder.q).max() < 1e-8
    assert alone.stats.solved_by == {"robust": 20}


def test_runs_continue_bit_for_bit(tmp_path):
    given = {"dt": 2e-3, "method": "theta", "solver": "robust"}
    whole, half = ss.solve(boxes(), 0.06, **given), ss.solve(boxes(), 0.03, out=tmp_path / "run.h5", **given)
    assert (ss.solve(boxes(), 0.06, start=half, **given).q[-1] == whole.q[-1]).all()
    longer = ss.resume(tmp_path / "run.h5", boxes(), t_end=0.06)
    assert (longer.u == whole.u).all()
    with ss.stepper(boxes(), **given) as sim:
        sim.step(30)
        assert (sim.q == whole.q[-1]).all()
        assert set(sim.solved_by) == {"newton", "robust"}


def test_a_step_that_the_solver_does_not_solve_ends_with_an_error_that_names_it():
    with pytest.raises(ss.ConvergenceError, match="by gauss-seidel on the linearised problem") as caught:
        ss.solve(boxes(1e6), 0.1, 2e-3, method="theta", solver="gauss-seidel")
    assert "solver='auto' asks in turn" in str(caught.value)
    assert "contact 0" in " ".join(caught.value.names)
    assert caught.value.problem is not None
    with pytest.raises(ss.ConvergenceError, match="iterations of Newton's method") as caught:
        ss.solve(boxes(), 0.1, 2e-3, method="theta", solver="newton", max_iterations=1)
    assert "robust" not in str(caught.value)
    assert caught.value.names


@pytest.mark.parametrize(
    "given, message",
    [
        ({"solver": "robst"}, "unknown solver 'robst'; did you mean 'robust'?"),
        ({"solver": None}, "unknown solver 'None'. Known: auto, "),
        ({"solver": "newton", "method": "event-driven"}, "method 'event-driven' has no steps"),
    ],
)
def test_what_is_no_solver_is_refused(given, message):
    with pytest.raises((ss.OptionError, ss.MethodError)) as caught:
        ss.solve(ball(), 0.1, 1e-2, **given)
    assert message in str(caught.value)
    with pytest.raises((ss.OptionError, ss.MethodError)):
        ss.stepper(ball(), 1e-2, **given)


def test_enumeration_says_where_it_ends():
    with pytest.raises(ss.OptionError, match="enumeration cannot treat this problem"):
        ss.solve(boxes(), 0.1, 2e-3, solver="enumeration")

"""The contact problem of any step of any run."""

import importlib

import numpy as np
import pytest

import stickslip as ss

METHODS = [n for n, s in ss.METHODS.items() if s().facts.friction and s.compile is ss.Scheme.compile]


def slider(height: float = 0.0, speed: float = 0.0) -> ss.System:
    """A box on an incline, or falling to it, in the plane: two corners, one of which carries more."""
    s = ss.System("slider")
    s.add(ss.Gravity([4.0, -9.0]))
    box = s.add(ss.PlanarBody("box", mass=2.0, inertia=0.05, position=[0, 0.1 + height], velocity=[0.5, -speed]))
    for name, x in (("left", -0.2), ("right", 0.2)):
        s.add(ss.Contact(name, box.point(x, -0.1), ss.Line([0, 0], [0, 1]), friction=0.3))
    return s


@pytest.mark.parametrize("method", METHODS)
def test_its_solution_is_that_of_the_run(method):
    solution = ss.solve(slider(), 0.02, 1e-3, method=method, progress=False)
    problem = ss.step_problem(solution, 10)
    assert set(problem.names) == {"left", "right"}
    found = ss.nonsmooth.solve(problem, tol=1e-12)
    assert found.converged
    if method in ("moreau", "theta", "moreau-jean", "moreau-symmetric"):  # one stage has the percussions of the step
        assert found.reaction[0::2] == pytest.approx(solution.P_N[10], abs=1e-9)
        assert found.reaction[1::2] == pytest.approx(solution.P_F[10], abs=1e-9)


@pytest.mark.parametrize("method, stage", [
    ("rattle", "velocity_stage"), ("lobatto", "velocity_stage"), ("half-explicit", "impact"),
    ("half-explicit-adaptive", "impact"), ("explicit-velocity", "impact"),
])  # fmt: skip
def test_the_stage_that_holds_the_percussions_of_a_step(method, stage):
    """As the documentation says: of steps with an impact, and of all others where velocities have a stage."""
    solution = ss.solve(slider(height=1e-4, speed=0.02), 0.02, 1e-3, method=method, progress=False)
    impact = int(solution.P_N.sum(axis=1).argmax())
    for step in (impact, solution.stats.steps) if stage == "velocity_stage" else (impact,):
        found = ss.nonsmooth.solve(ss.step_problem(solution, step, stage=stage), tol=1e-12).reaction
        assert found[0::2] == pytest.approx(solution.P_N[step], abs=1e-9)
        assert found[1::2] == pytest.approx(solution.P_F[step], abs=1e-9)


def test_states_of_the_run_are_used_and_stages_have_names(tmp_path):
    plain = ss.solve(slider(), 0.02, 1e-3, progress=False)
    kept = ss.solve(slider(), 0.02, 1e-3, states=True, progress=False)
    one, other = (ss.step_problem(s, 7, stage="velocity_stage") for s in (plain, kept))
    assert np.array_equal(one.W.toarray(), other.W.toarray())
    one.save(tmp_path / "step.hdf5")
    again = ss.nonsmooth.load_fclib(tmp_path / "step.hdf5")
    assert np.abs(again.q - one.q).max() < 1e-15
    with pytest.raises(
        ss.OptionError, match="step_problem needs a solution, as ss.solve and ss.load give it, got None"
    ):
        ss.step_problem(None, 1)
    with pytest.raises(ss.OptionError, match="unknown stage with contacts 'velocity'"):
        ss.step_problem(plain, 7, stage="velocity")
    with pytest.raises(ss.OptionError, match="step = 21 must be a whole number from 1 to 20"):
        ss.step_problem(plain, 21)
    with pytest.raises(ss.MethodError, match="has no steps whose problem could be captured"):
        ss.step_problem(ss.solve(slider(), 0.02, 1e-3, method="event-driven", progress=False), 3)


def test_a_stepper_shows_the_problem_of_its_next_step_and_stays():
    with ss.stepper(slider(), dt=1e-3, method="moreau") as sim:
        sim.step(9)
        before = sim.state
        problem = sim.problem()
        assert sim.state.same(before)
        sim.step()
        assert ss.nonsmooth.solve(problem, tol=1e-12).reaction[0::2] == pytest.approx(sim.P_N, abs=1e-9)


def test_detected_contacts_have_a_problem_too():
    s = ss.System("balls")
    s.add(ss.Gravity([0, -9.81]))
    balls = [s.add(ss.PlanarBody(f"ball {k}", mass=1, inertia=0.1, position=[0, 0.5 + k])) for k in range(2)]
    skins = [ss.Sphere(ball.point(), 0.5) for ball in balls]
    s.add(ss.Collisions("contacts", [*skins, ss.Line([0, 0], [0, 1])], friction=0.3))
    solution = ss.solve(s, 0.02, 1e-3, method="moreau", progress=False)
    found = ss.nonsmooth.solve(ss.step_problem(solution, 12), tol=1e-10)
    assert np.sort(found.reaction[0::2])[-2:] == pytest.approx(9.81e-3 * np.array([1, 2]), rel=1e-6)


def test_an_ensemble_uses_all_solvers(monkeypatch):
    """Runs that the compiled attempts do not do are repeated with the others."""
    module = importlib.import_module("stickslip.solve.ensemble")
    seen = []
    repeat = module._with_all_solvers
    monkeypatch.setattr(module, "_with_all_solvers", lambda *a: seen.append(1) or repeat(*a))
    from stickslip.engine import many

    loop = many.advance_many

    def failing(*arguments):
        loop(*arguments)
        arguments[-2][:], arguments[-1][:] = np.nan, 0  # as if nothing had been solved

    monkeypatch.setattr(many, "advance_many", failing)
    velocities = np.array([[0.5, 0, 0], [1.0, 0, 0]])
    found = ss.ensemble(slider(), 0.02, 1e-3, u0=velocities, method="moreau")
    assert len(seen) == 2
    assert not found.failed.any()
    for k in range(2):
        alone = ss.solve(slider(), 0.02, 1e-3, u0=velocities[k], method="moreau", progress=False)
        assert np.array_equal(found.q[k, -1], alone.q[-1])

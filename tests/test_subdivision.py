"""Steps that cannot be solved are repeated in shorter ones, if the caller asks for it."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.run import ProgramRun

FIXED = [n for n, s in ss.METHODS.items() if not s().facts.equal_steps and n != "half-explicit-adaptive"]

# Schemes with a memory besides q and u begin a run differently: with accelerations, or with half a step to the velocity of the
# first interval, which for the third step here is that of an interval of dt, an error of dt^2 h/(4 m).
BEGINS = {"generalized-alpha": 1e-8, "moreau-symmetric": 2e-5, "moreau-variational": 2e-5}


def whirl() -> ss.System:
    """A mass on a string of 1 m at 10 m/s: a radial percussion reaches the circle again only if 10 dt < 1."""
    s = ss.System("whirl")
    mass = s.add(ss.PointMass("mass", mass=1.0, position=[1, 0], velocity=[0, 10.0]))
    s.add(ss.Rod("string", ss.ground.point(0, 0), mass.point()))
    return s


def test_a_step_that_has_no_solution_is_done_in_halves():
    with pytest.raises(ss.ConvergenceError, match="no solution of the position"):
        ss.solve(whirl(), t_end=0.12, dt=0.12, progress=False)
    solution = ss.solve(whirl(), t_end=0.36, dt=0.12, on_failure="subdivide", progress=False)
    assert solution.t == pytest.approx([0, 0.12, 0.24, 0.36], abs=1e-15)
    assert np.abs(np.hypot(*solution.q.T) - 1).max() < 1e-8
    assert solution.stats.solved_by["subdivision"] == 3
    halves = ss.solve(whirl(), t_end=0.36, dt=0.06, progress=False)
    assert np.abs(solution.q - halves.q[::2]).max() < 1e-12
    assert np.abs(solution.P_g[1:, 0] - halves.P_g[1:, 0].reshape(3, 2).sum(axis=1)).max() < 1e-9


def test_what_no_length_of_step_helps_is_an_error_that_says_so():
    """A string that is shortened faster than rounding allows: twice as many steps change nothing."""
    s = ss.System("impossible")
    (x,), (v,) = s.coordinates("x", initial=[0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.constraint(x**2 + ss.math.sin(s.time) ** 2, name="nowhere")
    with pytest.raises(ss.ConvergenceError, match="nor in steps down to 9.77e-05"):
        ss.solve(s, t_end=0.3, dt=0.1, on_failure="subdivide", progress=False)


@pytest.mark.parametrize("method", FIXED)
def test_every_scheme_continues_after_a_step_in_pieces(method, monkeypatch):
    """The third step is made to fail; its halves are those of a run that begins there with half the step."""
    system = ss.benchmarks.slider_crank_minimal(friction=ss.METHODS[method]().facts.friction)
    dt, call = 1e-4, ProgramRun._call
    plain = ss.solve(system, 6 * dt, dt, method=method, progress=False)

    def failing(self, begin, step, carry, first, last, *rows):
        if first <= 2 < last and self.clock.step == dt and self.subdivides:
            done = call(self, begin, step, carry, first, 2, *rows)[0] if first < 2 else first
            self._residuals[2 - first, 0] = 1.0
            return done, 0
        return call(self, begin, step, carry, first, last, *rows)

    monkeypatch.setattr(ProgramRun, "_call", failing)
    solution = ss.solve(system, 6 * dt, dt, method=method, on_failure="subdivide", progress=False)
    assert solution.stats.solved_by["subdivision"] == 1
    assert np.array_equal(solution.t, plain.t)
    assert np.array_equal(solution.q[:3], plain.q[:3])
    halves = ss.solve(
        system,
        3 * dt,
        dt / 2,
        method=method,
        t_start=2 * dt,
        q0=plain.q[2],
        u0=plain.u[2],
        initial_tol=1,
        progress=False,
    )
    assert np.abs(solution.q[3] - halves.q[2]).max() < BEGINS.get(method, 1e-12)
    assert np.abs(solution.u[-1] - plain.u[-1]).max() < 0.02 * np.abs(plain.u).max()


def test_a_scheme_that_decides_its_steps_is_offered_shorter_ones(monkeypatch):
    call = ProgramRun._call

    def failing(self, begin, step, carry, first, last, *rows):
        if self.clock.step > 3e-3 and self.subdivides and last > 2 >= first:
            return (call(self, begin, step, carry, first, 2, *rows)[0] if first < 2 else first), 0
        return call(self, begin, step, carry, first, last, *rows)

    monkeypatch.setattr(ProgramRun, "_call", failing)
    method = "half-explicit-adaptive"
    solution = ss.solve(ss.benchmarks.ball_in_box(), 0.05, 5e-3, method=method, on_failure="subdivide", progress=False)
    assert solution.t[-1] >= 0.05 - 1e-9
    assert np.diff(solution.t)[2] == pytest.approx(2.5e-3)
    assert (np.diff(solution.t) > 0).all()


def test_a_stepper_subdivides_too():
    with ss.stepper(whirl(), dt=0.12, on_failure="subdivide") as sim:
        sim.step(3)
        assert sim.t == pytest.approx(0.36)
        assert np.hypot(*sim.q) == pytest.approx(1.0, abs=1e-8)


def test_what_cannot_be_subdivided_is_refused_by_name():
    ball = ss.benchmarks.bouncing_ball()
    with pytest.raises(
        ss.MethodError, match="'schatzman-paoli' cannot subdivide a step: its impact law joins two steps"
    ):
        ss.solve(ball, 0.1, 0.01, method="schatzman-paoli", on_failure="subdivide")
    with pytest.raises(ss.MethodError, match="'event-driven' cannot subdivide a step: it has events"):
        ss.solve(ball, 0.1, 0.01, method="event-driven", on_failure="subdivide")
    with pytest.raises(ss.OptionError, match="neither 'raise' nor 'subdivide'"):
        ss.solve(ball, 0.1, 0.01, on_failure="ignore")


def test_a_resumed_run_still_subdivides(tmp_path):
    path = tmp_path / "whirl.h5"
    ss.solve(whirl(), t_end=0.24, dt=0.12, on_failure="subdivide", out=path, progress=False)
    longer = ss.resume(path, whirl(), t_end=0.48, progress=False)
    whole = ss.solve(whirl(), t_end=0.48, dt=0.12, on_failure="subdivide", progress=False)
    assert np.array_equal(longer.q, whole.q)

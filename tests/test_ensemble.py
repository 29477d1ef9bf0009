"""Many runs in one loop: each is what `solve` gives, whatever the number of threads."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest

import stickslip as ss


@pytest.mark.parametrize("method", ["rattle", "moreau", "moreau-symmetric", "generalized-alpha", "half-explicit"])
def test_every_run_is_that_of_solve(method):
    ball = ss.benchmarks.bouncing_ball()
    e, heights = np.linspace(0.1, 0.9, 20), np.linspace(0.2, 1.0, 20)[:, None]
    runs = ss.ensemble(ball, 0.8, 1e-2, parameters={"e": e}, q0=heights, keep=[0, 3, 70, 77], method=method)
    assert runs.q.shape == (20, 4, 1)
    for k in (0, 7, 19):
        one = ss.solve(ball, 0.8, 1e-2, parameters={"e": e[k]}, q0=heights[k], method=method, progress=False)
        for rows, column in ((runs.q, one.q), (runs.u, one.u), (runs.P_N, one.P_N)):
            assert np.array_equal(rows[k, 1:], column[[3, 70, 77]])
        assert runs.q[k, 0] == heights[k]
    assert not runs.failed.any()
    assert np.array_equal(runs.t, one.t[[0, 3, 70, 77]])


def test_threads_change_nothing():
    crank = ss.benchmarks.slider_crank()
    mu = np.linspace(0.0, 0.3, 40)
    one, two = (ss.ensemble(crank, 2e-3, 1e-4, parameters={"mu": mu}, workers=n) for n in (1, 2))
    assert one.q.tobytes() == two.q.tobytes()
    assert one.u.tobytes() == two.u.tobytes()


def test_failures_do_not_stop_the_others():
    """One run starts inside the floor; one meets a root that ends."""
    s = ss.System("root")
    (x,), (u,) = s.coordinates("x", initial=[0.5], velocity=[0])
    k = s.parameter("k", 1.0)
    s.kinetic_energy(u**2 / 2)
    s.potential_energy(k * ss.math.sqrt(x))
    s.contact(gap=x - 0.1, restitution=0.5)
    runs = ss.ensemble(s, 0.2, 1e-2, q0=[[0.5], [0.05], [0.6]], u0=[[0.0], [0.0], [-0.1]])
    assert runs.failed.tolist() == [False, True, False]
    assert np.isnan(runs.q[1]).all()
    assert np.isfinite(runs.q[[0, 2]]).all()


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_after_one_that_stops_are_those_of_solve(workers):
    """A string that is too fast for its step."""
    s = ss.System("whirl")
    mass = s.add(ss.PointMass("mass", mass=1.0, position=[1, 0], velocity=[0, 1.0]))
    s.add(ss.Rod("string", ss.ground.point(0, 0), mass.point()))
    speeds = [1.0, 10.0, 2.0, 3.0]
    runs = ss.ensemble(s, 0.36, 0.12, u0=[[0, v] for v in speeds], workers=workers)
    assert runs.failed.tolist() == [False, True, False, False]
    for k in (0, 2, 3):
        alone = ss.solve(s, 0.36, 0.12, u0=[0, speeds[k]], progress=False)
        np.testing.assert_array_equal(runs.q[k, -1], alone.q[-1])


def test_parameters_that_follow_from_others():
    s = ss.System("derived")
    m = s.parameter("m", 1.0)
    twice = s.parameter("twice", 2 * m)
    (x,), (u,) = s.coordinates("x", initial=[0.0], velocity=[0.0])
    s.kinetic_energy(twice * u**2 / 2)
    s.force([1.0])
    runs = ss.ensemble(s, 1.0, 0.1, parameters={"m": [0.5, 1.0, 2.0]})
    assert np.allclose(runs.u[:, -1, 0], [1.0, 0.5, 0.25])


def test_numbers_are_checked_all_at_once(monkeypatch):
    """A check of each run by itself took five times as long as its 100 steps."""
    module, calls = sys.modules["stickslip.solve.ensemble"], []
    for name in ("check_laws", "check_mass"):
        monkeypatch.setattr(module, name, lambda *given: calls.append(given))
    ball = ss.benchmarks.bouncing_ball()
    ss.ensemble(ball, 0.1, 1e-2, parameters={"e": np.linspace(0, 1, 50)})
    assert len(calls) <= 2
    calls.clear()
    ss.ensemble(ball, 0.1, 1e-2, parameters={"m": np.repeat([1.0, 2.0, 3.0], 20)})
    assert len(calls) <= 4  # three masses


def test_a_gap_that_depends_on_a_parameter_refuses_single_runs():
    s = ss.System("ball")
    (y,), (v,) = s.coordinates("y", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(v**2 / 2)
    s.contact(gap=y - s.parameter("floor", 0.0), name="floor")
    assert ss.ensemble(s, 0.1, 1e-2, parameters={"floor": [0.0, 2.0, 0.5]}).failed.tolist() == [False, True, False]


def test_what_belongs_to_solve_is_named():
    """Every argument of `solve` is one of `ensemble`, or is refused as one that is not."""
    ball = ss.benchmarks.bouncing_ball()
    taken = inspect.signature(ss.ensemble).parameters
    for name in inspect.signature(ss.solve).parameters:
        if name not in taken:
            with pytest.raises(ss.OptionError, match=f"an ensemble does not take {name}=, which belongs to ss.solve"):
                ss.ensemble(ball, 1.0, 0.1, **{name: 1})
    with pytest.raises(ss.OptionError, match=r"on_failure=.*Ensemble\.failed"):
        ss.ensemble(ball, 1.0, 0.1, on_failure="subdivide")


def test_bad_input():
    ball = ss.benchmarks.bouncing_ball()
    with pytest.raises(ss.ModelError, match="unknown parameter 'f'"):
        ss.ensemble(ball, 1.0, 0.1, parameters={"f": [1.0]})
    with pytest.raises(ss.OptionError, match="q0 is given for 2 runs, others for 3"):
        ss.ensemble(ball, 1.0, 0.1, parameters={"e": [0.1, 0.2, 0.3]}, q0=[[1.0], [2.0]])
    with pytest.raises(ss.OptionError, match="not finite"):
        ss.ensemble(ball, 1.0, 0.1, q0=[[np.nan]])
    for keep in ([3, 2], [0.5, 2.9], [-1, 3], [3, 11], ["a"], [np.nan], 3, []):
        with pytest.raises(ss.OptionError, match="rising whole numbers of steps, from 0 to 10"):
            ss.ensemble(ball, 1.0, 0.1, keep=keep)
    with pytest.raises(ss.ModelError, match="restitution"):
        ss.ensemble(ball, 1.0, 0.1, parameters={"e": [0.5, 1.5]})
    with pytest.raises(ss.MethodError, match="no steps of equal length"):
        ss.ensemble(ball, 1.0, 0.1, method="half-explicit-adaptive")

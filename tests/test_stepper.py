"""Stepping by hand: the same motion as `solve`, closed loops, events, reset maps."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest

import stickslip as ss

METHODS = [name for name in ss.METHODS if name != "event-driven"]


def cart(mass=2.0):
    s = ss.System("cart")
    m, F, mu = s.parameter("m", mass), s.parameter("F", 0.0), s.parameter("mu", 0.3)
    (x,), (v,) = s.coordinates("x", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(m * v**2 / 2)
    s.force([F])
    s.friction(slip=v, radius=mu)
    return s, x, v


@pytest.mark.parametrize("method", METHODS)
def test_stepping_is_solving(method):
    ball = ss.benchmarks.bouncing_ball()
    whole = ss.solve(ball, 0.6, 1e-2, method=method, progress=False)
    with ss.stepper(ball, 1e-2, method=method) as sim:
        for n in (1, 4, 7, 30, 1):
            sim.step(n)
            k = int(np.flatnonzero(whole.t == sim.t)[0])
            assert (sim.q, sim.u) == (whole.q[k], whole.u[k])
            assert whole.P_N[k] == sim.P_N


def test_states_can_be_kept_and_set():
    with ss.stepper(ss.benchmarks.slider_crank(), 1e-4, method="generalized-alpha") as sim:
        sim.step(50)
        kept = sim.state
        sim.step(50)
        there = sim.state
        sim.state = kept
        assert sim.t == kept.t
        sim.step(50)
        assert sim.state.same(there)
        with pytest.raises(ss.OptionError, match="does not belong to method"):
            sim.state = ss.solve(ss.benchmarks.slider_crank(), 1e-3, 1e-4, progress=False).state


@pytest.mark.parametrize("method", ["rattle", "generalized-alpha", "moreau"])
def test_a_stepper_starts_from_a_state_or_a_solution(method):
    """What follows is the rest of one uninterrupted run, bit for bit."""
    crank = ss.benchmarks.slider_crank()
    whole = ss.solve(crank, 4e-3, 1e-4, method=method, progress=False)
    first = ss.solve(crank, 1e-3, 1e-4, method=method, progress=False)
    for start in (first, first.state):
        with ss.stepper(crank, 1e-4, method=method, start=start) as sim:
            assert (sim.t, sim.q.tobytes()) == (first.t[-1], first.q[-1].tobytes())
            rest = sim.run(4e-3)
        assert rest.t.tobytes() == whole.t[10:].tobytes()
        assert rest.u.tobytes() == whole.u[10:].tobytes()
    for wrong, words in (
        ({"t_start": 1.0}, "already says where to begin"),
        ({"method": "theta"}, "cannot continue"),
        ({"start": 5}, "must be a state"),
    ):
        with pytest.raises(ss.OptionError, match=words):
            ss.stepper(crank, 1e-4, **{"method": method, "start": first} | wrong)


def test_a_stepper_that_starts_from_a_state_has_its_controllers():
    """Held outputs, what they remember, and their clock: the state is between two samples."""
    system, *_ = cart()
    counter = ss.SampledController(lambda t, q, u, n: ({"F": 1.0 + n}, n + 1), period=0.01, state=0)
    with ss.stepper(system, 1e-3, controllers=[counter]) as sim:
        sim.step(25)
        kept = sim.state
        sim.step(25)
    with ss.stepper(system, 1e-3, controllers=[counter], start=kept) as again:
        again.step(25)
        assert again.u.tobytes() == sim.u.tobytes()
        assert again.state.same(sim.state)


def test_parameters_change_from_the_next_step_on():
    system, *_ = cart()
    with ss.stepper(system, 1e-3, parameters={"mu": 0.0}) as sim:
        sim.set(F=4.0)
        sim.step(100)
        assert sim.u[0] == pytest.approx(0.2)  # F/m t
        sim.set({"m": 4.0})
        sim.step(100)
        assert sim.u[0] == pytest.approx(0.3)
        with pytest.raises(ss.ModelError, match="unknown parameter 'G'"):
            sim.set(G=1.0)
        with pytest.raises(ss.ModelError, match="mu|radius"):
            sim.set(mu=-1.0)  # checked, because it is a law
        with pytest.raises(ss.ModelError, match="must be a finite number"):
            sim.set(F=np.nan)
        sim.step()
        assert sim.u[0] == pytest.approx(0.301)


def test_a_sampled_controller_holds_its_output():
    """With the zero-order hold of period T, x' = x + T v + T^2 F/(2m) exactly; the loop is that of the textbook."""
    system, *_ = cart(mass=1.0)
    period, calls = 0.05, []

    def pd(t, q, u, memory):
        calls.append(t)
        return {"F": -3.0 * q[0] - 2.0 * u[0]}, memory + 1

    controller = ss.SampledController(pd, period, state=0)
    with ss.stepper(system, 1e-3, parameters={"mu": 0.0}, controllers=[controller]) as sim:
        solution = sim.run(1.0)
    x, v = 1.0, 0.0
    for _ in range(20):
        F = -3.0 * x - 2.0 * v
        x, v = x + period * v + period**2 * F / 2, v + period * F
    assert solution.q[-1, 0] == pytest.approx(x, abs=1e-12)
    assert solution.u[-1, 0] == pytest.approx(v, abs=1e-12)
    assert np.allclose(calls, period * np.arange(20))
    with pytest.raises(ss.OptionError, match="must be a multiple of dt"):
        ss.stepper(system, 1e-3, controllers=[ss.SampledController(pd, 1.5e-3, state=0)])


@pytest.mark.parametrize("every", [1, 4])
def test_every_row_has_the_parameters_of_its_step(tmp_path, every):
    """A spring whose stiffness a controller changes: V = k x^2/2 and the measure k x, row by row."""
    s = ss.System("spring")
    k, m = s.parameter("k", 1.0), s.parameter("m", 2.0)
    (x,), (v,) = s.coordinates("x", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(m * v**2 / 2)
    s.potential_energy(k * x**2 / 2)
    s.measure("pull", k * x)
    stiffness = ss.SampledController(lambda t, q, u: {"k": 3.0 + round(t / 0.03), "m": 1.0}, 0.03)
    with ss.stepper(s, 1e-2, controllers=[stiffness]) as sim:
        solution = sim.run(0.1, save_every=every)
        rest = sim.run(0.11)
    held = np.array([3.0, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6])[[0, 4, 8, 10] if every == 4 else slice(None)]
    position, speed = solution.q[:, 0], solution.u[:, 0]
    solution.save(tmp_path / "run.h5")
    for each in (solution, ss.load(tmp_path / "run.h5", system=s)):
        assert (each["k"] == held).all()
        assert each.potential == pytest.approx(held * position**2 / 2)
        assert each.kinetic == pytest.approx(speed**2 / 2)  # m = 1 from the first step on: not a column
        assert each["pull"] == pytest.approx(held * position)
        assert each.evaluate(k * x + m) == pytest.approx(held * position + 1)
        assert list(each.provenance["varying"]) == ["k"]
        with pytest.raises(ss.OptionError, match="'k' changed during this run"):
            ss.energy_ledger(each, s)
    assert rest.potential == pytest.approx(6 * rest.q[:, 0] ** 2 / 2)
    assert "varying" not in rest.provenance


@pytest.mark.parametrize("remembers", [False, True])
def test_controllers_go_back_with_the_state(remembers):
    """Between two samples, so that what is held counts too; the integral is an object that changes in place."""

    def proportional(t, q, u):
        return {"F": 1 - q[0]}

    def integral(t, q, u, total):
        total[0] += 0.03 * (1 - q[0])
        return {"F": 1 - q[0] + total[0]}, total

    s, *_ = cart()
    control = ss.SampledController(integral, 0.03, [0.0]) if remembers else ss.SampledController(proportional, 0.03)
    with ss.stepper(s, 1e-2, q0=[0.0], controllers=[control], parameters={"mu": 0.0}) as sim:
        sim.step(50)
        kept = sim.state
        first = sim.run(1.0)
        sim.set(m=3.0)
        sim.state = kept
        assert sim.run(0.52)["F"][1] == first["F"][1]
        sim.set(m=2.0)
        sim.state = kept
        again = sim.run(1.0)
    assert (again.q == first.q).all()
    assert (again["F"] == first["F"]).all()


def test_a_parameter_that_is_set_leaves_switches_alone():
    """A floor that a latch holds on; restitution is checked when it is set, with all parameters."""
    s = ss.System("latched floor")
    (x,), (v,) = s.coordinates("x", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(9.81 * x)
    floor = s.switch("floor is there", on=0.6 - x, off=x - 2, start=False)
    s.contact(gap=x, restitution=s.parameter("e", 0.9), name="floor", active=floor)
    with ss.stepper(s, 1e-2) as sim:
        sim.run(0.6)  # rises again, above where the latch closes
        sim.run(1.0, stop=x - 0.7)
        sim.set(e=0.5)
        rest = sim.run(2.0)
    assert rest["floor is there"].all()
    assert rest.gap.min() > -1e-8


@pytest.mark.parametrize("state, function", [(None, lambda t, q: {}), (0.0, lambda t, q, u: ({}, 0.0))])
def test_a_controller_with_other_arguments_is_refused(state, function):
    with pytest.raises(ss.OptionError, match=r"its function must take \(t, q, u"):
        ss.SampledController(function, 0.01, state)


def test_a_reset_is_checked_like_a_start():
    with ss.stepper(ss.benchmarks.bouncing_ball(), 1e-2) as sim:
        sim.step(3)
        before = sim.state
        with pytest.raises(ss.InitialStateError, match="inside an obstacle"):
            sim.reset(q=[-1.0])
        assert sim.state.same(before)


def test_a_piece_can_be_viewed():
    crank = ss.benchmarks.slider_crank()
    with ss.stepper(crank, 1e-4) as sim:
        piece = sim.run(1e-3)
    whole = ss.solve(crank, 1e-3, 1e-4, progress=False)
    for key in ("look", "drawing", "measures", "stickslip"):
        assert piece.provenance.get(key) == whole.provenance.get(key)


def test_a_stop_event_is_located_by_bisection():
    """A ball that is thrown up: v = 0 at t = v_0/g, whatever dt is."""
    ball = ss.benchmarks.bouncing_ball()
    v = ball.blocks[0].u[0]
    for dt in (1e-3, 7e-3, 0.03):
        with ss.stepper(ball, dt, q0=[1.0], u0=[2.0]) as sim:
            up = sim.run(1.0, stop=v)
            assert up.provenance["stopped"]
            assert sim.t == pytest.approx(2.0 / 9.81, abs=1e-12)
            assert up.t[-1] == sim.t
            assert abs(sim.u[0]) < 1e-12
            down = sim.run(sim.t + 0.1)
            assert not down.provenance["stopped"]
            assert down.t[0] == up.t[-1]
            assert down.u[-1, 0] == pytest.approx(-9.81 * (down.t[-1] - down.t[0]))


def test_a_reset_map_at_an_event():
    """A ball without a floor bounces by a reset map: the impact times are those of the closed formula."""
    s = ss.System("ball without a floor")
    (y,), (v,) = s.coordinates("y", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(9.81 * y)
    times = []
    with ss.stepper(s, 1e-2) as sim:
        for _ in range(4):
            sim.run(10.0, stop=y)
            times.append(sim.t)
            sim.reset(u=-0.5 * sim.u, q=[0.0])
            sim.step()
    fall = np.sqrt(2 / 9.81)
    assert np.allclose(times, fall + 2 * fall * np.cumsum([0, 0.5, 0.25, 0.125]), atol=1e-9)


def test_bad_stops_and_methods():
    ball = ss.benchmarks.bouncing_ball()
    with pytest.raises(ss.MethodError, match="no steps to be stepped by"):
        ss.stepper(ball, 1e-2, method="event-driven")
    with ss.stepper(ball, 1e-2) as sim:
        with pytest.raises(ss.ModelError, match="does not declare"):
            sim.run(1.0, stop=cart()[1])
        with pytest.raises(ss.OptionError, match="one number"):
            sim.run(1.0, stop=np.array([1.0, 2.0]))
        with pytest.raises(ss.OptionError, match="not before"):
            sim.run(-1.0)
    with pytest.raises(ss.OptionError, match="closed"):
        sim.step()


def test_a_call_is_cheap():
    """20 us is the aim, which bench/overhead.py measures; here only that nobody makes it a hundred times slower."""
    with ss.stepper(ss.benchmarks.bouncing_ball(), 1e-5) as sim:
        sim.step(10)
        begin = time.perf_counter()
        for _ in range(200):
            sim.step()
        assert (time.perf_counter() - begin) / 200 < 2e-3


def pushed() -> ss.System:
    s = ss.System("pushed")
    F = s.parameter("F", 0.0)
    (x, y), u = s.coordinates("x y", initial=[0, 1], velocity=[1, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(9.81 * y)
    s.force([F, 0])
    s.contact(gap=y, restitution=0.5, name="floor")
    return s


@pytest.mark.parametrize(
    "controllers, message",
    [
        (ss.SampledController(lambda t, q, u: {"F": 1.0}, 0.01), "must be a list"),
        ([ss.SampledController(lambda t, q, u: 3.0, 0.01)], "values of parameters by name.*got 3.0; parameters: F"),
        ([ss.SampledController(lambda t, q, u: None, 0.01)], "values of parameters by name"),
        ([ss.SampledController(lambda t, q, u, x: {"F": 1.0}, 0.01, state=0)], "returns two things"),
        ([ss.SampledController(lambda t, q, u: {"G": 1.0}, 0.01)], "unknown parameter 'G'"),
    ],
)
def test_controllers_that_return_something_else_are_named(controllers, message):
    with pytest.raises(ss.StickslipError, match=message), ss.stepper(pushed(), 1e-2, controllers=controllers) as sim:
        sim.step(3)


@pytest.mark.parametrize("stop", [lambda t, q, u: q[1], "y", 3.0, None])
def test_stops_that_are_no_expressions_are_named(stop):
    sim = ss.stepper(pushed(), 1e-2)
    if stop is None:
        with pytest.raises(ss.OptionError, match="sim.state = kept"):
            sim.reset(sim.state)
    else:
        with pytest.raises(ss.OptionError, match="changes its sign"):
            sim.run(1.0, stop=stop)


def test_a_condition_stops_where_it_changes():
    """y < 0.5 is 0 or 1, and stops where y - 0.5 does."""
    s = pushed()
    y = s.blocks[0].q[1]
    ends = [ss.stepper(s, 1e-2).run(1.0, stop=stop).t[-1] for stop in (y < 0.5, 0.5 - y, y >= 0.5)]
    assert np.allclose(ends, np.sqrt(2 * 0.5 / 9.81), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "declare, message",
    [
        (lambda s: s.parameter("x", 1.0), "parameter 'x' has the name of a coordinate"),
        (lambda s: s.parameter("x_dot", 1.0), "parameter 'x_dot' has the name of a velocity"),
        (lambda s: s.parameter("q0", 1.0), "initial coordinates"),
        (lambda s: s.measure("F", s.blocks[0].q[0]), "measure 'F' has the name of a parameter"),
        (lambda s: s.measure("y", s.blocks[0].q[0]), "measure 'y' has the name of a coordinate"),
        (lambda s: s.measure("t", s.blocks[0].q[0]), "name of the time"),
        (lambda s: s.coordinates("F", initial=[0], velocity=[0]), "coordinate 'F' has the name of a parameter"),
        (
            lambda s: s.coordinates("z", initial=[0], velocity=[0], velocities="x"),
            "velocity 'x' has the name of a coord",
        ),
        (lambda s: (s.measure("floor.gap", s.blocks[0].q[0]), ss.solve(s, 0.1, 1e-2)), "name of a quantity of every"),
    ],
)
def test_one_name_one_thing(declare, message):
    with pytest.raises(ss.ModelError, match=message):
        declare(pushed())


def test_what_would_change_nothing_is_refused():
    """Coordinates are set by a reset and parameters by `set`; a controller is a function."""
    with ss.stepper(ss.benchmarks.bouncing_ball(), dt=1e-3) as sim:
        with pytest.raises(ValueError, match="read-only"):
            sim.q[0] = 5.0
        with pytest.raises(ss.OptionError, match=r"sim.reset\(u=...\)"):
            sim.u = [0.0]
        with pytest.raises(ss.OptionError, match=r"sim.set\(e=...\)"):
            sim.e = 0.0
    with pytest.raises(ss.OptionError, match="3 must be a function of t, q and u"):
        ss.SampledController(3, period=0.1)
    with pytest.raises(ss.OptionError, match="period = 0"):
        ss.SampledController(lambda t, q, u: {}, period=0)


def test_a_stepper_cannot_be_pickled():
    with (
        ss.stepper(ss.benchmarks.bouncing_ball(), 1e-2) as sim,
        pytest.raises(ss.OptionError, match="cannot be pickled or copied; keep sim.state"),
    ):
        pickle.dumps(sim)


def whirl() -> ss.System:
    """A mass on a string, which a force pulls so hard that a step of 0.12 s has no solution."""
    s = ss.System("whirl")
    mass = s.add(ss.PointMass("mass", mass=1.0, position=[1, 0], velocity=[0, 1.0]))
    s.add(ss.Rod("string", ss.ground.point(0, 0), mass.point()))
    F = s.parameter("F", 0.0)
    s.add(ss.Force("pull", mass.point(), [0, F]))
    return s


def test_the_error_of_a_step_knows_where_the_stepper_is():
    with ss.stepper(whirl(), dt=0.12) as sim:
        sim.step(3)
        sim.set(F=1e4)
        with pytest.raises(ss.ConvergenceError, match=r"step 4, from t = 0.36 to 0.48") as caught:
            sim.step(10)
    assert caught.value.time == pytest.approx(0.36)
    assert caught.value.solution.t == pytest.approx([0.36])


def test_the_error_of_a_run_has_every_step_before():
    pull = ss.SampledController(lambda t, q, u: {"F": 0.0 if t < 0.5 else 1e4}, period=0.12)
    with ss.stepper(whirl(), dt=0.12, controllers=[pull]) as sim:
        sim.step(3)
        with pytest.raises(ss.ConvergenceError, match=r"step 6, from t = 0.6 to 0.72") as caught:
            sim.run(2.0)
    assert caught.value.solution.t == pytest.approx([0.36, 0.48, 0.6])

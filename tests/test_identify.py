"""Parameters from measurements, and design variables, through impacts and friction."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.math import diag


def measured(system, t_end, dt, columns, noise, seed, **changed):
    """Data of the system itself, with noise."""
    truth = ss.solve(system, t_end, dt, method="event-driven", parameters=changed, progress=False)
    random = np.random.default_rng(seed)
    data = {"t": truth.t}
    for name in columns:
        x = truth[name]
        data[name] = x + noise * np.ptp(x) * random.normal(size=x.size)
    return data, truth


def spring_block():
    """A block on a spring, on a rough floor: it slips, reverses and sticks."""
    s = ss.System("block")
    (x, z), u = s.coordinates("x z", initial=[0.3, 0], velocity=[0, 0])
    m, k, mu = s.parameter("m", 1.0), s.parameter("k", 90.0), s.parameter("mu", 0.15)
    s.mass_matrix(diag([m, m]))
    s.force([-k * x, -9.81 * m])
    s.contact(gap=z, slip=u[0], friction=mu, name="floor")
    return s


def test_friction_and_stiffness_from_noisy_data():
    """1 % noise: within four standard deviations. `bench/identify.py` counts how often the 95 % intervals hold."""
    system = spring_block()
    data, _ = measured(system, 1.0, 0.05, ["x"], 0.01, 0, k=100.0, mu=0.2)
    fit = ss.identify(system, data, ["k", "mu"], rtol=1e-8, atol=1e-10)
    for name, value in (("k", 100.0), ("mu", 0.2)):
        assert abs(fit.values[name] - value) < 4 * fit.errors[name] < 0.1 * value
        low, high = fit.intervals[name]
        assert low < fit.values[name] < high


def test_impact_times_are_data():
    """Without noise the restitution and gravity come out exactly from the times of three impacts."""
    system = ss.benchmarks.bouncing_ball()
    t_1 = np.sqrt(2 / 9.0)
    times = t_1 + np.array([0.0, 2 * 0.7 * t_1, 2 * (0.7 + 0.49) * t_1])
    data = {"t": np.linspace(0, 2.2, 12), "impacts": {"floor": times}}
    fit = ss.identify(system, data, ["e", "g"], start={"e": 0.65, "g": 9.3})
    assert fit.values["e"] == pytest.approx(0.7, abs=1e-7)
    assert fit.values["g"] == pytest.approx(9.0, abs=1e-6)


def test_amplitudes_are_data():
    """Heights of a ball between impacts fall by e^2; gravity does not act on them, so that it cannot be found."""
    system = ss.benchmarks.bouncing_ball()
    data = {"t": np.linspace(0, 1.8, 61), "amplitudes": {"q": 0.7 ** (2 * np.arange(1, 4))}}
    fit = ss.identify(system, data, ["e"], start={"e": 0.65})
    assert fit.values["e"] == pytest.approx(0.7, abs=1e-6)
    with pytest.raises(ss.StudyError, match="does not act"):
        ss.identify(system, data, ["g"], start={"g": 9.0}, fixed={"e": 0.7})


def test_initial_values_and_sigma():
    system = ss.benchmarks.bouncing_ball()
    truth = ss.solve(system, 1.0, 0.05, method="event-driven", q0=[1.2], progress=False)
    noise = np.random.default_rng(2).normal(0, 1e-3, len(truth))
    data = {"t": truth.t, "q": truth.q[:, 0] + noise}
    fit = ss.identify(system, data, ["q"], sigma={"q": 1e-3}, bounds={"q": (0.5, 2.0)}, starts=2)
    assert abs(fit.values["q"] - 1.2) < 4 * fit.errors["q"] < 4e-3
    assert 0.5 < fit.rms < 1.5
    assert len(fit.starts) == 2
    assert "95 %" in str(fit)


def test_figure_of_a_fit(tmp_path):
    data, _ = measured(spring_block(), 0.4, 0.02, ["x"], 0.01, 0)
    fit = ss.identify(spring_block(), data, ["k"], start={"k": 95.0})
    fit.plot(tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 10_000
    assert fit.correlation.shape == (1, 1)


def test_event_times_have_derivatives():
    """A ball against a wall: t = x_0/v_0."""
    s = ss.System("ball")
    (x,), (v,) = s.coordinates("x", initial=[1], velocity=[-2])
    s.kinetic_energy(v**2 / 2)
    s.contact(gap=x, restitution=0.8, name="wall")
    r = ss.sensitivity(s, 1.0, 1.0, wrt=["q0", "u0"])
    assert np.allclose(r.dt["q0"][1], 0.5)
    assert np.allclose(r.dt["u0"][1], 0.25)


# -- design -------------------------------------------------------------------------------------------------------------


def test_throw_that_bounces_into_a_goal():
    """A ball thrown over a floor with one bounce, e = 0.5: z(T) is largest for a known velocity on the way."""
    s = ss.System("ball")
    (z,), (v,) = s.coordinates("z", initial=[1], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(10 * z)
    s.contact(gap=z, restitution=0.5, name="floor")
    best = ss.optimize(s, 0.6, 0.1, of=(z - 0.3) ** 2, variables={"z_dot": (-6, 0)}, start={"z_dot": -2.0})
    assert best.value < 1e-12
    assert best.derivatives
    assert best.solution.q[-1, 0] == pytest.approx(0.3, abs=1e-5)


def test_design_with_the_largest_value():
    s = ss.System("throw")
    (x, z), u = s.coordinates("x z", initial=[0, 0], velocity=[1, 1])
    a = s.parameter("a", 0.3)
    s.kinetic_energy((u @ u) / 2)
    s.force([4 * a * (1 - a), 0])
    best = ss.optimize(s, 1.0, 0.5, of=x, variables={"a": (0, 1)}, largest=True)
    assert best.values["a"] == pytest.approx(0.5, abs=1e-5)


# -- wrong use ----------------------------------------------------------------------------------------------------------


def test_wrong_use_is_named():
    s = spring_block()
    data, truth = measured(s, 0.4, 0.02, ["x"], 0.0, 0)
    with pytest.raises(ss.StudyError, match="does not vary"):
        ss.identify(s, {"t": truth.t, "z": truth["z"] * 0}, ["k"])
    with pytest.raises(ss.StudyError, match="'e' does not act"):
        ss.identify(ss.benchmarks.bouncing_ball(), {"t": np.linspace(0, 0.2, 5), "q": np.linspace(1, 0.8, 5)}, ["e"])
    with pytest.raises(ss.OptionError, match="equidistant"):
        ss.identify(s, {"t": [0, 1, 3], "x": [0, 1, 2]}, ["k"])
    with pytest.raises(ss.OptionError, match="unknown parameter or coordinate 'kk'"):
        ss.identify(s, data, ["kk"])
    with pytest.raises(ss.OptionError, match="needs bounds"):
        ss.identify(s, data, ["k"], starts=3)
    with pytest.raises(ss.StudyError, match="tell k, m apart"):  # the motion depends on k/m alone
        ss.identify(s, data, ["k", "m"], fixed={"mu": 0.0})
    with pytest.raises(ss.OptionError, match="bounds"):
        ss.optimize(s, 1.0, 0.1, of=s.blocks[0].q[0], variables={"k": (2, 1)})

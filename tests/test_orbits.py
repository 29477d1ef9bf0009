"""Periodic orbits and their branches, against closed forms."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.math import cos, pi

G = 9.81


class Shaker:
    """The period-one orbit of the ball on a shaker in closed form, at half a period after the table's zero."""

    def __init__(self, A=0.0137, omega=30.0, e=0.5):
        self.A, self.omega, self.e, self.T = A, omega, e, 2 * pi / omega
        self.fold = G * pi * (1 - e) / (1 + e) / omega**2
        self.phi = np.arccos(self.fold / A)
        self.flip = np.hypot(self.fold, 2 * G * (1 + e**2) / (1 + e) ** 2 / omega**2)
        tau = self.T / 2 - self.phi / omega  # since the impact
        self.q = A * np.sin(self.phi) + G * self.T / 2 * tau - G * tau**2 / 2
        self.u = G * self.T / 2 - G * tau
        self.trace = 1 + e**2 - (1 + e) ** 2 * A * omega**2 * np.sin(self.phi) / G

    def orbit(self, dq=0.0, du=0.0, **options):
        system = ss.benchmarks.ball_on_shaker(A=self.A, omega=self.omega, e=self.e)
        guess = ([self.q + dq], [self.u + du])
        return ss.periodic_orbit(system, guess, period=self.T, t_start=self.T / 2, **options)


@pytest.mark.parametrize("segments", [1, 3])
def test_ball_on_a_shaker(segments):
    exact = Shaker()
    orbit = exact.orbit(1e-3, 0.02, segments=segments)
    assert orbit.q0[0] == pytest.approx(exact.q, abs=1e-9)
    assert orbit.u0[0] == pytest.approx(exact.u, abs=1e-8)
    assert np.prod(orbit.multipliers).real == pytest.approx(exact.e**2, abs=1e-8)
    assert np.sum(orbit.multipliers).real == pytest.approx(exact.trace, abs=1e-7)
    assert orbit.stability == "stable"
    assert "1 impact" in str(orbit)
    end = orbit.solve(2)
    assert end.q[-1, 0] == pytest.approx(exact.q, abs=1e-8)


def test_branch_of_the_ball_on_a_shaker():
    """Up to a flip, down to a fold at which it turns into the unstable orbit."""
    exact = Shaker()
    up = ss.continuation(exact.orbit(), "A", to=1.3 * exact.flip, steps=6)
    assert [b.kind for b in up.bifurcations] == ["flip"]
    assert up.bifurcations[0].value == pytest.approx(exact.flip, rel=1e-4)
    assert up.orbits[-1].stability == "unstable"
    assert up.ended.startswith("reached")
    down = ss.continuation(exact.orbit(), "A", to=0.8 * exact.fold, steps=6, max_points=9)
    fold = next(b for b in down.bifurcations if b.kind == "fold")
    assert fold.value == pytest.approx(exact.fold, rel=1e-5)
    assert "9 points" in down.ended
    assert down.orbits[-1].multipliers.max() > 1


@pytest.mark.parametrize("c", [0.0, 0.05])
def test_impact_oscillator_of_shaw_and_holmes(c):
    omega, e = 2.8, 0.8
    T, amplitude = 2 * pi / omega, 1 / (1 - omega**2)
    k = np.tan(T / 2) * (1 - e) / (1 + e)
    # Q = -(c - P) k,  P^2 + Q^2/omega^2 = G^2: the root with an impact, v- > 0
    roots = np.roots([1 + k**2 / omega**2, -2 * c * k**2 / omega**2, c**2 * k**2 / omega**2 - amplitude**2])
    for P in roots:
        Q, B = -(c - P) * k, (c - P) * np.tan(T / 2)
        if Q - B > 0:
            break
    t_0 = np.arctan2(-Q / (amplitude * omega), P / amplitude) / omega

    def at(t):
        return (c - P) * np.cos(t - t_0) + B * np.sin(t - t_0) + amplitude * np.cos(omega * t)

    t_start = t_0 + T / 2
    t = np.linspace(t_start, t_0 + T, 50)
    assert (at(t) <= c + 1e-12).all()
    h = 1e-5
    guess = ([at(t_start) + 0.01], [(at(t_start + h) - at(t_start - h)) / (2 * h) - 0.02])
    system = ss.benchmarks.impact_oscillator(omega=omega, e=e, c=c)
    orbit = ss.periodic_orbit(system, guess, period=T, t_start=t_start)
    assert orbit.q0[0] == pytest.approx(at(t_start), abs=1e-9)
    assert np.prod(orbit.multipliers).real == pytest.approx(e**2, abs=1e-8)
    trace = -2 * e * np.cos(T) + (1 + e) * np.sin(T) * (P * (1 - omega**2) - c) / (Q - B)
    assert np.sum(orbit.multipliers).real == pytest.approx(trace, abs=1e-6)


def test_woodpecker_pecks_with_a_stable_period():
    """0.146 s and 19.4 mm per cycle (Glocker 1995); stick, slip, and impacts that end in contact."""
    system = ss.benchmarks.woodpecker_toy()
    orbit = ss.periodic_orbit(system, period=0.146, drift=["y"])
    assert orbit.period == pytest.approx(0.146, abs=3e-4)
    assert orbit.advance["y"] == pytest.approx(-0.0194, abs=1e-4)
    assert orbit.stability == "stable"
    assert {"impact", "stick", "slip", "opening"} <= {e.kind for e in orbit.events}
    run = ss.solve(system, 0.4, 1e-4, method="moreau", progress=False)
    again = ss.periodic_orbit(system, run, section=system.blocks[0].u[2], drift=["y"])
    assert again.period == pytest.approx(orbit.period, abs=1e-8)
    assert again.multipliers[0] == pytest.approx(orbit.multipliers[0], abs=1e-5)


def test_period_as_an_expression():
    """Amplitude of a forced oscillator over its frequency: (4 - w^2)/((4 - w^2)^2 + (0.4 w)^2)."""
    s = ss.System("forced oscillator")
    w = s.parameter("w", 1.0)
    (x,), (v,) = s.coordinates("x", initial=[0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(2 * x**2)
    s.force([cos(w * s.time) - 0.4 * v])
    orbit = ss.periodic_orbit(s, period=2 * pi / w)
    branch = ss.continuation(orbit, "w", to=1.6, period=2 * pi / w, steps=3)
    for value, found in zip(branch.values, branch.orbits, strict=True):
        exact = (4 - value**2) / ((4 - value**2) ** 2 + (0.4 * value) ** 2)
        assert found.q0[0] == pytest.approx(exact, abs=1e-7)
    assert not branch.bifurcations


def test_a_branch_that_grazes():
    """The oscillator below resonance, away from the stop; with more force it grazes where its amplitude is the distance."""
    s = ss.benchmarks.impact_oscillator(omega=0.5, beta=0.74, zeta=0.1, c=1.0, e=0.5)
    orbit = ss.periodic_orbit(s, period=4 * pi, rtol=1e-8)
    assert not [e for e in orbit.events if e.kind == "impact"]
    grazing = np.hypot(1 - 0.25, 2 * 0.1 * 0.5)
    branch = ss.continuation(orbit, "beta", to=0.8, steps=3)
    found = [b for b in branch.bifurcations if b.kind == "grazing"]
    assert found
    assert found[0].value == pytest.approx(grazing, rel=1e-3)
    assert "grazed" in branch.ended


def test_an_orbit_that_grazes_is_named():
    """The amplitude of the free orbit is the distance of the stop."""
    s = ss.benchmarks.impact_oscillator(omega=0.5, beta=np.hypot(0.75, 0.1), zeta=0.1, c=1.0, e=0.5)
    amplitude = 1 / (0.75 + 0.1j) * s.parameters["beta"]
    guess = ([amplitude.real], [(0.5j * amplitude).real])
    with pytest.raises(ss.NoDerivativeError, match=r"stop: no derivative: the contact is (grazed|missed)"):
        ss.periodic_orbit(s, guess, period=4 * pi)


# -- wrong use ----------------------------------------------------------------------------------------------------------


def test_wrong_use_is_named():
    system = ss.benchmarks.woodpecker_toy()
    run = ss.solve(system, 0.02, 1e-3, method="moreau", progress=False)
    with pytest.raises(ss.StudyError, match="crossed less than twice"):
        ss.periodic_orbit(system, run, section=system.blocks[0].q[0] - 1.0, drift=["y"])
    with pytest.raises(ss.OptionError, match="guess of the period"):
        ss.periodic_orbit(system)
    with pytest.raises(ss.OptionError, match="coordinate 'z'"):
        ss.periodic_orbit(system, period=0.1, drift=["z"])
    with pytest.raises(ss.OptionError, match="period of its forcing"):
        ss.periodic_orbit(ss.benchmarks.impact_oscillator())
    forced = ss.benchmarks.impact_oscillator(zeta=0.05)
    for given in ({"period": -1}, {"period": 0.0}, {"period": -2 * pi / forced.parameter_symbols()["omega"]}):
        with pytest.raises(ss.OptionError, match="must be a number > 0"):
            ss.periodic_orbit(forced, **given)
    with pytest.raises(ss.OptionError, match="the period is -1"):
        ss.periodic_orbit(system, period=-1.0, drift=["y"])
    for wrong in ({"segments": 0}, {"max_iterations": 0}, {"tol": -1e-9}, {"t_start": np.inf}, {"drift": "y"}):
        with pytest.raises(ss.OptionError, match=f"{next(iter(wrong))} = "):
            ss.periodic_orbit(system, period=0.146, **wrong)
    for guess in (([0.0], [0.0]), ([np.nan] * 4, [0.0] * 4), 3):
        with pytest.raises(ss.OptionError, match="guess"):
            ss.periodic_orbit(system, guess, period=0.146)
    with pytest.raises(ss.OptionError, match="period is sought"):
        ss.periodic_orbit(system, period=forced.parameter_symbols()["omega"])
    with pytest.raises(ss.OptionError, match="no free parameter"):
        ss.continuation(Shaker().orbit(), "B", to=1.0)


def test_a_guess_that_leads_nowhere():
    """Free fall has no periodic orbit, whatever its period."""
    s = ss.System("fall")
    (z,), (v,) = s.coordinates("z", initial=[0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(9.81 * z)
    with pytest.raises(ss.StudyError, match="periodic orbit"):
        ss.periodic_orbit(s, period=1.0)
    s.force([cos(s.time)])
    with pytest.raises(ss.StudyError, match="stops at a residual"):
        ss.periodic_orbit(s, period=2 * pi)

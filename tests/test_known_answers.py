"""Orbits, bifurcations and impacts whose answers are known, each with its source."""

import numpy as np
import pytest
from scipy.optimize import brentq

import stickslip as ss
from stickslip.math import cos, pi

# -- orbits -------------------------------------------------------------------------------------------------------------


def gait(beta):
    """The walker's orbit of one step, from mid-stance on: the legs change places, the hip advances."""
    walker = ss.benchmarks.compass_walker(beta=beta)
    run = ss.solve(walker, 2.2, 0.05, method="event-driven", progress=False)
    k = np.argmin(np.abs(run["left"]))
    given = {"section": walker.blocks[0].q[2], "drift": ["x"], "exchange": [("left", "right")]}
    return ss.periodic_orbit(walker, (run.q[k], run.u[k]), period=3.88, **given)


def test_simplest_walker_of_garcia_et_al():
    """Garcia, Chatterjee, Ruina, Coleman 1998: stance angle 0.2003109 at gamma = 0.009, for feet without mass. Schwab and
    Wisse 2001 give the multipliers -0.19 +- 0.56 i. The mechanism has massive feet: the limit is extrapolated."""
    angle = {}
    for beta in (2e-5, 1e-5):
        orbit = gait(beta)
        assert orbit.stability == "stable"
        assert "1 impact" in str(orbit)
        angle[beta] = np.arcsin(orbit.advance["x"] / 2)  # a step is 2 sin(theta)
    assert 2 * angle[1e-5] - angle[2e-5] == pytest.approx(0.2003109, abs=2e-7)
    assert orbit.multipliers[0] == pytest.approx(-0.190 + 0.557j, abs=2e-3)


def test_period_doubling_of_the_walker():
    """Garcia et al. 1998: stable up to gamma = 0.0151, then limping gaits of two steps."""
    branch = ss.continuation(gait(1e-4), "gamma", to=0.016, steps=4)
    assert [b.kind for b in branch.bifurcations] == ["flip"]
    assert branch.bifurcations[0].value == pytest.approx(0.0151, abs=1e-4)
    assert branch.orbits[-1].stability == "unstable"


def belt_period(m=1.0, k=1.0, v=0.2, mu=0.4, slope=0.03, g=10.0):
    """The docstring of `block_on_belt`."""
    c, x_r, x_e = slope * g, mu * m * g / k, (mu - slope * v) * m * g / k
    w, A = np.sqrt(k / m - c**2 / 4), x_r - x_e
    B = (v - c * A / 2) / w

    def speed(t):
        return np.exp(c * t / 2) * ((c / 2 * A + w * B) * np.cos(w * t) + (c / 2 * B - w * A) * np.sin(w * t))

    t = np.linspace(0.05, 8.0, 4000)
    after = np.flatnonzero((speed(t[:-1]) < v) & (speed(t[1:]) >= v))[0]
    slip = brentq(lambda t: speed(t) - v, t[after], t[after + 1], xtol=1e-14)
    x_s = x_e + np.exp(c * slip / 2) * (A * np.cos(w * slip) + B * np.sin(w * slip))
    return slip + (x_r - x_s) / v


def test_block_on_a_belt_sticks_and_slips_with_a_known_period():
    """Also along a branch: an orbit of an autonomous system, whose period changes with the slope of friction."""
    system = ss.benchmarks.block_on_belt()
    run = ss.solve(system, 60, 0.02, progress=False)
    orbit = ss.periodic_orbit(system, (run.q[-1], run.u[-1]), period=7.2)
    assert orbit.period == pytest.approx(belt_period(), abs=1e-8)
    assert {e.kind for e in orbit.events} >= {"stick", "slip"}
    assert np.abs(orbit.multipliers).max() < 1e-9  # sticking forgets everything
    branch = ss.continuation(orbit, "slope", to=0.05, steps=3)
    for value, found in zip(branch.values, branch.orbits, strict=True):
        assert found.period == pytest.approx(belt_period(slope=value), abs=1e-6)
    assert branch.orbits[-1].period > orbit.period + 1
    assert branch.ended == "reached slope = 0.05"
    assert not branch.bifurcations


# -- the rocking block --------------------------------------------------------------------------------------------------


def test_rocking_block_of_housner():
    """Housner 1963: time to the first impact, and the loss of angular velocity in each impact, 1 - 3/2 sin^2(alpha)."""
    b, h, theta = 0.02, 0.5, 0.01
    alpha, R = np.arctan(b / h), np.hypot(b, h)
    system = ss.benchmarks.rocking_block(b=b, h=h, theta=theta)
    r = ss.sensitivity(system, 2.0, 0.01, wrt=["mu"])
    times = [e.t for e in r.events if e.kind == "impact"]
    quarter = np.arccosh(1 / (1 - theta / alpha)) / np.sqrt(3 * 9.81 / (4 * R))
    assert times[0] == pytest.approx(quarter, rel=1e-3)  # the formula is for slender blocks
    assert np.allclose(r.dq["mu"][-1], 0)  # it does not slide
    before, after = (
        ss.solve(system, times[0] + s, times[0] + s, method="event-driven", progress=False) for s in (-1e-9, 1e-9)
    )
    assert after.u[-1, 2] / before.u[-1, 2] == pytest.approx(1 - 1.5 * np.sin(alpha) ** 2, abs=1e-7)


# -- grazing ------------------------------------------------------------------------------------------------------------


def test_derivatives_grow_with_the_inverse_root_of_the_distance_to_grazing():
    """Nordmark 1991, J. Sound Vib. 145, 279-297: the map of an impact oscillator has a square root at grazing, so that its
    derivative grows like 1/sqrt(distance), while its product with the root stays finite."""
    grazing = np.hypot(1 - 0.25, 2 * 0.1 * 0.5)
    products = []
    for distance in (1e-4, 1e-6):
        s = ss.benchmarks.impact_oscillator(omega=0.5, beta=grazing * (1 + distance), zeta=0.1, c=1.0, e=0.5)
        amplitude = (1 + distance) * grazing / (0.75 + 0.1j)
        given = {"q0": [amplitude.real], "u0": [(0.5j * amplitude).real], "t_start": 0.0}
        r = ss.sensitivity(s, 4 * pi, 4 * pi, wrt=["q0"], **given)
        assert r.exists
        products.append(np.abs(r.du["q0"][-1]).max() * np.sqrt(distance))
    assert products[1] == pytest.approx(products[0], rel=0.05)
    assert products[1] > 1e-4


# -- bifurcations -------------------------------------------------------------------------------------------------------


def shaw_holmes(omega, e):
    """A point of the orbit with one impact per period for zeta = c = 0, half a period after the impact."""
    T, G = 2 * pi / omega, 1 / (1 - omega**2)
    k = np.tan(T / 2) * (1 - e) / (1 + e)
    P = next(P for P in np.roots([1 + k**2 / omega**2, 0, -(G**2)]) if P * k + P * np.tan(T / 2) > 0)
    t_0 = np.arctan2(-P * k / (G * omega), P / G) / omega
    t = t_0 + T / 2
    x = -P * np.cos(T / 2) - P * np.tan(T / 2) * np.sin(T / 2) + G * np.cos(omega * t)
    v = P * np.sin(T / 2) - P * np.tan(T / 2) * np.cos(T / 2) - G * omega * np.sin(omega * t)
    return T, t, ([x], [v])


def test_neimark_sacker_of_the_impact_oscillator():
    """The product of the multipliers is e^2 exp(-2 zeta T) (Shaw and Holmes 1983): a complex pair leaves the unit circle with
    negative damping, zeta = ln(e)/T."""
    omega, e = 2.3, 0.8
    T, t_start, guess = shaw_holmes(omega, e)
    orbit = ss.periodic_orbit(ss.benchmarks.impact_oscillator(omega=omega, e=e), guess, period=T, t_start=t_start)
    branch = ss.continuation(orbit, "zeta", to=1.3 * np.log(e) / T, steps=5)
    assert [b.kind for b in branch.bifurcations] == ["Neimark-Sacker"]
    assert branch.bifurcations[0].value == pytest.approx(np.log(e) / T, rel=1e-3)


def test_branch_point_of_a_pitchfork():
    """x = 0 beside a forced oscillator: a multiplier leaves through 1 where the linear stiffness -a changes its sign."""
    s = ss.System("pitchfork")
    a = s.parameter("a", -0.3)
    (x, y), u = s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
    s.kinetic_energy((u @ u) / 2)
    s.potential_energy(-a * x**2 / 2 + x**4 / 4 + 2 * y**2)
    s.force([-u[0] / 2, cos(s.time) - u[1]])
    branch = ss.continuation(ss.periodic_orbit(s, period=2 * pi), "a", to=0.3, steps=4)
    assert [b.kind for b in branch.bifurcations] == ["branch point"]
    assert branch.bifurcations[0].value == pytest.approx(0.0, abs=1e-3)


def test_sliding_bifurcation_of_den_hartog():
    """Den Hartog 1931, Trans. ASME 53, 107-115: an oscillator with dry friction F moves without stops, for omega = 1.5, up to
    F = V/sqrt(U^2 + 1/omega^4), with V = 1/|1 - omega^2| and U = sin(pi/omega)/(omega (1 + cos(pi/omega)))."""
    omega = 1.5
    s = ss.System("oscillator with dry friction")
    (x,), (v,) = s.coordinates("x", initial=[0], velocity=[0.5])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(x**2 / 2)
    s.force([cos(omega * s.time)])
    s.friction(slip=v, radius=s.parameter("F", 0.5), name="pad")
    run = ss.solve(s, 80 * pi / omega, pi / omega / 100, progress=False)
    orbit = ss.periodic_orbit(s, run, period=2 * pi / omega)
    assert [e.kind for e in orbit.events[1:]] == ["reversal", "reversal"]
    branch = ss.continuation(orbit, "F", to=0.75, steps=3)
    U = np.sin(pi / omega) / (omega * (1 + np.cos(pi / omega)))
    exact = 1 / abs(1 - omega**2) / np.hypot(U, 1 / omega**2)
    assert [b.kind for b in branch.bifurcations] == ["sliding"]
    assert branch.bifurcations[0].value == pytest.approx(exact, rel=1e-4)
    assert {"stick", "slip"} <= {e.kind for e in branch.orbits[-1].events}

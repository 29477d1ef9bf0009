"""A run whose energy rises without a source says so; one that is driven, or merely inexact, does not."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.math import absolute, cos, maximum, minimum, sin, sqrt, where
from stickslip.solve.alarm import energy_alarm
from test_orders_in_space import rattleback


def solve(system: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, progress=False, **options)


def tumbling() -> ss.System:
    """A free body that spins about its middle axis: its energy is constant."""
    s = ss.System("tumbling body")
    s.add(ss.RigidBody("b", mass=1.0, inertia=[1.0, 2.0, 3.0], angular_velocity=[0.1, 10.0, 0.1]))
    return s


@pytest.mark.parametrize("method", ["moreau", "moreau-jean"])
def test_explicit_gyroscopic_forces_are_reported_with_their_rate(method):
    with pytest.warns(ss.EnergyWarning, match=r"rate of .* not by contacts.*" + method):
        solve(tumbling(), 20.0, 1e-2, method=method, gyroscopic="printed")


@pytest.mark.parametrize("method", ["moreau", "moreau-jean"])
def test_gyroscopic_forces_do_no_work(method):
    """The mean of both velocities under a skew matrix: the energy is constant to round-off, and doubled within a minute."""
    energy = solve(tumbling(), 60.0, 1e-2, method=method).energy().total
    assert np.ptp(energy) < 1e-9 * energy[0]
    with pytest.raises(ss.OptionError, match="gyroscopic of " + method):
        solve(tumbling(), 1.0, 1e-2, method=method, gyroscopic="some")


@pytest.mark.parametrize("method", ["rattle", "theta", "generalized-alpha", "moreau-symmetric"])
def test_other_schemes_keep_the_energy_of_a_tumbling_body(method):
    energy = solve(tumbling(), 20.0, 1e-2, method=method).energy().total
    assert np.ptp(energy) < 0.02 * energy[0]


def test_the_printed_rattle_reports_its_rattleback():
    with pytest.warns(ss.EnergyWarning, match="energy rises"):
        solve(rattleback(True), 2.0, 1e-3, method="rattle", variant="printed")


def test_a_gap_with_a_kink_is_refused():
    """The valley y = |x| as one gap: its normal jumps, and rattle went from 10 to 453 J. As two contacts it is right."""

    def valley(*gaps) -> ss.System:
        s = ss.System("valley")
        (x, y), u = s.coordinates("x y", initial=[0.3, 1.5], velocity=[-3.0, 0.0])
        s.kinetic_energy(u @ u / 2)
        s.potential_energy(9.81 * y)
        for k, gap in enumerate(gaps):
            s.contact(gap=gap(x, y), slip=u[0], friction=0.3, restitution=0.3, name=f"side {k}")
        return s

    with pytest.raises(ss.ModelError, match="'side 0': its gap has a kink.*one contact for each smooth piece"):
        valley(lambda x, y: y - absolute(x))
    with pytest.raises(ss.ModelError, match="kink"):
        valley(lambda x, y: minimum(y - x, y + 2 * x))
    valley(lambda x, y: y - x * absolute(x), lambda x, y: maximum(y, -5))  # no jump of the normal where the gap is zero
    energy = solve(valley(lambda x, y: y - x, lambda x, y: y + x), 3.0, 1e-2).energy().total
    assert np.diff(energy).max() < 1e-2 * energy[0]


@pytest.mark.parametrize(
    "gap, message",
    [
        (lambda t, x, y: y >= 0, r"gap is a comparison, \(0<=y\); give the expression that must not be negative"),
        (lambda t, x, y: y**2, "touches zero without changing its sign.*signed distance"),
        (lambda t, x, y: (x - 1) ** 2 + y**2, "touches zero without changing its sign"),
        (lambda t, x, y: y - where(x > 1, 0.2, 0.0), "jumps, from one value to another"),
        (lambda t, x, y: y - where(t > 1, 0.2, 0.0), "jumps, from one value to another"),
    ],
    ids=["comparison", "square", "square of a distance", "step", "jump in time"],
)
def test_gaps_that_cannot_be_one(gap, message):
    """All of them ran: bodies fell through the floor, or were lifted in one step."""
    s = ss.System("no gap")
    (x, y), _ = s.coordinates("x y", initial=[0, 1], velocity=[0, 0])
    with pytest.raises(ss.ModelError, match=message):
        s.contact(gap=gap(s.time, x, y))


def test_gaps_that_can():
    """A ramp, a wall that moves, circles small and large, a wave."""
    s = ss.System("gaps")
    (x, y), _ = s.coordinates("x y", initial=[0, 1], velocity=[0, 0])
    s.contact(gap=y - maximum(0, minimum((s.time - 1) / 0.1, 1)) * 0.2)
    for R in (1e-4, 1.0, 1e3):
        s.contact(gap=sqrt(x**2 + (y + 2 * R) ** 2) - R)
        s.contact(gap=x**2 + (y + 2 * R) ** 2 - R**2)
    s.contact(gap=y + 1 - sin(x))
    s.contact(gap=cos(x) + 1.5 + y)


@pytest.mark.parametrize(
    "g, message",
    [
        (lambda x, y: x == 0, r"is a comparison, \(x==0\); give the expression that shall be zero"),
        (lambda x, y: y - absolute(x), "it has a kink"),
        (lambda x, y: y**2, "it touches zero without changing its sign"),
    ],
    ids=["comparison", "kink", "square"],
)
def test_constraints_that_cannot_be_one(g, message):
    s = ss.System("no constraint")
    (x, y), _ = s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
    with pytest.raises(ss.ModelError, match=message):
        s.constraint(g(x, y))


def test_it_can_be_switched_off():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(tumbling(), 20.0, 1e-2, method="moreau", gyroscopic="printed", energy_alarm=False)


@pytest.mark.parametrize("method", sorted(ss.METHODS))
def test_driven_systems_do_not_alarm(method):
    """A motor, a belt, a moving wall and a spring that is pulled: all put energy in, and all are accounted for."""
    if not ss.METHODS[method]().facts.friction:
        pytest.skip("has no friction")
    s = ss.System("driven")
    a = s.add(ss.PointMass("a", mass=1.0, position=[0, 0]))
    s.add(ss.Gravity([0, -9.81]))
    s.add(ss.Contact("belt", a.point(), ss.Line([0, 0], [0, 1], velocity=[2.0, 0]), friction=0.3))
    s.add(ss.Force("push", a.point(), [0.5, 0]))
    q, u = s.coordinates("z", initial=[0.0], velocity=[0.0])
    s.mass_matrix([[1.0]], of=u)
    s.potential_energy(50 * (q[0] - 0.2 * s.time) ** 2)
    assert solve(s, 1.0, 5e-3, method=method).energy().total[-1] > 1.0


@pytest.mark.parametrize("method", ["rattle", "generalized-alpha", "lobatto", "moreau"])
def test_rest_within_the_tolerance_is_no_alarm(method):
    """A point at rest on the floor ends 3.5e-12 above it, far within the tolerance; that was called a rise from 0 J."""
    s = ss.System("point at rest")
    (x,), (v,) = s.coordinates("x", initial=[0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(9.81 * x)
    s.contact(gap=x, name="floor")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = ss.solve(s, t_end=1.0, dt=1e-3, method=method)
    assert np.abs(solution.q).max() < 1e-8


@pytest.mark.parametrize("dt", [1e-2, 1e-3])
@pytest.mark.parametrize("variant", ["mean", "midpoint"])
def test_elastic_impacts_keep_the_energy_with_restitution_at_the_touch(variant, dt):
    """Ten seconds of bounces with e = 1; the velocity of the start of the step loses 40 % at dt = 1e-2 and 4 % at 1e-3."""
    ball = ss.benchmarks.bouncing_ball(e=1.0)
    kept, lost = (solve(ball, 10.0, dt, method="rattle", variant=variant, restitution=r) for r in ("touch", "step"))
    assert np.ptp(kept.energy().total) < 1e-11 * kept.energy().total[0]
    assert kept.gap.min() > -1e-12
    assert lost.energy().total[-1] / lost.energy().total[0] == pytest.approx(1 - 40 * dt, abs=4 * dt)


def test_restitution_at_the_touch_is_newtons_law():
    """A ball from 1 m onto the floor rebounds to e^2 of it, whatever part of a step the impact falls into."""
    for e in (0.3, 0.8):
        s = solve(ss.benchmarks.bouncing_ball(e=e), 0.9, 1e-2, method="rattle", restitution="touch")
        first = int(np.flatnonzero(s.P_N[:, 0] > 0)[0])
        assert s.u[first, 0] == pytest.approx(e * np.sqrt(2 * 9.81), rel=1e-12)
    with pytest.raises(ss.OptionError, match="restitution of rattle"):
        ss.Rattle(restitution="late")


def test_rounding_and_tolerance_at_rest_are_no_rise():
    """A house of cards that stands: nothing moves, so that shares of what moves are rounding. A true rise is still seen."""
    system = ss.benchmarks.card_house(levels=1, mu=0.3)
    solution = solve(system, 0.05, 1e-3)

    def risen(share: float) -> ss.Solution:
        """By a share of the energy, from the middle of the run on."""
        late = np.arange(len(solution)) >= len(solution) // 2
        return replace(solution, potential=solution.potential * (1 + share * late))

    for share in (5e-10, 1e-7):  # rounding, and what the tolerance of detected contacts leaves open
        energy_alarm(risen(share), system)
    with pytest.warns(ss.EnergyWarning, match="energy rises by"):
        energy_alarm(risen(1e-5), system)


SCAN = importlib.util.spec_from_file_location("scan", Path(__file__).parent.parent / "bench" / "energy_alarm.py")
scan = importlib.util.module_from_spec(SCAN)
SCAN.loader.exec_module(scan)


@pytest.mark.parametrize("k", [312, 766])
def test_rows_of_balls_that_gain_energy_say_so(k):
    """By 38 % and by 2.6 %: contacts that restitute in different steps. Other schemes gain nothing, and say nothing."""
    system = scan.row_of_balls(scan.rows(k + 1)[k])
    found = {
        m: scan.look("row", m, system, 0.05, 1e-3, measure=scan.rise_between_impacts)
        for m in ("schatzman-paoli", "rattle", "moreau", "generalized-alpha", "half-explicit")
    }
    assert found["schatzman-paoli"].rise > 0.02
    assert "act there, within few steps of each other" in found.pop("schatzman-paoli").alarm
    assert max(each.rise for each in found.values()) < 1e-9
    assert not any(each.alarm for each in found.values())


@pytest.mark.parametrize("method", ["rattle", "moreau", "theta", "generalized-alpha", "half-explicit"])
def test_benchmarks_do_not_alarm(method):
    """Shaken, driven, spun and bouncing ones. All benchmarks by all schemes: bench/energy_alarm.py."""
    for name in ("ball_on_shaker", "gear_rattle", "woodpecker_toy", "slider_crank_minimal", "impact_oscillator"):
        entry = ss.benchmarks.REGISTRY[name]
        looked = scan.look(name, method, entry.build(), 300 * entry.dt, entry.dt)
        assert not looked.failure + looked.alarm
        assert looked.rise < 0.1

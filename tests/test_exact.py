"""Exact solutions: values of spec/BENCHMARKS.md, computed independently to the digits shown."""

import numpy as np
import pytest

import stickslip as ss


def ball(case, dt, method="rattle"):
    return ss.solve(ss.benchmarks.rotating_bouncing_ball(case=case), t_end=1.5, dt=dt, method=method)


def first_contact(s):
    return s.t[np.flatnonzero(s.P_N[:, 0] > 0)[0]]


@pytest.mark.parametrize("case", [1, 2, 3])
@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_first_impact_is_found_within_a_step(case, method):
    exact = 0.428353
    for dt in (1e-2, 1e-3, 1e-4):
        s = ball(case, dt, method)
        assert abs(first_contact(s) - exact) <= 2 * dt


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_case_1_passes_the_accumulation_point(method):
    """Impacts accumulate at t = 1.285059; after it the ball rests.

    A scheme sees bounces down to a speed of a few g dt, which the ball reaches a few dt/(1 - e) before the point; every
    impact before was up to dt late. So the error is some 15 steps, and shrinks with them.
    """
    for dt in (1e-2, 1e-3, 1e-4):
        s = ball(1, dt, method)
        moving = np.flatnonzero(np.abs(s.u[:, 1]) > 20 * dt)
        assert abs(s.t[moving[-1]] - 1.285059) < 20 * dt
        assert np.abs(s.u[-1]).max() < 1e-7
        assert abs(s.gap[-1, 0]) < (1e-8 if method == "rattle" else 0.1 * dt)


def test_case_2_slides_then_rolls():
    """After the impact xdot = -0.840428, omega = 28.989288; sliding until t = 0.728120; rolling with -10/7 and 100/7."""
    errors = []
    for dt in (1e-2, 1e-3, 1e-4):
        s = ball(2, dt)
        k = np.flatnonzero(s.P_N[:, 0] > 0)[0]
        errors.append(abs(s.u[k, 0] + 0.840428))
        sliding = np.flatnonzero((s.P_N[:, 0] > 0) & (np.abs(s.slip[:, 0]) > 1e-6))
        assert abs(s.t[sliding[-1]] - 0.728120) <= 3 * dt
        assert np.allclose(s.u[-1], [-10 / 7, 0, 100 / 7], atol=1e-8)
        assert np.abs(s.P_F[-1]).max() < 1e-10  # rolling needs no friction force
    # impact at the end of the step in which it happens: the fall lasts up to dt too long, mu (1 + e) g dt in xdot
    assert errors[0] < 0.2 * 9.81 * 1e-2 + 1e-6
    assert errors[2] < 0.2 * 9.81 * 1e-4 + 1e-6


def test_case_3_sticks_at_once():
    for dt in (1e-2, 1e-3):
        s = ball(3, dt)
        k = np.flatnonzero(s.P_N[:, 0] > 0)[0]
        assert np.allclose(s.u[k:, [0, 2]], [-2 / 7, 20 / 7], atol=1e-8)


@pytest.mark.parametrize("case, t_rest, x_rest", [(1, 2.097352, 2.849185), (2, 1.929586, 2.980389)])
def test_slope_comes_to_rest_where_it_should(case, t_rest, x_rest):
    """Second order: the error of the place falls by about 4 when dt is halved."""
    errors = []
    for dt in (6.4e-3, 3.2e-3, 1.6e-3):
        s = ss.solve(ss.benchmarks.point_mass_on_slope(case=case), t_end=3.2, dt=dt, tol=1e-12)
        stopped = s.t[np.flatnonzero(np.abs(s.slip[:, 0]) > 1e-9)[-1]]
        assert abs(stopped - t_rest) <= 2 * dt
        errors.append(abs(s.q[-1, 0] - x_rest))
    assert errors[2] < 5e-6
    assert errors[0] / errors[2] > 8


def test_slope_case_1_at_1_6():
    s = ss.solve(ss.benchmarks.point_mass_on_slope(case=1), t_end=1.6, dt=1e-3, tol=1e-12)
    assert s.t[-1] == pytest.approx(1.6)
    assert s.q[-1, 0] == pytest.approx(2.554164, abs=2e-6)
    assert np.linalg.norm(s.u[-1]) == pytest.approx(1.175372, abs=2e-6)


@pytest.mark.parametrize("case", [1, 2])
def test_rattle_has_order_two_in_persistent_friction(case):
    """Step sizes, reference and norm of Breuling et al. (56): the maximal L1 error over the components."""
    reference_dt, steps = 5e-5, 2**16
    system = ss.benchmarks.point_mass_on_slope(case=case)
    t_end = reference_dt * steps
    reference = ss.solve(system, t_end=t_end, dt=reference_dt, tol=1e-12)
    dts = 2e-4 * 2.0 ** np.arange(8)
    errors = {"q": [], "u": []}
    for dt in dts:
        s = ss.solve(system, t_end=t_end, dt=dt, tol=1e-12)
        every = round(dt / reference_dt)
        for name, values in errors.items():
            mine, exact = getattr(s, name)[1:], getattr(reference, name)[every::every]
            values.append((dt * np.abs(mine - exact).sum(axis=0)).max())
    for values in errors.values():
        order = np.polyfit(np.log(dts), np.log(values), 1)[0]
        assert order > 1.9
        assert order < 2.3

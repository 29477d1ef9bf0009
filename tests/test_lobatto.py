"""Nonsmooth Lobatto IIIA-IIIB: its tableau, RATTLE as its case s = 2, order 2s - 2, constraints and contacts."""

from functools import cache

import numpy as np
import pytest

import stickslip as ss
from conftest import ZOO
from stickslip.math import cos, diag, sin
from stickslip.schemes.lobatto import tableau

R5, R21 = np.sqrt(5.0), np.sqrt(21.0)
# L. O. Jay: Lobatto methods (2015): nodes, weights, and IIIA and IIIB coefficients.
KNOWN = {
    2: ([0, 1], [1 / 2, 1 / 2], [[0, 0], [1 / 2, 1 / 2]], [[1 / 2, 0], [1 / 2, 0]]),
    3: (
        [0, 1 / 2, 1],
        [1 / 6, 2 / 3, 1 / 6],
        [[0, 0, 0], [5 / 24, 1 / 3, -1 / 24], [1 / 6, 2 / 3, 1 / 6]],
        [[1 / 6, -1 / 6, 0], [1 / 6, 1 / 3, 0], [1 / 6, 5 / 6, 0]],
    ),
    4: (
        [0, (5 - R5) / 10, (5 + R5) / 10, 1],
        [1 / 12, 5 / 12, 5 / 12, 1 / 12],
        [
            [0, 0, 0, 0],
            [(11 + R5) / 120, (25 - R5) / 120, (25 - 13 * R5) / 120, (-1 + R5) / 120],
            [(11 - R5) / 120, (25 + 13 * R5) / 120, (25 + R5) / 120, (-1 - R5) / 120],
            [1 / 12, 5 / 12, 5 / 12, 1 / 12],
        ],
        [
            [1 / 12, (-1 - R5) / 24, (-1 + R5) / 24, 0],
            [1 / 12, (25 + R5) / 120, (25 - 13 * R5) / 120, 0],
            [1 / 12, (25 + 13 * R5) / 120, (25 - R5) / 120, 0],
            [1 / 12, (11 - R5) / 24, (11 + R5) / 24, 0],
        ],
    ),
    5: (
        [0, 1 / 2 - R21 / 14, 1 / 2, 1 / 2 + R21 / 14, 1],
        [1 / 20, 49 / 180, 16 / 45, 49 / 180, 1 / 20],
        [
            [0, 0, 0, 0, 0],
            [
                (119 + 3 * R21) / 1960,
                (343 - 9 * R21) / 2520,
                (392 - 96 * R21) / 2205,
                (343 - 69 * R21) / 2520,
                (-21 + 3 * R21) / 1960,
            ],
            [13 / 320, (392 + 105 * R21) / 2880, 8 / 45, (392 - 105 * R21) / 2880, 3 / 320],
            [
                (119 - 3 * R21) / 1960,
                (343 + 69 * R21) / 2520,
                (392 + 96 * R21) / 2205,
                (343 + 9 * R21) / 2520,
                (-21 - 3 * R21) / 1960,
            ],
            [1 / 20, 49 / 180, 16 / 45, 49 / 180, 1 / 20],
        ],
        None,
    ),
}


@pytest.mark.parametrize("s", KNOWN)
def test_known_coefficients(s):
    for mine, known in zip(tableau(s), KNOWN[s], strict=True):
        if known is not None:
            assert np.allclose(mine, known, rtol=0, atol=2e-15)


@pytest.mark.parametrize("s", [2, 3, 4, 5, 8, 12, 20])
def test_order_conditions_to_round_off(s):
    """B(2s - 2), C(s) of IIIA, C(s - 2) and D(s) of IIIB, and b_i a^_ij + b_j a_ji = b_i b_j: the pair is symplectic."""
    c, b, a, a_hat = tableau(s)
    for k in range(1, 2 * s - 1):
        assert b @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-15)
    for k in range(1, s + 1):
        assert np.allclose(a @ c ** (k - 1), c**k / k, rtol=0, atol=2e-15)
        assert np.allclose((b * c ** (k - 1)) @ a_hat, b * (1 - c**k) / k, rtol=0, atol=2e-15)
    for k in range(1, s - 1):
        assert np.allclose(a_hat @ c ** (k - 1), c**k / k, rtol=0, atol=4e-15)
    assert np.allclose(b[:, None] * a_hat + (b[:, None] * a).T, np.outer(b, b), rtol=0, atol=1e-15)


@pytest.mark.parametrize("s", range(2, 21))
def test_each_multiplier_moves_its_own_row(s):
    """The solver scales R_(i-1) by dg(Q_i)/dR_(i-1) ~ (A A^)_(i, i-1) and dgamma_F(V_i)/dR_(i-1) ~ a^_(i, i-1), both > 0."""
    _, _, a, a_hat = tableau(s)
    for coupling in (a @ a_hat, a_hat):
        assert np.diag(coupling[1:, :-1]).min() > 0


def test_stages_must_be_a_number_from_two_to_the_most():
    for stages in (1, 2.5, "3", 33, 1000):
        with pytest.raises(ss.OptionError, match="stages = .* of method 'lobatto' must be a whole number from 2 to 32"):
            ss.Lobatto(stages=stages)
    assert ss.Lobatto(stages=32).facts.order == 62


# -- RATTLE is its case s = 2 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ZOO)
def test_two_stages_are_rattle(label):
    """With friction and impacts. A ball that falls m steps bounces 2 e m steps: with e = 0.5 (case 1 of the rotating ball) it
    is back at the floor at the end of a step in exact arithmetic, and rounding decides which step has the impact: e = 0.55.
    """
    entry = ss.benchmarks.REGISTRY[label.split("-")[0]]
    t_end = min(entry.t_end, 200 * entry.dt if label == "slider_crank" else 2.5)
    changed = {"e_N": 0.55} if label == "rotating_bouncing_ball-1" else {}
    rattle, lobatto = (
        ss.solve(entry.build(**ZOO[label]), t_end, entry.dt, method=m, tol=1e-11, parameters=changed)
        for m in ("rattle", ss.Lobatto(stages=2))
    )
    for name in ("q", "u", "P_N", "P_F", "P_g", "gap"):
        assert np.abs(getattr(rattle, name) - getattr(lobatto, name)).max(initial=0.0) < 1e-10


# -- order 2s - 2 ---------------------------------------------------------------------------------------------------------


def error(solution, reference, name):
    """The paper's (74): dt sum_n |x_n - x_n^ref|_1."""
    dt = solution.t[1] - solution.t[0]
    every = (len(reference.t) - 1) // (len(solution.t) - 1)
    mine, exact = getattr(solution, name)[1:], getattr(reference, name)[every::every]
    return dt * np.abs(mine - exact).sum()


@cache
def reference(system):
    return ss.solve(system, 1.6, 0.1 / 4, method="event-driven", rtol=3e-14, atol=1e-14)


def orders(system, stages, dts, t_end=1.6):
    runs = [ss.solve(system, t_end, dt, method="lobatto", stages=stages, tol=2e-14) for dt in dts]
    return {
        name: np.polyfit(np.log(dts), np.log([error(run, reference(system), name) for run in runs]), 1)[0]
        for name in ("q", "u")
    }


SLOPE = ss.benchmarks.point_mass_on_slope(case=1, m=1.0)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_order_in_persistent_sliding(stages):
    """Case 1 of the point mass on a slope on [0, 1.6] (Fig. 9): 2s - 2 in q and u."""
    for order in orders(SLOPE, stages, (0.1, 0.05, 0.025)).values():
        assert order == pytest.approx(ss.Lobatto(stages=stages).facts.order, abs=0.15)


@cache
def pendulum():
    """In maximal coordinates: two constraints on x, y and theta."""
    s = ss.System("pendulum")
    angle, omega = np.pi / 6, 1.0
    q, u = s.coordinates(
        "x y theta",
        initial=[np.cos(angle), np.sin(angle), angle],
        velocity=[-omega * np.sin(angle), omega * np.cos(angle), omega],
    )
    s.kinetic_energy((u[0] ** 2 + u[1] ** 2 + 0.1 * u[2] ** 2) / 2)
    s.potential_energy(10 * q[1])
    s.constraint([q[0] - cos(q[2]), q[1] - sin(q[2])])
    return s


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_order_of_constrained_motion(stages):
    for order in orders(pendulum(), stages, (0.1, 0.05, 0.025)).values():
        assert order == pytest.approx(ss.Lobatto(stages=stages).facts.order, abs=0.15)


def gyroscope():
    """A free body with principal inertias 0.3, 0.2, 0.4 and a unit quaternion: qdot = B(q) u."""
    s = ss.System("gyroscope")

    def kinematics(_t, p, w):
        return [
            -(p[1] * w[0] + p[2] * w[1] + p[3] * w[2]) / 2,
            (p[0] * w[0] + p[2] * w[2] - p[3] * w[1]) / 2,
            (p[0] * w[1] + p[3] * w[0] - p[1] * w[2]) / 2,
            (p[0] * w[2] + p[1] * w[1] - p[2] * w[0]) / 2,
        ]

    a, b, c = 0.3, 0.2, 0.4
    p, w = s.coordinates(
        "p0 p1 p2 p3", velocities="w1 w2 w3", initial=[1, 0, 0, 0], velocity=[1, 2, 5], kinematics=kinematics
    )
    s.mass_matrix(diag([a, b, c]))
    height = p[0] ** 2 - p[1] ** 2 - p[2] ** 2 + p[3] ** 2  # of a point on the third axis, if |p| = 1
    s.potential_energy(2.0 * height / (p @ p))
    s.force([(b - c) * w[1] * w[2], (c - a) * w[2] * w[0], (a - b) * w[0] * w[1]])
    return s


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_order_for_quaternions(stages):
    """The coupled kinematic equations of all stages are eliminated: V_i are the only unknowns. The norm is kept to the order
    of the scheme, and by two stages exactly (a Cayley map)."""
    system = gyroscope()
    exact = ss.solve(system, 0.8, 0.8, method="event-driven", rtol=3e-14, atol=1e-14)
    dts, errors = np.array([0.1, 0.05, 0.025]), []
    for dt in dts:
        s = ss.solve(system, 0.8, dt, method="lobatto", stages=stages, tol=2e-14)
        errors.append(np.abs(s.q[-1] - exact.q[-1]).max())
        norm = np.abs((s.q**2).sum(axis=1) - 1).max()
        assert norm < (1e-13 if stages == 2 else 10 * errors[-1] + 1e-14)
    assert np.polyfit(np.log(dts), np.log(errors), 1)[0] == pytest.approx(2 * stages - 2, abs=0.15)


@pytest.mark.parametrize("variant", ["printed", "mean"])
def test_order_with_velocity_constraints(variant):
    """A skate: gamma(t_i, Q_i, V_i) = 0 (51) is asked of the stages V_i, which are of low order: s - 1 remains. As a
    projection onto polynomials (51*) it is of order 2s - 2."""
    s = ss.System("skate")
    q, u = s.coordinates("x y phi", initial=[0, 0, 0.2], velocity=[np.cos(0.2), np.sin(0.2), 1.3])
    s.mass_matrix(diag([1, 1, 0.3]))
    s.force([0, -1, 0])
    s.velocity_constraint(u[1] * cos(q[2]) - u[0] * sin(q[2]))
    exact = ss.solve(s, 1.6, 0.1, method="event-driven", rtol=3e-14, atol=1e-14)
    dts = np.array([0.1, 0.05, 0.025])
    for stages in (2, 3, 4):
        scheme = ss.Lobatto(stages=stages, variant=variant)
        runs = [ss.solve(s, 1.6, dt, method=scheme, tol=2e-14) for dt in dts]
        errors = [np.abs(run.q[-1] - exact.q[-1]).max() for run in runs]
        assert np.polyfit(np.log(dts), np.log(errors), 1)[0] == pytest.approx(scheme.facts.rolling_order, abs=0.2)
        assert max(np.abs(run.gamma).max() for run in runs) < 1e-13


def test_non_affine_kinematics_stay_unknowns():
    """qdot = u/(1 + q^2) is not affine in q; its positions are unknowns then, and the order is the same."""
    s = ss.System("arc length")
    (q,), (u,) = s.coordinates(
        "q", velocities="v", initial=[0.0], velocity=[1.0], kinematics=lambda _t, q, u: [u[0] / (1 + q[0] ** 2)]
    )
    s.mass_matrix(diag([1.0]))
    s.force([-q])
    exact = ss.solve(s, 1.0, 1.0, method="event-driven", rtol=3e-14, atol=1e-14)
    dts = np.array([0.05, 0.025, 0.0125])
    errors = [abs(ss.solve(s, 1.0, dt, method="lobatto", tol=1e-14).q[-1, 0] - exact.q[-1, 0]) for dt in dts]
    assert np.polyfit(np.log(dts), np.log(errors), 1)[0] == pytest.approx(4, abs=0.15)


def test_energy_of_a_variational_integrator_does_not_drift():
    """Pendulum over 300 swings: the error of the energy stays within its first oscillations."""
    s = ss.solve(pendulum(), 600, 0.05, method="lobatto", tol=1e-13)
    deviation = np.abs(s.energy().total - s.energy().total[0])
    assert deviation[s.t > 300].max() < 1.5 * deviation[s.t < 20].max()


# -- constraints and contacts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("label", ZOO)
def test_no_penetration_and_constraints_on_both_levels(label, stages):
    entry = ss.benchmarks.REGISTRY[label.split("-")[0]]
    s = ss.solve(entry.build(**ZOO[label]), 300 * entry.dt, entry.dt, method="lobatto", stages=stages, tol=1e-10)
    assert s.gap.min() > -1e-9
    assert np.abs(s.g).max(initial=0.0) < 1e-9
    assert np.abs(s.g_dot).max(initial=0.0) < 1e-9
    # A contact that an inner stage closes and the end of the step opens again gets P_N = 0 by (56), so R_s pulls: with four
    # stages the energy rises by up to 3 % of the loss in such steps of the slider-crank.
    rise = {2: 1e-3, 3: 1e-3, 4: 5e-2}[stages]
    assert np.diff(s.energy().total).max() < rise * np.ptp(s.energy().total) + 1e-9


@pytest.mark.parametrize("stages", [3, 4, 5])
def test_ball_slides_then_rolls_and_sticks(stages):
    """Cases 2 and 3 of the rotating ball with the paper's dt = 1e-2 (Fig. 4)."""
    end = {2: [-10 / 7, 0, 100 / 7], 3: [-2 / 7, 0, 20 / 7]}
    for case, velocity in end.items():
        s = ss.solve(ss.benchmarks.rotating_bouncing_ball(case=case), 1.5, 1e-2, method="lobatto", stages=stages)
        assert np.allclose(s.u[-1], velocity, atol=1e-7)
        assert np.abs(s.P_F[-1]).max() < 1e-9  # rolling needs no friction force
        assert s.P_N[-1, 0] == pytest.approx(9.81 * 1e-2, rel=1e-8)


def test_slider_crank_converges_to_the_event_driven_solution():
    """76 events in 0.1 s, with accumulating impacts. Order 1 with constants that vary: below dt, and falling."""
    exact = ss.solve(ss.benchmarks.slider_crank(), 0.02, 1e-4, method="event-driven")
    errors = []
    for dt in (1e-4, 1e-5):
        s = ss.solve(ss.benchmarks.slider_crank(), 0.02, dt, method="lobatto", tol=1e-10)
        errors.append(np.abs(s.q[:: round(1e-4 / dt)] - exact.q).max())
    assert errors[1] < 0.3 * errors[0]
    assert errors[1] < 3e-4


def test_percussions_in_flight_are_zero():
    """Not 1e-16: who counts steps in contact would count them all."""
    s = ss.solve(ss.benchmarks.bouncing_ball(), 1.0, 1e-2, method="lobatto", progress=False)
    flies = s.gap[:, 0] > 1e-3
    assert flies.sum() > 50
    assert not s.P_N[flies].any()

"""The half-explicit schemes against exact solutions, orders of convergence, and the tables of their paper (DG)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import stickslip as ss
from stickslip.math import dot, exp, sin

FAMILY = ["half-explicit", "half-explicit-adaptive", "half-explicit-acceleration", "explicit-velocity"]
VELOCITY_LEVEL = ["half-explicit", "half-explicit-adaptive"]
VARIANTS = [
    ("half-explicit", {}),
    ("half-explicit", {"variant": "brasey"}),
    ("half-explicit-adaptive", {}),
    ("half-explicit-acceleration", {}),
    ("explicit-velocity", {"h_tilde": "zero"}),
    ("explicit-velocity", {"h_tilde": "h"}),
]


def solve(system: ss.System, t_end: float, dt: float, method: str, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, method=method, tol=options.pop("tol", 1e-11), progress=False, **options)


def orders(errors: list[float]) -> np.ndarray:
    """Observed orders, for steps that are halved each time."""
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


@cache
def oscillator() -> ss.System:
    """Nonlinear, turning mass, no constraint: a spring pendulum in polar coordinates."""
    s = ss.System("spring pendulum")
    (r, phi), (r_dot, phi_dot) = s.coordinates("r phi", initial=[1.1, 0.8], velocity=[0, 0.5])
    s.kinetic_energy((r_dot**2 + r**2 * phi_dot**2) / 2)
    s.potential_energy(50 * (r - 1) ** 2 - 9.81 * r * ss.math.cos(phi))
    return s


@cache
def bead() -> ss.System:
    """A bead that slides down y = exp(-x) without friction, and stays on it."""
    s = ss.System("bead")
    (x, y), u = s.coordinates("x y", initial=[0, 1], velocity=np.array([1, -1]) / np.sqrt(2))
    s.kinetic_energy(dot(u, u) / 2)
    s.potential_energy(10 * y)
    s.contact(gap=y - exp(-x), name="track")
    return s


@cache
def guided_slider_crank() -> ss.System:
    return ss.benchmarks.slider_crank_minimal(c=0)


@cache
def slider_crank() -> ss.System:
    return ss.benchmarks.slider_crank_minimal()


@cache
def box() -> ss.System:
    return ss.benchmarks.ball_in_box()


# -- order -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method, options", VARIANTS)
def test_smooth_motion_is_of_order_2(method, options):
    """Without constraints all of them are Heun's rule."""
    reference = solve(oscillator(), 1.0, 1e-4, "half-explicit")
    runs = [solve(oscillator(), 1.0, 1.0 / n, method, **options) for n in (100, 200, 400)]
    for name in ("q", "u"):
        errors = [abs(getattr(run, name)[-1] - getattr(reference, name)[-1]).max() for run in runs]
        assert orders(errors) == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("method, options", VARIANTS)
def test_order_and_drift_with_bilateral_constraints(method, options):
    """Explicit forces on velocity level lag by a step: order 1. The others have order 2, and so has their drift."""
    rattle = solve(guided_slider_crank(), 0.02, 2e-6, "rattle")  # an independent scheme, its error is below 1e-7
    runs = [solve(guided_slider_crank(), 0.02, 0.02 / n, method, **options) for n in (200, 400, 800)]
    expected = 1.0 if method == "explicit-velocity" else 2.0
    assert orders([abs(run.q[-1] - rattle.q[-1]).max() for run in runs]) == pytest.approx(expected, abs=0.1)
    assert orders([abs(run.g).max() for run in runs]) == pytest.approx(expected, abs=0.1)
    if method in VELOCITY_LEVEL:
        assert abs(runs[0].g_dot).max() < 1e-10  # the constraint is solved for on velocity level
        assert orders([abs(run.u[-1] - rattle.u[-1]).max() for run in runs]) == pytest.approx(2.0, abs=0.1)
    else:
        assert orders([abs(run.g_dot).max() for run in runs]) == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("method", FAMILY)
def test_order_in_persistent_contact(method):
    """The proposal keeps order 2; the explicit evaluations sink into the track with order 1."""
    rattle = solve(bead(), 0.8, 1e-5, "rattle")
    runs = [solve(bead(), 0.8, 0.8 / n, method) for n in (100, 200, 400)]
    errors = [abs(run.q[-1] - rattle.q[-1]).max() for run in runs]
    assert all(not run.extra["impulsive"].any() for run in runs)
    assert all((run.P_N[1:] > 0).all() for run in runs)
    if method in VELOCITY_LEVEL:
        assert orders(errors) == pytest.approx(2.0, abs=0.1)
        assert abs(runs[0].gap_dot).max() < 1e-10
    else:
        assert orders(errors) == pytest.approx(1.0, abs=0.1)
        assert runs[-1].gap.min() < -1e-3


def test_persistent_friction_is_of_order_2():
    """Sliding on the slope to its exact place at t = 1.6; the first steps from rest contain one impulsive step."""
    system = ss.benchmarks.point_mass_on_slope(case=1)
    runs = [solve(system, 1.6, 1.6 / n, "half-explicit") for n in (400, 800, 1600)]
    assert orders([abs(run.q[-1, 0] - 2.554164) for run in runs]).min() > 1.9
    assert all(run.extra["impulsive"].sum() <= 1 for run in runs)


# -- the paper's tables ------------------------------------------------------------------------------------------------


def table_error(run: ss.Solution, reference: ss.Solution) -> float:
    """2-norm of the matrix of differences of coordinates at all times of a run (DG 6.1.1)."""
    every = round((len(reference) - 1) / (len(run) - 1))
    return float(np.linalg.norm(run.q - reference.q[::every], 2))


def test_table_2_bilateral_slider_crank():
    """Error 2.4e-2 at dt = 1e-4, order 2: with joints, and with four corners that are closed all the time."""
    reference = solve(guided_slider_crank(), 0.1, 4e-6, "half-explicit")
    corners = ss.benchmarks.slider_crank_minimal(friction=False)
    for system, parameters in ((guided_slider_crank(), None), (corners, {"c": 0.0})):
        runs = [solve(system, 0.1, dt, "half-explicit", parameters=parameters) for dt in (4e-4, 1e-4, 2e-5)]
        errors = [table_error(run, reference) for run in runs]
        assert 2.4e-2 / 2 < errors[1] < 2.4e-2 * 2
        # The norm of all rows grows with dt^-1/2, so that order 2 of the coordinates is order 1.5 here.
        assert np.log(errors[1] / errors[2]) / np.log(5) == pytest.approx(1.5, abs=0.15)


@pytest.mark.parametrize("variant", ["galerkin", "brasey"])
def test_table_3_unilateral_slider_crank(variant):
    """Errors 4.7e-1 and 1.8e-2 at dt = 1e-3 and 1e-4. A reference with dt = 2e-6 moves them by less than 10 %."""
    reference = solve(slider_crank(), 0.1, 2e-6, "half-explicit")
    for dt, paper in ((1e-3, 4.7e-1), (1e-4, 1.8e-2)):
        run = solve(slider_crank(), 0.1, dt, "half-explicit", variant=variant)
        assert paper / 2 < table_error(run, reference) < paper * 2


# -- the ball in the box -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", VELOCITY_LEVEL)
def test_ball_ends_in_the_lower_left_corner(method):
    """At rest it leans on two walls with its weight; positions keep what it sank in while it was captured."""
    run = solve(box(), 5.0, 5e-3, method)
    assert run.q[-1] == pytest.approx([1, 1], abs=5e-4)
    assert abs(run.u[-1]).max() < 1e-10
    weight = 9.81 * np.array([np.sin(np.pi / 6), 0, 0, np.cos(np.pi / 6)])
    assert run.extra["lambda_N"][-1] == pytest.approx(weight, abs=1e-8)
    assert run.gap[600:] == pytest.approx(run.gap[-1:].repeat(len(run) - 600, axis=0), abs=1e-12)  # no drift at rest


@pytest.mark.parametrize("method", VELOCITY_LEVEL)
def test_energy_of_the_ball_does_not_rise(method):
    """Not beyond what catching a ball costs: where a closed contact stops one that leaves with u < a dt, it is lifted
    by u dt/2 and loses u^2/2, a gain of (a u dt - u^2)/2 <= (a dt)^2/8, invisible in the paper's Fig. 17."""
    run = solve(box(), 5.0, 5e-3, method)
    energy = run.energy().total
    assert np.diff(energy).max() <= (9.81 * 5e-3) ** 2 / 8 + 1e-10
    assert energy[-1] < energy[0] - 13
    assert np.diff(energy)[run.extra["impulsive"][1:, 0] > 0].max() < 1e-12


def test_acceleration_level_drifts_through_the_wall():
    """It keeps the velocity with which a contact was closed; the velocity level does not (Fig. 18)."""
    short, long = (solve(box(), t_end, 5e-3, "half-explicit-acceleration") for t_end in (2.5, 5.0))
    rate = (long.q[-1] - short.q[-1]) / 2.5
    assert (rate < -1e-3).all()
    assert rate == pytest.approx(long.u[-1], rel=1e-6)
    assert long.gap.min() < -0.03


# -- contacts that depend on each other --------------------------------------------------------------------------------


def three_supports() -> ss.System:
    """A beam on three collinear supports, pushed off its middle: one support too many."""
    s = ss.System("beam on three supports")
    (y, phi), _ = s.coordinates("y phi", initial=[0, 0], velocity=[0, 0])
    s.mass_matrix(np.diag([2.0, 0.5]))
    s.force([-20.0, 2.0])
    for x in (-1.0, 0.0, 1.0):
        s.contact(gap=y + x * phi, name=f"support {x:+g}")
    return s


@pytest.mark.parametrize("method, options", [v for v in VARIANTS if v[1].get("h_tilde") != "zero"])
def test_dependent_contacts_get_forces_of_minimum_norm(method, options):
    """The forces hold the beam, with the least sum of G_ii lambda_i^2 of all that do; in every step the same."""
    W = np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0]])
    G = np.diag(W.T @ np.diag([1 / 2.0, 1 / 0.5]) @ W)
    scaled = np.linalg.lstsq(W / np.sqrt(G), np.array([20.0, -2.0]), rcond=None)[0]
    run = solve(three_supports(), 0.1, 1e-2, method, **options)
    assert run.extra["lambda_N"][1:] == pytest.approx(np.tile(scaled / np.sqrt(G), (10, 1)), rel=1e-6)
    assert run.q == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("method, options", VARIANTS)
def test_four_closed_corners_of_the_slider(method, options):
    """Without clearance four corners carry two components of force, in sum those of the guided slider."""
    system = ss.benchmarks.slider_crank_minimal(friction=False)
    run = solve(system, 0.02, 2e-5, method, parameters={"c": 0.0}, **options)
    guided = solve(guided_slider_crank(), 0.02, 2e-5, "half-explicit")
    assert np.isfinite(run.P_N).all()
    upper, lower = run.P_N[:, :2].sum(axis=1), run.P_N[:, 2:].sum(axis=1)
    assert (lower - upper).sum() == pytest.approx(guided.P_g[:, 0].sum(), rel=0.01)  # measured: 2e-5 to 9e-3
    assert abs(run.q[:, 2]).max() < 1e-10  # the slider does not tilt


# -- forces and impulses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method, options", VARIANTS)
def test_forces_and_impulses_are_apart_and_sum_up(method, options):
    system = ss.benchmarks.slider_crank_minimal(friction=method != "half-explicit-acceleration")
    run = solve(system, 0.02, 1e-4, method, **options)
    impulsive = run.extra["impulsive"][1:, 0] > 0
    assert 0 < impulsive.sum() < len(impulsive)
    dt = np.diff(run.t)[:, None]
    for space in ("N", "F"):
        force, impulse = run.extra[f"lambda_{space}"][1:], run.extra[f"Lambda_{space}"][1:]
        assert not impulse[~impulsive].any()
        assert not force[impulsive].any()
        total = dt * force + impulse
        assert getattr(run, f"P_{space}")[1:] == pytest.approx(total, abs=1e-15)  # rounding errors of np.diff(t)
    assert run.extra["Lambda_N"].max() > 0
    assert run.extra["lambda_N"].max() > 0


@pytest.mark.parametrize("method, options", VARIANTS)
def test_momentum_is_what_forces_and_impulses_give(method, options):
    """m (u_1 - u_0) + m g dt = dt lambda + Lambda in every step of a bouncing ball."""
    run = solve(ss.benchmarks.bouncing_ball(), 1.5, 1e-2, method, **options)
    dt = np.diff(run.t)
    given = dt * run.extra["lambda_N"][1:, 0] + run.extra["Lambda_N"][1:, 0]
    assert 0.1 * (np.diff(run.u[:, 0]) + 9.81 * dt) == pytest.approx(given, abs=1e-13)


@pytest.mark.parametrize("method, options", VARIANTS)
def test_restitution(method, options):
    """The first rebound leaves with e times the velocity of the arrival."""
    run = solve(ss.benchmarks.bouncing_ball(), 0.6, 1e-3, method, **options)
    first = int(np.argmax(run.extra["Lambda_N"][:, 0] > 0))
    arrival = run.u[first - 1, 0] - 9.81 * (run.t[first] - run.t[first - 1])
    assert run.u[first, 0] == pytest.approx(-0.75 * arrival, abs=1e-10)


def test_variants_differ_in_what_they_call_impulsive():
    """A ball turns 1e-5 before the right wall. q_1 is exact and never touches it; q_E, further by a dt^2/2, does."""
    speed = np.sqrt(2 * 9.81 * np.cos(np.pi / 6) * (1 - 1e-5))
    runs = [solve(box(), 0.6, 5e-3, "half-explicit", u0=[speed, 0], variant=v) for v in ("galerkin", "brasey")]
    galerkin, brasey = (run.extra["impulsive"][:, 0] for run in runs)
    turned = runs[0].q[:, 0] > 3 - 1e-4
    assert not galerkin[turned].any()
    assert brasey[turned].any()
    assert not runs[1].extra["Lambda_N"][turned].any()
    assert runs[1].q == pytest.approx(runs[0].q, abs=1e-12)  # an impulsive step without impulse is free flight


# -- contacts that joints hold -----------------------------------------------------------------------------------------


def slider_on_a_rail(e_floor: float, e_wall: float) -> ss.System:
    """It also touches the floor, which the rail makes redundant, and slides against a wall."""
    s = ss.System("rail")
    s.add(ss.Gravity([0, -9.81]))
    b = s.add(ss.PlanarBody("b", mass=1, inertia=0.1, velocity=[1, 0]))
    s.add(ss.Prismatic("rail", ss.ground.point(0, 0), b.point(), axis=[1, 0]))
    s.add(ss.Contact("floor", b.point(0, -0.1), ss.Line([0, -0.1], [0, 1]), restitution=e_floor))
    s.add(ss.Contact("wall", b.point(0.1, 0), ss.Line([0.15, 0], [-1, 0]), restitution=e_wall))
    return s


def knife_on_the_floor(e_floor: float, e_wall: float) -> ss.System:
    """The same with a constraint on velocities."""
    s = ss.System("knife")
    (x, y), (x_dot, y_dot) = s.coordinates("x y", initial=[0, 0], velocity=[1, 0])
    s.kinetic_energy((x_dot**2 + y_dot**2) / 2)
    s.potential_energy(9.81 * y)
    s.velocity_constraint(y_dot, name="knife")
    s.contact(gap=y, name="floor", restitution=e_floor)
    s.contact(gap=0.05 - x, name="wall", restitution=e_wall)
    return s


@pytest.mark.parametrize("build", [slider_on_a_rail, knife_on_the_floor])
@pytest.mark.parametrize("e_floor, e_wall", [(0.0, 0.5), (0.5, 0.5), (0.9, 0.0)])
@pytest.mark.parametrize("method, options", VARIANTS)
def test_a_contact_that_a_joint_holds_does_not_rebound(method, options, build, e_floor, e_wall):
    """The floor's restitution is that of a velocity that the rail allows, which is zero, not of the free fall."""
    run = solve(build(e_floor, e_wall), 0.06, 1e-3, method, **options)
    assert run.extra["impulsive"].any()
    assert run.u[-1, 0] == pytest.approx(-e_wall, abs=1e-8)
    assert abs(run.u[-1, 1]) <= (9.82e-3 if options.get("h_tilde") == "zero" else 1e-8)  # which sinks with dt g


@pytest.mark.parametrize("method", VELOCITY_LEVEL)
def test_the_velocity_before_an_impact_is_that_of_minimal_coordinates(method):
    """A pendulum strikes a wall: one step to behind the impact, as a bar on a hinge and as an angle."""
    length, inertia, rate = 0.5, 0.1, -2.0
    mass, e, dt = 2.0, 0.7, 1e-2
    angle = 0.015 if method == "half-explicit" else 0.0015
    bar, bob = ss.System("bar"), ss.System("angle")
    turned = length * np.array([np.cos(angle), np.sin(angle)])
    start = {"angle": angle, "velocity": rate * np.array([-turned[1], turned[0]]), "angular_velocity": rate}
    b = bar.add(ss.PlanarBody("b", mass=mass, inertia=inertia, position=turned, **start))
    bar.add(ss.Gravity([0, -9.81]))
    bar.add(ss.Revolute("hinge", ss.ground.point(0, 0), b.point(-length, 0)))
    bar.add(ss.Contact("wall", b.point(), ss.Line([0, 0], [0, 1]), restitution=e))
    phi, phi_dot = bob.coordinates("phi", initial=[angle], velocity=[rate])
    bob.kinetic_energy((inertia + mass * length**2) * phi_dot**2 / 2)
    bob.potential_energy(mass * 9.81 * length * sin(phi))
    bob.contact(gap=length * sin(phi), name="wall", restitution=e)
    with_joint, without = (solve(s, dt, dt, method) for s in (bar, bob))
    assert with_joint.extra["impulsive"][1, 0] == without.extra["impulsive"][1, 0] == 1
    after, expected = with_joint.u[1, 2], without.u[1, 0]
    assert expected > 1.3
    assert after == pytest.approx(expected, rel=2e-4)


def test_advice_for_contacts_at_rest_that_cannot_rebound():
    """A ball between the floor and a slider on its rail: restitution asks for a hop that the slider forbids."""
    s = ss.System("squeezed")
    s.add(ss.Gravity([0, -9.81]))
    a = s.add(ss.PlanarBody("a", mass=1, inertia=0.1, velocity=[1, 0]))
    b = s.add(ss.PlanarBody("b", mass=0.2, inertia=0.1, position=[0, -0.1], velocity=[1, 0]))
    s.add(ss.Prismatic("rail", ss.ground.point(0, 0), a.point(), axis=[1, 0]))
    s.add(ss.Contact("floor", ss.Sphere(b.point(), 0.1), ss.Line([0, -0.2], [0, 1]), restitution=0.5))
    s.add(ss.Contact("top", ss.Sphere(b.point(), 0.1), ss.Line([0, 0], [0, -1], a)))
    s.add(ss.Contact("wall", a.point(0.1, 0), ss.Line([0.15, 0], [-1, 0]), restitution=0.5))
    with pytest.raises(
        ss.ConvergenceError, match="Restitution 0 of contacts that rest may help, or a method .* rattle"
    ):
        solve(s, 0.06, 1e-3, "half-explicit")
    assert solve(s, 0.06, 1e-3, "rattle").u[-1, 0] == pytest.approx(-0.5, abs=1e-6)


# -- steps that the scheme decides -------------------------------------------------------------------------------------


def test_adaptive_steps_are_a_tenth_exactly_in_impulsive_steps():
    run = solve(box(), 2.0, 5e-3, "half-explicit-adaptive")
    impulsive = run.extra["impulsive"][1:, 0] > 0
    assert impulsive.any()
    assert np.diff(run.t) == pytest.approx(np.where(impulsive, 5e-4, 5e-3), abs=1e-12)
    assert run.t[-2] < 2.0 <= run.t[-1] + 1e-9
    assert len(run.stats.iterations) == len(run) - 1 > 400  # more rows than were expected at the start
    assert run.complete


def test_adaptive_is_more_accurate_at_impacts():
    """Bouncing ball after two impacts, exact: it is caught within dt/10 instead of dt; the error shrinks likewise."""
    g, e = 9.81, 0.75
    t_1 = np.sqrt(2 / g)
    t_2 = t_1 + 2 * e * t_1

    def exact(t):
        return e**2 * np.sqrt(2 * g) * (t - t_2) - g / 2 * (t - t_2) ** 2

    errors = {}
    for method in VELOCITY_LEVEL:
        steps = (7e-3, 6e-3, 5e-3, 4e-3, 3e-3)  # some, because an impact may fall on a node by chance
        runs = [solve(ss.benchmarks.bouncing_ball(), 1.4, dt, method) for dt in steps]
        missed = [abs(run.q[-1, 0] - exact(run.t[-1])) for run in runs]
        errors[method] = np.mean(np.array(missed) / steps)
    assert errors["half-explicit-adaptive"] < 0.3 * errors["half-explicit"]


def test_a_ball_below_one_step_of_falling_keeps_its_restitution():
    """Open at q_E and closed at q_1: Fig. 24 by the letter would stop the ball by a force."""
    system = ss.benchmarks.bouncing_ball(height=2e-4)
    run = solve(system, 0.01, 1e-2, "half-explicit-adaptive")
    assert run.extra["impulsive"][1, 0] == 1
    assert not run.extra["lambda_N"][1].any()


def test_adaptive_is_half_explicit_without_impacts():
    fixed, adaptive = (solve(bead(), 0.4, 1e-2, method) for method in VELOCITY_LEVEL)
    assert adaptive.t == pytest.approx(fixed.t, abs=1e-13)
    assert adaptive.q == pytest.approx(fixed.q, abs=1e-13)


def test_adaptive_result_survives_saving(tmp_path):
    run = solve(box(), 0.5, 5e-3, "half-explicit-adaptive")
    again = ss.load(run.save(tmp_path / "box.h5"))
    assert np.array_equal(again.t, run.t)
    assert all(np.array_equal(again.extra[name], run.extra[name]) for name in run.extra)


# -- models and options ------------------------------------------------------------------------------------------------


def test_minimal_and_maximal_coordinates_agree():
    """The same mechanism with and without joints, from the same state, by different schemes."""
    start = [0, 0, 0.017]
    minimal = solve(slider_crank(), 0.02, 1e-5, "half-explicit", q0=start)
    maximal = solve(ss.benchmarks.slider_crank(), 0.02, 1e-5, "rattle", tol=1e-9)
    assert minimal.q[-1] == pytest.approx(maximal.q[-1, [2, 5, 8]], abs=1e-3)
    assert minimal.kinetic[0] == pytest.approx(maximal.kinetic[0], rel=1e-12)


@pytest.mark.parametrize("method", FAMILY)
def test_kinematics_of_a_rotation(method):
    """qdot = B(q) u for (cos, sin) of an accelerated angle: order 2; at constant speed the length is kept."""
    s = ss.System("turning")
    s.coordinates(
        "c s", velocities="w", initial=[1, 0], velocity=[2], kinematics=lambda t, q, u: [-q[1] * u[0], q[0] * u[0]]
    )
    s.mass_matrix([[1.0]])
    s.force([s.parameter("torque", 1.0)])
    runs = [solve(s, 1.0, 1.0 / n, method) for n in (50, 100)]
    errors = [abs(run.q[-1] - [np.cos(2.5), np.sin(2.5)]).max() for run in runs]
    assert orders(errors) == pytest.approx(2.0, abs=0.05)
    free = solve(s, 1.0, 1.0 / 50, method, parameters={"torque": 0.0})
    assert np.linalg.norm(free.q, axis=1) == pytest.approx(1.0, abs=1e-12)


def test_friction_on_acceleration_level_is_refused():
    with pytest.raises(ss.MethodError, match=r"friction.*half-explicit"):
        solve(slider_crank(), 0.01, 1e-4, "half-explicit-acceleration")


@pytest.mark.parametrize("method, option", [("half-explicit", "variant"), ("explicit-velocity", "h_tilde")])
def test_unknown_variants_are_refused(method, option):
    with pytest.raises(ss.OptionError, match=option):
        solve(box(), 0.1, 1e-2, method, **{option: "other"})


def test_negative_clearance_is_refused():
    with pytest.raises(ss.OptionError, match="c = -1"):
        ss.benchmarks.slider_crank_minimal(c=-1)

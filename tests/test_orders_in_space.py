"""Orders where directions turn: slip in the plane of contact, rolling without slip, sticking; and what energy does there."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.math import cos, sin

G, MU = 9.81, 0.3
VARIANTS = [
    *[ss.METHODS[name]() for name in ss.METHODS if name != "event-driven"],
    ss.Rattle(variant="printed"),
    ss.Rattle(variant="midpoint"),
    ss.Lobatto(stages=2, variant="midpoint"),
    ss.Lobatto(stages=3, variant="midpoint"),
    ss.Lobatto(stages=3, variant="printed"),
    ss.GeneralizedAlpha(friction="smooth"),
]


def label(scheme: ss.Scheme) -> str:
    return ":".join([scheme.name, *map(str, scheme.options.values())])


def solve(system: ss.System, t_end: float, dt: float, method: ss.Scheme | str, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, method=method, progress=False, **options)


def orders(system: ss.System, t_end: float, dts: tuple[float, ...], method: ss.Scheme, exact: tuple) -> np.ndarray:
    """Of q and u, between the first and the last step."""
    runs = [solve(system, t_end, dt, method, tol=1e-12) for dt in dts]
    errors = np.array([[np.abs(s.q[-1] - exact[0]).max(), np.abs(s.u[-1] - exact[1]).max()] for s in runs])
    return np.log(errors[0] / errors[-1]) / np.log(dts[0] / dts[-1])


# -- slip that turns -------------------------------------------------------------------------------------------------------


def puck() -> ss.System:
    """Pushed to the side while it slides: v' = -mu g v/|v| + f."""
    s = ss.System("puck")
    p = s.add(ss.PointMass("p", mass=1.0, position=[0, 0, 0], velocity=[3.0, 0, 0]))
    s.add(ss.Gravity([0, 0, -G]))
    s.add(ss.Force("side", p.point(), [0, 2.0, 0]))
    s.add(ss.Contact("floor", p.point(), ss.Plane([0, 0, 0], [0, 0, 1]), friction=MU))
    return s


@cache
def exact_puck(t_end: float) -> tuple[np.ndarray, np.ndarray]:
    def rate(t, y):
        return [*y[2:], *(-MU * G * y[2:] / np.hypot(*y[2:]) + [0, 2.0])]

    x, y, v_x, v_y = solve_ivp(rate, (0, t_end), [0, 0, 3.0, 0], method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    return np.array([x, y, 0]), np.array([v_x, v_y, 0])


@pytest.mark.parametrize("scheme", [s for s in VARIANTS if s.facts.friction], ids=label)
def test_order_in_sliding_that_turns(scheme):
    observed = orders(puck(), 0.5, (0.05, 0.0125), scheme, exact_puck(0.5))
    assert observed == pytest.approx(scheme.facts.sliding_order or 1, abs=0.12)


def test_six_is_had_with_four_stages():
    observed = orders(puck(), 0.5, (0.25, 0.125), ss.Lobatto(stages=4, variant="midpoint"), exact_puck(0.5))
    assert (observed > 5.5).all()


@pytest.mark.parametrize("stages, order", [(2, 2), (3, 3), (4, 3), (5, 5)])
def test_order_from_rest_where_slip_turns(stages, order):
    """v/|v| is not differentiable at the start, which costs orders; nothing of the law does: (58) there would be of order 2."""
    s = ss.System("puck at rest")
    p = s.add(ss.PointMass("p", mass=1.0, position=[0, 0, 0]))
    s.add(ss.Gravity([0, 0, -G]))
    s.add(ss.Force("turning", p.point(), [6 * cos(3 * s.time), 6 * sin(3 * s.time), 0]))
    s.add(ss.Contact("floor", p.point(), ss.Plane([0, 0, 0], [0, 0, 1]), friction=MU))

    def rate(t, y):
        f = 6 * np.array([np.cos(3 * t), np.sin(3 * t)])
        direction = y[2:] / np.hypot(*y[2:]) if y[2:].any() else f / 6
        return [*y[2:], *(f - MU * G * direction)]

    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-17, "first_step": 1e-7}
    x, y, v_x, v_y = solve_ivp(rate, (0, 0.48), np.zeros(4), **options).y[:, -1]
    exact = np.array([x, y, 0]), np.array([v_x, v_y, 0])
    observed = orders(s, 0.48, (0.12, 0.06), ss.Lobatto(stages=stages, variant="midpoint"), exact)
    assert observed == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("build", [ss.Rattle, ss.Lobatto], ids=["rattle", "lobatto"])
def test_from_sliding_to_rest(build):
    """The push alone does not move it (2 < mu g): it comes to rest, where the midpoint variant is far more accurate."""

    def rate(t, y):
        speed = np.hypot(*y[2:])
        return [*y[2:], *(-MU * G * y[2:] / speed + [0, 2.0])] if speed > 1e-9 else [0, 0, 0, 0]

    def stop(t, y):
        return np.hypot(*y[2:]) - 1e-7

    stop.terminal = True
    exact = solve_ivp(rate, (0, 4), [0, 0, 3.0, 0], method="DOP853", rtol=1e-12, atol=1e-14, events=stop).y[:2, -1]
    errors = {}
    for variant in ("printed", "midpoint"):
        s = solve(puck(), 4.0, 0.01, build(variant=variant))
        assert np.abs(s.u[-1]).max() < 1e-7
        errors[variant] = np.abs(s.q[-1, :2] - exact).max()
    assert errors["midpoint"] < 0.02 * errors["printed"]


@pytest.mark.parametrize("build", [ss.Rattle, ss.Lobatto], ids=["rattle", "lobatto"])
@pytest.mark.parametrize("name", ["slider_crank", "point_mass_on_slope", "rotating_bouncing_ball"])
def test_the_midpoint_variant_passes_impacts_like_the_others(name, build):
    """Percussions stay in Coulomb's cone, nothing penetrates, and the motion is that of the default variant."""
    entry = ss.benchmarks.REGISTRY[name]
    system = entry.build(**({"case": 4} if name == "point_mass_on_slope" else {}))
    t_end = min(entry.t_end, 1000 * entry.dt)
    mean, mid = (solve(system, t_end, entry.dt, build(variant=variant)) for variant in ("mean", "midpoint"))
    assert mid.gap.min() > -1e-7
    assert np.abs(mid.q - mean.q).max() < 0.02 * np.abs(mean.q).max()
    mu = 0.2 if name == "rotating_bouncing_ball" else 0.3 if name == "point_mass_on_slope" else 0.01
    scale = mid.P_N.max()
    for columns, contact in zip(mid.names.friction_slices, mid.names.friction_contact, strict=True):
        excess = np.linalg.norm(mid.P_F[:, columns], axis=1) - mu * mid.P_N[:, contact]
        assert excess.max() < 1e-6 * scale


def box_on_a_plane(height: float, collisions: bool = False, **motion) -> ss.System:
    """A box of 3 kg, whose corners share the load in many ways."""
    s, floor = ss.System("box"), ss.Plane([0, 0, 0], [0, 0, 1])
    s.add(ss.Gravity([0, 0, -G]))
    box = s.add(ss.solid("box", ss.Box(ss.ground.frame([0, 0, height]), [0.1, 0.2, 0.3]), density=500, **motion))
    if collisions:
        s.add(ss.Collisions("floor", [box, floor], friction=0.4, restitution=0.3))
    elif height > 0.15:
        s.add(ss.Contact("floor", ss.Box(box, [0.1, 0.2, 0.3]), floor, friction=0.4, restitution=0.3))
    else:
        s.add(ss.Contact("floor", ss.Box(box, [0.1, 0.2, 0.3]), floor, friction=0.2))
    return s


PATCHES = [build(variant=variant) for build in (ss.Rattle, ss.Lobatto) for variant in ("mean", "printed", "midpoint")]


@pytest.mark.parametrize("scheme", PATCHES, ids=label)
@pytest.mark.parametrize("dt", [2e-3, 1e-3])
def test_a_box_that_slides_and_spins_comes_to_rest(scheme, dt):
    """Corners that stick at the edge of their reservoirs have no direction of slip: the law of the whole step stops them."""
    system = box_on_a_plane(0.15, velocity=[0.7, 0.3, 0], angular_velocity=[0, 0, 3.0])
    s = solve(system, 0.6, dt, scheme)
    assert np.abs(s.u[s.t > 0.45]).max() < 1e-9
    assert np.abs(s.slip[s.t > 0.45]).max() < 1e-9


@pytest.mark.parametrize("collisions", [False, True], ids=["declared", "found"])
@pytest.mark.parametrize("scheme", PATCHES, ids=label)
def test_what_is_recorded_moves_a_tumbling_box(scheme, collisions):
    """m (u_1 - u_0) = dt m g + sum of the recorded impulses in every step: in impacts, when it slides, when it comes to rest.

    After a stage that takes many iterations, `engine.far_roots` looks at its start once more, and must leave what was found.
    """
    start = {"velocity": [1.0, 0, 0], "angular_velocity": [1.0, 2.0, 0.5]}
    s = solve(box_on_a_plane(0.3, collisions, **start), 0.62, 1e-3, scheme)
    gained = 3.0 * (np.diff(s.u[:, :3], axis=0) + np.outer(np.diff(s.t), [0, 0, G]))
    if collisions:
        found, impulses = s.contacts, np.zeros_like(s.q[:, :3])
        sign = [1.0 if found.labels[shapes[0]] == "box" else -1.0 for shapes in found.shapes]
        np.add.at(impulses, found.row, np.array(sign)[:, None] * found.percussion)
        assert np.abs(gained - impulses[1:]).max() < 1e-7
    else:
        friction = s.P_F.reshape(len(s), -1, 2).sum(1)[1:]
        assert np.abs(gained[:, 2] - s.P_N.sum(1)[1:]).max() < 1e-7
        assert np.abs(np.linalg.norm(gained[:, :2], axis=1) - np.linalg.norm(friction, axis=1)).max() < 1e-7


def backspin() -> tuple[ss.System, np.ndarray, np.ndarray]:
    """A ball thrown with spin about all axes: slip keeps its direction, |slip| falls by (1 + m r^2/J) mu g = 7/2 mu g."""
    r, v, w = 0.1, np.array([2.0, 0.5, 0.0]), np.array([3.0, -40.0, 10.0])
    s = ss.System("ball")
    ball = s.add(
        ss.RigidBody("b", mass=1.0, inertia=[0.4 * r * r] * 3, position=[0, 0, r], velocity=v, angular_velocity=w)
    )
    s.add(ss.Gravity([0, 0, -G]))
    s.add(ss.Contact("floor", ss.Sphere(ball.point(), r), ss.Plane([0, 0, 0], [0, 0, 1]), friction=MU))
    slip = v + np.cross(w, [0, 0, -r])
    stop = np.linalg.norm(slip) / (3.5 * MU * G)
    v_end = v - MU * G * stop * slip / np.linalg.norm(slip)
    x_end = v * stop - MU * G * stop**2 / 2 * slip / np.linalg.norm(slip) + v_end * (1.0 - stop)
    return s, x_end + np.array([0, 0, r]), v_end


@pytest.mark.parametrize("scheme", [s for s in VARIANTS if s.facts.friction and s.facts.general_kinematics], ids=label)
def test_a_ball_with_backspin_ends_up_rolling(scheme):
    system, x, v = backspin()
    s = solve(system, 1.0, 5e-3, scheme)
    assert s.u[-1, :3] == pytest.approx(v, abs=0.05 if scheme.name == "explicit-velocity" else 1e-3)
    assert s.q[-1, :3] == pytest.approx(x, abs=0.05 if scheme.name == "explicit-velocity" else 0.015)


@cache
def pushed_ball() -> tuple[ss.System, np.ndarray, np.ndarray]:
    """Backspin and a push to the side: slip s' = -7/2 mu g s/|s| + f turns; to t = 0.3, before it rolls."""
    r, f, v, w = 0.1, np.array([0.0, 3.0]), np.array([2.0, 0.5]), np.array([3.0, -40.0, 10.0])
    s = ss.System("ball with backspin")
    start = {"position": [0, 0, r], "velocity": [*v, 0], "angular_velocity": w}
    ball = s.add(ss.RigidBody("b", mass=1.0, inertia=[0.4 * r * r] * 3, **start))
    s.add(ss.Gravity([0, 0, -G]))
    s.add(ss.Force("side", ball.point(), [*f, 0]))
    s.add(ss.Contact("floor", ss.Sphere(ball.point(), r), ss.Plane([0, 0, 0], [0, 0, 1]), friction=MU))

    def rate(t, y):
        force = -MU * G * y[4:] / np.hypot(*y[4:])
        return [*y[2:4], *(force + f), *(3.5 * force + f)]

    slip = v + r * np.array([-w[1], w[0]])
    y = solve_ivp(rate, (0, 0.3), [0, 0, *v, *slip], method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    return s, y[:2], y[2:4]


@pytest.mark.parametrize("scheme", [s for s in VARIANTS if (s.facts.sliding_order or 1) > 1], ids=label)
def test_order_of_a_ball_with_backspin(scheme):
    system, x, v = pushed_ball()
    runs = [solve(system, 0.3, dt, scheme, tol=1e-12) for dt in (0.02, 0.01)]
    for exact, values in ((x, [s.q[-1, :2] for s in runs]), (v, [s.u[-1, :2] for s in runs])):
        errors = [np.abs(value - exact).max() for value in values]
        assert np.log2(errors[0] / errors[1]) > scheme.facts.sliding_order - 0.1


# -- rolling ---------------------------------------------------------------------------------------------------------------


@cache
def sleigh() -> tuple[ss.System, np.ndarray, np.ndarray]:
    """Chaplygin's sleigh: a knife edge a behind the centre of mass. v' = a w^2, (J + m a^2) w' = -m a v w."""
    a, J, angle, v, w = 0.3, 0.2, 0.4, 1.0, 2.0
    d, n = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    s = ss.System("sleigh")
    q, u = s.coordinates("x y phi", initial=[*(a * d), angle], velocity=[*(v * d + a * w * n), w])
    s.kinetic_energy((u[0] ** 2 + u[1] ** 2 + J * u[2] ** 2) / 2)
    s.velocity_constraint(-sin(q[2]) * u[0] + cos(q[2]) * u[1] - a * u[2], name="knife")

    def rate(t, y):
        return [y[3] * np.cos(y[2]), y[3] * np.sin(y[2]), y[4], a * y[4] ** 2, -a * y[3] * y[4] / (J + a * a)]

    x, y, phi, v, w = solve_ivp(rate, (0, 1), [0, 0, angle, v, w], method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    d, n = np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)])
    return s, np.array([*([x, y] + a * d), phi]), np.array([*(v * d + a * w * n), w])


@pytest.mark.parametrize("scheme", VARIANTS, ids=label)
def test_order_with_velocity_constraints(scheme):
    system, *exact = sleigh()
    observed = orders(system, 1.0, (0.05, 0.0125), scheme, exact)
    facts = scheme.facts
    assert observed == pytest.approx(facts.rolling_order or facts.order, abs=0.15)


@pytest.mark.parametrize("scheme", [ss.Rattle(), ss.Lobatto()], ids=label)
def test_energy_of_the_sleigh(scheme):
    """Its error falls with the order of the scheme."""
    system, *_ = sleigh()
    drift = [np.ptp(solve(system, 1.0, dt, scheme, tol=1e-13).energy().total) for dt in (0.05, 0.025)]
    assert np.log2(drift[0] / drift[1]) > scheme.facts.order - 0.1


@cache
def rolling_disc() -> tuple[ss.System, ss.Solution]:
    """A coin that rolls on its rim, leaning and turning; reference by event-driven integration."""
    r, m, lean = 0.1, 1.0, 0.3
    A = np.array([[1, 0, 0], [0, np.cos(lean), -np.sin(lean)], [0, np.sin(lean), np.cos(lean)]]) @ np.array(
        [[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]
    )
    w = np.array([0.5, 1.0, 12.0])  # in the body's frame; its axis is the third one
    axis = A[:, 2]
    down = axis * axis[2] - np.array([0, 0, 1])
    to_contact = r * down / np.linalg.norm(down)
    s = ss.System("rolling disc")
    start = {"position": [0, 0, -to_contact[2]], "orientation": A, "velocity": list(-np.cross(A @ w, to_contact))}
    body = s.add(ss.RigidBody("b", mass=m, inertia=[m * r * r / 4] * 2 + [m * r * r / 2], angular_velocity=w, **start))
    s.add(ss.Gravity([0, 0, -G]))
    s.add(ss.Rolling("roll", ss.Disk(body.point(), [0, 0, 1], r), ss.Plane([0, 0, 0], [0, 0, 1])))
    return s, solve(s, 1.0, 0.1, ss.EventDriven(rtol=1e-11, atol=1e-12))


@pytest.mark.parametrize("scheme", [ss.Rattle(), ss.Lobatto()], ids=label)
def test_orders_of_a_rolling_disc(scheme):
    """q, u and the energy."""
    system, exact = rolling_disc()
    runs = [solve(system, 1.0, dt, scheme, tol=1e-13) for dt in (4e-3, 2e-3)]
    for name in ("q", "u"):
        errors = [np.abs(getattr(s, name)[-1] - getattr(exact, name)[-1]).max() for s in runs]
        assert np.log2(errors[0] / errors[1]) > scheme.facts.order - 0.1
    drift = [np.ptp(s.energy().total) for s in runs]
    assert np.log2(drift[0] / drift[1]) > scheme.facts.order - 0.1
    assert drift[1] < 1e-3 * runs[1].kinetic[0]


def rattleback(rolling: bool) -> ss.System:
    """A boat-shaped stone: it spins well in one sense only, and reverses the other."""
    a, b, c, h, tilt, w = 0.2, 0.03, 0.02, 0.01, 0.01, np.array([0.05, 0, -5.0])
    R = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    n, S = R.T @ [0, 0, 1], np.diag([a * a, b * b, c * c])
    r = np.array([0, 0, h]) - S @ n / np.sqrt(n @ S @ n)
    s = ss.System("rattleback")
    inertia = [[2e-4, -2e-5, 0], [-2e-5, 1.6e-3, 0], [0, 0, 1.7e-3]]
    start = {"position": [0, 0, float(-(n @ r))], "orientation": R, "velocity": list(-R @ np.cross(w, r))}
    body = s.add(ss.RigidBody("b", mass=1.0, inertia=inertia, angular_velocity=list(w), **start))
    s.add(ss.Gravity([0, 0, -9.81]))
    shapes = ss.Ellipsoid(body.frame([0, 0, h]), [a, b, c]), ss.Plane([0, 0, 0], [0, 0, 1])
    s.add(ss.Rolling("roll", *shapes) if rolling else ss.Contact("table", *shapes, friction=2.0))
    return s


@cache
def exact_rattleback() -> ss.Solution:
    return solve(rattleback(True), 6.0, 0.1, ss.EventDriven(rtol=1e-9, atol=1e-11))


@pytest.mark.parametrize("rolling", [True, False], ids=["rolls", "sticks"])
def test_a_rattleback_reverses_its_spin_without_energy_from_nowhere(rolling):
    """Against the event-driven reference; the printed scheme gains 62 times its kinetic energy in the same run."""
    errors = []
    for dt in (1e-3, 5e-4):
        s = solve(rattleback(rolling), 3.0, dt, "rattle", tol=1e-10)
        errors.append(np.abs(s.q[-1] - exact_rattleback().q[30]).max())
        energy = s.energy().total
        assert (energy - energy[0]).max() < 1e-3 * s.kinetic[0]
    assert np.log2(errors[0] / errors[1]) > 1.9


def test_a_rattleback_turns_round():
    s = solve(rattleback(True), 6.0, 1e-3, "rattle")
    assert s.u[0, 5] == -5.0
    assert s.u[-1, 5] == pytest.approx(exact_rattleback().u[-1, 5], rel=0.02)
    assert s.u[-1, 5] > 5.0

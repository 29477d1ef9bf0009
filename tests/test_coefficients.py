"""Friction and restitution that depend on velocities, in every scheme; belts; friction of several contacts."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.engine.derive import derive
from stickslip.errors import MethodError, ModelError
from stickslip.math import exp

G = 9.81
FRICTION = [name for name, scheme in ss.METHODS.items() if scheme().facts.friction]
CONTACTS = [name for name, scheme in ss.METHODS.items() if scheme().facts.contacts]


def solve(system: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, progress=False, **options)


# -- a block that brakes, with each way to write its law --------------------------------------------------------------


def block_from_equations(friction, velocity=10.0) -> ss.System:
    s = ss.System("block")
    (_, y), u = s.coordinates("x y", initial=[0, 0], velocity=[velocity, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(G * y)
    s.contact(gap=y, slip=u[0], friction=friction(u) if friction.__code__.co_varnames[0] == "u" else friction)
    return s


def block_from_parts(friction) -> ss.System:
    s = ss.System("block")
    p = s.add(ss.PointMass("p", mass=1.0, position=[0, 0, 0], velocity=[10.0, 0, 0]))
    s.add(ss.Gravity([0, 0, -G]))
    s.add(ss.Contact("floor", p.point(), ss.Plane([0, 0, 0], [0, 0, 1]), friction=friction))
    return s


def preloaded(force) -> ss.System:
    s = ss.System("pad")
    _, u = s.coordinates("x", initial=[0], velocity=[10.0])
    s.kinetic_energy(u @ u / 2)
    s.friction(slip=u, radius=force)
    return s


LAWS = {  # the system, declared once for all methods, and mu(v) g or the force per mass
    "u in equations": (
        cache(lambda: block_from_equations(lambda u: 0.1 + 0.4 * exp(-(u[0] ** 2)))),
        lambda v: G * (0.1 + 0.4 * np.exp(-(v**2))),
    ),
    "function of the slip speed": (
        cache(lambda: block_from_equations(lambda v: 0.3 + 0.02 * v)),
        lambda v: G * (0.3 + 0.02 * v),
    ),
    "Stribeck, parts in space": (
        cache(lambda: block_from_parts(ss.Stribeck(0.5, 0.2, speed=3.0, viscous=0.01))),
        lambda v: G * (0.2 + 0.3 * np.exp(-((v / 3) ** 2)) + 0.01 * v),
    ),
    "fixed radius": (cache(lambda: preloaded(lambda v: 2.0 + v)), lambda v: 2.0 + v),
}


@pytest.mark.parametrize("method", FRICTION)
@pytest.mark.parametrize("law", LAWS)
def test_a_block_brakes_by_the_law_of_its_speed(law, method):
    """v' = -f(v): SciPy's state at t = 1, while it slides; schemes of order 1 may be late by a step of the force."""
    build, f = LAWS[law]
    exact = solve_ivp(lambda t, y: [y[1], -f(y[1])], (0, 1), [0, 10.0], rtol=1e-10, atol=1e-12).y[:, -1]
    s = solve(build(), 1.0, 0.01, method=method)
    late = 1.5 * 0.01 * max(f(10.0), f(exact[1]))
    assert s.q[-1, 0] == pytest.approx(exact[0], abs=late)
    assert s.u[-1, 0] == pytest.approx(exact[1], abs=late)
    if method == "event-driven":
        assert s.u[-1, 0] == pytest.approx(exact[1], abs=1e-8)


@pytest.mark.parametrize("law", LAWS)
def test_derivatives_of_the_radius_of_friction(law):
    """Of mu P_N + force dt by u, against central differences; at rest as well."""
    kind = derive(LAWS[law][0]()).parts[-1].type
    t, q, u, P_N = (ca.SX.sym(x, n) for x, n in (("t", 1), ("q", kind.n_q), ("u", kind.n_u), ("P_N", kind.n["N"])))
    radius = kind.radius(t, q, u, P_N, 0.1)
    inputs = [t, q, u, P_N, kind.parameters]
    f, slope = ca.Function("f", inputs, [radius]), ca.Function("s", inputs, [ca.densify(ca.jacobian(radius, u))])
    values = np.array(list(LAWS[law][0]().parameter_values().values()))
    p = values[list(derive(LAWS[law][0]()).parts[-1].parameters)]
    random = np.random.default_rng(1)
    for size in (0.0, 0.1, 3.0):
        at = size * random.uniform(0.2, 1.0, kind.n_u)
        rest = [0.0, np.zeros(kind.n_q)]
        exact = np.array(slope(*rest, at, np.ones(kind.n["N"]), p)).ravel()
        assert np.isfinite(exact).all()
        if size:
            difference = [
                (f(*rest, at + h, np.ones(kind.n["N"]), p) - f(*rest, at - h, np.ones(kind.n["N"]), p)) / 2e-6
                for h in 1e-6 * np.eye(kind.n_u)
            ]
            np.testing.assert_allclose(exact, np.array(difference, float).ravel(), atol=1e-8)


# -- orders, where the coefficient varies ------------------------------------------------------------------------------


MU, SLOPE, SPEED = 0.2, 0.1, 2.0
OMEGA = np.sqrt(G * SLOPE)
VARYING = {  # mu = MU + SLOPE times the slip speed, position or time; and x, v of a block that slides
    "speed": lambda t: (
        (SPEED + MU / SLOPE) / (G * SLOPE) * (1 - np.exp(-G * SLOPE * t)) - MU / SLOPE * t,
        (SPEED + MU / SLOPE) * np.exp(-G * SLOPE * t) - MU / SLOPE,
    ),
    "position": lambda t: (
        MU / SLOPE * (np.cos(OMEGA * t) - 1) + SPEED / OMEGA * np.sin(OMEGA * t),
        SPEED * np.cos(OMEGA * t) - OMEGA * MU / SLOPE * np.sin(OMEGA * t),
    ),
    "time": lambda t: (
        SPEED * t - G * (MU * t**2 / 2 + SLOPE * t**3 / 6),
        SPEED - G * (MU * t + SLOPE * t**2 / 2),
    ),
}


@cache
def braked(what: str) -> ss.System:
    s = ss.System("block")
    (x, y), u = s.coordinates("x y", initial=[0, 0], velocity=[SPEED, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(G * y)
    friction = {"speed": lambda v: MU + SLOPE * v, "position": MU + SLOPE * x, "time": MU + SLOPE * s.time}[what]
    s.contact(gap=y, slip=u[0], friction=friction)
    return s


ORDERS = {  # where mu depends on the slip speed, and where it depends on position or time
    "rattle": (1, 1),
    "lobatto": (1, 1),
    "generalized-alpha": (1, 1),
    "moreau": (1, 1),
    "theta": (1, 2),
    "half-explicit": (1, 2),
    "half-explicit-adaptive": (1, 2),
    "rattle:variant=midpoint": (2, 1),
    "lobatto:variant=midpoint": (4, 1),
    "generalized-alpha:friction=smooth": (2, 1),
}


@pytest.mark.parametrize("what", VARYING)
@pytest.mark.parametrize("method", ORDERS)
def test_orders_of_friction_that_varies(method, what):
    """The page of the schemes says them. They hold for x and v together: some are exact for one where time is linear."""
    errors = []
    for dt in (8e-3, 4e-3):
        out = solve(braked(what), 0.4, dt, method=method)
        errors.append(np.abs(np.array([out.q[-1, 0], out.u[-1, 0]]) - VARYING[what](out.t[-1])).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[method][what != "speed"], abs=0.1)


@pytest.mark.parametrize("what", VARYING)
def test_event_driven_friction_that_varies_is_exact(what):
    out = solve(braked(what), 0.4, 0.05, method="event-driven")
    np.testing.assert_allclose([out.q[-1, 0], out.u[-1, 0]], VARYING[what](out.t[-1]), atol=1e-9)


# -- restitution ------------------------------------------------------------------------------------------------------


@cache
def dropped(restitution) -> ss.System:
    s = ss.System("ball")
    q, u = s.coordinates("y", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(G * q[0])
    s.contact(gap=q[0], restitution=restitution(u[0]) if restitution.__code__.co_varnames[0] == "u" else restitution)
    return s


@pytest.mark.parametrize("method", [m for m in CONTACTS if m != "schatzman-paoli"])
@pytest.mark.parametrize("law", [lambda v: 1 / (1 + v), lambda u: 1 / (1 - u)], ids=["function", "expression"])
def test_restitution_is_that_of_the_impact_speed(law, method):
    """A ball from 1 m rebounds with e(v) v."""
    v = np.sqrt(2 * G)
    t_hit, rebound = v / G, v / (1 + v)
    t_end = t_hit + 0.05
    s = solve(dropped(law), t_end, t_end / 500, method=method)
    assert s.u[-1, 0] == pytest.approx(rebound - G * 0.05, abs=0.03)


def test_schatzman_paoli_refuses_a_restitution_of_velocities():
    with pytest.raises(MethodError, match="restitution that does not depend on velocities"):
        solve(dropped(lambda v: 1 / (1 + v)), 0.1, 0.01, method="schatzman-paoli")


# -- belts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FRICTION)
def test_a_belt_takes_a_block_along(method):
    """It slides for v/(mu g), then moves with the belt; the way that it lags behind is v^2/(2 mu g)."""
    s = ss.System("belt")
    p = s.add(ss.PointMass("p", mass=2.0, position=[0, 0]))
    s.add(ss.Gravity([0, -G]))
    s.add(ss.Contact("belt", p.point(), ss.Line([0, 0], [0, 1], velocity=[1.5, 0]), friction=0.3))
    t = 1.5 / (0.3 * G)
    out = solve(s, 1.0, 1e-2, method=method)
    assert out.u[-1, 0] == pytest.approx(1.5, abs=1e-6)
    assert out.q[-1, 0] == pytest.approx(1.5 * (1 - t / 2), abs=0.02)
    assert out.slip[0, 0] == pytest.approx(-1.5)


def test_a_belt_on_a_body_and_one_that_starts_slowly():
    """A belt of speed c t on a cart that is held moves a sticking block with it; in space it has its direction."""
    s = ss.System("belt")
    p = s.add(ss.PointMass("p", mass=1.0, position=[0, 0, 0]))
    s.add(ss.Gravity([0, 0, -G]))
    plane = ss.Plane([0, 0, 0], [0, 0, 1], velocity=[0.3 * s.time, 0.4 * s.time, 0])
    s.add(ss.Contact("belt", p.point(), plane, friction=0.5))
    out = solve(s, 1.0, 1e-2)
    np.testing.assert_allclose(out.u[-1], [0.3, 0.4, 0], atol=1e-7)


def test_a_belt_moves_along_itself():
    with pytest.raises(ModelError, match="component along its normal"):
        ss.Line([0, 0], [0, 1], velocity=[1, 0.1])


# -- the stick-slip oscillator on a belt -----------------------------------------------------------------------------


@cache
def oscillator() -> ss.System:
    """A mass on a spring and a belt, with friction that falls as it slips: it sticks, is torn off, and sticks again."""
    s = ss.System("stick-slip oscillator")
    m = s.add(ss.PointMass("m", mass=1.0, position=[0, 0]))
    s.add(ss.Gravity([0, -10.0]))
    s.add(ss.SpringDamper("spring", ss.ground.point(-1, 0), m.point(), stiffness=100.0, rest_length=1.0))
    law = ss.Stribeck(0.4, 0.1, speed=0.3)
    s.add(ss.Contact("belt", m.point(), ss.Line([0, 0], [0, 1], velocity=[0.2, 0]), friction=law))
    return s


def limit_cycle() -> tuple[float, float]:
    """Amplitude and period by SciPy: one phase of slip, from the force of static friction until the belt is as fast."""

    def rate(t, y):
        mu = 0.1 + 0.3 * np.exp(-(((0.2 - y[1]) / 0.3) ** 2))
        return [y[1], -100 * y[0] + 10 * mu]

    def caught(t, y):
        return y[1] - 0.2 if t > 0.05 else -1.0

    caught.terminal = True
    out = solve_ivp(rate, (0, 2), [0.04 + 1e-12, 0.2], events=caught, rtol=1e-11, atol=1e-13, max_step=1e-3)
    x_stick, period = out.y[0, -1], out.t[-1] + (0.04 - out.y[0, -1]) / 0.2
    assert x_stick < 0.04
    return (out.y[0].max() - out.y[0].min()) / 2, period


def observed_cycle(s: ss.Solution) -> tuple[float, float]:
    late = s.t > 1.5
    t, x = s.t[late], s.q[late, 0]
    x = x - (x.max() + x.min()) / 2
    up = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    crossings = t[up] - x[up] * (t[up + 1] - t[up]) / (x[up + 1] - x[up])
    return (x.max() - x.min()) / 2, np.diff(crossings).mean()


@pytest.mark.parametrize("method", [m for m in FRICTION if m != "event-driven"])
def test_the_stick_slip_oscillator_converges_to_its_limit_cycle(method):
    """Amplitude and period, at two steps: errors halve, as the instant of sticking is known to a step."""
    amplitude, period = limit_cycle()
    errors = []
    for dt in (4e-3, 2e-3):
        a, p = observed_cycle(solve(oscillator(), 4.5, dt, method=method))
        # Explicit Euler, which moreau-jean is in free motion, feeds oscillations by (omega dt)^2/2 per step.
        assert a == pytest.approx(amplitude, rel=15 * dt if method == "moreau-jean" else 3e-3)
        errors.append(abs(p - period))
    assert errors[0] < {"moreau-jean": 0.03, "explicit-velocity": 6e-3}.get(
        method, 4e-3
    )  # forces of the latter lag by a step
    assert errors[1] < 0.65 * errors[0]


def test_event_driven_integration_finds_the_same_limit_cycle():
    amplitude, period = limit_cycle()
    a, p = observed_cycle(solve(oscillator(), 3.0, 1e-3, method="event-driven"))  # one period: it is met when it sticks
    assert a == pytest.approx(amplitude, rel=1e-5)
    assert p == pytest.approx(period, rel=1e-5)


# -- friction of several contacts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FRICTION)
def test_friction_of_two_contacts_brakes_with_their_sum(method):
    """A sledge on two runners, the load off the middle: mu (N_1 + N_2) = mu m g whatever the share of each."""
    s = ss.System("sledge")
    (_, y, phi), u = s.coordinates("x y phi", initial=[0, 0, 0], velocity=[2.0, 0, 0])
    s.kinetic_energy((u[0] ** 2 + u[1] ** 2 + u[2] ** 2) / 2)
    s.potential_energy(G * (y + 0.3 * phi))
    s.contact(gap=y + phi, name="front")
    s.contact(gap=y - phi, name="rear")
    s.friction(slip=u[0], friction=0.2, of=["front", "rear"], name="runners")
    out = solve(s, 0.5, 1e-2, method=method)
    late = 0.5e-2 if method in ("moreau-symmetric", "moreau-variational") else 0.0
    assert abs(out.u[-1, 0] - (2.0 - 0.2 * G * 0.5)) == pytest.approx(0.2 * G * late, abs=1e-6)
    rest = solve(s, 2.0, 1e-2, method=method)
    assert rest.u[-1, 0] == pytest.approx(0.0, abs=1e-6)


def test_friction_of_contacts_that_do_not_exist_is_refused():
    s = ss.System("sledge")
    (_, y), u = s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
    s.contact(gap=y, name="floor")
    with pytest.raises(ModelError, match="'flor'.*floor"):
        s.friction(slip=u[0], friction=0.2, of=["flor"])
    with pytest.raises(ModelError, match="no normal contact"):
        s.friction(slip=u[0], friction=0.2)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_laws_out_of_range_are_refused_with_the_speed():
    s = ss.System("block")
    (_, y), u = s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
    with pytest.raises(ModelError, match=r"friction = -.* slip speed"):
        s.contact(gap=y, slip=u[0], friction=lambda v: 0.3 - 0.1 * v)
    with pytest.raises(ModelError, match=r"restitution = .* approach speed"):
        s.contact(gap=y, restitution=lambda v: 0.5 + v)
    with pytest.raises(ModelError, match="function of one number"):
        s.contact(gap=y, slip=u[0], friction=lambda: 0.3)
    with pytest.raises(ModelError, match="speed"):
        ss.Stribeck(0.5, 0.2, speed=0.0)
    with pytest.raises(ModelError, match="friction"):
        ss.OrthotropicCoulomb(ss.Stribeck(0.5, 0.2, speed=1.0), 0.2, direction=[1, 0, 0])


def test_a_mass_of_velocities_is_refused():
    s = ss.System("odd")
    _, u = s.coordinates("x", initial=[0], velocity=[1])
    s.mass_matrix([[1 + u[0] ** 2]])
    with pytest.raises(ModelError, match="mass matrix depends on velocities"):
        solve(s, 0.1, 0.01)


def test_coefficients_of_parts_are_parameters():
    s = block_from_parts(ss.Stribeck(0.5, 0.2, speed=3.0))
    assert s.parameters["floor.friction.static"] == 0.5
    slow, fast = (solve(s, 0.5, 0.01, parameters={"floor.friction.kinetic": k}).u[-1, 0] for k in (0.3, 0.1))
    assert slow < fast


@pytest.mark.parametrize("method", ["rattle", "half-explicit", "moreau-jean", "theta"])
def test_friction_that_falls_too_steeply_for_the_step_says_so(method):
    """A block on a spring breaks away at mu_s m g = k v t; half-explicit lets it go at 0.68 s, if the step is too long."""
    s = ss.System("pulled block")
    (x, y), u = s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(G * y + 25 * (0.1 * s.time - x) ** 2)
    s.contact(gap=y, slip=u[0], friction=ss.Stribeck(0.5, 0.3, speed=1e-4), name="floor")
    with pytest.warns(ss.StabilityWarning, match=r"'floor': its friction falls.*both stick and slip.*dt < 8e-05"):
        solve(s, 1.0, 5e-4, method=method)
    short = solve(s, 1.0, 7e-5, method=method)
    breaks = short.t[np.flatnonzero(np.abs(short.u[:, 0]) > 1e-3)[0]]
    assert breaks == pytest.approx(0.5 * G / 5, abs=5e-3)


@pytest.mark.parametrize("how", ["Stribeck", "function", "expression"])
def test_friction_in_a_joint_may_depend_on_its_speed(how):
    """A pendulum with a torque of friction that falls from 0.6 to 0.3 N m, against SciPy from turn to turn."""
    m, length, J, g, law = 1.0, 0.5, 0.02, 9.81, ss.Stribeck(0.6, 0.3, speed=0.5)
    s = ss.System("dry pendulum")
    s.add(ss.Gravity([0, -g]))
    bob = s.add(
        ss.PlanarBody("bob", mass=m, inertia=J, position=[length * np.sin(1.5), -length * np.cos(1.5)], angle=1.5)
    )
    pin = s.add(ss.Revolute("pin", ss.ground.point(0, 0), bob.point(0, length)))
    force = {"Stribeck": law, "function": lambda v: law(v), "expression": law(ss.math.absolute(bob.u[2]))}[how]
    s.add(ss.Friction("brake", pin.angle, force=force))
    assert ("brake.force.static" in s.parameters) == (how == "Stribeck")
    phi = ss.solve(s, t_end=2.0, dt=1e-3, progress=False)["bob.phi"]

    def rate(_, y, sign):
        return [y[1], (-m * g * length * np.sin(y[0]) - sign * law(y[1])) / (J + m * length**2)]

    def turn(_, y, sign):
        return y[1] if y[1] else sign

    turn.terminal = True
    y, turns = [1.5, 0.0], []
    for sign in (-1.0, 1.0):
        run = solve_ivp(rate, [0, 2], y, args=(sign,), events=turn, rtol=1e-10, atol=1e-12)
        y = [run.y[0, -1], 0.0]
        turns.append(y[0])
    assert [phi.min(), phi[900:].max()] == pytest.approx(turns, abs=1e-5)


def test_what_cannot_depend_on_speed_says_what_can():
    s = ss.System("s")
    ball = s.add(ss.PlanarBody("ball", mass=1, inertia=1, position=[0, 1]))
    shapes = [ss.Sphere(ball.point(), 1), ss.Line([0, 0], [0, 1])]
    with pytest.raises(ModelError, match=r"friction = Stribeck.* is a function of a speed.*with Contact"):
        ss.Collisions("contacts", shapes, friction=ss.Stribeck(0.3, 0.1, speed=1))
    with pytest.raises(ModelError, match=r"'contacts.friction' depends on 'ball.x_dot', which changes during a run"):
        s.add(ss.Collisions("contacts", shapes, friction=0.3 + ball.u[0] ** 2))

"""One test over all schemes: every fact that a scheme declares is observed.

Two problems with known behaviour: a rod on a pin in maximal coordinates (smooth, bilateral), and a point mass that slides on a
slope (persistent contact), with friction for the schemes that have it. Errors are taken at the last node against a solution by
RATTLE with a step 100 times smaller than the smallest one here, whose error (order 2) is below a thousandth of theirs, and
against Lobatto's scheme for those of higher order. A mechanism is declared once: its derivatives and programs serve all tests.
"""

from functools import cache

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

import stickslip as ss
from stickslip.engine.derive import derive
from stickslip.math import cos, dot, exp, norm, quaternion, quaternion_rotation, vector

SCHEMES = {name: scheme() for name, scheme in ss.METHODS.items() if name != "event-driven"}
SCHEMES |= {
    "theta:0": ss.Theta(theta=0.0),
    "theta:0.75": ss.Theta(theta=0.75),
    "theta:1": ss.Theta(theta=1.0),
    "explicit-velocity:zero": ss.ExplicitVelocity(h_tilde="zero"),
    "half-explicit:brasey": ss.HalfExplicit(variant="brasey"),
    "lobatto:2": ss.Lobatto(stages=2),
    "PVA:1": ss.GeneralizedAlpha(activation=1),
    "PVA:2": ss.GeneralizedAlpha(activation=2),
    "PVA:subproblems": ss.GeneralizedAlpha(solver="subproblems"),
    "PVA:0": ss.GeneralizedAlpha(rho_inf=0.0),
} | {name: ss.GeneralizedAlpha(constraints=name) for name in ("PVV", "PV", "PV-2", "P", "V", "A", "Baumgarte")}
CASES = list(SCHEMES)
WITH_CONTACTS = [name for name, scheme in SCHEMES.items() if scheme.facts.contacts]


@cache
def rod(pins: int = 1) -> ss.System:
    s = ss.System("rod on a pin")
    s.add(ss.Gravity([0, -10.0]))
    body = s.add(
        ss.PlanarBody(
            "rod", mass=1.0, inertia=0.1, position=[np.sin(1.0), -np.cos(1.0)], angle=1.0, velocity=[0.0, 0.0]
        )
    )
    for k in range(pins):
        s.add(ss.Revolute(f"pin {k}" if k else "pin", ss.ground.point(0, 0), body.point(0, 1)))
    return s


@cache
def slope(friction: bool) -> ss.System:
    """Case 1 of `point_mass_on_slope`, already sliding: downhill from the start with speed 1, also without friction."""
    s = ss.System("slope")
    t_0 = np.array([1.0, -1.0]) / np.sqrt(2)
    q, u = s.coordinates("x y", initial=[0, 1], velocity=t_0)
    s.kinetic_energy(dot(u, u) / 2)
    s.potential_energy(10.0 * q[1])
    f, slope = vector(q[0], exp(-q[0])), vector(1, -exp(-q[0]))
    t = slope / norm(slope)
    n = vector(-t[1], t[0])
    s.contact(gap=dot(n, q - f), slip=dot(t, u) if friction else None, friction=0.3 if friction else 0.0, name="slope")
    return s


@cache
def problem(name: str) -> tuple[ss.System, float, CubicHermiteSpline, CubicHermiteSpline]:
    """System, end time, and the reference solution of q and of u as functions of time."""
    system, t_end = {"rod": (rod(), 1.0), "friction": (slope(True), 1.2), "frictionless": (slope(False), 1.0)}[name]
    r = ss.solve(system, t_end=t_end + 0.01, dt=2e-5, tol=1e-13)
    acceleration = np.gradient(r.u, r.t, axis=0)
    return system, t_end, CubicHermiteSpline(r.t, r.q, r.u), CubicHermiteSpline(r.t, r.u, acceleration)


def observed_order(scheme: ss.Scheme, name: str) -> float:
    """The smaller of the orders of q and u."""
    system, t_end, q, u = problem(name)
    dts = 8e-3 / 2.0 ** np.arange(3)
    errors = []
    for dt in dts:
        s = ss.solve(system, t_end=t_end, dt=dt, method=scheme, tol=1e-12)
        errors.append([np.abs(s.q[-1] - q(s.t[-1])).max(), np.abs(s.u[-1] - u(s.t[-1])).max()])
    orders = np.log(np.array(errors)[0] / np.array(errors)[-1]) / np.log(dts[0] / dts[-1])
    return float(orders.min())


@pytest.mark.parametrize("name", CASES)
def test_order_in_smooth_constrained_motion(name):
    scheme = SCHEMES[name]
    if scheme.facts.order > 2:
        pytest.skip("tested against its own reference, to round-off")
    assert observed_order(scheme, "rod") == pytest.approx(scheme.facts.order, abs=0.15)


@pytest.mark.parametrize("name", WITH_CONTACTS)
def test_order_in_persistent_contact(name):
    facts = SCHEMES[name].facts
    if facts.order > 2:
        pytest.skip("tested against its own reference, to round-off")
    order = observed_order(SCHEMES[name], "friction" if facts.friction else "frictionless")
    assert order == pytest.approx(facts.contact_order or facts.order, abs=0.15)


@pytest.mark.parametrize("name", CASES)
def test_exactly_the_declared_levels_are_met(name):
    """Those declared below 1e-9; the others drift or oscillate with the step."""
    levels, dt = SCHEMES[name].facts.levels, 5e-3
    s = ss.solve(rod(), t_end=1.0, dt=dt, method=SCHEMES[name], tol=1e-11)
    residuals = {"position": s.g, "velocity": s.g_dot}
    if "g_ddot" in s.extra:
        residuals["acceleration"] = dt * s.extra["g_ddot"]  # as a velocity, like the residual of a step
    for level, residual in residuals.items():
        largest = np.abs(residual[2:]).max()
        if level in levels:
            assert largest < 1e-9, level
        else:
            assert largest > 1e-7, level


@pytest.mark.parametrize("name", CASES)
def test_declared_number_of_unknowns(name):
    scheme = SCHEMES[name]
    system = slope(scheme.facts.friction) if scheme.facts.contacts else rod()
    program = scheme.compile(derive(system))
    n = {"n_q": 2, "n_u": 2, "n_P": 2 if scheme.facts.friction else 1, "n_g": 0, "n_gamma": 0, "n_N": 1}
    if not scheme.facts.contacts:
        n = {"n_q": 3, "n_u": 3, "n_P": 2, "n_g": 2, "n_gamma": 0, "n_N": 0}
    declared = {stage: eval(text, {}, n) for stage, text in scheme.facts.unknowns.items()}  # such as "2*n_u + n_P"
    assert program.unknowns == declared


@cache
def spring_pendulum() -> ss.System:
    """In polar coordinates: its mass matrix depends on q and its forces on u, even in u."""
    s = ss.System("spring pendulum")
    (r, phi), (v, w) = s.coordinates("r phi", initial=[1.0, 0.3], velocity=[0.2, 0.9])
    s.kinetic_energy((v**2 + r**2 * w**2) / 2)
    s.potential_energy((r - 1) ** 2 * 5 - r * cos(phi))
    return s


@pytest.mark.parametrize("name", CASES)
def test_symmetric_schemes_return(name):
    """Forward, velocities reversed, forward again: a symmetric scheme comes back to round-off, another one does not."""
    if name in ("moreau-symmetric", "moreau-variational"):
        pytest.skip("their velocities belong to intervals; tested with the Moreau family")
    s = spring_pendulum()
    there = ss.solve(s, t_end=1.0, dt=0.05, method=SCHEMES[name], tol=1e-13)
    back = ss.solve(s, t_end=1.0, dt=0.05, method=SCHEMES[name], tol=1e-13, q0=there.q[-1], u0=-there.u[-1])
    distance = np.abs(back.q[-1] - there.q[0]).max()
    if SCHEMES[name].facts.symmetric:
        assert distance < 1e-10
    else:
        assert distance > 1e-7


@pytest.mark.parametrize("name", WITH_CONTACTS)
def test_energy_does_not_rise_at_impacts(name):
    """Bouncing ball: each impact takes (1 - e^2) of the energy. A scheme may gain what a step of free fall is worth."""
    dt = 1e-3
    s = ss.solve(bounced("bouncing_ball")[0], t_end=1.5, dt=dt, method=SCHEMES[name])
    total = s.energy().total
    v = np.sqrt(2 * 9.81)
    if name != "schatzman-paoli":  # whose velocity at an impact is the mean of those before and after it
        assert np.diff(total).max() < 2 * 0.1 * 9.81 * v * dt  # m g v dt
    impacts = int((np.diff(np.sign(s.u[:, 0])) > 0).sum())
    assert impacts >= 2
    assert total[-1] == pytest.approx(total[0] * 0.75 ** (2 * impacts), rel=0.03)


@pytest.mark.parametrize("name", ["rod", "friction", "frictionless"])
def test_the_reference_agrees_with_the_event_driven_solution(name):
    """So that the tests of order above are tests of convergence to the event-driven solution too, slope included."""
    system, t_end, q, u = problem(name)
    exact = ss.solve(system, t_end=t_end, dt=1e-2, method="event-driven")
    assert np.abs(q(exact.t) - exact.q).max() < 1e-8  # RATTLE with dt = 2e-5
    assert np.abs(u(exact.t) - exact.u).max() < 1e-7


@cache
def bounced(mechanism: str) -> tuple[ss.System, ss.Solution]:
    """A mechanism and its event-driven solution, with impacts."""
    system = ss.benchmarks.REGISTRY[mechanism].build()
    exact = ss.solve(system, t_end=1.0, dt=1e-2, method="event-driven")
    assert (exact.P_N > 0).any()
    return system, exact


@pytest.mark.parametrize("name", WITH_CONTACTS)
@pytest.mark.parametrize("mechanism", ["bouncing_ball", "bouncing_pendulum"])
def test_agrees_with_the_event_driven_solution_after_impacts(name, mechanism):
    """Order 1 with impacts: eight times smaller steps, errors smaller by a factor of 5.5 to 8.5 on the average.

    The error of one run depends on where in a step the impacts fall, by a factor of up to 60; so it is the mean over six steps.
    """
    system, exact = bounced(mechanism)

    def error(dt: float) -> float:
        s = ss.solve(system, t_end=1.0, dt=dt, method=SCHEMES[name])
        return float(
            np.mean([np.abs(np.interp(exact.t, s.t, s.q[:, k]) - exact.q[:, k]).mean() for k in range(s.q.shape[1])])
        )

    shares = (1, 0.93, 0.87, 0.81, 0.76, 0.71)
    coarse, fine = (np.mean([error(dt * share) for share in shares]) for dt in (4e-3, 5e-4))
    assert fine < 5e-3  # explicit-velocity, the least accurate, has 3.3e-3 on the pendulum
    assert fine < coarse / 5


# -- bodies in space, dependent constraints ----------------------------------------------------------------------------


@cache
def top() -> tuple[ss.System, ss.Solution]:
    """A heavy top on a ball joint, with three different moments of inertia, and its event-driven solution."""
    p, omega = quaternion([1, 0, 0], 0.4), np.array([0.3, 0.2, 20.0])
    R = quaternion_rotation(p)
    r = R @ np.array([0, 0, 0.5])
    s = ss.System("top")
    s.add(ss.Gravity([0, 0, -9.81]))
    motion = {"velocity": np.cross(R @ omega, r), "angular_velocity": omega}
    body = s.add(ss.RigidBody("top", mass=1.0, inertia=[0.05, 0.06, 0.03], position=r, orientation=p, **motion))
    s.add(ss.Spherical("tip", ss.ground.point(0, 0, 0), body.point(0, 0, -0.5)))
    return s, ss.solve(s, t_end=0.5, dt=0.1, method="event-driven", rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in CASES if SCHEMES[name].facts.general_kinematics])
def test_order_and_norm_of_quaternions(name):
    system, exact = top()
    facts, errors = SCHEMES[name].facts, []
    dts = (4e-3, 1e-3) if facts.order <= 2 else (2e-2, 5e-3)
    for dt in dts:
        s = ss.solve(system, t_end=0.5, dt=dt, method=SCHEMES[name], tol=1e-12)
        errors.append([np.abs(s.q[-1] - exact.q[-1]).max(), np.abs(s.u[-1] - exact.u[-1]).max()])
    orders = np.log(np.divide(*errors)) / np.log(dts[0] / dts[1])
    assert orders == pytest.approx(facts.order, abs=0.15)
    norm = np.abs(np.linalg.norm(s.q[:, 3:], axis=1) - 1).max()
    assert norm < (1e-13 if facts.order <= 2 else errors[-1][0])  # a Cayley map; Lobatto's scheme keeps it to its order


@pytest.mark.parametrize("name", CASES)
def test_doubled_joints_change_nothing(name):
    """Redundant constraints on every level, accelerations included: the same motion, each joint takes half the force."""
    one, two = (ss.solve(rod(pins), t_end=0.3, dt=5e-3, method=SCHEMES[name], tol=1e-10) for pins in (1, 2))
    assert np.abs(one.q - two.q).max() < 1e-9
    assert np.abs(one.u - two.u).max() < 1e-7
    assert np.abs(two.P_g[:, :2] - two.P_g[:, 2:]).max() < 1e-8
    assert np.abs(two.P_g[:, :2] - one.P_g / 2).max() < 1e-8


@cache
def block_on_four_feet(mu: float) -> ss.System:
    s = ss.System("block")
    s.add(ss.Gravity([0, -10.0]))
    block = s.add(ss.PlanarBody("block", mass=1.0, inertia=0.1, position=[0, 0.5], velocity=[1.0, 0.0]))
    law = {"friction": mu} if mu else {}
    for x in (-0.5, -0.2, 0.2, 0.5):
        s.add(ss.Contact(f"foot {x}", block.point(x, -0.5), ss.Line([0, 0], [0, 1]), **law))
    return s


@pytest.mark.parametrize("name", WITH_CONTACTS)
def test_a_block_on_more_contacts_than_it_needs_slides_and_stops(name):
    """Four points on a line: v = 1 - mu g t, and a stop after v^2/(2 mu g); the four forces add up to the weight."""
    mu = 0.3 if SCHEMES[name].facts.friction else 0.0
    dt = 2e-3
    solution = ss.solve(block_on_four_feet(mu), t_end=0.5, dt=dt, method=SCHEMES[name])
    lag = dt if SCHEMES[name].facts.contact_level == "no" else 0.0  # explicit-velocity: forces of the last step
    sliding = np.abs(solution.t - 0.2).argmin()
    assert solution.u[sliding, 0] == pytest.approx(1 - mu * 10 * 0.2, abs=0.02)  # of the first step, before contact
    assert solution.q[-1, 0] == pytest.approx(1 / 6 if mu else 0.5, abs=1.5 * dt)
    assert np.abs(solution.u[-1, 1:]).max() < 1e-7 + 10.0 * lag
    assert solution.P_N[-1].sum() / np.diff(solution.t)[-1] == pytest.approx(10.0, rel=1e-4)
    assert solution.P_N.min() > -1e-8  # the tolerance of a step


# -- stability ---------------------------------------------------------------------------------------------------------


@cache
def oscillator() -> ss.System:
    s = ss.System("oscillator")
    (x,), (v,) = s.coordinates("x", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(x**2 / 2)
    return s


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::stickslip.StabilityWarning", "ignore::stickslip.EnergyWarning")
def test_oscillations_grow_beyond_the_declared_limit_and_not_before(name):

    def amplitude(omega_dt: float) -> float:
        return float(np.abs(ss.solve(oscillator(), t_end=30 * omega_dt, dt=omega_dt, method=SCHEMES[name]).q).max())

    limit = SCHEMES[name].facts.stable_to
    if limit is None:
        assert amplitude(100.0) < 10
    elif limit > 0:
        assert amplitude(0.97 * limit) < 10
        assert amplitude(1.03 * limit) > 100
    else:
        assert amplitude(0.5) > 10  # explicit Euler grows by (omega dt)^2/2 a step


def test_a_step_beyond_the_limit_is_announced():
    """RATTLE at the step of generalized-alpha: after 60 steps the flexible pendulum, at rest before, would have 7e9 J."""
    pendulum, dt = ss.benchmarks.flexible_pendulum(), 5e-6
    with pytest.warns(ss.StabilityWarning, match=r"dt = 5e-06 is too large for method 'rattle'.* dt > 2e-06"):
        ss.solve(pendulum, t_end=dt, dt=dt, method="rattle")
    s = ss.solve(pendulum, t_end=200 * dt, dt=1.8e-6, method="rattle")  # no warning, and none needed
    assert np.abs(s.energy().total).max() < 1e-6
    ss.solve(pendulum, t_end=dt, dt=dt, method="theta")

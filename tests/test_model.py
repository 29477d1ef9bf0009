"""Models from equations and from parts: derived quantities against finite differences, motions against exact solutions."""

import casadi as ca
import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.derive import derive
from stickslip.math import cos, cross, diag, dot, sin, sqrt, vector
from stickslip.native.kernel import compile_kernel


def evaluate(part, name, t, q, u, a=None):
    """A function of mechanics of a part, for numbers."""
    symbols = [ca.SX.sym("t"), ca.SX.sym("q", part.n_q), ca.SX.sym("u", part.n_u), ca.SX.sym("a", part.n_u)]
    arguments = {"M": 2, "W": 2, "g": 2, "g_N": 2, "g_ddot": 4, "g_N_ddot": 4, "gamma_F_dot": 4}.get(name, 3)
    value = getattr(part, name)(*symbols[:arguments])
    f = ca.Function("f", [*symbols, part.parameters], [value])
    return np.array(f(t, q, u, np.zeros(part.n_u) if a is None else a, np.zeros(part.parameters.numel())))


def double_pendulum():
    """With a driven pivot, so that T has terms of second, first and zeroth degree in the velocities."""
    s = ss.System("driven double pendulum")
    (a, b), (u, v) = s.coordinates("a b", initial=[0.3, -0.4], velocity=[0.5, -0.2])
    pivot = sin(3 * s.time)
    v_0 = 3 * cos(3 * s.time)
    v_1 = vector(v_0 + u * cos(a), u * sin(a))
    v_2 = v_1 + vector(v * cos(b), v * sin(b))
    s.kinetic_energy(dot(v_1, v_1) / 2 + dot(v_2, v_2))
    s.potential_energy(-9.81 * (3 * cos(a) + 2 * cos(b)) + pivot)
    s.constraint(sin(a) + sin(b) - 0.1 * s.time, name="bar")
    s.contact(gap=2 + cos(a) + cos(b), slip=u * cos(a) + v * cos(b) + s.time, friction=0.2)
    return s


def test_lagrange_equations_against_finite_differences():
    """d/dt dT/du - dT/dq = M udot - h - dV-part, by central differences of T along a path with known acceleration."""
    part = derive(double_pendulum()).parts[0].type
    rng = np.random.default_rng(1)
    T = lambda t, q, u: evaluate(part, "kinetic", t, q, u).item()  # noqa: E731
    for _ in range(5):
        t, q, u, a = rng.uniform(0, 1), rng.normal(size=2), rng.normal(size=2), rng.normal(size=2)
        eps = 1e-4

        def momentum(s, t=t, q=q, u=u, a=a):
            path_q, path_u = q + s * u + s * s / 2 * a, u + s * a
            return np.array(
                [(T(t + s, path_q, path_u + d) - T(t + s, path_q, path_u - d)) / 2e-5 for d in 1e-5 * np.eye(2)]
            )

        p_dot = (momentum(eps) - momentum(-eps)) / (2 * eps)
        dT_dq = np.array([(T(t, q + d, u) - T(t, q - d, u)) / (2 * eps) for d in eps * np.eye(2)])
        dV_dq = np.array(
            [(_potential(part, t, q + d) - _potential(part, t, q - d)) / (2 * eps) for d in eps * np.eye(2)]
        )
        M, h = evaluate(part, "M", t, q, u), evaluate(part, "h", t, q, u)[:, 0]
        assert np.allclose(M @ a - h, p_dot - dT_dq + dV_dq, atol=1e-5)  # differences of T: eps^2 and 1e-16/1e-9


def _potential(part, t, q):
    symbols = [ca.SX.sym("t"), ca.SX.sym("q", part.n_q)]
    f = ca.Function("f", [*symbols, part.parameters], [part.potential(*symbols)])
    return float(f(t, q, np.zeros(part.parameters.numel())))


@pytest.mark.parametrize(
    "low, high",
    [("g", "g_dot"), ("g_dot", "g_ddot"), ("g_N", "g_N_dot"), ("g_N_dot", "g_N_ddot"), ("gamma_F", "gamma_F_dot")],
)
def test_rates_against_finite_differences(low, high):
    part = derive(double_pendulum()).parts[0].type
    rng = np.random.default_rng(2)
    t, q, u, a = 0.4, rng.normal(size=2), rng.normal(size=2), rng.normal(size=2)
    eps = 1e-5
    along = [evaluate(part, low, t + s, q + s * u + s * s / 2 * a, u + s * a) for s in (-eps, eps)]
    assert np.allclose((along[1] - along[0]) / (2 * eps), evaluate(part, high, t, q, u, a), atol=1e-8)


def test_force_directions_are_partners_of_velocities():
    """W^T = d(rate)/du for every kind of constraint."""
    part = derive(double_pendulum()).parts[0].type
    q, u = np.array([0.3, -0.7]), np.array([0.2, 0.9])
    t_, q_ = ca.SX.sym("t"), ca.SX.sym("q", 2)
    W = part.W(t_, q_)
    for space, rate in (("g", "g_dot"), ("N", "g_N_dot"), ("F", "gamma_F")):
        value = np.array(ca.Function("W", [t_, q_], [ca.densify(getattr(W, space))])(0.3, q))
        difference = (
            np.hstack([evaluate(part, rate, 0.3, q, u + d) - evaluate(part, rate, 0.3, q, u - d) for d in np.eye(2)])
            / 2
        )
        assert np.allclose(value.T, difference, atol=1e-12)


def test_momentum_form_is_consistent():
    """p = dT/du and pdot = b: b - h is the rate of p without acceleration."""
    part = derive(double_pendulum()).parts[0].type
    t, q, u, eps = 0.4, np.array([0.3, -0.4]), np.array([0.5, -0.2]), 1e-5
    rate = (evaluate(part, "p", t + eps, q + eps * u, u) - evaluate(part, "p", t - eps, q - eps * u, u)) / (2 * eps)
    assert np.allclose(evaluate(part, "b", t, q, u) - evaluate(part, "h", t, q, u), rate, atol=1e-8)


def test_pendulum_swings_with_the_exact_period():
    """Angle amplitude 1: period 4 K(sin(1/2)) sqrt(L/g)."""
    from scipy.special import ellipk

    s = ss.System("pendulum")
    rod = s.add(ss.PointMass("bob", mass=2.0, position=[np.sin(1.0), -np.cos(1.0)]))
    s.add(ss.Gravity([0, -9.81]))
    s.constraint((dot(rod.q, rod.q) - 1) / 2, name="rod")
    period = 4 * ellipk(np.sin(0.5) ** 2) / np.sqrt(9.81)
    steps = 1000
    solution = ss.solve(s, t_end=period, dt=period / steps, tol=1e-12)
    assert np.abs(solution.q[-1] - solution.q[0]).max() < 20 / steps**2
    assert np.abs(np.diff(solution.energy().total)).max() < 1e-4


def test_friction_of_fixed_radius_stops_a_mass():
    """A force of 3 N against a mass of 2 kg: stops after v m/F, and holds against a smaller push."""
    s = ss.System("brake")
    (x,), (v,) = s.coordinates("x", initial=[0], velocity=[1.5])
    s.kinetic_energy(v**2)
    s.force([2.5 * (s.time > 2)])
    s.friction(slip=v, radius=3.0, name="brake")
    solution = ss.solve(s, t_end=3.0, dt=1e-3)
    assert solution.q[-1, 0] == pytest.approx(1.5 * 1.0 - 1.5 / 2, abs=1e-3)  # stops at t = 1
    assert np.abs(solution.u[1001:]).max() < 1e-10
    assert solution.P_F[500, 0] == pytest.approx(-3e-3)
    assert solution.P_F[-1, 0] == pytest.approx(-2.5e-3)  # holds
    assert solution.names.friction_contact == (-1,)
    del x


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_spatial_friction_brakes_along_the_slip(method):
    """A mass sliding on a plane in the direction (3, 4): decelerates by mu g along it, stops after v/(mu g)."""
    s = ss.System("puck")
    puck = s.add(ss.PointMass("puck", mass=0.7, position=[0, 0, 0], velocity=[3, 4, 0]))
    s.add(ss.Gravity([0, 0, -10.0]))
    s.contact(gap=puck.q[2], slip=puck.u[:2], friction=0.5)
    solution = ss.solve(s, t_end=1.2, dt=1e-3, method=method)
    assert solution.u[500, :2] == pytest.approx(np.array([3, 4]) * 0.5, abs=5e-3)
    assert np.abs(solution.u[-1]).max() < 1e-9
    assert solution.q[-1, :2] == pytest.approx(np.array([3, 4]) * 0.5, abs=1e-2)
    ratio = np.linalg.norm(solution.P_F[1:900], axis=1) / solution.P_N[1:900, 0]
    assert np.allclose(ratio, 0.5, atol=1e-6)


def test_tangential_restitution_reverses_the_slip():
    """A superball: e_F = 1 with enough friction reverses the slip of the contact point."""
    system = ss.benchmarks.rotating_bouncing_ball(case=3, mu=10.0, e_F=1.0)
    s = ss.solve(system, t_end=0.45, dt=1e-3)
    k = np.flatnonzero(s.P_N[:, 0] > 0)[0]
    assert s.slip[k, 0] == pytest.approx(-s.slip[k - 1, 0], abs=1e-8)


def test_rheonomic_constraint_drives():
    s = ss.System("driven")
    (x, y), u = s.coordinates("x y", initial=[0, 0], velocity=[2.0, 0])
    s.kinetic_energy(dot(u, u) / 2)
    s.constraint(x - sin(2 * s.time), name="drive")
    solution = ss.solve(s, t_end=1.0, dt=1e-3)
    assert np.abs(solution.q[:, 0] - np.sin(2 * solution.t)).max() < 1e-8
    assert np.abs(solution.u[:, 0] - 2 * np.cos(2 * solution.t)).max() < 1e-8
    # the percussion over a step is the change of momentum that the drive makes
    assert solution.P_g[1:, 0].sum() == pytest.approx(solution.u[-1, 0] - 2.0, abs=1e-10)
    del y


def test_nonholonomic_skate():
    """A skate on an inclined plane, at rest in x with spin omega: x = g sin(a)/(2 w^2) sin^2(w t) (Bloch 2003, 1.6)."""
    s = ss.System("skate")
    (x, y, phi), (u, v, w) = s.coordinates("x y phi", initial=[0, 0, 0], velocity=[0, 0, 2.0])
    s.kinetic_energy((u**2 + v**2 + w**2) / 2)
    s.potential_energy(-3.0 * x)
    s.velocity_constraint(u * sin(phi) - v * cos(phi), name="blade")
    # (29a) asks u_M to obey the constraint at q_1: half a step off, so the printed scheme is of first order here
    for variant, order, bound in (("printed", 1, 5e-3), ("mean", 2, 5e-6)):
        errors = []
        for dt in (2e-3, 1e-3):
            solution = ss.solve(s, t_end=2.0, dt=dt, method="rattle", variant=variant)
            exact = 3.0 / (2 * 4) * np.sin(2 * solution.t) ** 2
            errors.append(np.abs(solution.q[:, 0] - exact).max())
            assert np.abs(solution.gamma).max() < 1e-8
        assert errors[1] < bound
        assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.05)
    del y


def test_quaternion_keeps_its_norm_and_the_top_its_energy():
    """qdot = B u is affine in q, so the position is eliminated: 6 unknowns a stage, and the norm is kept by a Cayley map."""
    s = ss.System("free top")
    inertia = np.array([1.0, 2.0, 3.0])

    def kinematics(t, p, w):
        return [-dot(p[1:], w) / 2, (p[0] * w + cross(p[1:], w)) / 2]

    p, w = s.coordinates(
        "p0 p1 p2 p3", velocities="w1 w2 w3", initial=[1, 0, 0, 0], velocity=[0.1, 2.0, 0.1], kinematics=kinematics
    )
    s.mass_matrix(diag(inertia))
    s.force(-cross(w, inertia * w))
    solution = ss.solve(s, t_end=10.0, dt=1e-2)
    assert np.abs(np.linalg.norm(solution.q, axis=1) - 1).max() < 1e-12
    energy = solution.energy().total
    assert np.ptp(energy) < 1e-3 * energy[0]
    del p


def test_kinematics_that_is_not_affine_becomes_an_unknown():
    """qdot = u / (1 + q^2): q + q^3/3 = t for u = 1. Not affine in q, so the position is solved for with the velocity."""
    s = ss.System("curved")
    s.coordinates("q", velocities="u", initial=[0], velocity=[1], kinematics=lambda t, q, u: [u[0] / (1 + q[0] ** 2)])
    s.mass_matrix([[1.0]])
    solution = ss.solve(s, t_end=2.0, dt=1e-3)
    q = solution.q[:, 0]
    assert np.abs(q + q**3 / 3 - solution.t).max() < 1e-6


def test_redundant_contacts_carry_the_weight():
    """A table with four legs and friction on the floor: 12 percussions for 6 velocities. It neither sinks nor slides."""
    s = ss.System("table")
    (x, y, z, a, b), u = s.coordinates("x y z a b", initial=[0, 0, 1, 0, 0], velocity=[0, 0, 0, 0, 0])
    s.kinetic_energy(dot(u, u) / 2)
    s.potential_energy(10 * z - x)
    for i in (-1, 1):
        for j in (-1, 1):
            s.contact(gap=z - 1 + i * sin(a) + j * sin(b), slip=[u[0] + 0.1 * u[3], u[1] + 0.1 * u[4]], friction=0.5)
    solution = ss.solve(s, t_end=0.5, dt=1e-2)
    assert np.abs(solution.q - solution.q[0]).max() < 1e-8
    assert solution.P_N[1:].sum(axis=1) == pytest.approx(np.full(50, 10 * 1e-2), rel=1e-6)
    assert solution.P_F[1:, ::2].sum(axis=1) == pytest.approx(np.full(50, -1e-2), rel=1e-6)
    del y


def test_spring_damper_decays_as_it_should():
    s = ss.System("oscillator")
    ball = s.add(ss.PointMass("ball", mass=2.0, position=[2.0]))
    s.add(ss.SpringDamper("spring", ss.ground.point(0.0), ball.point(), stiffness=50.0, damping=0.8, rest_length=1.0))
    solution = ss.solve(s, t_end=3.0, dt=1e-3)
    delta, omega = 0.8 / 4, np.sqrt(25 - 0.2**2)
    exact = 1 + np.exp(-delta * solution.t) * (np.cos(omega * solution.t) + delta / omega * np.sin(omega * solution.t))
    assert np.abs(solution.q[:, 0] - exact).max() < 1e-4


def test_prismatic_joint_leaves_one_translation():
    s = ss.System("slider")
    slider = s.add(ss.PlanarBody("slider", mass=2.0, inertia=0.5, position=[1.0, 1.0], velocity=[1.0, 1.0]))
    s.add(ss.Gravity([0, -10.0]))
    s.add(ss.Prismatic("guide", ss.ground.point(0, 0), slider.point(0, 0), axis=[1, 1]))
    solution = ss.solve(s, t_end=1.0, dt=1e-3)
    along = solution.q[:, :2] @ np.array([1, 1]) / np.sqrt(2)
    exact = np.sqrt(2) + np.sqrt(2) * solution.t - 10 / np.sqrt(2) * solution.t**2 / 2
    assert np.abs(along - exact).max() < 1e-8
    assert np.abs(solution.q[:, 2]).max() < 1e-8


def test_line_on_a_moving_body_measures_relative_slip():
    """A point that rides on a translating plate with the same velocity does not slip."""
    s = ss.System("plate")
    plate = s.add(ss.PlanarBody("plate", mass=1.0, inertia=1.0, position=[0, 0], velocity=[2.0, 0]))
    point = s.add(ss.PointMass("point", mass=1.0, position=[0.3, 0.0], velocity=[2.0, 0]))
    s.add(ss.Contact("ride", point.point(), ss.Line([0, 0], [0, 1], body=plate), friction=0.5))
    solution = ss.solve(s, t_end=0.1, dt=1e-2)
    assert np.abs(solution.slip).max() < 1e-12
    assert np.abs(solution.gap).max() < 1e-12


def test_equations_and_parts_mix():
    """A point mass from parts, held by a constraint and pushed by a force from equations."""
    s = ss.System("mixed")
    ball = s.add(ss.PointMass("ball", mass=2.0, position=[0, 1.0]))
    (z,), (w,) = s.coordinates("z", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(w**2 / 2)
    s.constraint(ball.q[1] - z, name="lift")
    s.force([6.0])
    s.force([3.0], on=[ball.u[0]])
    solution = ss.solve(s, t_end=1.0, dt=1e-2)
    assert solution.q[-1] == pytest.approx([0.75, 2.0, 2.0], abs=1e-9)


def test_one_kernel_per_part_type():
    """Thirty balls have the kernels of one."""

    def pile(n):
        s = ss.System("balls")
        for k in range(n):
            ball = s.add(ss.PointMass(f"ball{k}", mass=1.0 + k, position=[k, 1.0 + k]))
            s.add(ss.Contact(f"floor{k}", ball.point(), ss.Line([0, 0], [0, 1]), friction=0.1 * k))
        s.add(ss.Gravity([0, -9.81]))
        return s

    kinds = [{part.type.key for part in derive(pile(n)).parts} for n in (1, 30)]
    assert len(kinds[0]) == len(kinds[1]) == 2


def test_parameters_change_without_compiling(monkeypatch):
    system = ss.benchmarks.slider_crank()
    slow = ss.solve(system, t_end=0.01, dt=1e-4)
    import stickslip.engine.builder as builder

    def fail(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(builder, "compile_kernel", fail)
    rough = ss.solve(system, t_end=0.01, dt=1e-4, parameters={"mu": 0.3})
    again = ss.solve(system, t_end=0.01, dt=1e-4)
    assert np.abs(rough.q - slow.q).max() > 1e-4
    assert np.array_equal(again.q, slow.q)
    assert rough.provenance["parameters"] == {"mu": 0.3}


def test_a_declaration_after_a_run_counts():
    s = ss.System("grows")
    (x,), (v,) = s.coordinates("x", initial=[0], velocity=[1])
    s.kinetic_energy(v**2 / 2)
    assert ss.solve(s, t_end=1, dt=0.1).q[-1, 0] == pytest.approx(1.0)
    s.potential_energy(-x)
    assert ss.solve(s, t_end=1, dt=0.1).q[-1, 0] == pytest.approx(1.5)


def test_derived_parameters_follow():
    s = ss.System("scaled")
    m = s.parameter("m", 2.0)
    double = s.parameter("double", 2 * m)
    (_,), (v,) = s.coordinates("x", initial=[0], velocity=[1])
    s.kinetic_energy(double * v**2 / 2)
    assert ss.solve(s, t_end=0.1, dt=0.1, parameters={"m": 5.0}).energy().kinetic[0] == pytest.approx(5.0)
    with pytest.raises(ss.ModelError, match="'double' follows from others"):
        ss.solve(s, t_end=0.1, dt=0.1, parameters={"double": 1.0})


def test_where_and_sqrt_compile():
    """A nonlinear spring with a kink, through the kernels."""
    from stickslip.math import where

    s = ss.System("kink")
    (x,), (v,) = s.coordinates("x", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(v**2 / 2)
    s.force([where(x > 0, -x, -4 * x) + 0 * sqrt(1 + x**2)])
    solution = ss.solve(s, t_end=np.pi, dt=np.pi / 1000)  # a quarter of the period 2 pi, then half of the period pi
    assert solution.q[-1, 0] == pytest.approx(0.0, abs=1e-2)
    assert solution.q[:, 0].min() == pytest.approx(-0.5, abs=1e-3)


def test_kernel_of_a_model_agrees_with_casadi():
    part = derive(ss.benchmarks.slider_crank()).parts[0].type
    t, q, u = ca.SX.sym("t"), ca.SX.sym("q", part.n_q), ca.SX.sym("u", part.n_u)
    f = ca.Function("f", [t, q, u, part.parameters], [part.g_dot(t, q, u), part.W(t, q).N])
    rng = np.random.default_rng(3)
    x = rng.normal(size=1 + 2 * part.n_q + part.parameters.numel())
    expected = f(x[0], x[1:10], x[10:19], x[19:])
    packed = np.concatenate([np.array(e.nonzeros()) for e in expected])
    assert np.array_equal(compile_kernel(f)(x), packed)


def test_kinematics_may_be_a_casadi_function_and_are_derived_once():
    """Blocks that have the same one, or none, share what was derived from it; others do not."""
    t, q, u = (ca.SX.sym(name) for name in "tqu")
    double, triple = (ca.Function("qdot", [t, q, u], [factor * u]) for factor in (2, 3))
    s = ss.System("ratios")
    for k, kinematics in enumerate((double, triple, double, lambda t, q, u: 2 * u, None, None)):
        x, v = s.coordinates(
            f"x{k}", velocities=f"v{k}", initial=[0.0], velocity=[1.0], kinematics=kinematics, block=f"b{k}"
        )
        s.mass_matrix([[1.0]], of=v)
    types = [id(node.type) for node in derive(s).nodes]
    assert types[0] == types[2] == types[3] != types[1]
    assert types[4] == types[5] not in types[:4]
    np.testing.assert_allclose(ss.solve(s, 1.0, 0.1).q[-1], [2, 3, 2, 2, 1, 1], atol=1e-12)
    with pytest.raises(ss.ModelError, match=r"function of \(t, q, u\) with \[1, 2, 2\] components"):
        s.coordinates("y z", velocities="v w", initial=[0, 0], velocity=[1, 1], kinematics=double)

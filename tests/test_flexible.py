"""Flexible parts: closed forms of bars and beams, identities of their elements, and the benchmarks made of them."""

from __future__ import annotations

from math import pi

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import eig, eigh
from scipy.optimize import brentq

import stickslip as ss
from stickslip.engine.derive import derive
from stickslip.errors import ModelError, OptionError

STEEL = {"density": 7800.0, "modulus": 2.1e11, "shear_modulus": 8.1e10}
BAR = {"area": 1e-4, "density": 7800.0, "modulus": 2.1e11}
SECTION = {"area": 1e-4, "moment": 8.33e-10, "shear_area": 8.33e-5}
SOFT = {"area": 1.0, "moment": 1e-2, "shear_area": 0.8, "density": 1.0, "modulus": 50.0, "shear_modulus": 20.0}
CANTILEVER = np.array([1.8751040687, 4.6940911330])  # roots of cos x cosh x = -1


class Numbers:
    """Functions of a whole system for numbers, assembled from those of its parts."""

    def __init__(self, system: ss.System):
        self.system, self.model = system, derive(system)
        self.p = np.array(list(system.parameter_values().values()))
        self.at = np.cumsum([0, *[b.q.numel() for b in system.blocks]])
        self.functions = {part.type.key: self._function(part.type) for part in self.model.parts}

    @staticmethod
    def _function(part):
        t, e = ca.SX.sym("t"), part.expressions
        h = part.h(t, e.q, e.u)
        values = [
            part.M(t, e.q),
            h,
            -ca.jacobian(h, e.q),
            -ca.jacobian(h, e.u),
            part.kinetic(t, e.q, e.u),
            part.potential(t, e.q),
        ]
        return ca.Function("numbers", [t, e.q, e.u, e.p], values)

    def __call__(self, q, u=None):
        """M, h, K = -dh/dq, C = -dh/du, kinetic and potential energy."""
        n = self.system.n_u
        u = np.zeros(n) if u is None else u
        M, h, K, C, T, V = np.zeros((n, n)), np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), 0.0, 0.0
        for part in self.model.parts:
            rows = np.concatenate([np.arange(self.at[b], self.at[b + 1]) for b in part.blocks])
            m, f, k, c, t, v = self.functions[part.type.key](0.0, q[rows], u[rows], self.p[list(part.parameters)])
            square = np.ix_(rows, rows)
            M[square] += m
            K[square] += k
            C[square] += c
            h[rows] += np.array(f).ravel()
            T, V = T + float(t), V + float(v)
        return M, h, K, C, T, V

    def static(self, q, iterations=40):
        """Newton's method for h = 0."""
        for _ in range(iterations):
            _, h, K, *_ = self(q)
            step = np.linalg.solve(K, h)
            q = q + step
            if np.abs(step).max() < 1e-13 * max(1.0, np.abs(q).max()):
                return q
        raise AssertionError(f"no equilibrium: step {np.abs(step).max()}")


def made(part, *others):
    system = ss.System()
    system.add(part)
    for other in others:
        system.add(other)
    return system


def frequencies(system):
    M, _, K, *_ = Numbers(system)(system.q_initial)
    return np.sqrt(np.maximum(eigh(K, M, eigvals_only=True), 0.0))


def orders(errors):
    return np.log2(np.abs(np.array(errors[:-1]) / np.array(errors[1:])))


# -- frequencies -------------------------------------------------------------------------------------------------------


def test_bar_frequencies_are_too_high_by_the_known_amount():
    c, errors = np.sqrt(BAR["modulus"] / BAR["density"]), []
    exact = c * pi / 2 * np.array([1, 3])
    for n in (8, 16):
        found = frequencies(made(ss.Bar("bar", length=1, elements=n, **BAR, supports={0: "fixed"})))[:2]
        errors.append(found / exact - 1)
        # consistent mass: (omega l/c)^2/24, next term (omega l/c)^4/640
        np.testing.assert_allclose(errors[-1], (exact / (c * n)) ** 2 / 24, rtol=0.02)
    assert orders(errors) == pytest.approx(2, abs=0.02)


def timoshenko(k, A, I, A_s):  # noqa: E741
    """Frequency of a hinged beam in the mode sin(k x): a omega^4 - b omega^2 + c = 0."""
    E, G, rho = STEEL["modulus"], STEEL["shear_modulus"], STEEL["density"]
    a, b, c = rho**2 * I * A / (G * A_s), rho * A + (rho * I + E * I * rho * A / (G * A_s)) * k**2, E * I * k**4
    return np.sqrt((b - np.sqrt(b**2 - 4 * a * c)) / (2 * a))


def test_planar_beam_frequencies_converge_with_order_two():
    A, I, A_s = 1e-2, 8e-6, 8e-3  # noqa: E741
    section = {"area": A, "moment": I, "shear_area": A_s}
    exact = np.array([timoshenko(k, A, I, A_s) for k in (pi, 2 * pi)])
    errors = []
    for n in (8, 16, 32):
        beam = ss.Beam("beam", length=1, elements=n, **section, **STEEL, supports={0: "pinned", -1: "y"})
        errors.append(frequencies(made(beam))[:2] / exact - 1)
    assert orders(errors) == pytest.approx(2, abs=0.1)
    # one-point integration (k l)^2/12 and consistent mass (k l)^2/24; less where shear takes part
    assert errors[-1] == pytest.approx((np.array([pi, 2 * pi]) / 32) ** 2 / 8, rel=0.1)


@pytest.mark.parametrize("shear", [False, True])
def test_spatial_beam_frequencies_converge_with_order_four_in_bending(shear):
    section = ss.circular(5e-4) | ({} if shear else {"shear_area": None})  # so slender that shear does not matter: 1e-6
    exact = CANTILEVER**2 * 5e-4 / 2 * np.sqrt(STEEL["modulus"] / STEEL["density"])
    errors = []
    for n in (1, 2, 4):
        beam = ss.SpatialBeam("beam", length=1, elements=n, **section, **STEEL, supports={0: "clamped"})
        errors.append(frequencies(made(beam))[0] / exact[0] - 1)
    assert orders(errors)[-1] == pytest.approx(4, abs=0.2)
    assert errors[-1] < 4e-5


def test_spatial_beam_twists_and_stretches_as_a_bar():
    n, section = 16, ss.rectangular(0.02, 0.01)
    held = dict.fromkeys(range(1, n + 1), "v w phi_y phi_z") | {0: "clamped"}
    found = frequencies(made(ss.SpatialBeam("beam", length=1, elements=n, **section, **STEEL, supports=held)))
    axial = pi / 2 * np.sqrt(STEEL["modulus"] / STEEL["density"])
    polar = sum(section["moments"])
    torsion = pi / 2 * np.sqrt(STEEL["shear_modulus"] * section["torsion"] / (STEEL["density"] * polar))
    too_high = 1 + (pi / 2 / n) ** 2 / 24
    for exact in (axial, torsion):
        assert np.abs(found / (exact * too_high) - 1).min() < 1e-5


def test_thick_spatial_beam_has_the_frequencies_of_timoshenko():
    section = ss.circular(0.05)
    exact = timoshenko(pi, section["area"], section["moments"][0], section["shear_area"])
    thin = pi**2 * 0.025 * np.sqrt(STEEL["modulus"] / STEEL["density"])
    stretch = STEEL["modulus"] / (0.9 * STEEL["shear_modulus"])
    share = (pi * 0.025) ** 2 / 2 * stretch  # of shear in the frequency: 0.9 %
    assert exact / thin == pytest.approx(1 - (pi * 0.025) ** 2 / 2 - share, abs=1e-3)
    for n in (16, 32):
        ends = {0: "u v w phi_x", -1: "v w"}
        beam = ss.SpatialBeam("beam", length=1, elements=n, **section, **STEEL, supports=ends)
        # Bending converges with order 4, the share of shear with order 2: (k l)^2/12 of it.
        assert frequencies(made(beam))[0] / exact - 1 == pytest.approx((pi / n) ** 2 / 12 * share, rel=0.05)


def whirls(system, spin):
    """Frequencies of the linearised motion about the undeformed, spinning shaft; gyroscopic forces included."""
    M, _, K, C, *_ = Numbers(system)(system.q_initial, system.u_initial)
    zero, one = np.zeros_like(M), np.eye(len(M))
    values = eig(np.block([[zero, one], [-K, -C]]), np.block([[one, zero], [zero, M]]), right=False)
    assert np.abs(values.real).max() < 1e-3 * np.abs(values.imag).max()
    return np.sort(values.imag[values.imag > 1e-3 * spin])


def test_shaft_that_turns_whirls_forward_and_backward():
    E, rho, r, spin, k = STEEL["modulus"], STEEL["density"], 0.05, 3000.0, pi
    A, I = pi * r**2, pi * r**4 / 4  # noqa: E741
    section = ss.circular(r) | {"shear_area": None}
    shaft = {"gyroscopic": True, "spin": spin, "supports": {0: "u v w", -1: "v w"}}
    found = whirls(made(ss.SpatialBeam("shaft", length=1, elements=8, **section, **STEEL, **shaft)), spin)
    # (A + I k^2) omega^2 -+ 2 I spin k^2 omega - E I k^4/rho = 0
    for sign in (-1, 1):
        roots = np.roots([A + I * k**2, sign * 2 * I * spin * k**2, -E * I * k**4 / rho])
        exact = roots[roots > 0][0]
        assert np.abs(found / exact - 1).min() < 1e-4
    without = np.sqrt(E * I * k**4 / rho / (A + I * k**2))
    assert np.abs(found / without - 1).min() > 1e-2


def test_free_disk_nutates():
    spin, polar, diametral = 100.0, 0.02, 0.015
    shaft = ss.SpatialBeam("shaft", length=0.01, elements=1, **ss.circular(1e-3), **STEEL, gyroscopic=True, spin=spin)
    system = made(shaft, ss.RotorDisk("disk", shaft.node(0), mass=1, polar=polar, diametral=diametral))
    assert np.abs(whirls(system, spin) / (spin * polar / diametral) - 1).min() < 1e-4  # the shaft weighs 2.5e-4 kg


# -- statics -----------------------------------------------------------------------------------------------------------


def test_cantilever_under_a_load_at_its_tip():
    P, E, G, I = 1e-3, STEEL["modulus"], STEEL["shear_modulus"], SECTION["moment"]  # noqa: E741
    shear = P / (G * SECTION["shear_area"])
    for n in (1, 3):
        beam = ss.Beam("beam", length=1, elements=n, **SECTION, **STEEL, supports={0: "clamped"})
        system = made(beam)
        system.force([P], on=[beam.nodes[-1].u[1]])
        deflection = Numbers(system).static(system.q_initial)[-2]
        # one-point integration: bending deflection too small by exactly 1/(4 n^2); slope 1e-6, so nonlinearity is 1e-12
        assert deflection == pytest.approx(P / (3 * E * I) * (1 - 1 / (4 * n**2)) + shear, rel=1e-9)
    for lengths in ([1.0], [0.3, 0.7]):  # with residual bending flexibility it is exact
        beam = ss.Beam("beam", length=lengths, **SECTION, **STEEL, supports={0: "clamped"}, residual_bending=True)
        system = made(beam)
        system.force([P], on=[beam.nodes[-1].u[1]])
        *_, deflection, slope = Numbers(system).static(system.q_initial)
        assert deflection == pytest.approx(P / (3 * E * I) + shear, rel=1e-9)
        assert slope == pytest.approx(P / (2 * E * I), rel=1e-9)
    for area in (None, SECTION["shear_area"]):
        section = {"area": 1e-4, "moments": (I, 2 * I), "torsion": I, "shear_area": area}
        beam = ss.SpatialBeam("beam", length=[0.3, 0.7], **section, **STEEL, supports={0: "clamped"})
        system = made(beam)
        system.force([P, P], on=beam.nodes[-1].u[1:3])
        q = Numbers(system).static(system.q_initial)
        v, w, _, slope_w, slope_v = q[-5:]
        extra = shear if area else 0.0
        assert w == pytest.approx(P / (3 * E * I) + extra, rel=1e-9)  # exact at the nodes
        assert v == pytest.approx(P / (6 * E * I) + extra, rel=1e-9)
        assert (-slope_w, slope_v) == pytest.approx((P / (2 * E * I), P / (4 * E * I)), rel=1e-9)


def test_weight_is_a_consistent_load():
    g, weight = 9.81, STEEL["density"] * SECTION["area"] * 9.81
    bar = ss.Bar("bar", length=2, elements=3, **BAR, origin=[0, 0], axis=[0, -1], supports={0: "fixed"})
    q = Numbers(s := made(bar, ss.Gravity([0, -g]))).static(s.q_initial)
    assert q[-1] - 2 == pytest.approx(
        weight * 2**2 / (2 * BAR["modulus"] * BAR["area"]), rel=1e-6
    )  # sums with 2 m: 1e-10
    I = SECTION["moment"]  # noqa: E741
    section = {"area": 1e-4, "moments": (I, I), "torsion": I}
    sag = weight / (8 * STEEL["modulus"] * I)
    for n in (1, 2):  # exact at the nodes, because moments of the load are included
        beam = ss.SpatialBeam("beam", length=1, elements=n, **section, **STEEL, supports={0: "clamped"})
        q = Numbers(s := made(beam, ss.Gravity([0, 0, -g]))).static(s.q_initial)
        assert q[-4] == pytest.approx(-sag, rel=1e-9)
    light = STEEL | {"density": 1e-3}  # deflection 7e-10 of the length: linear
    shear = 1e-3 * SECTION["area"] * g / (2 * light["shear_modulus"] * SECTION["shear_area"])
    for n in (1, 4):  # at the tip one-point integration and the lumping of the load cancel
        beam = ss.Beam("beam", length=1, elements=n, **SECTION, **light, supports={0: "clamped"})
        q = Numbers(s := made(beam, ss.Gravity([0, -g]))).static(s.q_initial)
        assert q[-2] == pytest.approx(-1e-3 / STEEL["density"] * sag - shear, rel=1e-9)


def test_moment_rolls_the_beam_into_a_circle():
    E, I, n = SOFT["modulus"], SOFT["moment"], 6  # noqa: E741
    beam = ss.Beam("beam", length=1, elements=n, **SOFT, supports={0: "clamped"})
    system = made(beam)
    moment = system.parameter("moment", 2 * pi * E * I)
    system.force([moment], on=[beam.nodes[-1].u[2]])
    numbers, q = Numbers(system), system.q_initial
    for share in np.linspace(0.1, 1, 10):
        numbers.p[list(system.parameters).index("moment")] = share * 2 * pi * E * I
        q = numbers.static(q)
    # Pure bending is exact: the nodes are the corners of a regular polygon, which closes.
    np.testing.assert_allclose(q[-3:], [0, 0, 2 * pi], atol=1e-9)


def test_large_deflection_follows_the_elastica():
    load = 5.0  # P L^2/(E I): the tip goes down by 0.71 L

    def shoot(curvature):
        return solve_ivp(
            lambda s, y: [y[1], load * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])],
            (0, 1),
            [0, curvature, 0, 0],
            rtol=1e-10,
            atol=1e-12,
        )

    curvature = brentq(lambda k: shoot(k).y[1, -1], -4.9, -0.1, xtol=1e-11)
    exact = shoot(curvature).y[2:, -1]
    assert exact == pytest.approx([1 - 0.38763, -0.71379], abs=1e-5)  # Mattiasson 1981
    rod = {"area": 1e5, "moment": 1.0, "shear_area": 1e5, "density": 1.0, "modulus": 1.0, "shear_modulus": 1.0}
    errors = []
    for n in (8, 16):
        beam = ss.Beam("beam", length=1, elements=n, **rod, supports={0: "clamped"})
        system = made(beam)
        system.force([-system.parameter("P", load)], on=[beam.nodes[-1].u[1]])
        numbers, q = Numbers(system), system.q_initial
        for share in np.linspace(0.1, 1, 10):
            numbers.p[-1] = share * load
            q = numbers.static(q)
        errors.append(np.linalg.norm(q[-3:-1] - exact))
    assert errors[-1] < 1.5e-3
    assert orders(errors) == pytest.approx(2, abs=0.1)


# -- identities of the elements ----------------------------------------------------------------------------------------


def element_systems():
    damped = {"mass_damping": 0.3, "stiffness_damping": 0.02}
    spatial = SOFT | {"moments": (0.01, 0.02), "torsion": 0.015}
    spatial.pop("moment")
    bernoulli = spatial | {"shear_area": None}
    round_ = spatial | {"moments": (0.01, 0.01), "gyroscopic": True}
    bar = {key: SOFT[key] for key in ("area", "density", "modulus")}
    yield "bar", made(ss.Bar("bar", length=1, elements=2, **bar, **damped))
    yield "held bar", made(ss.Bar("bar", length=1, elements=2, **bar, **damped, supports={0: "fixed"}))
    yield "beam", made(ss.Beam("beam", length=1, elements=2, **SOFT, **damped))
    yield "hinged beam", made(ss.Beam("beam", length=1, elements=2, **SOFT, **damped, supports={0: "pinned"}))
    yield "timoshenko", made(ss.SpatialBeam("beam", length=1, elements=1, **spatial, **damped))
    yield "bernoulli", made(ss.SpatialBeam("beam", length=1, elements=1, **bernoulli, **damped))
    yield "gyroscopic", made(ss.SpatialBeam("beam", length=1, elements=1, **round_, **damped))
    shaft = ss.SpatialBeam("beam", length=1, elements=1, **round_)
    yield "disk", made(shaft, ss.RotorDisk("disk", shaft.tip, mass=2, polar=0.3, diametral=0.2))


SYSTEMS = dict(element_systems())
NUMBERS = {name: Numbers(system) for name, system in SYSTEMS.items()}


@pytest.mark.parametrize("name", SYSTEMS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_derivatives_and_power_of_every_element(name, seed):
    f, rng = NUMBERS[name], np.random.default_rng(seed)
    system = SYSTEMS[name]
    q, u = system.q_initial + 0.3 * rng.standard_normal(system.n_q), rng.standard_normal(system.n_u)
    M, h, K, C, T, _ = f(q, u)
    eps = 1e-6  # central differences: truncation and rounding both below 1e-8 of values of order 10

    def difference(value, x):
        return np.stack([(value(x + eps * e) - value(x - eps * e)) / (2 * eps) for e in np.eye(len(x))], axis=-1)

    scale = np.abs(K).max() + np.abs(C).max()
    np.testing.assert_allclose(K, -difference(lambda x: f(x, u)[1], q), atol=1e-7 * scale)
    np.testing.assert_allclose(C, -difference(lambda x: f(q, x)[1], u), atol=1e-7 * scale)
    assert pytest.approx(u @ M @ u / 2, rel=1e-12) == T
    assert np.linalg.eigvalsh(M).min() > 0
    # M udot = h: the energy changes by u.h + u.dV/dq + u.Mdot.u/2, which is the power of the damping alone.
    V_dot = (f(q + eps * u)[5] - f(q - eps * u)[5]) / (2 * eps)
    M_dot = (f(q + eps * u)[0] - f(q - eps * u)[0]) / (2 * eps)
    power = u @ h + V_dot + u @ M_dot @ u / 2
    damped = "beam.mass_damping" in system.parameters or "bar.mass_damping" in system.parameters
    size = 1e-7 * (1 + abs(V_dot) + T)
    assert power < size if damped else abs(power) < size


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_exact_beam_is_objective(seed):
    f, rng = NUMBERS["beam"], np.random.default_rng(seed)
    system = SYSTEMS["beam"]
    angle, shift = rng.uniform(-10, 10), rng.uniform(-5, 5, 2)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s], [s, c]])

    def moved(q):
        nodes = q.reshape(-1, 3)
        return np.column_stack([nodes[:, :2] @ turn.T + shift, nodes[:, 2] + angle]).ravel()

    straight, bent = system.q_initial, system.q_initial + 0.3 * rng.standard_normal(9)
    assert f(moved(straight))[5] == pytest.approx(0, abs=1e-24 * 50 + 1e-25)
    assert f(moved(bent))[5] == pytest.approx(f(bent)[5], rel=1e-10)
    # Turning a bent beam as a rigid body strains nothing: without mass damping no damping force is left.
    omega = rng.uniform(-3, 3)
    nodes = bent.reshape(-1, 3)
    u = omega * np.column_stack([-nodes[:, 1], nodes[:, 0], np.ones(3)]).ravel()
    M, h, *_ = f(bent, u)
    np.testing.assert_allclose(h - f(bent)[1], -0.3 * M @ u, atol=1e-10)


def test_linear_beams_do_not_resist_rigid_motions():
    f, (a, b, c, d, e, g) = NUMBERS["timoshenko"], np.random.default_rng(1).standard_normal(6)
    # translations a, b, c; twist d; small tilts e about y and g about z: v = g x, w = -e x
    q = np.array([a, b, c, d, e, g, a, b + g, c - e, d, e, g])
    assert f(q)[5] == pytest.approx(0, abs=1e-28)
    u = q
    assert f(q, u)[4] == pytest.approx(
        ((a**2 + b**2 + c**2 + b * g - c * e + (g**2 + e**2) / 3) + 0.03 * d**2 + 0.01 * e**2 + 0.02 * g**2) / 2,
        rel=1e-12,
    )


def test_all_elements_share_one_compiled_type():
    beam = ss.Beam("beam", length=1, elements=20, **SECTION, **STEEL, supports={0: "clamped"})
    assert len({part.type.key for part in derive(made(beam)).parts}) == 2  # the first element has one node that moves
    spatial = ss.SpatialBeam("beam", length=np.linspace(0.1, 0.2, 9), **ss.circular(0.01), **STEEL)
    types = {part.type.key for part in derive(made(spatial, ss.Gravity([0, 0, -9.81]))).parts}
    assert len(types) == 1


# -- motion ------------------------------------------------------------------------------------------------------------


def test_rattle_keeps_the_energy_of_a_swinging_beam():
    changes = []
    for dt in (4e-3, 2e-3):
        beam = ss.Beam("beam", length=1, elements=4, **SOFT | {"moment": 0.05}, supports={0: "pinned"})
        system = made(beam, ss.Gravity([0, -1.0]))
        energy = ss.solve(system, t_end=10, dt=dt).energy().total
        changes.append(np.ptp(energy))
    assert changes[0] < 1e-4  # of an exchange of 0.5
    assert orders(changes) == pytest.approx(2, abs=0.2)


def test_rayleigh_damping_is_that_of_the_modes():
    alpha, beta, dt = 0.4, 0.003, 2e-3
    material = {"area": 1.0, "density": 1.0, "modulus": 1.0}
    damped = ss.Bar(
        "bar", length=1, elements=5, **material, supports={0: "fixed"}, mass_damping=alpha, stiffness_damping=beta
    )
    system = made(damped)
    M, _, K, C, *_ = Numbers(system)(system.q_initial)
    np.testing.assert_allclose(C, alpha * M + beta * K, atol=1e-12)
    squares, modes = eigh(K, M)
    omega, shape = np.sqrt(squares[1]), 1e-2 * modes[:, 1]
    solution = ss.solve(system, t_end=4, dt=dt, q0=system.q_initial + shape)
    zeta = (alpha / omega + beta * omega) / 2
    turn = omega * np.sqrt(1 - zeta**2)
    t = solution.t
    exact = np.exp(-zeta * omega * t) * (np.cos(turn * t) + zeta * omega / turn * np.sin(turn * t))
    amplitude = (solution.q - system.q_initial) @ M @ shape / (shape @ M @ shape)
    # Störmer-Verlet: the phase errs by (omega dt)^2/24 of omega t = 19
    np.testing.assert_allclose(amplitude, exact, atol=2 * 19 * (omega * dt) ** 2 / 24)
    assert exact[-1] ** 2 < 0.25


def test_beam_carries_joints_springs_and_contacts():
    beam = ss.Beam("beam", length=1, elements=4, **SOFT, position=[0, 0.2], mass_damping=1.0, stiffness_damping=0.02)
    system = made(beam, ss.Gravity([0, -1.0]))
    body = system.add(ss.PlanarBody("body", mass=0.5, inertia=0.01, position=[1.2, 0.2]))
    system.add(ss.Revolute("pin", beam.tip, body.point(-0.2, 0)))
    system.add(
        ss.SpringDamper("spring", beam.point(0.2), beam.point(0.3, 0.1), stiffness=5.0, damping=0.1, rest_length=0.1)
    )
    floor = ss.Line(point=[0, 0], normal=[0, 1])
    system.add(ss.Contact("heel", beam.start, floor, friction=0.5))
    system.add(ss.Contact("edge", beam.point(0.6, -0.1), floor, friction=0.5))
    system.add(ss.Contact("ball", body.point(), floor, friction=0.5))
    solution = ss.solve(system, t_end=4, dt=2e-3)
    assert solution.gap.min() > -1e-7
    assert np.abs(solution.g).max() < 1e-7
    assert solution.P_N[-1].min() > 0  # it rests on all three, and they carry the weight of 1.5
    assert solution.P_N[-1].sum() / 2e-3 == pytest.approx(1.5, rel=1e-3)


def test_joint_holds_the_angle_of_a_node():
    damping = {"mass_damping": 3.0, "stiffness_damping": 0.02}
    beam = ss.Beam("beam", length=1, elements=4, **SOFT, supports={0: "clamped"}, **damping)
    system = made(beam, ss.Prismatic("guide", ss.ground.point(1, 0), beam.tip, axis=[0, 1]))
    P = 1e-3
    system.force([P], on=[beam.nodes[-1].u[1]])
    solution = ss.solve(system, t_end=20, dt=1e-2)
    # Ends that do not turn: P L^3/(12 E I), less 1/n^2 for one-point integration, and shear.
    bending = P / (12 * SOFT["modulus"] * SOFT["moment"]) * (1 - 1 / 16)
    shear = P / (SOFT["shear_modulus"] * SOFT["shear_area"])
    assert solution.q[-1, -2] == pytest.approx(bending + shear, rel=1e-4)
    assert abs(solution.q[-1, -1]) < 1e-9


def test_beams_are_welded_to_rigid_bodies():
    beam = ss.Beam("beam", length=1, elements=4, **SOFT, supports={0: "pinned"})
    system = made(beam, ss.Gravity([0, -1.0]))
    body = system.add(ss.PlanarBody("body", mass=0.5, inertia=0.01, position=[1.2, 0]))
    system.add(ss.Fixed("weld", beam.tip, body.point(-0.2, 0)))
    solution = ss.solve(system, t_end=2, dt=2e-3)
    assert np.abs(solution.g).max() < 1e-7
    assert np.ptp(solution.energy().total) < 1e-3

    shaft = ss.SpatialBeam("shaft", length=0.5, elements=2, **ss.circular(0.01), **STEEL, supports={0: "clamped"})
    system = made(shaft, ss.Gravity([0, 0, -9.81]))
    body = system.add(ss.RigidBody("body", mass=1, inertia=[0.01, 0.01, 0.01], position=[0.6, 0, 0]))
    system.add(ss.Fixed("weld", shaft.tip, body.point(-0.1, 0, 0)))
    solution = ss.solve(system, t_end=1, dt=2e-5)
    EI = STEEL["modulus"] * ss.circular(0.01)["moments"][0]
    load = 9.81 * (0.5**3 / 3 + 0.1 * 0.5**2 / 2) + 7800 * ss.circular(0.01)["area"] * 9.81 * 0.5**4 / 8
    deflection = solution.q[:, solution.names.q.index("shaft.node2.w")]
    assert np.abs(solution.g).max() < 1e-7
    assert deflection.mean() == pytest.approx(-load / EI, rel=0.02)  # it vibrates about the static one, 10 periods


def test_points_are_where_they_belong():
    beam = ss.Beam("beam", length=[0.25, 0.75], **SECTION, **STEEL, position=[1, 2], angle=pi / 2, angular_velocity=3.0)
    system = made(beam)
    q, u = (ca.vertcat(*[getattr(b, x) for b in system.blocks]) for x in ("q", "u"))
    values = {"start": beam.start, "tip": beam.tip, "middle": beam.node(1), "edge": beam.point(0.5, 0.1)}
    expected = {"start": (1, 2), "tip": (1, 3), "middle": (1, 2.25), "edge": (0.9, 2.5)}
    for name, point in values.items():
        velocity = point.body.velocity(np.array(point.coordinates, dtype=float))
        place = point.position(system, name)
        symbols = list(system.parameter_symbols().values())
        f = ca.Function("f", [q, u, ca.vertcat(*symbols)], [ca.vertcat(*place), ca.vertcat(*velocity)])
        r, v = f(system.q_initial, system.u_initial, list(system.parameter_values().values()))
        np.testing.assert_allclose(np.array(r).ravel(), expected[name], atol=1e-12)
        arm = np.array(expected[name]) - (1, 2)
        if name != "edge":
            np.testing.assert_allclose(np.array(v).ravel(), [-3 * arm[1], 3 * arm[0]], atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_section_of_a_spatial_beam_moves_as_a_rigid_body(seed):
    rng = np.random.default_rng(seed)
    beam = ss.SpatialBeam(
        "beam", length=1, elements=1, **ss.circular(0.1), **STEEL, position=[1, 2, 3], axis=rng.standard_normal(3)
    )
    system = made(beam)
    node, local = beam.nodes[1], rng.standard_normal(3)
    q, u = (ca.vertcat(*[getattr(b, x) for b in system.blocks]) for x in ("q", "u"))
    p = ca.vertcat(*system.parameter_symbols().values())
    place = ca.vertcat(*node.position(local))
    values = [
        place,
        ca.jacobian(place, q) @ u,
        ca.vertcat(*node.velocity(local)),
        ca.vertcat(*node.local(node.position(local))),
    ]
    numbers = rng.uniform(-1, 1, 12), rng.standard_normal(12), list(system.parameter_values().values())
    _, rate, velocity, back = ca.Function("f", [q, u, p], values)(*numbers)
    np.testing.assert_allclose(rate, velocity, atol=1e-12)
    np.testing.assert_allclose(np.array(back).ravel(), local, atol=1e-12)


# -- benchmarks --------------------------------------------------------------------------------------------------------


def test_bar_hits_the_wall_as_theory_says():
    c, v, mass = np.sqrt(2.1e11 / 7800), 0.1, 7800 * pi * 1e-4
    losses = []
    for n in (10, 20, 40):
        dt = 2e-5 / n  # a third of the limit of stability
        solution = ss.solve(ss.benchmarks.elastic_bar(N=n), t_end=6e-4, dt=dt)
        closed = np.flatnonzero(solution.P_N[:, 0] > 0)
        duration = solution.t[closed[-1]] - solution.t[closed[0]]
        assert solution.t[closed[0]] == pytest.approx(1e-4, abs=2 * dt)
        assert duration == pytest.approx(2 / c, abs=1 / (n * c))  # to the time of one element
        force = solution.P_N[closed].sum() / duration
        assert force == pytest.approx(2.1e11 * pi * 1e-4 * v / c, rel=0.1 / n)
        # The wave passes the free end at L/c: there the velocity goes from -v to v, through zero.
        far = solution.u[:, -1]
        assert solution.t[np.argmax(far > 0)] == pytest.approx(1e-4 + 1 / c, abs=1 / (n * c))
        # What stops is the share sqrt(3)/6 of an element's mass, and that energy alone is lost, up to (omega dt)^2/12.
        energy = solution.energy().total
        losses.append(energy[0] - np.mean(energy[-20:]))
        assert losses[-1] == pytest.approx(np.sqrt(3) / 12 * mass / n * v**2, rel=0.02)
    assert orders(losses) == pytest.approx(1, abs=0.05)


def test_damping_calms_the_bar():
    roughness = []
    for delta in (0.0, 1e-7):
        solution = ss.solve(ss.benchmarks.elastic_bar(N=30, delta=delta), t_end=4e-4, dt=5e-7)
        force = solution.P_N[(solution.t > 1.5e-4) & (solution.t < 3.5e-4), 0] / 5e-7
        roughness.append(np.std(force) / np.mean(force))
    assert roughness[1] < roughness[0] / 3
    assert roughness[1] < 0.02


def test_soft_bar_bounces_off():
    solution = ss.solve(ss.benchmarks.elastic_bar_drop(elements=40), t_end=2.0, dt=2e-3)
    closed = solution.t[solution.P_N[:, 0] > 0]
    assert (closed[0], closed[-1]) == pytest.approx((0.5, 0.5 + 2 / 3), abs=0.01)
    energy = solution.energy().total
    assert energy[-1] / energy[0] == pytest.approx(1 - np.sqrt(3) / 6 / 40, abs=2e-3)
    assert solution.u[-1].mean() > 9.5  # the rest vibrates


def test_flexible_pendulum_reaches_the_wall_in_time():
    solution = ss.solve(ss.benchmarks.flexible_pendulum(), t_end=0.328, dt=1.9e-6)
    first = int(np.argmax(solution.P_N[:, 0] > 0))
    energy = solution.energy().total
    # A rigid rod falls to 45 degrees in 0.32702 s; the beam sags by less than 0.1 mm of its 0.7 m.
    assert solution.t[first] == pytest.approx(0.32702, abs=1e-4)
    assert np.abs(energy[:first]).max() < 1e-8  # of an exchange of 2.8 J
    assert energy[-1] < -0.1
    assert solution.gap.min() > -1e-8


def test_rotor_whirls_forward():
    solution = ss.solve(ss.benchmarks.rotor(), t_end=0.06, dt=5e-6)
    name = solution.names.q.index
    journal = solution.q[:, name("axle.node0.v")] + 1j * solution.q[:, name("axle.node0.w")]
    bearing = solution.q[:, name("bearing.y")] + 1j * solution.q[:, name("bearing.z")]
    tilt = solution.q[:, name("axle.node0.phi_z")] - 1j * solution.q[:, name("axle.node0.phi_y")]
    offset = journal + 9.5e-3 * tilt - bearing
    assert solution.gap.min() > -1e-8
    assert np.abs(offset).max() < 1e-4 + 1e-8  # the clearance
    late = solution.t > 0.03
    assert np.unwrap(np.angle(offset[late]))[-1] - np.unwrap(np.angle(offset[late]))[0] > 2 * pi  # with the spin
    spin = solution.u[:, name("axle.node0.phi_x")]
    inertia = 0.01 + 7850 * pi * 12.5e-3**4 / 2 * 0.59
    at = int(np.argmax(solution.t >= 0.05))
    assert spin[at] == pytest.approx(100 * 0.05 / inertia, rel=0.05)  # less friction and damping
    assert spin[at] < 100 * 0.05 / inertia


def test_rotor_wants_a_node_under_its_wheel():
    with pytest.raises(OptionError, match=r"put a node under the fly-wheel at 0\.18"):
        ss.benchmarks.rotor(lengths=[0.3, 0.29])


# -- bad input ---------------------------------------------------------------------------------------------------------


def a_bar(**changes):
    return ss.Bar("bar", **{"length": 1, "elements": 2, **BAR, **changes})


def a_beam(**changes):
    return ss.Beam("beam", **{"length": 1, "elements": 2, **SECTION, **STEEL, **changes})


def a_shaft(**changes):
    return ss.SpatialBeam("shaft", **{"length": 1, "elements": 2, **ss.circular(0.01), **STEEL, **changes})


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: a_bar(elements=0), "elements = 0 must be a whole number >= 1"),
        (lambda: a_bar(elements=2.5), "elements = 2.5 must be a whole number"),
        (lambda: a_bar(length=-1), "length = -1 must be a finite number > 0"),
        (lambda: a_bar(length=[0.5, 0.0], elements=None), r"length\[1\] = 0.0 must be"),
        (lambda: a_bar(length=[0.5, 0.5], elements=3), "one per element"),
        (lambda: a_bar(area=0), "bar 'bar': area = 0 must be a finite number > 0"),
        (lambda: a_bar(stiffness_damping=-1), "stiffness_damping = -1 must be a finite number >= 0"),
        (lambda: a_bar(origin=[0, 0], axis=[0, 0]), "has length zero"),
        (lambda: a_bar(origin=[0, 0], axis=[1, 0, 0]), "needs 2 components"),
        (lambda: a_bar(supports={5: "fixed"}), "there is no node 5, only 0 to 2"),
        (lambda: a_bar(supports={0: "y"}), "a support holds 'y', but there are only x"),
        (lambda: a_bar(supports={0: "fixed"}, velocity=1.0), "whose initial velocity is 1"),
        (lambda: made(a_bar(supports={0: "fixed", 1: "fixed"})), "its supports hold both nodes"),
        (lambda: a_beam(moment=float("nan")), "moment = nan must be"),
        (lambda: a_beam().point(2.0), "no point at x = 2; its length is 1"),
        (lambda: a_beam().point(0.5, 0.1, 0.1), "offset needs 1 components, got 2"),
        (lambda: a_beam().node(7), "there is no node 7"),
        (lambda: a_shaft(moments=(1e-8, 2e-8), gyroscopic=True), "need a round section"),
        (lambda: a_shaft(axis=[0, 0, 0]), "the axis .* has length zero"),
        (lambda: a_shaft(y_axis=[2, 0, 0]), "is parallel to the axis"),
        (lambda: ss.RotorDisk("d", a_beam().tip, mass=1, polar=1, diametral=1), "sits on a node of a spatial beam"),
        (lambda: ss.RotorDisk("d", a_shaft().tip, mass=1, polar=3, diametral=1), "no body has polar"),
        (lambda: a_beam().elements[0].local([0, 0]), "use one of its nodes"),
        (lambda: ss.Beam("beam", length=1, elements=1, **SECTION, **STEEL).tip.body.q, "belongs to no system yet"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ModelError, match=message):
        make()

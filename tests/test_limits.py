"""What leaves its range while a run goes on ends the run, in every scheme, with the time, the thing and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.limits import limits_of
from stickslip.math import cos, exp, maximum, sqrt
from stickslip.solve.prepared import prepare

METHODS = sorted(ss.METHODS)
WITH_FRICTION = [m for m in METHODS if ss.METHODS[m]().facts.friction]


def solve(system: ss.System, t_end: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=5e-3, progress=False, **options)


def block(height: float = 0.0, **law) -> ss.System:
    """A unit mass that slides at 2, or falls from a height; laws may be functions of (t, x, u)."""
    s = ss.System("block")
    (x, y), u = s.coordinates("x y", initial=[0, height], velocity=[2, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(9.81 * y)
    slip = {"slip": u[0]} if "friction" in law else {}
    s.contact(gap=y, **slip, **{key: value(s.time, x, u) for key, value in law.items()}, name="floor")
    return s


@pytest.mark.parametrize("save_every", [1000])
@pytest.mark.parametrize("method", METHODS)
def test_a_mass_that_passes_zero_is_noticed(method, save_every):
    """1 - x; (1 - x) u' = 0.3 from u = 1 comes to x = 1 at t = 0.83, whatever is recorded."""
    s = ss.System("leaking")
    (x,), _ = s.coordinates("x", initial=[0], velocity=[1])
    s.mass_matrix([[1 - x]])
    s.force([0.3])
    with pytest.raises(
        ss.ConvergenceError, match="a mass has passed zero by t = 0.8.*in the direction of 'x_dot'"
    ) as e:
        ss.solve(s, t_end=2.0, dt=2e-2, method=method, save_every=save_every, progress=False)
    assert 0.79 < e.value.solution.t[-1] < 0.84
    assert (e.value.solution.q[:, 0] < 1).all()


def test_a_mass_matrix_that_becomes_indefinite():
    """Its diagonal stays positive: [[1, x], [x, 1]] with x = t; two parts add up to it."""
    s = ss.System("coupled")
    (x, y), u = s.coordinates("x y", initial=[0, 0], velocity=[1, 0])
    s.mass_matrix([[0.5, x], [x, 0.5]])
    s.mass_matrix([[0.5, 0], [0, 0.5]])
    with pytest.raises(ss.ConvergenceError, match=r"by t = 1\.0[0-9]*: the mass matrix has the eigenvalue -0"):
        solve(s, 2.0, on_failure="subdivide")
    with pytest.raises(ss.ConvergenceError, match="a mass has passed zero"), ss.stepper(s, 5e-3) as sim:
        sim.step(400)
    many = ss.ensemble(s, t_end=0.9, dt=5e-3, u0=[[1.0, 0.0], [1.2, 0.0]])
    assert many.failed.tolist() == [False, True]


def test_a_mass_that_touches_zero_is_allowed():
    """A pendulum in spherical angles through its pole: sin^2 vanishes there, and is nowhere negative."""
    s = ss.System("pole")
    (theta,), (w,) = s.coordinates("theta", initial=[0.5], velocity=[0])
    s.kinetic_energy(w**2 / 2)
    s.potential_energy(-9.81 * cos(theta))
    (phi,), (v,) = s.coordinates("phi", initial=[0], velocity=[0])
    s.kinetic_energy((1 - cos(2 * theta)) / 4 * v**2)
    assert abs(solve(s, 1.0).q[-1, 0]) < 0.51


@pytest.mark.parametrize("method", WITH_FRICTION)
@pytest.mark.parametrize(
    "law", [lambda t, x, u: 0.3 - 0.5 * x, lambda t, x, u: 0.3 * cos(20 * t)], ids=["of x", "of t"]
)
def test_friction_that_becomes_negative(method, law):
    """It pushed in some schemes, and was none in others."""
    with pytest.raises(ss.ConvergenceError, match=r"'floor': friction = -0\.0.* out of range.*maximum\(x, 0\)"):
        solve(block(friction=law), 0.5, method=method)
    tamed = solve(block(friction=lambda *state: maximum(law(*state), 0)), 0.5, method=method)
    assert np.diff(tamed.u[:, 0]).max() < 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("slope", [-10, 10])
def test_restitution_that_leaves_its_range(method, slope):
    """A negative one let theta and moreau fall through the floor."""
    if method == "schatzman-paoli":
        pytest.skip("its restitution is a number")
    s = block(0.3, restitution=lambda t, x, u: 0.5 + slope * t)
    with pytest.raises(ss.ConvergenceError, match="'floor': restitution = .* must lie between 0 and 1"):
        solve(s, 0.4, method=method)


@pytest.mark.parametrize("method", WITH_FRICTION)
def test_friction_that_is_not_a_number(method):
    with pytest.raises(ss.ConvergenceError, match="'floor': friction = nan is out of range"):
        solve(block(friction=lambda t, x, u: sqrt(0.1 - x)), 0.2, method=method)


def test_only_contacts_that_act_count():
    """In flight nobody asks for the coefficients."""
    s = block(1.0, friction=lambda t, x, u: 0.3 - x, restitution=lambda t, x, u: 0.5 + 0.2 * u[1])
    assert len(solve(s, 0.4)) == 81


def test_laws_that_cannot_leave_their_range_cost_nothing():
    """Their bounds prove it; the others are looked at."""
    for law, looked_at in ((ss.Stribeck(0.5, 0.2, speed=0.1), 0), (lambda v: exp(-v) * (1 - 1e-4 * v), 1)):
        s = ss.System("belt")
        (x, y), u = s.coordinates("x y", initial=[0, 0], velocity=[2, 0])
        s.kinetic_energy(u @ u / 2)
        s.potential_energy(9.81 * y)
        s.contact(gap=y, slip=u[0], friction=law, name="floor")
        limits = limits_of(prepare(s).numbering)
        solve(s, 0.1)
        assert limits is not None
        values = np.array(list(s.parameter_values().values()))
        assert len(limits.open(values)) == looked_at
    assert limits_of(prepare(ss.benchmarks.bouncing_ball()).numbering) is None

"""Data as expressions: values, derivatives and speed of table look-ups, and symbols that refuse to be numbers."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import stickslip as ss
from stickslip.errors import ModelError, OptionError
from stickslip.native.kernel import compile_kernel

RNG = np.random.default_rng(7)
X = np.sort(RNG.uniform(0, 10, 200))
Y = np.sin(X) + 0.1 * RNG.standard_normal(200)
PLACES = np.concatenate([RNG.uniform(-2, 12, 200), X[::20], [X[0], X[-1], np.nan]])


def outputs(f: ss.Interpolation) -> tuple[ca.Function, np.ndarray]:
    """f, f', f'' and the gradient, in CasADi and from the kernel."""
    x = ca.SX.sym("x")
    y = f(x)
    first = ca.jacobian(y, x)
    function = ca.Function("f", [x], [y, first, ca.jacobian(first, x), ca.gradient(y, x)])
    kernel = compile_kernel(function)
    return function, np.array([kernel(np.array([p])) for p in PLACES])


@pytest.mark.parametrize("outside", ["hold", "extend"])
@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_values_and_derivatives_are_those_of_scipy(kind, outside):
    f = ss.interpolate(X, Y, kind, outside=outside)
    _, seen = outputs(f)
    spline = CubicSpline(X, Y)
    before, behind = np.less(PLACES, X[0]), np.greater_equal(PLACES, X[-1])
    inside = ~(before | behind | np.isnan(PLACES))
    p = PLACES[inside]
    if kind == "linear":
        slope = (np.diff(Y) / np.diff(X))[np.searchsorted(X, p, side="right") - 1]
        expected = np.column_stack([np.interp(p, X, Y), slope, np.zeros_like(p), slope])
    else:
        expected = np.column_stack([spline(p), spline(p, 1), spline(p, 2), spline(p, 1)])
    scale = np.abs(expected).max(axis=0) + 1e-300
    np.testing.assert_allclose(seen[inside] / scale, expected / scale, atol=1e-9)
    if outside == "hold":
        np.testing.assert_array_equal(seen[before], np.tile([Y[0], 0, 0, 0], (before.sum(), 1)))
        np.testing.assert_array_equal(seen[behind], np.tile([Y[-1], 0, 0, 0], (behind.sum(), 1)))
    elif kind == "cubic":
        np.testing.assert_allclose(seen[before, 0], spline(PLACES[before]), rtol=1e-9)
    assert np.isnan(seen[-1, 0])


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_numbers_arrays_casadi_and_kernels_agree_bit_for_bit(kind):
    f = ss.interpolate(X, Y, kind)
    function, seen = outputs(f)
    np.testing.assert_array_equal(f(PLACES), seen[:, 0])
    np.testing.assert_array_equal([f(float(p)) for p in PLACES], seen[:, 0])
    np.testing.assert_array_equal([[float(v) for v in function(p)] for p in PLACES], seen)


def test_periodic_data_repeats():
    t = np.linspace(0, 2 * np.pi, 60)
    f = ss.interpolate(t, np.sin(t), "cubic", outside="periodic")
    x = np.linspace(-20, 20, 301)
    np.testing.assert_allclose(f(x), np.sin(x), atol=2e-6)
    s = ca.SX.sym("s")
    slope = ca.Function("slope", [s], [ca.jacobian(f(s), s)])
    np.testing.assert_allclose([float(slope(p)) for p in x], np.cos(x), atol=2e-4)


def test_derivatives_hold_inside_larger_expressions():
    """Jacobian and Hessian, both modes of differentiation, two tables at once, against finite differences."""
    f, g = ss.interpolate(X, Y, "cubic"), ss.interpolate(X, Y**2, "cubic")
    v = ca.SX.sym("v", 3)
    value = ca.vertcat(f(v[0] * v[1]) * v[2], ca.sin(g(v[0])) * f(v[1]), v[2] ** 2 * g(f(v[1]) + 3))
    hessian = ca.densify(ca.hessian(ca.sum1(value), v)[0])
    jacobian = ca.densify(ca.jacobian(value, v))
    function = ca.Function("f", [v], [value, jacobian, ca.gradient(ca.sum1(value), v), hessian])
    kernel = compile_kernel(function)
    p = np.array([2.3, 1.9, 0.4])
    seen = np.split(kernel(p), [3, 12, 15])
    h = 1e-6
    steps = h * np.eye(3)
    differences = np.column_stack([(kernel(p + e)[:3] - kernel(p - e)[:3]) / (2 * h) for e in steps])
    np.testing.assert_allclose(seen[1].reshape(3, 3).T, differences, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(seen[2], differences.sum(axis=0), rtol=1e-5, atol=1e-6)
    second = np.column_stack([(kernel(p + e)[12:15] - kernel(p - e)[12:15]) / (2 * h) for e in steps])
    np.testing.assert_allclose(seen[3].reshape(3, 3), second, rtol=1e-4, atol=1e-5)


def test_a_model_with_data_survives_serialization():
    """What a part type is known by, and what another process gets."""
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [ss.interpolate(X, Y)(x)])
    again = ca.Function.deserialize(function.serialize())
    np.testing.assert_array_equal(compile_kernel(again)(np.array([3.3])), compile_kernel(function)(np.array([3.3])))


@pytest.mark.parametrize("method", ["rattle", "moreau", "theta", "generalized-alpha", "lobatto", "half-explicit"])
def test_a_cam_from_a_table_moves_its_follower(method):
    """A follower is driven by a measured profile (a constraint), and its force is what the profile's second
    derivative asks for."""
    t = np.linspace(0, 1, 101)
    profile = ss.interpolate(t, 0.1 * (1 - np.cos(2 * np.pi * t)), "cubic")
    s = ss.System("cam")
    follower = s.add(ss.PointMass("follower", mass=2.0, position=[0.0], velocity=[0.0]))
    s.add(ss.Motion("cam", ss.Displacement(ss.ground.point(0), follower.point(), [1.0]), profile))
    s.assemble()  # the spline starts with a small slope
    solution = ss.solve(s, t_end=0.5, dt=1e-3, method=method, progress=False)
    np.testing.assert_allclose(solution["follower.x"][-1], 0.2, atol=2e-4)
    middle = np.abs(solution.t - 0.25).argmin()
    assert abs(solution["cam.force"][middle]) < 0.5  # the profile's inflection
    end = 2.0 * 0.1 * (2 * np.pi) ** 2 * np.cos(2 * np.pi * 0.4)
    assert abs(abs(solution["cam.force"][400]) - abs(end)) < 0.05 * abs(end)


def test_a_force_from_a_table_gives_its_impulse():
    t = np.array([0.0, 0.1, 0.3, 0.4])
    push = ss.interpolate(t, [0.0, 10.0, 10.0, 0.0])
    s = ss.System()
    cart = s.add(ss.PointMass("cart", mass=2.0, position=[0.0]))
    s.add(ss.Force("push", cart.point(), lambda time: [push(time)]))
    solution = ss.solve(s, t_end=0.5, dt=1e-3, progress=False)
    assert solution["cart.x_dot"][-1] == pytest.approx(3.0 / 2.0, rel=1e-6)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([0, 1], [0, 1], "quadratic"), "kind = 'quadratic' must be one of 'linear', 'cubic'"),
        (([0, 1], [0, 1, 2]), "two lists of equal length"),
        (([0], [0]), "at least 2"),
        (([0, 1], [0, 1], "cubic"), "at least 3"),
        (([0, 1, 1], [0, 1, 2]), "must increase; time 2 is 1, the next 1"),
        (([0, np.nan], [0, 1]), "finite"),
        (("ab", [0, 1]), "needs numbers"),
    ],
)
def test_data_that_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(OptionError, match=message):
        ss.interpolate(*arguments)


def test_rules_outside_are_checked():
    with pytest.raises(OptionError, match="outside = 'wrap'"):
        ss.interpolate([0, 1], [0, 1], outside="wrap")
    with pytest.raises(OptionError, match="begins with"):
        ss.interpolate([0, 1], [0, 1], outside="periodic")
    with pytest.raises(ModelError, match="numbers or a scalar expression"):
        ss.interpolate([0, 1], [0, 1])("x")


def test_symbols_refuse_to_be_numbers():
    (x, y), _ = ss.System().coordinates("x y", initial=[0, 0], velocity=[0, 0])
    for use, hint in (
        (lambda: 1 if x > 0 else 2, "stickslip.math.where"),
        (lambda: max(x, 0), "maximum"),
        (lambda: 0 < x < 1, "where"),
        (lambda: math.sin(x), "stickslip.math.sin"),
        (lambda: float(x + y), "solution.evaluate"),
        (lambda: int(x), "floor"),
    ):
        with pytest.raises(ModelError, match=hint):
            use()
    assert float(ca.SX(2.0)) == 2.0
    assert bool(ca.SX(1.0))
    with pytest.raises(ValueError, match="sequence"):  # it was nan
        np.array([x, 1.0], dtype=float)
    f = ca.Function("f", [x], [ss.math.where(x > 0, 1.0, 2.0)])
    assert (float(f(1)), float(f(-1))) == (1.0, 2.0)

"""Data as functions: a table of numbers becomes an expression that compiles to a look-up.

A piecewise polynomial with knots x_1 < ... < x_n is, in the interval i that holds x,

    f(x) = c_1[i] + d (c_2[i] + d (c_3[i] + d c_4[i])),    d = x - c_0[i],    c_0[i] the left end of the interval

where i = 0 lies before the first knot and i = n behind the last. Looking up c_k[i] is an operation of its own whose
derivative is zero; so the derivatives of f of every order follow from the formula. The operation is a CasADi Function that
is called, not inlined: CasADi evaluates it like any other, and the kernels (`native.kernel`) translate it into
a search among the knots, which costs log2(n) comparisons.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError, OptionError

ROWS = 5  # left end and four coefficients of an interval
STRIDE = 8  # the argument of a look-up is number * STRIDE + row
PREFIX = "stickslip_table_"
KINDS, OUTSIDE = ("linear", "cubic"), ("hold", "extend", "periodic")


class Interpolation:
    """A function through data points, for numbers, arrays and symbols alike; `interpolate` makes it.

    >>> f = interpolate([0, 1, 3], [0, 2, 2], kind="linear")
    >>> f
    <Interpolation: linear, 3 points from 0 to 3, outside: hold>
    >>> float(f(0.5))
    1.0
    """

    def __init__(self, knots: np.ndarray, coefficients: np.ndarray, kind: str, outside: str):
        self.knots, self.coefficients, self.kind, self.outside = knots, coefficients, kind, outside

    def __repr__(self) -> str:
        first, last = self.knots[[0, -1]]
        return f"<Interpolation: {self.kind}, {len(self.knots)} points from {first:g} to {last:g}, outside: {self.outside}>"

    def __call__(self, x: Any) -> Any:
        """The value at x: a number, an array of numbers, or a scalar expression."""
        if not isinstance(x, ca.SX):
            return self._numbers(x)
        if not x.is_scalar():
            raise ModelError(f"an interpolation takes one scalar expression at a time, got shape {x.shape}")
        if x.is_constant():
            return ca.SX(self._numbers(float(x)))
        x = self._wrapped(x)
        first, *rest = (self._lookup(self._number * STRIDE + row, x) for row in range(self._order + 2))
        d, value = x - first, rest[-1]
        for c in reversed(rest[:-1]):
            value = c + d * value
        return value

    @property
    def _order(self) -> int:
        return 1 if self.kind == "linear" else 3

    def _wrapped(self, x: Any) -> Any:
        if self.outside != "periodic":
            return x
        start, period = self.knots[0], self.knots[-1] - self.knots[0]
        return x - period * (ca.floor if isinstance(x, ca.SX) else np.floor)((x - start) / period)

    def _numbers(self, given: Any) -> Any:
        try:
            x = self._wrapped(np.asarray(given, dtype=float))
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"an interpolation takes numbers or a scalar expression, got {given!r}") from None
        c = self.coefficients[:, np.searchsorted(self.knots, x, side="right")]
        d, value = x - c[0], c[self._order + 1]
        for k in range(self._order, 0, -1):
            value = c[k] + d * value
        return float(value) if value.ndim == 0 else value

    @cached_property
    def _number(self) -> int:
        """A number that stands for the content; small enough that number * STRIDE + row is exact as a double."""
        digest = hashlib.sha256(self.coefficients.tobytes()).digest()
        return int.from_bytes(digest[:6], "big") >> 1

    @cached_property
    def _lookup(self) -> ca.Function:
        """(number * STRIDE + row, x) -> the entry of that row in the interval of x."""
        which, x = ca.MX.sym("which"), ca.MX.sym("x")
        interval = ca.sum1(ca.DM(self.knots) <= x)
        entry = ca.MX(ca.DM(self.coefficients))[which - self._number * STRIDE, interval]
        lookup = ca.Function(f"{PREFIX}{self._number}", [which, x], [entry], {"never_inline": True})
        # CasADi 3.8 reads a wrong slot where the derivative of a called Function has no entry at all; ours has one, a zero.
        if lookup.forward(1).nnz_out() != 1 or lookup.forward(1).forward(1).nnz_out() != 1:
            raise ModelError(f"this version of CasADi ({ca.__version__}) cannot differentiate look-ups; use another")
        return lookup


def interpolate(t: Any, values: Any, kind: str = "linear", *, outside: str = "hold") -> Interpolation:
    """A function through the points (t, values), for measured inputs: profiles of cams, forces, roads.

    kind: "linear", or "cubic", a cubic spline (not-a-knot at its ends; with outside="periodic" a periodic one).
    outside: before the first and behind the last point the value at the end is held ("hold"), the first and
    the last polynomial go on ("extend"), or the data repeats ("periodic", where the last value must be the first).

    The result is called with a number, an array or an expression. Expressions compile to a table look-up, and
    derivatives of every order are those of the piecewise polynomial; at a point, those of the piece behind it.

    >>> import stickslip as ss
    >>> profile = ss.interpolate([0, 1, 3], [0, 2, 0])
    >>> profile(0.5), profile(2.0), profile(9.0)
    (1.0, 1.0, 0.0)
    >>> s = ss.System()
    >>> cart = s.add(ss.PointMass("cart", mass=1, position=[0]))
    >>> push = s.add(ss.Force("push", cart.point(), lambda t: [profile(t)]))
    """
    if kind not in KINDS:
        raise OptionError(f"kind = {kind!r} must be one of {', '.join(map(repr, KINDS))}")
    if outside not in OUTSIDE:
        raise OptionError(f"outside = {outside!r} must be one of {', '.join(map(repr, OUTSIDE))}")
    x, y = _points(t, values, at_least=2 if kind == "linear" else 3)
    if outside == "periodic" and not np.isclose(y[0], y[-1], rtol=1e-9, atol=1e-12 * np.abs(y).max()):
        raise OptionError(f"periodic data ends with the value that it begins with, not with {y[-1]:g} after {y[0]:g}")
    pieces = np.zeros((ROWS, len(x) + 1))
    pieces[0, 1:], pieces[0, 0] = x, x[0]
    if kind == "linear":
        pieces[1:3, 1:-1] = y[:-1], np.diff(y) / np.diff(x)
    else:
        from scipy.interpolate import CubicSpline  # here, because SciPy takes long to import

        if outside == "periodic":
            y = np.append(y[:-1], y[0])
        pieces[1:, 1:-1] = CubicSpline(x, y, bc_type="periodic" if outside == "periodic" else "not-a-knot").c[::-1]
    if outside == "extend":
        pieces[:, 0], pieces[:, -1] = pieces[:, 1], pieces[:, -2]
    else:
        pieces[1, 0], pieces[1, -1] = y[0], y[-1]
    return Interpolation(x, pieces, kind, outside)


def _points(t: Any, values: Any, at_least: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        x, y = np.array(t, dtype=float), np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError("interpolate needs numbers: the times of the points, and their values") from None
    if x.ndim != 1 or x.shape != y.shape or len(x) < at_least:
        raise OptionError(
            f"interpolate needs two lists of equal length, at least {at_least}; got shapes {x.shape} and {y.shape}"
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise OptionError("interpolate needs finite numbers; leave out the points that are nan or inf")
    if not (np.diff(x) > 0).all():
        k = int(np.flatnonzero(np.diff(x) <= 0)[0])
        raise OptionError(f"the times of interpolate must increase; time {k + 1} is {x[k]:g}, the next {x[k + 1]:g}")
    return x, y


def tables_of(function: ca.Function) -> dict[int, np.ndarray] | None:
    """The tables that a Function looks things up in, by their numbers; None if it also calls other Functions.

    They are read from the Function itself, so a model that comes from another process needs nothing else.
    """
    found: dict[str, ca.Function] = {}
    for called in function.find_functions():
        name = called.name()
        while name.startswith(("fwd1_", "adj1_")):  # a derivative, which calls nothing that is not here
            name = name[5:]
        if not name.startswith(PREFIX):
            return None
        if name == called.name():
            found[name] = called
    return {int(name.removeprefix(PREFIX)): _table(lookup) for name, lookup in found.items()}


def _table(lookup: ca.Function) -> np.ndarray:
    """The largest constant of a look-up: its intervals and their coefficients."""
    count = lookup.n_instructions()
    constants = [lookup.instruction_MX(k).to_DM() for k in range(count) if lookup.instruction_id(k) == ca.OP_CONST]
    return np.array(max(constants, key=lambda c: c.numel()))

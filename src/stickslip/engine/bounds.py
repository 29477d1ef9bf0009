"""Bounds of an expression over a box of its inputs, as expressions: interval arithmetic on the graph.

A contact whose gap is positive everywhere in a box cannot close while the state stays in it, so it need not be looked at
(`engine.naps`). The bounds are right for every expression, and sharp enough for gaps: an operation that is not known
here gives no bound, and such a contact is always looked at.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

Interval = tuple[ca.SX, ca.SX]  # lower and upper bound

INF = ca.SX(float("inf"))
ANYTHING: Interval = (-INF, INF)
CLEARLY = 1e-6  # a bound of a comparison, relative to the other one: far above rounding errors


def bounds(function: ca.Function) -> ca.Function:
    """(centres of all inputs, their radii) -> (lower, upper bounds of all outputs), of an SX Function.

    >>> x = ca.SX.sym("x")
    >>> lower, upper = bounds(ca.Function("f", [x], [x**2 - 1]))(3.0, 1.0)
    >>> float(lower), float(upper)
    (3.0, 15.0)
    """
    n = function.nnz_in()
    centre, radius = ca.SX.sym("centre", n), ca.SX.sym("radius", n)
    first = [0]
    for k in range(function.n_in()):
        first.append(first[-1] + function.nnz_in(k))
    out: list[list[Interval]] = [[(ca.SX(0), ca.SX(0))] * function.nnz_out(k) for k in range(function.n_out())]
    work: dict[int, Interval] = {}
    for k in range(function.n_instructions()):
        operation, source, target = (
            function.instruction_id(k),
            function.instruction_input(k),
            function.instruction_output(k),
        )
        if operation == ca.OP_CONST:
            value = ca.SX(function.instruction_constant(k))
            work[target[0]] = (value, value)
        elif operation == ca.OP_INPUT:
            i = first[source[0]] + source[1]
            work[target[0]] = (centre[i] - radius[i], centre[i] + radius[i])
        elif operation == ca.OP_OUTPUT:
            out[target[0]][target[1]] = work[source[0]]
        elif operation in UNARY and len(source) == 1:
            work[target[0]] = UNARY[operation](work[source[0]])
        elif operation in BINARY and len(source) == 2:
            a, b = source
            square = operation == ca.OP_MUL and a == b
            work[target[0]] = _square(work[a]) if square else BINARY[operation](work[a], work[b])
        else:
            work |= dict.fromkeys(target, ANYTHING)
    flat = [each for one in out for each in one]
    lower, upper = (ca.vertcat(ca.SX(0, 1), *[each[i] for each in flat]) for i in (0, 1))
    return ca.Function(f"{function.name()}_bounds", [centre, radius], [lower, upper])


def _negate(a: Interval) -> Interval:
    return -a[1], -a[0]


def _add(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _multiply(a: Interval, b: Interval) -> Interval:
    products = [a[i] * b[j] for i in (0, 1) for j in (0, 1)]
    lower = ca.fmin(ca.fmin(products[0], products[1]), ca.fmin(products[2], products[3]))
    upper = ca.fmax(ca.fmax(products[0], products[1]), ca.fmax(products[2], products[3]))
    return lower, upper


def _smallest(a: Interval) -> ca.SX:
    """The smallest size in the interval."""
    return ca.fmax(0, ca.fmax(a[0], -a[1]))


def _largest(a: Interval) -> ca.SX:
    return ca.fmax(-a[0], a[1])


def _square(a: Interval) -> Interval:
    return _smallest(a) ** 2, _largest(a) ** 2


def _invert(a: Interval) -> Interval:
    """Where zero lies inside, the product is not a number, and no comparison with it holds."""
    apart = a[0] * a[1] > 0
    return ca.if_else(apart, 1 / a[1], -INF), ca.if_else(apart, 1 / a[0], INF)


def _rising(f: Callable) -> Callable[[Interval], Interval]:
    return lambda a: (f(a[0]), f(a[1]))


def _wave(f: Callable) -> Callable[[Interval], Interval]:
    """Sine and cosine: they change by no more than their argument, and stay within one."""

    def bound(a: Interval) -> Interval:
        value, radius = f((a[0] + a[1]) / 2), (a[1] - a[0]) / 2
        return ca.fmax(-1, value - radius), ca.fmin(1, value + radius)

    return bound


def _certainly(less: ca.SX, more: ca.SX) -> ca.SX:
    """Whether the lower bound of a difference is positive, far beyond rounding errors of what it is the difference of."""
    return less > CLEARLY * ca.fabs(more)


def _less(a: Interval, b: Interval) -> Interval:
    """1 if a < b for all of their values, 0 if for none."""
    least, most = b[0] - a[1], b[1] - a[0]
    return _certainly(least, most), 1 - _certainly(-most, least)


def _both(a: Interval, b: Interval) -> Interval:
    """The logical and; a number that is not zero counts as true."""
    return _true(a)[0] * _true(b)[0], _true(a)[1] * _true(b)[1]


def _true(a: Interval) -> Interval:
    return _smallest(a) > 0, _largest(a) > 0


def _not(a: Interval) -> Interval:
    return 1 - _true(a)[1], 1 - _true(a)[0]


def _where(condition: Interval, a: Interval) -> Interval:
    """a where the condition holds, else 0."""
    always, ever = _true(condition)
    lower, upper = ca.fmin(a[0], 0), ca.fmax(a[1], 0)
    return (
        ca.if_else(always, a[0], ca.if_else(ever, lower, 0)),
        ca.if_else(always, a[1], ca.if_else(ever, upper, 0)),
    )


UNARY: dict[int, Callable[[Interval], Interval]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: _negate,
    ca.OP_TWICE: lambda a: (2 * a[0], 2 * a[1]),
    ca.OP_SQ: _square,
    ca.OP_INV: _invert,
    ca.OP_FABS: lambda a: (_smallest(a), _largest(a)),
    ca.OP_SQRT: lambda a: (ca.sqrt(ca.fmax(a[0], 0)), ca.sqrt(ca.fmax(a[1], 0))),
    ca.OP_SIN: _wave(ca.sin),
    ca.OP_COS: _wave(ca.cos),
    ca.OP_EXP: _rising(ca.exp),
    ca.OP_ATAN: _rising(ca.atan),
    ca.OP_TANH: _rising(ca.tanh),
    ca.OP_NOT: _not,
}
BINARY: dict[int, Callable[[Interval, Interval], Interval]] = {
    ca.OP_ADD: _add,
    ca.OP_SUB: lambda a, b: _add(a, _negate(b)),
    ca.OP_MUL: _multiply,
    ca.OP_DIV: lambda a, b: _multiply(a, _invert(b)),
    ca.OP_FMIN: lambda a, b: (ca.fmin(a[0], b[0]), ca.fmin(a[1], b[1])),
    ca.OP_FMAX: lambda a, b: (ca.fmax(a[0], b[0]), ca.fmax(a[1], b[1])),
    ca.OP_LT: _less,
    ca.OP_LE: _less,  # equality is not far beyond rounding errors
    ca.OP_AND: _both,
    ca.OP_OR: lambda a, b: _not(_both(_not(a), _not(b))),
    ca.OP_IF_ELSE_ZERO: _where,
    ca.OP_HYPOT: lambda a, b: (
        ca.sqrt(_smallest(a) ** 2 + _smallest(b) ** 2),
        ca.sqrt(_largest(a) ** 2 + _largest(b) ** 2),
    ),
}

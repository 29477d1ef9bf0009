"""Gaps and constraints that cannot be one: with a kink where they are zero, a jump, or a normal that vanishes there.

Nobody can say where a contact pushes whose normal jumps; a surface that jumps, in time or along the way, goes through bodies;
and a gap like y^2 is never negative, so that it never closes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import casadi as ca
import numpy as np

from stickslip.errors import ModelError

STARTS, ITERATIONS = 8, 30
BESIDE = 1e-6  # of both sides of a kink
QUADRATIC = 1e-2  # ratio of two steps of Newton's method: linear convergence to a zero of order k has 1 - 1/k
JUMP = 1e-2  # of the gradient: what cannot be curvature at that distance


def refuse_kinks(where: str, gap: ca.SX | None, blocks: Sequence[ca.SX], what: str = "its gap") -> None:
    """An error with advice if the gap of a contact, or a constraint, is not smooth where it is zero."""
    kink = None if gap is None else kink_of(gap, ca.vertcat(ca.SX(0, 1), *blocks))
    if kink is not None:
        raise ModelError(
            f"{where}: {what} has a kink where it is zero, such as at q = {np.round(kink, 3)}. The normal jumps there, so "
            "that nobody can say where the contact pushes. Declare one contact for each smooth piece (minimum(a, b) >= 0 "
            "are the two contacts a and b), or round it off, as sqrt(x**2 + r**2) does |x|"
        )
    if gap is None:
        return
    q = ca.vertcat(ca.SX(0, 1), *blocks)
    if jumps(gap, q):
        raise ModelError(
            f"{where}: {what} jumps, from one value to another, where a condition in it changes. A surface that jumps goes "
            "through bodies: let it move, or rise, within a finite time or length"
        )
    if vanishing_normal(gap, q):
        raise ModelError(
            f"{where}: {what} touches zero without changing its sign, or its normal vanishes there, as with y**2: it "
            "never closes, or pushes nowhere. Give a signed distance, such as y"
        )


def kink_of(gap: ca.SX, q: ca.SX) -> np.ndarray | None:
    """A place on the surface gap = 0 where its gradient by q jumps, or None if none is found.

    Every function that `absolute`, `fmin`, `fmax` and comparisons switch at is followed to a common zero with the gap, from
    a few random starts; other symbols (parameters, time) have random values.

    >>> q = ca.SX.sym("q", 2)
    >>> kink_of(q[1] - ca.fabs(q[0]), q) is None, kink_of(q[1] - q[0] ** 2, q) is None
    (False, True)
    >>> kink_of(q[1] - q[0] * ca.fabs(q[0]), q) is None  # continuous normal
    True
    """
    switches = [s for s in _switches(gap) if ca.depends_on(s, q)]
    if not switches:
        return None
    others = [s for s in ca.symvar(ca.vertcat(gap, *switches)) if not ca.depends_on(q, s)]
    random = np.random.default_rng(0)
    slope = ca.Function("slope", [q, *others], [ca.jacobian(gap, q)])
    for switch in switches:
        both = ca.vertcat(gap, switch)
        f = ca.Function("both", [q, *others], [both, ca.jacobian(both, q)])
        for _ in range(STARTS):
            x, given = random.uniform(-1.5, 1.5, q.numel()), list(random.uniform(0.5, 1.5, len(others)))
            found = _common_zero(f, x, given)
            if found is None:
                continue
            normal = np.array(f(found, *given)[1])[1]
            side = BESIDE * normal / max(float(np.linalg.norm(normal)), 1e-300)
            one, two = (np.array(slope(found + s, *given)).ravel() for s in (side, -side))
            if np.linalg.norm(one - two) > JUMP * max(np.linalg.norm(one), np.linalg.norm(two)):
                return found
    return None


def jumps(gap: ca.SX, q: ca.SX) -> bool:
    """Whether the gap itself is not continuous where one of its conditions changes, in the state or in time.

    >>> q = ca.SX.sym("q", 2)
    >>> jumps(q[1] - ca.if_else(q[0] > 1, 0.2, 0), q), jumps(q[1] - ca.fmax(q[0] - 1, 0), q)
    (True, False)
    """
    others = [s for s in ca.symvar(gap) if not ca.depends_on(q, s)]
    x = ca.vertcat(q, *others)
    random = np.random.default_rng(0)
    for switch in _switches(gap):
        f, value = ca.Function("switch", [x], [switch, ca.jacobian(switch, x)]), ca.Function("gap", [x], [gap])
        for _ in range(STARTS):
            found = _common_zero(f, random.uniform(-1.5, 1.5, x.numel()), [])
            if found is None:
                continue
            normal = np.array(f(found)[1]).ravel()
            side = BESIDE * normal / max(float(np.linalg.norm(normal)), 1e-300)
            one, two = (float(value(found + s)) for s in (side, -side))
            if abs(one - two) > JUMP * max(abs(one), abs(two)) and abs(one - two) > 1e3 * BESIDE:
                return True
    return False


def vanishing_normal(gap: ca.SX, q: ca.SX) -> bool:
    """Whether the gap has a multiple zero wherever one is found: there Newton's method converges, but only linearly.

    >>> q = ca.SX.sym("q", 2)
    >>> vanishing_normal((q[1] - q[0]) ** 2, q), vanishing_normal(q[0] ** 2 + q[1] ** 2 - 1e-8, q)
    (True, False)
    """
    others = [s for s in ca.symvar(gap) if not ca.depends_on(q, s)]
    random = np.random.default_rng(0)
    f = ca.Function("gap", [q, *others], [gap, ca.jacobian(gap, q)])
    for _ in range(3):
        x, given = random.uniform(-1.5, 1.5, q.numel()), list(random.uniform(0.5, 1.5, len(others)))
        steps: list[float] = []
        while len(steps) < ITERATIONS:
            value, slope = (np.array(each).ravel() for each in f(x, *given))
            if not (np.isfinite(value).all() and np.isfinite(slope).all() and slope.any()) or abs(value[0]) < 1e-24:
                break
            step = slope * value[0] / (slope @ slope)
            x, steps = x - step, [*steps, float(np.linalg.norm(step))]
            if len(steps) > 1 and steps[-1] < QUADRATIC * steps[-2]:
                break
        ratios = [b / a for a, b in pairwise(steps[-6:])]
        if len(steps) < ITERATIONS or not 0.3 < min(ratios) <= max(ratios) < 0.95:
            return False
    return True


def _common_zero(f: ca.Function, x: np.ndarray, given: list[float]) -> np.ndarray | None:
    """By Gauss-Newton steps of minimum norm."""
    for _ in range(ITERATIONS):
        value, slope = (np.array(each) for each in f(x, *given))
        if not (np.isfinite(value).all() and np.isfinite(slope).all()):
            return None
        if np.abs(value).max() < 1e-10:
            return x
        x = x - np.linalg.lstsq(slope, value.ravel(), rcond=None)[0]
    return None


def _switches(expression: ca.SX) -> Iterator[ca.SX]:
    """The functions whose sign decides which piece of an expression holds."""
    pairs = {ca.OP_FMIN, ca.OP_FMAX, ca.OP_LT, ca.OP_LE}
    seen, stack = set(), [expression]
    while stack:
        node = stack.pop()
        if node.__hash__() in seen or node.is_leaf():
            continue
        seen.add(node.__hash__())
        inner = [node.dep(i) for i in range(node.n_dep())]
        if node.op() in pairs:
            yield inner[0] - inner[1]
        elif node.op() in (ca.OP_FABS, ca.OP_SIGN):
            yield inner[0]
        stack += inner

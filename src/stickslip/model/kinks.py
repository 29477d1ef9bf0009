"""Kinks of a gap: places where it is zero and its normal jumps, so that nobody can say where the contact pushes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import casadi as ca
import numpy as np

from stickslip.errors import ModelError

STARTS, ITERATIONS = 8, 30
BESIDE = 1e-6  # of both sides of a kink
JUMP = 1e-2  # of the gradient: what cannot be curvature at that distance


def refuse_kinks(where: str, gap: ca.SX | None, blocks: Sequence[ca.SX]) -> None:
    """An error with advice if the gap of a contact has a kink where it is zero."""
    kink = None if gap is None else kink_of(gap, ca.vertcat(ca.SX(0, 1), *blocks))
    if kink is not None:
        raise ModelError(
            f"{where}: its gap has a kink where it is zero, such as at q = {np.round(kink, 3)}. The normal jumps there, so "
            "that nobody can say where the contact pushes. Declare one contact for each smooth piece (minimum(a, b) >= 0 "
            "are the two contacts a and b), or round it off, as sqrt(x**2 + r**2) does |x|"
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
            side = BESIDE * normal / max(np.linalg.norm(normal), 1e-300)
            one, two = (np.array(slope(found + s, *given)).ravel() for s in (side, -side))
            if np.linalg.norm(one - two) > JUMP * max(np.linalg.norm(one), np.linalg.norm(two)):
                return found
    return None


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

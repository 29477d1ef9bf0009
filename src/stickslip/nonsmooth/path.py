"""A path that leads to a solution wherever contacts do not jam: from friction that opens contacts to Coulomb's law.

With G. de Saxce's û = u + mu |u_T| n, contact with Coulomb's friction is  K* ∋ û ⊥ r ∈ K, K the friction cones. If given
numbers s take the place of mu |u_T|, this is a convex problem if W is symmetric, with one u for every s.
V. Acary, F. Cadoux, C. Lemarechal and J. Malick (ZAMM 91, 2011) prove that s = mu |u_T(s)| has a solution where no self-stress
in the cones contradicts q (`jam`), by Brouwer's theorem. What such a theorem says exists, a path leads to (S. N. Chow,
J. Mallet-Paret, J. A. Yorke, Math. Comp. 32, 1978): for nearly all a, the solutions of

    s = (1 - t^2) mu |u_T| + t^2 a,    r ∘ û = t^2 e    (the product of the cone's Jordan algebra: K is smoothed by t)

are a smooth curve from t = 1 to t = 0. It may turn back in t (a branch that ends in a fold), so it is followed by its length.
Here a is so large that the first problem has hardly any forces, whatever q is. Without a jam the curve is bounded and ends
at t = 0. With one it may do so, too, or forces grow without bound: then they have the direction of a self-stress of a jam.

The smoothed law is r = P(r - û), P the projection with max(x, 0) replaced by (x + sqrt(x^2 + 4 t^2))/2 (Chen, Harker, Kanzow
and Smale), so no iterate has to lie inside of the cones. Constraints are y + t^2 x = 0, which redundant ones can solve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stickslip.nonsmooth.curve import (
    CONTACT,
    Curve,
    along,
    curve_of,
    direction,
    factor_at,
    residual_at,
    velocities_at,
)
from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.measure import Scales
from stickslip.nonsmooth.operator import Operator
from stickslip.patience import look

OPENING = (0.5, 1.0)  # of the free velocities: by how much more than needed contacts are open at the start, at random
FIRST, LONGEST, SHORTEST = 0.3, 1.0, 1e-8  # steps along the curve in (x/(1 + |x|), -log t)
CROWDED = 30  # contacts: of more of them steps may be longer by the root of their number, as |x| is
NEAR = 1e-2  # times t, in the same measure: how exactly it is followed
# Self-stresses follow from velocities of the size t^2 alone, so rounding errors of W x + q count by 1/t^2.
ROUNDING = 1e-15
MOST_CORRECTIONS, FACTORISATIONS = 20, 4  # of a point, at most
QUICKLY, FALLS = 0.3, 0.7  # by how much corrections fall from one to the next: factors serve again, and at least
STRAIGHT = 0.85  # cosine of the angle between a step and the tangent before it
# How often a solution is tried to be reached from the curve: in -log t, and in points where the curve turns back.
EVERY, OR_AFTER = 1.0, 25
LAST = 15.0  # -log t where rounding errors rule
MOST_STEPS = 1000
UNBOUNDED = 1e7  # forces, by those that make the free velocities
START_STEPS = 60
SELF_STRESS = 1e-4  # velocities that the forces of a jam may make, by those that they would make alone
MOST = 600  # rows of a problem without bodies, whose points are dense systems

Finish = Callable[[np.ndarray], tuple[np.ndarray, float]]  # multipliers to better ones, and their residual


class End(NamedTuple):
    """The best that was reached from a path, normal forces of a jam in whose direction it leaves; points, factorisations."""

    reaction: np.ndarray | None
    jam: np.ndarray | None
    points: int
    factored: int


class Walk:
    """Points z = (x, -log t) of the curve of a problem."""

    def __init__(self, op: Operator, laws: Laws, curve: Curve):
        self._problem = op, laws, curve
        self._at = along(op, curve)
        self._F = np.zeros(curve.D.size)
        self.factored = 0

    def velocities(self, x: np.ndarray) -> np.ndarray:
        """y of the multipliers x."""
        velocities_at(*self._problem, x, self._at)
        return self._problem[2].K * self._at.u

    def _residual(self, z: np.ndarray, derive: bool) -> float:
        """Go to z; the length of what is zero on the curve."""
        return float(residual_at(*self._problem, z[:-1], z[-1], derive, self._at, self._F))

    def _newton(self) -> np.ndarray:
        """The Newton step with t fixed, with the factors at hand. Directions have a last component, that of -log t."""
        step = np.zeros(self._F.size + 1)
        direction(*self._problem, self._at, self._at.newton, step[:-1])
        return step

    def _tangent(self) -> np.ndarray | None:
        """The derivative by -log t, with factors of the derivatives at hand; None if there is none."""
        self.factored += 1
        tangent = np.zeros(self._F.size + 1)
        tangent[-1] = 1.0
        if not factor_at(*self._problem, self._at):
            return None
        direction(*self._problem, self._at, self._at.drift, tangent[:-1])
        return tangent if np.isfinite(tangent).all() else None

    def start(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The point with the t of z, where the problem is convex, by Newton's method; and the tangent."""
        before = self._residual(z, True)
        for _ in range(START_STEPS):
            look()
            tangent, share = self._tangent(), 1.0
            if tangent is None:
                return None
            if before < NEAR:
                return z, tangent
            step = self._newton()
            now = self._residual(z + step, True)
            while share > SHORTEST and not now < (1.0 - 0.1 * share) * before:
                share *= 0.5
                now = self._residual(z + share * step, True)
            z, before = z + share * step, now
        return None

    def correct(
        self, predicted: np.ndarray, c: np.ndarray, measure: np.ndarray, h: float
    ) -> tuple[np.ndarray, np.ndarray, int] | None:
        """The point of the path in the plane c.z = c.predicted, the tangent with c.tangent = 1, and factorisations.

        Newton's method with the derivatives of the first point, as long as that converges quickly; then with new ones. What
        rounding leaves of large directions near folds and jams, the next step corrects.
        """
        z, last, factored, fresh = predicted, float("inf"), 0, True
        tangent = np.zeros(0)
        for _ in range(MOST_CORRECTIONS):
            self._residual(z, fresh)
            if fresh:
                factored += 1
                found = self._tangent() if factored <= FACTORISATIONS else None
                if found is None:
                    return None
                tangent = found / (c @ found)
            step = self._newton()
            step += (c @ (predicted - z) - c @ step) * tangent
            size = float(np.linalg.norm(measure * step))
            t = float(np.exp(-z[-1]))
            if size < NEAR * t + ROUNDING / t**2:
                return z + step, tangent, factored
            if not size < min(2.0 * h, FALLS * last):
                if fresh:
                    return None
                fresh = True  # from here, once more
                continue
            fresh = size > QUICKLY * last
            z, last = z + step, size
        return None


def path_to_solution(op: Operator, laws: Laws, scales: Scales, tol: float, finish: Finish | None = None) -> End:
    """Follow the path, and try to `finish` on the way; without, see whether it leaves in the direction of a jam."""
    curve = curve_of(op, laws, scales)
    if curve is None or (not op.bodies and np.count_nonzero(curve.D) > MOST):
        return End(None, None, 0, 0)
    walk = Walk(op, laws, curve)
    q = walk.velocities(np.zeros(curve.D.size))
    _set_openings(laws, curve, q)
    start = walk.start(np.zeros(q.size + 1))
    if start is None:
        return End(None, None, 0, walk.factored)
    longest = LONGEST * max(1.0, np.count_nonzero(curve.element == CONTACT) / CROWDED) ** 0.5
    (z, tangent), h, tried, tried_at = start, FIRST, 0.0, 0
    best: np.ndarray | None = None
    least, before = np.inf, (tangent, 0.0)  # the last tangent, and how far away it was
    for count in range(1, MOST_STEPS + 1):
        look()
        large = np.abs(z[:-1]).max()
        if large > UNBOUNDED:
            return End(best, _jam(walk, laws, curve, q, z[:-1]), count, walk.factored)
        measure = np.append(np.full(z.size - 1, 1.0 / (1.0 + large)), 1.0)
        tangent = tangent / np.linalg.norm(measure * tangent)
        found = None
        while found is None and h > SHORTEST:
            predicted = z + h * tangent
            if h < 2.0 * before[1]:  # the curve bends as it did
                predicted += 0.5 * h * h / before[1] * (tangent - before[0])
            found = walk.correct(predicted, measure**2 * tangent, measure, h)
            if found is not None and np.linalg.norm(measure * (found[0] - z)) * STRAIGHT > h > 100 * SHORTEST:
                found = None
            h = h / 2.0 if found is None else h
        if found is not None:
            before = tangent, float(np.linalg.norm(measure * (found[0] - z)))
            z, tangent, taken = found
            h = min(1.6 * h, longest) if taken <= 1 else 0.7 * h if taken >= FACTORISATIONS else h
        ended = found is None or not 0.0 <= z[-1] <= LAST
        if finish is not None and (ended or z[-1] > tried + EVERY or count >= tried_at + OR_AFTER):
            tried, tried_at = max(tried, z[-1]), count
            r, error = finish(curve.D * z[:-1])
            if error < least:
                best, least = r, error
        if least <= tol or ended:
            # Where rounding ends it, forces may be so large that their direction shows.
            jam = _jam(walk, laws, curve, q, z[:-1]) if found is None and least > tol else None
            return End(best, jam, count, walk.factored)
    return End(best, None, MOST_STEPS, walk.factored)


def _set_openings(laws: Laws, curve: Curve, q: np.ndarray) -> None:
    """So large that the first problem has hardly any forces, whatever the free velocities q are; at random."""
    contact = curve.element == CONTACT
    first, rows = laws.start[laws.element[:-1]][contact], curve.rows[contact]
    square = np.zeros(first.size)
    for i in (1, 2):
        square[rows > i] += q[first[rows > i] + i] ** 2
    random = np.random.default_rng(0).uniform(*OPENING, first.size)
    curve.opening[contact] = np.maximum(0.0, np.sqrt(square) - q[first]) + random


def _jam(walk: Walk, laws: Laws, curve: Curve, q: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """Normal forces of a jam in the direction of x, by rows and of unit sum; None if x makes velocities, or q allows them."""
    s = x / np.abs(x).max()
    if np.abs(walk.velocities(s) - q).max() > SELF_STRESS or q @ s >= 0.0:
        return None
    forces, normal = np.zeros(s.size), laws.start[laws.element[:-1]][curve.element == CONTACT]
    forces[normal] = np.maximum((curve.D * s)[normal], 0.0)
    return forces / forces.sum()

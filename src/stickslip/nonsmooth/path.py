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

from stickslip.nonsmooth.cones import BALL, NORMAL, ZERO
from stickslip.nonsmooth.problem import Problem, elements_rows
from stickslip.nonsmooth.reduced import without_force

OPENING = (0.5, 1.0)  # of the free velocities: by how much more than needed contacts are open at the start, at random
ROUND = 0.3  # of the free velocities: |u_T| is smoothed by t^2 times this
FIRST, LONGEST, SHORTEST = 0.3, 1.0, 1e-8  # steps along the curve in (x/(1 + |x|), -log t)
NEAR = 1e-4  # times t, in the same measure: how exactly it is followed
# Self-stresses follow from velocities of the size t^2 alone, so rounding errors of W x + q count by 1/t^2.
ROUNDING = 1e-15
CORRECTIONS, EASY = 6, 3  # Newton steps of a point at most, and those after which steps are made longer
STRAIGHT = 0.85  # cosine of the angle between a step and the tangent before it
EVERY = 1.0  # in -log t: how often a solution is tried to be reached from the curve
LAST = 15.0  # -log t where rounding errors rule
MOST_STEPS = 1000
UNBOUNDED = 1e7  # forces, by those that make the free velocities
START_STEPS = 60
SELF_STRESS = 1e-4  # velocities that the forces of a jam may make, by those that they would make alone
MOST = 600  # rows: a point takes 0.1 s

Finish = Callable[[Problem, np.ndarray, float], tuple[np.ndarray, float]]  # multipliers, residual


class End(NamedTuple):
    """The best that was reached from a path, normal forces of a jam in whose direction it leaves, and points on it."""

    reaction: np.ndarray | None
    jam: np.ndarray | None
    points: int


class Form(NamedTuple):
    """y = W x + q with unit cones |x_T| <= x_N, in units of the free velocities. r[rows] = D x."""

    W: np.ndarray
    q: np.ndarray
    D: np.ndarray
    rows: np.ndarray
    place: np.ndarray  # of the rows of contacts in an array of three components for each of them
    contacts: int

    def padded(self, x: np.ndarray) -> np.ndarray:
        """Components of contacts, zero where there are less than three."""
        out = np.zeros(3 * self.contacts)
        out[self.place] = x[: self.place.size]
        return out.reshape(-1, 3)


def path_to_solution(problem: Problem, tol: float, finish: Finish | None = None) -> End:
    """Follow the path, and try to `finish` on the way; without, see whether it leaves in the direction of a jam."""
    form = _form(problem)
    if form is None:
        return End(None, None, 0)
    q = form.padded(form.q)
    opening = np.maximum(0.0, np.hypot(q[:, 1], q[:, 2]) - q[:, 0])
    opening += np.random.default_rng(0).uniform(*OPENING, form.contacts)
    start = _start(form, opening)
    if start is None:
        return End(None, None, 0)
    (z, tangent), h, tried = start, FIRST, 0.0
    best: np.ndarray | None = None
    least = np.inf
    for count in range(1, MOST_STEPS + 1):
        large = np.abs(z[:-1]).max()
        if large > UNBOUNDED:
            return End(best, _jam(form, problem, z[:-1]), count)
        measure = np.append(np.full(z.size - 1, 1.0 / (1.0 + large)), 1.0)
        tangent /= np.linalg.norm(measure * tangent)
        found = _correct(form, opening, z + h * tangent, measure**2 * tangent, measure, h)
        while found is None and h > SHORTEST:
            h /= 2.0
            found = _correct(form, opening, z + h * tangent, measure**2 * tangent, measure, h)
        if found is None:
            break
        new, direction, taken = found
        if np.linalg.norm(measure * (new - z)) * STRAIGHT > h > 100 * SHORTEST:
            h /= 2.0
            continue
        z, tangent = new, direction
        h = min(1.6 * h, LONGEST) if taken <= EASY else 0.7 * h if taken >= CORRECTIONS - 1 else h
        if finish is not None and z[-1] > tried + EVERY:
            tried = z[-1]
            r, error = finish(problem, _reaction(form, problem, z[:-1]), tol)
            if error < least:
                best, least = r, error
        if least <= tol or not 0.0 <= z[-1] <= LAST:
            break
    return End(best, None, count)


def _form(problem: Problem) -> Form | None:
    """The problem in unit cones, contacts first; None where laws are of other kinds than contacts and constraints."""
    laws, scales, idle = problem.laws, problem.scales, without_force(problem)
    rows: list[int] = []
    D: list[float] = []
    place: list[int] = []
    contacts, constraints = 0, []
    unit = scales.scale / scales.speed  # gaps and velocities may stand side by side
    size = np.sqrt(unit / scales.weight)
    for e, own in enumerate(elements_rows(laws)):
        first, last = laws.element[e], laws.element[e + 1]
        friction = slice(first + 1, last)
        if laws.kind[first] == ZERO and last == first + 1:
            constraints += own.tolist()
            continue
        if idle[e]:
            continue
        if laws.kind[first] != NORMAL or last > first + 2 or own.size > 3:
            return None
        if (laws.kind[friction] != BALL).any() or laws.radius[friction].any() or (laws.normal[friction] < 0).any():
            return None
        mu = float(laws.mu[friction].sum())
        some = own if mu > 0.0 else own[:1]
        rows += some.tolist()
        D += [size[own[0]] * (mu if i else 1.0) for i in range(some.size)]
        place += [3 * contacts + i for i in range(some.size)]
        contacts += 1
    if not contacts or len(rows) + len(constraints) > MOST:
        return None
    every = np.array(rows + constraints)
    scale = np.concatenate([D, size[constraints]]) if constraints else np.array(D)
    W = problem.W[every][:, every].toarray()
    return Form(
        scale[:, None] * (W / unit[every, None]) * scale,
        scale * problem.q[every] / unit[every] / scales.speed,
        scale * scales.speed,
        every,
        np.array(place),
        contacts,
    )


def _reaction(form: Form, problem: Problem, x: np.ndarray) -> np.ndarray:
    r = np.zeros(problem.n_rows)
    r[form.rows] = form.D * x
    return r


def _positive(x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """max(x, 0) smoothed by t, its derivative, and the one by t."""
    root = np.sqrt(x * x + 4.0 * t * t)
    value = np.where(x > 0.0, 0.5 * (x + root), 2.0 * t * t / (root + np.abs(x)))
    return value, value / root, 2.0 * t / root


def _projection(y: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The smoothed projections of y to unit cones, their derivatives, and those by t."""
    length = np.hypot(y[:, 1], y[:, 2])
    e = np.where(length[:, None] > 0.0, y[:, 1:] / np.maximum(length, 1e-300)[:, None], [1.0, 0.0])
    low, slope_low, t_low = _positive(y[:, 0] - length, t)
    high, slope_high, t_high = _positive(y[:, 0] + length, t)
    p, by_t = (
        np.column_stack([0.5 * (b + a), (0.5 * (b - a))[:, None] * e]) for a, b in ((low, high), (t_low, t_high))
    )
    along, cross = 0.5 * (slope_high + slope_low), (0.5 * (slope_high - slope_low))[:, None] * e
    across = np.where(length > 1e-12, 0.5 * (high - low) / np.maximum(length, 1e-300), slope_low)
    J = np.empty((len(y), 3, 3))
    J[:, 0, 0], J[:, 0, 1:], J[:, 1:, 0] = along, cross, cross
    J[:, 1:, 1:] = across[:, None, None] * np.eye(2) + (along - across)[:, None, None] * e[:, :, None] * e[:, None, :]
    return p, J, by_t


def _evaluate(form: Form, opening: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F(z) of z = (x, -log t), which is zero on the path, and its derivative."""
    x, t, n, m, k = z[:-1], float(np.exp(-z[-1])), z.size - 1, form.place.size, form.contacts
    u = form.W @ x + form.q
    y, X = form.padded(u), form.padded(x)
    slip = np.sqrt(y[:, 1] ** 2 + y[:, 2] ** 2 + (ROUND * t * t) ** 2)
    S = np.broadcast_to(np.eye(3), (k, 3, 3)).copy()  # dû/du
    S[:, 0, 1:] = (1.0 - t * t) * y[:, 1:] / slip[:, None]
    later = np.zeros((k, 3))  # dû/d(-log t)
    later[:, 0] = 2.0 * t * t * (slip - opening) - 2.0 * (1.0 - t * t) * (ROUND * t * t) ** 2 / slip
    y[:, 0] += (1.0 - t * t) * slip + t * t * opening
    p, J, by_t = _projection(X - y, t)
    W = np.zeros((3 * k, n))
    W[form.place] = form.W[:m]
    whole = ((J @ S) @ W.reshape(k, 3, n)).reshape(3 * k, n)
    F, A = np.empty(n), np.empty((n, n + 1))
    F[:m], F[m:] = (X - p).ravel()[form.place], u[m:] + t * t * x[m:]
    A[:m, :n], A[m:, :n] = whole[form.place], form.W[m:]
    contact, component = np.divmod(form.place, 3)
    together = contact[:, None] == contact
    A[:m, :m] += np.eye(m) - np.where(together, J[contact[:, None], component[:, None], component], 0.0)
    A[np.arange(m, n), np.arange(m, n)] += t * t
    A[:m, n] = (np.einsum("kij,kj->ki", J, later) + t * by_t).ravel()[form.place]
    A[m:, n] = -2.0 * t * t * x[m:]
    return F, A


def _start(form: Form, opening: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The point of the path at t = 1, where the problem is convex, by Newton's method; and the tangent."""
    z = np.zeros(form.q.size + 1)
    F, A = _evaluate(form, opening, z)
    for _ in range(START_STEPS):
        before, share = np.linalg.norm(F), 1.0
        try:
            d, tangent = np.linalg.solve(A[:, :-1], -np.column_stack([F, A[:, -1]])).T
        except np.linalg.LinAlgError:
            return None
        if before < NEAR:
            return z, np.append(tangent, 1.0)
        d = np.append(d, 0.0)
        while share > SHORTEST:
            F, A = _evaluate(form, opening, z + share * d)
            if np.linalg.norm(F) < (1.0 - 0.1 * share) * before:
                break
            share *= 0.5
        z = z + share * d
    return None


def _correct(
    form: Form, opening: np.ndarray, predicted: np.ndarray, c: np.ndarray, measure: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """The point of the path in the plane c.z = c.predicted, the tangent there with c.tangent = 1, and Newton steps."""
    z, last = predicted, float("inf")
    for count in range(1, CORRECTIONS + 1):
        F, A = _evaluate(form, opening, z)
        right = np.zeros((z.size, 2))
        right[:-1, 0], right[-1, 0], right[-1, 1] = -F, c @ (predicted - z), 1.0
        try:
            step, tangent = np.linalg.solve(np.vstack([A, c]), right).T
        except np.linalg.LinAlgError:
            return None
        size = float(np.linalg.norm(measure * step))
        if not size < min(2.0 * h, 0.7 * last):
            return None
        z, last = z + step, size
        t = float(np.exp(-z[-1]))
        if size < NEAR * t + ROUNDING / t**2:
            return z, tangent, count
    return None


def _jam(form: Form, problem: Problem, x: np.ndarray) -> np.ndarray | None:
    """Normal forces of a jam in the direction of x, by rows and of unit sum; None if x makes velocities, or q allows them."""
    s = x / np.abs(x).max()
    if np.abs(form.W @ s).max() > SELF_STRESS or form.q @ s >= 0.0:
        return None
    forces, normal = np.zeros(problem.n_rows), form.place % 3 == 0
    forces[form.rows[: normal.size][normal]] = np.maximum((form.D * s)[: normal.size][normal], 0.0)
    return forces / forces.sum()

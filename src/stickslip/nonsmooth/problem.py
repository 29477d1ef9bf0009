"""The problem of one step as an object: rows, laws, right-hand side. It knows no stage, field or scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.cone import Cone, projection_of
from stickslip.errors import OptionError
from stickslip.nonsmooth import given
from stickslip.nonsmooth.cones import BALL, CONE, NORMAL, ZERO
from stickslip.nonsmooth.foreign import CompiledCone, compiled_cone
from stickslip.nonsmooth.graph import SIZE, graph_of
from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.measure import Scales
from stickslip.nonsmooth.operator import Operator, set_diagonal, size_of, unknowns_of, velocities


@dataclass(frozen=True, eq=False)
class Problem:
    """Find multipliers r and relative velocities u = W r + q that obey the laws of all rows.

    `W`, `q`: the local form. `M`, `H`, `f`, `w` (the form of bodies, or None): M v = f + H r and u = H^T v + w, so that
    W = H^T M^-1 H and q = H^T M^-1 f + w. Build one with `contacts`, `from_bodies` or `load_fclib`; `names` may label the
    elements. Velocities and percussions are in the units of the caller; solvers measure each row in its own scale.

    >>> ball = contacts([[1.0, 0.0], [0.0, 1.0]], [-2.0, 1.0], mu=[0.3])          # in the plane: rows N, T
    >>> ball.n_contacts, ball.n_rows
    (1, 2)
    >>> ball
    <Problem of 2 rows, laws: 1 normal, 1 friction, 0 bilateral; given by W and q>
    """

    laws: Laws
    W_given: sp.csr_matrix | None
    q_given: np.ndarray | None
    M: sp.csc_matrix | None = None
    H: sp.csc_matrix | None = None
    f: np.ndarray | None = None
    w: np.ndarray | None = None
    names: tuple[str, ...] = ()
    about: dict[str, str] = field(default_factory=dict)
    units: np.ndarray | None = None  # of rows that are not velocities: what one unit of velocity is there
    cones: tuple[CompiledCone | None, ...] = ()  # by block, where users wrote some
    noise: float = 0.0  # share of the largest diagonal of W, below which others are rounding errors and count as zero

    def __repr__(self) -> str:
        form = "W and q" if self.M is None else f"bodies with {self.M.shape[0]} velocities"
        title = f" {self.about['title']!r}" if self.about.get("title") else ""
        kinds = {"normal": (NORMAL,), "friction": (BALL, CONE), "bilateral": (ZERO,)}
        counts = ", ".join(f"{int(np.isin(self.laws.kind, of).sum())} {name}" for name, of in kinds.items())
        return f"<Problem{title} of {self.n_rows} rows, laws: {counts}; given by {form}>"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From a pickle: cones were compiled again, so their kernels lie elsewhere."""
        addresses = np.array([0 if cone is None else cone.address for cone in state["cones"]], np.int64)
        self.__dict__.update(state, laws=state["laws"]._replace(cone=addresses))

    @property
    def n_rows(self) -> int:
        """Rows of u and r."""
        return int(self.laws.size.sum())

    @property
    def n_contacts(self) -> int:
        """Normal contacts."""
        return int((self.laws.kind == NORMAL).sum())

    @cached_property
    def W(self) -> sp.csr_matrix:
        """The Delassus matrix."""
        if self.W_given is not None:
            return self.W_given
        assert self.H is not None
        return sp.csr_matrix(self.H.T @ self._solve_mass(self.H.toarray()))

    @cached_property
    def q(self) -> np.ndarray:
        """Velocities without multipliers."""
        if self.q_given is not None:
            return self.q_given
        return self._body_velocities(np.zeros(self.n_rows))

    def _solve_mass(self, b: np.ndarray) -> np.ndarray:
        from scipy.sparse.linalg import splu

        return np.asarray(splu(sp.csc_matrix(self.M)).solve(b))

    def velocity_of(self, r: np.ndarray) -> np.ndarray:
        """u = W r + q."""
        if self.W_given is not None:
            return np.asarray(self.W @ r + self.q)
        return self._body_velocities(r)

    def _body_velocities(self, r: np.ndarray) -> np.ndarray:
        return np.asarray(self.H.T @ self._solve_mass(self.f + self.H @ r) + self.w)  # type: ignore[union-attr]

    @cached_property
    def scales(self) -> Scales:
        """Delassus diagonal per block, and the largest free velocity, which residuals are relative to."""
        op, units = self.operator, np.ones(self.n_rows) if self.units is None else self.units
        if op.bodies:
            return body_scales(op, self.laws, units, self.noise)
        return scales_of(self.laws, np.asarray(self.W.diagonal()), self.q, units, self.noise)

    @cached_property
    def operator(self) -> Operator:
        """What compiled solvers see: bodies where there are any (blocks of at most 6 velocities), else W."""
        bodies = None if self.M is None else _bodies(self)
        return bodies or local_operator(self.W, self.q)

    def save(self, path: Any) -> None:
        """Write the problem to a file in FCLIB's format, `.dat` as a text of Siconos; `load_fclib` reads both."""
        from stickslip.nonsmooth.fclib import save_fclib

        save_fclib(self, path)


def body_scales(op: Operator, laws: Laws, units: np.ndarray, noise: float) -> Scales:
    """Those of the form of bodies."""
    diagonal, free, x = np.zeros(units.size), np.zeros(units.size), np.zeros(size_of(op))
    set_diagonal(op, laws, diagonal)
    unknowns_of(op, laws, free, x, np.zeros(x.size))
    velocities(op, laws, x, free)
    return scales_of(laws, diagonal, free, units, noise)


def scales_of(laws: Laws, diagonal: np.ndarray, q: np.ndarray, units: np.ndarray, noise: float) -> Scales:
    """Scales of rows from the diagonal of W; rows that nothing moves (zero diagonal) count like the others."""
    weight, typical = diagonal.astype(float).copy(), diagonal.max(initial=0.0) or 1.0
    if laws.kind.size:
        mean = np.add.reduceat(weight, laws.start) / laws.size
        weight = np.repeat(np.where(mean > noise * typical, mean, typical), laws.size)
    speed = float(np.abs(q / units).max(initial=0.0)) or 1.0
    return Scales(weight, speed * units, speed)


def contacts(
    W: Any,
    q: Any,
    mu: Any,
    *,
    dimension: int | None = None,
    bilateral: int = 0,
    cone: Cone | None = None,
    names: Sequence[str] = (),
    about: dict[str, str] | None = None,
) -> Problem:
    """The local problem u = W r + q of contacts with Coulomb friction, then `bilateral` rows u = 0.

    A contact has the rows N, T in the plane and N, T_1, T_2 in space; `dimension` (2 or 3) is found from the sizes. A `cone`
    takes the place of the ball |r_T| <= mu r_N, see `stickslip.Cone`. W need not be symmetric: forces that depend on
    velocities make it so.
    """
    W, q, mu = given.matrix("W", W), given.vector("q", q), given.friction(mu)
    if W.shape != (q.size, q.size):
        raise OptionError(f"W has shape {W.shape}, expected {(q.size, q.size)} for q of {q.size} rows")
    bilateral = given.count("bilateral", bilateral, q.size)
    laws, cones = with_cone(coulomb(mu, q.size - bilateral, dimension, bilateral), cone)
    return Problem(laws, W, q, names=tuple(names), about=about or {}, cones=cones)


def from_bodies(
    M: Any,
    H: Any,
    f: Any,
    mu: Any,
    *,
    w: Any = None,
    dimension: int | None = None,
    bilateral: int = 0,
    cone: Cone | None = None,
    names: Sequence[str] = (),
    about: dict[str, str] | None = None,
) -> Problem:
    """The problem M v = f + H r, u = H^T v + w; columns of H are contacts (N, T, ...) and then `bilateral` constraints."""
    M, H = sp.csc_matrix(given.matrix("M", M)), sp.csc_matrix(given.matrix("H", H))
    f, mu = given.vector("f", f), given.friction(mu)
    if M.shape != (f.size, f.size) or H.shape[0] != f.size:
        raise OptionError(f"M {M.shape} and H {H.shape} do not fit f of {f.size} rows")
    given.regular(M)
    w = np.zeros(H.shape[1]) if w is None else given.vector("w", w)
    if w.size != H.shape[1]:
        raise OptionError(f"w has {w.size} rows, expected {H.shape[1]}, one per column of H")
    bilateral = given.count("bilateral", bilateral, w.size)
    laws, cones = with_cone(coulomb(mu, w.size - bilateral, dimension, bilateral), cone)
    return Problem(laws, None, None, M, H, f, w, tuple(names), about or {}, cones=cones)


def coulomb(mu: np.ndarray, rows: int, dimension: int | None = None, bilateral: int = 0) -> Laws:
    """Laws of contacts with the rows N, T (plane) or N, T_1, T_2 (space), and of bilateral rows after them."""
    if dimension not in (None, 2, 3):
        raise OptionError(f"dimension = {dimension!r} must be 2 or 3")
    if rows % mu.size if mu.size else rows:
        raise OptionError(f"{rows} rows do not belong to {mu.size} contacts of equal size")
    found = rows // mu.size if mu.size else dimension or 3
    if found not in (2, 3) or (dimension is not None and dimension != found):
        raise OptionError(
            f"{rows} rows and {mu.size} contacts make {found} rows per contact; expected {dimension or '2 or 3'}"
        )
    n, size = mu.size, found - 1
    first = found * np.arange(n)
    kind = np.concatenate([np.tile([NORMAL, BALL], n), np.full(bilateral, ZERO)])
    start = np.concatenate([np.column_stack([first, first + 1]).ravel(), rows + np.arange(bilateral)])
    sizes = np.concatenate([np.tile([1, size], n), np.ones(bilateral, int)])
    normal = np.concatenate([np.column_stack([np.full(n, -1), first]).ravel(), np.full(bilateral, -1)])
    friction = np.concatenate([np.column_stack([np.zeros(n), mu]).ravel(), np.zeros(bilateral)])
    element = np.concatenate([2 * np.arange(n), 2 * n + np.arange(bilateral + 1)])
    kind, start, sizes, normal, element = (a.astype(np.int64) for a in (kind, start, sizes, normal, element))
    return Laws(kind, start, sizes, normal, friction.astype(float), np.zeros(kind.size), element)


def with_cone(laws: Laws, cone: Cone | None) -> tuple[Laws, tuple[CompiledCone | None, ...]]:
    """The same laws with a cone in place of all balls, and the compiled cone of every block."""
    balls = laws.kind == BALL
    if cone is None or not balls.any():
        return laws, ()
    projection, coefficients = projection_of("contacts", cone, int(laws.size[balls][0]))
    if coefficients.numel():
        raise OptionError(f"the cone {projection.name} depends on {coefficients}; here its numbers must be given")
    compiled = compiled_cone(projection)
    address = np.where(balls, compiled.address, 0).astype(np.int64)
    laws = laws._replace(kind=np.where(balls, CONE, laws.kind), cone=address, coefficients=np.zeros((address.size, 0)))
    return laws, tuple(compiled if ball else None for ball in balls)


def rows_of_elements(laws: Laws) -> np.ndarray:
    """How many rows every element has."""
    last = laws.element[1:] - 1
    return np.asarray(laws.start[last] + laws.size[last] - laws.start[laws.element[:-1]])


def elements_rows(laws: Laws) -> list[np.ndarray]:
    """The rows of every element."""
    first = laws.start[laws.element[:-1]]
    return [np.arange(a, b) for a, b in zip(first, first + rows_of_elements(laws), strict=True)]


NO_GRAPH = graph_of(1, np.zeros(0, int), np.zeros(0, int))


def local_operator(W: sp.csr_matrix, q: np.ndarray) -> Operator:
    """The compiled form of u = W r + q."""
    none, n = np.zeros((0, SIZE)), q.size
    blocks, empty = np.zeros((0, SIZE, SIZE)), np.zeros(0, np.int64)
    begin, index = W.indptr.astype(np.int64), W.indices.astype(np.int64)
    scratch = np.zeros((n, n)), np.zeros(3 * n, np.int64)
    return Operator(
        0,
        blocks,
        blocks,
        np.zeros(0),
        empty,
        empty,
        none,
        none,
        none,
        none,
        NO_GRAPH,
        begin,
        index,
        W.data.copy(),
        q.copy(),
        *scratch,
    )


def _bodies(problem: Problem) -> Operator | None:
    """The compiled form of bodies; None where M couples more than 6 velocities or an element more than two bodies."""
    assert problem.M is not None
    n, entries = problem.M.shape[0], problem.M.tocoo()
    coupled = sp.csgraph.connected_components(problem.M, directed=False)[1]
    for body in (
        np.arange(n) // 6,
        np.arange(n) // 3,
        coupled,
    ):  # a diagonal M does not say which velocities are one body
        if (body[entries.row] == body[entries.col]).all():
            op = _grouped(problem, body)
            if op is not None:
                return op
    return None


def _grouped(problem: Problem, body: np.ndarray) -> Operator | None:
    """The same for velocities that are grouped into bodies."""
    assert problem.H is not None
    assert problem.w is not None
    count = int(body.max(initial=-1)) + 1
    order = np.argsort(body, kind="stable")
    sizes = np.bincount(body, minlength=count)
    if sizes.max(initial=0) > SIZE:
        return None
    place = np.empty(body.size, np.int64)  # of a velocity inside its body
    place[order] = np.arange(body.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    M = np.zeros((count, SIZE, SIZE))
    M[:, np.arange(SIZE), np.arange(SIZE)] = 1.0
    for i, n in enumerate(sizes):
        M[i, :n, :n] = 0.0
    entries = sp.coo_matrix(problem.M)
    np.add.at(M, (body[entries.row], place[entries.row], place[entries.col]), entries.data)
    f = np.zeros((count, SIZE))
    f[body, place] = problem.f
    n, n_rows = problem.laws.element.size - 1, problem.n_rows
    element_of = np.empty(n_rows, np.int64)
    for e, rows in enumerate(elements_rows(problem.laws)):
        element_of[rows] = e
    H = problem.H.tocoo()
    pairs = np.unique(np.column_stack([element_of[H.col], body[H.row]]), axis=0)
    bodies_per = np.bincount(pairs[:, 0], minlength=n)
    if bodies_per.max(initial=0) > 2:
        return None
    a, b = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    seen = np.zeros(n, np.int64)
    for e, i in pairs:
        if seen[e]:
            b[e] = i
        else:
            a[e], seen[e] = i, 1
    G = np.zeros((2, n_rows, SIZE))
    side = (a[element_of[H.col]] != body[H.row]).astype(int)
    np.add.at(G, (side, H.col, place[H.row]), H.data)
    none, w = np.zeros(0, np.int64), problem.w.copy()
    return Operator(
        1, M, np.linalg.inv(M), f.ravel(), a, b, G[0], G[1], G[0], G[1], graph_of(count, a, b), none, none, np.zeros(0), w,
        np.zeros((0, 0)), none,
    )  # fmt: skip

"""Smaller problems: without contacts that stay open, one for each set of bodies that touch. What they find is tested on all.

Half of the corners of a stack never touch anything. Dense systems without them take far less time. Of many bodies that
stand apart mostly one needs a solver: the others are done where they are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from stickslip.nonsmooth.cones import BALL, NORMAL
from stickslip.nonsmooth.problem import Problem, elements_rows

CLEARLY = 0.02  # of the scale of a row: a contact that opens faster is expected to stay open
TRIES = 3
WORTH = 0.8  # of the elements: more are not worth the trouble

Solve = Callable[[Problem, np.ndarray, float], tuple[np.ndarray, bool]]


def without_open(problem: Problem, r: np.ndarray, tol: float, solve: Solve) -> np.ndarray | None:
    """What `solve` finds for the contacts that close, from multipliers r, with zero for the others.

    Friction that can have no force (its contact is open whatever happens) is left out, too. None where too few stay open, where
    one of them would penetrate in spite of all tries, or where nothing is found.
    """
    laws, rows_of = problem.laws, elements_rows(problem.laws)
    heads = laws.element[:-1]
    first = laws.start[heads]
    alone = np.array([(laws.radius[a:b] == 0).all() for a, b in zip(heads, laws.element[1:], strict=True)], bool)
    can_open = (laws.kind[heads] == NORMAL) & alone & (r[first] == 0.0)
    idle = without_force(problem)
    open_ = idle | (can_open & (problem.velocity_of(r)[first] > CLEARLY * problem.scales.scale[first]))
    for _ in range(TRIES):
        if (~open_).sum() > WORTH * open_.size or open_.all():
            return None
        kept = np.flatnonzero(~open_)
        rows = np.concatenate([rows_of[e] for e in kept])
        part = part_of(problem, kept, rows, problem.q[rows])
        found, solved = solve(part, r[rows], tol * problem.scales.speed / part.scales.speed)
        if not solved:
            return None
        whole = np.zeros(r.size)
        whole[rows] = found
        wrong = open_ & ~idle & (problem.velocity_of(whole)[first] < 0.0)
        if not wrong.any():
            return whole
        open_ &= ~wrong
    return None


def without_force(problem: Problem) -> np.ndarray:
    """Elements of friction alone whose radius is zero."""
    laws, heads = problem.laws, problem.laws.element[:-1]
    found: np.ndarray = (laws.normal[heads] < 0) & (laws.kind[heads] == BALL) & (laws.radius[heads] == 0.0)
    return found


def islands(problem: Problem, r: np.ndarray, tol: float, solve: Solve) -> np.ndarray | None:
    """What `solve` finds for every set of elements that W couples, from multipliers r; None if there is only one set."""
    rows_of = elements_rows(problem.laws)
    element = np.repeat(np.arange(len(rows_of)), [rows.size for rows in rows_of])
    W = problem.W.tocoo()
    coupled = sp.coo_matrix((np.ones(W.nnz), (element[W.row], element[W.col])), (len(rows_of), len(rows_of)))
    count, of = connected_components(coupled, directed=False)
    if count == 1:
        return None
    whole = r.copy()
    for k in range(count):
        kept = np.flatnonzero(of == k)
        rows = np.concatenate([rows_of[e] for e in kept])
        part = part_of(problem, kept, rows, problem.q[rows])
        whole[rows] = solve(part, r[rows], tol * problem.scales.speed / part.scales.speed)[0]
    return whole


def part_of(problem: Problem, kept: np.ndarray, rows: np.ndarray, q: np.ndarray) -> Problem:
    """The problem of some elements alone, whose rows have the free velocities q."""
    laws = problem.laws
    counts = laws.element[kept + 1] - laws.element[kept]
    blocks = np.concatenate([np.arange(laws.element[e], laws.element[e + 1]) for e in kept])
    size, new = laws.size[blocks], np.full(problem.n_rows, -1)
    new[rows] = np.arange(rows.size)
    normal = np.where(laws.normal[blocks] >= 0, new[laws.normal[blocks]], -1)
    some = laws._replace(
        kind=laws.kind[blocks],
        start=np.cumsum(size) - size,
        size=size,
        normal=normal,
        mu=laws.mu[blocks],
        radius=laws.radius[blocks],
        element=np.concatenate([[0], np.cumsum(counts)]),
        cone=laws.cone[blocks] if laws.cone.size else laws.cone,
        coefficients=laws.coefficients[blocks] if laws.cone.size else laws.coefficients,
    )
    cones = tuple(problem.cones[b] for b in blocks) if problem.cones else ()
    units = None if problem.units is None else problem.units[rows]
    return Problem(some, problem.W[rows][:, rows], q, units=units, cones=cones, noise=problem.noise)

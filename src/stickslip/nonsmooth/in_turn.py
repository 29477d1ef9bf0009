"""Parts of a problem that hardly feel each other are solved in turn: the ones that others depend on first.

A stage may hold laws of several levels. In the generalized-alpha method velocities depend on the percussions of the step
alone, accelerations on their own forces and on velocities, positions on all of them; in the other direction there is only what
a step changes in a mechanism's matrices, of the order of dt. As one problem this is far from symmetric, which no solver of
contact problems likes, and three times as large. Each level alone is an ordinary contact problem. So the strongly coupled
parts are found (strong components of the graph of W), ordered and solved one after the other, with the multipliers of the
others as they are; a few rounds carry the weak couplings. Bodies that stand apart are such parts too.
"""

from __future__ import annotations

from collections.abc import Callable
from graphlib import TopologicalSorter

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from stickslip.nonsmooth.jam import jam_of
from stickslip.nonsmooth.measure import error_of, scratch
from stickslip.nonsmooth.operator import size_of
from stickslip.nonsmooth.problem import Problem, elements_rows
from stickslip.nonsmooth.reduced import part_of, without_force

# Of the largest entry of its row: smaller ones do not couple. Between the levels of a stack they grow with the percussions, up
# to those within a level. The smallest share is taken that leaves no part with more than SMALLER of all rows.
WEAK = (0.03, 0.1, 0.3)
SMALLER = 0.6
ROUNDS = 8
FINER = 0.1  # tolerance of a part: what it leaves counts for the others too
FALLS = 0.5  # two rounds that leave more of the residual than this are the last ones

SolvePart = Callable[[Problem, np.ndarray, float], np.ndarray]


def in_turn(problem: Problem, r: np.ndarray, tol: float, solve: SolvePart) -> np.ndarray | None:
    """The best that was found by rounds over the parts, from multipliers r; None if there is one part only."""
    rows_of, idle = elements_rows(problem.laws), without_force(problem)
    parts = _parts(problem, rows_of, idle)
    if len(parts) < 2:
        return None
    op, laws, scales = problem.operator, problem.laws, problem.scales
    work = scratch(problem.n_rows, size_of(op), laws.kind.size)
    best, least, x, stalled = r, np.inf, r.copy(), 0
    for e in np.flatnonzero(idle):
        x[rows_of[e]] = 0.0
    rows = [np.concatenate([rows_of[e] for e in part]) for part in parts]
    W = [problem.W[some] for some in rows]
    for _ in range(ROUNDS):  # idle: friction that can have no force
        for elements, some, coupling in zip(parts, rows, W, strict=True):
            q = problem.q[some] + coupling @ x - coupling[:, some] @ x[some]
            part = part_of(problem, elements, some, q)
            x[some] = solve(part, x[some], FINER * tol * scales.speed / part.scales.speed)
        error = error_of(op, laws, scales, x, work)
        stalled = 0 if error < FALLS * least else stalled + 1
        if error < least:
            best, least = x.copy(), error
        if error <= tol or stalled == 2:
            break
    return best


def jam_of_parts(problem: Problem) -> np.ndarray | None:
    """Normal forces of a jam in one of the parts, by rows (`jam_of`); None if there is none."""
    rows_of = elements_rows(problem.laws)
    for elements in _parts(problem, rows_of, without_force(problem)):
        rows = np.concatenate([rows_of[e] for e in elements])
        found = jam_of(part_of(problem, elements, rows, problem.q[rows]))
        if found is not None:
            forces = np.zeros(problem.n_rows)
            forces[rows] = found
            return forces
    return None


def _parts(problem: Problem, rows_of: list[np.ndarray], idle: np.ndarray) -> list[np.ndarray]:
    """Elements that are strongly coupled, those first that others depend on; idle ones are left out."""
    sizes = np.array([rows.size for rows in rows_of])
    W, first = np.abs(problem.W.toarray()), np.cumsum(sizes) - sizes
    largest = W.max(axis=1, initial=0.0)
    W[largest > 0.0] /= largest[largest > 0.0, None]
    share = np.maximum.reduceat(
        np.maximum.reduceat(W, first, axis=0), first, axis=1
    )  # of an element in a row of another
    for weak in WEAK:
        graph = sp.csr_matrix(share > weak)
        count, of = connected_components(graph, directed=True, connection="strong")
        rows = np.bincount(of[~idle], sizes[~idle])
        if rows.max(initial=0) <= SMALLER * rows.sum():
            break
    else:
        return []
    needs: dict[int, set[int]] = {k: set() for k in range(count)}
    i, j = (of[ends] for ends in graph.nonzero())
    for one, other in np.unique(np.column_stack([i, j])[i != j], axis=0).tolist():
        needs[one].add(other)
    parts = [np.flatnonzero((of == k) & ~idle) for k in TopologicalSorter(needs).static_order()]
    return [part for part in parts if part.size]

"""Contacts that jam: friction can hold forces of any size between them, while the step asks them to separate.

A jam is a self-stress s, W s = 0, inside of the friction cones. For all multipliers r then s.u = s.(W r + q) = s.q. If that is
negative, no velocities have u_N >= mu |u_T| in all contacts, which is the condition under which a solution is known to exist
(V. Acary, F. Cadoux, C. Lemarechal, J. Malick: A formulation of the linear discrete Coulomb friction problem via convex
optimization, ZAMM 91, 2011). A ball in a groove with friction above the slope of its walls cannot slide out, whatever presses
it in; with restitution it shall leave both walls, and nothing can make it. Percussions of solvers grow without bound there.

A linear program looks for it, with polygons inside of the balls of friction, so what it finds is a jam. Jams that friction just
allows, and those of many contacts, are directions in which the path to a solution leaves (`path`).
"""

from __future__ import annotations

import numpy as np

from stickslip.nonsmooth.cones import BALL, NORMAL
from stickslip.nonsmooth.path import path_to_solution
from stickslip.nonsmooth.problem import Problem, elements_rows
from stickslip.nonsmooth.reduced import part_of

SIDES = 16  # of the polygon in a circle: 2 % less friction
RANK = 1e-10  # of the largest singular value of W: smaller ones are zero
ASKED = 1e-9  # relative s.q: rounding errors are smaller
MOST = 300  # rows: more take long


def jam_of(problem: Problem) -> np.ndarray | None:
    """Normal forces of a jam by rows, of unit sum; None if there is none, or rows are too many."""
    laws, rows_of = problem.laws, elements_rows(problem.laws)
    touching = np.flatnonzero(laws.kind[laws.element[:-1]] == NORMAL)
    if not touching.size or not ((laws.kind == NORMAL) | (laws.kind == BALL)).all():
        return None
    rows = np.concatenate([rows_of[e] for e in touching])
    found = _self_stress(part_of(problem, touching, rows, problem.q[rows])) if rows.size <= MOST else None
    if found is None:
        return path_to_solution(problem.operator, problem.laws, problem.scales, 0.0).jam
    forces = np.zeros(problem.n_rows)
    forces[rows] = found
    return forces


def _self_stress(problem: Problem) -> np.ndarray | None:
    """The same with the largest |s.q|, by a linear program; contacts alone."""
    from scipy.optimize import linprog

    laws, n = problem.laws, problem.n_rows
    normal = laws.start[laws.kind == NORMAL]
    unit = problem.scales.scale / problem.scales.speed  # gaps and velocities may stand side by side
    W, q, root = problem.W.toarray() / unit[:, None], problem.q / unit, np.sqrt(problem.scales.weight / unit)
    _, size, directions = np.linalg.svd(W / root[:, None] / root[None, :])
    null = directions[size < RANK * size.max(initial=0.0)].T / root[:, None]
    if not null.shape[1]:
        return None
    rows = [-null[normal]]
    for b in np.flatnonzero(laws.kind == BALL):
        friction = null[laws.start[b] : laws.start[b] + laws.size[b]]
        limit = laws.mu[b] * null[laws.normal[b]] if laws.normal[b] >= 0 else 0.0 * null[0]
        if laws.size[b] == 1:
            rows += [friction - limit, -friction - limit]
            continue
        if laws.size[b] > 2:
            return None
        angles = 2 * np.pi * np.arange(SIDES) / SIDES
        rows.append(np.column_stack([np.cos(angles), np.sin(angles)]) @ friction - np.cos(np.pi / SIDES) * limit)
    total = null[normal].sum(axis=0)
    A = np.vstack(rows)
    found = linprog(q @ null, A_ub=A, b_ub=np.zeros(len(A)), A_eq=total[None, :], b_eq=[1.0], bounds=(None, None))
    if found.x is None or not found.fun < -ASKED * problem.scales.speed:
        return None
    forces = np.zeros(n)
    forces[normal] = np.maximum((null @ found.x)[normal], 0.0)
    return forces

"""Whether bilateral constraints of a model depend on each other, as it is declared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.check import coupled, masses_of_velocities
from stickslip.engine.numbering import Numbering

# Singular values of force directions of unit length: initial states hold constraints up to 1e-6 and better.
DEPENDENT = 1e-5
ASIDE = 1e-2  # how far from the initial state another look is taken
MOST_DENSE = 400  # constraints in one mechanism, beyond which a sparse factorisation decides


class Dependence(NamedTuple):
    """Whether constraints depend on each other, and whether they do so only where g = 0.

    Doubled joints, and the two hinges of a door, depend on each other everywhere; the joints of Bennett's linkage only while
    they hold.
    """

    dependent: bool
    on_constraints_only: bool


def dependence_of(numbering: Numbering) -> Dependence:
    """How the constraints g of a model depend on each other, at and near its declared initial state.

    >>> import stickslip as ss
    >>> from stickslip.engine.derive import derive
    >>> dependence_of(Numbering(derive(ss.benchmarks.slider_crank(parts=True))))
    Dependence(dependent=False, on_constraints_only=False)
    """
    q, values = numbering.model.system.q_initial, np.array(list(numbering.model.system.parameter_values().values()))
    there = excess(numbering, 0.0, q, values)
    if not there:
        return Dependence(False, False)
    aside = np.random.default_rng(0).uniform(-ASIDE, ASIDE, q.size) * max(1.0, float(np.abs(q).max(initial=0.0)))
    return Dependence(True, excess(numbering, 0.0, q + aside, values) < there)


def excess(numbering: Numbering, t: float, q: np.ndarray, values: np.ndarray) -> int:
    """How many constraints are too many at q, with these values of parameters.

    Mechanisms that share no body are looked at one by one.
    """
    system = numbering.model.system
    joining = [kind for kind in numbering.part_kinds if kind.type.n["g"] and len(kind.members)]
    if not joining:
        return 0
    mechanism = np.empty(len(system.blocks), np.int64)
    for k, blocks in enumerate(coupled(len(system.blocks), [kind.blocks for kind in joining])):
        mechanism[blocks] = k
    entries = []
    for kind in joining:
        W = numbering.evaluate(kind, "W_g", t, q, values)
        rows, columns = numbering.rows(kind, "u")[:, :, None], numbering.rows(kind, "g")[:, None, :]
        of = np.repeat(mechanism[kind.blocks[:, 0]], W[0].size)
        entries.append(
            (of, np.broadcast_to(rows, W.shape).ravel(), np.broadcast_to(columns, W.shape).ravel(), W.ravel())
        )
    of, row, column, value = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    if not np.isfinite(value).all():
        return 0
    mass = masses_of_velocities(numbering, t, q, values)
    mass = np.sqrt(np.where(mass > 0, mass, 1.0))
    order = np.argsort(of, kind="stable")
    ends = np.flatnonzero(np.diff(of[order])) + 1
    return sum(_columns_too_many(row[own], column[own], value[own] / mass[row[own]]) for own in np.split(order, ends))


def _columns_too_many(row: np.ndarray, column: np.ndarray, value: np.ndarray) -> int:
    """Columns of a matrix, brought to unit length, less its rank."""
    row, column = (np.unique(each, return_inverse=True)[1] for each in (row, column))
    shape = (row.max() + 1, column.max() + 1)
    if shape[1] <= MOST_DENSE:
        dense = np.zeros(shape)
        np.add.at(dense, (row, column), value)
        length = np.linalg.norm(dense, axis=0)
        values = np.linalg.svd(dense / np.where(length > 0, length, 1.0), compute_uv=False)
        return int(shape[1] - (values > DEPENDENT).sum())
    from scipy import sparse  # here, because SciPy takes longer to import than all of the engine
    from scipy.sparse.linalg import splu

    W = sparse.csc_matrix((value, (row, column)), shape)
    length = np.sqrt(np.asarray(W.multiply(W).sum(axis=0)).ravel())
    W = W @ sparse.diags(1 / np.where(length > 0, length, 1.0))
    tiny = -1e-3 * DEPENDENT**2 * sparse.eye(W.shape[1])  # so that nothing is exactly singular
    pivots = splu(sparse.bmat([[sparse.eye(W.shape[0]), W], [W.T, tiny]], format="csc")).U.diagonal()
    return int((np.abs(pivots) < DEPENDENT**2).sum())

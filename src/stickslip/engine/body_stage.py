"""The linearised stage of free bodies with contacts as M v = f + F^T r, u = G v + w: what solvers on the graph of bodies see.

v is the step of the velocities, backwards, in their units; r are the multipliers of laws, and u is what the laws are about. The
matrix of the stage is not reduced to its laws, as in `local`: twenty boxes on each other are twenty blocks of 6 x 6 in a
row, whose factorisation takes a hundredth of that of the 240 rows of their contacts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.contact_plan import SIZE
from stickslip.engine.local import found_laws, linear_system
from stickslip.engine.tables import DENSE, SPARSE, Tables
from stickslip.engine.work import Work
from stickslip.jit import Direct, jit_bare
from stickslip.nonsmooth.cones import BALL, NORMAL
from stickslip.nonsmooth.graph import graph_of
from stickslip.nonsmooth.laws import MOST_ROWS, Laws
from stickslip.nonsmooth.measure import Scales
from stickslip.nonsmooth.operator import Operator, unknowns_of
from stickslip.nonsmooth.problem import body_scales, rows_of_elements

NOISE = 1e-14  # as in `local`
ROUNDED = 1e-12  # of a radius: what is left of it without the normal multiplier


class LawRows(NamedTuple):
    """Laws in the order of elements; of every row its unknown, its multiplier, and the derivative of that by the unknown."""

    laws: Laws
    unknown: np.ndarray
    z: np.ndarray
    slope: np.ndarray


class BodyStage(NamedTuple):
    """A stage in the unknowns of its bodies; `place`: where the smooth unknowns lie in v."""

    op: Operator
    laws: Laws
    scales: Scales
    z: np.ndarray
    unknown: np.ndarray
    slope: np.ndarray
    place: np.ndarray

    def step(self, r: np.ndarray, work: Work) -> None:
        """Write the step that leads to the multipliers r to the workspace."""
        v, x, n = np.zeros(self.op.f.size), work.x, self.place.size
        unknowns_of(self.op, self.laws, r, v, np.zeros(v.size))
        x["step"][self.unknown] = (self.z - r) / self.slope * x["unit"][self.unknown]
        x["step"][:n] = -v[self.place] * x["unit"][:n]


def body_stage(tables: Tables, k: int, memory: np.ndarray, work: Work) -> BodyStage | None:
    """The stage at the values that were last evaluated; None if it has joints, forces between bodies or other laws."""
    problem = tables.problems[k]
    order, n = int(problem["order"]), int(problem["n_smooth"])
    if n == 0 or problem["band"] == DENSE:
        return None
    _, body = np.unique(tables.nodes[order : order + n], return_inverse=True)
    size = np.bincount(body)
    if size.max() > SIZE:
        return None
    m, count = linear_system(tables, k, memory, work, 0.0)
    rows = None if m < 0 else law_rows(tables, k, work)
    if rows is None:
        return None
    by_body = np.argsort(body, kind="stable")
    place = np.empty(n, np.int64)
    place[by_body] = SIZE * body[by_body] + np.arange(n) - np.repeat(np.cumsum(size) - size, size)
    return _assembled(tables, k, work, rows, place, size, m, count)


def _assembled(
    tables: Tables, k: int, work: Work, rows: LawRows, place: np.ndarray, size: np.ndarray, m: int, count: int
) -> BodyStage | None:
    """The blocks of bodies and contacts, from the entries of the linear system; None if these couple something else."""
    laws, x = rows.laws, work.x
    n_rows, bodies, elements = rows.unknown.size, size.size, laws.element.size - 1
    row = np.full(int(tables.problems[k]["n"]), -1)
    row[rows.unknown] = np.arange(n_rows)
    of = np.repeat(np.arange(elements), rows_of_elements(laws))
    M, f = np.zeros((bodies, SIZE, SIZE)), np.zeros(SIZE * bodies)
    M[:, np.arange(SIZE), np.arange(SIZE)] = np.arange(SIZE) >= size[:, None]  # places of smaller bodies
    G, F, who = np.zeros((2, n_rows, SIZE)), np.zeros((2, n_rows, SIZE)), np.full((2, elements), -1)
    if not gather_blocks(tables, k, work, m, count, place, row, of, rows.slope, M, f, G, F, who):
        return None
    who[0] = np.maximum(who[0], 0)
    offset = work.right[x["column"][rows.unknown]] * x["size"][rows.unknown]
    for body, force in zip(np.maximum(who, 0), F, strict=True):  # zero where there is no second body
        np.subtract.at(f.reshape(-1, SIZE), body[of], force * rows.z[:, None])
    if not (np.isfinite(M).all() and np.isfinite(f).all() and np.isfinite(offset).all()):
        return None
    try:
        inverse = np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return None
    none = np.zeros(0, np.int64)
    op = Operator(
        1, M, inverse, f, who[0], who[1], G[0], G[1], F[0], F[1], graph_of(bodies, who[0], who[1]), none, none, np.zeros(0),
        offset, np.zeros((0, 0)), none,
    )  # fmt: skip
    return BodyStage(
        op, laws, body_scales(op, laws, _units(laws, G, F), NOISE), rows.z, rows.unknown, rows.slope, place
    )


def _units(laws: Laws, G: np.ndarray, F: np.ndarray) -> np.ndarray:
    """What one unit of velocity is in each row, gaps or velocities: rows of G are those of F, times that."""
    squares = [np.add.reduceat(np.einsum("sic,sic->i", each, each), laws.start) for each in (G, F)]
    with np.errstate(divide="ignore", invalid="ignore"):
        units = np.sqrt(squares[0] / squares[1])
    units[~(np.isfinite(units) & (units > 0.0))] = 1.0
    return np.repeat(units, laws.size)


def law_rows(tables: Tables, k: int, work: Work) -> LawRows | None:
    """The laws that apply, those of one contact together, the normal first; None if friction depends on other contacts."""
    found, index, value = found_laws(tables, k, work)
    if not found.size or not np.isin(found["kind"], (NORMAL, BALL)).all():
        return None
    node = tables.nodes[int(tables.problems[k]["order"]) + found["first"]]
    found = found[np.lexsort((found["kind"] != NORMAL, -node))]
    node, first, size = -np.sort(-node), found["first"], found["size"]
    begins = np.concatenate([[True], node[1:] != node[:-1]])
    element = np.append(np.flatnonzero(begins), node.size)
    head = np.repeat(element[:-1], np.diff(element))
    start = np.cumsum(size) - size
    ends = np.append(start[element[1:-1]], size.sum())
    if ((found["kind"] == NORMAL) & ~begins).any() or (ends - start[element[:-1]]).max() > MOST_ROWS:
        return None
    couplings = found["coupling_1"] - found["coupling_0"]
    coupled = couplings == 1
    if (couplings > 1).any():
        return None
    j, x = np.where(coupled, index[np.where(coupled, found["coupling_0"], 0)] if index.size else 0, 0), work.x
    slope_of = np.where(coupled, value[np.where(coupled, found["coupling_0"], 0)] if index.size else 0.0, 0.0)
    open_ = coupled & (x["column"][j] < 0)
    follows = coupled & ~open_
    if (follows & ((j != first[head]) | begins)).any():
        return None
    local = np.arange(int(size.sum())) - np.repeat(start, size)
    z = work.outputs[np.repeat(found["z"], size) + local]
    mu = np.where(follows, slope_of * x["unit"][j] / found["slope"][head], 0.0)
    radius = found["radius"] - np.where(open_, slope_of * x["step"][j], mu * z[start[head]])
    radius[np.abs(radius) <= ROUNDED * np.abs(found["radius"])] = 0.0
    normal = np.where(follows, start[head], -1)
    laws = Laws(found["kind"].copy(), start, size.copy(), normal, mu, np.maximum(radius, 0.0), element)
    return LawRows(laws, np.repeat(first, size) + local, z, np.repeat(found["slope"], size))


@jit_bare
def _gather(
    tables: Tables,
    k: int,
    work: Work,
    m: int,
    count: int,
    place: np.ndarray,
    row: np.ndarray,
    element: np.ndarray,
    slope: np.ndarray,
    M: np.ndarray,
    f: np.ndarray,
    G: np.ndarray,
    F: np.ndarray,
    who: np.ndarray,
) -> bool:
    """Add the entries of the linear system to the blocks; False where two bodies, two laws or three bodies are coupled.

    Rows of bodies get back the sizes that unit scale took from them, so that M is symmetric where the stage's matrix is.
    """
    n, band, x = tables.problems[k].n_smooth, tables.problems[k].band, work.x
    for c in range(m):
        i = x[c].kept
        if i < n:
            f[place[i]] = -work.right[c] * _weight(work, i)
    if band == SPARSE:
        for e in range(count):
            i, j, value = work.entries[e].row, work.entries[e].column, work.entries[e].value
            if not _put(x[i].kept, x[j].kept, value, n, work, place, row, element, slope, M, G, F, who):
                return False
        return True
    for i in range(m):
        for j in range(max(0, i - band), min(m, i + band + 1)):
            value = work.matrix[i * 3 * band + j + band]
            if value != 0.0 and not _put(
                x[i].kept, x[j].kept, value, n, work, place, row, element, slope, M, G, F, who
            ):
                return False
    return True


@jit_bare
def _put(
    i: int,
    j: int,
    value: float,
    n: int,
    work: Work,
    place: np.ndarray,
    row: np.ndarray,
    element: np.ndarray,
    slope: np.ndarray,
    M: np.ndarray,
    G: np.ndarray,
    F: np.ndarray,
    who: np.ndarray,
) -> bool:
    """Add the entry in the row of unknown i, of which the first n are smooth, and in the column of unknown j."""
    if i < n and j < n:
        b = place[i] // SIZE
        if place[j] // SIZE != b:
            return False
        M[b, place[i] - SIZE * b, place[j] - SIZE * b] += value * _weight(work, i)
        return True
    if i < n:
        r = row[j]
        return r >= 0 and _add(F, who, element[r], r, place[i], -value * _weight(work, i) / slope[r])
    if j < n:
        r = row[i]
        return r >= 0 and _add(G, who, element[r], r, place[j], value * work.x[i].size)
    return value == 0.0


@jit_bare
def _weight(work: Work, i: int) -> float:
    """What makes of a row in unit scale one of a matrix whose diagonal is positive."""
    weight = work.x[i].unit / work.x[i].factor
    return -weight if work.x[i].pivot < 0.0 else weight


@jit_bare
def _add(blocks: np.ndarray, who: np.ndarray, element: int, row: int, place: int, value: float) -> bool:
    """Add to the row of an element, whose bodies are known or found here; False if it has three."""
    body = place // SIZE
    for side in range(2):
        if who[side, element] < 0:
            who[side, element] = body
        if who[side, element] == body:
            blocks[side, row, place - SIZE * body] += value
            return True
    return False


gather_blocks = Direct(_gather)

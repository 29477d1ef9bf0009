"""The linearised stage of free bodies with contacts as M v = f + F^T r, u = G v + w: what solvers on the graph of bodies see.

v is the step of the velocities, backwards, in their units; r are the multipliers of laws, and u is what the laws are about. The
matrix of the stage is not reduced to its laws, as in `local`: twenty boxes on each other are twenty blocks of 6 x 6 in a
row, while their contacts have 240 rows, all of which feel each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.contact_plan import SIZE
from stickslip.engine.local import NOISE, ROUNDED, found_laws, linear_system
from stickslip.engine.tables import DENSE, SPARSE, Tables
from stickslip.engine.work import Work
from stickslip.jit import Direct, jit_bare
from stickslip.nonsmooth.cones import BALL, NORMAL
from stickslip.nonsmooth.graph import graph_of
from stickslip.nonsmooth.laws import MOST_ROWS, Laws
from stickslip.nonsmooth.measure import Scales
from stickslip.nonsmooth.operator import Operator, add_forces, unknowns_of
from stickslip.nonsmooth.problem import body_scales, rows_of_elements


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
    node = tables.nodes[order : order + n]
    first = np.flatnonzero(np.concatenate([[True], node[1:] != node[:-1]]))
    size = np.diff(np.append(first, n))
    if size.max() > SIZE or not np.array_equal(node[first], first):  # a body's unknowns stand together
        return None
    m, count = linear_system(tables, k, memory, work, 0.0)
    rows = None if m < 0 else law_rows(tables, k, work)
    if rows is None:
        return None
    place = np.arange(n) + np.repeat(SIZE * np.arange(size.size) - first, size)
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
    add_forces(op, laws, rows.z, -1.0, f)
    scales = body_scales(op, laws, _units(laws, G, F), NOISE)
    return BodyStage(op, laws, scales, rows.z, rows.unknown, rows.slope, place)


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
    if not found.size:
        return None
    problem, blocks, n_rows = tables.problems[k], found.size, int(found["size"].sum())
    order, n = int(problem["order"]), int(problem["n"])
    kind, start, size, normal, unknown = (np.zeros(m, np.int64) for m in (blocks, blocks, blocks, blocks, n_rows))
    mu, radius, z, slope = np.zeros(blocks), np.zeros(blocks), np.zeros(n_rows), np.zeros(n_rows)
    element, scratch = np.zeros(blocks + 1, np.int64), np.full((2, n), -1)
    laws = Laws(kind, start, size, normal, mu, radius, element)
    elements = put_in_order(
        found, tables.nodes[order : order + n], index, value, work, laws, unknown, z, slope, scratch
    )
    if elements < 0:
        return None
    return LawRows(laws._replace(element=element[: elements + 1]), unknown, z, slope)


@jit_bare
def _put_in_order(
    found: np.ndarray,
    node: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    work: Work,
    laws: Laws,
    unknown: np.ndarray,
    z: np.ndarray,
    slope: np.ndarray,
    scratch: np.ndarray,
) -> int:
    """Write the laws that were found to `laws`, element by element; how many elements, or -1 if they are of another form.

    Laws with one node belong together. scratch: by node, its element and the next place among its blocks.
    """
    x, elements, of, at = work.x, 0, scratch[0], scratch[1]
    for b in range(found.size):
        own = -1 - node[found[b].first]
        if (found[b].kind != NORMAL and found[b].kind != BALL) or found[b].coupling_1 > found[b].coupling_0 + 1:
            return -1
        if of[own] < 0:
            of[own] = elements
            elements += 1
        laws.element[of[own] + 1] += 1
    for e in range(elements):
        laws.element[e + 1] += laws.element[e]
    for normals in range(2):
        for b in range(found.size):
            own = -1 - node[found[b].first]
            first = laws.element[of[own]]
            if (found[b].kind == NORMAL) != (normals == 0):
                continue
            if at[own] < 0:
                at[own] = first
            elif normals == 0:
                return -1
            laws.normal[at[own]] = b  # for the moment: which of those that were found it is
            at[own] += 1
    row, head = 0, 0
    for e in range(elements):
        first_row = row
        for block in range(laws.element[e], laws.element[e + 1]):
            law = found[laws.normal[block]]
            if block == laws.element[e]:
                head = laws.normal[block]
            laws.kind[block], laws.start[block], laws.size[block] = law.kind, row, law.size
            laws.normal[block], laws.radius[block] = -1, law.radius
            if law.coupling_1 > law.coupling_0:
                j, change = index[law.coupling_0], value[law.coupling_0]
                if x[j].column < 0:
                    laws.radius[block] -= change * x[j].step  # a contact that is open whatever happens
                elif j != found[head].first or block == laws.element[e]:
                    return -1
                else:
                    laws.normal[block], laws.mu[block] = first_row, change * x[j].unit / found[head].slope
                    laws.radius[block] -= laws.mu[block] * z[first_row]
                if abs(laws.radius[block]) <= ROUNDED * abs(law.radius):
                    laws.radius[block] = 0.0
            laws.radius[block] = max(laws.radius[block], 0.0)
            for a in range(law.size):
                unknown[row], z[row], slope[row] = law.first + a, work.outputs[law.z + a], law.slope
                row += 1
        if row - first_row > MOST_ROWS:
            return -1
    return elements


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


gather_blocks, put_in_order = Direct(_gather), Direct(_put_in_order)

"""The linearised stage as a problem of its laws alone: what `nonsmooth` solves where Newton's method did not converge.

All unknowns but the multipliers of laws with branches are eliminated from the linear system of the stage, which leaves
y = W z + q with the laws of `nonsmooth.laws`. An error carries that problem, and a run can show it for any of its steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from stickslip.engine.gauss_seidel import close_all
from stickslip.engine.linearise import COMPLIANCE, fill, keep_unknowns, newton_step
from stickslip.engine.residual import call_kernels, set_residual
from stickslip.engine.tables import SPARSE, Tables
from stickslip.engine.work import IDLE, Options, Work
from stickslip.jit import Direct, jit_bare, records
from stickslip.nonsmooth.cones import CLOSED, CONE, NORMAL, OFF
from stickslip.nonsmooth.foreign import cone_at
from stickslip.nonsmooth.laws import MOST_ROWS, Laws
from stickslip.nonsmooth.problem import Problem

# Of the diagonals of W: contacts that feel each other less do not. Forces turn with the bodies, so that all contacts of a stack
# feel each other, less and less from one level to the next: W would be full, and its factorisation would take several times as
# long. What is left out is as small as rounding errors of solvers (`outer.EXACT`); the next linearised problem corrects it.
FAR = 1e-12
ROUNDED = 1e-12  # of a radius: what is left of it without the normal multiplier
NOISE = 1e-14  # of the largest diagonal of W: what elimination leaves of a row that nothing moves
WIDEST = 1e3  # of the median of all units
DENSE_BELOW = 200  # unknowns, for which dense elimination is faster
DENSE_STORED = 1000  # unknowns, for which parts of a dense matrix are taken faster


@jit_bare
def evaluate_all(tables: Tables, k: int, memory: np.ndarray, work: Work, fresh: bool, prox: float) -> float:
    """Kernels, branches and the residual of a stage; its size."""
    call_kernels(tables, k, memory, work, fresh, prox, 1.0)
    return set_residual(tables, k, memory, work)


@jit_bare
def _linearise(tables: Tables, k: int, memory: np.ndarray, work: Work, compliance: float) -> tuple[int, int]:
    """The linear system with all laws closed; unknowns and entries, or -1 if there are no laws that can be closed."""
    if not close_all(tables, k, memory, work):
        return -1, 0
    m = keep_unknowns(tables, k, work)
    return m, fill(tables, k, work, m, compliance, 0.0, tables.problems[k].band == SPARSE)


@jit_bare
def free_step(tables: Tables, k: int, work: Work) -> bool:
    """Newton's step of a stage in which no law applies."""
    return newton_step(tables, k, work, 0.0)


FOUND = np.dtype(
    [(name, np.int64) for name in ("first", "size", "kind", "cone", "z", "coefficients", "n_coefficients")]
    + [("coupling_0", np.int64), ("coupling_1", np.int64), ("slope", np.float64), ("radius", np.float64)]
)  # one law as the compiled loop finds it; z and its coefficients begin at these outputs


class LocalLaw(NamedTuple):
    """One law that applies: its first unknown, its size and kind, z and the derivative of z, radius and what it depends on.

    A law of the kind CONE also has the address of its kernel, and its coefficients.
    """

    first: int
    size: int
    kind: int
    z: np.ndarray
    slope: float
    radius: float
    couplings: tuple[tuple[int, float], ...]
    cone: int
    coefficients: np.ndarray


class LocalProblem(NamedTuple):
    """The problem, the multipliers it starts from, and the way back from new multipliers to a step of all unknowns."""

    problem: Problem
    z: np.ndarray
    unknown: np.ndarray  # of every row, among the unknowns of the stage
    slope: np.ndarray
    kept: np.ndarray  # unknowns that were eliminated
    constant: np.ndarray
    response: np.ndarray

    def step(self, z: np.ndarray, work: Work) -> None:
        """Write the step that leads to z to the workspace."""
        d = (self.z - z) / self.slope
        work.x["step"][self.unknown] = d * work.x["unit"][self.unknown]
        work.x["step"][self.kept] = (self.constant - self.response @ d) * work.x["unit"][self.kept]


def evaluate_stage(tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, fresh: bool) -> float:
    """Kernels, branches and the residual at the values in the memory; its size."""
    return float(_evaluate(tables, k, memory, work, fresh, options.prox))


def row_errors(tables: Tables, k: int, work: Work) -> np.ndarray:
    """The size of every row of a stage that was evaluated, in the measure of its residual."""
    stage = tables.problems[k]
    rows = work.x[: int(stage["n"])]
    factor = rows["factor"].copy()
    for group in tables.groups[stage["group_0"] : stage["group_1"]]:
        kind, laws = tables.kinds[group["kind"]], tables.laws[int(group["law_0"]) : int(group["law_1"])]
        instances = np.arange(int(kind["count"]))
        dofs, idle = (
            int(kind["first"]) + int(kind["width"]) * instances,
            work.offset[int(group["instance"]) + instances],
        )
        idle = idle == IDLE
        for b, law in enumerate(laws, int(group["law_0"])):
            place = tables.places[int(group["unknowns"]) + int(law["unknown"])]
            first = int(place["start"]) + tables.dofs[dofs + int(place["column"])]
            branch = work.branch[int(group["element"]) + b - int(group["law_0"]) + laws.size * instances]
            closed = (branch == CLOSED) | (b < group["law"])
            for a in range(int(law["rows"])):  # a closed contact misses its gap, others their percussion
                at = first + a
                factor[at[closed]] = rows["per_size"][at[closed]]
                factor[at[idle]] = 0.0
    return np.abs(rows["residual"] * factor)


def local_problem(tables: Tables, k: int, memory: np.ndarray, work: Work) -> LocalProblem | None:
    """The problem at the values that were last evaluated; None for a stage without laws."""
    m, count = linear_system(tables, k, memory, work, COMPLIANCE)
    if m < 0:
        return None
    x, stage = work.x, tables.problems[k]
    laws = _laws(tables, k, work)
    if not laws:
        return None
    blocks, elements = _elements(laws)
    unknown = np.concatenate([np.arange(law.first, law.first + law.size) for law in blocks])
    inner = x["column"][unknown]
    outer = np.setdiff1d(np.arange(m), inner)
    A, b = _matrix(stage, work, m, count), work.right[:m].copy()
    S, c = _dense(A, inner, inner), b[inner]
    solved = np.zeros((0, 1 + inner.size))
    if outer.size:
        both = np.column_stack([b[outer], _dense(A, outer, inner)])
        solved = (
            np.linalg.solve(_dense(A, outer, outer), both)
            if outer.size < DENSE_BELOW
            else splu(sp.csc_matrix(A)[outer][:, outer]).solve(both)
        )
        coupling = A[np.ix_(inner, outer)] if isinstance(A, np.ndarray) else A[inner][:, outer]
        S, c = S - coupling @ solved[:, 1:], c - coupling @ solved[:, 0]
    S[np.diag_indices_from(S)] -= COMPLIANCE
    size = x["size"][unknown]  # back to the units of the model
    S, c = S * size[:, None], c * size
    if not (np.isfinite(S).all() and np.isfinite(c).all()):
        return None
    z = np.concatenate([law.z for law in blocks])
    slope = np.concatenate([np.full(law.size, law.slope) for law in blocks])
    W = S / slope
    table = _law_table(blocks, elements, z, work)
    cones = tuple(cone_at(int(address)) if address else None for address in table.cone)
    units = _balance(W, table)
    diagonal = np.sqrt(np.abs(W.diagonal()))
    W[np.abs(W) <= FAR * (np.sqrt(units) * diagonal)[:, None] * (diagonal / np.sqrt(units))] = 0.0
    problem = Problem(table, sp.csr_matrix(W), c - W @ z, units=units, cones=cones, noise=NOISE)
    kept = x["kept"][:m][outer]
    return LocalProblem(problem, z, unknown, slope, kept, solved[:, 0], solved[:, 1:])


def _dense(A: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """A part of a matrix."""
    return np.asarray(A[np.ix_(rows, columns)] if isinstance(A, np.ndarray) else A[rows][:, columns].toarray())


def _matrix(stage: Any, work: Work, m: int, count: int) -> Any:
    """The linear system of a stage, dense if it is small."""
    if stage["band"] == SPARSE:
        entries = work.entries[:count]
        if m < DENSE_STORED:
            at = entries["row"] * m + entries["column"]
            return np.bincount(at, entries["value"], m * m).reshape(m, m)
        return sp.csr_matrix((entries["value"], (entries["row"], entries["column"])), (m, m))
    if stage["band"] < 0:
        return work.matrix[: m * m].reshape(m, m).copy()
    band = int(stage["band"])
    i, j = np.indices((m, 3 * band + 1))
    columns, values = i + j - band, work.matrix[: m * (3 * band + 1)].reshape(m, 3 * band + 1)
    inside = (columns >= 0) & (columns < m) & (values != 0)
    return sp.csr_matrix((values[inside], (i[inside], columns[inside])), (m, m))


@jit_bare
def _collect(tables: Tables, k: int, work: Work, laws: np.ndarray, index: np.ndarray, value: np.ndarray) -> int:
    """The laws with branches that apply and whose unknowns are kept, in the order of the stage; how many.

    Unknowns that radii depend on, and by how much, go to `index` and `value`.
    """
    stage, x, found, coupled = tables.problems[k], work.x, 0, 0
    for g in range(stage.group_0, stage.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            for b in range(group.law, group.law_1):
                law = tables.laws[b]
                place = tables.places[group.unknowns + law.unknown]
                first = place.start + tables.dofs[row + place.column]
                if offset == IDLE or work.branch[element + b - group.law_0] == OFF or x[first].column < 0:
                    continue
                out = laws[found]
                out.first, out.size, out.kind, out.cone = first, law.rows, law.kind, law.cone
                out.z, out.coefficients = offset + law.z, offset + law.coefficients
                out.n_coefficients = law.n_coefficients
                out.slope = work.outputs[offset + tables.entries[law.y_end].output] * x[first].unit
                out.radius, out.coupling_0 = 0.0, coupled
                if law.kind != NORMAL:
                    out.radius = work.outputs[offset + law.radius]
                    for e in range(law.z_end, law.radius_end):
                        other = tables.places[group.unknowns + tables.entries[e].unknown]
                        index[coupled] = other.start + tables.dofs[row + other.column]
                        value[coupled] = work.outputs[offset + tables.entries[e].output]
                        coupled += 1
                out.coupling_1 = coupled
                found += 1
            row += kind.width
            element += group.law_1 - group.law_0
    return found


def found_laws(tables: Tables, k: int, work: Work) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The laws with branches that apply and whose unknowns are kept (FOUND), and what their radii depend on."""
    stage, most, couplings = tables.problems[k], 0, 0
    for group in tables.groups[stage["group_0"] : stage["group_1"]]:
        laws, count = tables.laws[int(group["law"]) : int(group["law_1"])], int(tables.kinds[group["kind"]]["count"])
        most, couplings = most + count * len(laws), couplings + count * int((laws["radius_end"] - laws["z_end"]).sum())
    table, index, value = records(np.zeros(most, FOUND)), np.zeros(couplings, np.int64), np.zeros(couplings)
    return table[: collect(tables, k, work, table, index, value)], index, value


def _laws(tables: Tables, k: int, work: Work) -> list[LocalLaw]:
    """The same one by one, in the order of the stage."""
    (table, index, value), outputs = found_laws(tables, k, work), work.outputs
    pairs = list(zip(index.tolist(), value.tolist(), strict=True))
    return [
        LocalLaw(
            *(first, size, kind, outputs[z : z + size].copy(), slope, radius, tuple(pairs[begin:end]), cone),
            outputs[further : further + n_further].copy(),
        )
        for first, size, kind, cone, z, further, n_further, begin, end, slope, radius in table.tolist()
    ]


linear_system, collect, _evaluate = Direct(_linearise), Direct(_collect), Direct(evaluate_all)


def _elements(laws: list[LocalLaw]) -> tuple[list[LocalLaw], list[int]]:
    """Laws in the order of elements, a normal law before the friction whose radius it gives; where each element begins."""
    groups: dict[int, list[LocalLaw]] = {law.first: [law] for law in laws if law.kind == NORMAL}
    alone = []
    for law in laws:
        if law.kind != NORMAL:
            owner = next((j for j, _ in law.couplings if j in groups), -1)
            if owner >= 0 and sum(each.size for each in groups[owner]) + law.size <= MOST_ROWS:
                groups[owner].append(law)
            else:
                alone.append([law])
    ordered = [*groups.values(), *alone]
    return [law for group in ordered for law in group], [0, *np.cumsum([len(group) for group in ordered])]


def _law_table(blocks: list[LocalLaw], elements: list[int], z: np.ndarray, work: Work) -> Laws:
    size = np.array([law.size for law in blocks], np.int64)
    start = np.cumsum(size) - size
    normal, mu, radius = np.full(len(blocks), -1), np.zeros(len(blocks)), np.zeros(len(blocks))
    for e in range(len(elements) - 1):
        head = elements[e]
        for b in range(head, elements[e + 1]):
            law = blocks[b]
            radius[b] = law.radius
            for j, value in law.couplings:
                if work.x["column"][j] < 0:
                    radius[b] -= value * work.x["step"][j]  # a contact that is open whatever happens
                elif b > head and j == blocks[head].first:
                    normal[b], mu[b] = start[head], value * work.x["unit"][j] / blocks[head].slope
                    radius[b] -= mu[b] * z[start[head]]
                    if abs(radius[b]) <= ROUNDED * abs(law.radius):
                        radius[b] = 0.0
    kind = np.array([law.kind for law in blocks], np.int64)
    laws = Laws(kind, start, size, normal, mu, np.maximum(radius, 0.0), np.array(elements, np.int64))
    if not (kind == CONE).any():
        return laws
    coefficients = np.zeros((kind.size, max(law.coefficients.size for law in blocks)))
    for b, law in enumerate(blocks):
        coefficients[b, : law.coefficients.size] = law.coefficients
    return laws._replace(cone=np.array([law.cone for law in blocks], np.int64), coefficients=coefficients)


def _balance(W: np.ndarray, laws: Laws) -> np.ndarray:
    """What one unit of velocity is in each row: gaps and velocities may stand side by side.

    W is D times a symmetric matrix, D the units of its rows; balancing rows against columns finds D.
    """
    of = np.repeat(np.arange(laws.kind.size), laws.size)
    sums = np.add.reduceat(np.add.reduceat(np.abs(W), laws.start, axis=0), laws.start, axis=1)
    np.fill_diagonal(sums, 0.0)
    D = np.ones(laws.kind.size)
    for _ in range(10):
        row, column = sums @ D / D, (sums.T @ (1 / D)) * D
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.sqrt(row / column)
        change[~(np.isfinite(change) & (change > 0))] = 1.0
        D *= np.sqrt(change)
    # A row that others do not feel (accelerations of a contact that slips) has no unit of its own: what is found is unbounded,
    # and its error would count for nothing.
    return np.minimum(D, WIDEST * np.median(D))[of]

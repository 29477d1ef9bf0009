"""The linear part of a problem, in two forms that all solvers see alike.

    bodies   u = G v + w,  M v = f + F^T r     unknowns x = v; linear systems M + F^T C G on the graph of bodies
    local    u = W r + q                       unknowns x = r; linear systems I + C W, dense

C is block-diagonal over the elements: the derivative of the projection times beta. F, the directions of the forces, is G where
both are taken at one state; gaps at the end of a step and forces at its beginning differ by the turn of the normals. Both
matrices are regular however redundant the rows are. One type and an integer switch, so that a solver is compiled once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import jit, jit_bare, jit_inline
from stickslip.nonsmooth.graph import SIZE, BodyGraph, factor, substitute
from stickslip.nonsmooth.laws import MOST_ROWS, Laws


class Operator(NamedTuple):
    """Arrays of both forms; those of the other form are empty.

    For bodies: M and its inverse by blocks, f, the bodies a and b (or -1) of every element, G and F by rows in two halves.
    Local: W by rows, as compressed rows. `offset` is w or q. Scratch: matrix and pivots of dense systems.
    """

    bodies: int
    M: np.ndarray
    M_inverse: np.ndarray
    f: np.ndarray
    a: np.ndarray
    b: np.ndarray
    G_a: np.ndarray
    G_b: np.ndarray
    F_a: np.ndarray
    F_b: np.ndarray
    graph: BodyGraph
    begin: np.ndarray
    column: np.ndarray
    W: np.ndarray
    offset: np.ndarray
    matrix: np.ndarray
    pivots: np.ndarray


@jit
def size_of(op: Operator) -> int:
    """Number of unknowns x."""
    return op.f.size if op.bodies else op.offset.size


@jit
def velocities(op: Operator, laws: Laws, x: np.ndarray, u: np.ndarray) -> None:
    """u of the unknowns x."""
    if not op.bodies:
        for i in range(u.size):
            s = op.offset[i]
            for e in range(op.begin[i], op.begin[i + 1]):
                s += op.W[e] * x[op.column[e]]
            u[i] = s
        return
    for e in range(laws.element.size - 1):
        a, b = SIZE * op.a[e], SIZE * op.b[e]
        for i in range(laws.start[laws.element[e]], _end(laws, e)):
            s = op.offset[i]
            for c in range(SIZE):
                s += op.G_a[i, c] * x[a + c]
            if b >= 0:
                for c in range(SIZE):
                    s += op.G_b[i, c] * x[b + c]
            u[i] = s


@jit_bare
def _end(laws: Laws, e: int) -> int:
    """The row after the last of element e."""
    last = laws.element[e + 1] - 1
    return laws.start[last] + laws.size[last]


@jit
def add_forces(op: Operator, laws: Laws, r: np.ndarray, sign: float, out: np.ndarray) -> None:
    """out += sign F^T r."""
    for e in range(laws.element.size - 1):
        a, b = SIZE * op.a[e], SIZE * op.b[e]
        for i in range(laws.start[laws.element[e]], _end(laws, e)):
            f = sign * r[i]
            if f != 0.0:
                for c in range(SIZE):
                    out[a + c] += f * op.F_a[i, c]
                if b >= 0:
                    for c in range(SIZE):
                        out[b + c] += f * op.F_b[i, c]


@jit
def _times_blocks(blocks: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    for i in range(blocks.shape[0]):
        for r in range(SIZE):
            s = 0.0
            for c in range(SIZE):
                s += blocks[i, r, c] * x[SIZE * i + c]
            out[SIZE * i + r] = s


@jit
def unknowns_of(op: Operator, laws: Laws, r: np.ndarray, x: np.ndarray, work: np.ndarray) -> None:
    """x of the multipliers r: velocities M^-1 (f + F^T r), or r itself."""
    if op.bodies:
        work[: op.f.size] = op.f
        add_forces(op, laws, r, 1.0, work)
        _times_blocks(op.M_inverse, work, x)
    else:
        x[:] = r


@jit
def set_diagonal(op: Operator, laws: Laws, out: np.ndarray) -> None:
    """The diagonal of G M^-1 F^T."""
    for e in range(laws.element.size - 1):
        a, b = op.a[e], op.b[e]
        for i in range(laws.start[laws.element[e]], _end(laws, e)):
            s = 0.0
            for r in range(SIZE):
                for c in range(SIZE):
                    s += op.G_a[i, r] * op.M_inverse[a, r, c] * op.F_a[i, c]
                    if b >= 0:
                        s += op.G_b[i, r] * op.M_inverse[b, r, c] * op.F_b[i, c]
            out[i] = s


@jit
def residual_of(op: Operator, laws: Laws, x: np.ndarray, p: np.ndarray, g: np.ndarray) -> None:
    """g = M v - f - F^T p, or r - p: zero where the unknowns x belong to the multipliers p."""
    if op.bodies:
        _times_blocks(op.M, x, g)
        for i in range(g.size):
            g[i] -= op.f[i]
        add_forces(op, laws, p, -1.0, g)
    else:
        for i in range(g.size):
            g[i] = x[i] - p[i]


@jit
def merit(op: Operator, weight: np.ndarray, scale: np.ndarray, g: np.ndarray, work: np.ndarray) -> float:
    """Square of a residual, as kinetic energy: g^T M^-1 g, or by the Delassus diagonal and the units of its rows."""
    s = 0.0
    if op.bodies:
        _times_blocks(op.M_inverse, g, work)
        for i in range(g.size):
            s += g[i] * work[i]
    else:
        for i in range(g.size):
            s += g[i] ** 2 * weight[i] / scale[i]
    return s


@jit
def largest(
    op: Operator, weight: np.ndarray, scale: np.ndarray, speed: float, g: np.ndarray, work: np.ndarray
) -> float:
    """The largest component of a residual as a velocity, relative to that of the problem."""
    s = 0.0
    if op.bodies:
        _times_blocks(op.M_inverse, g, work)
        for i in range(g.size):
            s = max(s, abs(work[i]) / speed)
    else:
        for i in range(g.size):
            s = max(s, abs(g[i]) * weight[i] / scale[i])
    return s


# -- linear systems ----------------------------------------------------------------------------------------------------


@jit
def clear(op: Operator) -> None:
    """The matrix without contacts: M, or I."""
    if op.bodies:
        for k in range(op.graph.lower.shape[0]):
            for i in range(SIZE):
                for j in range(SIZE):
                    op.graph.lower[k, i, j] = op.graph.upper[k, i, j] = 0.0
        for k in range(op.M.shape[0]):
            for i in range(SIZE):
                for j in range(SIZE):
                    op.graph.diagonal[op.graph.place[k], i, j] = op.M[k, i, j]
        return
    for i in range(op.offset.size):
        for j in range(op.offset.size):
            op.matrix[i, j] = 1.0 if i == j else 0.0


@jit_bare
def add_elements(op: Operator, laws: Laws, C: np.ndarray) -> None:
    """Add F^T C G, or C W, of all elements, with a matrix C per element; zero where a contact is open."""
    for e in range(laws.element.size - 1):
        first, last = laws.start[laws.element[e]], _end(laws, e)
        for i in range(first, last):
            if op.bodies:
                _add_body_row(op, e, first, last, i, C)
                continue
            for k in range(first, last):
                x = C[e, i - first, k - first]
                if x != 0.0:
                    for j in range(op.begin[k], op.begin[k + 1]):
                        op.matrix[i, op.column[j]] += x * op.W[j]


@jit_inline
def _add_body_row(op: Operator, e: int, first: int, last: int, i: int, C: np.ndarray) -> None:
    """Add row i of C G, times the same row of F as a column, to the blocks of its bodies. In loops over blocks of three
    indices: with flat ones, whose sign Numba tests one by one, it takes four times as long.
    """
    g, a, b, x, closed = op.graph, op.a[e], op.b[e], op.graph.block, False
    for c in range(2 * SIZE):
        x[c] = 0.0
    for k in range(first, last):
        y = C[e, i - first, k - first]
        if y != 0.0:
            closed = True
            for c in range(SIZE):
                x[c] += y * op.G_a[k, c]
                x[SIZE + c] += y * op.G_b[k, c]
    if not closed:
        return
    for r in range(SIZE):
        f = op.F_a[i, r]
        for c in range(SIZE):
            g.diagonal[g.place[a], r, c] += f * x[c]
    if b < 0:
        return
    ab, ba, slot = g.lower, g.upper, g.slot[e]
    if g.flipped[e]:
        ab, ba = ba, ab
    for r in range(SIZE):
        f_a, f_b = op.F_a[i, r], op.F_b[i, r]
        for c in range(SIZE):
            g.diagonal[g.place[b], r, c] += f_b * x[SIZE + c]
        for c in range(SIZE):
            ab[slot, r, c] += f_a * x[SIZE + c]
        for c in range(SIZE):
            ba[slot, r, c] += f_b * x[c]


@jit
def multiply(op: Operator, laws: Laws, C: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """out = (M + F^T C G) x of bodies, with a matrix C per element; zero where a contact is open."""
    u = np.empty(MOST_ROWS)
    _times_blocks(op.M, x, out)
    for e in range(laws.element.size - 1):
        first, a, b = laws.start[laws.element[e]], SIZE * op.a[e], SIZE * op.b[e]
        m = _end(laws, e) - first
        still = True
        for i in range(m):
            for k in range(m):
                still = still and C[e, i, k] == 0.0
        if still:
            continue
        for i in range(m):
            u[i] = 0.0
            for c in range(SIZE):
                u[i] += op.G_a[first + i, c] * x[a + c]
            if b >= 0:
                for c in range(SIZE):
                    u[i] += op.G_b[first + i, c] * x[b + c]
        for i in range(m):
            f = 0.0
            for k in range(m):
                f += C[e, i, k] * u[k]
            if f != 0.0:
                for c in range(SIZE):
                    out[a + c] += f * op.F_a[first + i, c]
                if b >= 0:
                    for c in range(SIZE):
                        out[b + c] += f * op.F_b[first + i, c]


@jit
def factor_matrix(op: Operator) -> bool:
    """Factor what `clear` and `add_elements` made; False if it is singular."""
    return factor(op.graph) if op.bodies else _factor_dense(op.matrix, op.offset.size, op.pivots)


@jit
def solve_matrix(op: Operator, x: np.ndarray, work: np.ndarray) -> None:
    """Solve with the factors, in place."""
    if op.bodies:
        substitute(op.graph, x, work)
    else:
        _substitute_dense(op.matrix, op.offset.size, op.pivots, x)


@jit
def _factor_dense(A: np.ndarray, n: int, pivots: np.ndarray) -> bool:
    """L and U in place, with row pivots. Rows of the identity (open contacts) cost nothing, nor do zeros beside a band.

    `pivots`: for each row the one it was exchanged with, the end of its columns of U and the first one of L.
    """
    columns, below = np.empty(n, np.int64), np.empty(n, np.int64)  # below: last row that a column reaches
    right, left = pivots[n : 2 * n], pivots[2 * n : 3 * n]
    for i in range(n):
        below[i] = i
    end = 0  # of the columns of all rows so far
    for i in range(n):
        j = n
        while j > max(end, i + 1) and A[i, j - 1] == 0.0:
            j -= 1
        end = right[i] = max(end, j)
        j = 0
        while j < i and A[i, j] == 0.0:
            j += 1
        left[i], below[j] = j, max(below[j], i)
    last = 0  # of the rows that columns so far reach: exchanges stay among these
    for k in range(n):
        last = max(last, below[k] + 1)
        end = right[k] = right[last - 1]
        p, best = k, abs(A[k, k])
        for i in range(k + 1, last):
            if abs(A[i, k]) > best:
                p, best = i, abs(A[i, k])
        if not best > 0.0:
            return False
        pivots[k] = p
        if p != k:
            left[k], left[p] = left[p], left[k]
            for j in range(min(left[k], left[p]), end):
                A[k, j], A[p, j] = A[p, j], A[k, j]
        count = 0
        for j in range(k + 1, end):
            if A[k, j] != 0.0:
                columns[count] = j
                count += 1
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, last):
            if A[i, k] != 0.0:
                f = A[i, k] * inverse
                A[i, k] = f
                if 3 * count < end - k:
                    for c in range(count):
                        A[i, columns[c]] -= f * A[k, columns[c]]
                else:
                    for j in range(k + 1, end):
                        A[i, j] -= f * A[k, j]
    return True


@jit
def _substitute_dense(A: np.ndarray, n: int, pivots: np.ndarray, x: np.ndarray) -> None:
    for k in range(n):
        p = pivots[k]
        if p != k:
            x[k], x[p] = x[p], x[k]
    for k in range(n):
        for j in range(pivots[2 * n + k], k):
            x[k] -= A[k, j] * x[j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, pivots[n + k]):
            x[k] -= A[k, j] * x[j]
        x[k] /= A[k, k]

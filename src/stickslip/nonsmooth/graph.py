"""Block-sparse linear systems on the graph of bodies: nodes are bodies, an edge joins two bodies that touch.

The matrix M + G^T C G has a 6 x 6 block per body and per edge, is regular however redundant the contacts are, and fills
little where few bodies touch many others. The order of elimination and the pattern of the factors are found once per graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from stickslip.jit import jit, jit_bare, jit_inline

SIZE = 6  # of a block; smaller bodies are padded
SQUARE = SIZE * SIZE
FEW = 100  # bodies, whose order is found in a table of all pairs, which is faster than SuperLU's


class BodyGraph(NamedTuple):
    """Places of bodies and edges in the factors, and the factors.

    Body i is the column place[i]. Blocks below the diagonal in column j are begin[j] to begin[j + 1], in the rows `row`;
    those of U lie at the mirrored places. Edge e (-1: one body only) is block slot[e], transposed if flipped. The same numbers
    in a row are `*_flat`: with slices of blocks, which count references, a factorisation takes half as long again.
    """

    place: np.ndarray
    begin: np.ndarray
    row: np.ndarray
    slot: np.ndarray
    flipped: np.ndarray
    diagonal: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    diagonal_flat: np.ndarray
    lower_flat: np.ndarray
    upper_flat: np.ndarray
    lists: np.ndarray  # scratch: linked lists of the columns that wait for a row
    block: np.ndarray  # scratch: one block, twice


def graph_of(n_bodies: int, a: np.ndarray, b: np.ndarray) -> BodyGraph:
    """The graph of elements between the bodies a[e] and b[e] (-1: none), in an order of little fill."""
    edges = np.flatnonzero((b >= 0) & (a != b))
    first, second = a[edges], b[edges]
    place = (_order_of_few if n_bodies <= FEW else _order_of_many)(n_bodies, first, second)
    low, high = np.minimum(place[first], place[second]), np.maximum(place[first], place[second])
    pattern = np.unique(low * n_bodies + high)  # by columns
    begin, row = _fill(n_bodies, np.searchsorted(pattern, n_bodies * np.arange(n_bodies + 1)), pattern % n_bodies)
    filled = np.repeat(np.arange(n_bodies), np.diff(begin)) * n_bodies + row
    slot, flipped = np.full(a.size, -1), np.zeros(a.size, np.bool_)
    slot[edges], flipped[edges] = np.searchsorted(filled, low * n_bodies + high), place[first] < place[second]
    blocks = np.zeros((max(1, row.size), SIZE, SIZE))
    D, L, U = np.zeros((n_bodies, SIZE, SIZE)), blocks, blocks.copy()
    d, low, up = (each.reshape(-1) for each in (D, L, U))
    lists, block = np.zeros((4, n_bodies), np.int64), np.zeros(2 * SQUARE)
    return BodyGraph(place, begin, row, slot, flipped, D, L, U, d, low, up, lists, block)


@jit
def _order_of_few(n: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Place of every node in a minimum-degree order, the lowest of several first: by a table of all pairs."""
    near, degree, place = np.zeros((n, n), np.bool_), np.zeros(n, np.int64), np.full(n, -1)
    for e in range(a.size):
        near[a[e], b[e]] = near[b[e], a[e]] = True
    for i in range(n):
        for j in range(n):
            degree[i] += near[i, j]
    others = np.empty(n, np.int64)
    for k in range(n):
        node = -1
        for i in range(n):
            if place[i] < 0 and (node < 0 or degree[i] < degree[node]):
                node = i
        place[node], count = k, 0
        for i in range(n):
            if near[node, i] and place[i] < 0:
                others[count] = i
                degree[i] -= 1
                count += 1
        for i in others[:count]:
            for j in others[:count]:
                if i != j and not near[i, j]:
                    near[i, j] = True
                    degree[i] += 1
    return place


def _order_of_many(n: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same by SuperLU."""
    if a.size == 0:
        return np.arange(n)
    edges = sp.coo_matrix((np.ones(a.size), (a, b)), shape=(n, n)).tocsc()
    pattern = edges + edges.T
    pattern.data[:] = 1.0
    regular = (pattern + sp.diags(np.asarray(pattern.sum(axis=1)).ravel() + 1.0)).tocsc()
    order = splu(regular, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).perm_c
    return np.asarray(order, np.int64)


@jit
def _fill(n: int, begin: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pattern of the factor of a matrix that is given by its columns below the diagonal."""
    head, following, mark = np.full(n, -1), np.full(n, -1), np.full(n, -1)
    out, row = np.zeros(n + 1, np.int64), np.empty(64 * n + 1024, np.int64)
    for j in range(n):
        count = out[j]
        if count + n > row.size:
            longer = np.empty(2 * row.size + n, np.int64)
            longer[:count] = row[:count]
            row = longer
        mark[j] = j
        for e in range(begin[j], begin[j + 1]):
            if mark[index[e]] != j:
                mark[index[e]] = j
                row[count] = index[e]
                count += 1
        child = head[j]  # a column fills the column of its first row below the diagonal
        while child >= 0:
            for e in range(out[child], out[child + 1]):
                i = row[e]
                if i > j and mark[i] != j:
                    mark[i] = j
                    row[count] = i
                    count += 1
            child = following[child]
        row[out[j] : count] = np.sort(row[out[j] : count])
        out[j + 1] = count
        if count > out[j]:
            parent = row[out[j]]
            following[j], head[parent] = head[parent], j
    return out, row[: out[n]].copy()


@jit_inline
def _invert(A: np.ndarray, a: int, B: np.ndarray) -> bool:
    """B = A^-1 of the block at a, by Gauss-Jordan elimination with row pivots; A is lost. False if it is singular."""
    for i in range(SIZE):
        for j in range(SIZE):
            B[SIZE * i + j] = 1.0 if i == j else 0.0
    for k in range(SIZE):
        row, p, best = a + SIZE * k, k, abs(A[a + SIZE * k + k])
        for i in range(k + 1, SIZE):
            if abs(A[a + SIZE * i + k]) > best:
                p, best = i, abs(A[a + SIZE * i + k])
        if not best > 0.0:
            return False
        if p != k:
            for j in range(SIZE):
                A[row + j], A[a + SIZE * p + j] = A[a + SIZE * p + j], A[row + j]
                B[SIZE * k + j], B[SIZE * p + j] = B[SIZE * p + j], B[SIZE * k + j]
        inverse = 1.0 / A[row + k]
        for j in range(SIZE):
            A[row + j] *= inverse
            B[SIZE * k + j] *= inverse
        for i in range(SIZE):
            f = A[a + SIZE * i + k]
            if i != k and f != 0.0:
                for j in range(SIZE):
                    A[a + SIZE * i + j] -= f * A[row + j]
                    B[SIZE * i + j] -= f * B[SIZE * k + j]
    return True


@jit_inline
def _subtract_product(C: np.ndarray, c: int, A: np.ndarray, a: int, B: np.ndarray, b: int) -> None:
    """C -= A B of the blocks at c, a and b."""
    for i in range(0, SQUARE, SIZE):
        a0, a1, a2, a3, a4, a5 = A[a + i], A[a + i + 1], A[a + i + 2], A[a + i + 3], A[a + i + 4], A[a + i + 5]
        for j in range(SIZE):
            C[c + i + j] -= (
                (a0 * B[b + j] + a1 * B[b + SIZE + j])
                + (a2 * B[b + 2 * SIZE + j] + a3 * B[b + 3 * SIZE + j])
                + (a4 * B[b + 4 * SIZE + j] + a5 * B[b + 5 * SIZE + j])
            )


@jit_bare
def factor(g: BodyGraph) -> bool:
    """Replace the blocks by the factors L (unit diagonal) and U; diagonal blocks by their inverses. False if singular."""
    head, following, position, where = g.lists[0], g.lists[1], g.lists[2], g.lists[3]
    D, L, U, inverse, product = g.diagonal_flat, g.lower_flat, g.upper_flat, g.block[:SQUARE], g.block[SQUARE:]
    n = head.size
    for j in range(n):
        head[j] = -1
    for j in range(n):
        for e in range(g.begin[j], g.begin[j + 1]):
            where[g.row[e]] = e
        k = head[j]
        while k >= 0:  # columns with a block in row j
            after, p = following[k], position[k]
            _subtract_product(D, SQUARE * j, L, SQUARE * p, U, SQUARE * p)
            for e in range(p + 1, g.begin[k + 1]):
                to = where[g.row[e]]
                _subtract_product(L, SQUARE * to, L, SQUARE * e, U, SQUARE * p)
                _subtract_product(U, SQUARE * to, L, SQUARE * p, U, SQUARE * e)
            position[k] = p + 1
            if p + 1 < g.begin[k + 1]:
                i = g.row[p + 1]
                following[k], head[i] = head[i], k
            k = after
        if not _invert(D, SQUARE * j, inverse):
            return False
        for i in range(SQUARE):
            D[SQUARE * j + i] = inverse[i]
        for e in range(g.begin[j], g.begin[j + 1]):
            for i in range(SQUARE):
                product[i] = 0.0
            _subtract_product(product, 0, L, SQUARE * e, inverse, 0)
            for i in range(SQUARE):
                L[SQUARE * e + i] = -product[i]
        if g.begin[j] < g.begin[j + 1]:
            position[j] = g.begin[j]
            i = g.row[g.begin[j]]
            following[j], head[i] = head[i], j
    return True


@jit_inline
def _row(A: np.ndarray, a: int, x0: float, x1: float, x2: float, x3: float, x4: float, x5: float) -> float:
    """A row of a block times x."""
    return (A[a] * x0 + A[a + 1] * x1) + (A[a + 2] * x2 + A[a + 3] * x3) + (A[a + 4] * x4 + A[a + 5] * x5)


@jit_bare
def substitute(g: BodyGraph, x: np.ndarray, work: np.ndarray) -> None:
    """Solve with the factors, in place; x has SIZE numbers per body."""
    n, D, L, U = g.lists.shape[1], g.diagonal_flat, g.lower_flat, g.upper_flat
    for i in range(n):
        for c in range(SIZE):
            work[SIZE * g.place[i] + c] = x[SIZE * i + c]
    for j in range(n):
        k = SIZE * j
        x0, x1, x2, x3, x4, x5 = work[k], work[k + 1], work[k + 2], work[k + 3], work[k + 4], work[k + 5]
        for e in range(g.begin[j], g.begin[j + 1]):
            i, at = SIZE * g.row[e], SQUARE * e
            for r in range(SIZE):
                work[i + r] -= _row(L, at + SIZE * r, x0, x1, x2, x3, x4, x5)
    for j in range(n - 1, -1, -1):
        k = SIZE * j
        for e in range(g.begin[j], g.begin[j + 1]):
            i, at = SIZE * g.row[e], SQUARE * e
            x0, x1, x2, x3, x4, x5 = work[i], work[i + 1], work[i + 2], work[i + 3], work[i + 4], work[i + 5]
            for r in range(SIZE):
                work[k + r] -= _row(U, at + SIZE * r, x0, x1, x2, x3, x4, x5)
        x0, x1, x2, x3, x4, x5 = work[k], work[k + 1], work[k + 2], work[k + 3], work[k + 4], work[k + 5]
        for r in range(SIZE):
            work[k + r] = _row(D, SQUARE * j + SIZE * r, x0, x1, x2, x3, x4, x5)
    for i in range(n):
        for c in range(SIZE):
            x[SIZE * i + c] = work[SIZE * g.place[i] + c]

"""Block-sparse linear systems on the graph of bodies: nodes are bodies, an edge joins two bodies that touch.

The matrix M + G^T C G has a 6 x 6 block per body and per edge, is regular however redundant the contacts are, and fills
little where few bodies touch many others. The order of elimination and the pattern of the factors are found once per graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from stickslip.jit import jit

SIZE = 6  # of a block; smaller bodies are padded


class BodyGraph(NamedTuple):
    """Places of bodies and edges in the factors, and the factors.

    Body i is the column place[i]. Blocks below the diagonal in column j are begin[j] to begin[j + 1], in the rows `row`;
    those of U lie at the mirrored places. Edge e (-1: one body only) is block slot[e], transposed if flipped.
    """

    place: np.ndarray
    begin: np.ndarray
    row: np.ndarray
    slot: np.ndarray
    flipped: np.ndarray
    diagonal: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    lists: np.ndarray  # scratch: linked lists of the columns that wait for a row


def graph_of(n_bodies: int, a: np.ndarray, b: np.ndarray) -> BodyGraph:
    """The graph of elements between the bodies a[e] and b[e] (-1: none), in an order of little fill."""
    joined = (b >= 0) & (a != b)
    place = _minimum_degree(n_bodies, a[joined], b[joined])
    low = np.minimum(place[a[joined]], place[b[joined]])
    high = np.maximum(place[a[joined]], place[b[joined]])
    pattern = sp.coo_matrix((np.ones(low.size), (high, low)), shape=(n_bodies, n_bodies)).tocsc()
    begin, row = _fill(n_bodies, pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64))
    slot, flipped = np.full(a.size, -1), np.zeros(a.size, np.bool_)
    edges = np.flatnonzero(joined)
    for e, i, j in zip(edges, high, low, strict=True):
        slot[e] = begin[j] + np.searchsorted(row[begin[j] : begin[j + 1]], i)
        flipped[e] = place[a[e]] < place[b[e]]
    blocks = np.zeros((max(1, row.size), SIZE, SIZE))
    diagonal, lists = np.zeros((n_bodies, SIZE, SIZE)), np.zeros((4, n_bodies), np.int64)
    return BodyGraph(place, begin, row, slot, flipped, diagonal, blocks, blocks.copy(), lists)


def _minimum_degree(n: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Place of every node in a minimum-degree order: the one that SuperLU takes for this pattern."""
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


@jit
def _invert(A: np.ndarray, B: np.ndarray) -> bool:
    """B = A^-1 by Gauss-Jordan elimination with row pivots; A is lost. False if it is singular."""
    for i in range(SIZE):
        for j in range(SIZE):
            B[i, j] = 1.0 if i == j else 0.0
    for k in range(SIZE):
        p, best = k, abs(A[k, k])
        for i in range(k + 1, SIZE):
            if abs(A[i, k]) > best:
                p, best = i, abs(A[i, k])
        if not best > 0.0:
            return False
        if p != k:
            for j in range(SIZE):
                A[k, j], A[p, j] = A[p, j], A[k, j]
                B[k, j], B[p, j] = B[p, j], B[k, j]
        inverse = 1.0 / A[k, k]
        for j in range(SIZE):
            A[k, j] *= inverse
            B[k, j] *= inverse
        for i in range(SIZE):
            f = A[i, k]
            if i != k and f != 0.0:
                for j in range(SIZE):
                    A[i, j] -= f * A[k, j]
                    B[i, j] -= f * B[k, j]
    return True


@jit
def _subtract_product(C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    for i in range(SIZE):
        for k in range(SIZE):
            f = A[i, k]
            for j in range(SIZE):
                C[i, j] -= f * B[k, j]


@jit
def factor(g: BodyGraph) -> bool:
    """Replace the blocks by the factors L (unit diagonal) and U; diagonal blocks by their inverses. False if singular."""
    head, following, position, where = g.lists[0], g.lists[1], g.lists[2], g.lists[3]
    n, inverse, product = g.diagonal.shape[0], np.empty((SIZE, SIZE)), np.empty((SIZE, SIZE))
    head[:] = -1
    for j in range(n):
        for e in range(g.begin[j], g.begin[j + 1]):
            where[g.row[e]] = e
        k = head[j]
        while k >= 0:  # columns with a block in row j
            after, p = following[k], position[k]
            _subtract_product(g.diagonal[j], g.lower[p], g.upper[p])
            for e in range(p + 1, g.begin[k + 1]):
                to = where[g.row[e]]
                _subtract_product(g.lower[to], g.lower[e], g.upper[p])
                _subtract_product(g.upper[to], g.lower[p], g.upper[e])
            position[k] = p + 1
            if p + 1 < g.begin[k + 1]:
                i = g.row[p + 1]
                following[k], head[i] = head[i], k
            k = after
        if not _invert(g.diagonal[j], inverse):
            return False
        g.diagonal[j] = inverse
        for e in range(g.begin[j], g.begin[j + 1]):
            product[:, :] = 0.0
            _subtract_product(product, g.lower[e], inverse)
            for r in range(SIZE):
                for c in range(SIZE):
                    g.lower[e, r, c] = -product[r, c]
        if g.begin[j] < g.begin[j + 1]:
            position[j] = g.begin[j]
            i = g.row[g.begin[j]]
            following[j], head[i] = head[i], j
    return True


@jit
def substitute(g: BodyGraph, x: np.ndarray, work: np.ndarray) -> None:
    """Solve with the factors, in place; x has SIZE numbers per body."""
    n, y = g.diagonal.shape[0], np.empty(SIZE)
    for i in range(n):
        for c in range(SIZE):
            work[SIZE * g.place[i] + c] = x[SIZE * i + c]
    for j in range(n):
        for e in range(g.begin[j], g.begin[j + 1]):
            i = SIZE * g.row[e]
            for r in range(SIZE):
                for c in range(SIZE):
                    work[i + r] -= g.lower[e, r, c] * work[SIZE * j + c]
    for j in range(n - 1, -1, -1):
        for e in range(g.begin[j], g.begin[j + 1]):
            i = SIZE * g.row[e]
            for r in range(SIZE):
                for c in range(SIZE):
                    work[SIZE * j + r] -= g.upper[e, r, c] * work[i + c]
        for r in range(SIZE):
            y[r] = 0.0
            for c in range(SIZE):
                y[r] += g.diagonal[j, r, c] * work[SIZE * j + c]
        for r in range(SIZE):
            work[SIZE * j + r] = y[r]
    for i in range(n):
        for c in range(SIZE):
            x[SIZE * i + c] = work[SIZE * g.place[i] + c]

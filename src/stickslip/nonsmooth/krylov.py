"""Newton directions with the factors of an earlier matrix: GMRES, preconditioned from the right.

From one Newton step to the next a few contacts change between stick, slip and open, and beta grows by a factor. Each contact
that changes is an eigenvalue apart from the others, and costs GMRES about one iteration; a factor of four in beta costs six.
An iteration is one substitution, which is 75 times cheaper than a factorisation in a pile of 1000 spheres: 18 capped stages
of such a pile took 321 factorisations without, 41 with it.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from stickslip.jit import jit
from stickslip.nonsmooth.graph import SIZE
from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.operator import Operator, multiply, solve_matrix

MOST = 20  # iterations
LOOSE = 1e-2  # relative residual of a direction
WORTH = 1 / 3  # of a factorisation: what iterations may cost
LEAST = 10  # iterations: fewer are rarely enough, and are lost then


@jit
def affordable(op: Operator, elements: int) -> int:
    """How many iterations are worth their time, by counting operations of a factorisation, a substitution and a product."""
    n, blocks, squares = op.graph.diagonal.shape[0], op.graph.row.size, 0
    for j in range(n):
        squares += (op.graph.begin[j + 1] - op.graph.begin[j]) ** 2
    factor = 2 * SIZE**3 * (squares + blocks + n)
    iteration = 4 * SIZE**2 * (blocks + n) + 8 * 3 * SIZE * elements + 4 * MOST * SIZE * n
    most = min(MOST, int(WORTH * factor / iteration))
    return most if most >= LEAST else 0


@jit
def _dot(a: np.ndarray, b: np.ndarray) -> float:
    """Four partial sums: the order of additions, and so the result, does not depend on a library or its threads."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    n = a.size - a.size % 4
    for i in range(0, n, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(n, a.size):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@jit
def gmres(
    op: Operator,
    laws: Laws,
    C: np.ndarray,
    x: np.ndarray,
    most: int,
    V: np.ndarray,
    vector: np.ndarray,
    work: np.ndarray,
) -> bool:
    """Solve (M + F^T C G) x = x with the factors at hand, in at most so many iterations; False if that was not enough.

    C: a matrix per element. V: scratch of most + 1 rows.
    """
    H, turn, g = np.zeros((most + 1, most)), np.zeros((most, 2)), np.zeros(most + 1)
    size = sqrt(_dot(x, x))
    if not 0.0 < size < np.inf:
        return size == 0.0
    for i in range(x.size):
        V[0, i] = x[i] / size
    g[0], done, enough = size, 0, False
    while done < most and not enough:
        k = done
        vector[:] = V[k]
        solve_matrix(op, vector, work)
        multiply(op, laws, C, vector, V[k + 1])
        for i in range(k + 1):
            H[i, k] = _dot(V[i], V[k + 1])
            for j in range(x.size):
                V[k + 1, j] -= H[i, k] * V[i, j]
        rest = sqrt(_dot(V[k + 1], V[k + 1]))
        for i in range(k):
            upper = turn[i, 0] * H[i, k] + turn[i, 1] * H[i + 1, k]
            H[i + 1, k] = turn[i, 0] * H[i + 1, k] - turn[i, 1] * H[i, k]
            H[i, k] = upper
        length = sqrt(H[k, k] ** 2 + rest**2)
        if not 0.0 < length < np.inf:
            return False
        turn[k, 0], turn[k, 1] = H[k, k] / length, rest / length
        H[k, k] = length
        g[k + 1], g[k] = -turn[k, 1] * g[k], turn[k, 0] * g[k]
        done += 1
        enough = abs(g[done]) <= LOOSE * size
        if not enough and rest > 0.0:
            for j in range(x.size):
                V[done, j] /= rest
    if not enough:
        return False
    for i in range(done - 1, -1, -1):
        for j in range(i + 1, done):
            g[i] -= H[i, j] * g[j]
        g[i] /= H[i, i]
    x[:] = 0.0
    for k in range(done):
        for j in range(x.size):
            x[j] += g[k] * V[k, j]
    solve_matrix(op, x, work)
    return True

"""Gauss-Seidel over contacts with Anderson acceleration: cheap steps without a factorisation, for many easy contacts.

A sweep solves the laws of one element after the other for the present velocities of all others: the normal row exactly,
friction by its projection, repeated a few times because they act on each other. Every PERIOD sweeps the map "PERIOD sweeps"
is accelerated by Anderson's method of type II with a memory of MEMORY differences,

    f = G(r) - r,   gamma = argmin |f - dF gamma|,   r <- G(r) - dG gamma.

The memory is dropped while |f| grows. A run ends with a sweep, so that r is feasible.
"""

from __future__ import annotations

import numpy as np

from stickslip.jit import jit
from stickslip.nonsmooth.cones import NORMAL, ZERO, project_normal
from stickslip.nonsmooth.graph import SIZE
from stickslip.nonsmooth.laws import MOST_ROWS, Laws, project_friction
from stickslip.nonsmooth.measure import Scales, Scratch, error_of
from stickslip.nonsmooth.operator import Operator

MEMORY, PERIOD = 5, 3
LOCAL = 10  # repetitions inside one element
CERTIFY = 30  # sweeps between two looks at the residual


@jit
def local_blocks(op: Operator, laws: Laws, out: np.ndarray) -> None:
    """The Delassus matrix of every element by itself, G M^-1 F^T or the diagonal block of W; out is (elements, m, m)."""
    half = np.empty((MOST_ROWS, SIZE))
    out[:, :, :] = 0.0
    for e in range(laws.element.size - 1):
        row, last = laws.start[laws.element[e]], laws.element[e + 1] - 1
        m = laws.start[last] + laws.size[last] - row
        if not op.bodies:
            for i in range(m):
                for k in range(op.begin[row + i], op.begin[row + i + 1]):
                    j = op.column[k] - row
                    if 0 <= j < m:
                        out[e, i, j] += op.W[k]
            continue
        for side in range(2):
            body = op.a[e] if side == 0 else op.b[e]
            if body < 0:
                continue
            G, F = (op.G_a, op.F_a) if side == 0 else (op.G_b, op.F_b)
            for i in range(m):
                for c in range(SIZE):
                    half[i, c] = 0.0
                    for d in range(SIZE):
                        half[i, c] += G[row + i, d] * op.M_inverse[body, d, c]
            for i in range(m):
                for j in range(m):
                    for c in range(SIZE):
                        out[e, i, j] += half[i, c] * F[row + j, c]


@jit
def _sweep(op: Operator, laws: Laws, blocks: np.ndarray, v: np.ndarray, r: np.ndarray) -> None:
    """One sweep; of bodies the velocities v follow the multipliers r."""
    u, new, trial = np.empty(MOST_ROWS), np.empty(MOST_ROWS), np.empty(MOST_ROWS)
    kept = np.empty(MOST_ROWS)
    for e in range(laws.element.size - 1):
        first, last = laws.element[e], laws.element[e + 1]
        row = laws.start[first]
        m = laws.start[last - 1] + laws.size[last - 1] - row
        a, b = (SIZE * op.a[e], SIZE * op.b[e]) if op.bodies else (0, 0)
        still = True
        for i in range(m):
            s = op.offset[row + i]
            if op.bodies:
                for c in range(SIZE):
                    s += op.G_a[row + i, c] * v[a + c]
                if b >= 0:
                    for c in range(SIZE):
                        s += op.G_b[row + i, c] * v[b + c]
            else:
                for k in range(op.begin[row + i], op.begin[row + i + 1]):
                    s += op.W[k] * r[op.column[k]]
            u[i] = s
            new[i] = r[row + i]
            still = still and new[i] == 0.0
        if still and m > 0 and laws.kind[first] == NORMAL and u[0] >= 0.0:
            fixed = True  # an open contact stays open; friction of its own radius does not
            for q in range(first, last):
                fixed = fixed and not laws.radius[q] > 0.0
            if fixed:
                continue
        W = blocks[e]
        for _ in range(LOCAL):
            change, size = 0.0, 0.0
            for q in range(first, last):
                i, k = laws.start[q] - row, laws.size[q]
                stiff = 0.0
                for j in range(i, i + k):
                    total = 0.0
                    for o in range(i, i + k):
                        total += abs(W[j, o])
                    stiff = max(stiff, total)
                if stiff == 0.0:
                    continue
                for j in range(i, i + k):
                    kept[j] = new[j]
                    trial[j] = new[j] - u[j] / stiff
                if laws.kind[q] == NORMAL:
                    new[i] = project_normal(trial[i])
                elif laws.kind[q] == ZERO:
                    for j in range(i, i + k):
                        new[j] = trial[j]
                else:
                    n = laws.normal[q]
                    radius = laws.radius[q] + (laws.mu[q] * new[n - row] if n >= 0 else 0.0)
                    project_friction(laws, q, trial, i, radius, new)
                for j in range(i, i + k):
                    d = new[j] - kept[j]
                    if d != 0.0:
                        change = max(change, abs(d))
                        for o in range(m):
                            u[o] += W[o, j] * d
                    size = max(size, abs(new[j] - r[row + j]))
            if change <= 1e-3 * size:
                break
        for i in range(m):
            d = new[i] - r[row + i]
            r[row + i] = new[i]
            if op.bodies and d != 0.0:
                _push(op.M_inverse[op.a[e]], op.F_a[row + i], d, v, a)
                if b >= 0:
                    _push(op.M_inverse[op.b[e]], op.F_b[row + i], d, v, b)


@jit
def _push(inverse: np.ndarray, F: np.ndarray, d: float, v: np.ndarray, at: int) -> None:
    for c in range(SIZE):
        s = 0.0
        for k in range(SIZE):
            s += inverse[c, k] * F[k]
        v[at + c] += d * s


@jit
def _combine(dF: np.ndarray, f: np.ndarray, h: int, A: np.ndarray, gamma: np.ndarray) -> None:
    """gamma of min |f - gamma dF|: normal equations of at most MEMORY unknowns, slightly regularised, by Cholesky."""
    trace = 0.0
    for i in range(h):
        for j in range(i + 1):
            A[i, j] = np.dot(dF[i], dF[j])
        trace += A[i, i]
        gamma[i] = np.dot(dF[i], f)
    shift = 1e-10 * trace + 1e-300
    for i in range(h):
        for j in range(i + 1):
            s = A[i, j] + (shift if i == j else 0.0)
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = np.sqrt(max(s, shift)) if i == j else s / A[j, j]
    for i in range(h):
        for k in range(i):
            gamma[i] -= A[i, k] * gamma[k]
        gamma[i] /= A[i, i]
    for i in range(h - 1, -1, -1):
        for k in range(i + 1, h):
            gamma[i] -= A[k, i] * gamma[k]
        gamma[i] /= A[i, i]


@jit
def sweeps(
    op: Operator, laws: Laws, scales: Scales, r: np.ndarray, tol: float, most: int, history: np.ndarray, s: Scratch
) -> tuple[float, int]:
    """Accelerated sweeps from r, at most `most`; residual and sweeps. history: scratch of 2 MEMORY + 3 rows."""
    n = r.size
    dF, dG = history[:MEMORY], history[MEMORY : 2 * MEMORY]
    f, f_old, g_old = history[2 * MEMORY], history[2 * MEMORY + 1], history[2 * MEMORY + 2]
    A, gamma = np.zeros((MEMORY, MEMORY)), np.zeros(MEMORY)
    blocks = np.zeros((laws.element.size - 1, MOST_ROWS, MOST_ROWS))
    local_blocks(op, laws, blocks)
    filled, last, done, root = 0, -1.0, 0, np.sqrt(scales.weight / scales.scale)
    error = error_of(op, laws, scales, r, s)  # leaves the velocities of bodies in s.x
    least, checked = error, 0
    s.best[:] = r
    while error > tol and done < most:
        for i in range(n):
            f[i] = r[i]
        for _ in range(PERIOD):
            _sweep(op, laws, blocks, s.x, r)
        done += PERIOD
        square = 0.0
        for i in range(n):
            f[i] = (r[i] - f[i]) * root[i]  # differences measured as energies
            square += f[i] * f[i]
        if done - checked >= CERTIFY or done >= most or square == 0.0:
            checked, error = done, error_of(op, laws, scales, r, s)
            if error < least:
                least = error
                s.best[:] = r
            if error <= tol or not error < np.inf or square == 0.0:
                break
        if last >= 0.0 and square > last:
            filled = 0
        elif last >= 0.0:
            k = filled % MEMORY
            for i in range(n):
                dF[k, i] = f[i] - f_old[i]
                dG[k, i] = r[i] - g_old[i]
            filled += 1
        last = square
        for i in range(n):
            f_old[i] = f[i]
            g_old[i] = r[i]
        h = min(filled, MEMORY)
        if h > 0 and done < most:
            _combine(dF, f, h, A, gamma)
            for k in range(h):
                for i in range(n):
                    r[i] -= gamma[k] * dG[k, i]
            if op.bodies:
                error_of(op, laws, scales, r, s)  # velocities of the extrapolated multipliers
    r[:] = s.best
    return least, done

"""Linear systems of one Newton step, dense or banded, in place, without allocation."""

from __future__ import annotations

import numpy as np

from stickslip.jit import jit_bare


@jit_bare
def eliminate(a: np.ndarray, b: np.ndarray, n: int, threshold: float, rows: np.ndarray, columns: np.ndarray) -> bool:
    """Solve a x = b for the n x n matrix whose rows lie one after another in a; False if it is singular.

    Gaussian elimination with row pivoting; x replaces b. Systems here have unit scale (see `engine.advance`), so that a pivot
    below `threshold` means dependent constraints. Matrices of mechanisms are mostly zeros: each step touches only the `rows`
    and `columns` (scratch) where the pivot's column and row are not zero, which halves the time for a slider-crank.
    """
    for k in range(n):
        p, best, n_rows = k, abs(a[k * n + k]), 0
        for i in range(k + 1, n):
            size = abs(a[i * n + k])
            if size > 0.0:
                rows[n_rows] = i
                n_rows += 1
                if size > best:
                    p, best = i, size
        if not best > threshold:
            return False
        if n_rows == 0:
            continue
        if p != k:
            b[k], b[p] = b[p], b[k]
            for j in range(k, n):
                a[k * n + j], a[p * n + j] = a[p * n + j], a[k * n + j]
        n_columns = 0
        for j in range(k + 1, n):
            if a[k * n + j] != 0.0:
                columns[n_columns] = j
                n_columns += 1
        inverse = 1.0 / a[k * n + k]
        for r in range(n_rows):
            i = rows[r]
            f = a[i * n + k] * inverse
            b[i] -= f * b[k]
            if 3 * n_columns < n - k:
                for c in range(n_columns):
                    a[i * n + columns[c]] -= f * a[k * n + columns[c]]
            else:
                for j in range(k + 1, n):
                    a[i * n + j] -= f * a[k * n + j]
    for k in range(n - 1, -1, -1):
        b[k] /= a[k * n + k]
        for i in range(k):
            b[i] -= a[i * n + k] * b[k]
    return True


@jit_bare
def reduce_to_last(a: np.ndarray, b: np.ndarray, n: int, first: int, threshold: float) -> bool:
    """Eliminate the first unknowns of a x = b: its last n - first rows are then a system for the others alone.

    Rows of the first are exchanged among each other only; False if these are singular.
    """
    for k in range(first):
        p, best = k, abs(a[k * n + k])
        for i in range(k + 1, first):
            size = abs(a[i * n + k])
            if size > best:
                p, best = i, size
        if not best > threshold:
            return False
        if p != k:
            b[k], b[p] = b[p], b[k]
            for j in range(k, n):
                a[k * n + j], a[p * n + j] = a[p * n + j], a[k * n + j]
        for i in range(k + 1, n):
            if a[i * n + k] != 0.0:
                f = a[i * n + k] / a[k * n + k]
                b[i] -= f * b[k]
                for j in range(k + 1, n):
                    a[i * n + j] -= f * a[k * n + j]
    return True


@jit_bare
def eliminate_band(a: np.ndarray, b: np.ndarray, n: int, band: int, threshold: float) -> bool:
    """The same for a matrix with `band` entries beside the diagonal on either side.

    Row i holds the columns i - band to i + 2 band, in a[i (3 band + 1)] and after; pivoting fills the last third.
    """
    s = 3 * band  # so that entry (i, j) is a[i * s + j + band]
    for k in range(n):
        last = min(n, k + band + 1)
        p, best = k, abs(a[k * s + k + band])
        for i in range(k + 1, last):
            size = abs(a[i * s + k + band])
            if size > best:
                p, best = i, size
        if not best > threshold:
            return False
        right = min(n, k + 2 * band + 1)
        if p != k:
            b[k], b[p] = b[p], b[k]
            for j in range(k, right):
                a[k * s + j + band], a[p * s + j + band] = a[p * s + j + band], a[k * s + j + band]
        inverse = 1.0 / a[k * s + k + band]
        for i in range(k + 1, last):
            f = a[i * s + k + band]
            if f != 0.0:
                f *= inverse
                b[i] -= f * b[k]
                for j in range(k + 1, right):
                    a[i * s + j + band] -= f * a[k * s + j + band]
    for i in range(n - 1, -1, -1):
        x = b[i]
        for j in range(i + 1, min(n, i + 2 * band + 1)):
            x -= a[i * s + j + band] * b[j]
        b[i] = x / a[i * s + i + band]
    return True

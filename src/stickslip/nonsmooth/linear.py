"""Dense linear systems of one Newton step, in place, without allocation."""

from __future__ import annotations

import numpy as np

from stickslip.jit import jit


@jit
def eliminate(a: np.ndarray, n: int, threshold: float) -> bool:
    """Solve the n equations whose matrix and right-hand side are the rows of a, n + 1 wide and packed; False if singular.

    Gaussian elimination with row pivoting. The solution replaces the right-hand side. Systems here have unit scale (see
    `engine.advance`), so that a pivot below `threshold` means dependent constraints.
    """
    w = n + 1
    for k in range(n):
        p, best = k, abs(a[k * w + k])
        for i in range(k + 1, n):
            size = abs(a[i * w + k])
            if size > best:
                p, best = i, size
        if not best > threshold:
            return False
        if p != k:
            for j in range(k, w):
                a[k * w + j], a[p * w + j] = a[p * w + j], a[k * w + j]
        inverse = 1.0 / a[k * w + k]
        for i in range(k + 1, n):
            f = a[i * w + k]
            if f != 0.0:
                f *= inverse
                for j in range(k + 1, w):
                    a[i * w + j] -= f * a[k * w + j]
    for i in range(n - 1, -1, -1):
        x = a[i * w + n]
        for j in range(i + 1, n):
            x -= a[i * w + j] * a[j * w + n]
        a[i * w + n] = x / a[i * w + i]
    return True

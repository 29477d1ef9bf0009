"""Expressions as fast functions of arrays, and a matrix that is factored once: what derivatives are computed with."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import casadi as ca
import numpy as np

SINGULAR = 1e-13  # reciprocal condition number below which a matrix counts as singular
FEW = 2000  # numbers on the right-hand side up to which columns are solved one by one


class Numeric:
    """A CasADi function of vectors as a fast function of NumPy arrays."""

    def __init__(self, inputs: Sequence[ca.SX], outputs: Sequence[ca.SX]):
        dense = [ca.densify(x) for x in outputs]
        self._f = ca.Function("f", list(inputs), dense)
        self._arguments = [np.zeros(max(x.numel(), 1)) for x in inputs]
        self._sizes = [x.numel() for x in inputs]
        self._results = [np.zeros(x.shape, order="F") for x in dense]
        buffer, self._evaluate = self._f.buffer()
        for k, a in enumerate(self._arguments):
            buffer.set_arg(k, memoryview(a.data))
        for k, b in enumerate(self._results):
            if b.size:
                buffer.set_res(k, memoryview(b.T.data))
        self._buffer = buffer
        self._lock = Lock()  # the buffers are one for all threads

    def __call__(self, *values: float | np.ndarray) -> list[np.ndarray]:
        with self._lock:
            for argument, size, value in zip(self._arguments, self._sizes, values, strict=True):
                argument[:size] = value
            self._evaluate()
            return [r.copy(order="F") for r in self._results]


class Factor:
    """K, ready to be solved with, also transposed."""

    def __init__(self, K: np.ndarray):
        from scipy.linalg.lapack import dgecon, dgetrf

        scale = 1.0 / np.maximum(np.abs(K).max(axis=1), 1e-300)
        self._scale, scaled = scale, K * scale[:, None]
        lu, pivots, info = dgetrf(scaled)
        self._lu = lu, pivots
        condition = 0.0
        if info == 0:
            condition, info = dgecon(lu, np.abs(scaled).sum(axis=0).max())
        self.regular = info == 0 and condition > SINGULAR
        if not self.regular:
            self._inverse = np.linalg.pinv(scaled, rcond=1e-11)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """K^-1 b."""
        if not b.size:
            return b
        b = (b.T * self._scale).T
        return self._substitute(b) if self.regular else self._inverse @ b

    def solve_transposed(self, b: np.ndarray) -> np.ndarray:
        """K^-T b."""
        if not b.size:
            return b
        x = self._substitute(b, trans=1) if self.regular else self._inverse.T @ b
        return (x.T * self._scale).T

    def _substitute(self, b: np.ndarray, trans: int = 0) -> np.ndarray:
        """Few columns one by one: OpenBLAS hands two or more to its threads, however short they are, and waits for them."""
        from scipy.linalg.lapack import dgetrs

        if b.ndim == 1 or b.size > FEW:
            return dgetrs(*self._lu, b, trans=trans)[0]
        return np.array([dgetrs(*self._lu, column, trans=trans)[0] for column in b.T]).T

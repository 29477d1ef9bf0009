"""Expressions of a system along a trajectory: one kernel, one compiled loop over the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.model.declaration import TIME
from stickslip.model.system import System
from stickslip.native.kernel import compile_kernel


class RowEvaluation:
    """An expression of time, coordinates, velocities and parameters, ready to be evaluated along trajectories."""

    def __init__(self, system: System, expression: ca.SX):
        self._columns: list[tuple[str, Any]] = []  # of what each input is a column, and which one
        self._expression, self._kernel = expression, None
        known: dict[int, tuple[str, Any]] = {TIME.__hash__(): ("t", 0)}
        for x in ("q", "u"):
            for first, block in zip(system.starts[x], system.blocks, strict=False):
                symbols = getattr(block, x)
                known |= {symbols[k].__hash__(): (x, int(first) + k) for k in range(symbols.numel())}
        known |= {symbol.__hash__(): ("values", name) for name, symbol in system.parameter_symbols().items()}
        used = ca.symvar(expression)
        if foreign := [s.name() for s in used if s.__hash__() not in known]:
            raise ModelError(
                f"{system.name}: the expression depends on {', '.join(map(repr, foreign))}, which this system does not "
                "declare; use the symbols of the system that was solved"
            )
        if used:
            self._columns = [known[symbol.__hash__()] for symbol in used]
            self._kernel = compile_kernel(ca.Function("expression", [ca.vertcat(*used)], [ca.densify(expression)]))

    def __call__(self, values: Mapping[str, float], t: np.ndarray, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Its entries, one row per time. values: all parameters of the run. Only columns that it uses are read."""
        from stickslip.engine.rows import along  # Numba is imported when something runs

        if self._kernel is None:
            return np.tile(np.array(ca.DM(self._expression)).ravel(order="F"), (len(t), 1))
        rows = np.empty((len(t), len(self._columns)))
        for k, (what, which) in enumerate(self._columns):
            rows[:, k] = (
                t if what == "t" else values[which] if what == "values" else (q if what == "q" else u)[:, which]
            )
        out = np.empty((len(t), self._expression.numel()))
        along(self._kernel.address, self._kernel.n_in, self._kernel.n_out, rows.ravel(), out.ravel())
        return out


def evaluate(
    system: System, expression: ca.SX, values: Mapping[str, float], t: np.ndarray, q: np.ndarray, u: np.ndarray
) -> np.ndarray:
    """The same for an expression that is evaluated once."""
    return RowEvaluation(system, expression)(values, t, q, u)

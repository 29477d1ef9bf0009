"""Expressions of a system along a trajectory: one kernel, one compiled loop over the rows."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.model.declaration import TIME
from stickslip.model.system import System
from stickslip.native.kernel import compile_kernel


def evaluate(
    system: System, expression: ca.SX, values: Mapping[str, float], t: np.ndarray, q: np.ndarray, u: np.ndarray
) -> np.ndarray:
    """The entries of an expression of time, coordinates, velocities and parameters, one row per time.

    values: all parameters of the run. Only the columns that the expression uses are read.
    """
    columns: dict[int, np.ndarray | float] = {TIME.__hash__(): t}
    for x, values_of in (("q", q), ("u", u)):
        for first, block in zip(system.starts[x], system.blocks, strict=False):
            symbols = getattr(block, x)
            columns |= {symbols[k].__hash__(): values_of[:, first + k] for k in range(symbols.numel())}
    columns |= {symbol.__hash__(): values[name] for name, symbol in system.parameter_symbols().items()}
    from stickslip.engine.rows import along  # Numba is imported when something runs

    used = ca.symvar(expression)
    if foreign := [s.name() for s in used if s.__hash__() not in columns]:
        raise ModelError(
            f"{system.name}: the expression depends on {', '.join(map(repr, foreign))}, which this system does not "
            "declare; use the symbols of the system that was solved"
        )
    if not used:
        return np.tile(np.array(ca.DM(expression)).ravel(order="F"), (len(t), 1))
    kernel = compile_kernel(ca.Function("expression", [ca.vertcat(*used)], [ca.densify(expression)]))
    rows = np.empty((len(t), len(used)))
    for k, symbol in enumerate(used):
        rows[:, k] = columns[symbol.__hash__()]
    out = np.empty((len(t), expression.numel()))
    along(kernel.address, kernel.n_in, kernel.n_out, rows.ravel(), out.ravel())
    return out

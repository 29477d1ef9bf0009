"""Events that end a piece of the motion: expressions whose sign is watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.run import ProgramRun
from stickslip.errors import ModelError, OptionError
from stickslip.model.declaration import TIME
from stickslip.model.system import System
from stickslip.native.kernel import compile_kernel

CONDITIONS = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR)


def watched(system: System, run: ProgramRun, expression: Any) -> Callable[[np.ndarray], np.ndarray]:
    """A function of rows of results: the values of an expression of t, q, u and parameters."""
    n = 1 + system.n_q + system.n_u
    try:
        value = ca.SX(expression)
    except NotImplementedError:
        raise OptionError(
            f"stop = {expression!r} must be an expression of the system's symbols that changes its sign, such as y - 0.1; "
            "functions and texts are not"
        ) from None
    if value.numel() != 1 or value.is_constant():
        got = f"{value.numel()} entries" if value.numel() != 1 else repr(expression)
        raise OptionError(
            f"stop= must be one number that changes its sign, such as a coordinate minus a limit; got {got}"
        )
    if value.op() in CONDITIONS:  # 0 or 1: its sign is that of the condition
        value = value - 0.5
    q, u = ca.vertcat(*[b.q for b in system.blocks]), ca.vertcat(*[b.u for b in system.blocks])
    p = ca.vertcat(ca.SX(0, 1), *system.parameter_symbols().values())
    f = ca.Function("stop", [TIME, q, u, p], [value], {"allow_free": True})
    if f.has_free():
        raise ModelError(f"{system.name}: stop= depends on {f.get_free()}, which this system does not declare")
    kernel = compile_kernel(f)
    size = run.program.layout.parameters

    def values(rows: np.ndarray) -> np.ndarray:
        return np.array([kernel(np.concatenate([row[:n], run.memory[:size]]))[0] for row in rows])

    return values

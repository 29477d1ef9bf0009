"""An expression as data: a list of instructions that NumPy evaluates for many states at once.

Drawings survive in files this way. A file never holds code: an instruction is one of the names in `OPERATIONS`.

>>> x = ca.SX.sym("x", 2)
>>> evaluate(tape([x], ca.vertcat(x[0] * 2, ca.sin(x[1]))), np.array([[1.0, 0.0], [3.0, 0.0]]))
array([[2., 0.],
       [6., 0.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError, ResultFileError

OPERATIONS: dict[str, Callable[..., Any]] = {
    "assign": lambda a: a,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "sq": np.square,
    "twice": lambda a: 2 * a,
    "inv": lambda a: 1 / a,
    "sqrt": np.sqrt,
    "fabs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "exp": np.exp,
    "log": np.log,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "pow": np.power,
    "constpow": np.power,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "fmod": np.fmod,
    "fmin": np.minimum,
    "fmax": np.maximum,
    "sign": np.sign,
    "lt": lambda a, b: np.where(a < b, 1.0, 0.0),
    "le": lambda a, b: np.where(a <= b, 1.0, 0.0),
    "eq": lambda a, b: np.where(a == b, 1.0, 0.0),
    "ne": lambda a, b: np.where(a != b, 1.0, 0.0),
    "not": lambda a: np.where(a == 0, 1.0, 0.0),
    "and": lambda a, b: np.where((a != 0) & (b != 0), 1.0, 0.0),
    "or": lambda a, b: np.where((a != 0) | (b != 0), 1.0, 0.0),
    "if_else_zero": lambda a, b: np.where(a != 0, b, 0.0),
}
_IDS = {getattr(ca, f"OP_{name.upper()}"): name for name in OPERATIONS}


def tape(inputs: Sequence[ca.SX], outputs: ca.SX) -> dict[str, Any]:
    """The instructions that compute a column of outputs from the inputs, which are numbered one after another."""
    f = ca.Function("tape", list(inputs), [ca.densify(outputs)])
    first = np.cumsum([0, *[x.numel() for x in inputs]])
    code: list[list[Any]] = []
    for k in range(f.n_instructions()):
        op, out, given = f.instruction_id(k), f.instruction_output(k), f.instruction_input(k)
        if op == ca.OP_CONST:
            code.append(["const", out[0], f.instruction_constant(k)])
        elif op == ca.OP_INPUT:
            code.append(["in", out[0], int(first[given[0]] + given[1])])
        elif op == ca.OP_OUTPUT:
            code.append(["out", out[1], given[0]])
        elif op in _IDS:
            code.append([_IDS[op], out[0], *given])
        else:
            raise ModelError(f"a drawing cannot be made of the operation {op} of CasADi; simplify its expression")
    return {"inputs": int(first[-1]), "outputs": outputs.numel(), "work": f.sz_w(), "code": code}


def evaluate(data: dict[str, Any], columns: np.ndarray) -> np.ndarray:
    """The outputs for every row of inputs (rows, inputs): an array (rows, outputs)."""
    rows = len(columns)
    work: list[Any] = [0.0] * int(data["work"])
    out = np.zeros((rows, int(data["outputs"])))
    with np.errstate(all="ignore"):
        for name, target, *given in data["code"]:
            if name == "in":
                work[target] = columns[:, given[0]]
            elif name == "const":
                work[target] = np.float64(given[0])
            elif name == "out":
                out[:, target] = work[given[0]]
            elif name in OPERATIONS:
                work[target] = OPERATIONS[name](*[work[k] for k in given])
            else:
                raise ResultFileError(f"the drawing in this result has the unknown instruction {name!r}")
    return out

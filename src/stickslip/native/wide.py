"""Rows of twelve numbers for the six velocities each of two bodies, four numbers at a time.

Numba compiles such rows one number after the other, which takes 1.5 times as long. A row holds the first four of one body, the
first four of the other, then the last two of both (`place`), so that a body's velocities are always read and written in the
same two pieces. The order of all sums is fixed, so results do not depend on the machine.

Rows are kept in single precision (`ROW`), in half the memory, which is what limits sweeps over thousands of them. Arithmetic is
in double precision. A linear system that is solved with such rows misses the exact one by 1e-7 of the step, as if it were
linearised at a place that near; what counts is evaluated with others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from stickslip.jit import COMPILED

WIDTH = 12
ROW = np.float32
DOUBLE = ir.DoubleType()
TWO, FOUR = ir.VectorType(DOUBLE, 2), ir.VectorType(DOUBLE, 4)
FOUR_SINGLE = ir.VectorType(ir.FloatType(), 4)


def place(side: int, i: int) -> int:
    """Where velocity i of the first (0) or second body (1) is in a row.

    >>> [place(side, i) for side in (0, 1) for i in range(6)]
    [0, 1, 2, 3, 8, 9, 4, 5, 6, 7, 10, 11]
    """
    return 4 * side + i if i < 4 else 8 + 2 * side + i - 4


def _mask(*places: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))


def _load(builder: ir.IRBuilder, data: Any, at: Any, offset: int, kind: ir.VectorType, align: int = 8) -> Any:
    pointer = cgutils.gep_inbounds(builder, data, builder.add(at, ir.Constant(at.type, offset)))
    return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=align)


def _load_row(builder: ir.IRBuilder, data: Any, at: Any, offset: int) -> Any:
    """Four numbers of a row, in double precision."""
    return builder.fpext(_load(builder, data, at, offset, FOUR_SINGLE, 4), FOUR)


def _store(builder: ir.IRBuilder, value: Any, data: Any, at: Any, offset: int) -> None:
    pointer = cgutils.gep_inbounds(builder, data, builder.add(at, ir.Constant(at.type, offset)))
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer()), align=8)


def _data(context: Any, builder: ir.IRBuilder, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _velocities(builder: ir.IRBuilder, v: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Those of two bodies, in the order of a row."""
    ends = _load(builder, v, a, 4, TWO), _load(builder, v, b, 4, TWO)
    return (
        _load(builder, v, a, 0, FOUR), _load(builder, v, b, 0, FOUR),
        builder.shuffle_vector(*ends, _mask(0, 1, 2, 3)),
    )  # fmt: skip


@intrinsic
def _along_compiled(typingctx: Any, row: Any, at: Any, v: Any, a: Any, b: Any) -> tuple:
    signature = types.float64(row, types.intp, v, types.intp, types.intp)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        row, at, v, a, b = arguments
        row, v = _data(context, builder, signature.args[0], row), _data(context, builder, signature.args[2], v)
        total = None
        for k, x in enumerate(_velocities(builder, v, a, b)):
            product = builder.fmul(_load_row(builder, row, at, 4 * k), x)
            total = product if total is None else builder.fadd(total, product)
        undefined = ir.Constant(FOUR, ir.Undefined)
        halves = [builder.shuffle_vector(total, undefined, _mask(k, k + 1)) for k in (0, 2)]
        pair = builder.fadd(*halves)
        first, second = (builder.extract_element(pair, ir.Constant(ir.IntType(32), k)) for k in (0, 1))
        return builder.fadd(first, second)

    return signature, codegen


@intrinsic
def _push_compiled(typingctx: Any, rows: Any, at: Any, v: Any, a: Any, b: Any, d_0: Any, d_1: Any, d_2: Any) -> tuple:
    number = types.float64
    signature = types.void(rows, types.intp, v, types.intp, types.intp, number, number, number)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows, at, v, a, b, *steps = arguments
        rows, v = _data(context, builder, signature.args[0], rows), _data(context, builder, signature.args[2], v)
        undefined, zero, new = ir.Constant(FOUR, ir.Undefined), ir.Constant(ir.IntType(32), 0), []
        wide = [
            builder.shuffle_vector(builder.insert_element(undefined, d, zero), undefined, _mask(0, 0, 0, 0))
            for d in steps
        ]
        for k, x in enumerate(_velocities(builder, v, a, b)):
            change = None
            for r, d in enumerate(wide):
                product = builder.fmul(_load_row(builder, rows, at, WIDTH * r + 4 * k), d)
                change = product if change is None else builder.fadd(change, product)
            new.append(builder.fadd(x, change))
        _store(builder, new[0], v, a, 0)
        _store(builder, builder.shuffle_vector(new[2], undefined, _mask(0, 1)), v, a, 4)
        _store(builder, new[1], v, b, 0)
        _store(builder, builder.shuffle_vector(new[2], undefined, _mask(2, 3)), v, b, 4)
        return context.get_dummy_value()

    return signature, codegen


def _order(a: int, b: int) -> np.ndarray:
    return np.r_[a : a + 4, b : b + 4, a + 4 : a + 6, b + 4 : b + 6]


def _along_plainly(row: np.ndarray, at: int, v: np.ndarray, a: int, b: int) -> float:
    products = row[at : at + WIDTH].astype(float) * v[_order(a, b)]
    four = (products[:4] + products[4:8]) + products[8:]
    return float((four[0] + four[2]) + (four[1] + four[3]))


def _push_plainly(rows: np.ndarray, at: int, v: np.ndarray, a: int, b: int, d_0: float, d_1: float, d_2: float) -> None:
    three = rows[at : at + 3 * WIDTH].astype(float).reshape(3, WIDTH)
    v[_order(a, b)] += (three[0] * d_0 + three[1] * d_1) + three[2] * d_2


# along(row, at, v, a, b): the row from `at` on, times the velocities v[a:a + 6] and v[b:b + 6].
along = _along_compiled if COMPILED else _along_plainly
# push(rows, at, v, a, b, d_0, d_1, d_2): add d_0, d_1, d_2 times the three rows from `at` on to these velocities.
push = _push_compiled if COMPILED else _push_plainly

"""Sums of products of long rows, several in one pass, four numbers at a time.

Numba adds such sums one number after the other, or in an order that depends on the machine. Here the order is fixed: four
partial sums, then what is left over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from stickslip.jit import COMPILED
from stickslip.native.wide import FOUR

ROWS = 5  # of a matrix, each of which is multiplied
LANES = 4


def _totals(builder: ir.IRBuilder, rows: list[Any], pairs: list[tuple[int, int]], n: Any) -> list[Any]:
    """The sum of products of each pair of these rows, of n numbers."""
    whole = builder.and_(n, ir.Constant(n.type, -LANES))
    zero = ir.Constant(FOUR, [0.0] * LANES)
    wide = [cgutils.alloca_once_value(builder, zero) for _ in pairs]
    begin, step = ir.Constant(n.type, 0), ir.Constant(n.type, LANES)
    with cgutils.for_range_slice(builder, begin, whole, step) as (i, _):
        places = [builder.bitcast(cgutils.gep_inbounds(builder, row, i), FOUR.as_pointer()) for row in rows]
        four = [builder.load(place, align=8) for place in places]
        for total, (a, b) in zip(wide, pairs, strict=True):
            builder.store(builder.fadd(builder.load(total), builder.fmul(four[a], four[b])), total)
    sums = []
    for total in wide:
        lanes = [builder.extract_element(builder.load(total), ir.Constant(ir.IntType(32), k)) for k in range(LANES)]
        value = builder.fadd(builder.fadd(lanes[0], lanes[2]), builder.fadd(lanes[1], lanes[3]))
        sums.append(cgutils.alloca_once_value(builder, value))
    with cgutils.for_range_slice(builder, whole, n, ir.Constant(n.type, 1)) as (i, _):
        one = [builder.load(cgutils.gep_inbounds(builder, row, i)) for row in rows]
        for total, (a, b) in zip(sums, pairs, strict=True):
            builder.store(builder.fadd(builder.load(total), builder.fmul(one[a], one[b])), total)
    return [builder.load(total) for total in sums]


@intrinsic
def _sum_products_compiled(typingctx: Any, rows: Any, k: Any, f: Any, n: Any, out: Any) -> tuple:
    signature = types.void(rows, types.intp, f, types.intp, out)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows, k, f, n, out = arguments
        matrix = context.make_array(signature.args[0])(context, builder, rows)
        width = cgutils.unpack_tuple(builder, matrix.shape, 2)[1]
        numbers = [*(ir.Constant(n.type, j) for j in range(ROWS)), k]
        places = [cgutils.gep_inbounds(builder, matrix.data, builder.mul(j, width)) for j in numbers]
        places.append(context.make_array(signature.args[2])(context, builder, f).data)
        pairs = [(j, side) for side in (ROWS, ROWS + 1) for j in range(ROWS)]
        target = context.make_array(signature.args[4])(context, builder, out).data
        for j, total in enumerate(_totals(builder, places, pairs, n)):
            builder.store(total, cgutils.gep_inbounds(builder, target, ir.Constant(n.type, j)))
        return context.get_dummy_value()

    return signature, codegen


def _sum_products_plainly(rows: np.ndarray, k: int, f: np.ndarray, n: int, out: np.ndarray) -> None:
    whole = n - n % LANES
    for side, other in enumerate((rows[k], f)):
        for j in range(ROWS):
            products = rows[j, :n] * other[:n]
            four = np.zeros(LANES)
            for part in products[:whole].reshape(-1, LANES):
                four += part
            total = (four[0] + four[2]) + (four[1] + four[3])
            for value in products[whole:]:
                total += value
            out[ROWS * side + j] = total


# sum_products(rows, k, f, n, out): of n numbers each, out[j] = rows[j] . rows[k] and out[ROWS + j] = rows[j] . f, j < ROWS.
sum_products = _sum_products_compiled if COMPILED else _sum_products_plainly

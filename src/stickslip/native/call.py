"""Calls of kernels from compiled loops, and from the same loops in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from stickslip.jit import COMPILED, SIGNATURE


def _require_vector(array: types.Type, name: str) -> None:
    if not (isinstance(array, types.Array) and (array.dtype, array.ndim, array.layout) == (types.float64, 1, "C")):
        raise TypingError(f"call_kernel: {name} must be a contiguous vector of float64, not {array}")


@intrinsic
def _call_compiled(
    typingctx: Any,
    address: types.Type,
    inputs: types.Type,
    first_in: types.Type,
    outputs: types.Type,
    first_out: types.Type,
) -> tuple:
    """Evaluate the kernel at `address`: it reads from inputs[first_in] on, and writes from outputs[first_out] on.

    Nothing is checked at run time, nothing is allocated, and the arrays are borrowed without counting references.
    What is read and what is written must not overlap.
    """
    _require_vector(inputs, "inputs")
    _require_vector(outputs, "outputs")
    signature = types.void(types.intp, inputs, types.intp, outputs, types.intp)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        address, inputs, first_in, outputs, first_out = arguments
        pointer = ir.DoubleType().as_pointer()
        kernel = builder.inttoptr(address, ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer())
        source = context.make_array(signature.args[1])(context, builder, inputs).data
        target = context.make_array(signature.args[3])(context, builder, outputs).data
        builder.call(
            kernel,
            [cgutils.gep_inbounds(builder, source, first_in), cgutils.gep_inbounds(builder, target, first_out)],
        )
        return context.get_dummy_value()

    return signature, codegen


def _call_plainly(address: int, inputs: np.ndarray, first_in: int, outputs: np.ndarray, first_out: int) -> None:
    """The same from Python."""
    size = inputs.itemsize
    SIGNATURE(int(address))(inputs.ctypes.data + size * int(first_in), outputs.ctypes.data + size * int(first_out))


call_kernel = _call_compiled if COMPILED else _call_plainly


def _through(result: types.Type) -> Any:
    """An intrinsic that calls a function which stands apart (`jit.Apart`): its address, and a tuple of its arguments."""

    @intrinsic
    def call(typingctx: Any, address: types.Type, arguments: types.Type) -> tuple:
        if not isinstance(arguments, types.BaseTuple):
            raise TypingError(f"call_apart: the arguments must be a tuple, not {arguments}")

        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, values: Any) -> Any:
            address, packed = values
            kinds = [context.get_value_type(each) for each in signature.args[1].types]
            kind = ir.FunctionType(context.get_value_type(result), kinds)
            given = [builder.extract_value(packed, i) for i in range(len(kinds))]
            return builder.call(builder.inttoptr(address, kind.as_pointer()), given)

        return result(types.intp, arguments), codegen

    return call


def _apply(function: Any, arguments: tuple) -> Any:
    """The same from Python, where the function itself stands for its address."""
    return function(*arguments)


call_apart = _through(types.boolean) if COMPILED else _apply

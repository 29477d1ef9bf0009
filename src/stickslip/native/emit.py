"""Expressions to LLVM's text: a CasADi SX Function becomes a module with one function.

The function is `void (const double *inputs, double *outputs)`. The nonzeros of all inputs of the Function lie packed in
`inputs`, those of all outputs in `outputs`, each in CasADi's column-major order; the two must not overlap.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from itertools import accumulate

import casadi as ca
import llvmlite.binding as llvm
import numpy as np

from stickslip.errors import StickslipError
from stickslip.interpolation import STRIDE, tables_of
from stickslip.native.lanes import LANES, declaration, is_narrow, stores, widened
from stickslip.native.operations import CALL, HINTS, OPERATIONS, RECIPES, literal


class KernelError(StickslipError):
    """A Function that cannot become a kernel, or a kernel called with the wrong number of inputs."""


class NarrowError(KernelError):
    """A Function that can be evaluated for one instance at a time only."""


def emit(function: ca.Function, stride: int = 0) -> str:
    """The Function as LLVM IR. It does not contain the Function's name: equal content gives equal text.

    stride: not 0 for several instances at once, whose outputs are so many numbers apart (`lanes`).

    The text is written by hand, and equal instructions are merged on the way, as calls are pure. That does what
    the optimiser's passes would do for straight-line code, so none are run.
    """
    if not function.is_a("SXFunction"):
        raise KernelError(
            f"cannot compile function {function.name()!r}: it is a {function.class_name()}, not an SX function; "
            "build it from SX symbols, or expand() it"
        )
    if function.has_free():
        raise KernelError(f"cannot compile function {function.name()!r}: free symbols {function.get_free()}")

    first_in = _offsets(function.nnz_in(k) for k in range(function.n_in()))
    first_out = _offsets(function.nnz_out(k) for k in range(function.n_out()))
    lines: list[str] = []
    names: dict[str, str] = {}  # of values, by the instruction that gives them
    zeros: list[int] = []  # outputs that are always +0.0
    work: dict[int, str] = {}  # CasADi's work vector: slots are reused
    calls = any(function.instruction_id(k) == ca.OP_CALL for k in range(function.n_instructions()))
    tables = tables_of(function) if calls else None
    used: dict[str, np.ndarray] = {}  # columns of tables by the names of their constants

    def value(instruction: str) -> str:
        name = names.get(instruction)
        if name is None:
            if stride and is_narrow(instruction):
                raise NarrowError(f"function {function.name()!r} has no form for several instances at once")
            name = names[instruction] = f"%{len(names)}"
            lines.append(f"{name} = {widened(instruction) if stride else instruction}")
        return name

    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        target = function.instruction_output(k)
        if operation == ca.OP_CONST:
            work[target[0]] = literal(function.instruction_constant(k))
            continue
        source = function.instruction_input(k)
        if operation == ca.OP_INPUT:
            pointer = value(f"getelementptr double, ptr %inputs, i64 {first_in[source[0]] + source[1]}")
            work[target[0]] = value(f"load double, ptr {pointer}")
        elif operation == ca.OP_OUTPUT:
            position, result = first_out[target[0]] + target[1], work[source[0]]
            if result == _ZERO:
                zeros.append(position)
            elif stride:
                lines += stores(result, position, stride, f"o{position}")
            else:
                pointer = value(f"getelementptr double, ptr %outputs, i64 {position}")
                # Volatile only spares LLVM the search for stores to merge, which takes long and gains nothing.
                lines.append(f"store volatile double {result}, ptr {pointer}")
        elif operation == ca.OP_CALL and tables is not None:
            # A derivative of a look-up has more arguments, and is zero.
            name = _lookup(tables, used, work[source[0]], work[source[1]], value) if len(source) == 2 else _ZERO
            work |= dict.fromkeys(target, name)
        else:
            recipe = RECIPES.get(operation)
            if recipe is None:
                raise KernelError(
                    f"cannot compile function {function.name()!r}: operation {OPERATIONS.get(operation, operation)} "
                    f"has no native translation{HINTS.get(operation, '')}"
                )
            values = [work[source[0]], work[source[-1]]]
            for instruction in recipe:
                values.append(value(instruction.format(*values)))
            work[target[0]] = values[-1] if recipe else values[0]
    if stride:
        zeros = [lane * stride + position for lane in range(LANES) for position in zeros]
    return _module(lines, names, zeros, used, stride > 0)


def _lookup(
    tables: dict[int, np.ndarray], used: dict[str, np.ndarray], which: str, x: str, value: Callable[[str], str]
) -> str:
    """Instructions that find the interval of x among the knots and load an entry of it; see `interpolation`."""
    number, row = divmod(int(_double(which)), STRIDE)
    for k in (0, row):
        used[f"@table_{number}_{k}"] = tables[number][k]
    knots = f"ptr getelementptr (double, ptr @table_{number}_0, i64 1)"
    interval = value(f"call i64 @table_find({knots}, i64 {tables[number].shape[1] - 1}, double {x})")
    return value(f"load double, ptr {value(f'getelementptr double, ptr @table_{number}_{row}, i64 {interval}')}")


def _double(literal: str) -> float:
    """The inverse of `literal`."""
    return float(struct.unpack("<d", struct.pack("<Q", int(literal, 16)))[0])


# The number of knots that are not greater than x, by bisection.
_TABLE_FIND = """\
define internal i64 @table_find(ptr %knots, i64 %n, double %x) nounwind {
entry:
br label %loop
loop:
%first = phi i64 [ 0, %entry ], [ %next, %body ]
%length = phi i64 [ %n, %entry ], [ %rest, %body ]
%more = icmp sgt i64 %length, 0
br i1 %more, label %body, label %done
body:
%half = lshr i64 %length, 1
%middle = add i64 %first, %half
%place = getelementptr double, ptr %knots, i64 %middle
%knot = load double, ptr %place
%before = fcmp ole double %knot, %x
%behind = add i64 %middle, 1
%less = sub i64 %length, %half
%right = sub i64 %less, 1
%next = select i1 %before, i64 %behind, i64 %first
%rest = select i1 %before, i64 %right, i64 %half
br label %loop
done:
ret i64 %first
}"""


def _constants(used: dict[str, np.ndarray]) -> list[str]:
    """Columns of tables, and the search."""
    lines = []
    for name, column in used.items():
        entries = ", ".join(f"double {literal(x)}" for x in column.tolist())
        lines.append(f"{name} = private unnamed_addr constant [{len(column)} x double] [{entries}]")
    return [*lines, *([_TABLE_FIND] if used else [])]


_ZERO = literal(0.0)


def _offsets(sizes: Iterable[int]) -> list[int]:
    return list(accumulate(sizes, initial=0))


def _module(lines: list[str], names: Iterable[str], zeros: list[int], used: dict[str, np.ndarray], wide: bool) -> str:
    """A whole module around the instructions `lines`, with declarations of what they call."""
    called = (text.removeprefix(CALL).split("(") for text in names if text.startswith(CALL))
    declarations = []
    for symbol, n_arguments in sorted({(symbol, arguments.count("double")) for symbol, arguments in called}):
        if wide:
            declarations.append(declaration(symbol, n_arguments))
            continue
        if symbol.startswith("llvm."):
            attributes = ""
        elif llvm.address_of_symbol(symbol) is None:
            raise KernelError(f"the C library of this machine has no function {symbol!r}")
        else:
            # LLVM may replace a builtin by its own idea of it. That is wanted for sin and cos only: a pair of the same
            # argument becomes one sincos, with the same bits.
            attributes = "#0" if symbol in ("sin", "cos") else "#1"
        declarations.append(f"declare double @{symbol}({', '.join(n_arguments * ['double'])}) {attributes}")
    return "\n".join(
        [
            f'target triple = "{llvm.get_process_triple()}"',
            *declarations,
            *_constants(used),
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "attributes #0 = { nounwind willreturn memory(none) }",
            "attributes #1 = { nounwind willreturn memory(none) nobuiltin }",
            f"define void @{SYMBOL}(ptr noalias %inputs, ptr noalias %outputs) nounwind {{",
            "entry:",
            *_clear(zeros),
            *lines,
            "ret void",
            "}\n",
        ]
    )


SYMBOL = "stickslip_kernel"


def _clear(positions: list[int]) -> list[str]:
    """Set the outputs at `positions` to zero, a run of neighbours at once.

    Dense Jacobians are mostly zeros. One store for each of them takes long to compile: LLVM's search for stores to merge is
    quadratic.
    """
    lines: list[str] = []
    runs: list[list[int]] = []
    for position in sorted(positions):
        if runs and position == runs[-1][1]:
            runs[-1][1] += 1
        else:
            runs.append([position, position + 1])
    for k, (first, end) in enumerate(runs):
        lines.append(f"%run{k} = getelementptr double, ptr %outputs, i64 {first}")
        lines.append(f"call void @llvm.memset.p0.i64(ptr align 8 %run{k}, i8 0, i64 {8 * (end - first)}, i1 false)")
    return lines

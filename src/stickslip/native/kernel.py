"""Expressions to native code: a CasADi SX Function becomes a kernel, through LLVM and without a compiler.

    SX Function -> LLVM IR as text (`emit`) -> object code, or the same from the disk (`Store`) -> address (`Kernel`)

A kernel is `void (const double *inputs, double *outputs)`. The nonzeros of all inputs of the Function lie packed in
`inputs`, those of all outputs in `outputs`, each in CasADi's column-major order; the two must not overlap.
Every operation gives the bits that CasADi's own evaluation gives: no fast-math, no contraction, and the same libm.
The one exception is erfinv, see `_erfinv_recipe`.
"""

from __future__ import annotations

import hashlib
import math
import struct
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import Any
from weakref import WeakValueDictionary

import casadi as ca
import llvmlite
import llvmlite.binding as llvm
import numpy as np

from stickslip.errors import StickslipError
from stickslip.interpolation import STRIDE, tables_of
from stickslip.jit import SIGNATURE
from stickslip.store import KERNELS, Store


class KernelError(StickslipError):
    """A Function that cannot become a kernel, or a kernel called with the wrong number of inputs."""


@dataclass(frozen=True)
class Kernel:
    """Native code of a Function; it lives as long as this object.

    `n_in` and `n_out` count the nonzeros over all inputs and over all outputs.
    """

    name: str
    address: int
    n_in: int
    n_out: int
    code: Any = field(default=None, repr=False, compare=False)  # owns what lies at the address

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """The packed outputs of one evaluation."""
        inputs = np.ascontiguousarray(inputs, dtype=np.float64)
        if inputs.shape != (self.n_in,):
            raise KernelError(f"kernel {self.name!r} takes {self.n_in} inputs, got an array of shape {inputs.shape}")
        outputs = np.empty(self.n_out)
        SIGNATURE(self.address)(inputs.ctypes.data, outputs.ctypes.data)
        return outputs


def compile_kernel(function: ca.Function) -> Kernel:
    """The kernel of an SX Function, from the process, from the disk cache, or newly compiled."""
    code = _LOADED.code(emit(function))
    address = code.get_function_address(_SYMBOL)
    return Kernel(function.name(), address, function.nnz_in(), function.nnz_out(), code)


# --- Operations -------------------------------------------------------------------------------------------------


def _literal(value: float) -> str:
    """A double as LLVM writes it exactly, NaN and infinities included."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


_CALL = "call double @"


def _call(symbol: str, n_arguments: int = 1) -> tuple[str]:
    return (f"{_CALL}{symbol}({', '.join(f'double {{{k}}}' for k in range(n_arguments))})",)


def _truth(*conditions: str) -> tuple[str, ...]:
    """Conditions (i1), the last of them as 0.0 or 1.0."""
    return (*conditions, f"select i1 {{{len(conditions) + 1}}}, double 1.0, double 0.0")


def _extremum(better: str) -> tuple[str, ...]:
    """The second argument if it is better or the first is NaN, else the first: of two zeros CasADi takes the first."""
    return (
        f"fcmp {better} double {{1}}, {{0}}",
        "fcmp uno double {0}, {0}",
        "or i1 {2}, {3}",
        "select i1 {4}, double {1}, double {0}",
    )


def _erfinv_recipe() -> tuple[str, ...]:
    """erfinv, which libm does not have: a rational start and two steps of Halley, odd in x.

    CasADi's own is wrong by up to 2e-6: two coefficients of its start are interchanged, and below -0.7 it is
    not refined. Here the tail solves erfc(y) = 1 - |x|, whose right-hand side is exact; the error is a few units in the
    last place everywhere.
    """
    lines: list[str] = []

    def line(text: str) -> str:
        lines.append(text)
        return f"{{{len(lines) + 1}}}"

    def horner(z: str, *coefficients: float) -> str:
        value = _literal(coefficients[0])
        for c in coefficients[1:]:
            value = line(f"fadd double {line(f'fmul double {value}, {z}')}, {_literal(c)}")
        return value

    a = line("call double @llvm.fabs.f64(double {0})")
    p = line(f"fsub double 1.0, {a}")
    z = line(f"fmul double {a}, {a}")
    top = line(f"fmul double {a}, {horner(z, -0.140543331, 0.914624893, -1.645349621, 0.886226899)}")
    centre = line(f"fdiv double {top}, {horner(z, 0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0)}")
    log = line(f"call double @log(double {line(f'fmul double {p}, 0.5')})")
    z = line(f"call double @llvm.sqrt.f64(double {line(f'fneg double {log}')})")
    top = horner(z, 1.641345311, 3.429567803, -1.624906493, -1.970840454)
    tail = line(f"fdiv double {top}, {horner(z, 1.637067800, 3.543889200, 1.0)}")
    in_tail = line(f"fcmp oge double {a}, {_literal(0.7)}")
    y = line(f"select i1 {in_tail}, double {tail}, double {centre}")
    for _ in range(2):
        square = line(f"fmul double {y}, {y}")
        exp = line(f"call double @exp(double {line(f'fneg double {square}')})")
        slope = line(f"fmul double {exp}, {_literal(2.0 / math.sqrt(math.pi))}")
        centre = line(f"fsub double {line(f'call double @erf(double {y})')}, {a}")
        tail = line(f"fsub double {p}, {line(f'call double @erfc(double {y})')}")
        error = line(f"select i1 {in_tail}, double {tail}, double {centre}")
        newton = line(f"fdiv double {error}, {slope}")
        halley = line(f"fadd double {line(f'fmul double {y}, {newton}')}, 1.0")
        y = line(f"fsub double {y}, {line(f'fdiv double {newton}, {halley}')}")
    at_one = line(f"fcmp oeq double {a}, 1.0")
    y = line(f"select i1 {at_one}, double {_literal(math.inf)}, double {y}")
    line(f"call double @llvm.copysign.f64(double {y}, double {{0}})")
    return tuple(lines)


# The recipe of an operation: instructions in which {0} and {1} are its arguments, {2}, {3}, ... the results of the
# recipe's own first, second, ... instruction. The last one is the value; a recipe without any passes {0} on.
# Only intrinsics whose result is exact stand in for libm.
_RECIPES: dict[int, tuple[str, ...]] = {
    ca.OP_ASSIGN: (),
    ca.OP_LIFT: (),
    ca.OP_ADD: ("fadd double {0}, {1}",),
    ca.OP_SUB: ("fsub double {0}, {1}",),
    ca.OP_MUL: ("fmul double {0}, {1}",),
    ca.OP_DIV: ("fdiv double {0}, {1}",),
    ca.OP_NEG: ("fneg double {0}",),
    ca.OP_SQ: ("fmul double {0}, {0}",),
    ca.OP_TWICE: ("fadd double {0}, {0}",),
    ca.OP_INV: ("fdiv double 1.0, {0}",),
    ca.OP_SQRT: _call("llvm.sqrt.f64"),
    ca.OP_FABS: _call("llvm.fabs.f64"),
    ca.OP_FLOOR: _call("llvm.floor.f64"),
    ca.OP_CEIL: _call("llvm.ceil.f64"),
    ca.OP_COPYSIGN: _call("llvm.copysign.f64", 2),
    ca.OP_EXP: _call("exp"),
    ca.OP_LOG: _call("log"),
    ca.OP_EXPM1: _call("expm1"),
    ca.OP_LOG1P: _call("log1p"),
    ca.OP_SIN: _call("sin"),
    ca.OP_COS: _call("cos"),
    ca.OP_TAN: _call("tan"),
    ca.OP_ASIN: _call("asin"),
    ca.OP_ACOS: _call("acos"),
    ca.OP_ATAN: _call("atan"),
    ca.OP_SINH: _call("sinh"),
    ca.OP_COSH: _call("cosh"),
    ca.OP_TANH: _call("tanh"),
    ca.OP_ASINH: _call("asinh"),
    ca.OP_ACOSH: _call("acosh"),
    ca.OP_ATANH: _call("atanh"),
    ca.OP_ERF: _call("erf"),
    ca.OP_ERFINV: _erfinv_recipe(),
    ca.OP_POW: _call("pow", 2),
    ca.OP_CONSTPOW: _call("pow", 2),
    ca.OP_ATAN2: _call("atan2", 2),
    ca.OP_HYPOT: _call("hypot", 2),
    ca.OP_FMOD: _call("fmod", 2),
    ca.OP_REMAINDER: _call("remainder", 2),
    ca.OP_FMIN: _extremum("olt"),
    ca.OP_FMAX: _extremum("ogt"),
    ca.OP_LT: _truth("fcmp olt double {0}, {1}"),
    ca.OP_LE: _truth("fcmp ole double {0}, {1}"),
    ca.OP_EQ: _truth("fcmp oeq double {0}, {1}"),
    ca.OP_NE: _truth("fcmp une double {0}, {1}"),
    ca.OP_NOT: _truth("fcmp oeq double {0}, 0.0"),
    # As in C, NaN is true.
    ca.OP_AND: _truth("fcmp une double {0}, 0.0", "fcmp une double {1}, 0.0", "and i1 {2}, {3}"),
    ca.OP_OR: _truth("fcmp une double {0}, 0.0", "fcmp une double {1}, 0.0", "or i1 {2}, {3}"),
    ca.OP_IF_ELSE_ZERO: ("fcmp oeq double {0}, 0.0", "select i1 {2}, double 0.0, double {1}"),
    # x < 0 ? -1 : x > 0 ? 1 : x, which keeps NaN and the sign of a zero.
    ca.OP_SIGN: (
        "fcmp ogt double {0}, 0.0",
        "select i1 {2}, double 1.0, double {0}",
        "fcmp olt double {0}, 0.0",
        "select i1 {4}, double -1.0, double {3}",
    ),
}

_NAMES: dict[int, str] = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}

_HINTS: dict[int, str] = {
    ca.OP_CALL: "; let the called Function be inlined",
    ca.OP_PRINTME: "; remove the printing",
}


# --- Emission ---------------------------------------------------------------------------------------------------


def emit(function: ca.Function) -> str:
    """The Function as LLVM IR. It does not contain the Function's name: equal content gives equal text.

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
            name = names[instruction] = f"%{len(names)}"
            lines.append(f"{name} = {instruction}")
        return name

    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        target = function.instruction_output(k)
        if operation == ca.OP_CONST:
            work[target[0]] = _literal(function.instruction_constant(k))
            continue
        source = function.instruction_input(k)
        if operation == ca.OP_INPUT:
            pointer = value(f"getelementptr double, ptr %inputs, i64 {first_in[source[0]] + source[1]}")
            work[target[0]] = value(f"load double, ptr {pointer}")
        elif operation == ca.OP_OUTPUT:
            position, result = first_out[target[0]] + target[1], work[source[0]]
            if result == _ZERO:
                zeros.append(position)
            else:
                pointer = value(f"getelementptr double, ptr %outputs, i64 {position}")
                # Volatile only spares LLVM the search for stores to merge: 0.9 s instead of 2.9 s for 17,000 lines,
                # the same run time.
                lines.append(f"store volatile double {result}, ptr {pointer}")
        elif operation == ca.OP_CALL and tables is not None:
            # A derivative of a look-up has more arguments, and is zero.
            name = _lookup(tables, used, work[source[0]], work[source[1]], value) if len(source) == 2 else _ZERO
            work |= dict.fromkeys(target, name)
        else:
            recipe = _RECIPES.get(operation)
            if recipe is None:
                raise KernelError(
                    f"cannot compile function {function.name()!r}: operation {_NAMES.get(operation, operation)} "
                    f"has no native translation{_HINTS.get(operation, '')}"
                )
            values = [work[source[0]], work[source[-1]]]
            for instruction in recipe:
                values.append(value(instruction.format(*values)))
            work[target[0]] = values[-1] if recipe else values[0]
    return _module(lines, names, zeros, used)


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
    """The inverse of `_literal`."""
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
        entries = ", ".join(f"double {_literal(x)}" for x in column.tolist())
        lines.append(f"{name} = private unnamed_addr constant [{len(column)} x double] [{entries}]")
    return [*lines, *([_TABLE_FIND] if used else [])]


_ZERO = _literal(0.0)


def _offsets(sizes: Iterable[int]) -> list[int]:
    return list(accumulate(sizes, initial=0))


def _module(lines: list[str], names: Iterable[str], zeros: list[int], used: dict[str, np.ndarray]) -> str:
    """A whole module around the instructions `lines`, with declarations of what they call."""
    called = (text.removeprefix(_CALL).split("(") for text in names if text.startswith(_CALL))
    declarations = []
    for symbol, n_arguments in sorted({(symbol, arguments.count("double")) for symbol, arguments in called}):
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
            f"define void @{_SYMBOL}(ptr noalias %inputs, ptr noalias %outputs) nounwind {{",
            "entry:",
            *_clear(zeros),
            *lines,
            "ret void",
            "}\n",
        ]
    )


_SYMBOL = "stickslip_kernel"


def _clear(positions: list[int]) -> list[str]:
    """Set the outputs at `positions` to zero, a run of neighbours at once.

    Dense Jacobians are mostly zeros. One store for each of the 7,700 zeros of a Lobatto-like step (s = 4, 92 unknowns)
    takes 3.8 s to compile, as LLVM's search for stores to merge is quadratic; so it takes 0.2 s.
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


# --- Native code ------------------------------------------------------------------------------------------------


def _level(ir: str) -> int:
    """LLVM's level of code generation. Measured, for the host's CPU, in ms to compile and microseconds a run:

    | kernel                               | lines of IR | level 0       | level 1       | level 2       |
    | slider-crank, first stage of RATTLE  |         597 |   7 ms   0.17 |  14 ms   0.14 |  14 ms   0.14 |
    | Lobatto-like step, s = 4, sparse     |       4,180 |  19 ms   1.38 |  84 ms   0.69 |  84 ms   0.69 |
    | pendulum of six links, implicit      |       9,896 |  56 ms   3.2  | 438 ms   1.3  | 435 ms   1.3  |
    | Lobatto-like step, s = 8, dense      |      17,061 | 136 ms  11.9  | 681 ms  10.0  | 729 ms   9.9  |

    Level 1 keeps values in registers and combines sin and cos; level 2 adds nothing. Passes over the IR (level 1 of the
    optimiser, 7 to 1500 ms) gained nothing either. Code for the generic CPU is up to 1.4 times slower.
    """
    return 1 if ir.count("\n") <= _LONGEST_OPTIMISED else 0


# About one second of compilation, once per machine.
_LONGEST_OPTIMISED = 20_000


@cache
def _host() -> tuple[str, str]:
    """Name and features of this machine's CPU."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@dataclass
class _Kernels:
    """Kernels by content: loaded ones in the process, object code on the disk; `compiled` counts the others."""

    store: Store = field(default_factory=lambda: Store(KERNELS))
    engines: WeakValueDictionary[str, llvm.ExecutionEngine] = field(default_factory=WeakValueDictionary)  # own the code
    compiled: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def code(self, ir: str) -> llvm.ExecutionEngine:
        """The code that `ir` defines, for as long as somebody holds it."""
        cpu, features = _host()
        level = _level(ir)
        key = hashlib.sha256("\n".join([llvmlite.__version__, cpu, features, str(level), ir]).encode()).hexdigest()
        with self.lock:
            engine = self.engines.get(key)
            if engine is None:
                machine = llvm.Target.from_default_triple().create_target_machine(
                    cpu=cpu, features=features, opt=level, reloc="pic", jit=True
                )
                code = self.store.read(key)
                if code is None:
                    code = machine.emit_object(llvm.parse_assembly(ir))
                    self.compiled += 1
                    self.store.write(key, code)
                # New code takes the same way as code from the disk: both are the same bytes.
                engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
                engine.add_object_file(llvm.ObjectFileRef.from_data(code))
                engine.finalize_object()
                self.engines[key] = engine
            return engine


_LOADED = _Kernels()

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
# LLVM sees the symbols of this process, so libm's, only after a first engine was made.
llvm.create_mcjit_compiler(llvm.parse_assembly(""), llvm.Target.from_default_triple().create_target_machine(jit=True))

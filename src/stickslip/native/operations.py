"""The operations of expressions as recipes: LLVM instructions with open places for arguments and results.

Every operation gives the bits that CasADi's own evaluation gives: no fast-math, no contraction, and the same libm.
The one exception is erfinv, see `_erfinv_recipe`.
"""

from __future__ import annotations

import math
import struct

import casadi as ca


def literal(value: float) -> str:
    """A double as LLVM writes it exactly, NaN and infinities included."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


CALL = "call double @"


def _call(symbol: str, n_arguments: int = 1) -> tuple[str]:
    return (f"{CALL}{symbol}({', '.join(f'double {{{k}}}' for k in range(n_arguments))})",)


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
        value = literal(coefficients[0])
        for c in coefficients[1:]:
            value = line(f"fadd double {line(f'fmul double {value}, {z}')}, {literal(c)}")
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
    in_tail = line(f"fcmp oge double {a}, {literal(0.7)}")
    y = line(f"select i1 {in_tail}, double {tail}, double {centre}")
    for _ in range(2):
        square = line(f"fmul double {y}, {y}")
        exp = line(f"call double @exp(double {line(f'fneg double {square}')})")
        slope = line(f"fmul double {exp}, {literal(2.0 / math.sqrt(math.pi))}")
        centre = line(f"fsub double {line(f'call double @erf(double {y})')}, {a}")
        tail = line(f"fsub double {p}, {line(f'call double @erfc(double {y})')}")
        error = line(f"select i1 {in_tail}, double {tail}, double {centre}")
        newton = line(f"fdiv double {error}, {slope}")
        halley = line(f"fadd double {line(f'fmul double {y}, {newton}')}, 1.0")
        y = line(f"fsub double {y}, {line(f'fdiv double {newton}, {halley}')}")
    at_one = line(f"fcmp oeq double {a}, 1.0")
    y = line(f"select i1 {at_one}, double {literal(math.inf)}, double {y}")
    line(f"call double @llvm.copysign.f64(double {y}, double {{0}})")
    return tuple(lines)


# The recipe of an operation: instructions in which {0} and {1} are its arguments, {2}, {3}, ... the results of the
# recipe's own first, second, ... instruction. The last one is the value; a recipe without any passes {0} on.
# Only intrinsics whose result is exact stand in for libm.
RECIPES: dict[int, tuple[str, ...]] = {
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

OPERATIONS: dict[int, str] = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}

HINTS: dict[int, str] = {
    ca.OP_CALL: "; let the called Function be inlined",
    ca.OP_PRINTME: "; remove the printing",
}

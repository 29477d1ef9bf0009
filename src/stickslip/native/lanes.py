"""Kernels for several instances at once: the same instructions on vectors of LANES numbers, with the same bits.

The inputs lie input by input, LANES numbers each; the outputs lane by lane, `stride` numbers apart. What calls libm, or looks
up tables, has no such kernel.
"""

from __future__ import annotations

import re

from stickslip.native.operations import CALL

LANES = 4
VECTOR = f"<{LANES} x double>"
_NUMBER = re.compile(r"(?<![%\w.])(0x[0-9A-F]{16}|-?\d+\.\d+)")
_EXACT = re.compile(r"@llvm\.(\w+)\.f64")


def is_narrow(instruction: str) -> bool:
    """Whether an instruction has no form for vectors: calls of libm, look-ups."""
    if instruction.startswith(("getelementptr", "load")):
        return "@table" in instruction or "%outputs" in instruction
    return instruction.startswith("call") and not (instruction.startswith(CALL) and _EXACT.search(instruction))


def widened(instruction: str) -> str:
    """An instruction on doubles as one on vectors."""
    if instruction.startswith("getelementptr"):
        start, _, index = instruction.rpartition(" ")
        return f"{start} {LANES * int(index)}"
    if instruction.startswith("load"):
        return f"{instruction.replace('double', VECTOR)}, align 8"
    wide = _EXACT.sub(rf"@llvm.\1.v{LANES}f64", instruction)
    wide = wide.replace("i1 ", f"<{LANES} x i1> ")
    wide = _NUMBER.sub(lambda found: "<" + ", ".join(LANES * [f"double {found[1]}"]) + ">", wide)
    return re.sub(r"(?<![<x] )double(?= [%<])", VECTOR, wide).replace("call double", f"call {VECTOR}")


def stores(result: str, position: int, stride: int, name: str) -> list[str]:
    """Instructions that write a vector, one number per lane."""
    lines = []
    for lane in range(LANES):
        number = result
        if result.startswith("%"):
            number = f"%{name}l{lane}"
            lines.append(f"{number} = extractelement {VECTOR} {result}, i32 {lane}")
        lines.append(f"%{name}p{lane} = getelementptr double, ptr %outputs, i64 {lane * stride + position}")
        lines.append(f"store volatile double {number}, ptr %{name}p{lane}")
    return lines


def declaration(symbol: str, n_arguments: int) -> str:
    """Of an intrinsic of vectors."""
    return f"declare {VECTOR} @{symbol.replace('.f64', f'.v{LANES}f64')}({', '.join(n_arguments * [VECTOR])})"

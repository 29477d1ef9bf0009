"""Kernels for thousands of contacts and bodies: several at once, and values without derivatives.

They are compiled where contacts are many, once per type of contact or body, and give the same bits as the others.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from stickslip.engine.contact_plan import only_directions
from stickslip.engine.pattern import StagePattern
from stickslip.engine.program import Program
from stickslip.native.kernel import Kernel, NarrowError, compile_kernel

MANY = "many"  # what a program keeps


class ManyKernels(NamedTuple):
    """Values and derivatives for several instances, values for one, values for several."""

    wide: Kernel | None
    values: Kernel
    wide_values: Kernel | None


def prepare_many(program: Program) -> None:
    """Give the groups of detected contacts and of many bodies these kernels, unless they have them already."""
    if MANY in program.kept:
        return
    all_kernels, groups = [], program.tables.groups
    for number, name, pattern in program.many:
        # Derivatives of a contact become rows of directions at once, unless the blocks of its bodies need some of them.
        kept = pattern.outputs.numel() if only_directions(program, number) else int(groups["n_out"][number])
        own = pattern.sheet.once(f"many {kept}", partial(_kernels, pattern, name, kept))
        all_kernels.append(own)
        groups["kept"][number] = kept
        for column, kernel in own._asdict().items():
            groups[column][number] = 0 if kernel is None else kernel.address
    program.kept[MANY] = all_kernels  # owns what lies at the addresses


def _kernels(pattern: StagePattern, name: str, kept: int) -> ManyKernels:
    both, values = pattern.function(name), pattern.values(name)
    try:
        return ManyKernels(compile_kernel(both, both.nnz_out()), compile_kernel(values), compile_kernel(values, kept))
    except NarrowError:
        return ManyKernels(None, compile_kernel(values), None)

"""A stage with many contacts evaluated once more, at another iterate, without derivatives.

Those of the last whole evaluation stay where they are among the outputs, so that the stage can be linearised with them again.
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.residual import call_instances, gather, gather_lane, is_idle
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work
from stickslip.jit import jit_bare, jit_inline
from stickslip.native.call import call_kernel
from stickslip.native.lanes import LANES


@jit_bare
def call_all(tables: Tables, k: int, memory: np.ndarray, work: Work) -> None:
    """Values and derivatives of all instances of problem k that are not idle."""
    call_instances(tables, k, memory, work, True, False, 0.0, 1.0)


@jit_bare
def call_again(tables: Tables, k: int, memory: np.ndarray, work: Work) -> int:
    """The values of all instances of problem k that are not idle; how many of them were idle before.

    These are evaluated with derivatives, behind all others. What becomes idle is evaluated nevertheless.
    """
    problem, woken = tables.problems[k], 0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        kernel = group.kernel if group.values == 0 else group.values
        row, can_be_idle, lane, first = kind.first, group.gap_kernel != 0, 0, 0
        for i in range(group.instance, group.instance + kind.count):
            offset = work.offset[i]
            if offset == IDLE:
                if not can_be_idle or not is_idle(tables, g, row, memory, work):
                    offset = work.filled[0]
                    work.offset[i] = offset
                    work.filled[0] += group.n_out
                    gather(tables, group.inputs, group.n_in, row, memory, work)
                    call_kernel(group.kernel, work.inputs, 0, work.outputs, offset)
                    woken += 1
            elif group.wide_values != 0:
                if lane > 0 and offset != first + lane * group.n_out:
                    _one_by_one(tables, g, lane, first, work)
                    lane = 0
                first = offset if lane == 0 else first
                gather_lane(tables, group.inputs, group.n_in, row, memory, work, lane)
                lane += 1
                if lane == LANES:
                    call_kernel(group.wide_values, work.lanes, 0, work.outputs, first)
                    lane = 0
            else:
                gather(tables, group.inputs, group.n_in, row, memory, work)
                call_kernel(kernel, work.inputs, 0, work.outputs, offset)
            row += kind.width
        _one_by_one(tables, g, lane, first, work)
    return woken


@jit_inline
def _one_by_one(tables: Tables, g: int, lanes: int, first: int, work: Work) -> None:
    """Evaluate lanes that are not all filled."""
    group = tables.groups[g]
    for lane in range(lanes):
        for i in range(group.n_in):
            work.inputs[i] = work.lanes[LANES * i + lane]
        call_kernel(group.values, work.inputs, 0, work.outputs, first + lane * group.n_out)

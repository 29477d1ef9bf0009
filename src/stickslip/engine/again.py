"""A stage with many contacts evaluated once more, at another iterate, without derivatives.

Rows of contacts and blocks of bodies stay as they were set by the last whole evaluation (`contact_rows`), so that the stage can
be linearised with them again. Contacts are taken in the same order as there: their outputs lie in it.
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.contact_state import STRIDE
from stickslip.engine.residual import gather, gather_lane, is_idle
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work
from stickslip.jit import jit_bare, jit_inline
from stickslip.native.call import call_kernel
from stickslip.native.lanes import LANES


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
        can_be_idle, lane, at = group.gap_kernel != 0, 0, 0
        stride = STRIDE if group.law < group.law_1 else 1
        for first in range(stride):
            for i in range(first, kind.count, stride):
                offset, row = work.offset[group.instance + i], kind.first + i * kind.width
                if offset == IDLE:
                    if not can_be_idle or not is_idle(tables, g, row, memory, work):
                        offset = work.filled[0]
                        work.offset[group.instance + i] = offset
                        work.filled[0] += group.n_out
                        gather(tables, group.inputs, group.n_in, row, memory, work)
                        call_kernel(group.kernel, work.inputs, 0, work.outputs, offset)
                        woken += 1
                elif group.wide_values != 0:
                    if lane > 0 and offset != at + lane * group.kept:
                        _one_by_one(tables, g, lane, at, work)
                        lane = 0
                    at = offset if lane == 0 else at
                    gather_lane(tables, group.inputs, group.n_in, row, memory, work, lane)
                    lane += 1
                    if lane == LANES:
                        call_kernel(group.wide_values, work.lanes, 0, work.outputs, at)
                        lane = 0
                else:
                    gather(tables, group.inputs, group.n_in, row, memory, work)
                    call_kernel(kernel, work.inputs, 0, work.outputs, offset)
        _one_by_one(tables, g, lane, at, work)
    return woken


@jit_inline
def _one_by_one(tables: Tables, g: int, lanes: int, first: int, work: Work) -> None:
    """Evaluate lanes that are not all filled."""
    group = tables.groups[g]
    for lane in range(lanes):
        for i in range(group.n_in):
            work.inputs[i] = work.lanes[LANES * i + lane]
        call_kernel(group.values, work.inputs, 0, work.outputs, first + lane * group.kept)

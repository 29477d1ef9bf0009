"""The one time loop: interprets a program of stages, for every scheme and every model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine import tables as tb
from stickslip.engine.naps import ALLOWED, FAR, NEAR, left_box, left_outer_box, seen_first, settle, wake
from stickslip.engine.newton import GUESS, allow_sweeps, back_to_start, load_wanted, workspace
from stickslip.engine.residual import gather
from stickslip.engine.tables import Tables
from stickslip.engine.work import (
    GO_ON,
    IDLE,
    IN_CHANGES,
    IN_CYCLES,
    INSTRUCTION,
    ONCE_MORE,
    RESUMED,
    SOLVE_STAGE,
    SOLVED_ELSEWHERE,
    STOPPED,
    WANTED,
    WIDER,
    Options,
    Work,
)
from stickslip.jit import Direct, jit_bare, jit_inline
from stickslip.native.call import call_apart, call_kernel

__all__ = ["Clock", "Options", "Work", "advance", "allow_sweeps", "call", "load_wanted", "observe", "workspace"]

# A repeated sequence of stages converges linearly, where Newton's method converges quadratically.
CYCLES = 10


@jit_inline
def evaluate(tables: Tables, k: int, memory: np.ndarray, work: Work) -> None:
    """Give fields the sum of what the parts say."""
    evaluation, offset, instance = tables.evaluations[k], 0, 0
    for g in range(evaluation.group_0, evaluation.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row = kind.first
        for _ in range(kind.count):
            idle = group.gap_kernel != 0
            if idle:
                for i in range(group.silent_0, group.silent_1):
                    idle = idle and memory[tables.places[i].start + tables.dofs[row + tables.places[i].column]] == 0.0
            work.offset[instance] = IDLE if idle else offset
            if not idle:
                gather(tables, group.inputs, group.n_in, row, memory, work)
                call_kernel(group.kernel, work.inputs, 0, work.outputs, offset)
                offset += group.n_out
            row += kind.width
            instance += 1
    for s in range(evaluation.segment_0, evaluation.segment_1):
        segment = tables.segments[s]
        for i in range(segment.start, segment.start + segment.length):
            memory[i] = 0.0
    instance = 0
    for g in range(evaluation.group_0, evaluation.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row = kind.first
        for number in range(kind.count):
            offset = work.offset[instance]
            for i in range(group.n_out):
                target = tables.places[group.unknowns + i]
                at = target.start + tables.dofs[row + target.column]
                if target.role == tb.OWN:
                    memory[at] = work.outputs[offset + i] if offset != IDLE else 0.0
                elif offset != IDLE and (number == 0 or target.role == tb.SUM):
                    memory[at] += work.outputs[offset + i]
            row += kind.width
            instance += 1


@jit_inline
def _copy(tables: Tables, memory: np.ndarray, what: int, a: int, b: int, c: int) -> None:
    """One of the instructions that copy, see `tables`."""
    if what == tb.COPY_OWN:
        numbers, column = c // tb.MOST_ROWS % tb.MOST_ROWS, c % tb.MOST_ROWS
        kind = tables.kinds[c // tb.MOST_ROWS**2]
        for row in range(kind.first, kind.first + kind.count * kind.width, kind.width):
            own = tables.dofs[row + column]
            for i in range(own, own + numbers):
                memory[b + i] = memory[a + i]
        return
    if what == tb.COPY_ROWS:
        c = tables.kinds[c // tb.MOST_ROWS].count * (c % tb.MOST_ROWS)
    source, target = memory[a : a + c], memory[b : b + c]
    for i in range(c):
        target[i] = source[i]


@jit_inline
def _write(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a whole array; a slice would allocate."""
    for i in range(source.size):
        target[i] = source[i]


@jit_bare
def _run(
    code: np.ndarray,
    tables: Tables,
    memory: np.ndarray,
    work: Work,
    options: Options,
    iterations: np.ndarray,
    residuals: np.ndarray,
) -> int:
    """Run the instructions of one step; -1, or the stage that could not be solved.

    Then a better start may be written to the memory, and the run is resumed at that stage (`work.signals`).
    """
    at, cycles, changes, resumed = 0, 0, 0, work.signals[RESUMED] == GO_ON
    if resumed or work.signals[RESUMED] == ONCE_MORE:
        at, cycles, changes = work.signals[INSTRUCTION], work.signals[IN_CYCLES], work.signals[IN_CHANGES]
        work.signals[RESUMED] = 0
    elif work.signals[RESUMED] == SOLVED_ELSEWHERE:
        at, cycles, changes = work.signals[INSTRUCTION] + 1, work.signals[IN_CYCLES], work.signals[IN_CHANGES] + 1
        work.signals[RESUMED] = 0
    while at < code.shape[0]:
        what, a, b, c = code[at, 0], code[at, 1], code[at, 2], code[at, 3]
        at += 1
        if what == tb.COPY or what == tb.COPY_ROWS or what == tb.COPY_OWN:
            _copy(tables, memory, what, a, b, c)
        elif what == tb.EVALUATE:
            if left_box(memory, work):
                wake(tables, work, left_outer_box(memory, work))
            evaluate(tables, a, memory, work)
        elif what == tb.SOLVE:
            guess = GUESS if cycles == 0 and not resumed else 1.0
            stage = (tables, a, memory, work, options, guess, iterations, residuals)
            before, missed = iterations[a], residuals[a]
            if work.nap[FAR] + work.nap[NEAR] > 0:
                _write(work.solved_by, work.solved_before)
            solved = call_apart(work.apart[SOLVE_STAGE], stage)
            while work.nap[FAR] + work.nap[NEAR] > 0 and (not solved or left_box(memory, work)):
                if work.signals[WANTED]:
                    break
                everyone = not solved or left_outer_box(memory, work)  # by where the stage led
                back_to_start(tables, a, memory, work, 1.0)  # those who were awake; nobody has changed the others
                wake(tables, work, everyone)
                iterations[a], residuals[a] = before, missed
                _write(work.solved_before, work.solved_by)
                solved = call_apart(work.apart[SOLVE_STAGE], stage)
            resumed = False
            changes += iterations[a] - before
            if not solved:
                work.signals[INSTRUCTION], work.signals[IN_CYCLES], work.signals[IN_CHANGES] = at - 1, cycles, changes
                work.signals[RESUMED] = STOPPED
                return a
        elif what == tb.JUMP:
            at += a - 1
        elif what == tb.JUMP_UNLESS:
            positive = False
            for i in range(c):
                positive = positive or memory[b + i] > 0.0
            if not positive:
                at += a - 1
        elif what == tb.AGAIN:
            if changes == 0:
                cycles = 0
            elif cycles == CYCLES * options.iterations:
                return b
            else:
                cycles += 1
                at -= a
            changes = 0
    return -1


class Clock(NamedTuple):
    """Where time lies in memory, and when the run began: t = start + n dt, free of summed rounding errors.

    Where the scheme decides the length of its steps, `step` is the one that it is offered, and the run is over at
    `end`; else `end` is infinite. `row` is the step whose results go to row 1.
    """

    t_0: int
    t_1: int
    dt: int
    start: float
    step: float
    end: float
    row: int


@jit_bare
def advance(
    tables: Tables,
    begin: np.ndarray,
    step: np.ndarray,
    carry: np.ndarray,
    memory: np.ndarray,
    work: Work,
    options: Options,
    clock: Clock,
    first: int,
    last: int,
    record: np.ndarray,
    results: np.ndarray,
    iterations: np.ndarray,
    residuals: np.ndarray,
) -> tuple[int, int]:
    """Steps `first` to `last`, or to the end of the clock; how many are done in all, and the stage that failed or -1.

    `record` lists the places in memory that make up a row of `results`; row k is the state k steps after `clock.row`. If a
    percussion that it leaves out is not zero (`narrow`), that step is the last, and a signal says so.
    """
    for n in range(first, last):
        resumed = work.signals[RESUMED] != 0 and work.signals[RESUMED] != STOPPED  # one that stopped is not resumed
        if resumed:
            pass
        elif clock.end == np.inf or n == 0:
            memory[clock.t_0] = clock.start + n * clock.step
            memory[clock.t_1] = clock.start + (n + 1) * clock.step
        else:
            memory[clock.t_0] = memory[clock.t_1]
            memory[clock.t_1] += clock.step
        if memory[clock.t_0] >= clock.end:
            return n, -1
        if not resumed:
            memory[clock.dt] = clock.step
            if work.nap[ALLOWED] == 1 and step.shape[0] > 0:
                settle(tables, memory, work, clock.dt)
        if n == 0 and begin.shape[0] > 0:
            failed = _run(begin, tables, memory, work, options, iterations[0], residuals[0])
            if failed >= 0:
                return n, failed
        failed = _run(step, tables, memory, work, options, iterations[n - clock.row], residuals[n - clock.row])
        if failed >= 0:
            return n, failed
        for i in range(record.size):
            results[n + 1 - clock.row, i] = memory[record[i]]
        wider = work.nap[ALLOWED] == 1 and seen_first(memory, work)
        for c in range(carry.shape[0]):
            _copy(tables, memory, carry[c, 0], carry[c, 1], carry[c, 2], carry[c, 3])
        if wider:
            work.signals[WIDER] = 1
            return n + 1, -1
    return last, -1


@jit_bare
def observe(
    tables: Tables,
    k: int,
    memory: np.ndarray,
    work: Work,
    inputs: np.ndarray,
    record: np.ndarray,
    rows: np.ndarray,
    out: np.ndarray,
) -> None:
    """Evaluate stage k for many states: rows of `rows` go to the places `inputs`, the places `record` to rows of `out`."""
    for n in range(rows.shape[0]):
        for i in range(inputs.size):
            memory[inputs[i]] = rows[n, i]
        evaluate(tables, k, memory, work)
        for i in range(record.size):
            out[n, i] = memory[record[i]]


@jit_bare
def call(
    code: np.ndarray,
    tables: Tables,
    memory: np.ndarray,
    work: Work,
    options: Options,
    inputs: np.ndarray,
    values: np.ndarray,
    record: np.ndarray,
    out: np.ndarray,
    iterations: np.ndarray,
    residuals: np.ndarray,
) -> int:
    """A program as a function: `values` go to the places `inputs`, the places `record` to `out`; -1, or what failed."""
    for i in range(inputs.size):
        memory[inputs[i]] = values[i]
    iterations[:] = 0
    residuals[:] = 0.0
    failed = _run(code, tables, memory, work, options, iterations, residuals)
    for i in range(record.size):
        out[i] = memory[record[i]]
    return failed


# Called from Python. Tables and scratch arrays of all programs are of the same types: the loops are compiled once.
run_steps, run_rows = Direct(advance), Direct(observe)

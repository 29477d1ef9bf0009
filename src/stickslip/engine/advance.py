"""The one time loop: interprets a program of stages, for every scheme and every model.

A stage is solved by an active-set semismooth Newton method, with other starts, Gauss-Seidel sweeps over contacts, compliant
constraints and damping where that does not converge (ATTEMPTS). Its linear systems are brought to unit scale: a smooth row is
divided by its diagonal entry (a mass), a multiplier is measured in units of the diagonal of the Delassus operator dy/dz, so
that all rows and unknowns have the dimension of coordinates and velocities. That is also the one measure of the residual:
the largest row, as an error in coordinates and velocities. Unknowns that a law fixes by itself (open contacts) never enter
the linear system.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine import tables as tb
from stickslip.engine.call import call_kernel
from stickslip.engine.program import Program
from stickslip.engine.sweep import number_laws_last, sweep
from stickslip.engine.tables import Tables
from stickslip.jit import jit, jit_inline
from stickslip.nonsmooth.laws import CLOSED, NORMAL, OFF, OPEN, SLIP, ball_branch, normal_branch, slip_weights
from stickslip.nonsmooth.linear import eliminate, eliminate_band, reduce_to_last

# Pivots of a system of unit scale: dependent constraints leave rounding errors, 1e-16 to 1e-14.
SINGULAR = 1e-11
# Then each constraint row gets a compliance of this size. The residual stays exact, so Newton's method converges as before,
# by a factor of 1e-8 a step, to multipliers close to those it started from.
COMPLIANCE = 1e-8

# A repeated sequence of stages converges linearly, where Newton's method converges quadratically.
SWEEPS = 10

# A start that is as good as rounding allows is taken as the solution (a mechanism at rest); one that is merely below the
# tolerance is not: its error would add up over the steps, and velocities that change by less than the tolerance a step would
# never change at all.
GUESS = 1e-3

# What is tried, one after another, until Newton's method converges. `cold`: percussions start from zero. `sweeps`: so many
# steps are first taken by Gauss-Seidel over contacts. `soft`: compliance of constraints, so that forces which nearly cancel
# each other (two contacts of one body that stick) grow slowly instead of jumping out of their friction cones. `prox`: factor
# of the prox parameters. `step`: share of a step that is taken. `patience`: iterations, in units of the option. The
# residual stays exact, so what is found is a solution in any case.
# Of 5200 random problems (3 to 12 velocities, 3 to 12 contacts with mu up to 1.5, half of them dependent or nearly so) 15 %
# need more than the first two; 75 fail without sweeps and the compliances below 1e-4, 11 with them. Of 100 runs of
# tumbling boxes (500 steps of 2 ms, mu up to 1.2; Moreau, RATTLE, Lobatto, generalized-alpha) 3 and 0. A step of 98 spheres
# with 256 contacts (FCLIB, spheres in a box) fails without and is solved with them.
A_COLD, A_SWEEPS, A_SOFT, A_PROX, A_STEP, A_PATIENCE = range(6)
ATTEMPTS = np.array(
    [  # cold, sweeps, soft, prox, step, patience
        (0, 0, 0.0, 1.0, 1.0, 1),
        (1, 0, 0.0, 1.0, 1.0, 1),
        (1, 1, 0.0, 1.0, 1.0, 1),
        (1, 30, 0.0, 1.0, 1.0, 1),
        (1, 0, 1e-1, 1.0, 1.0, 1),
        (1, 0, 1e-2, 1.0, 1.0, 1),
        (1, 0, 1e-3, 1.0, 1.0, 3),
        (1, 0, 1e-4, 1.0, 1.0, 3),
        (1, 0, 1e-5, 1.0, 1.0, 3),
        (1, 0, 1e-6, 1.0, 1.0, 3),
        (1, 100, 1e-2, 1.0, 1.0, 5),
        (1, 0, 0.0, 0.1, 1.0, 1),
        (1, 0, 0.0, 10.0, 1.0, 1),
        (1, 0, 0.0, 1.0, 0.5, 1),
    ]
)
GAUSS_SEIDEL = 300  # sweeps of one step


class Work(NamedTuple):
    """Scratch arrays, so that nothing is allocated in the loop."""

    inputs: np.ndarray
    raw: np.ndarray
    residual: np.ndarray
    step: np.ndarray
    start: np.ndarray
    scale: np.ndarray  # of rows: smooth rows 1/diagonal, law rows Delassus diagonal
    unit: np.ndarray  # of unknowns: smooth 1, multipliers 1/Delassus diagonal
    prox: np.ndarray
    factor: np.ndarray  # of rows, given the branch of their law
    column: np.ndarray  # place of an unknown in the linear system, or -1
    kept: np.ndarray  # and back
    rows: np.ndarray  # scratch of the elimination
    columns: np.ndarray
    branch: np.ndarray
    direction: np.ndarray
    weight: np.ndarray
    matrix: np.ndarray
    right: np.ndarray
    sweep: np.ndarray


def workspace(program: Program) -> Work:
    """Scratch arrays for a program."""
    n, blocks = program.n_max, max(1, len(program.tables.blocks))
    vectors = ("residual", "step", "start", "scale", "unit", "prox", "factor", "right", "sweep")
    indices = ("column", "kept", "rows", "columns")
    return Work(
        inputs=np.zeros(program.n_in_max),
        raw=np.zeros(max(1, program.raw_size)),
        branch=np.zeros(blocks, np.int64),
        direction=np.zeros((blocks, 4)),
        weight=np.zeros((2, 3, 3)),
        matrix=np.zeros(program.matrix_size),
        **{name: np.zeros(n) for name in vectors},
        **{name: np.zeros(n, np.int64) for name in indices},
    )


class Options(NamedTuple):
    """Of the solver: tolerance of the residual, iterations of one attempt, prox parameter (0: scaled automatically)."""

    tolerance: float
    iterations: int
    prox: float


@jit_inline
def _call(t: Tables, first: int, last: int, memory: np.ndarray, w: Work) -> None:
    """Evaluate groups of kernels; their outputs go to raw."""
    for g in range(first, last):
        address, n_in, n_out = t.groups[g, tb.ADDRESS], t.groups[g, tb.N_IN], t.groups[g, tb.N_OUT]
        at, raw = t.groups[g, tb.GATHER], t.groups[g, tb.RAW]
        for _ in range(t.groups[g, tb.COUNT]):
            for i in range(n_in):
                w.inputs[i] = memory[t.gather[at + i]]
            call_kernel(address, w.inputs, 0, w.raw, raw)
            at += n_in
            raw += n_out


@jit_inline
def evaluate(t: Tables, k: int, memory: np.ndarray, w: Work) -> None:
    """Give fields the sum of what the parts say."""
    row = t.evaluations[k]
    _call(t, row[tb.E_GROUP_0], row[tb.E_GROUP_1], memory, w)
    for i in range(row[tb.CLEAR_0], row[tb.CLEAR_1]):
        memory[t.clear[i]] = 0.0
    for i in range(row[tb.SCATTER_0], row[tb.SCATTER_1]):
        memory[t.scatter[i, 0]] += w.raw[t.scatter[i, 1]]


@jit_inline
def _set_scales(t: Tables, p: np.ndarray, w: Work, prox: float, factor: float) -> None:
    """Row and column scales and prox parameters, from the Jacobian at the start of the iteration."""
    n, raw, scale, pairs = p[tb.N], w.raw, w.scale, t.pairs
    for i in range(n):
        scale[i], w.unit[i], w.prox[i] = 0.0, 1.0, 1.0
    for e in range(p[tb.DIAGONAL_0], p[tb.DIAGONAL_1]):
        scale[t.diagonal[e, 0]] += raw[t.diagonal[e, 1]]
    for i in range(n):
        scale[i] = 1.0 / scale[i] if scale[i] != 0.0 else 1.0
    for b in range(p[tb.BLOCK_0], p[tb.BLOCK_1]):
        row, size = t.blocks[b, tb.ROW], t.blocks[b, tb.SIZE]
        delassus, value, component = 0.0, 0.0, 0
        for e in range(t.blocks[b, tb.PAIR_0], t.blocks[b, tb.PAIR_1]):
            # dy_a/dz_a by way of the smooth unknowns: -(dy/dx) (diagonal)^-1 (d row/dz)
            if pairs[e, 0] != component:
                delassus, value, component = max(delassus, abs(value)), 0.0, pairs[e, 0]
            z = pairs[e, 2]
            value += raw[pairs[e, 1]] * (1.0 if z < 0 else -(raw[z] * scale[pairs[e, 3]]))
        delassus = max(delassus, abs(value))
        if delassus == 0.0:
            delassus = 1.0
        unit = 1.0 / delassus
        for a in range(size):
            w.scale[row + a], w.unit[row + a] = delassus, unit
            w.prox[row + a] = factor * (unit if prox <= 0.0 else prox)
    for i in range(n):
        w.scale[i] = abs(w.scale[i])
        w.factor[i] = w.scale[i]
    for b in range(p[tb.BLOCK_0], p[tb.LAW_0]):
        w.factor[t.blocks[b, tb.ROW]] = 1.0


@jit_inline
def _residual(t: Tables, p: np.ndarray, memory: np.ndarray, w: Work) -> float:
    """Choose the branch of every law and write the residual; its size, or inf if anything is not finite."""
    n, residual, raw, blocks = p[tb.N], w.residual, w.raw, t.blocks
    for i in range(n):
        residual[i] = 0.0
    for e in range(p[tb.ROW_0], p[tb.ROW_1]):
        residual[t.rows[e, 0]] += raw[t.rows[e, 1]]
    error, total = 0.0, 0.0
    for i in range(n):
        size = abs(residual[i]) * w.factor[i]
        total += size
        if size > error:
            error = size
    for b in range(p[tb.LAW_0], p[tb.BLOCK_1]):
        kind, row, y, z = blocks[b, tb.KIND], blocks[b, tb.ROW], blocks[b, tb.Y], blocks[b, tb.Z]
        r = w.prox[row]
        rho = 0.0
        where, status = blocks[b, tb.WHERE], blocks[b, tb.STATUS]
        when, unless = blocks[b, tb.WHEN], blocks[b, tb.UNLESS]
        if (when >= 0 and not memory[when] > 0.0) or (unless >= 0 and memory[unless] > 0.0):
            w.branch[b] = OFF
            continue
        if kind == NORMAL:
            branch = OPEN if where >= 0 and memory[where] > 0.0 else normal_branch(raw[y], raw[z], r)
        else:
            rho = raw[blocks[b, tb.RADIUS]]
            branch = ball_branch(raw, y, z, blocks[b, tb.SIZE], rho, r, w.direction, b)
        w.branch[b] = branch
        if status >= 0:
            memory[status] = -1.0 if branch == CLOSED else 1.0
        for a in range(blocks[b, tb.SIZE]):
            if branch == CLOSED:
                residual[row + a] = raw[y + a]
                size = abs(raw[y + a])
            else:
                value = raw[z + a]
                if branch == SLIP:
                    value += rho * w.direction[b, a]
                residual[row + a] = value
                size = abs(value) * w.scale[row + a]
            total += size
            if size > error:
                error = size
    return error if total < np.inf else np.inf


@jit_inline
def _reduce(t: Tables, p: np.ndarray, w: Work) -> int:
    """Fix the unknowns that laws determine by themselves, number the others; how many these are."""
    n, blocks = p[tb.N], t.blocks
    for i in range(n):
        w.column[i] = 0
    for b in range(p[tb.LAW_0], p[tb.BLOCK_1]):
        row = blocks[b, tb.ROW]
        if w.branch[b] == OFF:
            continue
        for a in range(blocks[b, tb.SIZE]):
            w.factor[row + a] = 1.0 if w.branch[b] == CLOSED else w.scale[row + a]
        if w.branch[b] == OPEN and blocks[b, tb.OWN] == 1:
            for e in range(blocks[b, tb.Y_LAST], blocks[b, tb.Z_LAST]):
                i = t.parts[e, 1]
                w.column[i] = -1
                w.step[i] = w.residual[i] / w.raw[t.parts[e, 2]]
    m = 0
    for k in range(n):
        i = t.order[p[tb.SLOT] + k]
        if w.column[i] == 0:
            w.column[i] = m
            w.kept[m] = i
            m += 1
    return m


@jit_inline
def _fill(t: Tables, p: np.ndarray, w: Work, m: int, compliance: float) -> None:
    """The linear system of the unknowns that are kept, in unit scale: triplets are summed into dense or banded rows.

    Entry (i, j) lies at i stride + j + band. Columns of fixed unknowns go to the right-hand side, with the known step.
    """
    raw, blocks, parts, entries = w.raw, t.blocks, t.parts, t.entries
    a, column, factor, unit = w.matrix, w.column, w.factor, w.unit
    band, stride, size = 0, m, m * m
    if p[tb.BAND] >= 0:
        band, stride, size = p[tb.BAND], 3 * p[tb.BAND], m * (3 * p[tb.BAND] + 1)
    for i in range(size):
        a[i] = 0.0
    for i in range(m):
        w.right[i] = w.residual[w.kept[i]] * factor[w.kept[i]]
    for e in range(p[tb.ENTRY_0], p[tb.ENTRY_1]):
        i, j = entries[e, 0], entries[e, 1]
        value = raw[entries[e, 2]] * factor[i]
        if column[j] >= 0:
            a[column[i] * stride + column[j] + band] += value * unit[j]
        else:
            w.right[column[i]] -= value * w.step[j]
    if compliance > 0.0:
        for b in range(p[tb.BLOCK_0], p[tb.LAW_0]):
            a[column[blocks[b, tb.ROW]] * (stride + 1) + band] += compliance
    for b in range(p[tb.LAW_0], p[tb.BLOCK_1]):
        row, size, branch = blocks[b, tb.ROW], blocks[b, tb.SIZE], w.branch[b]
        if column[row] < 0 or branch == OFF:
            continue
        y_0, y_1, z_1, rho_1 = (
            blocks[b, tb.FIRST],
            blocks[b, tb.Y_LAST],
            blocks[b, tb.Z_LAST],
            blocks[b, tb.RADIUS_LAST],
        )
        first, last = y_0, rho_1
        if branch == SLIP:
            slip_weights(w.direction, b, size, raw[blocks[b, tb.RADIUS]], w.prox[row], w.weight)
        elif branch == CLOSED:
            last = y_1
        else:
            first, last = y_1, z_1
        for e in range(first, last):
            c, j = parts[e, 0], parts[e, 1]
            k_0, k_1 = (0, size) if branch == SLIP else (c, c + 1)
            for k in range(k_0, k_1):
                value = raw[parts[e, 2]] * factor[row + k]
                if branch == SLIP:
                    value *= w.direction[b, k] if e >= z_1 else w.weight[0 if e < y_1 else 1, k, c]
                if column[j] >= 0:
                    a[column[row + k] * stride + column[j] + band] += value * unit[j]
                else:
                    w.right[column[row + k]] -= value * w.step[j]
        if branch == CLOSED and compliance > 0.0:
            for i in range(row, row + size):
                a[column[i] * (stride + 1) + band] += compliance


@jit_inline
def _newton_step(t: Tables, p: np.ndarray, w: Work, soft: float) -> bool:
    """The step of Newton's method in w.step, with compliant constraints if asked or if they are dependent; False if none."""
    m, band = _reduce(t, p, w), p[tb.BAND]
    compliance, threshold, solved = soft, SINGULAR, False
    for _ in range(2):
        _fill(t, p, w, m, compliance)
        if band < 0:
            solved = eliminate(w.matrix, w.right, m, threshold, w.rows, w.columns)
        else:
            solved = eliminate_band(w.matrix, w.right, m, band, threshold)
        if solved:
            break
        compliance, threshold = max(COMPLIANCE, soft), 0.0
    for i in range(m):
        w.step[w.kept[i]] = w.right[i] * w.unit[w.kept[i]]
    return solved


@jit
def _contact_step(t: Tables, p: np.ndarray, memory: np.ndarray, w: Work, soft: float, enough: float) -> bool:
    """A step in w.step that satisfies the laws of the linearised stage by Gauss-Seidel sweeps; False if there is none.

    `enough`: change of a sweep that ends them. Stages without laws have no such step, and those with banded matrices, which
    would have to be filled.
    """
    blocks = t.blocks
    if p[tb.BAND] >= 0 or p[tb.LAW_0] == p[tb.BLOCK_1]:
        return False
    for b in range(p[tb.LAW_0], p[tb.BLOCK_1]):
        where = blocks[b, tb.WHERE]
        if blocks[b, tb.OWN] == 0:
            return False
        if w.branch[b] == OFF or (where >= 0 and memory[where] > 0.0):
            continue
        w.branch[b] = CLOSED
        for a in range(blocks[b, tb.SIZE]):
            w.residual[blocks[b, tb.ROW] + a] = w.raw[blocks[b, tb.Y] + a]
    m = _reduce(t, p, w)
    first = number_laws_last(t, p, w)
    _fill(t, p, w, m, max(COMPLIANCE, soft))
    if not reduce_to_last(w.matrix, w.right, m, first, 0.0):
        return False
    sweep(t, p, w, first, m, GAUSS_SEIDEL, enough)
    for i in range(m - 1, -1, -1):
        if i < first:
            x = w.right[i]
            for j in range(i + 1, m):
                x -= w.matrix[i * m + j] * w.sweep[j]
            w.sweep[i] = x / w.matrix[i * m + i]
        w.step[w.kept[i]] = w.sweep[i] * w.unit[w.kept[i]]
    return True


@jit_inline
def solve_problem(
    t: Tables, k: int, memory: np.ndarray, w: Work, options: Options, guess: float
) -> tuple[int, float, bool]:
    """Solve one stage, from the values that its unknowns have in memory; iterations, residual, and whether it converged.

    The start itself is a solution if its residual is below `guess` times the tolerance.
    """
    p = t.problems[k]
    n, slot = p[tb.N], p[tb.SLOT]
    for i in range(n):
        w.start[i] = memory[t.slots[slot + i]]
    total, best = 0, np.inf
    for attempt in range(ATTEMPTS.shape[0]):
        if attempt > 0:
            for i in range(n):
                memory[t.slots[slot + i]] = w.start[i]
            for b in range(p[tb.BLOCK_0], p[tb.BLOCK_1]):
                for a in range(t.blocks[b, tb.SIZE]):
                    memory[t.slots[slot + t.blocks[b, tb.ROW] + a]] *= 1.0 - ATTEMPTS[attempt, A_COLD]
        soft, share = ATTEMPTS[attempt, A_SOFT], ATTEMPTS[attempt, A_STEP]
        last = int(ATTEMPTS[attempt, A_PATIENCE]) * options.iterations
        for iteration in range(last + 1):
            _call(t, p[tb.GROUP_0], p[tb.GROUP_1], memory, w)
            if iteration == 0:
                _set_scales(t, p, w, options.prox, ATTEMPTS[attempt, A_PROX])
            error = _residual(t, p, memory, w)
            best = min(best, error)
            if error < options.tolerance * (guess if iteration == 0 else 1.0):
                return total, error, True
            if error == np.inf or iteration == last:
                break
            if iteration < ATTEMPTS[attempt, A_SWEEPS]:
                stepped = _contact_step(t, p, memory, w, soft, 0.1 * options.tolerance)
            else:
                stepped = _newton_step(t, p, w, soft)
            if not stepped:
                break
            total += 1
            for i in range(n):
                memory[t.slots[slot + i]] -= share * w.step[i]
    return total, best, False


@jit
def _run(
    code: np.ndarray,
    t: Tables,
    memory: np.ndarray,
    w: Work,
    options: Options,
    iterations: np.ndarray,
    residuals: np.ndarray,
) -> int:
    """Run the instructions of one step; -1, or the stage that could not be solved."""
    at, sweeps, changes = 0, 0, 0
    while at < code.shape[0]:
        what, a, b, c = code[at, 0], code[at, 1], code[at, 2], code[at, 3]
        at += 1
        if what == tb.COPY:
            for i in range(c):
                memory[b + i] = memory[a + i]
        elif what == tb.EVALUATE:
            evaluate(t, a, memory, w)
        elif what == tb.SOLVE:
            count, residual, converged = solve_problem(t, a, memory, w, options, GUESS if sweeps == 0 else 1.0)
            iterations[a] += count
            changes += count
            residuals[a] = max(residuals[a], residual)
            if not converged:
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
                sweeps = 0
            elif sweeps == SWEEPS * options.iterations:
                return b
            else:
                sweeps += 1
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


@jit
def advance(
    t: Tables,
    begin: np.ndarray,
    step: np.ndarray,
    carry: np.ndarray,
    memory: np.ndarray,
    w: Work,
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

    `record` lists the places in memory that make up a row of `results`; row k is the state k steps after `clock.row`.
    """
    for n in range(first, last):
        if clock.end == np.inf or n == 0:
            memory[clock.t_0] = clock.start + n * clock.step
            memory[clock.t_1] = clock.start + (n + 1) * clock.step
        else:
            memory[clock.t_0] = memory[clock.t_1]
            memory[clock.t_1] += clock.step
        if memory[clock.t_0] >= clock.end:
            return n, -1
        memory[clock.dt] = clock.step
        if n == 0:
            failed = _run(begin, t, memory, w, options, iterations[0], residuals[0])
            if failed >= 0:
                return n, failed
        failed = _run(step, t, memory, w, options, iterations[n - clock.row], residuals[n - clock.row])
        if failed >= 0:
            return n, failed
        for i in range(record.size):
            results[n + 1 - clock.row, i] = memory[record[i]]
        for c in range(carry.shape[0]):
            for i in range(carry[c, 2]):
                memory[carry[c, 1] + i] = memory[carry[c, 0] + i]
    return last, -1


@jit
def observe(
    t: Tables,
    k: int,
    memory: np.ndarray,
    w: Work,
    inputs: np.ndarray,
    record: np.ndarray,
    rows: np.ndarray,
    out: np.ndarray,
) -> None:
    """Evaluate stage k for many states: rows of `rows` go to the places `inputs`, the places `record` to rows of `out`."""
    for n in range(rows.shape[0]):
        for i in range(inputs.size):
            memory[inputs[i]] = rows[n, i]
        evaluate(t, k, memory, w)
        for i in range(record.size):
            out[n, i] = memory[record[i]]


@jit
def call(
    code: np.ndarray,
    t: Tables,
    memory: np.ndarray,
    w: Work,
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
    failed = _run(code, t, memory, w, options, iterations, residuals)
    for i in range(record.size):
        out[i] = memory[record[i]]
    return failed

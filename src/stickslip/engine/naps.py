"""Contacts that are far away sleep: they are left out of the loops, without being looked at, while the state stays in a box.

`settle` draws the box around the present state, as wide as the state has moved in a step times a horizon, and leaves out
all instances whose gaps are positive everywhere in it (`engine.sleepers` says which they can be, `engine.bounds` how that is
known). A stage whose result leaves the box is repeated with all instances awake. So results are, bit for bit, what they are
without sleep; only the size of the box, which decides how often it is drawn anew, is a matter of taste.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.engine.tables import Tables
from stickslip.engine.work import Work
from stickslip.jit import jit_bare, jit_inline
from stickslip.native.call import call_kernel

# Of work.nap: whether it is allowed; whether anybody sleeps; steps since the box was drawn; steps to wait before the next
# one; its horizon in steps; how many slept in the last ones; pieces of a row of results that are not of sleepers.
ALLOWED, ASLEEP, STEPS, WAIT, HORIZON, SLEPT, PIECES = range(7)

FIRST_WAIT, LONG_WAIT = 2, 64  # steps: after the start, and where nobody could sleep
FIRST_HORIZON, LEAST_HORIZON, LONGEST_HORIZON = 64, 4, 2**20
SHORT = 512  # a box that lasts for fewer steps is too small
SMALLER = 3  # times a box is drawn anew, a quarter as wide, because fewer sleep in it than before
LEAST = 1e-6  # radius of the box, relative to the coordinate
CLEARLY = 1e-6  # lower bound of a gap, relative to its upper one: far above rounding errors


@jit_bare
def settle(tables: Tables, memory: np.ndarray, work: Work, record: np.ndarray) -> None:
    """At the start of a step: leave out whoever can sleep, if it is time to see who that is.

    `record`: places in the memory that make up a row of results. Those of sleepers, which are zero, are not copied.
    """
    nap, centre, radius, pace = work.nap, work.box[0], work.box[1], work.box[2]
    nap[STEPS] += 1
    if nap[ASLEEP] == 1 or nap[STEPS] < nap[WAIT]:
        return
    if nap[HORIZON] == 0:  # first of all see how the state moves
        for w in range(work.watch.size):
            centre[work.watch[w]] = memory[work.watch[w]]
        nap[STEPS], nap[WAIT], nap[HORIZON] = 0, 1, FIRST_HORIZON
        return
    if nap[SLEPT] > 0 and nap[STEPS] < SHORT:
        nap[HORIZON] = min(max(2, min(8, SHORT // nap[STEPS])) * nap[HORIZON], LONGEST_HORIZON)
    for w in range(work.watch.size):
        i = work.watch[w]
        pace[i] = abs(memory[i] - centre[i]) / nap[STEPS]
        radius[i], centre[i] = max(0.5 * radius[i], LEAST * abs(memory[i])), memory[i]
    asleep = _leave_out(tables, memory, work)
    for _ in range(SMALLER):
        if 8 * asleep >= 7 * nap[SLEPT]:
            break
        nap[HORIZON] = max(nap[HORIZON] // 4, LEAST_HORIZON)  # the box was too large for some
        for w in range(work.watch.size):
            radius[work.watch[w]] = LEAST * abs(memory[work.watch[w]])
        asleep = _leave_out(tables, memory, work)
    nap[STEPS], nap[PIECES] = 0, _pieces(record, work.hidden, work.pieces)
    nap[ASLEEP] = 1 if asleep > 0 else 0
    nap[WAIT] = 0 if asleep > 0 else LONG_WAIT
    if asleep == 0:
        nap[HORIZON] = max(nap[HORIZON] // 4, LEAST_HORIZON)
    nap[SLEPT] = max(asleep, nap[SLEPT] // 2)


@jit_bare
def _leave_out(tables: Tables, memory: np.ndarray, work: Work) -> int:
    """Leave out whoever can sleep in a box of the present horizon; how many these are."""
    asleep, hidden = 0, work.hidden
    for w in range(work.watch.size):
        i = work.watch[w]
        work.box[1, i] = max(work.box[1, i], work.nap[HORIZON] * work.box[2, i])
    for s in range(tables.sleepers.size):
        kind = tables.kinds[tables.sleepers[s].kind]
        awake, silent_0, silent_1 = 0, tables.sleepers[s].silent_0, tables.sleepers[s].silent_1
        for number in range(kind.capacity):
            row = kind.first + number * kind.width
            sleeps = _can_sleep(tables, s, row, memory, work)
            for i in range(silent_0, silent_1):
                hidden[tables.places[i].start + work.all_rows[row + tables.places[i].column]] = sleeps
            if sleeps:
                continue
            for i in range(kind.width):
                tables.dofs[kind.first + awake * kind.width + i] = work.all_rows[row + i]
            awake += 1
        kind.count = awake
        asleep += kind.capacity - awake
    return asleep


@jit_inline
def _pieces(record: np.ndarray, hidden: np.ndarray, pieces: np.ndarray) -> int:
    """Ranges of a row of results that are not hidden, and lie side by side in the memory: first column, place, length."""
    count, after = 0, -1
    for i in range(record.size):
        if hidden[record[i]]:
            after = -1
        elif record[i] == after:
            pieces[count - 1, 2] += 1
            after += 1
        else:
            pieces[count, 0], pieces[count, 1], pieces[count, 2] = i, record[i], 1
            count, after = count + 1, record[i] + 1
    return count


@jit_inline
def _can_sleep(tables: Tables, s: int, row: int, memory: np.ndarray, work: Work) -> bool:
    """Whether the instance with these integers is silent, open, and cannot close in the box."""
    sleeper, dofs = tables.sleepers[s], work.all_rows
    for i in range(sleeper.silent_0, sleeper.silent_1):
        value = memory[tables.places[i].start + dofs[row + tables.places[i].column]]
        if value != 0.0 or math.copysign(1.0, value) < 0.0:  # a negative zero is not what an untouched row holds
            return False
    for i in range(sleeper.mark_0, sleeper.mark_1):
        if not memory[tables.places[i].start + dofs[row + tables.places[i].column]] > 0.0:
            return False
    for b in range(sleeper.bound_0, sleeper.bound_1):
        bound = tables.bounds[b]
        for i in range(bound.n_in):
            place = tables.places[bound.inputs + i]
            at = place.start + dofs[row + place.column]
            fixed = at < bound.parameters
            work.inputs[i] = memory[at] if fixed else work.box[0, at]
            work.inputs[bound.n_in + i] = 0.0 if fixed else work.box[1, at]
        call_kernel(bound.kernel, work.inputs, 0, work.gaps, 0)
        for i in range(bound.n_out):
            lower, upper = work.gaps[i], work.gaps[bound.n_out + i]
            if not lower > CLEARLY * upper:
                return False
    return True


@jit_inline
def left_box(memory: np.ndarray, work: Work) -> bool:
    """Whether somebody sleeps, and the state is not where that is allowed."""
    if work.nap[ASLEEP] == 0:
        return False
    for w in range(work.watch.size):
        i = work.watch[w]
        if not abs(memory[i] - work.box[0, i]) <= work.box[1, i]:
            return True
    return False


@jit_bare
def wake(tables: Tables, work: Work) -> None:
    """Nobody sleeps."""
    for s in range(tables.sleepers.size):
        kind = tables.kinds[tables.sleepers[s].kind]
        for i in range(kind.first, kind.first + kind.capacity * kind.width):
            tables.dofs[i] = work.all_rows[i]
        kind.count = kind.capacity
    work.nap[ASLEEP] = 0


def allow_naps(tables: Tables, work: Work) -> None:
    """For a run that has tables of its own, if there is anybody who can sleep."""
    if tables.sleepers.size:
        work.all_rows[:] = tables.dofs
        work.nap[:] = 0
        work.nap[ALLOWED], work.nap[WAIT] = 1, FIRST_WAIT
        work.hidden[:] = False
        work.box[:] = 0.0

"""Contacts that are far away sleep: they are left out of the loops, without being looked at, while the state stays in a box.

All instances whose gaps are positive everywhere in a box around the present state are left out while the state stays in it
(`engine.sleepers` says which they can be, `engine.bounds` how that is known). There are two boxes. The outer one is as large
as it can be so that many are left out: it is drawn before the first step, and hardly ever again. The inner one is as wide as
the state has moved in a step times a horizon; it is drawn anew when it is left, and only those are looked at whom the outer
one does not leave out.

A stage whose result leaves a box is repeated with those awake whom it had left out. So results are, bit for bit, what they
are without sleep; only the sizes of the boxes, which decide how often they are drawn anew, are a matter of taste.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.engine import tables as tb
from stickslip.engine.bounds import CLEARLY
from stickslip.engine.tables import Tables
from stickslip.engine.work import Work
from stickslip.jit import jit_bare, jit_inline
from stickslip.native.call import call_kernel

# Of work.nap: whether it is allowed; whether anybody sleeps in the outer box, or in the inner one; steps since the inner box
# was drawn, and to wait before the next one; its horizon in steps; how many slept in the last ones; steps since the outer box
# was drawn, and to wait before the next one; whether it is known who of those that rows of results leave out is awake
# (`narrow`); how many these are, and those awake.
ALLOWED, FAR, NEAR, STEPS, WAIT, HORIZON, SLEPT, OUTER_STEPS, OUTER_WAIT, LISTED, LEFT_OUT, LEFT_OUT_AWAKE = range(12)

# Of work.box, for each place in the memory: the box that must not be left, the change per step, the inner and the outer box,
# and how much wider than others the outer one must be here, because it was left here before.
CENTRE, RADIUS, PACE, INNER_CENTRE, INNER_RADIUS, OUTER_CENTRE, OUTER_RADIUS, WIDER = range(8)

FIRST_WAIT, LONG_WAIT = 2, 64  # steps: after the start, and where nobody could sleep
FIRST_HORIZON, LEAST_HORIZON, LONGEST_HORIZON = 64, 4, 2**20
SHORT = 512  # a box that lasts for fewer steps is too small
SMALLER = 3  # times a box is drawn anew, a quarter as wide, because fewer sleep in it than before
LEAST = 1e-6  # radius of the box, relative to the coordinate
LARGEST, SIZES, SMALLER_BY = 16.0, 3, 1 / 16  # radii of outer boxes, relative to 1 + the coordinate
WIDER_BY, WIDEST = 16.0, 1e6  # where an outer box was left
MANY = 4  # one in so many must sleep in the outer box
# Steps: to wait where too few could sleep in it; it was left soon if it lasted for fewer than these, and what to wait then.
OUTER_LONG_WAIT, OUTER_SHORT, SHORT_WAIT = 4096, 8, 16


@jit_inline
def left_outer_box(memory: np.ndarray, work: Work) -> bool:
    """Whether nobody may sleep; where that is so, the next outer box will be wider."""
    if work.nap[FAR] == 0:
        return True
    left, box = False, work.box
    for w in range(work.watch.size):
        i = work.watch[w]
        if not abs(memory[i] - box[OUTER_CENTRE, i]) <= box[OUTER_RADIUS, i]:
            left, box[WIDER, i] = True, min(WIDER_BY * max(box[WIDER, i], 1.0), WIDEST)
    return left


@jit_bare
def settle(tables: Tables, memory: np.ndarray, work: Work, dt: int) -> None:
    """At the start of a step: leave out whoever can sleep, if it is time to see who that is. `dt`: the place of its length."""
    nap = work.nap
    nap[STEPS] += 1
    nap[OUTER_STEPS] += 1
    if nap[NEAR] == 0 and nap[FAR] == 1 and left_outer_box(memory, work):
        wake_all(tables, work)
    if nap[NEAR] == 0 and nap[FAR] == 0 and nap[OUTER_STEPS] > nap[OUTER_WAIT]:
        _draw_outer(tables, memory, work, dt)
    if nap[NEAR] == 0 and nap[STEPS] >= nap[WAIT]:
        _draw_inner(tables, memory, work, dt)
    if nap[LISTED] == 0:
        nap[LISTED], nap[LEFT_OUT_AWAKE] = 1, 0
        for i in range(nap[LEFT_OUT]):
            if not work.hidden[work.left_out[0, i]]:
                work.left_out[1, nap[LEFT_OUT_AWAKE]] = work.left_out[0, i]
                nap[LEFT_OUT_AWAKE] += 1


@jit_bare
def _draw_outer(tables: Tables, memory: np.ndarray, work: Work, dt: int) -> None:
    """The largest of a few boxes in which many sleep; in all of them a step may be shorter, but not longer than this one."""
    nap, share, asleep, instances = work.nap, LARGEST, 0, 0
    for s in range(tables.sleepers.size):
        instances += tables.kinds[tables.sleepers[s].kind].capacity
    for _ in range(SIZES):
        for w in range(work.watch.size):
            i = work.watch[w]
            wide = share * max(work.box[WIDER, i], 1.0) * (1.0 + abs(memory[i]))
            work.box[CENTRE, i], work.box[RADIUS, i] = (memory[i], wide) if i != dt else (memory[i] / 2, memory[i] / 2)
        asleep = _leave_out(tables, memory, work)
        if MANY * asleep >= instances:
            break
        share *= SMALLER_BY
    if MANY * asleep < instances:
        wake_all(tables, work)
        nap[OUTER_STEPS], nap[OUTER_WAIT] = 0, OUTER_LONG_WAIT
        return
    nap[FAR], nap[LISTED], nap[OUTER_STEPS], nap[SLEPT] = 1, 0, 0, max(nap[SLEPT] - asleep, 0)
    for w in range(work.watch.size):
        i = work.watch[w]
        work.box[OUTER_CENTRE, i], work.box[OUTER_RADIUS, i] = work.box[CENTRE, i], work.box[RADIUS, i]
    for s in range(tables.sleepers.size):
        kind = tables.kinds[tables.sleepers[s].kind]
        work.near_count[s] = kind.count
        for i in range(kind.first, kind.first + kind.count * kind.width):
            work.near_rows[i] = tables.dofs[i]


@jit_bare
def _draw_inner(tables: Tables, memory: np.ndarray, work: Work, dt: int) -> None:
    """A box as wide as the state has moved in a step times the horizon; within the outer one."""
    nap, box = work.nap, work.box
    if nap[HORIZON] == 0:  # first of all see how the state moves
        for w in range(work.watch.size):
            box[INNER_CENTRE, work.watch[w]] = memory[work.watch[w]]
        nap[STEPS], nap[WAIT], nap[HORIZON] = 0, 1, FIRST_HORIZON
        return
    if nap[SLEPT] > 0 and nap[STEPS] < SHORT:
        nap[HORIZON] = min(max(2, min(8, SHORT // nap[STEPS])) * nap[HORIZON], LONGEST_HORIZON)
    for w in range(work.watch.size):
        i = work.watch[w]
        box[PACE, i] = abs(memory[i] - box[INNER_CENTRE, i]) / nap[STEPS]
        box[INNER_CENTRE, i], box[INNER_RADIUS, i] = memory[i], 0.5 * box[INNER_RADIUS, i]
    asleep = _nap(tables, memory, work, dt)
    for _ in range(SMALLER):
        if 8 * asleep >= 7 * nap[SLEPT]:
            break
        nap[HORIZON] = max(nap[HORIZON] // 4, LEAST_HORIZON)  # the box was too large for some
        for w in range(work.watch.size):
            box[INNER_RADIUS, work.watch[w]] = 0.0
        asleep = _nap(tables, memory, work, dt)
    nap[STEPS], nap[LISTED] = 0, 0
    nap[NEAR] = 1 if asleep > 0 else 0
    nap[WAIT] = 0 if asleep > 0 else LONG_WAIT
    if asleep == 0:
        nap[HORIZON] = max(nap[HORIZON] // 4, LEAST_HORIZON)
        _back_to_outer(work)
    nap[SLEPT] = max(asleep, nap[SLEPT] // 2)


@jit_bare
def _nap(tables: Tables, memory: np.ndarray, work: Work, dt: int) -> int:
    """Leave out whoever can sleep in an inner box of the present horizon; how many these are."""
    box = work.box
    for w in range(work.watch.size):
        i = work.watch[w]
        least = max(box[INNER_RADIUS, i], LEAST * abs(memory[i]))
        box[INNER_RADIUS, i] = max(least, work.nap[HORIZON] * box[PACE, i])
        box[CENTRE, i], box[RADIUS, i] = memory[i], box[INNER_RADIUS, i]
        if work.nap[FAR] == 1:
            room = box[OUTER_RADIUS, i] - abs(memory[i] - box[OUTER_CENTRE, i])
            box[RADIUS, i] = min(box[RADIUS, i], room)
        if i == dt:
            box[CENTRE, i], box[RADIUS, i] = memory[i] / 2, memory[i] / 2
    return _leave_out(tables, memory, work)


@jit_bare
def _leave_out(tables: Tables, memory: np.ndarray, work: Work) -> int:
    """Leave out whoever can sleep in the box; how many these are."""
    asleep = 0
    for s in range(tables.sleepers.size):
        sleeper = tables.sleepers[s]
        kind, awake = tables.kinds[sleeper.kind], 0
        for number in range(work.near_count[s]):
            row = kind.first + number * kind.width
            sleeps = _can_sleep(tables, s, row, memory, work)
            for i in range(sleeper.silent_0, sleeper.silent_1):
                work.hidden[tables.places[i].start + work.near_rows[row + tables.places[i].column]] = sleeps
            if sleeps:
                for i in range(sleeper.opened_0, sleeper.opened_1):  # as it would be written, if it were looked at
                    memory[tables.places[i].start + work.near_rows[row + tables.places[i].column]] = 1.0
                asleep += 1
                continue
            for i in range(kind.width):
                tables.dofs[kind.first + awake * kind.width + i] = work.near_rows[row + i]
            awake += 1
        kind.count = awake
    return asleep


@jit_inline
def seen_first(memory: np.ndarray, work: Work) -> bool:
    """Whether a place has a value that rows of results leave out: a contact has closed that never had before."""
    known = work.nap[LISTED]  # who sleeps, whose percussions are zero
    for i in range(work.nap[LEFT_OUT_AWAKE] if known == 1 else work.nap[LEFT_OUT]):
        value = memory[work.left_out[known, i]]
        if value != 0.0 or math.copysign(1.0, value) < 0.0:
            return True
    return False


@jit_inline
def _can_sleep(tables: Tables, s: int, row: int, memory: np.ndarray, work: Work) -> bool:
    """Whether the instance with these integers is silent, open, and cannot close in the box."""
    sleeper, dofs = tables.sleepers[s], work.near_rows
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
            fixed = place.role == tb.FIXED
            work.inputs[i] = memory[at] if fixed else work.box[CENTRE, at]
            work.inputs[bound.n_in + i] = 0.0 if fixed else work.box[RADIUS, at]
        call_kernel(bound.kernel, work.inputs, 0, work.gaps, 0)
        for i in range(bound.n_out):
            lower, upper = work.gaps[i], work.gaps[bound.n_out + i]
            if not lower > CLEARLY * upper:
                return False
    return True


@jit_inline
def _left(memory: np.ndarray, work: Work, centre: int, radius: int) -> bool:
    for w in range(work.watch.size):
        i = work.watch[w]
        if not abs(memory[i] - work.box[centre, i]) <= work.box[radius, i]:
            return True
    return False


@jit_inline
def left_box(memory: np.ndarray, work: Work) -> bool:
    """Whether somebody sleeps, and the state is not where that is allowed."""
    return work.nap[FAR] + work.nap[NEAR] > 0 and _left(memory, work, CENTRE, RADIUS)


@jit_inline
def _back_to_outer(work: Work) -> None:
    """The outer box is the one that must not be left."""
    for w in range(work.watch.size):
        i = work.watch[w]
        work.box[CENTRE, i], work.box[RADIUS, i] = work.box[OUTER_CENTRE, i], work.box[OUTER_RADIUS, i]


@jit_bare
def wake(tables: Tables, work: Work, everyone: bool) -> None:
    """Wake everyone, or those who sleep in the inner box only."""
    if everyone:
        wake_all(tables, work)
        return
    for s in range(tables.sleepers.size):
        sleeper = tables.sleepers[s]
        kind = tables.kinds[sleeper.kind]
        for number in range(work.near_count[s]):
            row = kind.first + number * kind.width
            for i in range(kind.width):
                tables.dofs[row + i] = work.near_rows[row + i]
            for i in range(sleeper.silent_0, sleeper.silent_1):
                work.hidden[tables.places[i].start + work.near_rows[row + tables.places[i].column]] = False
        kind.count = work.near_count[s]
    work.nap[NEAR], work.nap[LISTED] = 0, 0
    _back_to_outer(work)


@jit_bare
def wake_all(tables: Tables, work: Work) -> None:
    """Nobody sleeps."""
    nap = work.nap
    if nap[FAR] == 1:
        nap[OUTER_WAIT] = (
            min(max(2 * nap[OUTER_WAIT], SHORT_WAIT), OUTER_LONG_WAIT) if nap[OUTER_STEPS] < OUTER_SHORT else 0
        )
        nap[OUTER_STEPS] = 0
    for s in range(tables.sleepers.size):
        kind = tables.kinds[tables.sleepers[s].kind]
        nap[SLEPT] += kind.capacity - work.near_count[s]
        for i in range(kind.first, kind.first + kind.capacity * kind.width):
            tables.dofs[i] = work.near_rows[i] = work.all_rows[i]
        kind.count = work.near_count[s] = kind.capacity
    for i in range(work.hidden.size):
        work.hidden[i] = False
    nap[FAR], nap[NEAR], nap[LISTED] = 0, 0, 0


def allow_naps(tables: Tables, work: Work) -> None:
    """For a run that has tables of its own, if there is anybody who can sleep; whoever slept is woken."""
    if tables.sleepers.size:
        if work.nap[ALLOWED] == 0:
            work.all_rows[:] = tables.dofs
        wake_all(tables, work)
        work.nap[:LEFT_OUT] = 0
        work.nap[ALLOWED], work.nap[WAIT] = 1, FIRST_WAIT
        work.box[:WIDER, work.watch] = 0.0

"""Percussions of dependent constraints and contacts: those of minimum norm, at every step.

Where rows depend on each other (a door on two hinges, a table on four legs) many percussions P make the same motion. Their sum
of W_j P_j is unique, and so are the P of minimum norm among them: sum of w_j P_j^2, with w_j the diagonal of the Delassus
operator, so that metres and radians compare. They are what tiny springs, stiff in proportion to 1/w_j, would carry.

A stage that was solved with dependent rows is left as it is, velocities, branches and all. Only its multipliers are exchanged,
those of the rows that bind (constraints, closed contacts, elements that stick), for the solution of

    min |P|^2  with  W P = W P_found,  P_N >= 0                                                          (1)

Friction of an element that slips follows its normal percussion. With B = m^-1/2 W w^-1/2, whose columns have length one, (1)
is the limit of

    y - B z = -B z_found,   B^T y + c z = 0,   z = w^1/2 P                                               (2)

for small compliances c, approached by repetition with what is left. z is taken as -B^T y/c: so it has no part in the null
space of B, to the last digit. Contacts that would pull are left out, one set after another. Singular values of B below c^1/2
count as zero: they come from positions that hold the constraints up to a tolerance. Where the least percussions leave a
friction cone, those that were found are kept.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from stickslip.engine.linearise import add_entry, keep_unknowns
from stickslip.engine.tables import DENSE, FEW, SPARSE, Tables
from stickslip.engine.work import IDLE, SOLVE_ISLANDS, Work
from stickslip.jit import apart, jit_inline
from stickslip.native.call import call_apart
from stickslip.nonsmooth.cones import BALL, CLOSED, NORMAL, OFF, OPEN, SLIP
from stickslip.nonsmooth.linear import eliminate, eliminate_band

COMPLIANCE = 1e-9  # c: singular values of B below 3e-5 are zero
PASSES = 12  # each leaves a share c/(s^2 + c) in the direction of a singular value s, or drops contacts
SHARE = 0.1  # of the tolerance, that the motion may differ by
CONTACT_SHARE = (
    1e-3  # the same with contacts, which a gap of 1e-13 m opens: three boxes, each 1e4 times as heavy as the one below
)
FIXED, FREE, DROPPED = 0.0, 1.0, 2.0  # what becomes of a multiplier
NONE, CONSTRAINTS, CONTACTS = 0, 1, 2  # of whom multipliers are free


@apart("boolean")
def least_forces(tables: Tables, k: int, memory: np.ndarray, work: Work, tolerance: float) -> bool:
    """Write the difference of the multipliers to those of minimum norm to work.x.step; False if there is no use for it.

    The stage is solved, with its kernels' outputs and branches in the workspace.
    """
    problem, x = tables.problems[k], work.x
    band = problem.band
    m = keep_unknowns(tables, k, work)
    if band == SPARSE and m < FEW:
        band = DENSE
    chosen = _choose(tables, k, work)
    if chosen == NONE:
        return False
    share = CONTACT_SHARE if chosen == CONTACTS else SHARE
    _load(tables, k, memory, work)
    before = np.inf
    for _ in range(PASSES):
        count = _fill(tables, k, work, m, band, True, 0)
        if count < 0:
            return False
        left = 0.0  # what the motion would change by
        for c in range(m):
            i = x[c].kept
            if i < problem.n_smooth:
                left = max(left, abs(work.right[c]) * sqrt(abs(x[i].scale)) * x[i].per_size)
        if not left < np.inf:
            return False
        if left < share * tolerance or left > 0.5 * before:  # the rest is what singular values near zero did
            if left > share * tolerance and chosen == CONTACTS:
                return False
            _follow(tables, k, work)
            return True
        before = left
        if band == DENSE:
            solved = eliminate(work.matrix, work.right, m, 0.0, work.rows, work.columns)
        elif band == SPARSE:
            for i in range(m):
                work.columns[i] = tables.nodes[problem.order + x[i].kept]
            system = (m, work.entries[:count], work.columns, work.right, 0.0)
            solved = call_apart(work.apart[SOLVE_ISLANDS], system)
        else:
            solved = eliminate_band(work.matrix, work.right, m, band, 0.0)
        if not solved:
            return False
        for c in range(m):
            if x[c].kept >= problem.n_smooth:
                work.right[c] = 0.0
        _fill(tables, k, work, m, band, False, 0)
        for c in range(m):
            if x[c].kept >= problem.n_smooth and work.sweep[x[c].kept] == FREE:
                x[x[c].kept].step += work.right[c] / (COMPLIANCE * sqrt(x[x[c].kept].scale))
        if _drop(tables, k, memory, work):
            _load(tables, k, memory, work)
            before = np.inf
    return False


@jit_inline
def _choose(tables: Tables, k: int, work: Work) -> int:
    """Which multipliers are free; of whom.

    Those that stand in a row of a law themselves are fixed: the row would change with them.
    """
    problem, found = tables.problems[k], NONE
    for i in range(problem.n):
        work.sweep[i] = FIXED
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            if work.offset[instance] != IDLE:
                for b in range(group.law_0, group.law_1):
                    if b < group.law or work.branch[element + b - group.law_0] == CLOSED:
                        place = tables.places[group.unknowns + tables.laws[b].unknown]
                        first = place.start + tables.dofs[row + place.column]
                        for i in range(first, first + tables.laws[b].rows):
                            work.sweep[i] = FREE
                            found = max(found, CONSTRAINTS if b < group.law else CONTACTS)
            row += kind.width
            element += group.law_1 - group.law_0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset != IDLE:
                for e in range(group.entry_0, group.entry_1):
                    entry = tables.entries[e]
                    if work.outputs[offset + entry.output] != 0.0:
                        place = tables.places[group.unknowns + entry.row]
                        i = place.start + tables.dofs[row + place.column]
                        place = tables.places[group.unknowns + entry.unknown]
                        j = place.start + tables.dofs[row + place.column]
                        if i >= problem.n_smooth and work.sweep[j] == FREE:
                            work.sweep[j] = FIXED
                for b in range(group.law, group.law_1):
                    law, branch = tables.laws[b], work.branch[element + b - group.law_0]
                    if branch in (OFF, OPEN):
                        continue
                    e_0, e_1 = law.y_0, law.y_end  # rows of closed contacts, of elements that stick or slip
                    if branch == SLIP and law.kind != BALL:
                        e_1 = law.radius_end
                    for e in range(e_0, e_1):
                        place = tables.places[group.unknowns + tables.entries[e].unknown]
                        j = place.start + tables.dofs[row + place.column]
                        if work.sweep[j] == FREE and work.outputs[offset + tables.entries[e].output] != 0.0:
                            work.sweep[j] = FIXED
            row += kind.width
            element += group.law_1 - group.law_0
    return found


@jit_inline
def _load(tables: Tables, k: int, memory: np.ndarray, work: Work) -> None:
    """The multipliers that are not fixed, in x.step: what is left of them, to begin with all."""
    problem, x = tables.problems[k], work.x
    for i in range(problem.n):
        x[i].step = 0.0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row = kind.first
        for instance in range(group.instance, group.instance + kind.count):
            if work.offset[instance] != IDLE:
                for b in range(group.law_0, group.law_1):
                    law = tables.laws[b]
                    place = tables.places[group.unknowns + law.unknown]
                    at = tables.dofs[row + place.column]
                    for a in range(law.rows):
                        if work.sweep[place.start + at + a] != FIXED:
                            x[place.start + at + a].step = memory[law.home + at + a]
            row += kind.width


@jit_inline
def _couple(
    work: Work, band: int, fills: bool, count: int, n_smooth: int, i: int, j: int, stride: int, width: int, value: float
) -> int:
    """The multiplier j in the smooth row i, with this derivative; the number of triplets, or -1 if there is no room."""
    x = work.x
    if count < 0 or i >= n_smooth or j < n_smooth or work.sweep[j] == FIXED:
        return count
    value *= sqrt(abs(x[i].scale))
    if fills:
        work.right[x[i].column] -= value * x[j].step
    if work.sweep[j] == FREE:
        value /= sqrt(x[j].scale)
        if not fills:
            work.right[x[j].column] += value * work.right[x[i].column]
            return count
        if band == SPARSE and count + 2 > work.entries.size:
            return -1
        count = add_entry(work, band == SPARSE, count, x[i].column, x[j].column, stride, width, -value)
        count = add_entry(work, band == SPARSE, count, x[j].column, x[i].column, stride, width, value)
    return count


@jit_inline
def _fill(tables: Tables, k: int, work: Work, m: int, band: int, fills: bool, count: int) -> int:
    """The linear system (2), in the places of Newton's; the number of triplets, or -1 if there is no room for them.

    If it is not to be filled: B^T y, from the y in work.right to the places of multipliers there.
    """
    problem, dofs, outputs, x, local = tables.problems[k], tables.dofs, work.outputs, work.x, work.local
    width, stride, size = 0, m, m * m
    if band >= 0:
        width, stride, size = band, 3 * band, m * (3 * band + 1)
    if fills:
        if band != SPARSE:
            for i in range(size):
                work.matrix[i] = 0.0
        elif work.entries.size < m:
            return -1
        for c in range(m):
            work.right[c] = 0.0
            soft = x[c].kept >= problem.n_smooth and work.sweep[x[c].kept] == FREE
            count = add_entry(work, band == SPARSE, count, c, c, stride, width, COMPLIANCE if soft else 1.0)
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset != IDLE:
                for i in range(group.n_unknowns):
                    place = tables.places[group.unknowns + i]
                    local[i] = place.start + dofs[row + place.column]
                for e in range(group.entry_0, group.entry_1):
                    entry = tables.entries[e]
                    i, j = local[entry.row], local[entry.unknown]
                    value = outputs[offset + entry.output]
                    count = _couple(work, band, fills, count, problem.n_smooth, i, j, stride, width, value)
                for b in range(group.law, group.law_1):
                    law, at = tables.laws[b], element + b - group.law_0
                    if work.branch[at] != SLIP or law.kind != BALL:
                        continue
                    for f in range(law.z_end, law.radius_end):  # of the radius, by the normal percussions
                        slope = outputs[offset + tables.entries[f].output]
                        j = local[tables.entries[f].unknown]
                        for e in range(group.entry_0, group.entry_1):
                            entry = tables.entries[e]
                            a = entry.unknown - law.unknown
                            if 0 <= a < law.rows:
                                i, value = local[entry.row], outputs[offset + entry.output]
                                value *= -work.direction[at, a] * slope
                                count = _couple(work, band, fills, count, problem.n_smooth, i, j, stride, width, value)
            row += kind.width
            element += group.law_1 - group.law_0
    return count


@jit_inline
def _drop(tables: Tables, k: int, memory: np.ndarray, work: Work) -> bool:
    """Take contacts that would pull out of (2), with their friction: their percussions become zero. Whether there are any."""
    problem, x, found = tables.problems[k], work.x, False
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            if work.offset[instance] != IDLE:
                for b in range(group.law, group.law_1):
                    law = tables.laws[b]
                    if law.kind != NORMAL or work.branch[element + b - group.law_0] != CLOSED:
                        continue
                    place = tables.places[group.unknowns + law.unknown]
                    at = tables.dofs[row + place.column]
                    j = place.start + at
                    if law.own == 1 and work.sweep[j] == FREE and x[j].step > memory[law.home + at]:
                        work.sweep[j], found = DROPPED, True
                        for f in range(group.law, group.law_1):
                            _drop_friction(tables, g, f, law.unknown, row, element + f - group.law_0, work)
            row += kind.width
            element += group.law_1 - group.law_0
    return found


@jit_inline
def _drop_friction(tables: Tables, g: int, b: int, normal: int, row: int, element: int, work: Work) -> None:
    """The same for an element that sticks by the percussion of the local unknown `normal`."""
    group, law = tables.groups[g], tables.laws[b]
    if law.kind == NORMAL or work.branch[element] != CLOSED:
        return
    for e in range(law.z_end, law.radius_end):
        if tables.entries[e].unknown == normal:
            place = tables.places[group.unknowns + law.unknown]
            first = place.start + tables.dofs[row + place.column]
            for j in range(first, first + law.rows):
                if work.sweep[j] == FREE:
                    work.sweep[j] = DROPPED


@jit_inline
def _follow(tables: Tables, k: int, work: Work) -> None:
    """Friction of elements that slip follows the normal percussions."""
    problem, x, outputs = tables.problems[k], work.x, work.outputs
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset != IDLE:
                for b in range(group.law, group.law_1):
                    law, at = tables.laws[b], element + b - group.law_0
                    if work.branch[at] != SLIP or law.kind != BALL:
                        continue
                    place = tables.places[group.unknowns + law.unknown]
                    first = place.start + tables.dofs[row + place.column]
                    for e in range(law.z_end, law.radius_end):
                        place = tables.places[group.unknowns + tables.entries[e].unknown]
                        j = place.start + tables.dofs[row + place.column]
                        for a in range(law.rows):
                            slope = work.direction[at, a] * outputs[offset + tables.entries[e].output]
                            x[first + a].step -= slope * x[j].step
            row += kind.width
            element += group.law_1 - group.law_0

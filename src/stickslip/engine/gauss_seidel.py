"""Gauss-Seidel over contacts: the step that is taken where Newton's method cycles between branches.

The linearised stage is reduced to its laws by eliminating everything else, y = c - S d with d the steps of the
multipliers; then one law after another is satisfied exactly for the present values of all others (a normal contact) or
moves towards it by its prox equation (friction). That converges slowly but does not cycle, and what it finds is a good
start for Newton's method.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.engine.linearise import COMPLIANCE, fill, keep_unknowns
from stickslip.engine.tables import DENSE, Tables
from stickslip.engine.work import IDLE, Work
from stickslip.jit import apart, jit_bare
from stickslip.nonsmooth.cones import BALL, CLOSED, NORMAL, OFF, VALUES, project_cone
from stickslip.nonsmooth.linear import reduce_to_last

GAUSS_SEIDEL = 300  # sweeps of one step


@apart("boolean")
def contact_step(tables: Tables, k: int, memory: np.ndarray, work: Work, soft: float, enough: float) -> bool:
    """A step in work.step that satisfies the laws of the linearised stage by Gauss-Seidel sweeps; False if there is none.

    `enough`: change of a sweep that ends them. Stages without laws have no such step, and those whose matrices are not dense,
    which would have to be filled.
    """
    problem, x = tables.problems[k], work.x
    if problem.band != DENSE or not close_all(tables, k, memory, work):
        return False
    m = keep_unknowns(tables, k, work)
    first = _number_laws_last(tables, k, work)
    fill(tables, k, work, m, max(COMPLIANCE, soft), 0.0, False)
    if not reduce_to_last(work.matrix, work.right, m, first, 0.0):
        return False
    _sweep(tables, k, work, first, m, enough)
    for i in range(m - 1, -1, -1):
        if i < first:
            d = work.right[i]
            for j in range(i + 1, m):
                d -= work.matrix[i * m + j] * work.sweep[j]
            work.sweep[i] = d / work.matrix[i * m + i]
        x[x[i].kept].step = work.sweep[i] * x[x[i].kept].unit
    return True


@jit_bare
def close_all(tables: Tables, k: int, memory: np.ndarray, work: Work) -> bool:
    """Let all laws that apply be closed, y = 0; False if there are none, or if one has a z that is not its unknown alone."""
    problem, x, found = tables.problems[k], work.x, False
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            for b in range(group.law, group.law_1):
                law, at = tables.laws[b], element + b - group.law_0
                found = True
                if offset == IDLE or work.branch[at] == OFF:
                    continue
                if law.own == 0:
                    return False
                if law.open_where >= 0 and memory[law.open_where + tables.dofs[row + law.column]] > 0.0:
                    continue
                work.branch[at] = CLOSED
                place = tables.places[group.unknowns + law.unknown]
                first = place.start + tables.dofs[row + place.column]
                for a in range(law.rows):
                    x[first + a].residual = work.outputs[offset + law.y + a]
            row += kind.width
            element += group.law_1 - group.law_0
    return found


@jit_bare
def _number_laws_last(tables: Tables, k: int, work: Work) -> int:
    """Number the unknowns that are kept anew, those of laws with branches last; how many others there are."""
    problem, x = tables.problems[k], work.x
    m = others = problem.n_smooth
    for last in range(2):
        for g in range(problem.group_0, problem.group_1):
            group = tables.groups[g]
            kind = tables.kinds[group.kind]
            row, element = kind.first, group.element
            b_0, b_1 = (group.law_0, group.law) if last == 0 else (group.law, group.law_1)
            for instance in range(group.instance, group.instance + kind.count):
                for b in range(b_0, b_1):
                    law = tables.laws[b]
                    place = tables.places[group.unknowns + law.unknown]
                    first = place.start + tables.dofs[row + place.column]
                    if work.offset[instance] == IDLE or (last and work.branch[element + b - group.law_0] == OFF):
                        continue
                    if x[first].column >= 0:
                        for i in range(first, first + law.rows):
                            x[i].column, x[m].kept = m, i
                            m += 1
                row += kind.width
                element += group.law_1 - group.law_0
        if last == 0:
            others = m
    return others


@jit_bare
def _sweep(tables: Tables, k: int, work: Work, first: int, m: int, enough: float) -> None:
    """Steps d of the multipliers, in work.sweep[first:m], for the reduced system in the last rows of work.matrix.

    It ends as soon as a sweep changes no d by more than `enough`.
    """
    problem = tables.problems[k]
    for i in range(first, m):
        work.sweep[i] = 0.0
    for _ in range(GAUSS_SEIDEL):
        change = 0.0
        for g in range(problem.group_0, problem.group_1):
            group = tables.groups[g]
            kind = tables.kinds[group.kind]
            row, element = kind.first, group.element
            for instance in range(group.instance, group.instance + kind.count):
                offset = work.offset[instance]
                for b in range(group.law, group.law_1):
                    if offset != IDLE and work.branch[element + b - group.law_0] != OFF:
                        change = max(change, _satisfy(tables, g, b, row, offset, work, first, m))
                row += kind.width
                element += group.law_1 - group.law_0
        if change < enough:
            break


@jit_bare
def _satisfy(tables: Tables, g: int, b: int, row: int, offset: int, work: Work, first: int, m: int) -> float:
    """Move the multipliers of one law; the largest change."""
    group, law, x = tables.groups[g], tables.laws[b], work.x
    a, d, outputs, size = work.matrix, work.sweep, work.outputs, law.rows
    place = tables.places[group.unknowns + law.unknown]
    own = place.start + tables.dofs[row + place.column]
    i, z = x[own].column, offset + law.z
    if i < 0:
        return 0.0
    slope = outputs[offset + tables.entries[law.y_end].output] * x[own].unit  # z changes by -slope d
    stiffness = 0.0
    for c in range(size):
        total = 0.0
        for j in range(size):
            total += abs(a[(i + c) * m + i + j])
        stiffness = max(stiffness, total)
        y = work.right[i + c]
        for j in range(first, m):
            y -= a[(i + c) * m + j] * d[j]
        work.weight[0, 0, c] = y
    square = 0.0
    for c in range(size):  # z for which y would be zero, were it alone
        work.weight[0, 1, c] = outputs[z + c] - slope * (d[i + c] + work.weight[0, 0, c] / stiffness)
        square += work.weight[0, 1, c] * work.weight[0, 1, c]
    share = 1.0
    if law.kind == NORMAL:
        share = 1.0 if work.weight[0, 1, 0] > 0.0 else 0.0
    else:
        radius = outputs[offset + law.radius]
        for e in range(law.z_end, law.radius_end):
            place = tables.places[group.unknowns + tables.entries[e].unknown]
            j = place.start + tables.dofs[row + place.column]
            value = outputs[offset + tables.entries[e].output]
            if x[j].column >= first:
                radius -= value * x[j].unit * d[x[j].column]
            elif x[j].column < 0:
                radius -= value * x[j].step
        if law.kind != BALL:
            last = work.cones.size - VALUES
            for c in range(size):
                work.inputs[c] = work.weight[0, 1, c]
            for c in range(law.n_coefficients):
                work.inputs[size + 1 + c] = outputs[offset + law.coefficients + c]
            project_cone(law.cone, work.inputs, size, radius, work.cones, last)
            for c in range(size):
                work.weight[0, 1, c] = work.cones[last + c]
        elif square > radius * radius:
            share = max(radius, 0.0) / math.sqrt(square)
    change = 0.0
    for c in range(size):
        new = (outputs[z + c] - share * work.weight[0, 1, c]) / slope
        change = max(change, abs(new - d[i + c]))
        d[i + c] = new
    return change

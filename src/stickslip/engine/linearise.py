"""One step of Newton's method: the linear system of the unknowns that are kept, and its solution.

Unknowns that a law fixes by itself (open contacts) never enter the linear system; nor do those of idle instances, whose step
is zero.
"""

from __future__ import annotations

from stickslip.engine.tables import DENSE, FEW, SPARSE, Tables
from stickslip.engine.work import CONTRADICTED, DEPENDENT, IDLE, IS_FAR_ROOT, KEPT, SOLVE_ISLANDS, Work
from stickslip.jit import jit_inline
from stickslip.native.call import call_apart
from stickslip.nonsmooth.cones import BALL, CLOSED, OFF, OPEN, SLIP, VALUES, cone_weights, slip_weights
from stickslip.nonsmooth.linear import eliminate, eliminate_band

# Pivots of a system of unit scale: dependent constraints leave rounding errors, 1e-16 to 1e-14.
SINGULAR = 1e-11
# Then each constraint row gets a compliance of this size. The residual stays exact, so Newton's method converges as before,
# by a factor of 1e-8 a step, to multipliers close to those it started from.
COMPLIANCE = 1e-8
# Share of a violation that this compliance leaves. Constraints that depend on each other and can be satisfied leave 1e-8 of it.
# More is left where they contradict each other: a shaft that dry friction holds and that a contact turns is held twice, no
# velocities satisfy both, and forces are as large as the compliance lets them. They tell which element gives way, and should
# have no other effect. So the next step measures its compliance from the forces before.
CONTRADICTION = 0.1
# The same share of what is left of the equations of motion: bodies at rest violate no constraint, but would a step later. The
# forces that hold long chains of them are a thousand times as large as that, so constraints that can be satisfied leave 1e-5.
FREE = 1e-4


@jit_inline
def keep_unknowns(tables: Tables, k: int, work: Work) -> int:
    """Fix the unknowns that laws determine by themselves, number the others; how many these are.

    In a band their order is that of the table; else smooth ones come first, then those of laws.
    """
    problem, dofs, x = tables.problems[k], tables.dofs, work.x
    banded, m = problem.band >= 0, 0
    for i in range(problem.n if banded else problem.n_smooth):
        x[i].column, x[i].kept = i, i
    if not banded:
        m = problem.n_smooth
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.law_0 == group.law_1:
            continue
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            for b in range(group.law_0, group.law_1):
                law = tables.laws[b]
                branch = CLOSED if b < group.law else work.branch[element + b - group.law_0]
                place = tables.places[group.unknowns + law.unknown]
                first = place.start + dofs[row + place.column]
                if offset == IDLE:
                    if banded:
                        for i in range(first, first + law.rows):
                            x[i].column = -1
                    continue
                if branch == OFF:
                    continue
                for i in range(first, first + law.rows):
                    x[i].factor = (1.0 if branch == CLOSED else x[i].scale) * x[i].per_size
                if branch == OPEN and law.own == 1:
                    for e in range(law.y_end, law.z_end):
                        i = first + tables.entries[e].row
                        x[i].column = -1
                        x[i].step = x[i].residual / work.outputs[offset + tables.entries[e].output]
                elif not banded:
                    for i in range(first, first + law.rows):
                        x[i].column, x[m].kept = m, i
                        m += 1
            row += kind.width
            element += group.law_1 - group.law_0
    if banded:
        for place_in_order in range(problem.order, problem.order + problem.n):
            i = tables.order[place_in_order]
            if x[i].column >= 0:
                x[i].column, x[m].kept = m, i
                m += 1
    return m


@jit_inline
def add_entry(work: Work, sparse: bool, count: int, i: int, j: int, stride: int, band: int, value: float) -> int:
    """Add an entry to the matrix; the number of triplets."""
    if sparse:
        entry = work.entries[count]
        entry.row, entry.column, entry.value = i, j, value
        return count + 1
    work.matrix[i * stride + j + band] += value
    return count


@jit_inline
def fill(tables: Tables, k: int, work: Work, m: int, compliance: float, back: float, sparse: bool) -> int:
    """The linear system of the unknowns that are kept, in unit scale: summed into dense or banded rows, or triplets.

    Entry (i, j) lies at i stride + j + band, or is one of the triplets (`sparse`), whose number is returned. Columns of fixed
    unknowns go to the right-hand side, with the known step. The compliance is one for changes of forces, from those `back`
    steps before: 0 or 1.
    """
    problem, dofs, outputs, x, local = tables.problems[k], tables.dofs, work.outputs, work.x, work.local
    band, stride, size, count = 0, m, m * m, 0
    if problem.band >= 0:
        band, stride, size = problem.band, 3 * problem.band, m * (3 * problem.band + 1)
    if not sparse:
        for i in range(size):
            work.matrix[i] = 0.0
    for i in range(m):
        work.right[i] = x[x[i].kept].residual * x[x[i].kept].factor
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset == IDLE:
                row += kind.width
                element += group.law_1 - group.law_0
                continue
            for i in range(group.n_unknowns):
                place = tables.places[group.unknowns + i]
                local[i] = place.start + dofs[row + place.column]
            for e in range(group.entry_0, group.entry_1):
                entry = tables.entries[e]
                i, j = local[entry.row], local[entry.unknown]
                value = outputs[offset + entry.output] * x[i].factor
                if x[j].column >= 0:
                    count = add_entry(work, sparse, count, x[i].column, x[j].column, stride, band, value * x[j].unit)
                else:
                    work.right[x[i].column] -= value * x[j].step
            if compliance > 0.0:
                for b in range(group.law_0, group.law):
                    j = local[tables.laws[b].unknown]
                    i = x[j].column
                    count = add_entry(work, sparse, count, i, i, stride, band, compliance)
                    work.right[i] -= back * compliance * x[j].step / x[j].unit
            for b in range(group.law, group.law_1):
                law, at = tables.laws[b], element + b - group.law_0
                branch, first = work.branch[at], local[law.unknown]
                if x[first].column < 0 or branch == OFF:
                    continue
                e_0, e_1 = law.y_0, law.radius_end
                if branch == SLIP:
                    rho, r = outputs[offset + law.radius], x[first].prox
                    if law.kind == BALL:
                        slip_weights(work.direction, at, law.rows, rho, r, work.weight)
                    else:
                        cone_weights(work.cones, VALUES * at, law.rows, r, work.weight, work.direction, at)
                elif branch == CLOSED:
                    e_1 = law.y_end
                else:
                    e_0, e_1 = law.y_end, law.z_end
                for e in range(e_0, e_1):
                    slope = tables.entries[e]
                    c, j = slope.row, local[slope.unknown]
                    a_0, a_1 = (0, law.rows) if branch == SLIP else (c, c + 1)
                    for a in range(a_0, a_1):
                        value = outputs[offset + slope.output] * x[first + a].factor
                        if branch == SLIP:
                            if e >= law.z_end:
                                value *= work.direction[at, a]
                            else:
                                value *= work.weight[0 if e < law.y_end else 1, a, c]
                        i = x[first + a].column
                        if x[j].column >= 0:
                            count = add_entry(work, sparse, count, i, x[j].column, stride, band, value * x[j].unit)
                        else:
                            work.right[i] -= value * x[j].step
                if branch == CLOSED and compliance > 0.0:
                    for j in range(first, first + law.rows):
                        i = x[j].column
                        count = add_entry(work, sparse, count, i, i, stride, band, compliance)
                        work.right[i] -= back * compliance * x[j].step / x[j].unit
            row += kind.width
            element += group.law_1 - group.law_0
    return count


@jit_inline
def newton_step(tables: Tables, k: int, work: Work, soft: float) -> bool:
    """The step of Newton's method in work.step, with compliant constraints if asked or if they are dependent; False if none."""
    problem, x = tables.problems[k], work.x
    m, band = keep_unknowns(tables, k, work), problem.band
    if band == SPARSE and m < FEW:  # most contacts are open
        band = DENSE
    work.signals[KEPT] = m
    compliance, threshold, solved = soft, SINGULAR, False
    back = 1.0 if work.signals[CONTRADICTED] == 1 and work.apart[IS_FAR_ROOT] != 0 else 0.0
    for _ in range(2):
        count = fill(tables, k, work, m, compliance, back, band == SPARSE)
        if band == DENSE:
            solved = eliminate(work.matrix, work.right, m, threshold, work.rows, work.columns)
        elif band == SPARSE:
            for i in range(m):
                work.columns[i] = tables.nodes[problem.order + x[i].kept]
            system = (m, work.entries[:count], work.columns, work.right, threshold)
            solved = call_apart(work.apart[SOLVE_ISLANDS], system)
        else:
            solved = eliminate_band(work.matrix, work.right, m, band, threshold)
        if solved:
            break
        compliance, threshold = max(COMPLIANCE, soft), 0.0
        work.signals[DEPENDENT] = 1
    contradicted = 0.0 < compliance <= COMPLIANCE and _contradict(problem.n_smooth, work, m)
    work.signals[CONTRADICTED] = 1 if contradicted else 0
    for i in range(m):
        x[x[i].kept].step = work.right[i] * x[x[i].kept].unit
    return solved


@jit_inline
def _contradict(n_smooth: int, work: Work, m: int) -> bool:
    """Whether the compliance, and not a motion, takes up what constraints are violated by, or would be by a free motion."""
    x, violation, free, force = work.x, 0.0, 0.0, 0.0
    for i in range(m):
        row = x[i].kept
        size = abs(x[row].residual) * x[row].factor
        if row >= n_smooth:
            violation, force = max(violation, size), max(force, abs(work.right[i]))
        else:
            free = max(free, size)
    return COMPLIANCE * force > max(CONTRADICTION * violation, FREE * free)

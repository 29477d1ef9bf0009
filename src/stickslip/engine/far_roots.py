"""Solutions of a stage that a step cannot reach: the linearised stage tells them from others.

Gaps and joints are nonlinear in the unknowns, so a stage can have many solutions. A lever that is pushed by a pin may turn by a
milliradian, and touch it, or by 13 turns and a milliradian, and touch it as well. Only the first continues the motion.

Let x_0 be the start of the stage, x what was found, and y a row that holds there, y(x) = 0: a joint, or the gap of a contact
that is closed. Where the motion is small, the row also holds to first order,

    y(x_0) + sum_j dy/dx_j (x - x_0)_j = 0                                                              (1)

The rest of (1), as a share of the travel |dy/dx_j (x - x_0)_j|, summed over j, is small unless bodies turn by more than a
radian beyond what they would without forces: with slopes at x_0, or at x, since one of them may vanish (a pendulum that
hangs at rest). If it is above NONLINEAR with both, the row hardly changes though its bodies travel, and x counts only if that
travel is no FARTHER than the one of the linearised stage at x_0 with all of its laws. `rescue` solves it and leaves its step
in work.predicted; until then x does not count.

Stages that decide about sets of contacts, whose residual jumps with them (generalized-alpha), are not looked at.

Units, fast rotations and light bodies do not matter: x_0 is the free motion, both shares are numbers, and each row compares
its own bodies only.
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.residual import gather
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, PREDICTED, Work
from stickslip.jit import apart, jit_bare, jit_inline
from stickslip.native.call import call_kernel
from stickslip.nonsmooth.cones import CLOSED, NORMAL

NONLINEAR = 0.75  # rest of (1), as a share of the travel; second-order terms alone leave one half with slopes at x
FARTHER = 10.0  # times the travel that is predicted
NOTE, LEAVE, RETURN = (
    0,
    1,
    2,
)  # keep what was found and its difference to the start; to the start; back to what was found


@apart("boolean")
def is_far_root(tables: Tables, k: int, memory: np.ndarray, work: Work, tolerance: float) -> bool:
    """Whether the solution in the memory, with its branches in the workspace, is too far from work.start. Outputs are lost."""
    return _is_far(tables, k, memory, work, tolerance)


@jit_bare
def leads_far(tables: Tables, k: int, memory: np.ndarray, work: Work, tolerance: float) -> bool:
    """The same, called from Python."""
    return _is_far(tables, k, memory, work, tolerance)


@jit_inline
def _is_far(tables: Tables, k: int, memory: np.ndarray, work: Work, tolerance: float) -> bool:
    problem = tables.problems[k]
    _visit(tables, k, memory, work, NOTE)
    _visit(tables, k, memory, work, LEAVE)
    far = False
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.law_0 == group.law_1:
            continue
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            if not far and work.offset[instance] != IDLE:
                far = _is_far_for(tables, k, g, row, work.offset[instance], element, memory, work, tolerance)
            row += kind.width
            element += group.law_1 - group.law_0
    _visit(tables, k, memory, work, RETURN)
    return far


@jit_inline
def _visit(tables: Tables, k: int, memory: np.ndarray, work: Work, what: int) -> None:
    """Do one thing with all unknowns. Laws may share one, so that it comes twice: NOTE must be over before LEAVE begins."""
    problem = tables.problems[k]
    for s in range(problem.segment_0, problem.segment):
        segment = tables.segments[s]
        for i in range(segment.length):
            _visit_one(work, memory, segment.first + i, segment.start + i, what)
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        for row in range(kind.first, kind.first + kind.count * kind.width, kind.width):
            for b in range(group.law_0, group.law_1):
                law, place = tables.laws[b], tables.places[group.unknowns + tables.laws[b].unknown]
                at = tables.dofs[row + place.column]
                for i in range(law.rows):
                    _visit_one(work, memory, place.start + at + i, law.home + at + i, what)


@jit_inline
def _visit_one(work: Work, memory: np.ndarray, i: int, place: int, what: int) -> None:
    if what == NOTE:
        work.x[i].pivot = memory[place]
        work.x[i].step = memory[place] - work.start[i]
    elif what == LEAVE:
        memory[place] = work.start[i]
    else:
        memory[place] = work.x[i].pivot


@jit_inline
def _is_far_for(
    tables: Tables,
    k: int,
    g: int,
    row: int,
    offset: int,
    element: int,
    memory: np.ndarray,
    work: Work,
    tolerance: float,
) -> bool:
    """Whether it is for the rows of one instance."""
    group, x, outputs, local, n_smooth = tables.groups[g], work.x, work.outputs, work.local, tables.problems[k].n_smooth
    closed = group.law_0 < group.law
    for b in range(group.law, group.law_1):
        closed = closed or (tables.laws[b].kind == NORMAL and work.branch[element + b - group.law_0] == CLOSED)
    if not closed:
        return False
    for i in range(group.n_unknowns):
        place = tables.places[group.unknowns + i]
        local[i] = place.start + tables.dofs[row + place.column]
    _add_travels(tables, k, g, offset, element, work)
    for b in range(group.law_0, group.law_1):
        i = local[tables.laws[b].unknown]
        x[i].factor, x[i].prox = x[i].residual, work.right[i]  # with slopes at x
    gather(tables, group.inputs, group.n_in, row, memory, work)
    call_kernel(group.kernel, work.inputs, 0, outputs, offset)
    _add_travels(tables, k, g, offset, element, work)
    for e in range(group.row_0, group.row_1):
        i = local[tables.entries[e].row]
        if i >= n_smooth:
            x[i].residual += outputs[offset + tables.entries[e].output]
            x[i].factor += outputs[offset + tables.entries[e].output]
    far = False
    for b in range(group.law_0, group.law_1):
        law = tables.laws[b]
        i = local[law.unknown]
        if b >= group.law:
            if law.kind != NORMAL or work.branch[element + b - group.law_0] != CLOSED:
                continue
            x[i].residual += outputs[offset + law.y]
            x[i].factor += outputs[offset + law.y]
        rest, travel = abs(x[i].residual), work.right[i]
        predicted = work.sweep[i] if work.signals[PREDICTED] == 1 else 0.0
        near = rest <= NONLINEAR * travel or abs(x[i].factor) <= NONLINEAR * x[i].prox
        near = near or rest <= tolerance * x[i].size or travel <= FARTHER * predicted
        far = far or not near  # `not`: what is not a number is far, too
    return far


@jit_inline
def _add_travels(tables: Tables, k: int, g: int, offset: int, element: int, work: Work) -> None:
    """Of all rows of an instance, with the slopes that its outputs hold."""
    group, x, outputs, local, n_smooth = tables.groups[g], work.x, work.outputs, work.local, tables.problems[k].n_smooth
    for b in range(group.law_0, group.law_1):
        i = local[tables.laws[b].unknown]
        x[i].residual, work.right[i], work.sweep[i] = 0.0, 0.0, 0.0
    for e in range(group.entry_0, group.entry_1):
        i = local[tables.entries[e].row]
        if i >= n_smooth:
            _add_travel(work, i, local[tables.entries[e].unknown], outputs[offset + tables.entries[e].output])
    for b in range(group.law, group.law_1):
        law = tables.laws[b]
        if law.kind == NORMAL and work.branch[element + b - group.law_0] == CLOSED:
            for e in range(law.y_0, law.y_end):
                i, j = local[law.unknown], local[tables.entries[e].unknown]
                _add_travel(work, i, j, outputs[offset + tables.entries[e].output])


@jit_inline
def _add_travel(work: Work, i: int, j: int, slope: float) -> None:
    """What unknown j changes in row i: its change to first order, travel and predicted travel."""
    change = slope * work.x[j].step
    work.x[i].residual += change
    work.right[i] += abs(change)
    work.sweep[i] += abs(slope * work.predicted[j])

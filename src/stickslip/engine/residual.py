"""A stage at an iterate: kernels of all instances, branches of all laws, the residual and its scales.

The stage is brought to unit scale: a smooth row is divided by its diagonal entry (a mass), a multiplier is measured in units
of the diagonal of the Delassus operator dy/dz, so that all rows and unknowns have the dimension of coordinates and velocities.
That is also the one measure of the residual: the largest row, as an error in coordinates and velocities, in units of
`work.size_of_row`: 1, or the lengths and velocities of a model that is very small or very large.
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work, set_size
from stickslip.jit import jit_inline
from stickslip.native.call import call_kernel
from stickslip.native.lanes import LANES
from stickslip.nonsmooth.cones import (
    BALL,
    CLOSED,
    NORMAL,
    OFF,
    OPEN,
    SLIP,
    VALUES,
    ball_branch,
    normal_branch,
    project_cone,
)


@jit_inline
def gather(tables: Tables, first: int, count: int, row: int, memory: np.ndarray, work: Work) -> None:
    """The inputs of a kernel for the instance whose integers begin at `row`."""
    for i in range(count):
        work.inputs[i] = memory[tables.places[first + i].start + tables.dofs[row + tables.places[first + i].column]]


@jit_inline
def gather_lane(tables: Tables, first: int, count: int, row: int, memory: np.ndarray, work: Work, lane: int) -> None:
    """The same for one of several instances."""
    for i in range(count):
        at = tables.places[first + i].start + tables.dofs[row + tables.places[first + i].column]
        work.lanes[LANES * i + lane] = memory[at]


@jit_inline
def is_idle(tables: Tables, g: int, row: int, memory: np.ndarray, work: Work) -> bool:
    """Whether all contacts of an instance are open and its multipliers zero, so that it contributes nothing."""
    group, dofs = tables.groups[g], tables.dofs
    for i in range(group.silent_0, group.silent_1):
        if memory[tables.places[i].start + dofs[row + tables.places[i].column]] != 0.0:
            return False
    evaluated, k = False, -1
    for b in range(group.law, group.law_1):
        law = tables.laws[b]
        if law.kind != NORMAL:
            continue
        k += 1
        if law.open_where >= 0 and memory[law.open_where + dofs[row + law.column]] > 0.0:
            continue
        if not evaluated:
            gather(tables, group.gap_inputs, group.n_gap_in, row, memory, work)
            call_kernel(group.gap_kernel, work.inputs, 0, work.gaps, 0)
            evaluated = True
        if not work.gaps[k] > work.near[0]:
            return False
    for b in range(group.law, group.law_1):
        law = tables.laws[b]
        at = dofs[row + law.column]
        if (law.only_where >= 0 and not memory[law.only_where + at] > 0.0) or (
            law.except_where >= 0 and memory[law.except_where + at] > 0.0
        ):
            continue
        if law.mark >= 0:
            memory[law.mark + at] = 1.0
    return True


@jit_inline
def call_kernels(
    tables: Tables, k: int, memory: np.ndarray, work: Work, fresh: bool, prox: float, factor: float
) -> None:
    """Evaluate the kernels of problem k, but for idle instances; `fresh`: in the first iteration, which sets the scales."""
    call_instances(tables, k, memory, work, fresh, True, prox, factor)
    if fresh:
        _set_scales(tables, k, work, prox, factor)


@jit_inline
def call_instances(
    tables: Tables, k: int, memory: np.ndarray, work: Work, fresh: bool, scaled: bool, prox: float, factor: float
) -> None:
    """The kernels alone; if `scaled`, laws of instances that were idle get their scales."""
    problem = tables.problems[k]
    work.filled[0] = 0
    for g in range(problem.group_0, problem.group_1):
        call_group(tables, k, g, memory, work, fresh, scaled, prox, factor)


@jit_inline
def call_group(
    tables: Tables,
    k: int,
    g: int,
    memory: np.ndarray,
    work: Work,
    fresh: bool,
    scaled: bool,
    prox: float,
    factor: float,
) -> None:
    """The same for one kind of instances; its outputs come behind those that are there."""
    group = tables.groups[g]
    kind = tables.kinds[group.kind]
    offset, row, can_be_idle, lane = work.filled[0], kind.first, group.gap_kernel != 0, 0
    for i in range(group.instance, group.instance + kind.count):
        if can_be_idle and is_idle(tables, g, row, memory, work):
            work.offset[i] = IDLE
        elif group.wide != 0 and (fresh or work.offset[i] != IDLE):
            gather_lane(tables, group.inputs, group.n_in, row, memory, work, lane)
            work.offset[i] = offset
            offset += group.n_out
            lane += 1
            if lane == LANES:
                call_kernel(group.wide, work.lanes, 0, work.outputs, offset - LANES * group.n_out)
                lane = 0
        else:
            if lane > 0:  # lanes that are not filled write where the next ones will
                call_kernel(group.wide, work.lanes, 0, work.outputs, offset - lane * group.n_out)
                lane = 0
            gather(tables, group.inputs, group.n_in, row, memory, work)
            call_kernel(group.kernel, work.inputs, 0, work.outputs, offset)
            awakes = scaled and not fresh and work.offset[i] == IDLE
            work.offset[i] = offset
            if awakes:
                scale_laws(tables, k, g, row, offset, work, prox, factor)
            offset += group.n_out
        row += kind.width
    if lane > 0:
        call_kernel(group.wide, work.lanes, 0, work.outputs, offset - lane * group.n_out)
    work.filled[0] = offset


@jit_inline
def scale_laws(tables: Tables, k: int, g: int, row: int, offset: int, work: Work, prox: float, factor: float) -> None:
    """Scales and prox parameters of the laws of one instance, for the diagonal of the smooth rows."""
    group, pairs, outputs, x = tables.groups[g], tables.pairs, work.outputs, work.x
    n_smooth, sizes = tables.problems[k].n_smooth, tables.problems[k].order
    for b in range(group.law_0, group.law_1):
        place = tables.places[group.unknowns + tables.laws[b].unknown]
        first = place.start + tables.dofs[row + place.column]
        for i in range(first, first + tables.laws[b].rows):
            x[i].pivot, x[i].step = 0.0, 0.0
            set_size(work, sizes, i)
    for e in range(group.diagonal_0, group.diagonal_1):
        place = tables.places[group.unknowns + tables.entries[e].row]
        i = place.start + tables.dofs[row + place.column]
        if i >= n_smooth:
            x[i].pivot += outputs[offset + tables.entries[e].output]
    for b in range(group.law_0, group.law_1):
        law = tables.laws[b]
        delassus, value, component = 0.0, 0.0, 0
        for e in range(law.pair_0, law.pair_1):
            # dy_a/dz_a by way of the smooth unknowns: -(dy/dx) (diagonal)^-1 (d row/dz)
            if pairs[e].component != component:
                delassus, value, component = max(delassus, abs(value)), 0.0, pairs[e].component
            if pairs[e].z < 0:
                value += outputs[offset + pairs[e].y]
            else:
                place = tables.places[group.unknowns + pairs[e].row]
                diagonal = x[place.start + tables.dofs[row + place.column]].pivot
                product = outputs[offset + pairs[e].y] * outputs[offset + pairs[e].z]
                value -= product / diagonal if diagonal != 0.0 else product
        delassus = max(delassus, abs(value))
        if delassus == 0.0:
            delassus = 1.0
        place = tables.places[group.unknowns + law.unknown]
        first, unit = place.start + tables.dofs[row + place.column], 1.0 / delassus
        for i in range(first, first + law.rows):
            x[i].scale, x[i].unit = delassus, x[i].size * unit
            x[i].prox = factor * (unit if prox <= 0.0 else prox)
            x[i].factor = (1.0 if b < group.law else delassus) * x[i].per_size


@jit_inline
def _set_scales(tables: Tables, k: int, work: Work, prox: float, factor: float) -> None:
    """Row and column scales and prox parameters, from the Jacobian at the start of the iteration.

    Rows of laws whose instances contribute nothing are not touched: there may be many.
    """
    problem, x = tables.problems[k], work.x
    for i in range(problem.n_smooth):
        set_size(work, problem.order, i)
        x[i].pivot, x[i].unit = 0.0, x[i].size
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.diagonal_0 == group.diagonal_1:
            continue
        kind = tables.kinds[group.kind]
        row = kind.first
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset != IDLE:
                for e in range(group.diagonal_0, group.diagonal_1):
                    place = tables.places[group.unknowns + tables.entries[e].row]
                    i = place.start + tables.dofs[row + place.column]
                    if i < problem.n_smooth:
                        x[i].pivot += work.outputs[offset + tables.entries[e].output]
            row += kind.width
    for i in range(problem.n_smooth):
        x[i].scale = 1.0 / abs(x[i].pivot) if x[i].pivot != 0.0 else 1.0
        x[i].factor = x[i].scale * x[i].per_size
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.law_0 == group.law_1:
            continue
        kind = tables.kinds[group.kind]
        row = kind.first
        for instance in range(group.instance, group.instance + kind.count):
            if work.offset[instance] != IDLE:
                scale_laws(tables, k, g, row, work.offset[instance], work, prox, factor)
            row += kind.width


@jit_inline
def set_residual(tables: Tables, k: int, memory: np.ndarray, work: Work) -> float:
    """Choose the branch of every law and write the residual; its size, or inf if anything is not finite.

    work.errors has that of bilateral rows and the natural map of the other laws apart.
    """
    problem, outputs, dofs, x = tables.problems[k], work.outputs, tables.dofs, work.x
    for i in range(problem.n_smooth):
        x[i].residual = 0.0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row = kind.first
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset != IDLE:
                for b in range(group.law_0, group.law):
                    place = tables.places[group.unknowns + tables.laws[b].unknown]
                    x[place.start + dofs[row + place.column]].residual = 0.0
                for e in range(group.row_0, group.row_1):
                    place = tables.places[group.unknowns + tables.entries[e].row]
                    x[place.start + dofs[row + place.column]].residual += outputs[offset + tables.entries[e].output]
            row += kind.width
    error, total, bilateral, natural = 0.0, 0.0, 0.0, 0.0
    for i in range(problem.n_smooth):
        size = abs(x[i].residual) * x[i].factor
        total += size
        if size > error:
            error = size
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.law_0 == group.law_1:
            continue
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset != IDLE:
                for b in range(group.law_0, group.law_1):
                    if b < group.law:
                        place = tables.places[group.unknowns + tables.laws[b].unknown]
                        i = place.start + dofs[row + place.column]
                        size = abs(x[i].residual) * x[i].per_size
                        bilateral = max(bilateral, size)
                    else:
                        size = _law_residual(tables, g, b, row, offset, element + b - group.law_0, memory, work)
                        natural = max(natural, size)
                    total += size
            row += kind.width
            element += group.law_1 - group.law_0
    work.errors[0], work.errors[1] = bilateral, natural
    error = max(error, bilateral, natural)
    return error if total < np.inf else np.inf


@jit_inline
def _nearly_closed(tables: Tables, b: int, y: int, at: int, memory: np.ndarray, work: Work) -> bool:
    """Whether a contact that is open counts as closed for later laws."""
    law = tables.laws[b]
    within = memory[law.closed_within + at] if law.closed_within >= 0 else 0.0
    return within > 0.0 and work.outputs[y] <= within


@jit_inline
def _law_residual(
    tables: Tables, g: int, b: int, row: int, offset: int, element: int, memory: np.ndarray, work: Work
) -> float:
    """Choose the branch of a law and write its rows of the residual; the largest of them."""
    group, law, outputs, x = tables.groups[g], tables.laws[b], work.outputs, work.x
    at = tables.dofs[row + law.column]
    if (law.only_where >= 0 and not memory[law.only_where + at] > 0.0) or (
        law.except_where >= 0 and memory[law.except_where + at] > 0.0
    ):
        work.branch[element] = OFF
        return 0.0
    place = tables.places[group.unknowns + law.unknown]
    first = place.start + tables.dofs[row + place.column]
    y, z, r, rho = offset + law.y, offset + law.z, x[first].prox, 0.0
    if law.kind == NORMAL:
        off = law.open_where >= 0 and memory[law.open_where + at] > 0.0
        branch = OPEN if off else normal_branch(outputs[y], outputs[z], r)
    else:
        rho = outputs[offset + law.radius]
        if law.kind == BALL:
            branch = ball_branch(outputs, y, z, law.rows, rho, r, work.direction, element)
        else:
            for a in range(law.rows):
                work.inputs[a] = outputs[z + a] - r * outputs[y + a]
            for a in range(law.n_coefficients):
                work.inputs[law.rows + 1 + a] = outputs[offset + law.coefficients + a]
            branch = project_cone(law.cone, work.inputs, law.rows, rho, work.cones, VALUES * element)
    work.branch[element] = branch
    if law.mark >= 0:
        closed = branch == CLOSED or _nearly_closed(tables, b, y, at, memory, work)
        also = law.mark_also >= 0 and memory[law.mark_also + at] > 0.0
        memory[law.mark + at] = -1.0 if closed and not also else 1.0
    worst = 0.0
    for a in range(law.rows):
        if branch == CLOSED:
            value = outputs[y + a]
            size = abs(value) * x[first + a].per_size
        else:
            value = outputs[z + a]
            if branch == SLIP:
                if law.kind == BALL:
                    value += rho * work.direction[element, a]
                else:
                    value -= work.cones[VALUES * element + a]
            size = abs(value) * x[first + a].scale * x[first + a].per_size
        x[first + a].residual = value
        if size > worst or size != size:  # NaN stays
            worst = size
    return worst

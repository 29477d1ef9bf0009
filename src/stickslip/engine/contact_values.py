"""Values of a linearised stage with many contacts: what it takes from an evaluation, and what goes back to the memory."""

from __future__ import annotations

from math import sqrt

import numpy as np

from stickslip.engine.contact_plan import SIZE, Bodies
from stickslip.engine.contact_state import (
    D_F,
    D_N,
    DEAD,
    EASE,
    ENOUGH_GAP,
    FIRST,
    GROUP,
    HOME_F,
    HOME_N,
    MARK_F,
    MARK_N,
    MU,
    NEVER,
    OFFSET,
    RADIUS,
    ROWS,
    SECOND,
    SIZE_F,
    SIZE_N,
    SLOPE_F,
    SLOPE_N,
    STAYS_OPEN,
    UNIT_F,
    UNIT_N,
    Sweeping,
)  # fmt: skip
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work, size_of_row
from stickslip.jit import jit_bare, jit_inline
from stickslip.native.wide import WIDTH, push
from stickslip.nonsmooth.cones import CLOSED, OFF


@jit_bare
def set_values(
    tables: Tables, k: int, memory: np.ndarray, work: Work, bodies: Bodies, s: Sweeping, count: int, tolerance: float
) -> float:
    """What the linearised stage takes from values: residuals of bodies, gaps, slips and multipliers of contacts.

    Derivatives may be those of an earlier evaluation, if no contact has joined since. Returned is the residual of the stage as
    `residual.set_residual` measures it, for all rows that are swept: what bodies would move, and the natural map of the laws;
    and laws are marked as closed or not.
    """
    outputs, error = work.outputs, _set_steps(tables, k, work, bodies, s)
    natural, normals = 0.0, 0.0
    for c in range(count):
        who, info, numbers, offset = s.who[c], s.info[c], s.numbers[c], s.who[c, OFFSET]
        group = tables.groups[who[GROUP]]
        normal, friction = tables.laws[group.law], tables.laws[group.law_1 - 1]
        s_N, s_F, rows, a, b = info[UNIT_N], info[UNIT_F], who[ROWS], who[FIRST], who[SECOND]
        for r in range(3):
            s.u[c, r], s.z_0[c, r] = 0.0, 0.0
        y, z, stays_open = outputs[offset + normal.y], outputs[offset + normal.z], who[STAYS_OPEN] == 1
        s.u[c, 0], s.z_0[c, 0] = y / s_N, z
        closed = not stays_open and s.u[c, 0] <= info[D_N] * z
        violated = abs(y) / info[SIZE_N] if closed else abs(z) * info[D_N] * s_N / info[SIZE_N]
        normals = max(normals, abs(y) if closed else -y)
        if who[MARK_N] >= 0:
            memory[who[MARK_N]] = -1.0 if closed else 1.0
        numbers[RADIUS] = 0.0
        if rows > 0:
            for r in range(rows):
                s.u[c, 1 + r] = outputs[offset + friction.y + r] / s_F
                s.z_0[c, 1 + r] = outputs[offset + friction.z + r]
            whole = outputs[offset + friction.radius]
            sticks, slip = _friction_violated(s, c, rows, whole, info[D_F])
            violated = max(violated, slip * s_F / info[SIZE_F])
            if who[MARK_F] >= 0:
                memory[who[MARK_F]] = -1.0 if sticks else 1.0
            numbers[RADIUS] = whole - numbers[MU] * s.z_0[c, 0]
            if numbers[RADIUS] < 1e-12 * abs(whole):
                numbers[RADIUS] = 0.0
        if not violated <= natural:
            natural = violated  # nan stays
        for r in range(3):
            s.z[c, r] = s.z_0[c, r]
        if stays_open:  # no multipliers
            push(s.T_flat, 3 * WIDTH * c, s.v_flat, SIZE * a, SIZE * b, -s.z[c, 0], -s.z[c, 1], -s.z[c, 2])
            for r in range(3):
                s.z[c, r] = 0.0
            s.u[c, 0], numbers[RADIUS] = NEVER, 0.0
        elif s_N < 0.5 * s_F:
            rest = s.u[c, 0]  # the gap if nothing moved
            for i in range(bodies.size[a]):
                rest -= s.G[c, 0, i if i < 4 else 4 + i] * memory[bodies.home + bodies.first[a] + i]
            if b < s.inverse.shape[0]:
                for i in range(bodies.size[b]):
                    rest -= s.G[c, 0, 4 + i if i < 4 else 6 + i] * memory[bodies.home + bodies.first[b] + i]
            band = DEAD * tolerance * info[SIZE_N] / s_N
            s.u[c, 0] -= min(max(rest, -band), band)
    s.errors[0], work.errors[0], work.errors[1] = normals, 0.0, natural
    if natural != natural or not error < np.inf:
        return np.inf
    return max(error, natural)


@jit_inline
def _set_steps(tables: Tables, k: int, work: Work, bodies: Bodies, s: Sweeping) -> float:
    """The steps that bodies would take without any change of multipliers; the largest, or inf if one is not finite."""
    problem, outputs, dofs, v = tables.problems[k], work.outputs, tables.dofs, s.v_flat
    for i in range(v.size):
        v[i] = 0.0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row = kind.first
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset != IDLE:
                for e in range(group.row_0, group.row_1):
                    place = tables.places[group.unknowns + tables.entries[e].row]
                    slot = bodies.slot[place.start + dofs[row + place.column]]
                    v[slot] -= outputs[offset + tables.entries[e].output]
            row += kind.width
    worst, total = 0.0, 0.0
    for b in range(s.inverse.shape[0]):
        first, own = problem.order + bodies.first[b], s.free[b]
        for i in range(SIZE):
            own[i] = s.inverse[b, i] * s.v[b, i]
        if not s.diagonal[b]:
            for i in range(SIZE):
                own[i] = 0.0
                for j in range(SIZE):
                    own[i] += s.A[b, i, j] * s.v[b, j]
        for i in range(bodies.size[b]):
            size = abs(own[i]) / size_of_row(work, first + i)
            total += size
            worst = max(worst, size)
        for i in range(SIZE):
            s.v[b, i] = own[i]
    return worst if total < np.inf else np.inf


@jit_inline
def _friction_violated(s: Sweeping, c: int, rows: int, radius: float, d_F: float) -> tuple[bool, float]:
    """Whether a contact sticks, and by how much the law of its friction is violated, as a velocity."""
    if radius <= 0.0:
        return False, d_F * max(abs(s.z_0[c, 1]), abs(s.z_0[c, 2]))
    p_1, p_2 = s.z_0[c, 1] - s.u[c, 1] / d_F, s.z_0[c, 2] - s.u[c, 2] / d_F
    length = sqrt(p_1 * p_1 + p_2 * p_2)
    if length <= radius:
        return True, max(abs(s.u[c, 1]), abs(s.u[c, 2]))
    f = radius / length
    return False, d_F * max(abs(s.z_0[c, 1] - f * p_1), abs(s.z_0[c, 2] - f * p_2))


@jit_bare
def take_step(s: Sweeping, count: int, bodies: Bodies, memory: np.ndarray) -> None:
    """What was found goes to the memory."""
    for b in range(s.inverse.shape[0]):
        for i in range(bodies.size[b]):
            memory[bodies.home + bodies.first[b] + i] += s.v[b, i]
    for c in range(count):
        memory[s.who[c, HOME_N]] += (s.z[c, 0] - s.z_0[c, 0]) / s.info[c, SLOPE_N]
        for r in range(s.who[c, ROWS]):
            memory[s.who[c, HOME_F] + r] += (s.z[c, 1 + r] - s.z_0[c, 1 + r]) / s.info[c, SLOPE_F]


@jit_bare
def ease(s: Sweeping, count: int, tolerance: float) -> None:
    """Let all gaps close a little late, by less than a solve may miss.

    Contacts of bodies at rest that gaps of the last step contradict may have no solution, or one that needs an avalanche:
    one is known to exist where some motion opens all contacts (see `nonsmooth.jam`), and with wider gaps rest is one.
    """
    if s.gaps[0] == 1:
        for c in range(count):
            if s.info[c, UNIT_N] < 0.5 * s.info[c, UNIT_F]:
                s.u[c, 0] += EASE * ENOUGH_GAP * tolerance * s.info[c, SIZE_N] / s.info[c, UNIT_N]


@jit_bare
def respond(s: Sweeping, count: int) -> None:
    """Velocities of the multipliers z."""
    for b in range(s.inverse.shape[0]):
        for i in range(SIZE):
            s.v[b, i] = s.free[b, i]
    for c in range(count):
        a, b = SIZE * s.who[c, FIRST], SIZE * s.who[c, SECOND]
        d_0, d_1, d_2 = s.z[c, 0] - s.z_0[c, 0], s.z[c, 1] - s.z_0[c, 1], s.z[c, 2] - s.z_0[c, 2]
        push(s.T_flat, 3 * WIDTH * c, s.v_flat, a, b, d_0, d_1, d_2)


@jit_bare
def worst_gap(tables: Tables, k: int, work: Work) -> float:
    """The largest violation of a normal law in the stage that was evaluated last, in the unit of its row."""
    problem, worst = tables.problems[k], 0.0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.law == group.law_1:
            continue
        count, y, element = (
            tables.kinds[group.kind].count,
            tables.laws[group.law].y,
            group.element + group.law - group.law_0,
        )
        for instance in range(group.instance, group.instance + count):
            if work.offset[instance] != IDLE and work.branch[element] != OFF:
                gap = work.outputs[work.offset[instance] + y]
                worst = max(worst, abs(gap) if work.branch[element] == CLOSED else -gap)
            element += group.law_1 - group.law_0
    return worst

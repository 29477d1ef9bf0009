"""Values of a linearised stage with many contacts: what it takes from an evaluation, and what goes back to the memory."""

from __future__ import annotations

import numpy as np

from stickslip.engine.contact_plan import SIZE, Bodies
from stickslip.engine.contact_state import (
    DEAD,
    FIRST,
    GROUP,
    HOME_F,
    HOME_N,
    MU,
    NEVER,
    OFFSET,
    RADIUS,
    ROWS,
    SECOND,
    SLOPE_F,
    SLOPE_N,
    STAYS_OPEN,
    UNIT_F,
    UNIT_N,
    Sweeping,
)  # fmt: skip
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work
from stickslip.jit import jit_bare
from stickslip.native.wide import WIDTH, push
from stickslip.nonsmooth.cones import CLOSED, OFF


@jit_bare
def set_values(
    tables: Tables, memory: np.ndarray, work: Work, bodies: Bodies, s: Sweeping, count: int, tolerance: float
) -> None:
    """What the linearised stage takes from values: residuals of bodies, gaps, slips and multipliers of contacts.

    Derivatives may be those of an earlier evaluation, if no contact has joined since.
    """
    ground, outputs = s.A.shape[0], work.outputs
    for b in range(ground):
        first, size = bodies.first[b], bodies.size[b]
        for i in range(SIZE):
            s.v[b, i] = -work.x[first + i].residual if i < size else 0.0
        for i in range(SIZE):
            t = s.A[b, i, i] * s.v[b, i]
            if not s.diagonal[b]:
                t = 0.0
                for j in range(SIZE):
                    t += s.A[b, i, j] * s.v[b, j]
            s.free[b, i] = t
        for i in range(SIZE):
            s.v[b, i] = s.free[b, i]
    for c in range(count):
        who, info, numbers, offset = s.who[c], s.info[c], s.numbers[c], s.who[c, OFFSET]
        group = tables.groups[who[GROUP]]
        normal, friction = tables.laws[group.law], tables.laws[group.law_1 - 1]
        s_N, s_F, rows, a, b = info[UNIT_N], info[UNIT_F], who[ROWS], who[FIRST], who[SECOND]
        for r in range(3):
            s.u[c, r], s.z_0[c, r] = 0.0, 0.0
        s.u[c, 0], s.z_0[c, 0] = outputs[offset + normal.y] / s_N, outputs[offset + normal.z]
        for r in range(rows):
            s.u[c, 1 + r], s.z_0[c, 1 + r] = outputs[offset + friction.y + r] / s_F, outputs[offset + friction.z + r]
        numbers[RADIUS] = 0.0
        for r in range(3):
            s.z[c, r] = s.z_0[c, r]
        if who[STAYS_OPEN]:  # no multipliers
            push(s.T_flat, 3 * WIDTH * c, s.v_flat, SIZE * a, SIZE * b, -s.z[c, 0], -s.z[c, 1], -s.z[c, 2])
            for r in range(3):
                s.z[c, r] = 0.0
            s.u[c, 0] = NEVER
            continue
        if rows > 0:
            whole = outputs[offset + friction.radius]
            numbers[RADIUS] = whole - numbers[MU] * s.z_0[c, 0]
            if numbers[RADIUS] < 1e-12 * abs(whole):
                numbers[RADIUS] = 0.0
        if s_N < 0.5 * s_F:
            rest = s.u[c, 0]  # the gap if nothing moved
            for i in range(bodies.size[a]):
                rest -= s.G[c, 0, i if i < 4 else 4 + i] * memory[bodies.home + bodies.first[a] + i]
            if b < ground:
                for i in range(bodies.size[b]):
                    rest -= s.G[c, 0, 4 + i if i < 4 else 6 + i] * memory[bodies.home + bodies.first[b] + i]
            band = DEAD * tolerance / s_N
            s.u[c, 0] -= min(max(rest, -band), band)


@jit_bare
def take_step(s: Sweeping, count: int, bodies: Bodies, memory: np.ndarray) -> None:
    """What was found goes to the memory."""
    for b in range(s.A.shape[0]):
        for i in range(bodies.size[b]):
            memory[bodies.home + bodies.first[b] + i] += s.v[b, i]
    for c in range(count):
        memory[s.who[c, HOME_N]] += (s.z[c, 0] - s.z_0[c, 0]) / s.info[c, SLOPE_N]
        for r in range(s.who[c, ROWS]):
            memory[s.who[c, HOME_F] + r] += (s.z[c, 1 + r] - s.z_0[c, 1 + r]) / s.info[c, SLOPE_F]


@jit_bare
def respond(s: Sweeping, count: int) -> None:
    """Velocities of the multipliers z."""
    for b in range(s.A.shape[0]):
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

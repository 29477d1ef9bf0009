"""A stage with many contacts of free bodies, linearised: blocks of bodies and rows of contacts, no matrix.

The loop has evaluated a stage and stopped at it. Its smooth rows belong to bodies of at most six velocities each, so that

    dx = -A^-1 (r + B dz),   u = y/s + G dx

with a small inverse per body, G = (dy/dx)/s, T = -(A^-1 B), and s the unit of a row: what a gap is in terms of velocities.
D = G T of a contact alone scales its multipliers.

Gaps that the last step left within its tolerance contradict sticking: percussions would creep for ever to make them agree. So
a gap that a state at rest would have is brought not to zero but to a band around it, DEAD times the tolerance wide on either
side, and gaps are solved for more closely than that (ENOUGH_GAP). Where the band was as narrow as what a solve leaves, ten
times as many stages hit the cap of the sweeps (100 spheres in a box, 1500 steps: 128 instead of 13).
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.engine.contact_plan import (
    ACROSS_0,
    ALONG_0,
    BLOCK_0,
    COLUMN_A,
    COLUMN_B,
    END,
    HOME_OF_F,
    HOME_OF_N,
    MU_0,
    SIZE,
    SLOPE_OF_F,
    SLOPE_OF_N,
    Bodies,
    Plan,
)
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work
from stickslip.jit import jit_bare, jit_inline
from stickslip.native.wide import WIDTH, push
from stickslip.nonsmooth.cones import CLOSED, OFF

MEMORY = 5  # differences of the acceleration in `contact_sweeps`
OMEGA = 1.4  # over-relaxation of the sweeps
DEAD = 0.2
ENOUGH, ENOUGH_GAP = 0.9, 0.02  # shares of the tolerance that a solve aims at, of velocities and of gaps
# Columns of Sweeping.numbers, what a sweep reads: friction coefficient and constant radius, OMEGA over the Delassus diagonals,
# what a normal multiplier does to the slips, what a change of multipliers is in the unit of a row and of its goal.
MU, RADIUS, R_N, R_F, D_1, D_2, W_N, W_F = range(8)
# Columns of Sweeping.info: Delassus diagonals, derivatives of multipliers by their unknowns.
D_N, D_F, SLOPE_N, SLOPE_F = range(4)
# Columns of Sweeping.who: bodies (the last one is the ground), where the unknowns lie in the memory, components of friction.
FIRST, SECOND, HOME_N, HOME_F, ROWS = range(5)
STRIDE = 17  # contacts that follow each other share no body, so that a processor can begin the next before one is done
NEVER = 1e300  # the velocity of a contact that stays open


class Sweeping(NamedTuple):
    """A linearised stage: blocks of bodies, rows of contacts, and the history of the acceleration."""

    A: np.ndarray  # (bodies, 6, 6), then its inverse
    v: np.ndarray  # (bodies + 1, 6): steps of the smooth unknowns; the ground's are 0
    v_flat: np.ndarray  # the same numbers in a row
    free: np.ndarray  # the same without any change of the multipliers
    who: np.ndarray
    numbers: np.ndarray
    info: np.ndarray
    G: np.ndarray  # (contacts, 3, 12), the columns as in `native.wide`
    G_flat: np.ndarray
    T: np.ndarray  # (contacts, 3, 12)
    T_flat: np.ndarray
    u: np.ndarray  # (contacts, 3)
    z: np.ndarray
    z_flat: np.ndarray
    z_0: np.ndarray
    gaps: np.ndarray  # whether a row is a gap
    history: np.ndarray  # (2 MEMORY + 3, 3 contacts)
    speeds: np.ndarray  # (MEMORY + 1, 6 bodies)
    small: np.ndarray  # (2 MEMORY + 1, MEMORY): matrix, factor and right-hand side of the acceleration


def sweeping(bodies: int, contacts: int) -> Sweeping:
    """Room for a stage."""
    v, z = np.zeros((bodies + 1, SIZE)), np.zeros((contacts, 3))
    G, T = np.zeros((contacts, 3, WIDTH)), np.zeros((contacts, 3, WIDTH))
    return Sweeping(
        np.zeros((bodies, SIZE, SIZE)),
        v,
        v.reshape(-1),
        np.zeros((bodies, SIZE)),
        np.zeros((contacts, 5), np.int64),
        np.zeros((contacts, 8)),
        np.zeros((contacts, 4)),
        G,
        G.reshape(-1),
        T,
        T.reshape(-1),
        np.zeros((contacts, 3)),
        z,
        z.reshape(-1),
        np.zeros((contacts, 3)),
        np.zeros(1, np.int64),
        np.zeros((2 * MEMORY + 3, 3 * contacts)),
        np.zeros((MEMORY + 1, SIZE * (bodies + 1))),
        np.zeros((2 * MEMORY + 1, MEMORY)),
    )


@jit_bare
def set_up(
    tables: Tables, k: int, memory: np.ndarray, work: Work, bodies: Bodies, plan: Plan, s: Sweeping, tolerance: float
) -> int:
    """Linearise the stage that was evaluated last; its contacts, or -1 where it has some that cannot be swept."""
    problem, count = tables.problems[k], 0
    if not _set_bodies(tables, k, work, bodies, plan, s):
        return -1
    s.gaps[0] = 0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.law == group.law_1:
            continue
        kind = tables.kinds[group.kind]
        for first in range(STRIDE):
            for i in range(first, kind.count, STRIDE):
                offset = work.offset[group.instance + i]
                if offset != IDLE:
                    row, element = kind.first + i * kind.width, group.element + i * (group.law_1 - group.law_0)
                    added = _set_contact(
                        tables, g, row, offset, element, memory, work, bodies, plan, s, count, tolerance
                    )
                    if added < 0:
                        return -1
                    count += added
    return count


@jit_inline
def _set_bodies(tables: Tables, k: int, work: Work, bodies: Bodies, plan: Plan, s: Sweeping) -> bool:
    """Blocks of bodies and their inverses, and steps without any change of multipliers."""
    problem = tables.problems[k]
    for b in range(s.A.shape[0]):
        for i in range(SIZE):
            for j in range(SIZE):
                s.A[b, i, j] = 0.0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind, first, own = tables.kinds[group.kind], group.unknowns, plan.groups[g]
        row = kind.first
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset == IDLE:
                pass
            elif group.law < group.law_1:
                # What a contact force says about another body's velocity is left to the next linearisation.
                for m in range(own[BLOCK_0], own[END]):
                    move = plan.moves[m]
                    b = bodies.of[tables.dofs[row + own[COLUMN_B if move[1] >= SIZE * SIZE else COLUMN_A]]]
                    at = move[1] % (SIZE * SIZE)
                    s.A[b, at // SIZE, at % SIZE] += work.outputs[offset + move[0]]
            else:
                for e in range(group.entry_0, group.entry_1):
                    entry = tables.entries[e]
                    p, q = tables.places[first + entry.row], tables.places[first + entry.unknown]
                    i, j = p.start + tables.dofs[row + p.column], q.start + tables.dofs[row + q.column]
                    b = bodies.of[i]
                    s.A[b, i - bodies.first[b], j - bodies.first[b]] += work.outputs[offset + entry.output]
            row += kind.width
    for b in range(s.A.shape[0]):
        first, size = bodies.first[b], bodies.size[b]
        for i in range(SIZE):
            s.v[b, i] = -work.x[first + i].residual if i < size else 0.0
        if not _invert(s.A[b]):
            return False
        for i in range(SIZE):
            t = 0.0
            for j in range(SIZE):
                t += s.A[b, i, j] * s.v[b, j]
            s.free[b, i] = t
        for i in range(SIZE):
            s.v[b, i] = s.free[b, i]
    return True


@jit_inline
def _set_contact(
    tables: Tables, g: int, row: int, offset: int, element: int, memory: np.ndarray, work: Work, bodies: Bodies,
    plan: Plan, s: Sweeping, c: int, tolerance: float,
) -> int:  # fmt: skip
    """Rows of one contact; 1, or 0 if it does not take part, or -1 if it has a form that cannot be swept."""
    group, outputs, own = tables.groups[g], work.outputs, plan.groups[g]
    normal, friction = tables.laws[group.law], tables.laws[group.law_1 - 1]
    rows = friction.rows if group.law_1 - group.law == 2 else 0
    if work.branch[element + group.law - group.law_0] == OFF:
        return 0 if rows == 0 or work.branch[element + group.law_1 - 1 - group.law_0] == OFF else -1
    if rows > 0 and work.branch[element + group.law_1 - 1 - group.law_0] == OFF:
        rows = 0
    who, info, numbers, G, T, ground = s.who[c], s.info[c], s.numbers[c], s.G[c], s.T[c], s.A.shape[0]
    a, b = bodies.of[tables.dofs[row + own[COLUMN_A]]], ground
    if own[COLUMN_B] >= 0:
        b = bodies.of[tables.dofs[row + own[COLUMN_B]]]
    if a == b:
        return -1
    who[FIRST], who[SECOND], who[ROWS] = a, b, rows
    who[HOME_N] = normal.home + tables.dofs[row + own[HOME_OF_N]]
    who[HOME_F] = friction.home + tables.dofs[row + own[HOME_OF_F]] if rows > 0 else 0
    for r in range(3):
        for i in range(WIDTH):
            G[r, i], T[r, i] = 0.0, 0.0
    last = WIDTH * (1 + rows)  # the friction of a contact may not apply
    for m in range(own[ALONG_0], own[ACROSS_0]):
        at = plan.moves[m, 1]
        if at < last:
            G[at // WIDTH, at % WIDTH] += outputs[offset + plan.moves[m, 0]]
    for m in range(own[ACROSS_0], own[MU_0]):
        at = plan.moves[m, 1]
        if at < last:
            T[at // WIDTH, at % WIDTH] += outputs[offset + plan.moves[m, 0]]
    slope_N, slope_F = outputs[offset + own[SLOPE_OF_N]], outputs[offset + own[SLOPE_OF_F]] if rows > 0 else 1.0
    s_N, s_F = _unit(G, T, 0, 1, slope_N), _unit(G, T, 1, 1 + rows, slope_F) if rows > 0 else 1.0
    if not (s_N > 0.0 and s_F > 0.0):
        return -1
    for r in range(1 + rows):
        unit, slope = (s_N, slope_N) if r == 0 else (s_F, slope_F)
        for i in range(WIDTH):
            G[r, i] /= unit
            T[r, i] /= -slope
        _respond_to(s.A, a, T[r], 0)
        if b < ground:
            _respond_to(s.A, b, T[r], 1)
    d_N, d_1, d_2, d_F = _dot(G[0], T[0]), _dot(G[1], T[0]), _dot(G[2], T[0]), 0.0
    if rows > 0:
        d_F = max(abs(_dot(G[1], T[1])) + abs(_dot(G[1], T[2])), abs(_dot(G[2], T[1])) + abs(_dot(G[2], T[2])))
    if not d_N > 0.0 or (rows > 0 and not d_F > 0.0):
        return -1
    gap = s_N < 0.5 * s_F
    numbers[R_N], numbers[R_F], numbers[D_1], numbers[D_2] = OMEGA / d_N, OMEGA / d_F if rows > 0 else 0.0, d_1, d_2
    numbers[W_N], numbers[W_F] = d_N * s_N / (ENOUGH_GAP if gap else ENOUGH), d_F * s_F / ENOUGH
    info[D_N], info[D_F], info[SLOPE_N], info[SLOPE_F] = d_N, d_F, slope_N, slope_F
    for r in range(3):
        s.u[c, r], s.z_0[c, r] = 0.0, 0.0
    s.u[c, 0], s.z_0[c, 0] = outputs[offset + normal.y] / s_N, outputs[offset + normal.z]
    for r in range(rows):
        s.u[c, 1 + r], s.z_0[c, 1 + r] = outputs[offset + friction.y + r] / s_F, outputs[offset + friction.z + r]
    numbers[MU], numbers[RADIUS] = 0.0, 0.0
    if rows > 0:
        for m in range(own[MU_0], own[BLOCK_0]):
            numbers[MU] += outputs[offset + plan.moves[m, 0]] / slope_N
        whole = outputs[offset + friction.radius]
        numbers[RADIUS] = whole - numbers[MU] * s.z_0[c, 0]
        if numbers[RADIUS] < 1e-12 * abs(whole):
            numbers[RADIUS] = 0.0
    for r in range(3):
        s.z[c, r] = s.z_0[c, r]
    if gap:
        s.gaps[0] = 1
        rest = s.u[c, 0]  # the gap if nothing moved
        for i in range(bodies.size[a]):
            rest -= G[0, i if i < 4 else 4 + i] * memory[bodies.home + bodies.first[a] + i]
        if b < ground:
            for i in range(bodies.size[b]):
                rest -= G[0, 4 + i if i < 4 else 6 + i] * memory[bodies.home + bodies.first[b] + i]
        band = DEAD * tolerance / s_N
        s.u[c, 0] -= min(max(rest, -band), band)
    if normal.open_where >= 0 and memory[normal.open_where + tables.dofs[row + normal.column]] > 0.0:
        if s.z[c, 0] == 0.0 and s.z[c, 1] == 0.0 and s.z[c, 2] == 0.0:
            return 0
        push(s.T_flat, 3 * WIDTH * c, s.v_flat, SIZE * a, SIZE * b, -s.z[c, 0], -s.z[c, 1], -s.z[c, 2])
        for r in range(1 + rows):  # a contact that stays open: no multipliers
            s.z[c, r] = 0.0
        s.u[c, 0], numbers[MU], numbers[RADIUS] = NEVER, 0.0, 0.0
    return 1


@jit_inline
def _unit(G: np.ndarray, T: np.ndarray, first: int, last: int, slope: float) -> float:
    """dy/dx in units of dr/dz: 1 for velocities, dt or so for gaps."""
    y, r = 0.0, 0.0
    for a in range(first, last):
        for i in range(WIDTH):
            y += G[a, i] ** 2
            r += (T[a, i] / slope) ** 2
    return sqrt(y / r) if r > 0.0 else 0.0


@jit_inline
def _dot(a: np.ndarray, b: np.ndarray) -> float:
    t = 0.0
    for i in range(WIDTH):
        t += a[i] * b[i]
    return t


@jit_inline
def _respond_to(A: np.ndarray, b: int, t: np.ndarray, side: int) -> None:
    """A^-1 t for the six entries of one of the two bodies."""
    p, q = 4 * side, 8 + 2 * side
    t0, t1, t2, t3, t4, t5 = t[p], t[p + 1], t[p + 2], t[p + 3], t[q], t[q + 1]
    for i in range(SIZE):
        t[p + i if i < 4 else q + i - 4] = (
            (A[b, i, 0] * t0 + A[b, i, 1] * t1)
            + (A[b, i, 2] * t2 + A[b, i, 3] * t3)
            + (A[b, i, 4] * t4 + A[b, i, 5] * t5)
        )


@jit_inline
def _invert(A: np.ndarray) -> bool:
    """A block in place, by Gauss-Jordan without pivoting; rows of velocities that a body does not have become unit rows."""
    diagonal = True
    for i in range(SIZE):
        empty = True
        for j in range(SIZE):
            empty = empty and A[i, j] == 0.0
            diagonal = diagonal and (i == j or A[i, j] == 0.0)
        if empty:
            A[i, i] = 1.0
    if diagonal:
        for i in range(SIZE):
            if A[i, i] == 0.0:
                return False
            A[i, i] = 1.0 / A[i, i]
        return True
    for p in range(SIZE):
        pivot = A[p, p]
        if not abs(pivot) > 0.0:
            return False
        A[p, p] = 1.0
        for j in range(SIZE):
            A[p, j] /= pivot
        for i in range(SIZE):
            if i != p and A[i, p] != 0.0:
                f = A[i, p]
                A[i, p] = 0.0
                for j in range(SIZE):
                    A[i, j] -= f * A[p, j]
    return True


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

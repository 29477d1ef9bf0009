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
from stickslip.engine.contact_state import (
    D_1,
    D_2,
    D_F,
    D_N,
    ENOUGH,
    ENOUGH_GAP,
    FIRST,
    GROUP,
    HOME_F,
    HOME_N,
    MU,
    OFFSET,
    OMEGA,
    R_F,
    R_N,
    ROWS,
    SECOND,
    SLOPE_F,
    SLOPE_N,
    STAYS_OPEN,
    STRIDE,
    UNIT_F,
    UNIT_N,
    W_F,
    W_N,
    Sweeping,
)  # fmt: skip
from stickslip.engine.contact_values import set_values
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work
from stickslip.jit import jit_bare, jit_inline
from stickslip.native.wide import WIDTH
from stickslip.nonsmooth.cones import OFF


@jit_bare
def set_up(
    tables: Tables, k: int, memory: np.ndarray, work: Work, bodies: Bodies, plan: Plan, s: Sweeping, tolerance: float
) -> int:
    """Linearise the stage that was evaluated last; its contacts, or -1 where it has some that cannot be swept."""
    count = _set_directions(tables, k, memory, work, bodies, plan, s)
    if count >= 0:
        set_values(tables, memory, work, bodies, s, count, tolerance)
    return count


@jit_inline
def _set_directions(
    tables: Tables, k: int, memory: np.ndarray, work: Work, bodies: Bodies, plan: Plan, s: Sweeping
) -> int:
    """What the linearised stage takes from derivatives; its contacts, or -1."""
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
                    added = _set_contact(tables, g, row, offset, element, memory, work, bodies, plan, s, count)
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
    regular = True
    for b in range(s.A.shape[0]):
        regular = _invert(s.A[b], s.diagonal, b) and regular
    return regular


@jit_inline
def _set_contact(
    tables: Tables, g: int, row: int, offset: int, element: int, memory: np.ndarray, work: Work, bodies: Bodies,
    plan: Plan, s: Sweeping, c: int,
) -> int:  # fmt: skip
    """Rows of one contact; 1, or 0 if it does not take part, or -1 if it has a form that cannot be swept."""
    group, outputs, own, moves = tables.groups[g], work.outputs, plan.groups[g], plan.moves
    normal, friction = tables.laws[group.law], tables.laws[group.law_1 - 1]
    rows = friction.rows if group.law_1 - group.law == 2 else 0
    if work.branch[element + group.law - group.law_0] == OFF:
        return 0 if rows == 0 or work.branch[element + group.law_1 - 1 - group.law_0] == OFF else -1
    if rows > 0 and work.branch[element + group.law_1 - 1 - group.law_0] == OFF:
        rows = 0
    stays_open = normal.open_where >= 0 and memory[normal.open_where + tables.dofs[row + normal.column]] > 0.0
    if stays_open:
        nothing = outputs[offset + normal.z] == 0.0
        for r in range(rows):
            nothing = nothing and outputs[offset + friction.z + r] == 0.0
        if nothing:
            return 0
    who, info, numbers, ground = s.who[c], s.info[c], s.numbers[c], s.A.shape[0]
    a, b = bodies.of[tables.dofs[row + own[COLUMN_A]]], ground
    if own[COLUMN_B] >= 0:
        b = bodies.of[tables.dofs[row + own[COLUMN_B]]]
    if a == b:
        return -1
    who[FIRST], who[SECOND], who[ROWS], who[GROUP], who[OFFSET] = a, b, rows, g, offset
    who[HOME_N], who[STAYS_OPEN] = normal.home + tables.dofs[row + own[HOME_OF_N]], stays_open
    who[HOME_F] = friction.home + tables.dofs[row + own[HOME_OF_F]] if rows > 0 else 0
    G, T, at = s.G_flat, s.T_flat, 3 * WIDTH * c
    for i in range(at, at + 3 * WIDTH):
        G[i], T[i] = 0.0, 0.0
    last = WIDTH * (1 + rows)  # the friction of a contact may not apply
    for m in range(own[ALONG_0], own[ACROSS_0]):
        if moves[m, 1] < last:
            G[at + moves[m, 1]] += outputs[offset + moves[m, 0]]
    for m in range(own[ACROSS_0], own[MU_0]):
        if moves[m, 1] < last:
            T[at + moves[m, 1]] += outputs[offset + moves[m, 0]]
    slope_N, slope_F = outputs[offset + own[SLOPE_OF_N]], outputs[offset + own[SLOPE_OF_F]] if rows > 0 else 1.0
    end = at + WIDTH * (1 + rows)
    s_N, s_F = _unit(G, T, at, at + WIDTH, slope_N), _unit(G, T, at + WIDTH, end, slope_F) if rows > 0 else 1.0
    if not (s_N > 0.0 and s_F > 0.0):
        return -1
    for r in range(1 + rows):
        along, across = (1.0 / s_N, -1.0 / slope_N) if r == 0 else (1.0 / s_F, -1.0 / slope_F)
        for i in range(at + WIDTH * r, at + WIDTH * (r + 1)):
            G[i] *= along
            T[i] *= across
        _respond_to(s, a, T, at + WIDTH * r, 0)
        if b < ground:
            _respond_to(s, b, T, at + WIDTH * r, 1)
    n, t_1, t_2 = at, at + WIDTH, at + 2 * WIDTH
    d_N, d_1, d_2, d_F = _dot(G, n, T, n), _dot(G, t_1, T, n), _dot(G, t_2, T, n), 0.0
    if rows > 0:
        d_F = max(
            abs(_dot(G, t_1, T, t_1)) + abs(_dot(G, t_1, T, t_2)), abs(_dot(G, t_2, T, t_1)) + abs(_dot(G, t_2, T, t_2))
        )
    if not d_N > 0.0 or (rows > 0 and not d_F > 0.0):
        return -1
    gap = s_N < 0.5 * s_F
    if gap:
        s.gaps[0] = 1
    numbers[R_N], numbers[R_F], numbers[D_1], numbers[D_2] = OMEGA / d_N, OMEGA / d_F if rows > 0 else 0.0, d_1, d_2
    numbers[W_N], numbers[W_F] = d_N * s_N / (ENOUGH_GAP if gap else ENOUGH), d_F * s_F / ENOUGH
    info[D_N], info[D_F], info[SLOPE_N], info[SLOPE_F], info[UNIT_N], info[UNIT_F] = (
        d_N,
        d_F,
        slope_N,
        slope_F,
        s_N,
        s_F,
    )
    numbers[MU] = 0.0
    if rows > 0 and not stays_open:
        for m in range(own[MU_0], own[BLOCK_0]):
            numbers[MU] += outputs[offset + moves[m, 0]] / slope_N
    return 1


@jit_inline
def _unit(G: np.ndarray, T: np.ndarray, first: int, last: int, slope: float) -> float:
    """dy/dx in units of dr/dz: 1 for velocities, dt or so for gaps."""
    y, r = 0.0, 0.0
    for i in range(first, last):
        y += G[i] * G[i]
        r += T[i] * T[i]
    return sqrt(y / r) * abs(slope) if r > 0.0 else 0.0


@jit_inline
def _dot(a: np.ndarray, i: int, b: np.ndarray, j: int) -> float:
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, WIDTH, 4):
        s0 += a[i + k] * b[j + k]
        s1 += a[i + k + 1] * b[j + k + 1]
        s2 += a[i + k + 2] * b[j + k + 2]
        s3 += a[i + k + 3] * b[j + k + 3]
    return (s0 + s1) + (s2 + s3)


@jit_inline
def _respond_to(s: Sweeping, b: int, t: np.ndarray, at: int, side: int) -> None:
    """A^-1 t for the six entries of one of the two bodies."""
    A, p, q = s.A, at + 4 * side, at + 8 + 2 * side
    if s.diagonal[b]:
        for i in range(4):
            t[p + i] *= A[b, i, i]
        t[q] *= A[b, 4, 4]
        t[q + 1] *= A[b, 5, 5]
        return
    t0, t1, t2, t3, t4, t5 = t[p], t[p + 1], t[p + 2], t[p + 3], t[q], t[q + 1]
    for i in range(SIZE):
        t[p + i if i < 4 else q + i - 4] = (
            (A[b, i, 0] * t0 + A[b, i, 1] * t1)
            + (A[b, i, 2] * t2 + A[b, i, 3] * t3)
            + (A[b, i, 4] * t4 + A[b, i, 5] * t5)
        )


@jit_inline
def _invert(A: np.ndarray, is_diagonal: np.ndarray, b: int) -> bool:
    """A block in place, by Gauss-Jordan without pivoting; rows of velocities that a body does not have become unit rows."""
    diagonal = True
    for i in range(SIZE):
        empty = True
        for j in range(SIZE):
            empty = empty and A[i, j] == 0.0
            diagonal = diagonal and (i == j or A[i, j] == 0.0)
        if empty:
            A[i, i] = 1.0
    is_diagonal[b] = diagonal
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

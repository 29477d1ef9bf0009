"""A stage with many contacts of free bodies, linearised: blocks of bodies and rows of contacts, no matrix.

The loop has stopped at a stage. Its smooth rows belong to bodies of at most six velocities each, so that

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
    MARK_F,
    MARK_N,
    MU,
    OFFSET,
    OMEGA,
    R_F,
    R_N,
    ROWS,
    SECOND,
    SIZE_F,
    SIZE_N,
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
from stickslip.engine.residual import call_group, gather, gather_lane, is_idle
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work, size_of_row
from stickslip.jit import jit_bare, jit_inline
from stickslip.native.call import call_kernel
from stickslip.native.lanes import LANES
from stickslip.native.wide import WIDTH


@jit_bare
def set_up(
    tables: Tables, k: int, memory: np.ndarray, work: Work, bodies: Bodies, plan: Plan, s: Sweeping, tolerance: float
) -> int:
    """Evaluate the stage and linearise it; its contacts, or -1 where it has some that cannot be swept."""
    count = set_directions(tables, k, memory, work, bodies, plan, s)
    if count >= 0:
        set_values(tables, k, memory, work, bodies, s, count, tolerance)
    return count


@jit_inline
def set_directions(
    tables: Tables, k: int, memory: np.ndarray, work: Work, bodies: Bodies, plan: Plan, s: Sweeping
) -> int:
    """Evaluate all instances that are not idle; what the linearised stage takes from derivatives. Its contacts, or -1."""
    problem, count = tables.problems[k], 0
    s.gaps[0], work.filled[0] = 0, 0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.law == group.law_1:
            call_group(tables, k, g, memory, work, True, False, 0.0, 1.0)
            continue
        kind = tables.kinds[group.kind]
        width, lane = LANES if group.wide != 0 else 1, 0
        for first in range(STRIDE):
            for i in range(first, kind.count, STRIDE):
                row = kind.first + i * kind.width
                if group.gap_kernel != 0 and is_idle(tables, g, row, memory, work):
                    work.offset[group.instance + i] = IDLE
                    continue
                s.lanes[lane] = i
                if group.wide != 0:
                    gather_lane(tables, group.inputs, group.n_in, row, memory, work, lane)
                else:
                    gather(tables, group.inputs, group.n_in, row, memory, work)
                lane += 1
                if lane == width:
                    count, lane = _set_lanes(tables, k, g, memory, work, bodies, plan, s, count, lane), 0
        count = _set_lanes(tables, k, g, memory, work, bodies, plan, s, count, lane)
    if count < 0 or not _set_bodies(tables, k, work, bodies, plan, s):
        return -1
    for c in range(count):
        if not _set_response(s, c):
            return -1
    return count


@jit_bare
def _set_lanes(
    tables: Tables, k: int, g: int, memory: np.ndarray, work: Work, bodies: Bodies, plan: Plan, s: Sweeping, count: int,
    lanes: int,
) -> int:  # fmt: skip
    """Evaluate the contacts whose inputs were gathered; all contacts so far, or -1.

    Derivatives, 0.7 kB per contact of two spheres, are only there until the next ones are: values stay.
    """
    group = tables.groups[g]
    kind, begin = tables.kinds[group.kind], work.filled[0]
    kept = group.n_out if group.kept == 0 else group.kept
    kernel, inputs = (group.wide, work.lanes) if group.wide != 0 else (group.kernel, work.inputs)
    if lanes > 0:
        call_kernel(kernel, inputs, 0, work.outputs, begin)
    for lane in range(lanes):
        offset, stays = begin + lane * group.n_out, begin + lane * kept
        row = kind.first + s.lanes[lane] * kind.width
        if count >= 0:
            added = _set_contact(tables, k, g, row, offset, stays, memory, work, bodies, plan, s, count)
            count = -1 if added < 0 else count + added
        work.offset[group.instance + s.lanes[lane]] = stays
        for i in range(kept):
            work.outputs[stays + i] = work.outputs[offset + i]
    work.filled[0] = begin + lanes * kept
    return count


@jit_inline
def _set_bodies(tables: Tables, k: int, work: Work, bodies: Bodies, plan: Plan, s: Sweeping) -> bool:
    """Inverses of the blocks of all bodies; those of balls are diagonal, and take a sixth of the memory."""
    for b in range(s.inverse.shape[0]):
        s.diagonal[b] = True
        for i in range(SIZE):
            s.inverse[b, i] = 0.0
    if not _add_blocks(tables, k, work, bodies, plan, s, True):
        for b in range(s.A.shape[0]):
            if not s.diagonal[b]:
                for i in range(SIZE):
                    for j in range(SIZE):
                        s.A[b, i, j] = 0.0
        _add_blocks(tables, k, work, bodies, plan, s, False)
    regular = True
    for b in range(s.inverse.shape[0]):
        if s.diagonal[b]:
            for i in range(SIZE):
                regular = regular and (s.inverse[b, i] != 0.0 or i >= bodies.size[b])
                s.inverse[b, i] = 1.0 / s.inverse[b, i] if i < bodies.size[b] else 1.0
        else:
            regular = _invert(s.A[b]) and regular
    return regular


@jit_inline
def _add_blocks(
    tables: Tables, k: int, work: Work, bodies: Bodies, plan: Plan, s: Sweeping, diagonals: bool
) -> bool:  # fmt: skip
    """Derivatives of the rows of bodies by their velocities: the diagonals, or the blocks that are not diagonal.

    Whether all blocks are diagonal.
    """
    problem, all_diagonal = tables.problems[k], True
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind, first, own, row = tables.kinds[group.kind], group.unknowns, plan.groups[g], tables.kinds[group.kind].first
        contact = group.law < group.law_1
        # What a contact force says about another body's velocity is left to the next linearisation.
        begin, end = (own[BLOCK_0], own[END]) if contact else (group.entry_0, group.entry_1)
        if begin == end:
            continue
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset != IDLE:
                for e in range(begin, end):
                    if contact:
                        move = plan.moves[e]
                        b = bodies.of[tables.dofs[row + own[COLUMN_B if move[1] >= SIZE * SIZE else COLUMN_A]]]
                        value, at = work.outputs[offset + move[0]], move[1] % (SIZE * SIZE)
                        i, j = at // SIZE, at % SIZE
                    else:
                        entry = tables.entries[e]
                        p, q = tables.places[first + entry.row], tables.places[first + entry.unknown]
                        i, j = p.start + tables.dofs[row + p.column], q.start + tables.dofs[row + q.column]
                        b, value = bodies.of[i], work.outputs[offset + entry.output]
                        i, j = i - bodies.first[b], j - bodies.first[b]
                    if not diagonals:
                        if not s.diagonal[b]:
                            s.A[b, i, j] += value
                    elif i == j:
                        s.inverse[b, i] += value
                    elif value != 0.0:
                        s.diagonal[b], all_diagonal = False, False
            row += kind.width
    return all_diagonal


@jit_inline
def _set_contact(
    tables: Tables, k: int, g: int, row: int, offset: int, stays: int, memory: np.ndarray, work: Work, bodies: Bodies,
    plan: Plan, s: Sweeping, c: int,
) -> int:  # fmt: skip
    """Rows of one contact, G and B over their units; 1, or 0 if it does not take part, or -1 if it cannot be swept.

    Its outputs are at `offset`; its values will be at `stays`.
    """
    group, outputs, own, moves = tables.groups[g], work.outputs, plan.groups[g], plan.moves
    normal, friction = tables.laws[group.law], tables.laws[group.law_1 - 1]
    rows = friction.rows if group.law_1 - group.law == 2 else 0
    if _is_off(tables, group.law, row, memory):
        return 0 if rows == 0 or _is_off(tables, group.law_1 - 1, row, memory) else -1
    if rows > 0 and _is_off(tables, group.law_1 - 1, row, memory):
        rows = 0
    stays_open = normal.open_where >= 0 and memory[normal.open_where + tables.dofs[row + normal.column]] > 0.0
    mark_N = normal.mark + tables.dofs[row + normal.column] if normal.mark >= 0 else -1
    mark_F = friction.mark + tables.dofs[row + friction.column] if rows > 0 and friction.mark >= 0 else -1
    if stays_open:
        nothing = outputs[offset + normal.z] == 0.0
        for r in range(rows):
            nothing = nothing and outputs[offset + friction.z + r] == 0.0
        if nothing and rows > 0 and outputs[offset + friction.radius] > 0.0:
            return -1  # friction without a normal force
        if nothing:
            for mark in (mark_N, mark_F):
                if mark >= 0:
                    memory[mark] = 1.0
            return 0
    who, info, ground = s.who[c], s.info[c], s.inverse.shape[0]
    a, b = bodies.of[tables.dofs[row + own[COLUMN_A]]], ground
    if own[COLUMN_B] >= 0:
        b = bodies.of[tables.dofs[row + own[COLUMN_B]]]
    if a == b:
        return -1
    who[FIRST], who[SECOND], who[ROWS], who[GROUP], who[OFFSET] = a, b, rows, g, stays
    who[HOME_N], who[STAYS_OPEN] = normal.home + tables.dofs[row + own[HOME_OF_N]], stays_open
    who[MARK_N], who[MARK_F] = mark_N, mark_F
    who[HOME_F] = friction.home + tables.dofs[row + own[HOME_OF_F]] if rows > 0 else 0
    G, T, at = s.G_flat, s.T_flat, 3 * WIDTH * c
    along_row, across_row, last = plan.along[g], plan.across[g], WIDTH * (1 + rows)  # friction may not apply
    for i in range(3 * WIDTH):
        j, m = along_row[i], across_row[i]
        G[at + i] = outputs[offset + j] if j >= 0 and i < last else 0.0
        T[at + i] = outputs[offset + m] if m >= 0 and i < last else 0.0
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
    info[SLOPE_N], info[SLOPE_F], info[UNIT_N], info[UNIT_F] = slope_N, slope_F, s_N, s_F
    info[SIZE_N], info[SIZE_F] = _size(tables, k, g, group.law, row, work), 1.0
    if rows > 0:
        info[SIZE_F] = _size(tables, k, g, group.law_1 - 1, row, work)
    s.numbers[c, MU] = 0.0
    if rows > 0 and not stays_open:
        for m in range(own[MU_0], own[BLOCK_0]):
            s.numbers[c, MU] += outputs[offset + moves[m, 0]] / slope_N
    return 1


@jit_inline
def _set_response(s: Sweeping, c: int) -> bool:
    """From B over its unit to T, and the scales of a contact; False if it cannot be swept."""
    info, numbers, G, T, at = s.info[c], s.numbers[c], s.G_flat, s.T_flat, 3 * WIDTH * c
    a, b, rows, ground = s.who[c, FIRST], s.who[c, SECOND], s.who[c, ROWS], s.inverse.shape[0]
    for r in range(1 + rows):
        _respond_to(s, a, T, at + WIDTH * r, 0)
        if b < ground:
            _respond_to(s, b, T, at + WIDTH * r, 1)
    s_N, s_F, n, t_1, t_2 = info[UNIT_N], info[UNIT_F], at, at + WIDTH, at + 2 * WIDTH
    d_N, d_1, d_2, d_F = _dot(G, n, T, n), _dot(G, t_1, T, n), _dot(G, t_2, T, n), 0.0
    if rows > 0:
        d_F = max(
            abs(_dot(G, t_1, T, t_1)) + abs(_dot(G, t_1, T, t_2)), abs(_dot(G, t_2, T, t_1)) + abs(_dot(G, t_2, T, t_2))
        )
    if not d_N > 0.0 or (rows > 0 and not d_F > 0.0):
        return False
    gap = s_N < 0.5 * s_F
    if gap:
        s.gaps[0] = 1
    numbers[R_N], numbers[R_F], numbers[D_1], numbers[D_2] = OMEGA / d_N, OMEGA / d_F if rows > 0 else 0.0, d_1, d_2
    numbers[W_N] = d_N * s_N / ((ENOUGH_GAP if gap else ENOUGH) * info[SIZE_N])
    numbers[W_F] = d_F * s_F / (ENOUGH * info[SIZE_F])
    info[D_N], info[D_F] = d_N, d_F
    s.weight[3 * c], s.weight[3 * c + 1], s.weight[3 * c + 2] = d_N, d_F, d_F
    return True


@jit_inline
def _is_off(tables: Tables, b: int, row: int, memory: np.ndarray) -> bool:
    """Whether a law does not apply."""
    law = tables.laws[b]
    at = tables.dofs[row + law.column]
    only, but = law.only_where, law.except_where
    return (only >= 0 and not memory[only + at] > 0.0) or (but >= 0 and memory[but + at] > 0.0)


@jit_inline
def _size(tables: Tables, k: int, g: int, b: int, row: int, work: Work) -> float:
    """The size of what the rows of a law measure."""
    place = tables.places[tables.groups[g].unknowns + tables.laws[b].unknown]
    return size_of_row(work, tables.problems[k].order + place.start + tables.dofs[row + place.column])


@jit_inline
def _unit(G: np.ndarray, T: np.ndarray, first: int, last: int, slope: float) -> float:
    """dy/dx in units of dr/dz: 1 for velocities, dt or so for gaps."""
    y, r = 0.0, 0.0
    for i in range(first, last, WIDTH):
        y += _dot(G, i, G, i)
        r += _dot(T, i, T, i)
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
            t[p + i] *= s.inverse[b, i]
        t[q] *= s.inverse[b, 4]
        t[q + 1] *= s.inverse[b, 5]
        return
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
    for i in range(SIZE):
        empty = True
        for j in range(SIZE):
            empty = empty and A[i, j] == 0.0
        if empty:
            A[i, i] = 1.0
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

"""A stage with many contacts of free bodies, linearised: blocks of bodies and rows of contacts, no matrix.

The loop has evaluated a stage and stopped at it. Its smooth rows belong to bodies of at most six velocities each, so that

    dx = -A^-1 (r + B dz),   u = y/s + G dx

with a small inverse per body, G = (dy/dx)/s, and s the unit of a row: what a gap is in terms of velocities. D = G A^-1 B of a
contact alone scales its multipliers.

Gaps that the last step left within its tolerance contradict sticking: percussions would creep for ever to make them agree. So
a gap that a state at rest would have is brought not to zero but to a band around it, DEAD times the tolerance wide on either
side, and gaps are solved for more closely than that (ENOUGH_GAP). Where the band was as narrow as what a solve leaves, ten times
as many stages hit the cap of the sweeps (100 spheres in a box, 1500 steps: 128 instead of 13).
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work
from stickslip.jit import jit_bare, jit_inline
from stickslip.nonsmooth.cones import CLOSED, OFF

SIZE = 6  # velocities of a body
MEMORY = 5  # differences of the acceleration in `contact_sweeps`
DEAD = 0.2
ENOUGH, ENOUGH_GAP = 0.9, 0.02  # shares of the tolerance that a solve aims at, of velocities and of gaps
# Rows of Sweeping.info.
MU, RADIUS, D_N, D_F, S_N, S_F, SLOPE_N, SLOPE_F, GOAL = range(9)
# Rows of Sweeping.who: bodies (-1: none), where the unknowns lie in the memory, components of friction, whether z_N moves.
FIRST, SECOND, HOME_N, HOME_F, ROWS, MOVES = range(6)


class Bodies(NamedTuple):
    """Of a stage: the body of each smooth unknown, its place there, and where it lies in the memory."""

    body: np.ndarray
    slot: np.ndarray
    home: np.ndarray


class Sweeping(NamedTuple):
    """A linearised stage: blocks of bodies, rows of contacts, and the history of the acceleration."""

    A: np.ndarray  # (bodies, 6, 6), then its inverse
    v: np.ndarray  # (bodies, 6): steps of the smooth unknowns
    v_flat: np.ndarray  # the same numbers in a row
    free: np.ndarray  # the same without any change of the multipliers
    who: np.ndarray
    info: np.ndarray
    G: np.ndarray  # (contacts, 12, 4): a column per row of the contact
    T: np.ndarray  # (contacts, 3, 12)
    D: np.ndarray  # (contacts, 3, 3)
    u: np.ndarray  # (contacts, 3)
    z: np.ndarray
    z_flat: np.ndarray
    z_0: np.ndarray
    local: np.ndarray  # (2, 12, 3): dy/dx and dr/dx of one contact
    history: np.ndarray  # (2 MEMORY + 3, 3 contacts)
    speeds: np.ndarray  # (MEMORY + 1, 6 bodies)
    small: np.ndarray  # (2 MEMORY + 1, MEMORY): matrix, factor and right-hand side of the acceleration


def sweeping(bodies: int, contacts: int) -> Sweeping:
    """Room for a stage."""
    v, z = np.zeros((bodies, SIZE)), np.zeros((contacts, 3))
    return Sweeping(
        np.zeros((bodies, SIZE, SIZE)),
        v,
        v.reshape(-1),
        np.zeros((bodies, SIZE)),
        np.zeros((contacts, 6), np.int64),
        np.zeros((contacts, 9)),
        np.zeros((contacts, 2 * SIZE, 4)),
        np.zeros((contacts, 3, 2 * SIZE)),
        np.zeros((contacts, 3, 3)),
        np.zeros((contacts, 3)),
        z,
        z.reshape(-1),
        np.zeros((contacts, 3)),
        np.zeros((2, 2 * SIZE, 3)),
        np.zeros((2 * MEMORY + 3, 3 * contacts)),
        np.zeros((MEMORY + 1, SIZE * bodies)),
        np.zeros((2 * MEMORY + 1, MEMORY)),
    )


@jit_bare
def set_up(
    tables: Tables, k: int, memory: np.ndarray, work: Work, bodies: Bodies, s: Sweeping, tolerance: float
) -> int:
    """Linearise the stage that was evaluated last; its contacts, or -1 where it has none that can be swept."""
    problem, n_smooth = tables.problems[k], tables.problems[k].n_smooth
    for b in range(s.A.shape[0]):
        for i in range(SIZE):
            s.v[b, i] = 0.0
            for j in range(SIZE):
                s.A[b, i, j] = 0.0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        row = kind.first
        for instance in range(group.instance, group.instance + kind.count):
            offset = work.offset[instance]
            if offset != IDLE:
                for e in range(group.entry_0, group.entry_1):
                    entry = tables.entries[e]
                    i, j = _unknown(tables, g, row, entry.row), _unknown(tables, g, row, entry.unknown)
                    # What a contact force says about another body's velocity is left to the next linearisation.
                    if i < n_smooth and j < n_smooth and bodies.body[i] == bodies.body[j]:
                        s.A[bodies.body[i], bodies.slot[i], bodies.slot[j]] += work.outputs[offset + entry.output]
            row += kind.width
    for i in range(n_smooth):
        s.v[bodies.body[i], bodies.slot[i]] = -work.x[i].residual
    for b in range(s.A.shape[0]):
        if not _invert(s.A[b]):
            return -1
        _apply(s.A[b], s.v[b], s.free[b])
        for c in range(SIZE):
            s.v[b, c] = s.free[b, c]
    count = 0
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.law == group.law_1:
            continue
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            if work.offset[instance] != IDLE:
                added = _set_contact(
                    tables, g, row, work.offset[instance], element, n_smooth, memory, work, bodies, s, count, tolerance
                )
                if added < 0:
                    return -1
                count += added
            row += kind.width
            element += group.law_1 - group.law_0
    return count


@jit_inline
def _unknown(tables: Tables, g: int, row: int, local: int) -> int:
    place = tables.places[tables.groups[g].unknowns + local]
    return place.start + tables.dofs[row + place.column]


@jit_inline
def _set_contact(
    tables: Tables, g: int, row: int, offset: int, element: int, n_smooth: int, memory: np.ndarray, work: Work,
    bodies: Bodies, s: Sweeping, c: int, tolerance: float,
) -> int:  # fmt: skip
    """Rows of one contact; 1, or 0 if it does not take part, or -1 if it has a form that cannot be swept."""
    group, outputs = tables.groups[g], work.outputs
    normal = tables.laws[group.law]
    friction = tables.laws[group.law_1 - 1]
    rows = friction.rows if group.law_1 - group.law == 2 else 0
    if work.branch[element + group.law - group.law_0] == OFF:
        return 0 if rows == 0 or work.branch[element + group.law_1 - 1 - group.law_0] == OFF else -1
    if rows > 0 and work.branch[element + group.law_1 - 1 - group.law_0] == OFF:
        rows = 0
    who, info, dy, dr = s.who[c], s.info[c], s.local[0], s.local[1]
    who[FIRST], who[SECOND], who[ROWS] = -1, -1, rows
    for i in range(group.n_unknowns):
        j = _unknown(tables, g, row, i)
        if j < n_smooth:
            b = bodies.body[j]
            if who[FIRST] < 0:
                who[FIRST] = b
            elif b != who[FIRST] and who[SECOND] < 0:
                who[SECOND] = b
            elif b != who[FIRST] and b != who[SECOND]:
                return -1
    if who[FIRST] < 0:
        return -1
    for i in range(2 * SIZE):
        for r in range(3):
            dy[i, r], dr[i, r] = 0.0, 0.0
    x_N, x_F = _unknown(tables, g, row, normal.unknown), _unknown(tables, g, row, friction.unknown)
    for e in range(group.entry_0, group.entry_1):
        i, j = _unknown(tables, g, row, tables.entries[e].row), _unknown(tables, g, row, tables.entries[e].unknown)
        if i < n_smooth <= j:
            at = bodies.slot[i] + (0 if bodies.body[i] == who[FIRST] else SIZE)
            if j == x_N:
                dr[at, 0] += outputs[offset + tables.entries[e].output]
            elif x_F <= j < x_F + rows:
                dr[at, 1 + j - x_F] += outputs[offset + tables.entries[e].output]
    for part in range(1 + (1 if rows > 0 else 0)):
        law, first = (normal, 0) if part == 0 else (friction, 1)
        for e in range(law.y_0, law.y_end):
            slope = tables.entries[e]
            j = _unknown(tables, g, row, slope.unknown)
            if j >= n_smooth:
                return -1
            at = bodies.slot[j] + (0 if bodies.body[j] == who[FIRST] else SIZE)
            dy[at, first + slope.row] += outputs[offset + slope.output]
        slope_z = outputs[offset + tables.entries[law.y_end].output]
        place = tables.places[group.unknowns + law.unknown]
        who[HOME_N if part == 0 else HOME_F] = law.home + tables.dofs[row + place.column]
        info[SLOPE_N if part == 0 else SLOPE_F] = slope_z
        info[S_N if part == 0 else S_F] = _unit(dy, dr, first, 1 if part == 0 else rows, slope_z)
    info[MU], info[RADIUS] = 0.0, 0.0
    if rows > 0:
        info[RADIUS] = outputs[offset + friction.radius]
        for e in range(friction.z_end, friction.radius_end):
            if _unknown(tables, g, row, tables.entries[e].unknown) == x_N:
                info[MU] += outputs[offset + tables.entries[e].output] / info[SLOPE_N]
        whole = info[RADIUS]
        info[RADIUS] -= info[MU] * outputs[offset + normal.z]
        if info[RADIUS] < 1e-12 * abs(whole):
            info[RADIUS] = 0.0
    G, T, D = s.G[c], s.T[c], s.D[c]
    for r in range(1 + rows):
        unit, slope_z = (info[S_N], info[SLOPE_N]) if r == 0 else (info[S_F], info[SLOPE_F])
        if not unit > 0.0:
            return -1
        for i in range(2 * SIZE):
            G[i, r], T[r, i] = dy[i, r] / unit, 0.0
        for side in range(2):
            b = who[SECOND] if side else who[FIRST]
            if b >= 0:
                for i in range(SIZE):
                    for j in range(SIZE):
                        T[r, SIZE * side + i] -= s.A[b, i, j] * dr[SIZE * side + j, r] / slope_z
    for r in range(1 + rows):
        for q in range(1 + rows):
            D[r, q] = 0.0
            for i in range(2 * SIZE):
                D[r, q] += G[i, r] * T[q, i]
    info[D_N], info[D_F] = D[0, 0], 0.0
    for r in range(1, 1 + rows):
        total = 0.0
        for q in range(1, 1 + rows):
            total += abs(D[r, q])
        info[D_F] = max(info[D_F], total)
    if not info[D_N] > 0.0 or (rows > 0 and not info[D_F] > 0.0):
        return -1
    info[GOAL] = ENOUGH_GAP if info[S_N] < 0.5 * (info[S_F] if rows > 0 else 1.0) else ENOUGH
    s.u[c, 0], s.z_0[c, 0] = outputs[offset + normal.y] / info[S_N], outputs[offset + normal.z]
    for r in range(rows):
        s.u[c, 1 + r], s.z_0[c, 1 + r] = outputs[offset + friction.y + r] / info[S_F], outputs[offset + friction.z + r]
    for r in range(3):
        s.z_0[c, r] = s.z_0[c, r] if r <= rows else 0.0
        s.z[c, r] = s.z_0[c, r]
    rest = s.u[c, 0]  # the normal row if nothing moved
    for i in range(group.n_unknowns):
        j = _unknown(tables, g, row, i)
        if j < n_smooth:
            at = bodies.slot[j] + (0 if bodies.body[j] == who[FIRST] else SIZE)
            rest -= G[at, 0] * memory[bodies.home[j]]
    band = DEAD * tolerance / info[S_N]
    s.u[c, 0] -= min(max(rest, -band), band)
    at = tables.dofs[row + normal.column]
    who[MOVES] = 0 if normal.open_where >= 0 and memory[normal.open_where + at] > 0.0 else 1
    if who[MOVES] == 0:  # a contact that stays open: no multipliers
        for r in range(1 + rows):
            push(s, c, r, -s.z[c, r])
            s.z[c, r] = 0.0
    return 1


@jit_inline
def _unit(dy: np.ndarray, dr: np.ndarray, first: int, rows: int, slope: float) -> float:
    """dy/dx in units of dr/dz: 1 for velocities, dt or so for gaps."""
    y, r = 0.0, 0.0
    for i in range(2 * SIZE):
        for a in range(first, first + rows):
            y += dy[i, a] ** 2
            r += (dr[i, a] / slope) ** 2
    return sqrt(y / r) if r > 0.0 else 0.0


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


@jit_inline
def _apply(A: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    for i in range(SIZE):
        t = 0.0
        for j in range(SIZE):
            t += A[i, j] * x[j]
        out[i] = t


@jit_inline
def push(s: Sweeping, c: int, r: int, d: float) -> None:
    """Velocities for a change d of one multiplier."""
    a, b = s.who[c, FIRST], s.who[c, SECOND]
    for i in range(SIZE):
        s.v[a, i] += d * s.T[c, r, i]
    if b >= 0:
        for i in range(SIZE):
            s.v[b, i] += d * s.T[c, r, SIZE + i]


@jit_bare
def take_step(s: Sweeping, count: int, bodies: Bodies, n_smooth: int, memory: np.ndarray) -> None:
    """What was found goes to the memory."""
    for i in range(n_smooth):
        memory[bodies.home[i]] += s.v[bodies.body[i], bodies.slot[i]]
    for c in range(count):
        memory[s.who[c, HOME_N]] += (s.z[c, 0] - s.z_0[c, 0]) / s.info[c, SLOPE_N]
        for r in range(s.who[c, ROWS]):
            memory[s.who[c, HOME_F] + r] += (s.z[c, 1 + r] - s.z_0[c, 1 + r]) / s.info[c, SLOPE_F]


@jit_bare
def respond(s: Sweeping, count: int) -> None:
    """Velocities of the multipliers z."""
    for b in range(s.v.shape[0]):
        for i in range(SIZE):
            s.v[b, i] = s.free[b, i]
    for c in range(count):
        for r in range(1 + s.who[c, ROWS]):
            push(s, c, r, s.z[c, r] - s.z_0[c, r])


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

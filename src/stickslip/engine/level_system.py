"""The linearised stage of free bodies as laws, forces and one block per body: what `body_levels` solves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.gauss_seidel import close_all
from stickslip.engine.linearise import keep_unknowns
from stickslip.engine.local import ROUNDED
from stickslip.engine.tables import INDEX, Tables
from stickslip.engine.work import IDLE, Work
from stickslip.jit import jit_bare, records
from stickslip.nonsmooth.cones import BALL, NORMAL, OFF
from stickslip.nonsmooth.graph import SIZE

MORE = -2  # than two bodies of an instance

# A law that applies. Its multipliers are the unknowns from `first` on, its rows those from `row` on; bodies `a` and `b` or -1;
# `home` tells levels apart; `head`: the law that it forms an element with, itself or the normal one that its radius follows.
FOUND = np.dtype(
    [(name, np.int64) for name in ("first", "size", "kind", "row", "a", "b", "head", "fixed")]
    + [(name, np.float64) for name in ("slope", "mu", "radius")]
)


class BodyVectors(NamedTuple):
    """Smooth unknowns of a stage as bodies: body and place inside of it, by unknown; how many bodies and vectors."""

    body: np.ndarray
    place: np.ndarray
    bodies: int
    vectors: int


def shape_of(tables: Tables, k: int) -> BodyVectors | None:
    """The bodies of a stage; None if its unknowns are not those of bodies with up to six velocities."""
    stage = tables.problems[k]
    n, order = int(stage["n_smooth"]), int(stage["order"])
    vectors = tables.segments[int(stage["segment_0"]) : int(stage["segment"])]
    if n == 0:
        return None
    names, body = np.unique(tables.nodes[order : order + n], return_inverse=True)
    vector = np.repeat(np.arange(len(vectors)), vectors["length"])
    # Unknowns of a body in one vector lie side by side.
    first = np.concatenate([[True], (body[1:] != body[:-1]) | (vector[1:] != vector[:-1])])
    inside = np.arange(n) - np.maximum.accumulate(np.where(first, np.arange(n), 0))
    if inside.max() >= SIZE or first.sum() != len(names) * len(vectors):
        return None
    return BodyVectors(body.astype(INDEX), (SIZE * vector + inside).astype(INDEX), len(names), len(vectors))


@jit_bare
def _count(tables: Tables, k: int, memory: np.ndarray, work: Work) -> tuple[int, int]:
    """Prepare all laws as closed ones; laws and rows that apply, or -1 if there are laws of another form."""
    laws, rows = 0, 0
    if not close_all(tables, k, memory, work):
        return -1, 0
    keep_unknowns(tables, k, work)
    stage = tables.problems[k]
    for g in range(stage.group_0, stage.group_1):
        group = tables.groups[g]
        if group.law_0 < group.law:
            return -1, 0
        count = tables.kinds[group.kind].count
        for b in range(group.law, group.law_1):
            if tables.laws[b].kind != NORMAL and tables.laws[b].kind != BALL:
                return -1, 0
            laws, rows = laws + count, rows + count * tables.laws[b].rows
    return laws, rows


@jit_bare
def _two_bodies(tables: Tables, g: int, at: int, n: int, work: Work, body: np.ndarray) -> tuple[int, int]:
    """The bodies of an instance, -1 for none, or MORE; its unknowns go to the workspace."""
    group, a, b = tables.groups[g], -1, -1
    for i in range(group.n_unknowns):
        local = tables.places[group.unknowns + i]
        work.local[i] = local.start + tables.dofs[at + local.column]
    for i in range(group.n_unknowns):
        if work.local[i] < n:
            own = body[work.local[i]]
            if a < 0 or a == own:
                a = own
            elif b < 0 or b == own:
                b = own
            else:
                return MORE, MORE
    return a, b


@jit_bare
def _set_radius(
    tables: Tables, c: int, offset: int, begin: int, found: int, work: Work, laws: np.ndarray, values: np.ndarray
) -> bool:
    """The radius of a law of friction, and the normal law that it follows, among those of its instance from `begin` on; False
    if it follows two.
    """
    law, out, outputs = tables.laws[c], laws[found], work.outputs
    out.radius = outputs[offset + law.radius]
    for e in range(law.z_end, law.radius_end):
        j, value = work.local[tables.entries[e].unknown], outputs[offset + tables.entries[e].output]
        for other in range(begin, found):
            if laws[other].first == j and laws[other].kind == NORMAL:
                if laws[other].fixed == 1:  # a contact that is open whatever happens
                    out.radius -= value * values[1, laws[other].row] / laws[other].slope
                else:
                    if out.head != found:
                        return False
                    out.head, out.mu = other, value / laws[other].slope
                    out.radius -= out.mu * values[1, laws[other].row]
    if abs(out.radius) <= ROUNDED * abs(outputs[offset + law.radius]):
        out.radius = 0.0
    if out.head == found and out.radius <= 0.0:
        out.fixed = 1
    return True


@jit_bare
def _collect(
    tables: Tables,
    k: int,
    work: Work,
    body: np.ndarray,
    place: np.ndarray,
    laws: np.ndarray,
    values: np.ndarray,
    D: np.ndarray,
    G: np.ndarray,
    F: np.ndarray,
    row_of: np.ndarray,
) -> tuple[int, int]:
    """Laws, y and z of their rows (`values`), D, G and F; how many laws and rows, or -1 if one has another form."""
    stage, x, outputs, found, rows = tables.problems[k], work.x, work.outputs, 0, 0
    n = stage.n_smooth
    for g in range(stage.group_0, stage.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        at, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            offset, begin = work.offset[instance], found
            if offset == IDLE:
                at += kind.width
                element += group.law_1 - group.law_0
                continue
            a, b = _two_bodies(tables, g, at, n, work, body)
            if a == MORE:
                return -1, 0
            for c in range(group.law, group.law_1):
                law = tables.laws[c]
                first = work.local[law.unknown]
                if work.branch[element + c - group.law_0] == OFF:
                    continue
                out = laws[found]
                out.first, out.size, out.kind, out.row, out.a, out.b = first, law.rows, law.kind, rows, a, b
                out.head, out.mu, out.radius = found, 0.0, 0.0
                out.fixed = 1 if x[first].column < 0 else 0
                out.slope = outputs[offset + tables.entries[law.y_end].output]
                for i in range(law.rows):
                    row_of[first + i] = rows + i
                    values[0, rows + i] = outputs[offset + law.y + i]
                    values[1, rows + i] = outputs[offset + law.z + i]
                for e in range(law.y_0, law.y_end):
                    entry = tables.entries[e]
                    i = work.local[entry.unknown]
                    if i >= n:
                        if outputs[offset + entry.output] != 0.0:
                            return -1, 0
                        continue
                    side = 0 if body[i] == a else 1
                    G[rows + entry.row, side, place[i]] += outputs[offset + entry.output]
                if law.kind != NORMAL and not _set_radius(tables, c, offset, begin, found, work, laws, values):
                    return -1, 0
                rows += law.rows
                found += 1
            for e in range(group.entry_0, group.entry_1):
                entry = tables.entries[e]
                i, j = work.local[entry.row], work.local[entry.unknown]
                value = outputs[offset + entry.output]
                if j < n:
                    if body[i] == body[j]:
                        D[body[i], place[i], place[j]] += value
                elif row_of[j] >= 0:
                    F[row_of[j], 0 if body[i] == a else 1, place[i]] += value
            at += kind.width
            element += group.law_1 - group.law_0
    return found, rows


class LevelSystem(NamedTuple):
    """A linearised stage in its bodies: y of its rows at z, and (1) of `body_levels`. By row, where nothing else is said.

    A row has two bodies; `there` says which of them are none, and `bodies` has the first body in their place.
    """

    laws: np.ndarray  # by law, see FOUND
    home: np.ndarray  # by law: its level
    unknown: np.ndarray  # of the stage
    slope: np.ndarray
    fixed: np.ndarray
    bodies: np.ndarray
    there: np.ndarray
    y: np.ndarray
    z: np.ndarray
    GD: np.ndarray  # G D^-1
    F: np.ndarray
    D: np.ndarray  # by body
    inverse: np.ndarray

    def add_forces(self, load: np.ndarray, rows: np.ndarray, change: np.ndarray) -> None:
        """Add the forces of multipliers that change to the loads of bodies."""
        forces, there = self.F[rows] * (change / self.slope[rows])[:, None, None], self.there[rows]
        np.add.at(load, self.bodies[rows][there], forces[there])


def level_system(tables: Tables, k: int, memory: np.ndarray, work: Work, shape: BodyVectors) -> LevelSystem | None:
    """The stage at the values that were last evaluated, with all laws closed; None if it has another form."""
    stage = tables.problems[k]
    n_laws, n_rows = _count(tables, k, memory, work)
    if n_laws <= 0:
        return None
    wide, count = SIZE * shape.vectors, shape.bodies
    laws, values = records(np.zeros(n_laws, FOUND)), np.zeros((2, n_rows))
    D, G, F = np.zeros((count, wide, wide)), np.zeros((n_rows, 2, wide)), np.zeros((n_rows, 2, wide))
    row_of = np.full(int(stage["n"]), -1)
    n_laws, n_rows = _collect(tables, k, work, shape.body, shape.place, laws, values, D, G, F, row_of)
    if n_laws <= 0:
        return None
    laws, (y, z), G, F = laws[:n_laws], values[:, :n_rows].copy(), G[:n_rows], F[:n_rows]
    i, j = np.nonzero(np.abs(D).sum(axis=2) == 0.0)  # places of smaller bodies
    D[i, j, j] = 1.0
    try:
        inverse = np.linalg.inv(D)
    except np.linalg.LinAlgError:
        return None
    of = np.repeat(np.arange(n_laws), laws["size"])
    bodies = np.column_stack([laws["a"], laws["b"]])[of]
    there = bodies >= 0
    bodies = np.where(there, bodies, 0)
    segments = tables.segments[int(stage["segment_0"]) : int(stage["segment_1"])]
    return LevelSystem(
        laws=laws,
        home=np.searchsorted(segments["first"] + segments["length"], laws["first"], "right"),
        unknown=np.repeat(laws["first"] - laws["row"], laws["size"]) + np.arange(n_rows),
        slope=laws["slope"][of],
        fixed=laws["fixed"][of] == 1,
        bodies=bodies,
        there=there,
        y=y,
        z=z,
        GD=np.einsum("rsi,rsij->rsj", G, inverse[bodies]),
        F=F,
        D=D,
        inverse=inverse,
    )

"""The linearised stage, level by level, on the graph of bodies: where many contacts of free bodies share a stage.

Laws whose multipliers lie in one field are a level: positions, velocities and accelerations of generalized-alpha, the stages of
a Runge-Kutta scheme. A level alone is an ordinary contact problem, y = q + W z. Forces of one contact move the unknowns x of
its two bodies only, apart from what their motion changes in the forces of others (of the order of dt), so

    W z = G D^-1 F z,    D: the Jacobian of a body's own rows, F: forces of z on them, G = dy/dx                             (1)

A force acts on all vectors of unknowns of a body alike, up to factors e of the scheme: F = e x F_0. So W = G_0 M_0^-1 F_0 with
six velocities per body, M_0 the block of D for one of the vectors, G_0 = G D^-1 e M_0. That is what `nonsmooth.proximal`
solves in milliseconds, where the dense W of all levels takes hundreds. Levels are solved in turn, a few rounds, each with
the exact (1) of the others. What (1) leaves out, the next linearisation of the stage corrects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.gauss_seidel import close_all
from stickslip.engine.linearise import keep_unknowns
from stickslip.engine.tables import INDEX, Tables
from stickslip.engine.work import IDLE, Work
from stickslip.jit import jit_bare, records
from stickslip.nonsmooth.cones import BALL, NORMAL, OFF
from stickslip.nonsmooth.graph import SIZE, BodyGraph, graph_of
from stickslip.nonsmooth.laws import MOST_ROWS, Laws
from stickslip.nonsmooth.measure import Scales, error_of, scratch
from stickslip.nonsmooth.newton import CAREFUL, OUTER, newton
from stickslip.nonsmooth.operator import Operator, unknowns_of, velocities
from stickslip.nonsmooth.problem import scales_of
from stickslip.nonsmooth.proximal import robust

ROUNDS = 8  # over all levels
TRIES = 4  # of ADMM and Newton's method, at one level
STIFF = CAREFUL._replace(kappa=1e4)
EXACT, ROUGH = 1e-12, 1e-6  # relative residuals of a level: where rounding ends, and what is worth a step

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


class Level(NamedTuple):
    """Laws of one level as an operator of bodies; which rows they are, and which unknowns of the stage."""

    rows: np.ndarray
    unknown: np.ndarray
    op: Operator
    laws: Laws
    diagonal: np.ndarray


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
            for i in range(group.n_unknowns):
                local = tables.places[group.unknowns + i]
                work.local[i] = local.start + tables.dofs[at + local.column]
            a, b = -1, -1
            for i in range(group.n_unknowns):
                if work.local[i] < n:
                    own = body[work.local[i]]
                    if a < 0 or a == own:
                        a = own
                    elif b < 0 or b == own:
                        b = own
                    else:
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
                if law.kind != NORMAL:
                    out.radius = outputs[offset + law.radius]
                    for e in range(law.z_end, law.radius_end):
                        j, value = work.local[tables.entries[e].unknown], outputs[offset + tables.entries[e].output]
                        for other in range(begin, found):
                            if laws[other].first == j and laws[other].kind == NORMAL:
                                if laws[other].fixed == 1:  # a contact that is open whatever happens
                                    out.radius -= value * values[1, laws[other].row] / laws[other].slope
                                else:
                                    if out.head != found:
                                        return -1, 0
                                    out.head, out.mu = other, value / laws[other].slope
                                    out.radius -= out.mu * values[1, laws[other].row]
                    if abs(out.radius) <= 1e-12 * abs(outputs[offset + law.radius]):
                        out.radius = 0.0
                    if out.head == found and out.radius <= 0.0:
                        out.fixed = 1
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


class BodyLevels:
    """Solves linearised stages of one rescue; graphs are kept from one to the next."""

    def __init__(self, tables: Tables, k: int):
        self.shape = shape_of(tables, k)
        self.unsolved: Level | None = None  # of the last step
        self._graphs: dict[bytes, BodyGraph] = {}

    def step(self, tables: Tables, k: int, memory: np.ndarray, work: Work, accuracy: float, enough: float) -> float:
        """Write the step that solves the linearised stage to the workspace; the largest relative residual of a level.

        accuracy: of what rows measure; a level that is disturbed by less than `enough` is not solved again. Not a number if the
        stage has another form.
        """
        if self.shape is None:
            return np.nan
        shape, stage = self.shape, tables.problems[k]
        n_laws, n_rows = _count(tables, k, memory, work)
        if n_laws <= 0:
            return np.nan
        wide, count = SIZE * shape.vectors, shape.bodies
        laws, values = records(np.zeros(n_laws, FOUND)), np.zeros((2, n_rows))
        D, G, F = np.zeros((count, wide, wide)), np.zeros((n_rows, 2, wide)), np.zeros((n_rows, 2, wide))
        row_of = np.full(int(stage["n"]), -1)
        n_laws, n_rows = _collect(tables, k, work, shape.body, shape.place, laws, values, D, G, F, row_of)
        if n_laws <= 0:
            return np.nan
        laws, (y, z), G, F = laws[:n_laws], values[:, :n_rows].copy(), G[:n_rows], F[:n_rows]
        padding = np.abs(D).sum(axis=2) == 0.0
        i, j = np.nonzero(padding)
        D[i, j, j] = 1.0
        try:
            inverse = np.linalg.inv(D)
        except np.linalg.LinAlgError:
            return np.nan
        of = np.repeat(np.arange(n_laws), laws["size"])
        slope, bodies = laws["slope"][of], np.column_stack([laws["a"], laws["b"]])[of]
        there = bodies >= 0
        bodies = np.where(there, bodies, 0)
        GD = np.einsum("rsi,rsij->rsj", G, inverse[bodies])
        load = np.zeros((count, wide))
        load[shape.body, shape.place] = work.x["residual"][: shape.body.size]
        start, fixed = z.copy(), laws["fixed"][of] == 1
        z[fixed] = 0.0

        def add(some: np.ndarray, change: np.ndarray) -> None:
            """The load of multipliers that change."""
            forces = F[some] * (change / slope[some])[:, None, None]
            np.add.at(load, bodies[some][there[some]], forces[there[some]])

        add(np.flatnonzero(fixed), -start[fixed])
        segments = tables.segments[int(stage["segment_0"]) : int(stage["segment_1"])]
        segment = np.searchsorted(segments["first"] + segments["length"], laws["first"], "right")
        unknown = np.repeat(laws["first"] - laws["row"], laws["size"]) + np.arange(n_rows)
        levels = self._levels(laws, segment, unknown, slope, bodies, there, GD, F, D)
        worst, self.unsolved = np.zeros(len(levels)), None
        for turn in range(ROUNDS):
            moved = False
            for number, level in enumerate(levels):
                if worst[number] > ROUGH:  # it takes most of the time, and the others hardly change it
                    continue
                rows = level.rows
                other = np.where(there[rows][..., None], load[bodies[rows]], 0.0)
                now, own = y[rows] - np.einsum("rsj,rsj->r", GD[rows], other), z[rows]
                found, error = _solve_level(level, own, now, accuracy, 0.0 if turn == 0 else enough)
                if found is not own:
                    worst[number], moved = error, True
                    self.unsolved = level if error > ROUGH else self.unsolved
                    if error < 1.0:
                        add(rows, found - own)
                        z[rows] = found
            if not moved:
                break
        if not (np.isfinite(z).all() and np.isfinite(load).all()):
            return np.nan
        x = work.x["step"]
        x[unknown] = (start - z) / slope
        x[: shape.body.size] = np.einsum("bij,bj->bi", inverse, load)[shape.body, shape.place]
        return float(worst.max(initial=0.0))

    def _levels(
        self,
        laws: np.ndarray,
        segment: np.ndarray,
        unknown: np.ndarray,
        slope: np.ndarray,
        bodies: np.ndarray,
        there: np.ndarray,
        GD: np.ndarray,
        F: np.ndarray,
        D: np.ndarray,
    ) -> list[Level]:
        """The levels, in the order of the stage."""
        free = np.flatnonzero(laws["fixed"] == 0)
        homes = segment[laws["head"][free]]
        out, count = {}, D.shape[0]
        by: dict[int, np.ndarray] = {}
        vectors = D.shape[1] // SIZE
        for home in dict.fromkeys(homes.tolist()):
            mine = free[homes == home]
            mine = mine[np.lexsort((mine, laws["head"][mine]))]
            some, size = laws[mine], laws["size"][mine]
            rows = np.concatenate([np.arange(a, a + b) for a, b in zip(some["row"], size, strict=True)])
            start = np.cumsum(size) - size
            heads = some["head"] == mine
            element = np.append(np.flatnonzero(heads), mine.size)
            head = np.cumsum(heads) - 1  # element of each law
            normal = np.where(heads, -1, start[element[head]])
            per = np.add.reduceat(size, element[:-1])
            if per.max() > MOST_ROWS:
                continue
            table = Laws(
                some["kind"].astype(np.int64), start.astype(np.int64), size.astype(np.int64), normal.astype(np.int64),
                some["mu"].copy(), np.maximum(some["radius"], 0.0), element.astype(np.int64),
            )  # fmt: skip
            forces = F[rows].reshape(rows.size, 2, vectors, SIZE)
            sizes = np.einsum("rsvi,rsvi->v", forces, forces)
            main = int(sizes.argmax())
            if not sizes[main] > 0.0:
                continue
            e = np.einsum("rsvi,rsi->v", forces, forces[:, :, main]) / sizes[main]
            M = np.ascontiguousarray(D[:, SIZE * main : SIZE * (main + 1), SIZE * main : SIZE * (main + 1)])
            G_0 = np.einsum("rsvi,v->rsi", GD[rows].reshape(rows.size, 2, vectors, SIZE), e)
            G_0 = np.einsum("rsi,rsij->rsj", G_0, M[bodies[rows]])
            F_0 = -forces[:, :, main] / slope[rows][:, None, None]
            a, b = some["a"][heads].astype(np.int64), some["b"][heads].astype(np.int64)
            inverse = np.linalg.inv(M)
            none = np.zeros(0, np.int64)
            G_a, G_b, F_a, F_b = (np.ascontiguousarray(each[:, side]) for each in (G_0, F_0) for side in (0, 1))
            by[home] = e
            op = Operator(
                1, M, inverse, np.zeros(SIZE * count), a, b, G_a, G_b, F_a, F_b, self._graph(count, a, b), none, none,
                np.zeros(0), np.zeros(rows.size), np.zeros((0, 0)), none,
            )  # fmt: skip
            diagonal = np.einsum("rsi,rsij,rsj->r", G_0, inverse[bodies[rows]], F_0 * there[rows][..., None])
            out[home] = Level(rows, unknown[rows], op, table, diagonal)
        return [
            out[a] for a in _in_order({a: GD[level.rows].reshape(-1, vectors, SIZE) for a, level in out.items()}, by)
        ]

    def _graph(self, count: int, a: np.ndarray, b: np.ndarray) -> BodyGraph:
        key = a.tobytes() + b.tobytes()
        if key not in self._graphs:
            self._graphs[key] = graph_of(count, a, b)
        return self._graphs[key]


def _in_order(reached: dict[int, np.ndarray], by: dict[int, np.ndarray]) -> list[int]:
    """Levels, those first that depend least on the others: velocities, then accelerations, which positions see."""
    sizes = {a: {b: np.abs(np.einsum("rvi,v->ri", G, e)).sum() for b, e in by.items()} for a, G in reached.items()}
    left, order = list(by), []
    while left:
        depends = {a: max((sizes[a][b] / sizes[a][a] for b in left if b != a), default=0.0) for a in left}
        order.append(min(left, key=depends.__getitem__))
        left.remove(order[-1])
    return order


def _solve_level(
    level: Level, z: np.ndarray, y: np.ndarray, accuracy: float, enough: float
) -> tuple[np.ndarray, float]:
    """Multipliers of a level that has the values y at z, z itself if its residual is `enough`; the relative residual."""
    op, laws = level.op, level.laws
    work = scratch(z.size, op.f.size, laws.kind.size)
    op.offset[:] = 0.0
    unknowns_of(op, laws, z, work.x, work.work)
    velocities(op, laws, work.x, work.u)
    op.offset[:] = y - work.u
    scales: Scales = scales_of(laws, level.diagonal, op.offset, np.ones(z.size), 0.0)
    tol = min(max(accuracy / scales.speed, EXACT), ROUGH)
    error = float(error_of(op, laws, scales, z, work))
    if error <= max(tol, enough / scales.speed):
        return z, error
    r = z.copy()
    left, _, _ = robust(op, laws, scales, r, tol, TRIES, work)
    for begin in (r, np.zeros(z.size)):
        if left <= tol:
            break
        other = begin.copy()
        again, _ = newton(op, laws, scales, other, tol, STIFF, OUTER, work)
        if again < left:
            r, left = other, again
    return r, float(left)

"""The linearised stage, level by level, on the graph of bodies: where many contacts of free bodies share a stage.

Laws whose multipliers lie in one field are a level: positions, velocities and accelerations of generalized-alpha, the stages of
a Runge-Kutta scheme. A level alone is an ordinary contact problem, y = q + W z. Forces of one contact move the unknowns x of
its two bodies only, apart from what their motion changes in the forces of others (of the order of dt), so

    W z = G D^-1 F z,    D: the Jacobian of a body's own rows, F: forces of z on them, G = dy/dx                             (1)

A force acts on all vectors of unknowns of a body alike, up to factors e of the scheme: F = e x F_0. So W = G_0 M_0^-1 F_0 with
six velocities per body, M_0 the block of D for one of the vectors, G_0 = G D^-1 e M_0. That is what `nonsmooth.proximal`
solves, much faster than the dense W of all levels. Levels are solved in turn, a few rounds, each with the exact (1) of the
others. What (1) leaves out, the next linearisation of the stage corrects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.level_system import LevelSystem, level_system, shape_of
from stickslip.engine.outer import ROUGH, relative
from stickslip.engine.tables import Tables
from stickslip.engine.work import Work
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


class Level(NamedTuple):
    """Laws of one level as an operator of bodies; which rows they are, and which unknowns of the stage."""

    rows: np.ndarray
    unknown: np.ndarray
    op: Operator
    laws: Laws
    diagonal: np.ndarray
    shares: np.ndarray  # e, by vector of unknowns


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
        shape = self.shape
        system = None if shape is None else level_system(tables, k, memory, work, shape)
        if shape is None or system is None:
            return np.nan
        load, z, fixed = np.zeros(system.D.shape[:2]), system.z.copy(), system.fixed
        load[shape.body, shape.place] = work.x["residual"][: shape.body.size]
        z[fixed] = 0.0
        system.add_forces(load, np.flatnonzero(fixed), -system.z[fixed])
        worst = self._solve_in_turn(system, self._levels(system), load, z, accuracy, enough)
        if not (np.isfinite(z).all() and np.isfinite(load).all()):
            return np.nan
        x = work.x["step"]
        x[system.unknown] = (system.z - z) / system.slope
        x[: shape.body.size] = np.einsum("bij,bj->bi", system.inverse, load)[shape.body, shape.place]
        return worst

    def _solve_in_turn(
        self,
        system: LevelSystem,
        levels: list[Level],
        load: np.ndarray,
        z: np.ndarray,
        accuracy: float,
        enough: float,
    ) -> float:
        """Change the multipliers z and the loads of bodies, level by level; the largest relative residual."""
        worst, self.unsolved = np.zeros(len(levels)), None
        for turn in range(ROUNDS):
            moved = False
            for number, level in enumerate(levels):
                if worst[number] > ROUGH:  # it takes most of the time, and the others hardly change it
                    continue
                rows = level.rows
                loads = np.where(system.there[rows][..., None], load[system.bodies[rows]], 0.0)
                now, own = system.y[rows] - np.einsum("rsj,rsj->r", system.GD[rows], loads), z[rows]
                found, error = _solve_level(level, own, now, accuracy, 0.0 if turn == 0 else enough)
                if found is not own:
                    worst[number], moved = error, True
                    self.unsolved = level if error > ROUGH else self.unsolved
                    if error < 1.0:
                        system.add_forces(load, rows, found - own)
                        z[rows] = found
            if not moved:
                break
        return float(worst.max(initial=0.0))

    def _levels(self, system: LevelSystem) -> list[Level]:
        """The levels, in the order in which they are solved."""
        laws, out = system.laws, dict[int, Level]()
        free = np.flatnonzero(laws["fixed"] == 0)
        homes = system.home[laws["head"][free]]
        for home in dict.fromkeys(homes.tolist()):
            mine = free[homes == home]
            level = self._level(system, mine[np.lexsort((mine, laws["head"][mine]))])
            if level is not None:
                out[home] = level
        shape = (-1, system.D.shape[1] // SIZE, SIZE)
        reached = {home: system.GD[level.rows].reshape(shape) for home, level in out.items()}
        return [out[home] for home in _in_order(reached, {home: level.shares for home, level in out.items()})]

    def _level(self, system: LevelSystem, mine: np.ndarray) -> Level | None:
        """The level of these laws, which stand in the order of elements; None if it has no forces, or too large elements."""
        some, size = system.laws[mine], system.laws["size"][mine]
        heads = some["head"] == mine
        table = _law_table(some, heads)
        if np.add.reduceat(size, table.element[:-1]).max() > MOST_ROWS:
            return None
        rows = np.concatenate([np.arange(a, a + b) for a, b in zip(some["row"], size, strict=True)])
        count, vectors = system.D.shape[0], system.D.shape[1] // SIZE
        forces = system.F[rows].reshape(rows.size, 2, vectors, SIZE)
        sizes = np.einsum("rsvi,rsvi->v", forces, forces)
        main = int(sizes.argmax())
        if not sizes[main] > 0.0:
            return None
        e = np.einsum("rsvi,rsi->v", forces, forces[:, :, main]) / sizes[main]
        own, bodies = slice(SIZE * main, SIZE * (main + 1)), system.bodies[rows]
        M = np.ascontiguousarray(system.D[:, own, own])
        inverse = np.linalg.inv(M)
        G_0 = np.einsum("rsvi,v->rsi", system.GD[rows].reshape(rows.size, 2, vectors, SIZE), e)
        G_0 = np.einsum("rsi,rsij->rsj", G_0, M[bodies])
        F_0 = -forces[:, :, main] / system.slope[rows][:, None, None]
        G_a, G_b, F_a, F_b = (np.ascontiguousarray(each[:, side]) for each in (G_0, F_0) for side in (0, 1))
        a, b = some["a"][heads].astype(np.int64), some["b"][heads].astype(np.int64)
        none = np.zeros(0, np.int64)
        op = Operator(
            1, M, inverse, np.zeros(SIZE * count), a, b, G_a, G_b, F_a, F_b, self._graph(count, a, b), none, none,
            np.zeros(0), np.zeros(rows.size), np.zeros((0, 0)), none,
        )  # fmt: skip
        diagonal = np.einsum("rsi,rsij,rsj->r", G_0, inverse[bodies], F_0 * system.there[rows][..., None])
        return Level(rows, system.unknown[rows], op, table, diagonal, e)

    def _graph(self, count: int, a: np.ndarray, b: np.ndarray) -> BodyGraph:
        key = a.tobytes() + b.tobytes()
        if key not in self._graphs:
            self._graphs[key] = graph_of(count, a, b)
        return self._graphs[key]


def _law_table(some: np.ndarray, heads: np.ndarray) -> Laws:
    """Laws that were found, each behind the one that heads its element, as a solver sees them."""
    size = some["size"].astype(np.int64)
    start = np.cumsum(size) - size
    element = np.append(np.flatnonzero(heads), heads.size)
    of = np.cumsum(heads) - 1  # element of each law
    return Laws(
        kind=some["kind"].astype(np.int64),
        start=start,
        size=size,
        normal=np.where(heads, -1, start[element[of]]).astype(np.int64),
        mu=some["mu"].copy(),
        radius=np.maximum(some["radius"], 0.0),
        element=element.astype(np.int64),
    )


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
    tol = relative(accuracy, scales.speed)
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

"""Many contacts at once: what a run does with a stage before Newton's method is asked.

The loop evaluates a stage and stops. A crowd linearises it, solves that by sweeps, evaluates it again, and so on until no gap
and no slip changes any more. The result goes back to the loop, which accepts it with a residual below the tolerance. Where
sweeps hit their cap, the robust solver of `nonsmooth` finds another start, body by body, and sweeps go on from there, then
Newton's method. Where that does not help either, the stage goes to the attempts of all other runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.engine.contact_rows import (
    DEAD,
    ENOUGH_GAP,
    FIRST,
    GOAL,
    MU,
    RADIUS,
    ROWS,
    SECOND,
    SIZE,
    Bodies,
    Sweeping,
    respond,
    set_up,
    sweeping,
    take_step,
    worst_gap,
)
from stickslip.engine.contact_sweeps import accelerated
from stickslip.engine.local import evaluate_stage
from stickslip.engine.program import Program
from stickslip.engine.rescue import Unknowns
from stickslip.engine.tables import Tables
from stickslip.engine.work import SOLVE_STAGE, Options, Work
from stickslip.jit import jit_bare
from stickslip.native.call import call_apart
from stickslip.nonsmooth.cones import BALL, NORMAL
from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.problem import Problem
from stickslip.nonsmooth.solvers import SOLVERS

FEW = 40  # contacts, below which Newton's method is faster
CAP = 1500  # sweeps of one solve
ROBUST = 2  # linearisations that the robust solver starts after that
NEWTON = 12  # iterations of Newton's method after that
LINEARISATIONS = 12  # of one stage


@jit_bare
def newton_stage(
    tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, guess: float, counts: np.ndarray,
    sizes: np.ndarray,
) -> bool:  # fmt: skip
    """Newton's method for one stage alone; see `newton.solve_stage`."""
    return call_apart(work.apart[SOLVE_STAGE], (tables, k, memory, work, options, guess, counts, sizes))


class Crowd:
    """Sweeps for the stages of a program that have many contacts of free bodies."""

    def __init__(self, program: Program):
        self._bodies = [_bodies_of(program, k) for k in range(len(program.tables.problems))]
        found = [each for each in self._bodies if each is not None]
        count = max((int(each.body.max(initial=-1)) + 1 for each in found), default=0)
        contacts = sum(kind.capacity for kind in program.numbering.kinds if kind.type.n["N"])
        self._room: Sweeping | None = sweeping(count, contacts) if found else None
        self._where, self._tried, self._start = (-1, -1), 0, np.zeros(0)
        self.after_cap: dict[str, int] = {}  # what solved the stages that sweeps did not
        self.stages, self.linearisations, self.sweeps, self.capped = 0, 0, 0, 0

    def solve(
        self, tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, where: tuple[int, int]
    ) -> bool:
        """Solve stage k, which was just evaluated; False where sweeps do not help, and the memory is as it was.

        where: step and instruction, which tell a new stage from one that the loop did not accept.
        """
        bodies, room = self._bodies[k], self._room
        if bodies is None or room is None:
            return False
        fresh = where != self._where
        if fresh:
            self._where, self._tried, self._start = where, 0, Unknowns(tables, k, memory).get()
        while self._tried < LINEARISATIONS:
            self._tried += 1
            count = int(set_up(tables, k, memory, work, bodies, room, options.tolerance))
            if count < 0:
                break
            done, residual = accelerated(room, count, options.tolerance, CAP)
            self.linearisations, self.sweeps = self.linearisations + 1, self.sweeps + done
            take_step(room, count, bodies, len(bodies.body), memory)
            if not residual < options.tolerance:
                self.capped += 1
                return self._after_cap(tables, k, memory, work, options, np.isfinite(residual))
            if not self._has_gaps(room, count):  # a stage of velocities alone
                return self._count(fresh)
            evaluate_stage(tables, k, memory, work, options, False)
            if worst_gap(tables, k, work) < (DEAD + ENOUGH_GAP) * options.tolerance:
                return self._count(fresh)
        Unknowns(tables, k, memory).set(self._start)
        return False

    def _count(self, fresh: bool) -> bool:
        self.stages += fresh
        return True

    def _after_cap(
        self, tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, finite: bool
    ) -> bool:
        """Sweeps from where the robust solver leads, then Newton's method from there."""
        counts, sizes = np.zeros(len(tables.problems), np.int64), np.zeros(len(tables.problems))
        short, unknowns = options._replace(attempt_0=0, attempt_1=1, iterations=NEWTON), Unknowns(tables, k, memory)
        bodies, room = self._bodies[k], self._room
        assert bodies is not None
        assert room is not None
        if not finite:
            unknowns.set(self._start)
        for _ in range(ROBUST):
            evaluate_stage(tables, k, memory, work, options, True)
            count = int(set_up(tables, k, memory, work, bodies, room, options.tolerance))
            if count < 0:
                break
            self._find_start(room, count, options.tolerance)
            done, residual = accelerated(room, count, options.tolerance, CAP)
            self.sweeps += done
            take_step(room, count, bodies, len(bodies.body), memory)
            if residual < options.tolerance:
                evaluate_stage(tables, k, memory, work, options, False)
                if worst_gap(tables, k, work) < (DEAD + ENOUGH_GAP) * options.tolerance or not self._has_gaps(
                    room, count
                ):
                    return self._note("robust")
        if newton_stage(tables, k, memory, work, short, 1.0, counts, sizes):
            work.solved_by[0] -= 1  # the loop will count it again
            return self._note("robust and newton")
        unknowns.set(self._start)
        return False

    def _note(self, means: str) -> bool:
        self.after_cap[means] = self.after_cap.get(means, 0) + 1
        return True

    @staticmethod
    def _has_gaps(room: Sweeping, count: int) -> bool:
        """Whether rows of a stage are gaps, which are met more closely than velocities."""
        return bool(count and (room.info[:count, GOAL] == ENOUGH_GAP).any())

    def _find_start(self, room: Sweeping, count: int, tolerance: float) -> None:
        """Multipliers of the robust solver, and the velocities that belong to them."""
        problem, rows = _problem(room, count)
        relative = 0.1 * tolerance / float(problem.scales.scale.max())
        found, _ = SOLVERS["robust"](problem, room.z[:count].ravel()[rows].copy(), max(relative, 1e-12))
        if np.isfinite(found).all():
            z = room.z[:count].ravel()
            z[rows] = found
            room.z[:count] = z.reshape(-1, 3)
            respond(room, count)


def _problem(s: Sweeping, count: int) -> tuple[Problem, np.ndarray]:
    """The linearised stage in the form of `nonsmooth`, M v = f + H r, u = H^T v + w; and which multipliers its rows are.

    The directions of force are those of the gaps: they differ by the turn of the normals within a step, which the next
    linearisation corrects.
    """
    n, own = len(s.A), s.who[:count, ROWS]
    here = np.arange(3)[None, :] <= own[:, None]
    rows = np.flatnonzero(here.ravel())
    number = np.cumsum(here.ravel()) - 1
    M = np.linalg.inv(s.A)
    M = (M + M.transpose(0, 2, 1)) / 2
    blocks = sp.block_diag(list(M), format="csc") if n else sp.csc_matrix((0, 0))
    i, j, values = [], [], []
    for side, column in ((0, FIRST), (1, SECOND)):
        body = s.who[:count, column]
        G = s.G[:count, SIZE * side : SIZE * side + SIZE, :3].transpose(0, 2, 1)  # contacts, rows, velocities
        used = here & (body >= 0)[:, None]
        at = np.broadcast_to((SIZE * body[:, None, None] + np.arange(SIZE)), G.shape)[used]
        i.append(at.ravel())
        j.append(np.repeat(number.reshape(-1, 3)[used], SIZE))
        values.append(G[used].ravel())
    H = sp.csc_matrix((np.concatenate(values), (np.concatenate(i), np.concatenate(j))), (SIZE * n, len(rows)))
    z_0 = s.z_0[:count].ravel()[rows]
    f = np.einsum("bij,bj->bi", M, s.free).ravel() - H @ z_0
    first, slips = number.reshape(-1, 3)[:, 0], own > 0
    # Two laws per contact, normal and friction; the second only where there is friction.
    kept = np.column_stack([np.ones(count, bool), slips]).ravel()

    def both_laws(normal: Any, friction: Any, kind: Any = np.int64) -> np.ndarray:
        both = np.empty((count, 2), kind)
        both[:, 0], both[:, 1] = normal, friction
        return both.ravel()[kept]

    laws = Laws(
        kind=both_laws(NORMAL, BALL),
        start=both_laws(first, first + 1),
        size=both_laws(1, own),
        normal=both_laws(-1, first),
        mu=both_laws(0.0, s.info[:count, MU], float),
        radius=both_laws(0.0, s.info[:count, RADIUS], float),
        element=np.concatenate([[0], np.cumsum(1 + slips)]).astype(np.int64),
    )
    return Problem(laws, None, None, blocks, H, f, s.u[:count].ravel()[rows].copy()), rows


def _bodies_of(program: Program, k: int) -> Bodies | None:
    """The bodies of a stage, if all of it can be swept: free bodies, and contacts with a normal row and friction."""
    tables = program.tables
    problem = tables.problems[k]
    n_smooth = int(problem["n_smooth"])
    for group in tables.groups[problem["group_0"] : problem["group_1"]]:
        laws = tables.laws[group["law_0"] : group["law_1"]]
        kinds = laws["kind"].tolist()
        contact = kinds in ([NORMAL], [NORMAL, BALL]) and (laws["rows"] <= 2).all() and (laws["own"] == 1).all()
        if kinds and not contact:
            return None
    order = tables.order[problem["order"] : problem["order"] + problem["n"]]
    if problem["band"] >= 0:
        return None
    node = order["node"][:n_smooth]
    body = np.unique(node, return_inverse=True)[1]
    slot = np.zeros(n_smooth, np.int64)
    seen = np.zeros(int(body.max(initial=-1)) + 1, np.int64)
    for i, b in enumerate(body.tolist()):
        slot[i] = seen[b]
        seen[b] += 1
    if n_smooth == 0 or seen.max() > SIZE:
        return None
    home = np.zeros(n_smooth, np.int64)
    for segment in tables.segments[problem["segment_0"] : problem["segment"]]:
        first, length = int(segment["first"]), int(segment["length"])
        home[first : first + length] = int(segment["start"]) + np.arange(length)
    return Bodies(body.astype(np.int64), slot, home) if _uncoupled(program, k, body) else None


def _uncoupled(program: Program, k: int, body: np.ndarray) -> bool:
    """Whether no part but contacts couples the velocities of two bodies."""
    tables, problem = program.tables, program.tables.problems[k]
    for group in tables.groups[problem["group_0"] : problem["group_1"]]:
        kind = tables.kinds[group["kind"]]
        if group["law"] < group["law_1"] or not kind["count"]:
            continue
        first, width = int(kind["first"]), int(kind["width"])
        dofs = tables.dofs[first : first + int(kind["count"]) * width].reshape(-1, width)
        places = tables.places[group["unknowns"] : group["unknowns"] + group["n_unknowns"]]
        unknowns = dofs[:, places["column"]] + places["start"]
        entries = tables.entries[group["entry_0"] : group["entry_1"]]
        rows, columns = unknowns[:, entries["row"]], unknowns[:, entries["unknown"]]
        if (body[rows] != body[columns]).any():
            return False
    return True

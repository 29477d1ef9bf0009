"""Many contacts at once: what a run does with a stage before Newton's method is asked.

The loop stops at a stage. A crowd evaluates and linearises it, solves that by sweeps, evaluates it again, and so on until its
residual is below the tolerance and no gap changes any more. Then the loop goes on after it. Where
sweeps hit their cap, Newton's method for the linearised stage, or the robust solver of `nonsmooth`, find another start, body by
body, and sweeps go on from there, then Newton's method for the stage. Where that does not help either, the stage goes to the
attempts of all other runs.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.engine.again import call_again, call_all
from stickslip.engine.contact_plan import SIZE, Bodies, Plan, bodies_of, plan_of
from stickslip.engine.contact_rows import set_directions, set_up
from stickslip.engine.contact_state import (
    DEAD,
    ENOUGH_GAP,
    FIRST,
    MU,
    RADIUS,
    ROWS,
    SECOND,
    Sweeping,
    sweeping,
)
from stickslip.engine.contact_sweeps import accelerated
from stickslip.engine.contact_values import respond, set_values, take_step, worst_gap
from stickslip.engine.crowd_kernels import prepare_many
from stickslip.engine.local import evaluate_stage
from stickslip.engine.newton import GUESS
from stickslip.engine.program import Program
from stickslip.engine.rescue import Unknowns
from stickslip.engine.tables import Tables
from stickslip.engine.work import SOLVE_STAGE, Options, Work
from stickslip.jit import jit_bare
from stickslip.native.call import call_apart
from stickslip.native.wide import place
from stickslip.nonsmooth.cones import BALL, NORMAL
from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.problem import Problem
from stickslip.nonsmooth.solvers import SOLVERS, SolverFunction, newton_nearby

FEW = 40  # contacts, below which Newton's method is faster
# Sweeps of one solve. Of 30 stages of 100 spheres (rattle, 1500 steps) that need more than 1400 sweeps, 25 need less than 7000,
# and the time of what comes after the cap grows faster than that of a sweep.
CAP, CAP_PER_CONTACT = 7000, 3
AFTERWARDS = 1500  # sweeps that may follow the robust solver
# What comes after that: a name, the solver of the linearised stage, the share of the tolerance that it aims at, and how many
# sweeps may follow. Newton's method solves half of what stalls in a tenth of the time.
ROBUST = SOLVERS["robust"]
AFTER_CAP: tuple[tuple[str, SolverFunction, float, int], ...] = (
    ("newton", newton_nearby, 0.5, 60),
    ("robust", ROBUST, 0.1, AFTERWARDS),
    ("robust", ROBUST, 0.1, AFTERWARDS),
)
NEWTON = 12  # iterations of Newton's method for the stage itself after that
LINEARISATIONS = 12  # of one stage
REFUSED, SOLVED, CAPPED = range(
    3
)  # what came out of a stage: it cannot be swept, it is solved, its sweeps hit their cap


@jit_bare
def newton_stage(
    tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, guess: float, counts: np.ndarray,
    sizes: np.ndarray,
) -> bool:  # fmt: skip
    """Newton's method for one stage alone; see `newton.solve_stage`."""
    return call_apart(work.apart[SOLVE_STAGE], (tables, k, memory, work, options, guess, counts, sizes))


@jit_bare
def sweep_stage(
    tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, bodies: Bodies, plan: Plan, room: Sweeping,
    most: int,
) -> tuple[int, float, int, int]:  # fmt: skip
    """Evaluate stage k, linearise it, sweep, evaluate it again, and so on, at most so often, until it is solved.

    What came out, the residual of the stage (SOLVED) or of the sweeps (CAPPED), linearisations and sweeps.
    """
    call_all(tables, k, memory, work)
    count = set_directions(tables, k, memory, work, bodies, plan, room)
    if count < 0:
        return REFUSED, np.inf, 0, 0
    error = set_values(tables, k, memory, work, bodies, room, count, options.tolerance)
    if error < GUESS * options.tolerance:
        return SOLVED, error, 0, 0
    sweeps = 0
    for n in range(1, most + 1):
        done, residual = accelerated(room, count, options.tolerance, max(CAP, CAP_PER_CONTACT * count))
        sweeps += done
        take_step(room, count, bodies, memory)
        if not residual < options.tolerance:
            return CAPPED, residual, n, sweeps
        woken = call_again(tables, k, memory, work)
        anew = woken > 0  # contacts that have joined have no derivatives yet
        while True:
            if anew:
                call_all(tables, k, memory, work)
                count = set_directions(tables, k, memory, work, bodies, plan, room)
                if count < 0:
                    return REFUSED, np.inf, n, sweeps
            error = set_values(tables, k, memory, work, bodies, room, count, options.tolerance)
            within = room.gaps[0] == 0 or room.errors[0] < (DEAD + ENOUGH_GAP) * options.tolerance
            if error < options.tolerance and within:
                return SOLVED, error, n, sweeps
            if anew or n % 2 == 1:  # what a step missed is small, so that derivatives serve twice
                break
            anew = True
    return REFUSED, np.inf, most, sweeps


class Crowd:
    """Sweeps for the stages of a program that have many contacts of free bodies."""

    def __init__(self, program: Program):
        prepare_many(program)
        self._bodies = [bodies_of(program, k) for k in range(len(program.tables.problems))]
        self._plan = plan_of(program)
        count = max((len(each.first) for each in self._bodies if each is not None), default=0)
        contacts = sum(kind.capacity for kind in program.numbering.kinds if kind.type.n["N"])
        self._room: Sweeping | None = sweeping(count, contacts) if count else None
        self.after_cap: dict[str, int] = {}  # what solved the stages that sweeps did not
        self.stages, self.linearisations, self.sweeps, self.capped = 0, 0, 0, 0
        self.seconds_after_cap = 0.0

    def solve(self, tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options) -> float:
        """Solve stage k; its residual, or inf if sweeps do not help: then the memory is as it was."""
        bodies, room = self._bodies[k], self._room
        if bodies is None or room is None:
            return np.inf
        came_out, residual, linearised, sweeps = sweep_stage(
            tables, k, memory, work, options, bodies, self._plan, room, LINEARISATIONS
        )
        self.linearisations, self.sweeps = self.linearisations + linearised, self.sweeps + sweeps
        if came_out == SOLVED:
            self.stages += 1
            return residual
        if came_out == CAPPED:
            self.capped += 1
            begin = time.process_time()
            residual = self._after_cap(tables, k, memory, work, options, np.isfinite(residual))
            self.seconds_after_cap += time.process_time() - begin
            if residual < options.tolerance:
                return residual
        Unknowns(tables, k, memory).set(work.start)
        return np.inf

    def _after_cap(
        self, tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, finite: bool
    ) -> float:
        """Sweeps from where Newton's method for the linearised stage leads, or the robust solver; the residual of the stage."""
        bodies, room = self._bodies[k], self._room
        assert bodies is not None
        assert room is not None
        if not finite:
            Unknowns(tables, k, memory).set(work.start)
        for means, solver, share, most in AFTER_CAP:
            evaluate_stage(tables, k, memory, work, options, True)
            count = int(set_up(tables, k, memory, work, bodies, self._plan, room, options.tolerance))
            if count < 0:
                break
            self._find_start(solver, room, count, share * options.tolerance)
            done, residual = accelerated(room, count, options.tolerance, most)
            self.sweeps += done
            if residual < options.tolerance or solver is ROBUST:
                take_step(room, count, bodies, memory)
                error = evaluate_stage(tables, k, memory, work, options, False)
                gap = 0.0 if room.gaps[0] == 0 else worst_gap(tables, k, work)
                if error < options.tolerance and gap < (DEAD + ENOUGH_GAP) * options.tolerance:
                    self._note(means)
                    return error
        short = options._replace(attempt_0=0, attempt_1=1, iterations=NEWTON)
        counts, sizes = np.zeros(len(tables.problems), np.int64), np.zeros(len(tables.problems) + 2)
        start = work.start.copy()  # which Newton's method forgets
        if newton_stage(tables, k, memory, work, short, 1.0, counts, sizes):
            work.solved_by[0] -= 1  # it has a name of its own
            self._note("robust and newton")
            return float(sizes[k])
        work.start[:] = start
        return np.inf

    def _note(self, means: str) -> None:
        self.after_cap[means] = self.after_cap.get(means, 0) + 1

    @staticmethod
    def _find_start(solver: SolverFunction, room: Sweeping, count: int, tolerance: float) -> None:
        """Multipliers of another solver, and the velocities that belong to them."""
        problem, rows = _problem(room, count)
        relative = tolerance / float(problem.scales.scale.max())
        found, _ = solver(problem, room.z[:count].ravel()[rows].copy(), max(relative, 1e-12))
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
    n, own = len(s.inverse), s.who[:count, ROWS]
    here = np.arange(3)[None, :] <= own[:, None]
    rows = np.flatnonzero(here.ravel())
    number = np.cumsum(here.ravel()) - 1
    M = np.zeros((n, SIZE, SIZE))
    M[:, range(SIZE), range(SIZE)] = 1.0 / s.inverse
    full = ~s.diagonal
    M[full] = np.linalg.inv(s.A[full])
    M = (M + M.transpose(0, 2, 1)) / 2
    blocks = sp.block_diag(list(M), format="csc") if n else sp.csc_matrix((0, 0))
    i, j, values = [], [], []
    for side, column in ((0, FIRST), (1, SECOND)):
        body = s.who[:count, column]
        G = s.G[:count][:, :, [place(side, i) for i in range(SIZE)]]
        used = here & (body < n)[:, None]
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
        mu=both_laws(0.0, s.numbers[:count, MU], float),
        radius=both_laws(0.0, s.numbers[:count, RADIUS], float),
        element=np.concatenate([[0], np.cumsum(1 + slips)]).astype(np.int64),
    )
    return Problem(laws, None, None, blocks, H, f, s.u[:count].ravel()[rows].copy()), rows

"""Many contacts at once: what a run does with a stage before Newton's method is asked.

The loop stops at a stage. A crowd evaluates and linearises it, solves that by sweeps, evaluates it again, and so on until its
residual is below the tolerance and no gap changes any more. Then the loop goes on after it. Where sweeps stall, the contacts
that are left over are solved in patches (`patches`). Where that does not help within the cap of the sweeps, Newton's method for
the linearised stage, or the robust solver of `nonsmooth`, find another start, and sweeps go on from there, then Newton's method
for the stage. Where that does not help either, the stage goes to the attempts of all other runs.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from stickslip.engine.again import call_again
from stickslip.engine.capped import find_start, problem_of
from stickslip.engine.contact_plan import Bodies, Plan, bodies_of_stages, plan_of
from stickslip.engine.contact_rows import set_directions, set_up
from stickslip.engine.contact_sets import Unknowns
from stickslip.engine.contact_state import (
    ALLOWED_GAP,
    Sweeping,
    sweeping,
)
from stickslip.engine.contact_sweeps import accelerated
from stickslip.engine.contact_values import ease, respond, set_values, take_step, worst_gap
from stickslip.engine.crowd_kernels import prepare_many
from stickslip.engine.fields import N
from stickslip.engine.local import evaluate_stage
from stickslip.engine.newton import GUESS
from stickslip.engine.patches import FIRST_SWEEPS, WORTH, relieve
from stickslip.engine.program import Program
from stickslip.engine.tables import Tables
from stickslip.engine.work import SOLVE_STAGE, Options, Work
from stickslip.jit import Direct, jit_bare
from stickslip.native.call import call_apart
from stickslip.nonsmooth.nearby import Nearby, by_admm, by_friction, by_newton, by_patience
from stickslip.nonsmooth.problem import Problem

FEW = 40  # contacts, below which Newton's method is faster
# Of the speed of the fastest body, or of its way: contacts that would open by less than this take part at once.
NEAR = 0.3
CAP = 7000  # sweeps of one solve, between patches
AFTERWARDS = 1500  # sweeps that may follow the robust solver
ANEW = 1600  # sweeps from a start that has forgotten forces


class After(NamedTuple):
    """What may come after the cap: a name, the solver of the linearised stage, the share of the tolerance that it aims at, and
    how many sweeps may follow. `kept`: the shares of normal forces and of friction that it starts with. `seed`: of factors from
    0 to 2 for the forces of every contact, if it is not 0.
    """

    means: str
    solver: Nearby
    share: float
    most: int
    kept: tuple[float, float] = (1.0, 1.0)
    seed: int = 0


# Forces of a pile that moves slowly hold each other from step to step, and no path of Newton's method may lead on from there.
# Then forces that sweeps find anew, which hold each other less, are another start: `bench/piles.py settled` counts what helps.
AFTER_CAP = (
    After("newton", by_newton, 0.7, 60),
    After("newton with new friction", by_newton, 0.7, 60, kept=(1.0, 0.0)),
    After("newton with new forces", by_newton, 0.7, 60, kept=(0.0, 0.0)),
    *(After("newton with other forces", by_newton, 0.7, 60, seed=seed) for seed in (1, 2, 3)),
    After("patient newton", by_patience, 0.7, 60),
    After("robust", by_admm, 0.2, AFTERWARDS),
    After("less friction first", by_friction, 0.2, AFTERWARDS),
)
# Contacts, beyond which only Newton's method is worth its time: the others take as long, and find less.
MOST_LATER = 1000
NEWTON = 12  # iterations of Newton's method for the stage itself after that
LINEARISATIONS = 12  # of one stage
REFUSED, SOLVED, STALLED = range(3)  # what came out of a stage: it cannot be swept, it is solved, its sweeps stall


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
    first: int, count: int, most: int,
) -> tuple[int, float, int, int, int]:  # fmt: skip
    """Evaluate stage k, linearise it, sweep, evaluate it again, and so on, at most so often, until it is solved.

    Where sweeps stall, it is interrupted. After the linearised stage was solved by other means, it is resumed with the number
    of linearisations `first` and of contacts; else `first` is 0. What came out, the residual of the stage (SOLVED) or of the
    sweeps (STALLED), linearisations, contacts and sweeps.
    """
    sweeps = 0
    if first == 0:
        count = set_directions(tables, k, memory, work, bodies, plan, room)
        if count < 0:
            return REFUSED, np.inf, 0, 0, 0
        error = set_values(tables, k, memory, work, bodies, room, count, options.tolerance)
        if error < GUESS * options.tolerance:
            return SOLVED, error, 0, count, 0
    for n in range(max(first, 1), most + 1):
        if n != first:
            done, residual = accelerated(room, count, options.tolerance, max(FIRST_SWEEPS, WORTH // max(count, 1)))
            sweeps += done
            if not residual < options.tolerance:
                return STALLED, residual, n, count, sweeps
        take_step(room, count, bodies, memory)
        woken = call_again(tables, k, memory, work)
        anew = woken > 0  # contacts that have joined have no derivatives yet
        while True:
            if anew:
                count = set_directions(tables, k, memory, work, bodies, plan, room)
                if count < 0:
                    return REFUSED, np.inf, n, 0, sweeps
            error = set_values(tables, k, memory, work, bodies, room, count, options.tolerance)
            within = room.gaps[0] == 0 or room.errors[0] < ALLOWED_GAP * options.tolerance
            if error < options.tolerance and within:
                return SOLVED, error, n, count, sweeps
            if anew or n % 2 == 1:  # what a step missed is small, so that derivatives serve twice
                break
            anew = True
    return REFUSED, np.inf, most, count, sweeps


class Crowd:
    """Sweeps for the stages of a program that have many contacts of free bodies."""

    def __init__(self, program: Program):
        prepare_many(program)
        self._bodies = bodies_of_stages(program)
        self._plan = plan_of(program)
        self._of_gaps = [any(each.space == N for each in fields) for fields in program.positions]
        self._near = [0.0] * len(self._of_gaps)
        count = max((len(each.first) for each in self._bodies if each is not None), default=0)
        contacts = sum(kind.capacity for kind in program.numbering.kinds if kind.type.n["N"])
        self._room: Sweeping | None = sweeping(count, contacts) if count else None
        self._sweep_stage = Direct(sweep_stage)
        self.after_cap: dict[str, int] = {}  # what solved the stages that sweeps did not
        self.stages, self.linearisations, self.sweeps, self.capped = 0, 0, 0, 0
        self.seconds_after_cap = 0.0
        self._count = 0  # contacts that were linearised last

    def expect(self, speed: float, dt: float) -> None:
        """Which open contacts take part in a step from its beginning: every one that joins later costs another solve.

        Stages of gaps compare with a distance, stages of velocities with a velocity.
        """
        self._near = [NEAR * speed * (dt if gaps else 1.0) for gaps in self._of_gaps]

    def leave(self) -> None:
        """Another one takes over: what this one has counted stays."""
        self._room, self._bodies = None, [None] * len(self._bodies)

    def solve(self, tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options) -> float:
        """Solve stage k; its residual, or inf if sweeps do not help: then the memory is as it was."""
        bodies, room = self._bodies[k], self._room
        work.near[0] = self._near[k]
        if bodies is None or room is None:
            return np.inf
        stage, linearised, count, patched = (tables, k, memory, work, options, bodies, self._plan, room), 0, 0, False
        while True:
            came_out, residual, linearised, count, sweeps = self._sweep_stage(*stage, linearised, count, LINEARISATIONS)
            self.sweeps += sweeps
            if came_out != STALLED:
                break
            patched = True
            done, residual = relieve(room, count, options.tolerance, CAP)
            self.sweeps += done
            if not residual < options.tolerance:
                take_step(room, count, bodies, memory)
                break
        self.linearisations += linearised
        self._count = count
        if came_out == SOLVED:
            work.near[0] = 0.0
            if patched:
                self._note("patches")
            else:
                self.stages += 1
            return float(residual)
        if came_out == STALLED:
            self.capped += 1
            begin = time.process_time()
            residual = self._after_cap(tables, k, memory, work, options, np.isfinite(residual))
            self.seconds_after_cap += time.process_time() - begin
            if residual < options.tolerance:
                work.near[0] = 0.0
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
        for means, solver, share, most, kept, seed in AFTER_CAP:
            newton = solver in (by_newton, by_patience)
            if not newton and self._count > MOST_LATER:
                return np.inf
            solved = True  # the linearised stage
            for n in range(LINEARISATIONS):
                evaluate_stage(tables, k, memory, work, options, True)
                count = int(set_up(tables, k, memory, work, bodies, self._plan, room, options.tolerance))
                if count < 0 or not solved:
                    break
                self._count = count
                ease(room, count, options.tolerance)
                if n == 0 and (kept != (1.0, 1.0) or seed):
                    room.z[:count] *= (kept[0], kept[1], kept[1])
                    if seed:
                        room.z[:count] *= np.random.default_rng(seed).uniform(0.0, 2.0, (count, 1))
                    respond(room, count)
                    self.sweeps += accelerated(room, count, options.tolerance, ANEW)[0]
                residual = find_start(solver, room, count, share * options.tolerance)
                if not residual < options.tolerance:  # sweeps that are not needed may lead away again
                    done, residual = relieve(room, count, options.tolerance, most)
                    self.sweeps += done
                solved = residual < options.tolerance
                if not solved and newton:
                    break
                take_step(room, count, bodies, memory)
                error = evaluate_stage(tables, k, memory, work, options, False)
                gap = 0.0 if room.gaps[0] == 0 else worst_gap(tables, k, work)
                if error < options.tolerance and gap < ALLOWED_GAP * options.tolerance:
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

    def problem(self) -> tuple[Problem, np.ndarray] | None:
        """The stage as it was linearised last, and where its multipliers lie in the memory; None if there is none."""
        return None if self._room is None or self._count < 1 else problem_of(self._room, self._count)

    def _note(self, means: str) -> None:
        self.after_cap[means] = self.after_cap.get(means, 0) + 1

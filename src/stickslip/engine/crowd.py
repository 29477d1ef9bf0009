"""Many contacts at once: what a run does with a stage before Newton's method is asked.

The loop stops at a stage. A crowd evaluates and linearises it, solves that by sweeps, evaluates it again, and so on until its
residual is below the tolerance and no gap changes any more. Then the loop goes on after it. Where sweeps stall, the contacts
that are left over are solved in patches (`patches`). Where that does not help within the cap of the sweeps, the linearised
stage goes to Newton's method, then to the path to a solution. Where that does not help either, the stage goes to the attempts
of all other runs.
"""

from __future__ import annotations

import time

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
from stickslip.engine.contact_values import ease, set_values, take_step, worst_gap
from stickslip.engine.crowd_kernels import prepare_many
from stickslip.engine.fields import N
from stickslip.engine.local import evaluate_stage
from stickslip.engine.newton import GUESS
from stickslip.engine.patches import FIRST_SWEEPS, WORTH, relieve
from stickslip.engine.program import Program
from stickslip.engine.tables import Tables
from stickslip.engine.work import Options, Work
from stickslip.jit import Direct, jit_bare
from stickslip.nonsmooth.nearby import Nearby, by_newton, by_path
from stickslip.nonsmooth.problem import Problem
from stickslip.patience import look

FEW = 40  # contacts, below which Newton's method is faster
# Of the speed of the fastest body, or of its way: contacts that would open by less than this take part at once.
NEAR = 0.3
# Sweeps of one solve, between patches; what comes after them takes as long as 20,000 more. 1000 spheres by rattle, steps 800 to
# 900 of `bench/piles.py settled`: 2.4 s per step with 7000, 0.9 s with 20,000.
CAP = 20_000
AFTER_CAP: tuple[tuple[str, Nearby], ...] = (("newton", by_newton), ("path", by_path))
AIM = 0.7  # of the tolerance, in which rows of friction count one by one
LINEARISATIONS = 12  # of one stage
CROWDS = "crowds"  # what a program keeps: what sweeps know of its stages
REFUSED, SOLVED, STALLED = range(3)  # what came out of a stage: it cannot be swept, it is solved, its sweeps stall


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
        if CROWDS not in program.kept:
            program.kept[CROWDS] = bodies_of_stages(program), plan_of(program), Direct(sweep_stage)
        bodies, self._plan, self._sweep_stage = program.kept[CROWDS]
        self._bodies = list(bodies)
        self._of_gaps = [any(each.space == N for each in fields) for fields in program.positions]
        self._near = [0.0] * len(self._of_gaps)
        count = max((len(each.first) for each in self._bodies if each is not None), default=0)
        contacts = sum(kind.capacity for kind in program.numbering.kinds if kind.type.n["N"])
        self._room: Sweeping | None = sweeping(count, contacts) if count else None
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
        """What solves the linearised stage, step by step, until the stage is solved; its residual."""
        bodies, room = self._bodies[k], self._room
        assert bodies is not None
        assert room is not None
        if not finite:
            Unknowns(tables, k, memory).set(work.start)
        hardest = 0
        for _ in range(LINEARISATIONS):
            look()
            evaluate_stage(tables, k, memory, work, options, True)
            count = int(set_up(tables, k, memory, work, bodies, self._plan, room, options.tolerance))
            if count < 0:
                break
            self._count = count
            ease(room, count, options.tolerance)
            for number, (_, solver) in enumerate(AFTER_CAP):
                hardest = max(hardest, number)
                look()
                if find_start(solver, room, count, AIM * options.tolerance) < options.tolerance:
                    break
            else:
                break
            take_step(room, count, bodies, memory)
            error = evaluate_stage(tables, k, memory, work, options, False)
            gap = 0.0 if room.gaps[0] == 0 else worst_gap(tables, k, work)
            if error < options.tolerance and gap < ALLOWED_GAP * options.tolerance:
                self._note(AFTER_CAP[hardest][0])
                return error
        return np.inf

    def problem(self) -> tuple[Problem, np.ndarray] | None:
        """The stage as it was linearised last, and where its multipliers lie in the memory; None if there is none."""
        return None if self._room is None or self._count < 1 else problem_of(self._room, self._count)

    def _note(self, means: str) -> None:
        self.after_cap[means] = self.after_cap.get(means, 0) + 1

"""Calls of the compiled loop, and what is tried in between where a stage cannot be solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.engine.attempts import CHEAP, MANY
from stickslip.engine.failure import NEWTON
from stickslip.engine.fields import EXCEPTIONS, PLASTIC, UNSETTLED
from stickslip.engine.jams import JAMMED
from stickslip.engine.program import Program
from stickslip.engine.tables import with_rough_kernels
from stickslip.errors import OptionError
from stickslip.threads import one_thread

# As in engine.work, which loads the compiler.
INSTRUCTION, RESUMED, WIDER, KEPT, REDUNDANT, PREDICTED, FAR, WANTED = 0, 3, 5, 6, 7, 9, 10, 11
IS_FAR_ROOT = 4
GO_ON, STOPPED, SOLVED_ELSEWHERE, ONCE_MORE = 1, 2, 3, 4
FEWER = "fewer stages"  # what takes the place of a first stage without solution
MOST_DENSE = 3000  # unknowns of a linearised problem that is solved as a dense one
MOST_TRIED = 8000  # unknowns, beyond which only one attempt follows sweeps: all of them take minutes, and found nothing


class LoopCalls:
    """A program with its memory, and the compiled loop that leads it through steps."""

    program: Program
    tables: Any
    memory: np.ndarray
    work: Any
    options: Any
    clock: Any
    crowd: Any  # solves stages with many contacts, where there are (`engine.crowd`)
    jammed_at: float | None = None  # end of the first step in which contacts gave up their restitution
    by_bodies: np.ndarray  # of each stage: whether other solvers come after the first attempt (`engine.by_bodies`)
    rescued_by: dict[str, int]  # how often which solver found what Newton's method did not
    solver: str  # of stages with contacts: "auto", or the only one that is asked
    _iterations: np.ndarray
    _residuals: np.ndarray
    _seen: np.ndarray  # the parameters that those who sleep know
    _trouble: Any
    _excepted: bool  # whether contacts are closed early, or have no restitution, in the present step

    def _awake(self) -> None:
        """Look at all contacts again: something other than a step has changed the memory."""
        if self.work.nap[0]:
            from stickslip.engine.naps import allow_naps

            allow_naps(self.tables, self.work)
            self._seen[:] = self.memory[: self._seen.size]

    def _call(
        self,
        begin: np.ndarray,
        step: np.ndarray,
        carry: np.ndarray,
        first: int,
        last: int,
        rows: np.ndarray,
        record: np.ndarray,
    ) -> tuple[int, int]:
        """Steps `first` to `last`: those that are done in all, and the stage that could not be solved by any means, or -1.

        The compiled loop makes the first, cheap attempts; then come the solvers of `nonsmooth`, then the other attempts. A
        solver that was chosen is the only one: Newton's method with all its attempts, or one of `nonsmooth` at once.
        """
        from stickslip.engine.advance import allow_sweeps, load_wanted, run_steps

        clock, done, tried, on_graph = self.clock._replace(row=first), first, 0, False
        tables, stats, signals = self.tables, (self._iterations, self._residuals), self.work.signals
        rough = with_rough_kernels(tables) if self.solver == "auto" else tables
        if self.work.nap[0] and not np.array_equal(self.memory[: self._seen.size], self._seen):
            self._awake()  # parameters have changed
        cheap, once = self.options._replace(attempt_1=CHEAP), self.options._replace(attempt_1=1)
        evaluate = None if self.crowd is None else self.options._replace(attempt_1=1, iterations=-1)
        if self.solver != "auto":
            cheap = self.options if self.solver == NEWTON else self.options._replace(attempt_1=0)
        first_try = cheap._replace(many=MANY) if self.by_bodies.any() and self.solver == "auto" else cheap
        options, where, rescuer, start = evaluate or first_try, (-1, -1), "", np.zeros(0)
        signals[[RESUMED, WIDER, PREDICTED, FAR, WANTED]] = 0
        while True:
            alone = self._excepted or options is not first_try
            until, passed = done + 1 if alone else last, int(self.work.solved_by[0])
            done, failed = run_steps(
                rough if options in (first_try, cheap, evaluate) else tables,
                begin,
                step,
                carry,
                self.memory,
                self.work,
                options,
                clock,
                done,
                until,
                record,
                rows,
                *stats,
            )
            if rescuer and self.work.solved_by[0] > passed and (failed < 0 or where != (done, signals[INSTRUCTION])):
                self.work.solved_by[0] -= 1  # Newton's method only tested what was found
                self.rescued_by[rescuer] = self.rescued_by.get(rescuer, 0) + 1
            rescuer = ""
            if signals[WANTED]:
                load_wanted(tables, self.work)
                signals[RESUMED] = ONCE_MORE
                continue
            if failed < 0 and self._excepted:
                self._excepted, self.memory[self.program.layout.places(*EXCEPTIONS)] = False, 0.0
            if failed < 0 and alone and done == until < last and not signals[WIDER]:
                options = first_try  # what one step needed the next one may not
                continue
            if failed < 0 or signals[RESUMED] != STOPPED:  # what does not settle in turn cannot be resumed
                return done, failed
            load_wanted(tables, self.work)  # what comes now needs it
            if options is evaluate:
                residual = self._sweep(failed, done - first)
                if residual < self.options.tolerance:
                    signals[RESUMED], errors = SOLVED_ELSEWHERE, self._residuals[done - first]
                    errors[failed], errors[-2:] = residual, np.maximum(errors[-2:], self.work.errors)
                else:
                    signals[RESUMED], self._residuals[done - first, failed] = GO_ON, 0.0
                    options = cheap if int(tables.problems[failed]["n"]) < MOST_TRIED else once
                continue
            if self.solver != "auto":
                if not self._solve_by_choice(failed, done - first) < self.options.tolerance:
                    return done, failed
                signals[RESUMED], errors = SOLVED_ELSEWHERE, self._residuals[done - first]
                errors[-2:] = np.maximum(errors[-2:], self.work.errors)
                continue
            if where != (done, signals[INSTRUCTION]):
                tried, on_graph = int(signals[KEPT] < options.many or not self.by_bodies[failed]) - 1, False
            tried += 1
            where, size = (done, int(signals[INSTRUCTION])), int(tables.problems[failed]["n"])
            if tried == 0:
                with one_thread():
                    rescuer = self._solve_by_bodies(failed)
                options, on_graph = first_try if rescuer else cheap, True
            elif tried == 1 and self.crowd is not None and size > MOST_DENSE:
                with one_thread():
                    rescuer = self._rescue(failed, dense=False)
                options = cheap
                if not rescuer:
                    self._give_up_sweeps(failed)
                    tried = 2  # nothing has changed for the cheap attempts
            elif tried == 1:
                start = self.work.start[:size].copy()
                with one_thread():
                    rescuer = ("" if on_graph else self._solve_by_bodies(failed)) or self._rescue(failed)
                options = cheap
            if tried == 2 and (self.crowd is None or size < MOST_TRIED):
                self.memory[self.program.layout.places(PLASTIC)] = 0.0  # restitution is not given up in vain
                allow_sweeps(tables, self.work)
                if start.size == size and self.work.apart[IS_FAR_ROOT] != 0:
                    self._start_from(failed, start)  # not from where others have led
                options = self.options._replace(attempt_0=CHEAP)
            elif tried >= 2:
                if not self._leave_unsettled(failed, start):
                    return done, failed
                self._residuals[done - first, failed], options = 0.0, first_try
                signals[RESUMED] = SOLVED_ELSEWHERE
                continue
            signals[RESUMED] = GO_ON
            self._residuals[done - first, failed] = 0.0

    def _sweep(self, k: int, row: int) -> float:
        """Solve a stage with many contacts: its residual, or inf if Newton's method is to take over."""
        assert self.crowd is not None
        self._iterations[row, k] += 1
        return self.crowd.solve(self.tables, k, self.memory, self.work, self.options)

    def _solve_by_choice(self, k: int, row: int) -> float:
        """Solve a stage by the solver that was chosen, and no other; its residual. Newton's method has had its attempts."""
        from stickslip.engine.chosen import solve_by, unsolved

        stage = self.tables, k, self.memory, self.work, self.options
        if self.solver == NEWTON:
            self._trouble = unsolved(*stage)
            return np.inf
        size = int(self.tables.problems[k]["n"])
        if size > MOST_DENSE:
            raise OptionError(
                f"solver={self.solver!r} is for stages of up to {MOST_DENSE} unknowns, and this one has {size}; leave it out"
            )
        with one_thread():
            self._trouble = solve_by(self.solver, *stage, self.program.layout)
        if self._trouble.solved and self._trouble.solvers:
            self.rescued_by[self.solver] = self.rescued_by.get(self.solver, 0) + 1
        elif self._trouble.solved:
            self.work.solved_by[0] += 1
        self._iterations[row, k] += len(self._trouble.solvers)
        self._residuals[row, k] = self._trouble.residual
        return float(self._trouble.residual) if self._trouble.solved else np.inf

    def _solve_by_bodies(self, failed: int) -> str:
        """Solve a stage of free bodies, if it is one, on their graph; by what."""
        from stickslip.engine.by_bodies import solve_by_bodies

        if not self.by_bodies[failed]:
            return ""
        if not solve_by_bodies(self.tables, failed, self.memory, self.work, self.options):
            return ""
        self.work.signals[REDUNDANT] = 1
        return "robust"

    def _rescue(self, failed: int, *, dense: bool = True) -> str:
        """Find a better start for a stage that the compiled attempts did not solve; by what, if it looks like a solution.

        `dense`: also with dense matrices.
        """
        from stickslip.engine.body_rescue import BY_IMPULSES
        from stickslip.engine.rescue import rescue

        self._trouble = rescue(self.tables, failed, self.memory, self.work, self.options, self.program.layout, dense)
        self._excepted = bool(self.memory[self.program.layout.places(*EXCEPTIONS)].any())
        if not self._trouble.solved:
            return ""
        if self._trouble.jammed:
            self.jammed_at = self.jammed_at or float(self.memory[self.clock.t_1])
            return JAMMED
        solver = ([name for name in self._trouble.solvers if name != "start"] or ["robust"])[-1]
        return "contacts closed early" if self._trouble.early > 0.0 and solver != BY_IMPULSES else solver

    def _start_from(self, failed: int, start: np.ndarray) -> None:
        """Give the unknowns of a stage their values at its start."""
        from stickslip.engine.contact_sets import Unknowns

        Unknowns(self.tables, failed, self.memory).set(start)

    def _leave_unsettled(self, failed: int, start: np.ndarray) -> bool:
        """Whether the scheme takes a step in another way if its first stage, which this must be, cannot be solved."""
        (place,) = self.program.layout.places(UNSETTLED)
        if failed != 0 or not self.program.other_way or self.memory[place]:
            return False
        self.memory[place], self._excepted = 1.0, True
        if start.size == int(self.tables.problems[failed]["n"]):
            self._start_from(failed, start)
        self.rescued_by[FEWER] = self.rescued_by.get(FEWER, 0) + 1
        return True

    def _give_up_sweeps(self, failed: int) -> None:
        """Describe a stage that is too large for a rescue, and that neither sweeps nor what comes after them have solved."""
        from stickslip.engine.contact_sets import Unknowns
        from stickslip.engine.rescue import Rescue

        nothing, problem = np.zeros(int(self.tables.problems[failed]["n"])), self.crowd.problem()
        self._trouble = Rescue(False, np.inf, ("contact sweeps", "robust"), None, False, nothing)
        if problem is not None:
            unknown = Unknowns(self.tables, failed, self.memory).at(problem[1])
            self._trouble = self._trouble._replace(problem=problem[0], unknown=unknown)

"""A run: what `solve` drives in chunks, whatever integrates inside it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from stickslip.engine.fields import DT, Q_0, RESULTS, T_0, T_1, U_0, Field
from stickslip.engine.program import Program

NOTHING = np.zeros((0, 4), np.int64)  # a program without instructions
ROUNDING = 1e-9  # of a step, that the last time may miss t_end by
CHUNK_SECONDS = 0.1  # of compiled steps between two looks at the clock and at Ctrl-C


class Start(NamedTuple):
    """Where a run begins, and the options of `solve`."""

    parameters: np.ndarray
    q: np.ndarray
    u: np.ndarray
    t: float
    t_end: float
    dt: float
    steps: int
    tol: float
    max_iterations: int
    prox: float | None


class Failure(NamedTuple):
    """Why the step to t_1 could not be done; `message` is a sentence, or two, for the user."""

    t_1: float
    stage: str
    residual: float
    message: str


class Run(Protocol):
    """One trajectory in the making: `done` of the steps are there, `complete` says whether that is all, `failure` why not.

    iterations and residuals have a row per step and a column per stage; `columns()` are the results so far by name: t, the
    fields of RESULTS, and whatever else the scheme records, each with a row for the start and one per step.
    """

    done: int
    failure: Failure | None
    seconds: float
    stages: tuple[str, ...]
    iterations: np.ndarray
    residuals: np.ndarray

    @property
    def complete(self) -> bool: ...

    def advance(self, interrupted: Callable[[], bool], show: Callable[[int], None]) -> None: ...

    def columns(self) -> dict[str, np.ndarray]: ...


class ProgramRun:
    """A run of a program of stages: its memory, and the rows that are filled."""

    def __init__(self, program: Program, start: Start, extra: tuple[Field, ...] = ()):
        from stickslip.engine.advance import Clock, Options, workspace

        layout, steps = program.layout, start.steps
        self.program, self.steps, self.done, self.stages = program, steps, 0, program.solved
        self.failure: Failure | None = None
        self.seconds = 0.0
        self.memory = np.zeros(layout.total)
        self.memory[: layout.parameters] = start.parameters
        self.memory[layout.places(Q_0)], self.memory[layout.places(U_0)] = start.q, start.u
        self.fields = [*RESULTS, *extra]
        self.record = layout.places(T_1, *self.fields)
        self.rows = np.zeros((steps + 1, self.record.size))
        self.rows[0, : 1 + start.q.size + start.u.size] = np.concatenate([[start.t], start.q, start.u])
        self.iterations = np.zeros((max(steps, 1), len(program.solved)), np.int64)
        self.residuals = np.zeros((max(steps, 1), len(program.solved)))
        self.work, self.options = workspace(program), Options(start.tol, start.max_iterations, start.prox or 0.0)
        end = start.t_end - ROUNDING * start.dt if program.decides_step else math.inf
        t_0, t_1, dt = (layout.start[each] for each in (T_0, T_1, DT))
        self.clock = Clock(t_0, t_1, dt, float(start.t), float(start.dt), end)

    @property
    def complete(self) -> bool:
        """Whether the end time is reached."""
        if self.clock.end == math.inf:
            return self.done == self.steps
        return bool(self.rows[self.done, 0] >= self.clock.end)

    def _make_room(self) -> None:
        """Twice the rows, where a scheme decides the length of its steps and took more of them than expected."""
        self.steps = 2 * max(self.steps, 1)
        for name, rows in (("rows", self.steps + 1), ("iterations", self.steps), ("residuals", self.steps)):
            old = getattr(self, name)
            new = np.zeros((rows, old.shape[1]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def advance(self, interrupted: Callable[[], bool], show: Callable[[int], None]) -> None:
        """All steps, in chunks of about CHUNK_SECONDS."""
        from stickslip.engine.advance import advance

        p, chunk = self.program, 16
        self._begin()
        while not self.complete and self.failure is None and not interrupted():
            if self.done == self.steps:
                self._make_room()
            last, begin = min(self.steps, self.done + chunk), time.perf_counter()
            self.done, failed = advance(
                p.tables,
                NOTHING,
                p.step,
                p.carry,
                self.memory,
                self.work,
                self.options,
                self.clock,
                self.done,
                last,
                self.record,
                self.rows,
                self.iterations,
                self.residuals,
            )
            if failed >= 0:
                self.failure = self._describe(failed)
            elapsed = time.perf_counter() - begin
            show(round((self.rows[self.done, 0] - self.clock.start) / self.clock.step))
            self.seconds += elapsed
            chunk = max(1, min(4 * chunk, int(chunk * CHUNK_SECONDS / max(elapsed, 1e-9))))

    def _begin(self) -> None:
        """The stages before the first step; what they say about further fields goes to row 0.

        It also loads the compiled loop, which is no time of a step.
        """
        from stickslip.engine.advance import advance

        p, rows, first = self.program, np.zeros((2, self.record.size)), (0, 1)
        state = (self.memory, self.work, self.options, self.clock)
        _, failed = advance(
            p.tables, p.begin, NOTHING, NOTHING, *state, *first, self.record, rows, self.iterations, self.residuals
        )
        if failed >= 0:
            self.failure = self._describe(failed)
        further = 1 + sum(p.layout.size[each] for each in RESULTS)
        self.rows[0, further:] = rows[1, further:]

    def columns(self) -> dict[str, np.ndarray]:
        """The rows that are done, split into fields."""
        rows = self.rows[: self.done + 1]
        ends = np.cumsum([1, *[self.program.layout.size[each] for each in self.fields]])
        parts = np.split(rows, ends[:-1], axis=1)
        names = ["t", *[each.name for each in self.fields]]
        return {name: np.ascontiguousarray(part) for name, part in zip(names, parts, strict=True)}

    def _describe(self, failed: int) -> Failure:
        residual, count = float(self.residuals[self.done, failed]), self.iterations[self.done, failed]
        reached = f"{residual:.2e}" if np.isfinite(residual) else "not finite"
        stage, tolerance = self.stages[failed], self.options.tolerance
        what = f"the {stage.replace('_', ' ')} did not converge. Residual {reached} (tolerance {tolerance:g})"
        tried = f"after {count} iterations, with restarts, Gauss-Seidel sweeps, compliance and damping"
        if residual < tolerance:  # of every stage that is solved in turn, but never of all at once
            what, tried = "the stages that are solved in turn", f"did not settle after {count} iterations of {stage!r}"
        message = f"{what} {tried}. A smaller dt often helps"
        return Failure(float(self.memory[self.clock.t_1]), stage, residual, message)

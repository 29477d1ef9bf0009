"""A run: a loop over states, in chunks, with a rule for what is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from stickslip.engine.fields import DT, Q_0, RESULTS, T_0, T_1, U_0, Field
from stickslip.engine.program import Program
from stickslip.engine.state import State

NOTHING = np.zeros((0, 4), np.int64)  # a program without instructions
ROUNDING = 1e-9  # of a step, that the last time may miss t_end by
CHUNK_SECONDS = 0.1  # of compiled steps between two looks at the clock and at Ctrl-C
CHUNK_ROWS = 4096  # that one chunk has at most


class Start(NamedTuple):
    """Where a run begins, and the options of `solve`; `state` is where it continues, if it does."""

    parameters: np.ndarray
    q: np.ndarray
    u: np.ndarray
    t: float
    t_end: float
    dt: float
    steps: int
    tol: float
    max_iterations: int
    prox: float
    method: str
    state: State | None = None


class Failure(NamedTuple):
    """Why the step to t_1 could not be done; `message` is a sentence, or two, for the user."""

    t_1: float
    stage: str
    residual: float
    message: str


class Rows(NamedTuple):
    """Steps that are done: a row of results each, iterations and residuals of their stages."""

    results: np.ndarray
    iterations: np.ndarray
    residuals: np.ndarray


class Keep(Protocol):
    """The rule for what is kept: takes the rows of every chunk, in their order; `chunk` is the most that it wants at once."""

    chunk: int | None

    def take(self, rows: Rows) -> None: ...


class Run(Protocol):
    """One trajectory in the making: `done` steps are there, `complete` says whether that is all, `failure` why not.

    A row of results consists of the columns that `columns` names, with their widths: t, the fields of RESULTS and whatever
    else the scheme records. `first_row` is the one of the start.
    """

    done: int
    failure: Failure | None
    seconds: float
    stages: tuple[str, ...]
    columns: dict[str, int]
    first_row: np.ndarray

    @property
    def complete(self) -> bool: ...

    @property
    def state(self) -> State: ...

    def advance(self, keep: Keep, interrupted: Callable[[], bool], show: Callable[[int], None]) -> None: ...


class ProgramRun:
    """A run of a program of stages. `step` leads from its state to the next; `advance` is the loop."""

    def __init__(self, program: Program, start: Start, extra: tuple[Field, ...] = ()):
        from stickslip.engine.advance import Clock, Options, workspace

        layout = program.layout
        self.program, self.steps, self.done, self.stages = program, start.steps, 0, program.solved
        self.failure: Failure | None = None
        self.seconds, self.method = 0.0, start.method
        self.remembered = tuple(dict.fromkeys([*program.memory, *extra]))
        self.memory = np.zeros(layout.total)
        self.memory[: layout.parameters] = start.parameters
        self.work, self.options = workspace(program), Options(start.tol, start.max_iterations, start.prox)
        end = start.t_end - ROUNDING * start.dt if program.decides_step else math.inf
        t_0, t_1, dt = (layout.start[each] for each in (T_0, T_1, DT))
        self.clock = Clock(t_0, t_1, dt, start.t, start.dt, end, 0)
        fields = [*RESULTS, *extra]
        self.columns = {"t": 1} | {each.name: layout.size[each] for each in fields}
        self.record = layout.places(T_1, *fields)
        self.first = 0 if start.state is None else start.state.step
        self.first_row = np.zeros(self.record.size)
        self._loop: Callable[..., tuple[int, int]] | None = None
        self._iterations = np.zeros((CHUNK_ROWS, len(program.solved)), np.int64)
        self._residuals = np.zeros((CHUNK_ROWS, len(program.solved)))
        if start.state is None:
            self.memory[layout.places(Q_0)], self.memory[layout.places(U_0)] = start.q, start.u
            self._begin()
            further = 1 + sum(layout.size[each] for each in RESULTS)
            self.first_row[further:] = self.memory[self.record[further:]]
            self.first_row[: 1 + start.q.size + start.u.size] = np.concatenate([[start.t], start.q, start.u])
        else:
            extras = [start.state.memory[each.name] for each in extra]
            nothing = np.zeros(sum(layout.size[each] for each in RESULTS[2:]))
            self.first_row[:] = np.concatenate([[start.state.t], start.state.q, start.state.u, nothing, *extras])
            self.state = start.state
        self.row = self.first_row  # of the last step

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """The time between two steps."""
        n = self.first + self.done
        return self.clock.start + n * self.clock.step if self.clock.end == math.inf else float(self.row[0])

    @property
    def state(self) -> State:
        """Where the run is."""
        layout = self.program.layout
        memory = {each.name: self.memory[layout.places(each)] for each in self.remembered}
        t, n_q, n_u = 1, layout.size[Q_0], layout.size[U_0]
        q, u = self.row[t : t + n_q].copy(), self.row[t + n_q : t + n_q + n_u].copy()
        return State(self.method, self.clock.start, self.clock.step, self.first + self.done, self.t, q, u, memory)

    @state.setter
    def state(self, state: State) -> None:
        layout = self.program.layout
        for each in self.remembered:
            self.memory[layout.places(each)] = state.memory[each.name]
        self.memory[self.clock.t_1] = state.t
        self.row = self.first_row.copy()
        self.row[: 1 + state.q.size + state.u.size] = np.concatenate([[state.t], state.q, state.u])
        self.first, self.done = state.step, 0

    def _begin(self) -> None:
        """The stages before the first step. It also loads the compiled loop, which is not the time of a step."""
        failed = self._call(self.program.begin, NOTHING, NOTHING, 0, 1, np.zeros((2, self.record.size)))[1]
        if failed >= 0:
            self.failure = self._describe(failed, 0)

    # -- steps -----------------------------------------------------------------------------------------------------

    def _call(
        self, begin: np.ndarray, step: np.ndarray, carry: np.ndarray, first: int, last: int, rows: np.ndarray
    ) -> tuple[int, int]:
        clock = self.clock._replace(row=first)
        tables, options, stats = self.program.tables, self.options, (self._iterations, self._residuals)
        loop = self._loop or self._first_loop()
        return loop(
            tables, begin, step, carry, self.memory, self.work, options, clock, first, last, self.record, rows, *stats
        )

    def _first_loop(self) -> Callable[..., tuple[int, int]]:
        """The compiled loop. Numba looks at the types of all arguments at the first call (13 us); later ones go directly.

        The types of one run never change, and those of two runs are the same: `advance` is compiled once.
        """
        from stickslip.engine.advance import advance

        def first(*arguments: Any) -> tuple[int, int]:
            out = advance(*arguments)
            overloads = list(getattr(advance, "overloads", {}).values())
            self._loop = overloads[0].entry_point if len(overloads) == 1 else advance
            return out

        return first

    def restart(self, t: float, dt: float, q: np.ndarray, u: np.ndarray) -> None:
        """Begin anew from another state, at another time, with another step; parameters stay."""
        layout, parameters = self.program.layout, self.memory[: self.program.layout.parameters].copy()
        self.memory[:] = 0.0
        self.memory[: layout.parameters] = parameters
        self.memory[layout.places(Q_0)], self.memory[layout.places(U_0)] = q, u
        self.clock = self.clock._replace(start=t, step=dt)
        self.first, self.done, self.failure = 0, 0, None
        self.row = self.first_row.copy()
        self.row[: 1 + q.size + u.size] = np.concatenate([[t], q, u])
        self._begin()

    def look_ahead(self, dt: float) -> np.ndarray:
        """The row of a step of another length from here; the run stays where it is."""
        before, clock, stats = self.memory.copy(), self.clock, (self._iterations[0].copy(), self._residuals[0].copy())
        self.clock = clock._replace(start=self.t, step=dt)
        rows = np.empty((2, self.record.size))
        _, failed = self._call(NOTHING, self.program.step, self.program.carry, 0, 1, rows)
        self.memory[:], self.clock = before, clock
        self._iterations[0], self._residuals[0] = stats
        if failed >= 0:
            rows[1] = np.nan
        return rows[1]

    def step(self, count: int) -> Rows:
        """So many steps, or fewer if one fails or the end is reached; `failure` says why."""
        count = min(count, CHUNK_ROWS)
        first = self.first + self.done
        before = self.memory.copy()
        rows = np.empty((count + 1, self.record.size))
        self._iterations[:count], self._residuals[:count] = 0, 0.0
        begin = time.perf_counter()
        last, failed = self._call(NOTHING, self.program.step, self.program.carry, first, first + count, rows)
        self.seconds += time.perf_counter() - begin
        if failed >= 0:
            self.failure = self._describe(failed, last - first)
            # The failed step left its marks in memory: repeat the ones before it, so that the state is that of the last one.
            self.memory[:] = before
            if last > first:
                stats = self._iterations.copy(), self._residuals.copy()
                self._call(NOTHING, self.program.step, self.program.carry, first, last, rows)
                self._iterations[:], self._residuals[:] = stats
        n = last - first
        self.done += n
        if n:
            self.row = rows[n]
        if self.clock.end < math.inf:
            self.memory[self.clock.t_1] = self.row[
                0
            ]  # the loop has looked at the next step to see that it is beyond the end
        return Rows(rows[1 : n + 1], self._iterations[:n].copy(), self._residuals[:n].copy())

    @property
    def complete(self) -> bool:
        """Whether the end time is reached."""
        return self.done >= self.steps if self.clock.end == math.inf else self.t >= self.clock.end

    def advance(self, keep: Keep, interrupted: Callable[[], bool], show: Callable[[int], None]) -> None:
        """All steps, in chunks of about CHUNK_SECONDS; the first is a single step, for it may take long."""
        chunk = 1
        while not self.complete and self.failure is None and not interrupted():
            before = self.seconds
            left = self.steps - self.done if self.clock.end == math.inf else chunk
            keep.take(self.step(min(chunk, left)))
            show(round((self.t - self.clock.start) / self.clock.step) - self.first)
            elapsed = max(self.seconds - before, 1e-9)
            chunk = max(1, min(8 * chunk, int(chunk * CHUNK_SECONDS / elapsed), keep.chunk or CHUNK_ROWS))

    def _describe(self, failed: int, row: int) -> Failure:
        residual, count = float(self._residuals[row, failed]), self._iterations[row, failed]
        reached = f"{residual:.2e}" if np.isfinite(residual) else "not finite"
        stage, tolerance = self.stages[failed], self.options.tolerance
        what = f"the {stage.replace('_', ' ')} did not converge. Residual {reached} (tolerance {tolerance:g})"
        tried = f"after {count} iterations, with restarts, Gauss-Seidel sweeps, compliance and damping"
        if residual < tolerance:  # of every stage that is solved in turn, but never of all at once
            what, tried = "the stages that are solved in turn", f"did not settle after {count} iterations of {stage!r}"
        message = f"{what} {tried}. A smaller dt often helps"
        return Failure(float(self.memory[self.clock.t_1]), stage, residual, message)

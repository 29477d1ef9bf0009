"""The run of a program of stages: a loop over states, in chunks, with a rule for what is kept."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from stickslip.engine.attempts import named_counts, stages_by_bodies
from stickslip.engine.calls import FAR, WIDER, LoopCalls
from stickslip.engine.check import uneven_masses
from stickslip.engine.detected import own_tables
from stickslip.engine.failure import Failure, Reached, failure_of, jam_in, unclosed
from stickslip.engine.fields import DT, Q_0, RESULTS, T_0, T_1, U_0, Field
from stickslip.engine.jams import CARRIES
from stickslip.engine.limits import judge, limits_of, may_bounce
from stickslip.engine.narrow import narrow_record, widened
from stickslip.engine.program import Program
from stickslip.engine.runs import CHUNK_ROWS, ROUNDING, Keep, Rows, Start, row_plan
from stickslip.engine.state import State
from stickslip.engine.subdivide import subdivided
from stickslip.engine.watch import STRIDE
from stickslip.patience import Abandoned, patient_until

BY_BODIES = "by bodies"  # what a program keeps: stages for solvers on the graph of bodies
PACE = "pace"  # what a program keeps: seconds of a step of the last run
FIRST_ROWS = 512  # of the first chunk: a run may be slower than the one before, and wants to be interrupted
NOTHING = np.zeros((0, 4), np.int64)  # a program without instructions
CHUNK_SECONDS = 0.1  # of compiled steps between two looks at the clock and at Ctrl-C


class ProgramRun(LoopCalls):
    """A run of a program of stages. `step` leads from its state to the next; `advance` is the loop."""

    naps = True  # whether contacts that are far away may sleep
    by_itself = True  # nothing happens between its steps
    _row: np.ndarray  # the last one, with these columns, or all of them
    _row_columns: np.ndarray | None

    def __init__(self, program: Program, start: Start, extra: tuple[Field, ...] = ()):
        from stickslip.engine.advance import Clock, Options

        self.steps, self.done, self.extra = start.steps, 0, extra
        self.failure: Failure | None = None
        self.seconds, self.method, self.solver = 0.0, start.method, start.solver
        self.rescued_by = {}
        self.subdivides, self.subdivided = start.subdivide, 0
        self._trouble, self._excepted, self.crowd = None, False, None
        self._sizes = start.sizes
        self._use(program)
        layout = program.layout
        self.memory[: layout.parameters] = start.parameters
        self._seen = self.memory[: layout.parameters].copy()
        self.options = Options(start.tol, start.max_iterations, start.prox)
        end = start.t_end - ROUNDING * start.dt if program.decides_step else math.inf
        t_0, t_1, dt = (layout.start[each] for each in (T_0, T_1, DT))
        self.clock = Clock(t_0, t_1, dt, start.t, start.dt, end, 0)
        self.first = 0 if start.state is None else start.state.step
        self.first_row = np.zeros(self.record.size)
        self._count_up_to(FIRST_ROWS)
        if start.state is None:
            self.first_row[: 1 + start.q.size + start.u.size] = np.concatenate([[start.t], start.q, start.u])
            self.row = self.first_row  # of the last step
            self.memory[layout.places(Q_0)], self.memory[layout.places(U_0)] = start.q, start.u
            self._begin()
            further = 1 + sum(self.columns[each.name] for each in RESULTS)
            self.first_row[further:] = self.memory[self.record[further:]]
        else:
            extras = [start.state.kept(each.name)[: self.columns[each.name]] for each in extra]
            nothing = np.zeros(sum(self.columns[each.name] for each in RESULTS[2:]))
            self.first_row[:] = np.concatenate([[start.state.t], start.state.q, start.state.u, nothing, *extras])
            self.state = start.state

    def _use(self, program: Program) -> None:
        """Work with this program: its tables, a memory, scratch arrays, and which places make up a row of results."""
        from stickslip.engine.advance import workspace
        from stickslip.engine.levels import blank_memory, row_sizes
        from stickslip.engine.naps import allow_naps

        self.program, self.tables, self.stages = program, program.tables, program.solved
        self.n_residuals = program.n_residuals
        if BY_BODIES not in program.kept:
            program.kept[BY_BODIES] = stages_by_bodies(program)
        self.by_bodies = program.kept[BY_BODIES]
        self.memory, self.work = blank_memory(program, self._sizes), workspace(program)
        self._blank: np.ndarray | None = None
        if self._sizes is not None:
            self.work.sizes[:] = row_sizes(program, self._sizes)
        self.limits = limits_of(program.numbering)
        if self.extra not in program.kept:
            program.kept[self.extra] = row_plan(program, self.extra)
        self.columns, self.record, self.remembered = program.kept[self.extra]
        self._narrow = None
        if self.naps and program.watch.size:
            self.tables = own_tables(program)
            allow_naps(self.tables, self.work)
            if self.limits is None and (narrow := narrow_record(program, self.extra, self.record)) is not None:
                self._narrow = narrow
                narrow.tell(self.work)

    @property
    def blank(self) -> np.ndarray:
        """The memory of a run that has not begun; parameters are missing."""
        from stickslip.engine.levels import blank_memory

        if self._blank is None:  # as large as the memory, and rarely needed
            self._blank = blank_memory(self.program, self._sizes)
        return self._blank

    def _count_up_to(self, count: int) -> None:
        """For iterations and residuals of so many steps."""
        self._iterations = np.zeros((count, len(self.program.solved)), np.int64)
        self._residuals = np.zeros((count, self.program.n_residuals))

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """The time between two steps."""
        n = self.first + self.done
        return self.clock.start + n * self.clock.step if self.clock.end == math.inf else float(self._row[0])

    @property
    def row(self) -> np.ndarray:
        """Results of the last step."""
        if self._row_columns is not None:
            self._row, self._row_columns = widened(self._row, self._row_columns, self.record.size), None
        return self._row

    @row.setter
    def row(self, row: np.ndarray) -> None:
        self._row, self._row_columns = row, None

    @property
    def state(self) -> State:
        """Where the run is."""
        layout = self.program.layout
        memory = {each.name: self.memory[places].copy() for each, places in self.remembered.items()}
        t, n_q, n_u = 1, layout.size[Q_0], layout.size[U_0]
        q, u = self._row[t : t + n_q].copy(), self._row[t + n_q : t + n_q + n_u].copy()
        return State(self.method, self.clock.start, self.clock.step, self.first + self.done, self.t, q, u, memory)

    @state.setter
    def state(self, state: State) -> None:
        kept = {each: state.kept(each.name, self.memory[places].shape) for each, places in self.remembered.items()}
        self._awake()
        for each, places in self.remembered.items():
            self.memory[places] = kept[each]
        self.memory[self.clock.t_1] = state.t
        self.row = self.first_row.copy()
        self.row[: 1 + state.q.size + state.u.size] = np.concatenate([[state.t], state.q, state.u])
        self.first, self.done = state.step, 0

    def _begin(self) -> None:
        """The stages before the first step. It also loads the compiled loop, which is not the time of a step."""
        failed = self._call(self.program.begin, NOTHING, NOTHING, 0, 1, np.zeros((2, self.record.size)), self.record)[1]
        if failed >= 0:
            self.failure = self._describe(failed, 0)

    # -- steps -----------------------------------------------------------------------------------------------------

    def restart(self, t: float, dt: float, q: np.ndarray, u: np.ndarray) -> None:
        """Begin anew from another state, at another time, with another step; parameters stay."""
        layout, parameters = self.program.layout, self.memory[: self.program.layout.parameters].copy()
        self._awake()
        self.memory[:] = self.blank
        self.memory[: layout.parameters] = parameters
        self.memory[layout.places(Q_0)], self.memory[layout.places(U_0)] = q, u
        self.clock = self.clock._replace(start=t, step=dt)
        self.first, self.done, self.failure, self.jammed_at = 0, 0, None, None
        self.row = self.first_row.copy()
        self.row[: 1 + q.size + u.size] = np.concatenate([[t], q, u])
        self._begin()

    def look_around(self) -> None:
        """What a run does before each of its steps: here nothing."""

    def look_ahead(self, dt: float) -> np.ndarray:
        """The row of a step of another length from here; the run stays where it is."""
        self._awake()
        before, clock, stats = self.memory.copy(), self.clock, (self._iterations[0].copy(), self._residuals[0].copy())
        self.clock = clock._replace(start=self.t, step=dt)
        rows = np.zeros((2, self.record.size))
        _, failed = self._call(NOTHING, self.program.step, self.program.carry, 0, 1, rows, self.record)
        self._looked(rows[1])
        self._awake()
        self.memory[:], self.clock = before, clock
        self._iterations[0], self._residuals[0] = stats
        if failed >= 0:
            rows[1] = np.nan
        return rows[1]

    @property
    def swept(self) -> dict[str, int]:
        """How many stages with many contacts were solved by sweeps."""
        return {}

    def _looked(self, row: np.ndarray) -> None:
        """A step was looked at, which ends with this row; its marks are still in the memory."""

    @property
    def counts(self) -> tuple[np.ndarray, dict[str, int]]:
        """How often each attempt and each other solver succeeded: to be set back where steps are repeated."""
        return self.work.solved_by.copy(), dict(self.rescued_by)

    @counts.setter
    def counts(self, counts: tuple[np.ndarray, dict[str, int]]) -> None:
        self.work.solved_by[:], self.rescued_by = counts[0], dict(counts[1])

    @property
    def solved_by(self) -> dict[str, int]:
        """How many stages each means has solved: Newton's method from its first start, from zero, or what came after."""
        own = {**self.swept, **named_counts(self.work.solved_by), **self.rescued_by}
        own |= {"subdivision": self.subdivided}
        return {name: count for name, count in own.items() if count}

    def step(self, count: int) -> Rows:
        """Up to so many steps, fewer also if one fails or the end is reached; `failure` says why."""
        return self._all_columns(*self._narrow_steps(count))

    def rows(self, count: int) -> tuple[Rows, np.ndarray | None]:
        """The same, with columns that may be fewer, see `engine.narrow`; None: all of them."""
        return self._narrow_steps(count) if self.by_itself else (self.step(count), None)

    def _all_columns(self, rows: Rows, columns: np.ndarray | None) -> Rows:
        return rows._replace(results=widened(rows.results, columns, self.record.size))

    def _narrow_steps(self, count: int) -> tuple[Rows, np.ndarray | None]:
        rows, columns = self._steps(count)
        if self.failure is None or self.failure.final or not self.subdivides:
            return rows, columns
        begin = time.perf_counter()
        bridge = subdivided(self)
        self.seconds += time.perf_counter() - begin
        if bridge is None:
            return rows, columns
        both = self._all_columns(rows, columns), bridge
        return Rows(*map(np.concatenate, zip(*both, strict=True))), None

    def piece(self, t: float, dt: float) -> Rows | None:
        """One step of another length from the present memory; None if it fails."""
        self.clock = self.clock._replace(start=t, step=dt)
        rows = np.zeros((2, self.record.size))
        self._iterations[0], self._residuals[0] = 0, 0.0
        failed = self._call(NOTHING, self.program.step, self.program.carry, 0, 1, rows, self.record)[1]
        return None if failed >= 0 else Rows(rows[1:], self._iterations[:1].copy(), self._residuals[:1].copy())

    def _snapshot(self) -> Any:
        """What `_back` needs to take a step back."""
        return self.memory.copy()

    def _back(self, snapshot: Any) -> None:
        self.memory[:] = snapshot

    def back_to(self, memory: np.ndarray) -> None:
        """Take back what was done since the memory was this one."""
        self.memory[:] = memory
        self._awake()

    def _steps(self, count: int) -> tuple[Rows, np.ndarray | None]:
        """The same, up to the first step that fails, or that needs more columns."""
        count, narrow = min(count, CHUNK_ROWS), self._narrow
        first, record = self.first + self.done, self.record if narrow is None else narrow.places
        before = self._snapshot()
        rows = np.empty((count + 1, record.size))
        if count > len(self._iterations):
            self._count_up_to(count)
        self._iterations[:count], self._residuals[:count] = 0, 0.0
        begin = time.perf_counter()
        try:
            last, failed = self._call(
                NOTHING, self.program.step, self.program.carry, first, first + count, rows, record
            )
        except Abandoned:
            self._awake()
            self._back(before)
            raise
        self.seconds += time.perf_counter() - begin
        if failed >= 0:
            self.failure = self._describe(failed, last - first)
        if self.limits is not None:
            rows[0] = self.row[: self.record.size]
            found, given, n = rows[: last - first + 1], self._parameters, last - first
            masses = (
                n > 1 or last % STRIDE == 0 or failed >= 0 or self.done + n >= self.steps > 0
            )  # not in every single step
            self.failure, good = judge(self.limits, found, self.columns, given, self.failure, self.clock.step, masses)
            failed, last = -1 if self.failure is None else 0, first + good
        if failed >= 0:
            # The failed step left its marks in memory: repeat the ones before it, so that the state is that of the last one.
            self._awake()
            self._back(before)
            if last > first:
                stats, counts = (self._iterations.copy(), self._residuals.copy()), self.counts
                self._call(NOTHING, self.program.step, self.program.carry, first, last, rows, record)
                (self._iterations[:], self._residuals[:]), self.counts = stats, counts
        n = last - first
        self.done += n
        results, columns = rows[1 : n + 1], None
        if narrow is not None:
            if self.work.signals[WIDER]:
                results = narrow.wider(results, self.memory, self.work)
            columns = narrow.given
        if n:
            self._row, self._row_columns = results[-1], columns
        if self.clock.end < math.inf:  # the loop has looked at the next step to see that it is beyond the end
            self.memory[self.clock.t_1] = self._row[0]
        return Rows(results, self._iterations[:n].copy(), self._residuals[:n].copy()), columns

    @property
    def _parameters(self) -> np.ndarray:
        return self.memory[: self.program.layout.parameters]

    @property
    def complete(self) -> bool:
        """Whether the end time is reached."""
        return self.done >= self.steps if self.clock.end == math.inf else self.t >= self.clock.end

    def advance(self, keep: Keep, interrupted: Callable[[], bool], show: Callable[[int], None]) -> None:
        """All steps, in chunks of about CHUNK_SECONDS; the first is a single step, unless a run before was fast."""
        pace = self.program.kept.get(PACE, CHUNK_SECONDS)  # seconds per step
        most = FIRST_ROWS if threading.current_thread() is threading.main_thread() else CHUNK_ROWS
        chunk = max(1, min(most, int(CHUNK_SECONDS / pace), keep.chunk or CHUNK_ROWS))
        while not self.complete and self.failure is None and not interrupted():
            before = self.seconds
            left = self.steps - self.done if self.clock.end == math.inf else chunk
            with suppress(Abandoned), patient_until(interrupted):
                keep.take(*self.rows(min(chunk, left)))
            show(round((self.t - self.clock.start) / self.clock.step) - self.first)
            elapsed = max(self.seconds - before, 1e-9)
            chunk = max(1, min(8 * chunk, int(chunk * CHUNK_SECONDS / elapsed), keep.chunk or CHUNK_ROWS))
        if self.done:
            self.program.kept[PACE] = self.seconds / self.done

    def _bounces(self) -> bool:
        """Whether contacts have restitution."""
        q = self.memory[self.program.layout.places(Q_0)]
        return may_bounce(self.program.numbering, self.t, q, self._parameters)

    def _masses(self) -> str:
        """Which masses differ too much."""
        q = self.memory[self.program.layout.places(Q_0)]
        return uneven_masses(self.program.numbering, self.t, q, self._parameters)

    def _describe(self, failed: int, row: int) -> Failure:
        residual, count, trouble = float(self._residuals[row, failed]), self._iterations[row, failed], self._trouble
        t_1, tolerance = float(self.memory[self.clock.t_1]), self.options.tolerance
        reached = Reached(
            self.stages[failed],
            t_1,
            residual,
            tolerance,
            int(count),
            self.subdivides,
            self.solver,
            bool(self.work.signals[FAR]),
            trouble is not None and self._bounces(),
            self._masses(),
        )
        layout, errors = self.program.layout, None if trouble is None else trouble.errors
        jam = None if trouble is None else jam_in(trouble)
        if jam is not None:
            errors, tolerance = jam, CARRIES * jam.max()
        rows = () if errors is None else unclosed(self.tables, layout, failed, errors, tolerance)
        return failure_of(reached, trouble, rows, jam is not None)

"""A run: a loop over states, in chunks, with a rule for what is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from stickslip.engine.detected import own_tables
from stickslip.engine.fields import DT, Q_0, RESULTS, SPACES, T_0, T_1, U_0, Field
from stickslip.engine.layout import slices
from stickslip.engine.program import Program
from stickslip.engine.state import State

# As in engine.work, which loads the compiler.
INSTRUCTION, RESUMED = 0, 3
GO_ON, STOPPED = 1, 2
ROUND_OFF = 1e-12  # of a residual: what is smaller may be due to rounding
CHEAP = 5  # attempts of the compiled loop before other solvers are asked
NOTHING = np.zeros((0, 4), np.int64)  # a program without instructions
ROUNDING = 1e-9  # of a step, that the last time may miss t_end by
CHUNK_SECONDS = 0.1  # of compiled steps between two looks at the clock and at Ctrl-C
MOST_DENSE = 3000  # unknowns of a linearised problem that is solved as a dense one
CHUNK_ROWS = 4096  # that one chunk has at most
HALVINGS = 10  # of a step that could not be solved, if steps may be subdivided


class Start(NamedTuple):
    """Where a run begins, and the options of `solve`; `state` is where it continues, if it does.

    `subdivide`: a step that cannot be solved is repeated in shorter ones.
    """

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
    subdivide: bool = False
    sizes: Mapping[tuple[str, bool], np.ndarray] | None = None  # that residuals are relative to, see `engine.levels`


class Failure(NamedTuple):
    """Why the step to t_1 could not be done; `message` is a sentence, or two, for the user."""

    t_1: float
    stage: str
    residual: float
    message: str
    remedy: str = ""
    rows: tuple[tuple[str, int], ...] = ()  # constraints and contacts that did not close: space and number
    problem: Any = None  # the linearised one-step problem
    names: tuple[str, ...] = ()  # of what did not close and has no number: detected contacts


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

    naps = True  # whether contacts that are far away may sleep

    def __init__(self, program: Program, start: Start, extra: tuple[Field, ...] = ()):
        from stickslip.engine.advance import Clock, Options

        self.steps, self.done, self.extra = start.steps, 0, extra
        self.failure: Failure | None = None
        self.seconds, self.method = 0.0, start.method
        self.rescued_by: dict[str, int] = {}  # how often which solver found what Newton's method did not
        self.subdivides, self.subdivided = start.subdivide, 0
        self._trouble: Any = None
        self.crowd: Any = None  # solves stages with many contacts, where there are (`engine.crowd`)
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
        self._loop: Callable[..., tuple[int, int]] | None = None
        self._iterations = np.zeros((CHUNK_ROWS, len(program.solved)), np.int64)
        self._residuals = np.zeros((CHUNK_ROWS, len(program.solved)))
        if start.state is None:
            self.first_row[: 1 + start.q.size + start.u.size] = np.concatenate([[start.t], start.q, start.u])
            self.row = self.first_row  # of the last step
            self.memory[layout.places(Q_0)], self.memory[layout.places(U_0)] = start.q, start.u
            self._begin()
            further = 1 + sum(self.columns[each.name] for each in RESULTS)
            self.first_row[further:] = self.memory[self.record[further:]]
        else:
            extras = [start.state.memory[each.name][: self.columns[each.name]] for each in extra]
            nothing = np.zeros(sum(self.columns[each.name] for each in RESULTS[2:]))
            self.first_row[:] = np.concatenate([[start.state.t], start.state.q, start.state.u, nothing, *extras])
            self.state = start.state
            self.row = self.first_row

    def _use(self, program: Program) -> None:
        """Work with this program: its tables, a memory, scratch arrays, and which places make up a row of results."""
        from stickslip.engine.advance import workspace
        from stickslip.engine.naps import allow_naps

        layout, declared = program.layout, program.numbering.declared
        self.program, self.tables, self.stages = program, program.tables, program.solved
        self.remembered = tuple(dict.fromkeys([*program.memory, *self.extra]))
        self.memory, self.work = np.zeros(layout.total), workspace(program)
        if self._sizes is not None:
            from stickslip.engine.levels import row_sizes

            self.work.sizes[:] = row_sizes(program, self._sizes)
        if self.naps and program.watch.size and not self.extra:
            self.tables = own_tables(program)
            allow_naps(self.tables, self.work)
        fields = [*RESULTS, *self.extra]
        self.columns = {"t": 1} | {each.name: declared[each.space] for each in fields}
        places = [layout.places(each)[: declared[each.space]] for each in fields]
        self.record = np.concatenate([layout.places(T_1), *places])

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
        self._awake()
        layout = self.program.layout
        for each in self.remembered:
            self.memory[layout.places(each)] = state.memory[each.name]
        self.memory[self.clock.t_1] = state.t
        self.row = self.first_row.copy()
        self.row[: 1 + state.q.size + state.u.size] = np.concatenate([[state.t], state.q, state.u])
        self.first, self.done = state.step, 0

    def _awake(self) -> None:
        """Look at all contacts again: something other than a step has changed the memory."""
        if self.work.nap[0]:
            from stickslip.engine.naps import allow_naps, wake

            wake(self.tables, self.work)
            allow_naps(self.tables, self.work)
            self._seen[:] = self.memory[: self._seen.size]

    def _begin(self) -> None:
        """The stages before the first step. It also loads the compiled loop, which is not the time of a step."""
        failed = self._call(self.program.begin, NOTHING, NOTHING, 0, 1, np.zeros((2, self.record.size)))[1]
        if failed >= 0:
            self.failure = self._describe(failed, 0)

    # -- steps -----------------------------------------------------------------------------------------------------

    def _call(
        self, begin: np.ndarray, step: np.ndarray, carry: np.ndarray, first: int, last: int, rows: np.ndarray
    ) -> tuple[int, int]:
        """Steps `first` to `last`: those that are done in all, and the stage that could not be solved by any means, or -1.

        The compiled loop makes the first, cheap attempts; then come the solvers of `nonsmooth`, then the other attempts.
        """
        from stickslip.engine.advance import allow_sweeps

        clock, done, tried = self.clock._replace(row=first), first, 0
        tables, stats, signals = self.tables, (self._iterations, self._residuals), self.work.signals
        if self.work.nap[0] and not np.array_equal(self.memory[: self._seen.size], self._seen):
            self._awake()  # parameters have changed
        cheap, rest = self.options._replace(attempt_1=CHEAP), self.options._replace(attempt_0=CHEAP)
        evaluate = self.options._replace(attempt_1=1, iterations=0)
        options, where = cheap if self.crowd is None else evaluate, (-1, -1)
        signals[RESUMED] = 0
        while True:
            loop, until = self._loop or self._first_loop(), last if options is cheap else done + 1
            done, failed = loop(
                tables,
                begin,
                step,
                carry,
                self.memory,
                self.work,
                options,
                clock,
                done,
                until,
                self.record,
                rows,
                *stats,
            )
            if failed < 0 and options is not cheap and done == until < last:
                options = cheap  # what one step needed the next one may not
                continue
            if failed < 0 or signals[RESUMED] != STOPPED:  # what does not settle in turn cannot be resumed
                return done, failed
            if options is evaluate:
                if not self._sweep(failed, done - first, (done, int(signals[INSTRUCTION]))):
                    options = cheap
                signals[RESUMED] = GO_ON
                self._residuals[done - first, failed] = 0.0
                continue
            tried = tried + 1 if where == (done, signals[INSTRUCTION]) else 1
            where = (done, int(signals[INSTRUCTION]))
            if tried == 1:
                self._rescue(failed)  # finds the solution, or at least a better start
                options = cheap
            elif tried == 2:
                allow_sweeps(tables, self.work)
                options = rest
            else:
                return done, failed
            signals[RESUMED] = GO_ON
            self._residuals[done - first, failed] = 0.0

    def _sweep(self, k: int, row: int, where: tuple[int, int]) -> bool:
        """Solve a stage with many contacts; False if Newton's method is to take over."""
        assert self.crowd is not None
        self._iterations[row, k] += 1
        return self.crowd.solve(self.tables, k, self.memory, self.work, self.options, where)

    def _rescue(self, failed: int) -> bool:
        """Find a better start for a stage that the compiled attempts did not solve."""
        from stickslip.engine.rescue import Rescue, rescue

        if self.crowd is not None and self.tables.problems[failed]["n"] > MOST_DENSE:
            nothing = np.zeros(int(self.tables.problems[failed]["n"]))
            self._trouble = Rescue(False, np.inf, ("contact sweeps", "robust"), None, False, nothing)
            return False
        self._trouble = rescue(self.tables, failed, self.memory, self.work, self.options)
        if self._trouble.solved:
            for solver in self._trouble.solvers[-1:]:
                self.rescued_by[solver] = self.rescued_by.get(solver, 0) + 1
        return self._trouble.solved

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
        self._awake()
        self.memory[:] = 0.0
        self.memory[: layout.parameters] = parameters
        self.memory[layout.places(Q_0)], self.memory[layout.places(U_0)] = q, u
        self.clock = self.clock._replace(start=t, step=dt)
        self.first, self.done, self.failure = 0, 0, None
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
        rows = np.empty((2, self.record.size))
        _, failed = self._call(NOTHING, self.program.step, self.program.carry, 0, 1, rows)
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
    def solved_by(self) -> dict[str, int]:
        """How many stages each means has solved: Newton's method from its first start, from zero, or what came after."""
        counts, rescued = self.work.solved_by, sum(self.rescued_by.values())
        swept = self.swept
        newton = int(counts[0]) - rescued - sum(swept.values())
        own = {**swept, "newton": newton, "newton from zero": int(counts[1])}
        own |= {"newton with compliance": int(counts[2:].sum())} | self.rescued_by
        own |= {"subdivision": self.subdivided}
        return {name: count for name, count in own.items() if count}

    def step(self, count: int) -> Rows:
        """So many steps, or fewer if one fails or the end is reached; `failure` says why."""
        rows = self._steps(count)
        if self.failure is None or not self.subdivides:
            return rows
        begin = time.perf_counter()
        bridge = self._subdivide()
        self.seconds += time.perf_counter() - begin
        return rows if bridge is None else Rows(*map(np.concatenate, zip(rows, bridge, strict=True)))

    def _subdivide(self) -> Rows | None:
        """The step that failed, in pieces: its row has the percussions of all of them; None if that does not help either.

        A scheme that decides the length of its steps is offered shorter ones, and the first that it solves is its step.
        """
        clock, t, before, failure = self.clock, self.t, self.memory.copy(), self.failure
        pieces: list[Rows] = []
        if clock.end < math.inf:
            for halving in range(1, HALVINGS + 1):
                if self._piece(t, clock.step / 2**halving, pieces):
                    break
                self._back_to(before)
        else:
            self._halve(t, clock.step, HALVINGS, pieces)
        self.clock = clock
        if not pieces:
            self._back_to(before)
            text = f"{failure.message}; nor in steps down to {clock.step / 2**HALVINGS:.3g}" if failure else ""
            self.failure = failure._replace(message=text) if failure else None
            return None
        results, iterations, residuals = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        summed = self._columns(*[each.name for each in RESULTS[2:]])
        row = results[-1].copy()
        row[summed] = results[:, summed].sum(axis=0)
        if clock.end == math.inf:
            row[0] = clock.start + (self.first + self.done + 1) * clock.step
        self.failure, self.row = None, row
        self.done, self.subdivided = self.done + 1, self.subdivided + 1
        return Rows(row[None, :], iterations.sum(axis=0, keepdims=True), residuals.max(axis=0, keepdims=True))

    def _halve(self, t: float, dt: float, depth: int, pieces: list[Rows]) -> bool:
        """Two halves of a step, and halves of those that fail; what is solved goes to `pieces`, nothing if one is not."""
        for k in range(2):
            before = self.memory.copy()
            if self._piece(t + k * dt / 2, dt / 2, pieces):
                continue
            self._back_to(before)
            if depth == 1 or not self._halve(t + k * dt / 2, dt / 2, depth - 1, pieces):
                pieces.clear()
                return False
        return True

    def _back_to(self, memory: np.ndarray) -> None:
        self.memory[:] = memory
        self._awake()

    def _piece(self, t: float, dt: float, pieces: list[Rows]) -> bool:
        """One step of another length from the present memory."""
        self.clock = self.clock._replace(start=t, step=dt)
        rows = np.empty((2, self.record.size))
        self._iterations[0], self._residuals[0] = 0, 0.0
        failed = self._call(NOTHING, self.program.step, self.program.carry, 0, 1, rows)[1]
        if failed < 0:
            pieces.append(Rows(rows[1:], self._iterations[:1].copy(), self._residuals[:1].copy()))
        return failed < 0

    def _columns(self, *names: str) -> np.ndarray:
        """Where these columns lie in a row."""
        at = slices(self.columns)
        return np.concatenate([np.r_[at[n]] for n in names]).astype(int)

    def _steps(self, count: int) -> Rows:
        """The same, up to the first step that fails."""
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
            self._awake()
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
        stage, tolerance, t_1 = self.stages[failed], self.options.tolerance, float(self.memory[self.clock.t_1])
        trouble = self._trouble
        if residual < tolerance or trouble is None:  # of every stage that is solved in turn, but never of all at once
            what = f"the stages that are solved in turn did not settle after {count} iterations of {stage!r}"
            return Failure(t_1, stage, residual, what, "a smaller dt may help")
        reached = f"{residual:.2e}" if np.isfinite(residual) else "not finite"
        what = f"no solution of the {stage.replace('_', ' ')} was found. Residual {reached} (tolerance {tolerance:g})"
        tried = f"after {count} iterations of Newton's method with restarts"
        names = [name for name in dict.fromkeys(trouble.solvers) if name != "start"]
        tried += f", and by {', '.join(names)} on the linearised problem" if names else ""
        if trouble.no_solution and stage.endswith("accelerations"):  # a linear problem: enumeration is a proof
            what = "no acceleration exists here: every normal force would press a sliding contact into its obstacle "
            what += (
                f"(Painlevé's paradox). Residual of the {stage.replace('_', ' ')} {reached} (tolerance {tolerance:g})"
            )
            tried += ", proved by enumeration of all modes"
            remedy = "less friction does, or a method without accelerations, such as rattle"
        elif trouble.no_solution:
            tried += "; its linearised problem has no solution, which enumeration of all modes proves"
            remedy = "a smaller dt does not help; less friction, another geometry or an impact law with other restitution does"
        elif residual < ROUND_OFF:
            remedy = f"tol = {tolerance:g} is below rounding: take tol={10 * residual:.0e} or more"
        elif not np.isfinite(residual):
            remedy = "the motion has exploded: a smaller dt or a scheme with implicit forces may help"
        else:
            remedy = (
                "a smaller dt may help; `problem` of this error is the contact problem, `problem.save(path)` keeps it"
            )
        return Failure(
            t_1, stage, residual, f"{what} {tried}", remedy, self._unclosed(trouble.errors, failed), trouble.problem
        )

    def _unclosed(self, errors: np.ndarray, failed: int) -> tuple[tuple[str, int], ...]:
        """The constraints and contacts with the largest errors above the tolerance, at most five."""
        tables, layout = self.tables, self.program.layout
        stage = tables.problems[failed]
        found: list[tuple[str, int]] = []
        for i in np.argsort(-errors)[:20]:
            if errors[i] < self.options.tolerance or len(found) == 5:
                break
            for segment in tables.segments[stage["segment_0"] : stage["segment_1"]]:
                offset = int(i) - int(segment["first"])
                if 0 <= offset < segment["length"]:
                    for each, start in layout.start.items():
                        inside = int(segment["start"]) + offset - start
                        if each.space in SPACES and 0 <= inside < layout.size[each]:
                            found.append((str(each.space), inside))
        return tuple(dict.fromkeys(found))

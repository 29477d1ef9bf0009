"""The loop of event-driven integration: smooth phases by SciPy, events by root finding, modes by complementarity.

The five problems it solves are stages, written in `schemes.event_driven`; here they are functions of numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.engine.derive import Model
from stickslip.engine.fields import (
    PERCUSSIONS,
    Q_0,
    Q_1,
    RESULTS,
    T_0,
    U_0,
    U_1,
    F,
    Field,
    Multipliers,
    N,
    Q,
    U,
    expand,
)
from stickslip.engine.program import Program
from stickslip.engine.run import Failure, Keep, Rows, Start
from stickslip.engine.state import State

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

# What the search for events knows and sees. Masks of modes: CLOSED and STICK are 1 or 0, OPEN is positive for yes.
CLOSED, OPEN, STICK, SLIDING = Field("closed", N), Field("open", N), Field("stick", F), Field("sliding", F)
DIRECTION = Field("direction", F)  # of slip, zero where an element does not slide
A, LA, FORCE_F, RADIUS = Field("a", U), Multipliers("la"), Field("force.F", F), Field("radius", F)
QDOT, GAP, GAP_DOT, SLIP = Field("qdot", Q), Field("gap", N), Field("gap_dot", N), Field("slip", F)
LIFTS = Field("lifts", N)  # contacts at rest that will open
SHIFT = Field("shift", U)

ROUND_OFF = 1e-12  # relative residual of the five problems: their linear systems are solved to about 1e-14
TOUCHING = 16 * np.finfo(float).eps  # of the size of the coordinates: what counts as touching
# Contacts that close at once in exact arithmetic (a flat face) do so to the accuracy of the positions only. One impact of
# both differs from two impacts in a row, so approaching contacts within this distance (of the size of the coordinates) are
# taken together.
TOGETHER = 1e-10
NO_SLIP = 1e-10  # speed, relative to the velocities, that counts as none
MARGIN = 1e-10  # forces: relative distance to zero, or to the friction cone, that counts as none
SAMPLES = 4  # of every step of the integrator, in search of events; gaps are followed to their minima in between


class EventOptions(NamedTuple):
    """As in `schemes.EventDriven`."""

    rtol: float
    atol: float
    integrator: str
    rest_velocity: float
    max_events: int


class Trouble(Exception):
    """The run cannot go on; `advance` makes a failure of it."""

    def __init__(self, stage: str, message: str, residual: float = np.nan):
        super().__init__(message)
        self.stage, self.residual = stage, residual


class Routine:
    """A program of one stage as a function of numbers: fields in, fields out."""

    def __init__(self, program: Program, inputs: Sequence[Field], outputs: Sequence[Field | Multipliers], start: Start):
        from stickslip.engine.advance import allow_sweeps, workspace

        layout = program.layout
        self._program, self._work, self._memory = program, workspace(program), np.zeros(layout.total)
        allow_sweeps(program.tables, self._work)
        self._memory[: layout.parameters] = start.parameters
        self._inputs, self._record = layout.places(*inputs), layout.places(*outputs)
        seen = list(expand(outputs))
        ends = np.cumsum([0, *[layout.size[each] for each in seen]])
        self._slices = {each: slice(a, b) for each, a, b in zip(seen, ends[:-1], ends[1:], strict=True)}
        self._counts = np.zeros(len(program.solved), np.int64), np.zeros(len(program.solved))
        self._iterations, self._prox = start.max_iterations, start.prox
        self.name = program.solved[0]

    @property
    def start(self) -> np.ndarray:
        """Where the next iterations start: all fields."""
        return self._memory[self._program.layout.parameters :]

    @start.setter
    def start(self, values: np.ndarray) -> None:
        self._memory[self._program.layout.parameters :] = values

    def __call__(self, *values: float | np.ndarray, scale: float = 1.0) -> dict[Field, np.ndarray]:
        """Solve, to ROUND_OFF of `scale`, the expected size of the unknowns; once more if they are found to be larger."""
        from stickslip.engine.advance import Options, call

        p, out = self._program, np.empty(self._record.size)
        given = np.concatenate([np.atleast_1d(v) for v in values])
        for expected in (scale, 1e3 * scale, 1e6 * scale):
            options = Options(ROUND_OFF * max(1.0, expected), self._iterations, self._prox)
            failed = call(
                p.step,
                p.tables,
                self._memory,
                self._work,
                options,
                self._inputs,
                given,
                self._record,
                out,
                *self._counts,
            )
            size = np.abs(out).max(initial=1.0)
            if failed < 0 and np.isfinite(size):
                return {each: out[s] for each, s in self._slices.items()}
            if not size > expected:
                break
        residual, name = float(self._counts[1].max(initial=0.0)), p.solved[0]
        raise Trouble(
            name, f"the problem of {name.replace('_', ' ')} has no solution, residual {residual:.2e}", residual
        )


@dataclass
class Modes:
    """Of all contacts (closed) and friction components (stick, direction of slip); numbers 0 and 1, as kernels want them."""

    closed: np.ndarray
    stick: np.ndarray
    direction: np.ndarray


class Phase(NamedTuple):
    """Smooth motion in fixed modes, from (t_0, q_0, u_0) to t_1; `row` is the output time that it leads to."""

    t_0: float
    q_0: np.ndarray
    u_0: np.ndarray
    t_1: float
    modes: Modes
    row: int


class Jump(NamedTuple):
    """One impact: velocities before and after, and all percussions, in the order of SPACES."""

    u_0: np.ndarray
    u_1: np.ndarray
    P: np.ndarray


@dataclass
class Transition:
    """What happened at an event: state and modes before, contacts that touched, impacts, contacts at rest, what follows.

    `event` counts contacts, then friction elements; -1 is the start of the run.
    """

    t: float
    event: int
    q_0: np.ndarray
    u_0: np.ndarray
    before: Modes
    touching: np.ndarray
    row: int
    impacts: list[Jump] = field(default_factory=list)
    resting: np.ndarray = field(default_factory=lambda: np.zeros(0))
    slip: np.ndarray = field(default_factory=lambda: np.zeros(0))
    q_1: np.ndarray = field(default_factory=lambda: np.zeros(0))
    u_1: np.ndarray = field(default_factory=lambda: np.zeros(0))
    after: Modes | None = None


History = list[Phase | Transition]
_HISTORY: ContextVar[History | None] = ContextVar("history", default=None)


@contextmanager
def recorded() -> Iterator[History]:
    """Keep what event-driven runs do in here, one phase and one event after the other: derivatives are taken of that.

    >>> with recorded() as history:
    ...     pass
    >>> history
    []
    """
    history: History = []
    token = _HISTORY.set(history)
    try:
        yield history
    finally:
        _HISTORY.reset(token)


class Sample(NamedTuple):
    """A look at a step: numbers that are positive as long as the modes last, and velocities of open gaps (1 for closed)."""

    t: float
    lasting: np.ndarray
    gap_dot: np.ndarray


class FrictionRows(NamedTuple):
    """A friction element: its rows, and its normal contacts."""

    rows: slice
    normals: tuple[int, ...]

    def is_off(self, closed: np.ndarray) -> bool:
        """Whether it has normal contacts, and none of them is closed."""
        return bool(self.normals) and not closed[list(self.normals)].any()


def _elements(model: Model) -> tuple[FrictionRows, ...]:
    out, n_N, n_F = [], 0, 0
    for part in model.parts:
        for f in part.type.frictions:
            rows = slice(n_F + f.first, n_F + f.first + f.size)
            out.append(FrictionRows(rows, tuple(n_N + i for i in f.normals)))
        n_N, n_F = n_N + part.type.n["N"], n_F + part.type.n["F"]
    return tuple(out)


class EventRun:
    """One trajectory, see `engine.run.Run`. Iterations count right-hand sides, residuals are the drift from the constraints."""

    stages: tuple[str, ...] = ("motion",)
    failure: Failure | None

    def __init__(self, model: Model, programs: Mapping[str, Program], start: Start, options: EventOptions):
        size = programs["motion"].layout.size
        self.options, self.start, self.elements = options, start, _elements(model)
        state, modes = (T_0, Q_0, U_0), (CLOSED, STICK, DIRECTION)
        seen = (A, QDOT, LA.g, LA.gamma, LA.N, FORCE_F, RADIUS, GAP, GAP_DOT, SLIP)
        self._motion = Routine(programs["motion"], (*state, *modes), seen, start)
        given = (*state, OPEN, SLIDING, DIRECTION)
        self._choice = Routine(programs["choice"], given, (LIFTS, LA.F, RADIUS), start)
        self._impact = Routine(programs["impact"], (*state, OPEN), (U_1, PERCUSSIONS), start)
        self._project_q = Routine(programs["project_positions"], (T_0, Q_0, CLOSED), (Q_1,), start)
        self._project_u = Routine(programs["project_velocities"], (*state, CLOSED, STICK), (U_1,), start)

        self.history = _HISTORY.get()
        self.routines = (self._motion, self._choice, self._impact, self._project_q, self._project_u)

        self.done, self.seconds, self.failure = 0, 0.0, None
        self.n_q, self.n_u, self.n_N = start.q.size, start.u.size, size[LA.N]
        sizes = [self.n_q, self.n_u, *[size[each] for each in LA.fields]]
        self.columns = {"t": 1} | dict(zip([each.name for each in RESULTS], sizes, strict=True))
        self.columns |= {"events": 1, "last_event": 1}
        self.y = np.concatenate([start.q, start.u, np.zeros(sum(sizes[2:]))])
        self.modes = Modes(np.zeros(self.n_N), np.zeros(size[LA.F]), np.zeros(size[LA.F]))
        self.t, self._step, self._scale, self.first = start.t, start.dt, 1.0, 0
        self._floor = np.zeros(self.n_N)  # gaps at the last event where they are negative by rounding errors
        self._events, self._last_event, self._calls, self._drift = 0, np.nan, 0, 0.0  # of the present interval
        if start.state is not None:
            self.state = start.state
        self.first_row = self._row()

    # -- what `solve` sees -----------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Where the run is: modes and step of the integrator, and where the iterations of the five problems start."""
        numbers = np.array([self._step, self._scale, self._events, self._last_event])
        arrays = {"numbers": numbers, "floor": self._floor, **vars(self.modes)}
        arrays |= {routine.name: routine.start for routine in self.routines}
        memory = {name: array.copy() for name, array in arrays.items()}
        q, u = self.y[: self.n_q].copy(), self.y[self.n_q : self.n_q + self.n_u].copy()
        return State(self.start.method, self.start.t, self.start.dt, self.first + self.done, self.t, q, u, memory)

    @state.setter
    def state(self, state: State) -> None:
        self.y[:] = 0.0
        self.y[: self.n_q + self.n_u] = np.concatenate([state.q, state.u])
        m = state.memory
        self.modes = Modes(m["closed"].copy(), m["stick"].copy(), m["direction"].copy())
        self._step, self._scale, events, self._last_event = m["numbers"].tolist()
        self._events, self._floor = int(events), m["floor"].copy()
        for routine in self.routines:
            routine.start = m[routine.name]
        self.t, self.first, self.done = state.t, state.step, 0

    def step(self, count: int) -> Rows:
        """So many intervals of the output, or fewer if one fails; `failure` says why."""
        begin, rows, stats = time.perf_counter(), [], []
        for _ in range(count):
            before = self.state
            try:
                self._interval(self.first + self.done)
            except Trouble as trouble:
                t_1 = self.start.t + (self.first + self.done + 1) * self.start.dt
                self.failure = Failure(t_1, trouble.stage, trouble.residual, str(trouble))
                done = self.done
                self.state = before
                self.first, self.done = before.step - done, done
                break
            self.done += 1
            rows.append(self._row())
            stats.append((self._calls, self._drift))
        self.seconds += time.perf_counter() - begin
        calls, drifts = (np.array([s[k] for s in stats]).reshape(-1, 1) for k in range(2))
        return Rows(np.array(rows).reshape(-1, self.first_row.size), calls.astype(np.int64), drifts.astype(float))

    def advance(self, keep: Keep, interrupted: Callable[[], bool], show: Callable[[int], None]) -> None:
        """All intervals of the output."""
        while not self.complete and self.failure is None and not interrupted():
            keep.take(self.step(1))
            show(self.done)

    @property
    def complete(self) -> bool:
        """Whether the end time is reached."""
        return self.done >= self.start.steps

    def _row(self) -> np.ndarray:
        t = self.start.t + (self.first + self.done) * self.start.dt
        return np.concatenate([[t], self.y, [self._events, self._last_event]])

    # -- one interval ----------------------------------------------------------------------------------------------

    def _interval(self, k: int) -> None:
        """From output time k to the next; the percussions are those of this interval."""
        t_end = self.start.t + (k + 1) * self.start.dt
        self.y[self.n_q + self.n_u :] = 0.0
        self._events, self._last_event, self._calls, self._drift = 0, np.nan, 0, 0.0
        if k == 0:
            self._settle()
        while self.t < t_end:
            begin = self.t, *self._copy()
            event = self._integrate(t_end)
            if self.history is not None:
                self.history.append(Phase(*begin, self.t, self.modes, k + 1))
            self._drift = max(self._drift, self._project())
            if event is None:
                break
            self._events += 1
            self._last_event = self.t
            if self._events > self.options.max_events:
                raise Trouble(
                    "motion",
                    f"more than {self.options.max_events} events before t = {self.t:.9g}: impacts accumulate, or a contact "
                    "chatters. An event-capturing method such as rattle passes such points; a larger rest_velocity or "
                    "max_events may do",
                )
            self._transition(event)
        self.t = t_end
        self._follow_directions()

    def _integrate(self, t_end: float) -> int | None:
        """Integrate to the next event, or to t_end; which event it is."""
        o = self.options
        from scipy import integrate  # here, because it takes as long to import as all of stickslip

        method = getattr(integrate, o.integrator)

        def solver(t: float, y: np.ndarray, t_bound: float):
            first = min(self._step, t_bound - t)
            return method(self._rate, t, y, t_bound, rtol=o.rtol, atol=o.atol, first_step=first)

        phase = solver(self.t, self.y, t_end)
        longest = 0.0
        while phase.status == "running":
            t_a, y_a = phase.t, phase.y
            self._advance(phase)
            longest = max(longest, phase.t - t_a)
            found = self._search(phase.dense_output(), t_a, phase.t)
            if found is not None:
                t_event, event = found
                # Dense output is of lower order than the steps: integrate to the event itself.
                last = solver(t_a, y_a, t_event) if t_event > t_a else None
                while last is not None and last.status == "running":
                    self._advance(last)
                self._calls += phase.nfev + (0 if last is None else last.nfev)
                self.t, self.y = t_event, (y_a if last is None else last.y).copy()
                return event
        self._calls += phase.nfev
        self.t, self.y, self._step = t_end, phase.y.copy(), 2 * longest  # the error control takes it back if it must
        return None

    @staticmethod
    def _advance(solver: OdeSolver) -> None:
        message = solver.step()
        if solver.status == "failed":
            raise Trouble("motion", f"the integrator stops at t = {solver.t:.9g}: {message}")

    def _rate(self, t: float, y: np.ndarray) -> np.ndarray:
        v = self._see(t, y)
        return np.concatenate([v[QDOT], v[A], v[LA.g], v[LA.gamma], v[LA.N], v[FORCE_F]])

    def _see(self, t: float, y: np.ndarray) -> dict[Field, np.ndarray]:
        q, u = y[: self.n_q], y[self.n_q : self.n_q + self.n_u]
        m = self.modes
        v = self._motion(t, q, u, m.closed, m.stick, m.direction, scale=self._scale)
        self._scale = np.abs(v[A]).max(initial=1.0)
        return v

    # -- events ----------------------------------------------------------------------------------------------------

    def _search(self, dense: Callable[[float], np.ndarray], t_a: float, t_b: float) -> tuple[float, int] | None:
        """The first event in a step, if there is one: its time and its number (contacts, then friction elements)."""
        if not self.n_N and not self.elements:
            return None

        def look(t: float) -> Sample:
            return Sample(t, *self._watch(t, dense(t)))

        def root(what: str, j: int, a: float, b: float) -> float:
            return _root(lambda t: float(getattr(look(t), what)[j]), a, b)

        before = look(t_a)
        for t in np.linspace(t_a, t_b, SAMPLES + 1)[1:]:
            now = look(t)
            turned = np.flatnonzero((before.gap_dot < 0) & (now.gap_dot > 0))  # a gap had its minimum in between
            minima = sorted(root("gap_dot", int(j), before.t, t) for j in turned)
            for sample in [*map(look, minima), now]:
                below = np.flatnonzero(sample.lasting < 0)
                if below.size:
                    return min((root("lasting", int(j), before.t, sample.t), int(j)) for j in below)
                before = sample
        return None

    def _watch(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a `Sample` holds: contacts first, then friction elements."""
        v, m = self._see(t, y), self.modes
        force = MARGIN * max(1.0, np.abs(v[LA.N]).max(initial=0.0))
        reach = TOUCHING * max(1.0, np.abs(y[: self.n_q]).max(initial=0.0))
        closed = m.closed > 0
        out = [np.where(closed, v[LA.N] + force, v[GAP] - self._floor + reach)]
        for e in self.elements:
            d, stick = m.direction[e.rows], m.stick[e.rows][0] > 0
            if stick:
                margin = v[RADIUS][e.rows][0] - np.linalg.norm(v[FORCE_F][e.rows])
                out.append([margin + force])
            else:
                out.append([d @ v[SLIP][e.rows] + self._no_slip(y) if d.any() else 1.0])
        return np.concatenate(out), np.where(closed, 1.0, v[GAP_DOT])

    def _no_slip(self, y: np.ndarray) -> float:
        return NO_SLIP * max(1.0, np.abs(y[self.n_q : self.n_q + self.n_u]).max(initial=0.0))

    def _transition(self, event: int) -> None:
        """New modes after an event."""
        if event < self.n_N and self.modes.closed[event] > 0:
            return self._settle(leaving=event)
        if event < self.n_N:
            return self._settle(landing=event)
        e = self.elements[event - self.n_N]
        if self.modes.stick[e.rows][0] > 0:
            force = self._see(self.t, self.y)[FORCE_F][e.rows]
            return self._settle(slipping=event - self.n_N, direction=-force / np.linalg.norm(force))
        return self._settle(stopping=event - self.n_N)

    def _settle(
        self,
        *,
        landing: int | None = None,
        leaving: int | None = None,
        slipping: int = -1,
        direction: np.ndarray | None = None,
        stopping: int = -1,
    ) -> None:
        """Impacts if there are any, then the modes of the motion that follows.

        landing: a contact whose gap has come to zero. leaving: one whose force has. slipping: an element whose friction force
        has come to its bound; it begins to slide in `direction`. stopping: an element whose slip has come to zero.
        """
        rest = self.options.rest_velocity
        v = self._see(self.t, self.y)
        size = max(1.0, np.abs(self.y[: self.n_q]).max(initial=0.0))
        near = np.where(v[GAP_DOT] < -rest, TOGETHER, 2 * TOUCHING) * size
        touching = (self.modes.closed > 0) | (v[GAP] <= near)
        if landing is not None:
            touching[landing] = True
        event = -1
        for index, shift in ((landing, 0), (leaving, 0), (slipping, self.n_N), (stopping, self.n_N)):
            event = event if index is None or index < 0 else index + shift
        now = Transition(self.t, event, *self._copy(), self.modes, touching, self.done + 1)
        self.modes = Modes(touching.astype(float), self.modes.stick, self.modes.direction)
        self._project(positions=True)
        for _ in range(self.options.max_events):
            v = self._see(self.t, self.y)
            if not (touching & (v[GAP_DOT] < -rest)).any():
                break
            now.impacts.append(self._jump(touching))
        else:
            raise Trouble("impact", f"impacts at t = {self.t:.9g} follow one another without end")
        resting = touching & (v[GAP_DOT] <= rest)
        if leaving is not None:
            resting[leaving] = False
        now.resting, now.slip = resting, v[SLIP]
        self._choose(resting, v[SLIP], slipping, direction, stopping)
        now.q_1, now.u_1 = self._copy()
        now.after = self.modes
        if self.history is not None:
            self.history.append(now)

    def _copy(self) -> tuple[np.ndarray, np.ndarray]:
        return self.y[: self.n_q].copy(), self.y[self.n_q : self.n_q + self.n_u].copy()

    def _jump(self, touching: np.ndarray) -> Jump:
        """An impact (2)."""
        q, u = self._copy()
        v = self._impact(self.t, q, u, np.where(touching, -1.0, 1.0), scale=np.abs(u).max(initial=1.0))
        P = _percussions(v)
        self.y[self.n_q :] = np.concatenate([v[U_1], self.y[self.n_q + self.n_u :] + P])
        return Jump(u, v[U_1].copy(), P)

    def _choose(
        self, resting: np.ndarray, slip: np.ndarray, slipping: int, direction: np.ndarray | None, stopping: int
    ) -> None:
        """Modes on acceleration level (3), for contacts at rest."""
        still, given = np.zeros_like(slip), np.zeros_like(slip)
        for k, e in enumerate(self.elements):
            if e.is_off(resting):
                continue
            speed = np.linalg.norm(slip[e.rows])
            if k == slipping:
                given[e.rows] = direction
            elif k == stopping or speed <= 2 * self._no_slip(self.y):
                still[e.rows] = 1.0
            else:
                given[e.rows] = slip[e.rows] / speed
        # Not yet onto no slip: at a dead centre slip reverses, and to stick there would stop the whole mechanism.
        self.modes = Modes(resting.astype(float), np.zeros_like(still), given)
        self._project()
        q, u = self.y[: self.n_q], self.y[self.n_q : self.n_q + self.n_u]
        v = self._choice(self.t, q, u, np.where(resting, -1.0, 1.0), 1.0 - still, given, scale=self._scale)
        closed = resting & (v[LIFTS] < 0)
        for e in self.elements:
            if not still[e.rows].any():
                continue
            force, radius = v[LA.F][e.rows], v[RADIUS][e.rows][0]
            size = np.linalg.norm(force)
            if e.is_off(closed):
                still[e.rows] = 0.0
            elif size > 0 and size >= radius * (1 - MARGIN):
                still[e.rows], given[e.rows] = 0.0, -force / size
        for e in self.elements:
            if e.is_off(closed):
                given[e.rows] = 0.0
        self.modes = Modes(closed.astype(float), still, given)
        self._project()
        self._floor = np.minimum(self._see(self.t, self.y)[GAP], 0.0)

    def _follow_directions(self) -> None:
        """Directions of slip in the plane turn with the slip."""
        slip = self._see(self.t, self.y)[SLIP]
        for e in self.elements:
            d, v = self.modes.direction[e.rows], slip[e.rows]
            if d.size > 1 and d.any() and np.linalg.norm(v) > 2 * self._no_slip(self.y):
                direction = self.modes.direction.copy()  # a history keeps the modes of earlier phases
                direction[e.rows] = v / np.linalg.norm(v)
                self.modes = Modes(self.modes.closed, self.modes.stick, direction)

    def _project(self, positions: bool = False) -> float:
        """q and u onto the constraints of the modes (4, 5), or q alone; how far that was."""
        q, u, m = self.y[: self.n_q], self.y[self.n_q : self.n_q + self.n_u], self.modes
        q_1 = self._project_q(self.t, q, m.closed)[Q_1]
        size = np.abs(u).max(initial=1.0)
        u_1 = u if positions else self._project_u(self.t, q_1, u, m.closed, m.stick, scale=size)[U_1]
        moved = max(np.abs(q_1 - q).max(initial=0.0), np.abs(u_1 - u).max(initial=0.0))
        self.y[: self.n_q], self.y[self.n_q : self.n_q + self.n_u] = q_1, u_1
        return moved


def _percussions(v: Mapping[Field, np.ndarray]) -> np.ndarray:
    return np.concatenate([v[each] for each in PERCUSSIONS.fields])


def _root(f: Callable[[float], float], a: float, b: float) -> float:
    """The zero of f in [a, b], to round-off; a if f is negative there already."""
    if f(a) <= 0 if f(b) < 0 else f(a) >= 0:
        return a
    from scipy.optimize import brentq  # here, as above

    return float(brentq(f, a, b, xtol=1e-16, rtol=4 * np.finfo(float).eps))

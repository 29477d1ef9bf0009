"""The loop of event-driven integration: smooth phases by SciPy, events by root finding, modes by complementarity."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.engine.dependence import excess
from stickslip.engine.derive import Model
from stickslip.engine.failure import Failure
from stickslip.engine.fields import RESULTS
from stickslip.engine.limits import judge, limits_of
from stickslip.engine.program import Program
from stickslip.engine.runs import Keep, Rows, Start
from stickslip.engine.state import State
from stickslip.phases.course import Course
from stickslip.phases.history import HISTORY, Modes, Phase
from stickslip.phases.problems import SLIP, DeadPoint, Trouble
from stickslip.phases.search import BROKEN, first_event
from stickslip.phases.settle import JAM, START, transition
from stickslip.phases.units import Masses

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

SHORTEST = 1e-10  # of the distance of the output: steps below it lead nowhere
# So many steps in a row that are shorter than this: is it because constraints become dependent?
SHORT, IN_A_ROW = 1e-5, 50


class EventOptions(NamedTuple):
    """As in `schemes.EventDriven`."""

    rtol: float
    atol: float
    integrator: str
    rest_velocity: float
    max_events: int


class EventRun:
    """One trajectory, see `engine.run.Run`. Iterations count right-hand sides, residuals are the drift from the constraints."""

    stages: tuple[str, ...] = ("motion",)
    n_residuals = 1
    failure: Failure | None

    def __init__(self, model: Model, programs: Mapping[str, Program], start: Start, options: EventOptions):
        self.options, self.start, self.course = options, start, Course(model, programs, start)
        self._numbering = programs["motion"].numbering
        self.limits = limits_of(self._numbering)
        self.history = HISTORY.get()
        self.done, self.seconds, self.failure, self.first = 0, 0.0, None, 0
        sizes = [self.course.n_q, self.course.n_u, *self.course.percussions]
        self.columns = {"t": 1} | dict(zip([each.name for each in RESULTS], sizes, strict=True))
        self.columns |= {"events": 1, "last_event": 1}
        self._step = start.dt  # the first one that the integrator tries
        self._events, self._last_event, self._calls, self._drift = 0, np.nan, 0, 0.0  # of the present interval
        if start.state is not None:
            self.state = start.state
        self.first_row = self._row()

    # -- what `solve` sees -----------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Where the run is: modes and step of the integrator, and where the iterations of the five problems start."""
        c = self.course
        numbers = np.array([self._step, c.scale, self._events, self._last_event])
        arrays = {"numbers": numbers, "floor": c.floor, **vars(c.modes), **vars(c.masses)}
        arrays |= {routine.name: routine.start for routine in c.problems.all}
        memory = {name: array.copy() for name, array in arrays.items()}
        return State(self.start.method, self.start.t, self.start.dt, self.first + self.done, c.t, *c.copy(), memory)

    @state.setter
    def state(self, state: State) -> None:
        c = self.course
        c.y = np.concatenate([state.q, state.u, np.zeros(sum(c.percussions))])
        c.modes = Modes(**{name: state.kept(name, own.shape).copy() for name, own in vars(c.modes).items()})
        self._step, c.scale, events, self._last_event = state.kept("numbers", (4,)).tolist()
        self._events, c.floor = int(events), state.kept("floor").copy()
        if "contacts" in state.memory:  # not in files of earlier versions
            c.masses = Masses(state.kept("contacts").copy(), state.kept("elements").copy())
        for routine in c.problems.all:
            routine.start = state.kept(routine.name)
        c.t, self.first, self.done = state.t, state.step, 0

    def step(self, count: int) -> Rows:
        """So many intervals of the output, or fewer if one fails; `failure` says why."""
        begin, rows, stats = time.perf_counter(), [], []
        for _ in range(count):
            before, row = self.state, self._row()
            t_1 = self.start.t + (self.first + self.done + 1) * self.start.dt
            try:
                self._interval(self.first + self.done)
            except Trouble as trouble:
                self.failure = Failure(t_1, trouble.stage, trouble.residual, str(trouble))
            self.done += 1
            if self.limits is not None:
                both, given = np.stack([row, self._row()]), self.start.parameters
                self.failure, _ = judge(self.limits, both, self.columns, given, self.failure, self.start.dt)
            if self.failure is not None:
                done = self.done - 1
                self.state = before
                self.first, self.done = before.step - done, done
                break
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
        return np.concatenate([[t], self.course.y, [self._events, self._last_event]])

    # -- one interval ----------------------------------------------------------------------------------------------

    def _interval(self, k: int) -> None:
        """From output time k to the next; the percussions are those of this interval."""
        c, t_end = self.course, self.start.t + (k + 1) * self.start.dt
        c.P[:] = 0.0
        self._events, self._last_event, self._calls, self._drift = 0, np.nan, 0, 0.0
        if k == 0:
            self._settle(START)
        while c.t < t_end:
            begin = c.t, *c.copy()
            event = self._integrate(t_end)
            if self.history is not None:
                self.history.append(Phase(*begin, c.t, c.modes, k + 1))
            if event not in (JAM, BROKEN):
                self._drift = max(self._drift, c.project())
            if event is None:
                break
            self._events += 1
            self._last_event = c.t
            if self._events > self.options.max_events:
                raise Trouble(
                    "motion",
                    f"more than {self.options.max_events} events before t = {c.t:.9g}: impacts accumulate, or a contact "
                    "chatters. An event-capturing method such as rattle passes such points; a larger rest_velocity or "
                    "max_events may do",
                )
            self._settle(event)
        c.t = t_end
        self._follow_directions()

    def _settle(self, event: int) -> None:
        o = self.options
        now = transition(self.course, event, o.rest_velocity, o.max_events, self.done + 1)
        if self.history is not None:
            self.history.append(now)

    def _integrate(self, t_end: float) -> int | None:
        """Integrate to the next event, or to t_end; which event it is.

        Where sliding contact comes to a point from which it cannot go on, trial steps fail; shorter ones lead up to it.
        """
        c = self.course
        while True:
            t_a = c.t
            try:
                return self._phase(t_end)
            except DeadPoint:
                raise
            except (Trouble, ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError) as trouble:
                if self._step > SHORTEST * self.start.dt:
                    self._step = min(self._step, t_end - c.t) * (0.1 if c.t == t_a else 1.0)
                    continue
                if not (c.modes.closed > 0).any() or not c.modes.direction.any():
                    raise _in_words(trouble, c.t) from trouble
                self._step = self.start.dt
                return JAM

    def _phase(self, t_end: float) -> int | None:
        c, longest, short = self.course, 0.0, 0
        phase = self._solver(c.t, c.y, t_end)
        while phase.status == "running":
            t_a, y_a = phase.t, phase.y
            _advance(phase)
            found = first_event(c, phase.dense_output(), t_a, phase.t)
            if found is not None:
                t_event, event = found
                # Dense output is of lower order than the steps: integrate to the event itself.
                last = self._solver(t_a, y_a, t_event) if t_event > t_a else None
                while last is not None and last.status == "running":
                    _advance(last)
                self._calls += phase.nfev + (0 if last is None else last.nfev)
                c.t, c.y = t_event, (y_a if last is None else last.y).copy()
                return event
            longest = max(longest, phase.t - t_a)
            c.t, c.y = phase.t, phase.y.copy()
            short = short + 1 if phase.t - t_a < SHORT * self.start.dt and phase.t < t_end else 0
            if short % IN_A_ROW == IN_A_ROW - 1:
                self._look_for_dead_point(phase.t - t_a)
        self._calls += phase.nfev
        c.t, self._step = t_end, 2 * longest  # the error control takes it back if it must
        return None

    def _look_for_dead_point(self, step: float) -> None:
        """Raise an error if more constraints depend on each other here than at the declared state."""
        n, values = self._numbering, self.start.parameters
        here = excess(n, self.course.t, self.course.q, values)
        if here > excess(n, self.start.t, n.model.system.q_initial, values):
            raise DeadPoint(
                "motion",
                f"constraints that are independent before become dependent near t = {self.course.t:.9g}, as those of a "
                "parallelogram do when its bars lie in one line. Their forces have no limit at such a point, and the error "
                f"control takes ever shorter steps, the last one of {step:.1e} s. A method that takes steps of given length, "
                "such as rattle, leads past it",
            )

    def _solver(self, t: float, y: np.ndarray, t_bound: float) -> OdeSolver:
        from scipy import integrate  # here, because it takes as long to import as all of stickslip

        o, first = self.options, min(self._step, t_bound - t)
        method = getattr(integrate, o.integrator)
        units, atol = self.course.units, np.full(y.size, o.atol)
        atol[: units.q.size + units.u.size] *= np.concatenate([units.q, units.u])
        return method(self.course.rate, t, y, t_bound, rtol=o.rtol, atol=atol, first_step=first)

    def _follow_directions(self) -> None:
        """Directions of slip in the plane turn with the slip."""
        c = self.course
        slip = c.see(c.t, c.y)[SLIP]
        for e in c.elements:
            d, v = c.modes.direction[e.rows], slip[e.rows]
            if d.size > 1 and d.any() and np.linalg.norm(v) > 2 * c.no_slip(c.y, e):
                direction = c.modes.direction.copy()  # a history keeps the modes of earlier phases
                direction[e.rows] = v / np.linalg.norm(v)
                c.modes = Modes(c.modes.closed, c.modes.stick, direction)


def _advance(solver: OdeSolver) -> None:
    message = solver.step()
    if solver.status == "failed":
        raise Trouble("motion", f"the integrator stops at t = {solver.t:.9g}: {message}")


def _in_words(error: Exception, t: float) -> Trouble:
    return error if isinstance(error, Trouble) else Trouble("motion", f"the integrator stops at t = {t:.9g}: {error}")

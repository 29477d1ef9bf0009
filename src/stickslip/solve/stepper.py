"""A simulation that is stepped from outside: loops are closed, parameters change, events end a piece of the motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.detected import DetectedContacts
from stickslip.engine.layout import slices
from stickslip.engine.narrow import widened
from stickslip.engine.run import ProgramRun
from stickslip.engine.runs import CHUNK_ROWS, ROUNDING, Rows, Start
from stickslip.engine.state import State
from stickslip.errors import MethodError, OptionError
from stickslip.model.collisions import collisions_of
from stickslip.model.given import number
from stickslip.model.system import System
from stickslip.schemes import Scheme
from stickslip.schemes.spec import label, scheme_of
from stickslip.solution import Solution
from stickslip.solve.alarm import warn_of_jams
from stickslip.solve.checks import check_capability, check_start
from stickslip.solve.continued import continued, require_times
from stickslip.solve.controllers import Controllers, SampledController
from stickslip.solve.detecting import DetectingRun
from stickslip.solve.half_turns import warn_of_half_turns
from stickslip.solve.live_parameters import LiveParameters
from stickslip.solve.options import as_float, contact_solver, is_number, positive, subdivides, vector_of, whole
from stickslip.solve.prepared import Prepared, prepare, program_of
from stickslip.solve.provenance import described
from stickslip.solve.record import Recorder, check_memory
from stickslip.solve.scales import check_tolerance, row_sizes_of, scales_of_model
from stickslip.solve.step_problem import names_of_elements
from stickslip.solve.stopping import watched
from stickslip.solve.switching import SwitchingRun, refuse_setting, starting_values
from stickslip.solve.unsolved import convergence_error

if TYPE_CHECKING:
    from stickslip.nonsmooth.problem import Problem

FOREVER = 1e300  # end time of a scheme that decides the length of its steps
BISECTIONS = 40  # of a step, in search of an event: 1e-12 of it
WATCHED = 256  # steps between two searches for an event


class Stepper:
    """See `stepper`. `t`, `q`, `u`, `P_N`: where it is, and percussions of the last step."""

    def __init__(
        self,
        ready: Prepared,
        run: ProgramRun,
        scheme: Scheme,
        controllers: Sequence[SampledController],
        parameters: Mapping[str, float],
        initial_tol: float,
    ):
        self.system, self._ready, self._run, self._scheme = ready.model.system, ready, run, scheme
        self._controllers = Controllers(controllers, run.clock.step)
        self._parameters = LiveParameters(ready, run, parameters)
        self._initial_tol = initial_tol
        self._slices = slices(run.columns)
        self._closed = False
        self._jammed_at: float | None = None  # of which a warning has told

    def __enter__(self) -> Stepper:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True

    def __setattr__(self, name: str, value: Any) -> None:
        """What would be read by nobody is refused: a parameter, or a coordinate."""
        if name[0] != "_" and name not in ("system", "state"):
            how = f"sim.reset({name}=...)" if name in ("q", "u") else f"sim.set({name}=...) sets a parameter"
            raise OptionError(f"sim.{name} = ... has no meaning; {how}, sim.state = ... goes back to a state")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<Stepper of {self.system.name!r} by {label(self._scheme)} at t = {self.t:g}>"

    def __reduce__(self) -> Any:
        raise OptionError(
            "a stepper cannot be pickled or copied; keep sim.state, and make another one for the same system"
        )

    # -- where it is ---------------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time."""
        return self._run.t

    @property
    def q(self) -> np.ndarray:
        """Coordinates."""
        return self._read_only("q_1")

    @property
    def u(self) -> np.ndarray:
        """Velocities."""
        return self._read_only("u_1")

    @property
    def P_N(self) -> np.ndarray:
        """Normal percussions of the last step."""
        return self._read_only("P.N")

    def _read_only(self, name: str) -> np.ndarray:
        """A copy of a part of the last row; to write into it would change nothing, so it is refused."""
        out: np.ndarray = self._run.row[self._slices[name]].copy()
        out.setflags(write=False)
        return out

    @property
    def solved_by(self) -> dict[str, int]:
        """How many stages each solver has solved."""
        return self._run.solved_by

    @property
    def contacts(self) -> DetectedContacts | None:
        """Detected contacts of the last step, if contacts are detected."""
        return self._run.contacts if isinstance(self._run, DetectingRun) else None

    @property
    def state(self) -> State:
        """All that the next step reads; set it to go back there. What controllers remember and hold goes back, too.

        Parameters that `set` has changed stay as they are.
        """
        return self._controllers.state(self._run.state, self._parameters.changed)

    @state.setter
    def state(self, state: State) -> None:
        if not isinstance(state, State) or (state.method, state.dt) != (label(self._scheme), self._run.clock.step):
            raise OptionError(
                f"{state!r} does not belong to method {label(self._scheme)!r} with dt = {self._run.clock.step:g}"
            )
        require_times(state)
        self._run.failure = None
        self._run.clock = self._run.clock._replace(start=state.t_start)
        self._run.state = state
        self._parameters.become(self._controllers.go_back(state, self._parameters.changed))

    def problem(self, stage: str | None = None) -> Problem:
        """The linearised contact problem of the next step, as `ss.step_problem` gives that of a step which is done."""
        from stickslip.engine.capture import capture

        problem, homes = capture(self._run, stage)
        return replace(problem, names=names_of_elements(homes, self._ready.names))

    # -- what changes it -----------------------------------------------------------------------------------------------

    def set(self, parameters: Mapping[str, float] | None = None, **more: float) -> None:
        """Change parameters from the next step on.

        Ranges of friction, restitution and masses are checked again where a changed parameter occurs in them.
        """
        self._parameters.set({**(parameters or {}), **more})

    def reset(self, state: Any = None, *, q: Any = None, u: Any = None) -> None:
        """Go on from other coordinates or velocities: a reset map at an event. The scheme begins anew there.

        They are checked like the start of a run: constraints hold and no gap is negative, up to `initial_tol`. Time goes on;
        `sim.state = kept` goes back to an earlier moment.
        """
        if state is not None:
            raise OptionError("reset takes q= and u=, and time goes on; to go back to a state, write sim.state = kept")
        elsewhere = q is not None
        q, u = vector_of(self.q, q, "q"), vector_of(self.u, u, "u")
        values = self._parameters.values
        check_start(self._ready, self._scheme, self._run.clock.step, self.t, q, u, values, self._initial_tol)
        if elsewhere and isinstance(self._run, DetectingRun):
            self._run.check(q, u, self._initial_tol)
        self._run.restart(self.t, self._run.clock.step, q, u)
        self._complain()

    def step(self, n: int = 1) -> None:
        """Advance by so many steps; a step that cannot be solved raises `ConvergenceError`, and the state stays before it.

        Controllers act when their time has come.
        """
        left = whole(n=n)
        while left:
            left -= len(self._piece(left)[0].results)
            self._complain()

    def run(self, t_end: float, *, stop: Any = None, save_every: int = 1) -> Solution:
        """Advance to t_end, or until the expression `stop` changes its sign; the solution of this piece of the motion.

        The step in which it happens is shortened by bisection, so that the piece ends at the event. The scheme begins anew
        there, and periods of controllers are counted from there. `provenance["stopped"]` says whether it stopped.
        A parameter that changes on the way has a value per row, `solution["F"]`: that of the step that ends there.
        """
        if not is_number(t_end) or t_end < self.t:
            raise OptionError(f"t_end = {t_end!r} must be a finite number, not before t = {self.t:g}")
        t_end = as_float(t_end)
        run, begin = self._run, self._run.t
        run.first_row = run.row.copy()
        run.first_row[self._slices["P.g"].start : self._slices["P.F"].stop] = 0.0
        record = Recorder(run, whole(save_every=save_every))
        if stop is None:  # else t_end may be any time that is late enough
            check_memory(run, self._ready, int((t_end - run.t) / run.clock.step) // record.every + 2)
        watch = None if stop is None else watched(self.system, self._run, stop)
        values = self._parameters.values
        with self._parameters.noted() as changes:
            stopped = self._advance(t_end, watch, record)
        if stopped:
            run.restart(self.t, run.clock.step, self.q, self.u)
            self._complain()
        given = self._parameters.named
        about = {
            "system": self.system.name,
            "method": self._scheme.name,
            "options": self._scheme.options,
            "dt": run.clock.step,
            "tol": run.options.tolerance,
            "t_start": begin,
            "t_end": t_end,
            "parameters": dict(self._parameters.changed),
            "complete": True,
            "stopped": stopped,
            **described(self.system, given, record.every),
        }
        if self.system.switches:
            about["varying"] = {name: name for name in self.system.switches}
        solution = record.solution(self._ready, values, about, changes)
        warn_of_half_turns(self._ready, self.system, solution, given)
        return solution

    # -- inside --------------------------------------------------------------------------------------------------------

    def _advance(self, t_end: float, watch: Callable[[np.ndarray], np.ndarray] | None, record: Recorder) -> bool:
        """All steps to t_end or to the event; whether it came to that."""
        run = self._run
        stopped = False
        while not stopped and run.t < t_end - ROUNDING * run.clock.step:
            steps = math.ceil((t_end - run.t) / run.clock.step - ROUNDING)
            state, done, row = run.state, run.done, run.row
            rows, columns = self._piece(steps if watch is None else min(steps, WATCHED))
            if watch is not None and len(rows.results):
                seen = np.sign(watch(np.vstack([row, widened(rows.results, columns, row.size)])))
                crossed = np.flatnonzero((seen[:-1] != 0) & (seen[1:] != seen[:-1]))
                if crossed.size:  # back to before the step in which it happens, and then as far as the event
                    stopped, k = True, int(crossed[0])
                    run.state, run.row = state, row
                    run.first, run.done = state.step - done, done
                    if k:
                        record.take(run.step(k))
                    rows, columns = self._event(watch, seen[k]), None
            record.take(rows, columns)
            self._complain(record)
        return stopped

    def _piece(self, n: int) -> tuple[Rows, np.ndarray | None]:
        """Up to n steps, to where a controller has to act, and the columns that their rows have."""
        if self._closed:
            raise OptionError("this stepper is closed; make another one")
        run = self._run
        at = run.first + run.done
        for k in self._controllers.due(at):
            self.set(self._controllers.outputs(k, self.t, self.q, self.u, self.system.parameters))
        return run.rows(min(n, self._controllers.until_next(at), CHUNK_ROWS))

    def _complain(self, record: Recorder | None = None) -> None:
        """Raise the error of a step that could not be solved, with what `record` has up to there, or the present row."""
        run = self._run
        self._jammed_at = warn_of_jams(run, self._jammed_at)
        if run.failure is not None:
            values = self._parameters.values
            if record is None:
                run.first_row = run.row.copy()
            about = {"system": self.system.name, "method": self._scheme.name, "dt": run.clock.step, "complete": False}
            solution = (record or Recorder(run)).solution(self._ready, values, about)
            error = convergence_error(run, self._ready, values, solution, run.first + run.done)
            run.failure = None
            raise error

    def _event(self, watch: Callable[[np.ndarray], np.ndarray], sign: float) -> Rows:
        """The shortest step from here that ends beyond the event, by bisection."""
        run = self._run
        low, high = 0.0, run.clock.step
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            ahead = run.look_ahead(middle)
            if np.sign(watch(ahead[None, :])[0]) == sign:
                low = middle
            else:
                high = middle
        row = run.look_ahead(high)
        run.row, run.done = row, run.done + 1
        run.clock = run.clock._replace(start=float(row[0]) - (run.first + run.done) * run.clock.step)
        nothing = np.zeros((1, len(run.stages)), np.int64), np.zeros((1, run.n_residuals))
        return Rows(row[None, :], *nothing)


def stepper(
    system: System,
    dt: float,
    *,
    method: str | Scheme = "rattle",
    t_start: float | None = None,
    q0: Any = None,
    u0: Any = None,
    start: State | Solution | None = None,
    parameters: Mapping[str, float] | None = None,
    controllers: Sequence[SampledController] = (),
    tol: float = 1e-8,
    max_iterations: int = 30,
    initial_tol: float = 1e-6,
    on_failure: str = "raise",
    solver: str = "auto",
    **options: Any,
) -> Stepper:
    """A simulation to step by hand: `with ss.stepper(system, dt) as sim: sim.step(n)`.

    `sim.t`, `sim.q`, `sim.u` say where it is, `sim.set(F=2.0)` changes parameters, `sim.state` can be kept and set again,
    `sim.reset(u=...)` is a reset map, and `sim.run(t_end, stop=...)` advances to an event and returns that piece as a solution.
    `start` is a state or a solution to continue from, bit for bit, as in `ss.solve`; a state of a stepper with controllers
    includes them. `controllers` act at their own rates; `on_failure` and `solver` are those of `ss.solve`. All methods but
    event-driven, whose steps are decided by events.

    >>> import stickslip as ss
    >>> with ss.stepper(ss.benchmarks.bouncing_ball(), dt=1e-3) as sim:
    ...     sim.step(100)
    ...     fast = sim.u[0]
    ...     sim.reset(u=[0.0])
    >>> round(sim.t, 9), round(float(fast), 3)
    (0.1, -0.981)
    """
    scheme = scheme_of(method, options)
    if not isinstance(system, System):
        raise OptionError(f"stepper needs a System, such as stickslip.benchmarks.slider_crank(), got {system!r}")
    dt, tol = positive(dt=dt), positive(tol=tol)
    state = continued(system, label(scheme), dt, start, t_start, q0, u0)
    t_0 = state.t if state is not None else float(number("stepper", "t_start", 0.0 if t_start is None else t_start))
    ready = prepare(system)
    check_capability(scheme, ready.model)
    values = np.array(list(system.parameter_values(parameters).values()))
    q, u = vector_of(system.q_initial, q0, "q0"), vector_of(system.u_initial, u0, "u0")
    if state is None:
        values = starting_values(system, values, t_0, q, u, parameters)
    else:
        q, u = vector_of(q, state.q, "start.q"), vector_of(u, state.u, "start.u")
        refuse_setting(system, parameters or {})
    scales = scales_of_model(ready, system)
    check_tolerance(tol, q, u, scales)
    initial_tol = positive(initial_tol=initial_tol) * scales.length
    check_start(ready, scheme, dt, t_0, q, u, values, initial_tol if state is None else None)
    steps, iterations = 2**62, whole(max_iterations=max_iterations)
    subdivide, begin = subdivides(on_failure, scheme), t_0 if state is None else state.t_start
    first = Start(values, q, u, begin, FOREVER, dt, steps, tol, iterations, 0.0, label(scheme), state, subdivide)
    first = first._replace(sizes=row_sizes_of(ready, scales), solver=contact_solver(solver, scheme))
    run: Any
    if collisions_of(system) is None:
        run = scheme.start(program_of(system, scheme, switching=True), first)
    elif system.switches:
        raise MethodError(f"{system.name}: switches and detected contacts (Collisions) do not go together yet")
    else:
        run = DetectingRun(system, scheme, first, system.parameter_values(parameters), initial_tol)
    if not isinstance(run, ProgramRun):
        raise MethodError(f"method {scheme.name!r} has no steps to be stepped by; take another one")
    if system.switches:
        run = SwitchingRun.of(run, ready, initial_tol, state)
    sim = Stepper(ready, run, scheme, controllers, parameters or {}, initial_tol)
    if state is not None:
        sim.state = state  # and what controllers remember
    sim._complain()
    return sim

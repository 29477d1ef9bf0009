"""Runs of one system by one scheme: checks, progress, failure policy, storage. What does not depend on numbers is shared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stickslip.engine.runs import Start
from stickslip.engine.state import State
from stickslip.errors import Interrupted, MethodError, ModelError, OptionError
from stickslip.model.collisions import collisions_of
from stickslip.model.system import System
from stickslip.schemes import EventDriven, Scheme
from stickslip.schemes.spec import label, scheme_of
from stickslip.solution import Solution, load
from stickslip.solve.alarm import energy_alarm as warn_of_energy
from stickslip.solve.alarm import unexplained_rise, warn_of_jams
from stickslip.solve.checks import check_capability, check_start
from stickslip.solve.continued import continued
from stickslip.solve.detecting import DetectingRun
from stickslip.solve.half_turns import warn_of_half_turns
from stickslip.solve.keeping import names_to_keep, selection
from stickslip.solve.options import (
    as_float,
    contact_solver,
    count_steps,
    flag,
    is_number,
    out_path,
    positive,
    shows_progress,
    subdivides,
    vector_of,
    whole,
)
from stickslip.solve.outfile import FileRecorder, claim_file, fingerprint, finish
from stickslip.solve.passing import warn_of_passing
from stickslip.solve.prepared import Prepared, prepare, program_of
from stickslip.solve.provenance import described
from stickslip.solve.record import Recorder, check_memory
from stickslip.solve.scales import ModelScales, check_tolerance, row_sizes_of, scales_of_model
from stickslip.solve.steep import warn_of_steep_friction
from stickslip.solve.switching import SwitchingRun, refuse_setting, starting_values
from stickslip.solve.terminal import announce_first_compile, interruptible, progress_bar, voice
from stickslip.solve.unsolved import convergence_error
from stickslip.stream import PartFile, part_of


class Compiled(NamedTuple):
    """What is derived and compiled for all runs of a case."""

    ready: Prepared
    scales: ModelScales
    sizes: Mapping[tuple[str, bool], np.ndarray] | None
    program: Any  # None where contacts are detected
    q: np.ndarray  # the system's own initial state
    u: np.ndarray
    fingerprint: str


class Span(NamedTuple):
    """The times of a run; `begin` is that of its first step, or of the first step of the run that it continues."""

    t_0: float
    t_end: float
    begin: float
    steps: int


class Case:
    """A system, a scheme and the options of its steps; the options are those of `solve`. `run` makes one run of it."""

    def __init__(
        self,
        system: System,
        dt: float,
        method: str | Scheme,
        options: Mapping[str, Any],
        *,
        tol: float = 1e-8,
        max_iterations: int = 30,
        prox: float | None = None,
        initial_tol: float = 1e-6,
        save_every: int = 1,
        on_failure: str = "raise",
        solver: str = "auto",
    ):
        if not isinstance(system, System):
            raise OptionError(f"solve needs a System, such as stickslip.benchmarks.slider_crank(), got {system!r}")
        if not system.n_u:
            raise ModelError(f"{system.name}: nothing can move; declare coordinates or add a body")
        self.system, self.scheme = system, scheme_of(method, options)
        self.dt, self.tol, self.initial_tol = positive(dt=dt), positive(tol=tol), positive(initial_tol=initial_tol)
        self.prox = 0.0 if prox is None else positive(prox=prox)
        self.max_iterations, self.save_every = whole(max_iterations=max_iterations), whole(save_every=save_every)
        self.on_failure, self.subdivide = on_failure, subdivides(on_failure, self.scheme)
        self.solver = contact_solver(solver, self.scheme)
        self.label = label(self.scheme)

    @cached_property
    def compiled(self) -> Compiled:
        """Derived, compiled and checked when the first run needs it."""
        system, scheme = self.system, self.scheme
        ready = prepare(system)
        check_capability(scheme, ready.model)
        scales = scales_of_model(ready, system)
        detects = collisions_of(system) is not None
        if detects and system.switches:
            raise MethodError(f"{system.name}: switches and detected contacts (Collisions) do not go together yet")
        program = None if detects else program_of(system, scheme, switching=True)
        sizes = row_sizes_of(ready, scales)
        return Compiled(ready, scales, sizes, program, system.q_initial, system.u_initial, fingerprint(ready))

    def run(
        self,
        t_end: float,
        *,
        t_start: float | None = None,
        q0: Any = None,
        u0: Any = None,
        start: State | Solution | None = None,
        parameters: Mapping[str, float] | None = None,
        save: Sequence[str] | None = None,
        states: bool = False,
        energy_alarm: bool = True,
        out: str | Path | None = None,
        overwrite: bool = False,
        progress: bool | None = None,
        part: PartFile | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Solution:
        """One run; `part` is the unfinished file of a run that is resumed, `stop` ends a run that another thread makes."""
        system, scheme, dt = self.system, self.scheme, self.dt
        progress, states, energy_alarm = shows_progress(progress), flag(states=states), flag(energy_alarm=energy_alarm)
        overwrite = flag(overwrite=overwrite)
        if part is not None and start is not None:
            t_start = None
        state = continued(system, self.label, dt, start, t_start, q0, u0)
        span = self._span(t_end, t_start, state, resumed=part is not None)
        if out is not None:
            out = out_path(out=out)
            if part is None:
                claim_file(out, overwrite)
        announce_first_compile(voice(progress))

        shared = self.compiled
        ready = shared.ready
        given = system.parameter_values(parameters)
        values = system.parameter_array(parameters)
        q, u = vector_of(shared.q, q0, "q0"), vector_of(shared.u, u0, "u0")
        if state is not None:
            q, u = vector_of(q, state.q, "start.q"), vector_of(u, state.u, "start.u")
            refuse_setting(system, parameters)
        else:
            values = starting_values(system, values, span.t_0, q, u, parameters)
        if system.switches:
            given = dict(zip(given, values.tolist(), strict=True))
        if not isinstance(scheme, EventDriven):  # which has tolerances of its own
            check_tolerance(self.tol, q, u, shared.scales)
        near = self.initial_tol * shared.scales.length
        check_start(ready, scheme, dt, span.t_0, q, u, values, near if state is None else None)

        steps_of = (span.begin, span.t_end, dt, span.steps, self.tol, self.max_iterations, self.prox, self.label)
        first = Start(values, q, u, *steps_of, state, self.subdivide, shared.sizes, self.solver)
        run = self._started(first, given, near)
        changed = {n: given[n] for n in parameters or {}}
        identity = self._identity(span, changed, save, energy_alarm) | {"values": values.tolist()}
        about = identity | self._about(span, changed, given)
        if out is None:
            check_memory(run, ready, span.steps // self.save_every + 2)
            record = Recorder(run, self.save_every, states)
            chosen = None if save is None else selection(save, Recorder(run).solution(ready, values, dict(about)))
        else:
            record = FileRecorder(
                run, self.save_every, out, identity | {"provenance": about}, part, ready, values, save
            )
        bar = sys.stderr.isatty() if progress is None else progress
        with interruptible(stop) as interrupted, progress_bar(bar, span.steps, f"{system.name}, {scheme.name}") as show:
            try:
                if run.failure is None:
                    run.advance(record, interrupted, show)
            except BaseException:
                if isinstance(record, FileRecorder):
                    record.abandon()
                raise
        about["complete"] = run.complete
        stopped = not run.complete and run.failure is None
        if isinstance(record, FileRecorder):
            record.close(final=not stopped)
            if stopped:
                path = part_of(record.path)
                raise Interrupted(
                    f"interrupted at t = {run.state.t:g} of {span.t_end:g}, after {run.state.step} steps; ss.resume goes on "
                    f"with {path}",
                    lambda: load(path, system=system),
                    interrupted.signal,
                )
            solution = finish(record, ready, about)
        else:
            solution = record.solution(ready, values, about)
        told = energy_alarm and not system.switches and solution.holds("kinetic", "potential", "P_N", "P_g")
        if told and run.complete:
            warn_of_energy(solution, system)
        if run.complete and scheme.facts.order is not None and scheme.facts.friction and solution.holds("P_N"):
            warn_of_steep_friction(ready, solution, values, dt)
        warn_of_half_turns(ready, system, solution, given)
        warn_of_passing(ready, system, solution, given, dt)
        warn_of_jams(run)
        rise = unexplained_rise(solution, system) if told and run.failure is not None else ""  # an error tells it
        if out is None and chosen is not None:
            solution = chosen.of(solution)
        if run.failure is not None:
            solution.provenance["interrupted"] = f"step {run.done + 1} could not be solved"
            raise convergence_error(run, ready, values, solution, run.done, rise)
        if stopped or interrupted.signal:  # also in the last steps: a loop over many runs must end all the same
            raise _interruption(solution, span, run.done, stopped, interrupted.signal)
        return solution

    def _span(self, t_end: Any, t_start: Any, state: State | None, resumed: bool) -> Span:
        """When the run begins and ends; a run that is resumed may have reached its end."""
        t_0: Any = state.t if state is not None else 0.0 if t_start is None else t_start
        if not is_number(t_0):
            raise OptionError(f"t_start = {t_0!r} must be a finite number")
        if not is_number(t_end) or (t_end < t_0 and not resumed):
            raise OptionError(f"t_end = {t_end!r} must be a finite number, not before the start t = {t_0!r}")
        t_0, t_end = as_float(t_0), as_float(t_end)
        begin = t_0 if state is None else state.t_start
        return Span(t_0, t_end, begin, count_steps(begin, t_end, self.dt) - (0 if state is None else state.step))

    def _started(self, first: Start, parameters: Mapping[str, float], near: float) -> Any:
        """The run before its first step."""
        shared = self.compiled
        if shared.program is None:
            return DetectingRun(self.system, self.scheme, first, parameters, near)
        run = self.scheme.start(shared.program, first)
        return SwitchingRun.of(run, shared.ready, near, first.state) if self.system.switches else run

    def _about(self, span: Span, changed: Mapping[str, float], parameters: Mapping[str, float]) -> dict[str, Any]:
        """What a solution says about its run."""
        about = {
            "method": self.scheme.name,
            "options": self.scheme.options,
            "dt": self.dt,
            "tol": self.tol,
            "t_start": span.t_0,
            "t_end": span.t_end,
            "parameters": changed,
            "complete": False,
            **described(self.system, parameters, self.save_every),
        }
        if self.system.switches:
            about["varying"] = {name: name for name in self.system.switches}
        return about

    def _identity(
        self,
        span: Span,
        parameters: Mapping[str, float],
        save: Sequence[str] | None,
        energy_alarm: bool,
    ) -> dict[str, Any]:
        """The system and the call, as `resume` needs them."""
        call = {
            "t_end": span.t_end,
            "dt": self.dt,
            "method": self.label,
            "t_start": span.begin,
            "tol": self.tol,
            "prox": self.prox or None,
            "max_iterations": self.max_iterations,
            "initial_tol": self.initial_tol,
            "save_every": self.save_every,
            "states": False,
            "save": None if save is None else names_to_keep(save),
            "energy_alarm": energy_alarm,
            "parameters": parameters,
            "on_failure": self.on_failure,
            "solver": self.solver,
            "q0": None,
            "u0": None,
            "options": {},
        }
        return {"system": self.system.name, "fingerprint": self.compiled.fingerprint, "call": call}


def _interruption(solution: Solution, span: Span, done: int, stopped: bool, signal: int) -> Interrupted:
    """The exception of a run that was interrupted, before its end or in its last steps."""
    if not stopped:
        what = f"interrupted after the last step, at t = {span.t_end:g}; `solution` of this exception has all of them"
        return Interrupted(what, lambda: solution, signal)
    what = f"interrupted at t = {solution.t[-1]:g} of {span.t_end:g}, after {done} steps"
    solution.provenance["interrupted"] = what
    return Interrupted(f"{what}; `solution` of this exception has them", lambda: solution, signal)


OF_A_CASE = ("dt", "method", "tol", "max_iterations", "prox", "initial_tol", "save_every", "on_failure", "solver")
OF_A_RUN = (
    "t_end",
    "t_start",
    "q0",
    "u0",
    "start",
    "parameters",
    "save",
    "states",
    "energy_alarm",
    "out",
    "overwrite",
    "progress",
)


def split_call(system: System, call: Mapping[str, Any]) -> tuple[Case, dict[str, Any]]:
    """A call of `solve` by its options: the case, and what one run of it is given. Other names are options of the scheme."""
    options = {name: value for name, value in call.items() if name not in (*OF_A_CASE, *OF_A_RUN, "options")}
    shared: dict[str, Any] = {"options": {**call.get("options", {}), **options}}
    shared |= {name: call[name] for name in OF_A_CASE if name in call}
    return Case(system, **shared), {name: call[name] for name in OF_A_RUN if name in call}

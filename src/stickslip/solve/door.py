"""The one door: options, checks, progress, failure policy, storage."""

from __future__ import annotations

import datetime
import math
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from stickslip._version import __version__
from stickslip.engine.run import ROUNDING, Failure, Start
from stickslip.engine.state import State
from stickslip.errors import ConvergenceError, Interrupted, MethodError, ModelError, OptionError
from stickslip.looks import look_of
from stickslip.model.collisions import collisions_of
from stickslip.model.system import System
from stickslip.schemes import EventDriven, Scheme
from stickslip.schemes.spec import label, scheme_of
from stickslip.solution import Solution, load
from stickslip.solve.alarm import energy_alarm as warn_of_energy
from stickslip.solve.detecting import DetectingRun
from stickslip.solve.keeping import selection
from stickslip.solve.outfile import FileRecorder, fingerprint, finish
from stickslip.solve.prepared import check_capability, check_start, compiled, prepare, program_of
from stickslip.solve.record import Recorder, check_memory
from stickslip.solve.scales import check_tolerance, row_sizes_of, scales_of_model
from stickslip.solve.switching import SwitchingRun, refuse_setting, starting_values
from stickslip.solve.terminal import announce_first_compile, interruptible, progress_bar, voice
from stickslip.stream import PartFile, part_of

MOST_STEPS = 1e12  # more is a slip of the pen: years of computing


def solve(
    system: System,
    t_end: float,
    dt: float,
    *,
    method: str | Scheme = "rattle",
    t_start: float | None = None,
    q0: np.ndarray | None = None,
    u0: np.ndarray | None = None,
    start: State | Solution | None = None,
    parameters: Mapping[str, float] | None = None,
    tol: float = 1e-8,
    max_iterations: int = 30,
    prox: float | None = None,
    initial_tol: float = 1e-6,
    save_every: int = 1,
    save: Sequence[str] | None = None,
    states: bool = False,
    energy_alarm: bool = True,
    on_failure: str = "raise",
    out: str | Path | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Solution:
    """Simulate a system from `t_start` (0 if not given) to `t_end` in steps of `dt`.

    method: a name (`stickslip list` shows all; `options` are its parameters, as in method="theta", theta=1, or in one
    text, method="theta:theta=1") or a scheme such as `ss.Rattle()`. q0, u0: initial state, instead of the system's own.
    start: where another run ended, `solution.state` or the solution itself; with the same method, dt and parameters the
    rest is what one uninterrupted run gives, bit for bit.
    parameters: values that differ from the declared ones; nothing is recompiled for them. tol: residual of every
    step, as an error in coordinates and velocities; of a model much smaller than 1 cm or larger than 10 km (or as much slower
    or faster) relative to its own length and velocity. max_iterations: of one attempt of Newton's method. prox: parameter of
    the proximal point functions, instead of the automatic one; it decides about convergence, not about the result.
    initial_tol: by how much the initial state may violate constraints and gaps; more is a mistake, unless it continues
    from the end of a solution whose scheme drifts.

    save_every: keep the state after every so many steps, and the last one; percussions are then those of all steps between
    two rows. save: what is kept, all if not given: names of arrays ("q", "u", "P_N", "energy", ...) and of quantities
    ("pin.angle", "floor.force"); time always is. states: keep `solution.states`, one for every row, from each of which a
    run can start (such a run is slower). out: a file, such as "run.h5", that the results go to while the run goes on; memory
    does not grow with the number of steps, and `ss.resume` continues a run that was killed. energy_alarm: warn
    (`EnergyWarning`) if the energy rises although nothing puts it in. on_failure: what becomes of a step that cannot be
    solved, "raise" or "subdivide": then it is repeated in two halves, these again where they fail, down to dt/1024;
    `solution.t` stays as it is, percussions are those of all pieces, and `solution.stats.solved_by` counts such steps.
    progress: a bar on the terminal.

    The number of steps is (t_end - t_start)/dt, rounded up: the last time is the first that reaches t_end. It lies behind
    t_end where dt does not divide the time. A scheme that decides the length of its steps may take more; `solution.t`
    holds the times. A step that cannot be solved raises `ConvergenceError`; Ctrl-C and SIGTERM raise `Interrupted`. Both
    carry the solution up to there.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.5, dt=1e-2, method="moreau", parameters={"e": 0.5})
    >>> solution.q.shape
    (51, 1)
    """
    return run_call(
        system,
        t_end,
        dt,
        method=method,
        t_start=t_start,
        q0=q0,
        u0=u0,
        start=start,
        parameters=parameters,
        tol=tol,
        max_iterations=max_iterations,
        prox=prox,
        initial_tol=initial_tol,
        save_every=save_every,
        save=save,
        states=states,
        energy_alarm=energy_alarm,
        on_failure=on_failure,
        out=out,
        progress=progress,
        options=options,
    )


def run_call(
    system: System,
    t_end: float,
    dt: float,
    *,
    method: str | Scheme,
    t_start: float | None,
    q0: Any,
    u0: Any,
    start: State | Solution | None,
    parameters: Mapping[str, float] | None,
    tol: float,
    max_iterations: int,
    prox: float | None,
    initial_tol: float,
    save_every: int,
    save: Sequence[str] | None,
    states: bool,
    energy_alarm: bool,
    out: str | Path | None,
    progress: bool | None,
    options: Mapping[str, Any],
    on_failure: str = "raise",
    part: PartFile | None = None,
) -> Solution:
    """What `solve` does; `part` is the unfinished file of a run that is resumed."""
    if not isinstance(system, System):
        raise OptionError(f"solve needs a System, such as stickslip.benchmarks.slider_crank(), got {system!r}")
    if not system.n_u:
        raise ModelError(f"{system.name}: nothing can move; declare coordinates or add a body")
    scheme = scheme_of(method, options)
    dt, tol, initial_tol = positive(dt=dt), positive(tol=tol), positive(initial_tol=initial_tol)
    prox = 0.0 if prox is None else positive(prox=prox)
    max_iterations, save_every = whole(max_iterations=max_iterations), whole(save_every=save_every)
    subdivide = subdivides(on_failure, scheme)
    if not isinstance(progress, bool | None):
        raise OptionError(f"progress = {progress!r} must be True, False or None, which asks the terminal")
    if part is not None and start is not None:
        t_start = None
    state = _continued(start, scheme, dt, t_start, q0, u0)
    t_0: Any = state.t if state is not None else 0.0 if t_start is None else t_start
    if not (is_number(t_0) and is_number(t_end)) or (t_end < t_0 and part is None):
        raise OptionError(f"t_end = {t_end!r} must be a finite number, not before the start t = {t_0!r}")
    t_0, t_end = float(t_0), float(t_end)
    steps = count_steps(t_0 if state is None else state.t_start, t_end, dt) - (0 if state is None else state.step)
    if out is not None:
        out = _out_path(out)
    bar, say = sys.stderr.isatty() if progress is None else progress, voice(progress)

    ready = prepare(system)
    check_capability(scheme, ready.model)
    given = system.parameter_values(parameters)
    values = np.array(list(given.values()))
    q, u = vector_of(system.q_initial, q0, "q0"), vector_of(system.u_initial, u0, "u0")
    if state is not None:
        q, u = vector_of(q, state.q, "start.q"), vector_of(u, state.u, "start.u")
    if state is None:
        values = starting_values(system, values, t_0, q, u, parameters)
        given = dict(zip(given, values.tolist(), strict=True))
    else:
        refuse_setting(system, parameters)
    announce_first_compile(say)
    scales = scales_of_model(ready, system)
    if not isinstance(scheme, EventDriven):  # which has tolerances of its own
        check_tolerance(tol, q, u, scales)
    near = initial_tol * scales.length
    check_start(ready, scheme, dt, t_0, q, u, values, near if state is None else None)

    begin = t_0 if state is None else state.t_start
    first = Start(values, q, u, begin, t_end, dt, steps, tol, max_iterations, prox, label(scheme), state, subdivide)
    first = first._replace(sizes=row_sizes_of(ready, scales))
    run: Any
    if collisions_of(system) is None:
        run = scheme.start(program_of(system, scheme, switching=True), first)
        if system.switches:
            run = SwitchingRun.of(run, ready, near, state)
    else:
        if system.switches:
            raise MethodError(f"{system.name}: switches and detected contacts (Collisions) do not go together yet")
        run = DetectingRun(system, scheme, first, given, near)
    changed = {n: given[n] for n in parameters or {}}
    call = {"t_end": t_end, "dt": dt, "method": label(scheme), "t_start": begin, "tol": tol, "prox": prox or None}
    call |= {"max_iterations": max_iterations, "initial_tol": initial_tol, "save_every": save_every, "states": False}
    call |= {"save": None if save is None else list(save), "energy_alarm": energy_alarm, "parameters": changed}
    call |= {"on_failure": on_failure}
    identity = {
        "system": system.name,
        "fingerprint": fingerprint(ready),
        "call": call | {"q0": None, "u0": None, "options": {}},
    }
    about: dict[str, Any] = identity | {
        "method": scheme.name,
        "options": scheme.options,
        "dt": dt,
        "tol": tol,
        "t_start": t_0,
        "t_end": t_end,
        "parameters": changed,
        "complete": False,
        **described(system, given, save_every),
    }
    if system.switches:
        about["varying"] = {name: name for name in system.switches}
    if out is None:
        check_memory(run, ready, steps // save_every + 2)
        record = Recorder(run, save_every, states)
        chosen = None if save is None else selection(save, Recorder(run).solution(ready, values, dict(about)))
    else:
        record = FileRecorder(run, save_every, out, identity | {"provenance": about}, part, ready, values, save)
    with interruptible() as interrupted, progress_bar(bar, steps, f"{system.name}, {scheme.name}") as show:
        if run.failure is None:
            run.advance(record, interrupted, show)
    about["complete"] = run.complete
    stopped = not run.complete and run.failure is None
    if isinstance(record, FileRecorder):
        record.close(final=not stopped)
        if stopped:
            path = part_of(record.path)
            raise Interrupted(
                f"interrupted at t = {run.state.t:g} of {t_end:g}, after {run.state.step} steps; ss.resume goes on with {path}",
                lambda: load(path, system=system),
                interrupted.signal,
            )
        solution = finish(record.path, record.part, run, ready, about)
    else:
        solution = record.solution(ready, values, about)
    if energy_alarm and run.complete and not system.switches and solution.holds("kinetic", "potential", "P_N", "P_g"):
        warn_of_energy(solution, system)
    if out is None and chosen is not None:
        solution = chosen.of(solution)
    if run.failure is not None:
        solution.provenance["interrupted"] = f"step {run.done + 1} could not be solved"
        raise _convergence_error(run.failure, solution, run.done)
    if stopped:
        what = f"interrupted at t = {solution.t[-1]:g} of {t_end:g}, after {run.done} steps"
        solution.provenance["interrupted"] = what
        raise Interrupted(f"{what}; `solution` of this exception has them", lambda: solution, interrupted.signal)
    return solution


def described(system: System, given: Mapping[str, float], save_every: int) -> dict[str, Any]:
    """What every provenance says besides its call: versions, date, units of measures, and what it looks like."""
    about: dict[str, Any] = {
        **_versions(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    if save_every > 1:
        about["save_every"] = save_every
    if system.drawing is not None:
        # by name: the solution stays data; all parameters: they may come from the system's builder
        about["drawing"] = {"name": system.drawing.name, "parameters": dict(given)}
    if system.measures:
        about["measures"] = {name: sensor.unit for name, sensor in system.measures.items()}
    about["look"] = _look(system, given)
    return about


def _look(system: System, parameters: Mapping[str, float]) -> dict[str, Any]:
    """What the parts look like, as data. A part that cannot be drawn must not cost a result: viewing it says why."""
    try:
        return compiled(system, ("look", len(system.shown)), lambda: look_of(system)).record(parameters)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _continued(
    start: State | Solution | None, scheme: Scheme, dt: float, t_start: Any, q0: Any, u0: Any
) -> State | None:
    """The state to start from, if it fits what is asked for."""
    state = start.state if isinstance(start, Solution) else start
    if state is None:
        if start is not None:
            raise OptionError(
                "start= is a solution without a state, written by another version; give q0= and u0= instead"
            )
        return None
    if not isinstance(state, State):
        raise OptionError(f"start = {start!r} must be a state, such as solution.state, or a solution")
    if t_start is not None or q0 is not None or u0 is not None:
        raise OptionError("start= already says where to begin: leave out t_start, q0 and u0")
    if (state.method, state.dt) != (label(scheme), dt):
        raise OptionError(
            f"start= is a state of method {state.method!r} with dt = {state.dt:g}, which {label(scheme)!r} with dt = {dt:g} "
            "cannot continue; give q0=state.q, u0=state.u and t_start=state.t instead"
        )
    return state


def _out_path(out: Any) -> Path:
    if not isinstance(out, str | os.PathLike):
        raise OptionError(f"out = {out!r} must be the path of a file, such as 'run.h5'")
    if Path(out).is_dir():
        raise OptionError(f"out = {str(out)!r} is a folder; name a file in it, such as {str(Path(out) / 'run.h5')!r}")
    return Path(out)


def count_steps(t_start: float, t_end: float, dt: float) -> int:
    """How many steps lead from t_start to t_end."""
    if 0 < t_end - t_start < dt * (1 - ROUNDING):
        raise OptionError(f"dt = {dt:g} is longer than the whole run, from t = {t_start:g} to {t_end:g}")
    if (t_end - t_start) / dt > MOST_STEPS:
        raise OptionError(
            f"dt = {dt:g} makes {(t_end - t_start) / dt:.3g} steps to t_end = {t_end:g}; take larger ones"
        )
    return max(0, math.ceil((t_end - t_start) / dt - ROUNDING))


def _convergence_error(failure: Failure, solution: Solution, step: int) -> ConvergenceError:
    t = float(solution.t[-1])
    names = (*_unclosed(failure, solution), *failure.names)
    which = f". Not closed: {', '.join(names)}" if names else ""
    remedy = f". {failure.remedy[:1].upper()}{failure.remedy[1:]}" if failure.remedy else ""
    return ConvergenceError(
        f"step {step + 1}, from t = {t:g} to {failure.t_1:g}: {failure.message}{which}{remedy}. The solution up to there is "
        "in the attribute `solution` of this error.",
        time=t,
        step=step,
        stage=failure.stage,
        residual=failure.residual,
        solution=solution,
        names=names,
        problem=failure.problem,
    )


def _unclosed(failure: Failure, solution: Solution) -> tuple[str, ...]:
    """Names of the constraints and contacts that did not close."""
    own, friction = solution.names, []
    for name, size in zip(own.friction, own.friction_sizes, strict=True):
        friction += [f"friction of {name}"] * size
    labels = {"g": own.g, "gamma": own.gamma, "N": own.contacts, "F": tuple(friction)}
    return tuple(dict.fromkeys(labels[space][i] for space, i in failure.rows))


# -- options -----------------------------------------------------------------------------------------------------------


def subdivides(on_failure: Any, scheme: Scheme) -> bool:
    """Whether steps that fail are subdivided; a scheme that cannot is refused by name."""
    if on_failure not in ("raise", "subdivide"):
        raise OptionError(f"on_failure = {on_failure!r} is neither 'raise' nor 'subdivide'")
    if on_failure == "subdivide" and scheme.facts.equal_steps:
        raise MethodError(
            f"method {scheme.name!r} cannot subdivide a step: {scheme.facts.equal_steps}; leave out on_failure, or take "
            "another method"
        )
    return bool(on_failure == "subdivide")


def positive(**option: Any) -> float:
    """An option that must be a finite number > 0, as a float."""
    ((name, value),) = option.items()
    if not (is_number(value) and value > 0):
        raise OptionError(f"{name} = {value!r} must be a finite number > 0")
    return float(value)


def whole(**option: Any) -> int:
    """An option that must be a whole number of at least 1, as an int."""
    ((name, value),) = option.items()
    if not is_number(value) or int(value) != value or value < 1:
        raise OptionError(f"{name} = {value!r} must be a whole number, at least 1")
    return int(value)


def is_number(value: Any) -> bool:
    """Whether it is a finite real number."""
    try:
        return isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value)
    except OverflowError:  # an int beyond all floats
        return False


def vector_of(own: np.ndarray, given: Any, name: str) -> np.ndarray:
    """A vector that is given instead of `own`, as floats."""
    if given is None:
        return own
    try:
        state = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise OptionError(f"{name} = {given!r} must be an array of {own.size} numbers") from None
    if state.shape != own.shape:
        raise OptionError(f"{name} has shape {state.shape}, expected {own.shape}")
    if not np.isfinite(state).all():
        raise OptionError(f"{name} is not finite: {state}")
    return state


@cache
def _versions() -> dict[str, str]:
    import casadi
    import numba

    return {
        "stickslip": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "casadi": casadi.__version__,
        "numba": numba.__version__,
        "platform": platform.platform(),
    }

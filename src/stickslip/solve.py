"""The one door: options, checks, chunks, progress, failure, storage."""

from __future__ import annotations

import datetime
import math
import platform
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from stickslip._version import __version__
from stickslip.engine.check import check_initial_state, check_laws, check_mass, highest_frequency
from stickslip.engine.derive import Model, derive
from stickslip.engine.evaluate import evaluate
from stickslip.engine.fields import RESULTS, SPACES, Field
from stickslip.engine.flow import StageFunction
from stickslip.engine.observe import observation, observe
from stickslip.engine.program import Program
from stickslip.engine.run import ROUNDING, Failure, Run, Start
from stickslip.errors import ConvergenceError, MethodError, ModelError, OptionError, StabilityWarning
from stickslip.looks import look_of
from stickslip.model.readings import units_of
from stickslip.model.system import System
from stickslip.schemes import METHODS, Scheme
from stickslip.schemes.spec import scheme_of
from stickslip.solution import Names, Solution, Stats

MOST_STEPS = 1e12  # more is a slip of the pen: years of computing, and no memory to keep them
COMPILED: WeakKeyDictionary[System, dict[Any, Any]] = WeakKeyDictionary()


def solve(
    system: System,
    t_end: float,
    dt: float,
    *,
    method: str | Scheme = "rattle",
    t_start: float = 0.0,
    q0: np.ndarray | None = None,
    u0: np.ndarray | None = None,
    parameters: Mapping[str, float] | None = None,
    tol: float = 1e-8,
    max_iterations: int = 30,
    prox: float | None = None,
    initial_tol: float = 1e-6,
    progress: bool | None = None,
    **options: Any,
) -> Solution:
    """Simulate a system from `t_start` to `t_end` in steps of `dt`.

    method: a name (`stickslip list` shows all; `options` are its parameters, as in method="theta", theta=1, or in one
    text, method="theta:theta=1") or a scheme such as `ss.Rattle()`. q0, u0: initial state, instead of the system's own.
    parameters: values that differ from the declared ones; nothing is compiled again for them. tol: residual of every
    step, as an error in coordinates and velocities. max_iterations: of one attempt of Newton's method. prox: parameter of
    the proximal point functions, instead of the automatic one; it decides about convergence, not about the result.
    initial_tol: what the initial state may violate constraints and gaps by; more is a mistake, unless it goes on from the
    end of a solution whose scheme drifts. progress: a bar on the terminal.

    The number of steps is (t_end - t_start)/dt, rounded up: the last time is the first that reaches t_end. A scheme
    that decides the length of its steps may take more; `solution.t` holds the times. Ctrl-C returns what is done. A step
    that cannot be solved raises `ConvergenceError`, which carries the solution up to there.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.5, dt=1e-2, method="moreau", parameters={"e": 0.5})
    >>> solution.q.shape
    (51, 1)
    """
    if not isinstance(system, System):
        raise OptionError(f"solve needs a System, such as stickslip.benchmarks.slider_crank(), got {system!r}")
    if not system.n_u:
        raise ModelError(f"{system.name}: nothing can move; declare coordinates or add a body")
    _check_positive(dt=dt, tol=tol, initial_tol=initial_tol)
    if not (_is_number(t_start) and _is_number(t_end)) or t_end < t_start:
        raise OptionError(f"t_end = {t_end!r} must be a finite number, not before the start t = {t_start!r}")
    if 0 < t_end - t_start < dt * (1 - ROUNDING):
        raise OptionError(f"dt = {dt:g} is longer than the whole run, from t = {t_start:g} to {t_end:g}")
    if (t_end - t_start) / dt > MOST_STEPS:
        raise OptionError(
            f"dt = {dt:g} makes {(t_end - t_start) / dt:.3g} steps to t_end = {t_end:g}; take larger ones"
        )
    if prox is not None:
        _check_positive(prox=prox)
    if not _is_number(max_iterations) or int(max_iterations) != max_iterations or max_iterations < 1:
        raise OptionError(f"max_iterations = {max_iterations!r} must be a whole number, at least 1")
    scheme = scheme_of(method, options)
    if not isinstance(progress, bool | None):
        raise OptionError(f"progress = {progress!r} must be True, False or None, which asks the terminal")
    bar = sys.stderr.isatty() if progress is None else progress
    say = _voice(progress)

    model, observing = _compiled(system, "model", lambda: _observed_model(system))
    _check_capability(scheme, model)
    values = np.array(list(system.parameter_values(parameters).values()))
    q, u = _state(system.q_initial, q0, "q0"), _state(system.u_initial, u0, "u0")
    names = _names(model)
    check_mass(model, t_start, q, values)
    check_laws(model, t_start, q, values)
    if scheme.facts.stable_to is not None:
        _check_stability(scheme, scheme.facts.stable_to, dt, highest_frequency(model, t_start, q, values))
    _announce_first_compile(say)
    first = observe(observing, values, np.array([t_start]), q[None, :], u[None, :])
    labels = {"g": names.g, "gamma": names.gamma, "contacts": names.contacts}
    check_initial_state(first, labels, model, initial_tol)

    compiled = _compiled(system, scheme, lambda: scheme.compile(model))
    steps = max(0, math.ceil((t_end - t_start) / dt - ROUNDING))
    run = scheme.start(compiled, Start(values, q, u, t_start, t_end, dt, steps, tol, max_iterations, prox))
    with _interruptible() as interrupted, _progress_bar(bar, steps, f"{system.name}, {scheme.name}") as show:
        run.advance(interrupted, show)
    solution = _solution(run, observing, names, values, system)
    solution.provenance.update(
        {
            "system": system.name,
            "method": scheme.name,
            "options": scheme.options,
            "dt": dt,
            "tol": tol,
            "t_start": t_start,
            "t_end": t_end,
            "parameters": {n: v for n, v in system.parameter_values(parameters).items() if n in (parameters or {})},
            "complete": run.complete,
            **_versions(),
        }
    )
    if system.measures:
        solution.provenance["measures"] = {name: sensor.unit for name, sensor in system.measures.items()}
    solution.provenance["look"] = _look(system, system.parameter_values(parameters))
    if (
        system.drawing is not None
    ):  # by name: the solution stays data; all parameters: they may come from the system's builder
        solution.provenance["drawing"] = {
            "name": system.drawing.name,
            "parameters": system.parameter_values(parameters),
        }
    if run.failure is not None:
        solution.provenance["interrupted"] = f"step {run.done + 1} could not be solved"
        raise _convergence_error(run.failure, solution, run.done)
    if not run.complete:
        solution.provenance["interrupted"] = f"Ctrl-C after {run.done} steps, t = {solution.t[-1]:g} of {t_end:g}"
    return solution


def observe_along(
    system: System, solution: Solution, quantities: StageFunction, fields: Sequence[Field]
) -> dict[str, np.ndarray]:
    """Evaluate `quantities` of a system, as in `engine.observe`, along a solution of it; `fields` as there.

    The parameters are those of the run.
    """
    model, _ = _compiled(system, "model", lambda: _observed_model(system))
    if _names(model) != solution.names:
        raise OptionError(
            f"the solution of {solution.provenance.get('system', 'another system')!r} does not belong to the system "
            f"{system.name!r}: coordinates or contacts have other names"
        )
    program = _compiled(system, quantities, lambda: observation(model, quantities, fields))
    values = np.array(list(system.parameter_values(solution.provenance.get("parameters")).values()))
    return observe(program, values, solution.t, solution.q, solution.u, fields)


def _solution(run: Run, observing: Program, names: Names, values: np.ndarray, system: System) -> Solution:
    c = run.columns()
    t = c["t"][:, 0].copy()
    seen = observe(observing, values, t, c["q_1"], c["u_1"])
    kinetic, potential = seen.pop("kinetic")[:, 0].copy(), seen.pop("potential")[:, 0].copy()
    stats = Stats(run.stages, run.iterations[: run.done], run.residuals[: run.done], run.seconds)
    seen |= {f"P_{space}": c[f"P.{space}"] for space in SPACES}
    arrays: dict[str, Any] = seen | {"t": t, "q": c["q_1"], "u": c["u_1"], "kinetic": kinetic, "potential": potential}
    extra = {name: c[name] for name in c if name not in ("t", *[each.name for each in RESULTS])}
    parameters = dict(zip(system.parameter_symbols(), values.tolist(), strict=True))
    for name, sensor in system.measures.items():
        measured = evaluate(system, sensor.value, parameters, t, c["q_1"], c["u_1"])
        extra[name] = measured[:, 0] if measured.shape[1] == 1 else measured
    return Solution(**arrays, extra=extra, stats=stats, names=names, system=system)


def _convergence_error(failure: Failure, solution: Solution, step: int) -> ConvergenceError:
    t = float(solution.t[-1])
    return ConvergenceError(
        f"step {step + 1}, from t = {t:g} to {failure.t_1:g}: {failure.message}; the solution up to there is in the "
        "attribute `solution` of this error.",
        time=t,
        step=step,
        stage=failure.stage,
        residual=failure.residual,
        solution=solution,
    )


# -- options -----------------------------------------------------------------------------------------------------------


def _check_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not (_is_number(value) and value > 0):
            raise OptionError(f"{name} = {value!r} must be a finite number > 0")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value)


def _state(own: np.ndarray, given: Any, name: str) -> np.ndarray:
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


def _check_capability(scheme: Scheme, model: Model) -> None:
    needs = {
        "contacts": any(part.type.n["N"] for part in model.parts),
        "friction": any(part.type.frictions for part in model.parts),
        "general_kinematics": not all(block.canonical for block in model.system.blocks),
    }
    words = {"contacts": "contacts", "friction": "friction", "general_kinematics": "kinematics other than qdot = u"}
    for need, wanted in needs.items():
        if wanted and not getattr(scheme.facts, need):
            able = [n for n, s in METHODS.items() if all(getattr(s().facts, k) for k, v in needs.items() if v)]
            default = type(scheme)().options
            changed = ", ".join(f"{k}={v!r}" for k, v in scheme.options.items() if v != default[k])
            method = f"{scheme.name!r} with {changed}" if changed else f"{scheme.name!r}"
            raise MethodError(
                f"method {method} cannot treat {words[need]}, which {model.system.name!r} has; these can: "
                f"{', '.join(sorted(able))}"
            )


def _check_stability(scheme: Scheme, stable_to: float, dt: float, omega: float) -> None:
    """A warning where oscillations will grow without bound; every scheme with explicit forces has such a limit.

    Where they grow for every dt, as with explicit Euler, slow growth may be what is wanted; from omega dt = 2 on it is not.
    """
    limit = max(stable_to, 2.0)
    if omega * dt > limit:
        warnings.warn(
            f"dt = {dt:g} is too large for method {scheme.name!r}, whose forces are explicit: the highest frequency of the "
            f"system at the start is omega = {omega:.3g} 1/s and its amplitude grows for dt > {limit / omega:.2g}; "
            "take a smaller dt, or method='theta' or 'generalized-alpha'",
            StabilityWarning,
            stacklevel=3,
        )


# -- compilation -------------------------------------------------------------------------------------------------------


def _compiled(system: System, key: Any, make: Callable[[], Any]) -> Any:
    """What was compiled for this system, unless something was declared since."""
    kept, size = COMPILED.setdefault(system, {}), system.size
    if key not in kept or kept[key][0] != size:
        kept[key] = (size, make())
    return kept[key][1]


def _observed_model(system: System) -> tuple[Model, Program]:
    model = derive(system)
    return model, observation(model)


def _look(system: System, parameters: Mapping[str, float]) -> dict[str, Any]:
    """What the parts look like, as data. A part that cannot be drawn must not cost a result: viewing it says why."""
    try:
        return _compiled(system, ("look", len(system.shown)), lambda: look_of(system)).record(parameters)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _announce_first_compile(say: Callable[[str], None]) -> None:
    """Numba compiles the time loop once per installation; say so, because it takes a while."""
    from stickslip.engine.advance import advance

    cache = getattr(advance, "_cache", None)
    path = getattr(cache, "cache_path", None)
    if path is not None and not any(_files(path, "advance.advance-*.nbi")):
        say("stickslip: compiling the time loop for this machine, once per installation (about 20 s) ...")


def _files(path: str, pattern: str) -> Iterator[Any]:
    from pathlib import Path

    return Path(path).glob(pattern)


def _voice(progress: bool | None) -> Callable[[str], None]:
    return (lambda _: None) if progress is False else (lambda text: print(text, file=sys.stderr, flush=True))


# -- names and provenance ----------------------------------------------------------------------------------------------


def _names(model: Model) -> Names:
    contacts: list[str] = []
    friction: list[tuple[str, int, int]] = []
    g: list[str] = []
    gamma: list[str] = []
    for equations in model.equations:
        for target, constraints in ((g, equations.constraints), (gamma, equations.velocity_constraints)):
            for b in constraints:
                n = b.value.numel()
                target += [b.name if n == 1 else f"{b.name}[{k}]" for k in range(n)]
        for c in equations.contacts:
            if c.slip.numel():
                friction.append((c.name, c.slip.numel(), len(contacts) if c.gap is not None else -1))
            if c.gap is not None:
                contacts.append(c.name)
    units = units_of(model.system)
    q, u = ([n for block in model.system.blocks for n in getattr(block, key)] for key in ("q_names", "u_names"))
    return Names(
        q=tuple(q),
        u=tuple(u),
        g=tuple(g),
        gamma=tuple(gamma),
        contacts=tuple(contacts),
        friction=tuple(f[0] for f in friction),
        friction_sizes=tuple(f[1] for f in friction),
        friction_contact=tuple(f[2] for f in friction),
        q_units=tuple(units[n] for n in q),
        u_units=tuple(units[n] for n in u),
        g_units=tuple(units.get(n.partition("[")[0], "") for n in g),
        gamma_units=tuple(units.get(n.partition("[")[0], "") for n in gamma),
        contact_units=tuple(units.get(n, "m") for n in contacts),
        friction_units=tuple(units.get(f[0], "m") for f in friction),
    )


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
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


# -- terminal ----------------------------------------------------------------------------------------------------------


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks the loop to stop after the current chunk; a second Ctrl-C interrupts as usual."""
    asked = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(*_: Any) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress_bar(wanted: bool, steps: int, what: str) -> Iterator[Callable[[int], None]]:
    if not wanted:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=steps)
        yield lambda done: bar.update(task, completed=done)

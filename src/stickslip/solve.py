"""The one door: options, checks, chunks, progress, failure, storage."""

from __future__ import annotations

import datetime
import math
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from stickslip._version import __version__
from stickslip.engine.check import check_initial_state, check_laws, check_mass
from stickslip.engine.derive import Model, derive
from stickslip.engine.observe import observation, observe
from stickslip.engine.program import Program, assemble
from stickslip.engine.stage import SPACES
from stickslip.errors import ConvergenceError, MethodError, OptionError, unknown_name
from stickslip.model.system import System
from stickslip.schemes import METHODS, Scheme
from stickslip.solution import Names, Solution, Stats

RESULTS = {"q_1": "q", "u_1": "u"} | {f"P.{space}": space for space in SPACES}
ROUNDING = 1e-9  # of a step, that the last time may miss t_end by
NOTHING = np.zeros((0, 4), np.int64)  # a program without instructions
CHUNK_SECONDS = 0.1  # of compiled steps between two looks at the clock and at Ctrl-C
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
    progress: bool | None = None,
    **options: Any,
) -> Solution:
    """Simulate a system from `t_start` to `t_end` in steps of `dt`.

    method: a name (`stickslip list` shows all; `options` are its parameters, as in method="lobatto", stages=3) or a scheme
    such as `ss.Rattle()`. q0, u0: initial state, instead of the system's own. parameters: values that differ from the
    declared ones; nothing is compiled again for them. tol: residual of every step, as an error in coordinates and
    velocities. max_iterations: of one attempt of Newton's method. prox: parameter of the proximal point functions, instead
    of the automatic one; it decides about convergence, not about the result. progress: a bar on the terminal.

    The number of steps is (t_end - t_start)/dt, rounded up: the last time is the first that reaches t_end. A scheme
    that decides the length of its steps may take more; `solution.t` holds the times. Ctrl-C returns what is done. A step
    that cannot be solved raises `ConvergenceError`, which carries the solution up to there.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.5, dt=1e-2, method="moreau", parameters={"e": 0.5})
    >>> solution.q.shape
    (51, 1)
    """
    _check_positive(dt=dt, tol=tol)
    if not (math.isfinite(t_start) and math.isfinite(t_end)) or t_end < t_start:
        raise OptionError(f"t_end = {t_end} must be a finite number, not before the start t = {t_start}")
    if prox is not None:
        _check_positive(prox=prox)
    if max_iterations < 1:
        raise OptionError(f"max_iterations = {max_iterations} must be at least 1")
    scheme = _scheme(method, options)
    bar = sys.stderr.isatty() if progress is None else progress
    say = _voice(progress)

    model, observing = _compiled(system, "model", lambda: _observed_model(system))
    _check_capability(scheme, model)
    values = np.array(list(system.parameter_values(parameters).values()))
    q, u = _state(system.q_initial, q0, "q0"), _state(system.u_initial, u0, "u0")
    names = _names(model)
    check_mass(model, t_start, q, values)
    check_laws(model, t_start, q, values)
    _announce_first_compile(say)
    first = observe(observing, values, np.array([t_start]), q[None, :], u[None, :])
    check_initial_state(first, {"g": names.g, "gamma": names.gamma, "contacts": names.contacts}, system)

    program = _compiled(system, scheme, lambda: _program(model, scheme))
    steps = max(0, math.ceil((t_end - t_start) / dt - ROUNDING))
    run = _Run(program, scheme, values, q, u, t_start, t_end, dt, steps, tol, max_iterations, prox)
    with _interruptible() as interrupted, _progress_bar(bar, steps, f"{system.name}, {scheme.name}") as show:
        run.advance(interrupted, show)
    solution = _solution(run, observing, names, values)
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
    if run.failed >= 0:
        raise _convergence_error(run, solution, tol)
    if not run.complete:
        solution.provenance["interrupted"] = f"Ctrl-C after {run.done} steps, t = {solution.t[-1]:g} of {t_end:g}"
    return solution


class _Run:
    """One run: the memory of the program, and the rows that are filled."""

    def __init__(
        self,
        program: Program,
        scheme: Scheme,
        values: np.ndarray,
        q: np.ndarray,
        u: np.ndarray,
        t_start: float,
        t_end: float,
        dt: float,
        steps: int,
        tol: float,
        max_iterations: int,
        prox: float | None,
    ):
        from stickslip.engine.advance import Clock, Options, workspace

        layout = program.layout
        self.program, self.steps, self.done, self.failed, self.seconds = program, steps, 0, -1, 0.0
        self.memory = np.zeros(layout.total)
        self.memory[layout.places("parameters")] = values
        self.memory[layout.places("q_0")], self.memory[layout.places("u_0")] = q, u
        self.fields = [*RESULTS, *scheme.extra]
        self.record = np.concatenate([layout.places("t_1"), *[layout.places(name) for name in self.fields]])
        self.rows = np.zeros((steps + 1, self.record.size))
        self.rows[0, : 1 + q.size + u.size] = np.concatenate([[t_start], q, u])
        self.iterations = np.zeros((max(steps, 1), len(program.solved)), np.int64)
        self.residuals = np.zeros((max(steps, 1), len(program.solved)))
        self.work, self.options = workspace(program), Options(tol, max_iterations, prox or 0.0)
        end = t_end - ROUNDING * dt if program.decides_step else math.inf
        self.clock = Clock(layout.start["t_0"], layout.start["t_1"], layout.start["dt"], float(t_start), float(dt), end)

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
        while not self.complete and self.failed < 0 and not interrupted():
            if self.done == self.steps:
                self._make_room()
            last, begin = min(self.steps, self.done + chunk), time.perf_counter()
            self.done, self.failed = advance(
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
        _, self.failed = advance(
            p.tables, p.begin, NOTHING, NOTHING, *state, *first, self.record, rows, self.iterations, self.residuals
        )
        further = 1 + sum(p.layout.size[name] for name in RESULTS)
        self.rows[0, further:] = rows[1, further:]

    def columns(self) -> dict[str, np.ndarray]:
        """The rows that are done, split into fields."""
        rows = self.rows[: self.done + 1]
        ends = np.cumsum([1, *[self.program.layout.size[name] for name in self.fields]])
        parts = np.split(rows, ends[:-1], axis=1)
        return {name: np.ascontiguousarray(part) for name, part in zip(["t", *self.fields], parts, strict=True)}


def _solution(run: _Run, observing: Program, names: Names, values: np.ndarray) -> Solution:
    c = run.columns()
    t = c["t"][:, 0].copy()
    seen = observe(observing, values, t, c["q_1"], c["u_1"])
    kinetic, potential = seen.pop("kinetic")[:, 0].copy(), seen.pop("potential")[:, 0].copy()
    stats = Stats(run.program.solved, run.iterations[: run.done], run.residuals[: run.done], run.seconds)
    seen |= {f"P_{space}": c[f"P.{space}"] for space in SPACES}
    arrays: dict[str, Any] = seen | {"t": t, "q": c["q_1"], "u": c["u_1"], "kinetic": kinetic, "potential": potential}
    extra = {name: c[name] for name in run.fields if name not in RESULTS}
    return Solution(**arrays, extra=extra, stats=stats, names=names)


def _convergence_error(run: _Run, solution: Solution, tol: float) -> ConvergenceError:
    stage, step = run.program.solved[run.failed], run.done
    t, t_1 = float(solution.t[-1]), run.memory[run.clock.t_1]
    residual, count = run.residuals[step, run.failed], run.iterations[step, run.failed]
    solution.provenance["interrupted"] = f"step {step + 1} could not be solved"
    reached = f"{residual:.2e}" if np.isfinite(residual) else "not finite"
    what = f"the {stage.replace('_', ' ')} did not converge. Residual {reached} (tolerance {tol:g})"
    tried = f"after {count} iterations, with restarts, other prox parameters and damping"
    if residual < tol:  # of every stage that is solved in turn, but never of all at once
        what, tried = "the stages that are solved in turn", f"did not settle after {count} iterations of {stage!r}"
    return ConvergenceError(
        f"step {step + 1}, from t = {t:g} to {t_1:g}: {what} {tried}. A smaller dt often helps; the solution up to there "
        "is in the attribute `solution` of this error.",
        time=t,
        step=step,
        stage=stage,
        residual=float(residual),
        solution=solution,
    )


# -- options -----------------------------------------------------------------------------------------------------------


def _check_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not (math.isfinite(value) and value > 0):
            raise OptionError(f"{name} = {value} must be a finite number > 0")


def _state(own: np.ndarray, given: np.ndarray | None, name: str) -> np.ndarray:
    if given is None:
        return own
    state = np.asarray(given, dtype=float)
    if state.shape != own.shape:
        raise OptionError(f"{name} has shape {state.shape}, expected {own.shape}")
    if not np.isfinite(state).all():
        raise OptionError(f"{name} is not finite: {state}")
    return state


def _scheme(method: str | Scheme, options: dict[str, Any]) -> Scheme:
    if isinstance(method, str):
        if method not in METHODS:
            raise OptionError(unknown_name("method", method, METHODS))
        known = METHODS[method]().options
        for name in options:
            if name not in known:
                raise OptionError(unknown_name(f"option of method {method!r}", name, known))
        return METHODS[method](**options)
    if not isinstance(method, Scheme):
        raise OptionError(f"method = {method!r} is neither a name nor a scheme; names are {', '.join(sorted(METHODS))}")
    for name in options:
        if name not in method.options:
            raise OptionError(unknown_name(f"option of method {method.name!r}", name, method.options))
    return replace(method, **options)


def _check_capability(scheme: Scheme, model: Model) -> None:
    needs = {
        "contacts": any(part.type.n["N"] for part in model.parts),
        "friction": any(part.type.frictions for part in model.parts),
        "general_kinematics": not all(block.canonical for block in model.system.blocks),
    }
    words = {"contacts": "contacts", "friction": "friction", "general_kinematics": "kinematics other than qdot = u"}
    for need, wanted in needs.items():
        if wanted and not getattr(scheme.facts, need):
            able = [n for n, s in METHODS.items() if all(getattr(s.facts, k) for k, v in needs.items() if v)]
            default = METHODS[scheme.name]().options
            changed = ", ".join(f"{k}={v!r}" for k, v in scheme.options.items() if v != default[k])
            method = f"{scheme.name!r} with {changed}" if changed else f"{scheme.name!r}"
            raise MethodError(
                f"method {method} cannot treat {words[need]}, which {model.system.name!r} has; these can: "
                f"{', '.join(sorted(able))}"
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


def _program(model: Model, scheme: Scheme) -> Program:
    return assemble(
        model, begin=scheme.begin(), step=scheme.step(), carry=scheme.carry, results={**RESULTS, **scheme.extra}
    )


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
    for equations in model.system.equations():
        for target, constraints in ((g, equations.constraints), (gamma, equations.velocity_constraints)):
            for b in constraints:
                n = b.value.numel()
                target += [b.name if n == 1 else f"{b.name}[{k}]" for k in range(n)]
        for c in equations.contacts:
            if c.slip.numel():
                friction.append((c.name, c.slip.numel(), len(contacts) if c.gap is not None else -1))
            if c.gap is not None:
                contacts.append(c.name)
    return Names(
        q=tuple(n for block in model.system.blocks for n in block.q_names),
        u=tuple(n for block in model.system.blocks for n in block.u_names),
        g=tuple(g),
        gamma=tuple(gamma),
        contacts=tuple(contacts),
        friction=tuple(f[0] for f in friction),
        friction_sizes=tuple(f[1] for f in friction),
        friction_contact=tuple(f[2] for f in friction),
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

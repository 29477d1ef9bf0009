"""Many runs of one system that differ in parameters and initial states, without any overhead per run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.check import (
    LAWS,
    check_initial_state,
    check_laws,
    check_mass,
    check_orientations,
    laws_hold,
    without_orientation,
)
from stickslip.engine.fields import Q_0, U_0
from stickslip.engine.layout import slices
from stickslip.engine.limits import RangeRows
from stickslip.engine.observe import observe
from stickslip.engine.run import NOTHING, ProgramRun
from stickslip.engine.runs import CHUNK_ROWS, Start
from stickslip.engine.watch import row_layout
from stickslip.errors import MethodError, ModelError, OptionError, unknown_name
from stickslip.model.system import System
from stickslip.notebook import ShownAsText
from stickslip.schemes import Scheme
from stickslip.schemes.spec import label, scheme_of
from stickslip.solve.alarm import warn_of_jams
from stickslip.solve.checks import check_capability, labels_of_rows
from stickslip.solve.options import as_float, count_steps, is_number, positive, whole
from stickslip.solve.prepared import Prepared, prepare, program_of
from stickslip.solve.scales import check_tolerance, row_sizes_of, scales_of_model

# What `solve` takes and an ensemble does not, with what there is instead.
OF_SOLVE = dict.fromkeys(("start", "prox", "solver", "states", "energy_alarm", "out", "overwrite", "progress"), "")
OF_SOLVE |= dict.fromkeys(("save", "save_every"), ". It keeps states, after the steps keep=")
OF_SOLVE["on_failure"] = ". A run ends at a step that cannot be solved, see `Ensemble.failed`; a smaller dt may help"


@dataclass(frozen=True, eq=False)
class Ensemble(ShownAsText):
    """States of many runs at chosen times: arrays (runs, times, columns).

    `failed`: runs with a step that could not be solved, or a start inside an obstacle; their later rows are NaN.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.bouncing_ball()
    >>> runs = ss.ensemble(ball, t_end=0.1, dt=1e-2, parameters={"e": [0.0, 0.5]})
    >>> len(runs), runs.q.shape, bool(runs.failed.any())
    (2, (2, 1, 1), False)
    """

    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    P_N: np.ndarray
    failed: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        return (
            f"<Ensemble: {len(self)} runs, {len(self.t)} times up to {self.t[-1]:g}, {int(self.failed.sum())} failed>"
        )


def ensemble(
    system: System,
    t_end: float,
    dt: float,
    *,
    parameters: Mapping[str, Any] | None = None,
    q0: Any = None,
    u0: Any = None,
    keep: Sequence[int] | None = None,
    method: str | Scheme = "rattle",
    t_start: float = 0.0,
    tol: float = 1e-8,
    max_iterations: int = 30,
    initial_tol: float = 1e-6,
    workers: int | None = None,
    **options: Any,
) -> Ensemble:
    """Simulate many times, in one compiled loop on all cores: for basins, bifurcation diagrams, Monte Carlo.

    parameters: numbers, or arrays with one number per run. q0, u0: one initial state, or one row per run. keep: the steps after
    which states are kept, as numbers from 0 (the start) to the last; only the last one if not given. workers: threads; the
    result does not depend on them. A run that fails does not stop the others, see `Ensemble.failed`.

    >>> import numpy as np
    >>> import stickslip as ss
    >>> ball = ss.benchmarks.bouncing_ball()
    >>> heights = np.linspace(0.5, 1.5, 5)[:, None]
    >>> runs = ss.ensemble(ball, t_end=1.0, dt=1e-2, q0=heights, parameters={"e": 0.5})
    >>> runs.q.shape
    (5, 1, 1)
    """
    if not isinstance(system, System):
        raise OptionError(f"ensemble needs a System, such as stickslip.benchmarks.bouncing_ball(), got {system!r}")
    for name in options:
        if name in OF_SOLVE:
            raise OptionError(f"an ensemble does not take {name}=, which belongs to ss.solve{OF_SOLVE[name]}")
    scheme = scheme_of(method, options)
    dt, tol = positive(dt=dt), positive(tol=tol)
    if not (is_number(t_start) and is_number(t_end)) or t_end < t_start:
        raise OptionError(f"t_end = {t_end!r} must be a finite number, not before the start t = {t_start!r}")
    steps = count_steps(as_float(t_start), as_float(t_end), dt)
    ready = prepare(system)
    check_capability(scheme, ready.model)
    columns = _columns(system, parameters, q0, u0)
    values = _values(system, columns)
    q, u = columns["q0"], columns["u0"]
    scales = scales_of_model(ready, system)
    check_tolerance(tol, q[0], u[0], scales)
    refused = _refused(ready, float(t_start), q, u, values, initial_tol * scales.length)

    at = _steps_kept(keep, steps)
    program = program_of(system, scheme)
    start = Start(
        values[0],
        q[0],
        u[0],
        float(t_start),
        as_float(t_end),
        dt,
        0,
        tol,
        whole(max_iterations=max_iterations),
        0.0,
        label(scheme),
    )
    start = start._replace(sizes=row_sizes_of(ready, scales))
    run = scheme.start(program, start)
    if not isinstance(run, ProgramRun) or run.program.decides_step:
        raise MethodError(f"method {scheme.name!r} has no steps of equal length; an ensemble needs them")

    results = np.full((len(values), at.size, run.record.size), np.nan)
    done = np.zeros(len(values), np.int64)
    count = min(whole(workers=workers or os.cpu_count() or 1), max(1, len(values) // 8))
    pieces = np.array_split(np.flatnonzero(~refused), count)
    inputs = np.hstack([values, q, u])
    with ThreadPoolExecutor(count) as pool:
        for outcome in [pool.submit(run_many, scheme, program, start, inputs, at, p, results, done) for p in pieces]:
            outcome.result()
    first = at == 0
    results[:, first, 0], done[~refused & (done < at[-1])] = t_start, -1
    n_q, n_u = q.shape[1], u.shape[1]
    results[:, first, 1 : 1 + n_q], results[:, first, 1 + n_q : 1 + n_q + n_u] = q[:, None, :], u[:, None, :]
    contacts = slices(run.columns)["P.N"]
    return Ensemble(
        t=t_start + dt * at,
        q=results[:, :, 1 : 1 + n_q].copy(),
        u=results[:, :, 1 + n_q : 1 + n_q + n_u].copy(),
        P_N=results[:, :, contacts].copy(),
        failed=refused | (done < 0),
    )


def run_many(
    scheme: Scheme,
    program: Any,
    start: Start,
    inputs: np.ndarray,
    at: np.ndarray,
    mine: np.ndarray,
    results: np.ndarray,
    done: np.ndarray,
) -> None:
    """The runs `mine` of an ensemble, in the calling thread; each thread has a memory of its own."""
    from stickslip.engine.advance import allow_sweeps
    from stickslip.engine.many import advance_many

    if not mine.size:
        return
    run = scheme.start(program, start)
    assert isinstance(run, ProgramRun)
    allow_sweeps(program.tables, run.work)
    run.work.nap[:] = 0  # the loop over runs knows nobody who sleeps
    layout = run.program.layout
    places = np.concatenate([np.arange(layout.parameters), layout.places(Q_0, U_0)])
    later = at[at > 0]
    out, steps = np.full((mine.size, later.size, run.record.size), np.nan), np.zeros(mine.size, np.int64)
    chunk = int(min(CHUNK_ROWS, max(1, later[-1] if later.size else 1)))
    rows = np.zeros((chunk + 1, run.record.size))
    iterations = np.zeros((chunk, len(run.stages)), np.int64)
    residuals = np.zeros((chunk, run.program.n_residuals))
    code, state = run.program, (run.blank, run.memory, run.work, run.options, run.clock)
    given, scratch = (places, np.ascontiguousarray(inputs[mine])), (rows, iterations, residuals, NOTHING)
    advance_many(
        code.tables, code.begin, code.step, code.carry, *state, *given, later, run.record, *scratch, out, steps
    )
    for k in np.flatnonzero(steps < later[-1]) if later.size else ():
        steps[k] = _with_all_solvers(run, inputs[mine[k]], later, out[k])
    if run.limits is not None:
        columns, form = [slices(run.columns)[name] for name in ("t", "q_1", "u_1", "P.N")], row_layout(run.columns)
        for k in np.flatnonzero(steps >= later[-1]) if later.size else ():
            parameters = inputs[mine[k], : layout.parameters].copy()
            if run.limits.holds(out[k], form, parameters, first=0):
                continue
            t, q, u, P_N = (out[k][:, at] for at in columns)
            motion = RangeRows(t[:, 0], q, u, None, P_N)
            if run.limits.breach(motion, parameters) is not None:
                steps[k] = 0
    results[np.ix_(mine, np.flatnonzero(at > 0))] = out
    done[mine] = steps


def _with_all_solvers(run: ProgramRun, given: np.ndarray, at: np.ndarray, out: np.ndarray) -> int:
    """Repeat a run that the compiled attempts could not do; how many steps it came to."""
    n, n_q = run.program.layout.parameters, run.program.layout.size[Q_0]
    run.memory[:n] = given[:n]
    run.restart(run.clock.start, run.clock.step, given[n : n + n_q], given[n + n_q :])
    for k, steps in enumerate(at.tolist()):
        while run.failure is None and run.done < steps:
            run.step(min(steps - run.done, CHUNK_ROWS))
        if run.failure is not None:
            break
        out[k] = run.row
    warn_of_jams(run)
    return run.done


# -- what is given -----------------------------------------------------------------------------------------------------


def _steps_kept(keep: Any, last: int) -> np.ndarray:
    """The steps after which states are kept: the last one, unless some are given."""
    wrong = f"keep = {keep!r} must be rising whole numbers of steps, from 0 to {last}"
    try:
        given = np.asarray([last] if keep is None else keep, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(wrong) from None
    if given.ndim != 1 or not given.size or not (given == np.floor(given)).all():
        raise OptionError(wrong)
    if (np.diff(given) <= 0).any() or given[0] < 0 or given[-1] > last:
        raise OptionError(wrong)
    return given.astype(np.int64)


def _columns(system: System, parameters: Any, q0: Any, u0: Any) -> dict[str, np.ndarray]:
    """Everything with one row per run."""
    if not isinstance(parameters, Mapping | None):
        raise OptionError(f"parameters must be given as {{name: number or array}}, got {parameters!r}")
    given: dict[str, np.ndarray] = {}
    for name, value in {**(parameters or {}), "q0": q0, "u0": u0}.items():
        if value is None:
            value = system.q_initial if name == "q0" else system.u_initial
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise OptionError(f"{name} = {value!r} must be numbers") from None
        if not np.isfinite(array).all():
            raise OptionError(f"{name} has entries that are not finite")
        width = {"q0": system.n_q, "u0": system.n_u}.get(name)
        if width is not None:
            array = array[None, :] if array.ndim == 1 else array
            if array.ndim != 2 or array.shape[1] != width:
                raise OptionError(
                    f"{name} has shape {np.shape(value)}, expected {width} numbers, or one row of them per run"
                )
        elif name not in system.parameter_symbols():
            raise ModelError(f"{system.name}: {unknown_name('parameter', str(name), system.parameters)}")
        elif name not in system.parameters:
            raise ModelError(f"{system.name}: parameter {name!r} follows from others and cannot be set")
        else:
            array = np.atleast_1d(array)
            for each in array.min(initial=np.inf), array.max(initial=-np.inf):
                if array.size:
                    system.parameter_value(name, each)
        given[name] = array
    empty = [name for name, array in given.items() if not len(array)]
    if empty:
        raise OptionError(f"{empty[0]} is an empty list: an ensemble needs at least one run")
    runs = max(len(array) for array in given.values())
    for name, array in given.items():
        if len(array) not in (1, runs):
            raise OptionError(f"{name} is given for {len(array)} runs, others for {runs}")
    return {name: np.broadcast_to(array, (runs, *array.shape[1:])) for name, array in given.items()}


def _values(system: System, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """All parameters of all runs, with those that follow from others."""
    runs, free = len(columns["q0"]), system.parameters
    symbols = system.parameter_symbols()
    known = {name: np.broadcast_to(columns.get(name, value), (runs,)) for name, value in free.items()}
    if len(known) < len(symbols):
        for name, expression in system.parameter_expressions().items():
            if name not in known:
                f = ca.Function("value", [symbols[n] for n in known], [expression])
                out = f.call([ca.DM(np.ascontiguousarray(column)).T for column in known.values()])[0]
                known[name] = np.broadcast_to(np.array(out).ravel(), (runs,))
    return np.ascontiguousarray(np.stack([known[name] for name in symbols], axis=1) if symbols else np.zeros((runs, 0)))


def _distinct(values: np.ndarray, columns: np.ndarray) -> list[int]:
    """Runs that stand for all others in these parameters."""
    return np.unique(values[:, columns], axis=0, return_index=True)[1].tolist() if columns.size else [0]


def _refused(
    ready: Prepared, t: float, q: np.ndarray, u: np.ndarray, values: np.ndarray, tolerance: float
) -> np.ndarray:
    """Runs that start inside an obstacle or violate constraints. Masses and laws are checked where they change."""
    numbering = ready.numbering
    for k in _distinct(values, numbering.inputs_of(("M",))[2]):
        check_mass(numbering, t, q[k], values[k])
    for law in LAWS:
        plain = None if law == "coefficients" else numbering.plain_parameters(law)
        if plain is None or not laws_hold(law, values[:, plain]):
            for k in _distinct(values, numbering.inputs_of((law,))[2]):
                check_laws(numbering, t, q[k], values[k], (law,))
    varying = {int(k): values[:, k] for k in np.flatnonzero((values != values[0]).any(axis=0))}
    seen = observe(ready.observing, values[0], np.full(len(q), t), q, u, varying=varying)
    off = [np.abs(seen[name]).max(axis=1, initial=0.0) for name in ("g", "g_dot", "gamma")]
    off.append(-seen["gap"].min(axis=1, initial=0.0))
    refused = ~(np.max(off, axis=0) <= tolerance)  # what is not a number is refused as well
    refused |= without_orientation(numbering, q).any(1)
    if len(q) == 1 and refused[0]:
        check_orientations(numbering, q[0])
        check_initial_state(seen, partial(labels_of_rows, ready), numbering, tolerance)
    return refused

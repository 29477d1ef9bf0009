"""Many runs over parameters and initial states, with a number of each: grids, lists and samples.

Runs are independent, so the result does not depend on where and in which order they run. What is done is kept in a journal,
if one is asked for: a killed sweep goes on where it was.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import OptionError, ResultFileError, StickslipError
from stickslip.model.system import System
from stickslip.schemes import Scheme
from stickslip.solution import Solution
from stickslip.solve import solve

if TYPE_CHECKING:
    import xarray

Point = dict[str, Any]


def final_state(solution: Solution) -> dict[str, np.ndarray]:
    """The measure that is taken if none is given: coordinates and velocities at the end."""
    return {"q": solution.q[-1], "u": solution.u[-1]}


@dataclass(frozen=True, eq=False)
class Sweep:
    """The points of a sweep and what was measured there: `values[name]` has one row per point.

    axes: the lists of a grid, by name; empty for lists and samples. errors: the messages of runs that failed, by the number of
    their point; their values are NaN.
    """

    points: tuple[Point, ...]
    axes: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    errors: dict[int, str]

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        what = " x ".join(f"{len(axis)} {name}" for name, axis in self.axes.items()) or f"{len(self)} points"
        return f"<Sweep: {what}, measured {', '.join(self.values)}, {len(self.errors)} failed>"

    def __getitem__(self, name: str) -> np.ndarray:
        """A measured quantity: in the shape of the grid, if there is one."""
        array = self.values[name]
        return array.reshape(*[len(axis) for axis in self.axes.values()], *array.shape[1:]) if self.axes else array

    def to_xarray(self) -> xarray.Dataset:
        """All values with labelled axes, for plots, NetCDF and Zarr; needs xarray."""
        try:
            import xarray
        except ImportError:
            raise OptionError("to_xarray needs xarray: pip install xarray") from None
        dims = tuple(self.axes) or ("point",)
        coordinates: dict[str, Any] = dict(self.axes)
        if not self.axes:
            names = [n for n in (self.points[0] if self.points else {}) if np.ndim(self.points[0][n]) == 0]
            coordinates = {n: ("point", np.array([p[n] for p in self.points])) for n in names}
        variables = {
            name: ((*dims, *[f"{name}_{k}" for k in range(self[name].ndim - len(dims))]), self[name])
            for name in self.values
        }
        return xarray.Dataset(variables, coordinates, {"failed": len(self.errors)})


def sweep(
    system: System | Callable[[], System],
    t_end: float,
    dt: float,
    *,
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    measure: Callable[[Solution], Any] = final_state,
    method: str | Scheme = "rattle",
    executor: Any = None,
    workers: int | None = None,
    journal: str | Path | None = None,
    progress: bool | None = False,
    **options: Any,
) -> Sweep:
    """Solve for many parameters, and keep what `measure` makes of each solution.

    parameters: {name: list} for all combinations (a grid), or a list of {name: value} for chosen points and samples, such as
    those of `scipy.stats.qmc`. The names "q0" and "u0" mean initial states. measure(solution) returns a number, an array,
    or several by name. executor: None for threads of this process (`workers` of them; the compiled loop releases the
    interpreter lock), any `concurrent.futures.Executor`, or a `dask.distributed.Client`. Processes need a function that
    makes the system, such as `ss.benchmarks.slider_crank`, instead of the system, and a measure that can be pickled.
    journal: a file that keeps what is done, so that a killed sweep goes on. Runs that fail are collected in `errors`.
    options: those of `ss.solve`.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.bouncing_ball()
    >>> heights = ss.sweep(ball, 1.0, 1e-2, parameters={"e": [0.2, 0.5, 0.8]}, measure=lambda s: s.q[60:, 0].max())
    >>> heights["value"].shape
    (3,)
    """
    points, axes = _points(parameters)
    if not callable(measure):
        raise OptionError(f"measure = {measure!r} must be a function of a solution")
    if not isinstance(system, System) and not callable(system):
        raise OptionError(f"sweep needs a System, or a function that makes one, got {system!r}")
    _check_names(system if isinstance(system, System) else system(), points)
    call = {"t_end": t_end, "dt": dt, "method": method, **options}
    kept = Journal(Path(journal), _identity(system, call, points, measure)) if journal is not None else None
    done: dict[int, tuple[dict[str, np.ndarray] | None, str | None]] = dict(kept.done) if kept is not None else {}
    left = [k for k in range(len(points)) if k not in done]
    pool = executor if executor is not None else ThreadPoolExecutor(workers or os.cpu_count() or 1)
    if executor is None and isinstance(system, System) and left:
        _one(system, points[left[0]], {**call, "t_end": 0.0}, final_state)  # compile once, not in every thread
    try:
        for k, outcome in _collect(pool, system, points, left, call, measure, progress):
            done[k] = outcome
            if kept is not None:
                kept.append(k, outcome)
    finally:
        if executor is None:
            pool.shutdown(cancel_futures=True)
        if kept is not None:
            kept.close()
    return _result(points, axes, done)


def _check_names(system: Any, points: Sequence[Point]) -> None:
    """A name that no run can have is a mistake of the call; values are for each run to judge."""
    if isinstance(system, System):
        known = {"q0", "u0", *system.parameters}
        for name in dict.fromkeys(name for point in points for name in point if name not in known):
            system.parameter_values({name: 0.0})


def _collect(
    pool: Any,
    system: Any,
    points: Sequence[Point],
    left: Sequence[int],
    call: dict[str, Any],
    measure: Any,
    progress: Any,
) -> Iterable[tuple[int, tuple[dict[str, np.ndarray] | None, str | None]]]:
    """Outcomes as they come; no more runs are waiting than the pool needs, so that a million points fit into memory."""
    from stickslip.solve.terminal import progress_bar

    waiting: dict[Any, int] = {}
    todo, finished = iter(left), 0
    extra = {} if isinstance(pool, _LOCAL) else {"pure": False} if hasattr(pool, "scheduler_info") else {}
    with progress_bar(bool(progress), len(left), "sweep") as show:
        while True:
            for k in itertools.islice(todo, 256 - len(waiting)):
                waiting[pool.submit(_one, system, points[k], call, measure, **extra)] = k
            if not waiting:
                return
            if all(isinstance(future, Future) for future in waiting):
                ready = wait(list(waiting), return_when=FIRST_COMPLETED).done
            else:
                ready = {next(iter(waiting))}  # of another kind: in order
            for future in ready:
                k = waiting.pop(future)
                finished += 1
                show(finished)
                yield k, future.result()


_LOCAL = (ThreadPoolExecutor,)


def _one(
    system: Any, point: Point, call: dict[str, Any], measure: Any
) -> tuple[dict[str, np.ndarray] | None, str | None]:
    """One run: what was measured, or why there is nothing."""
    made = system if isinstance(system, System) else _made(system)
    start: dict[str, Any] = {name: point[name] for name in ("q0", "u0") if name in point}
    parameters = {name: value for name, value in point.items() if name not in start}
    try:
        value: Any = measure(solve(made, **(call | start), parameters=parameters, progress=False))
    except StickslipError as error:
        return None, f"{type(error).__name__}: {error}"
    named = value if isinstance(value, dict) else {"value": value}
    return {name: np.asarray(v, dtype=float) for name, v in named.items()}, None


@lru_cache(maxsize=4)
def _made(build: Callable[[], System]) -> System:
    """The system of a worker process, made once."""
    made = build()
    if not isinstance(made, System):
        raise OptionError(f"{build!r} returns {made!r}, not a System")
    return made


def _points(parameters: Any) -> tuple[tuple[Point, ...], dict[str, np.ndarray]]:
    if isinstance(parameters, Mapping):
        axes = {}
        for name, values in parameters.items():
            if np.ndim(values) == 0 or not len(values):
                raise OptionError(f"parameters[{name!r}] = {values!r} must be a list of values")
            axes[name] = np.asarray(values, dtype=float)
        scalar = all(axis.ndim == 1 for axis in axes.values())
        points = tuple(dict(zip(axes, combination, strict=True)) for combination in itertools.product(*axes.values()))
        points = tuple({n: float(v) if np.ndim(v) == 0 else v for n, v in p.items()} for p in points)
        if not scalar:  # initial states have no place on an axis: they are counted
            return points, {n: axis if axis.ndim == 1 else np.arange(len(axis)) for n, axis in axes.items()}
        return points, axes
    if isinstance(parameters, str) or not isinstance(parameters, Iterable):
        raise OptionError(f"parameters = {parameters!r} must be {{name: list}} or a list of {{name: value}}")
    points = tuple(dict(point) for point in parameters)
    if not points or any(set(point) != set(points[0]) for point in points):
        raise OptionError("all points of a sweep need the same parameters, and there must be at least one point")
    return points, {}


def _result(points: tuple[Point, ...], axes: dict[str, np.ndarray], done: Mapping[int, Any]) -> Sweep:
    errors = {k: done[k][1] for k in sorted(done) if done[k][1] is not None}
    example: dict[str, np.ndarray] = next(
        (values for values, _ in (done[k] for k in sorted(done)) if values is not None), {}
    )
    out = {}
    for name, value in example.items():
        array = np.full((len(points), *value.shape), np.nan)
        for k, (values, _) in done.items():
            if values is not None:
                if name not in values or values[name].shape != value.shape:
                    raise OptionError(
                        f"measure gives {name!r} of different shapes: {value.shape} and others at {points[k]}"
                    )
                array[k] = values[name]
        out[name] = array
    return Sweep(points, axes, out, errors)


# -- journal -----------------------------------------------------------------------------------------------------------


def _identity(system: Any, call: Mapping[str, Any], points: Sequence[Point], measure: Any) -> str:
    """What must be the same for a sweep to go on."""
    from stickslip.solve import prepare
    from stickslip.solve.outfile import fingerprint

    made = system if isinstance(system, System) else _made(system)
    about: list[Any] = [fingerprint(prepare(made)), made.parameters, {k: str(v) for k, v in call.items()}]
    about += [[{n: np.asarray(v).tolist() for n, v in p.items()} for p in points], getattr(measure, "__qualname__", "")]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


class Journal:
    """One line per run that is done, in JSON; a line that is not whole is ignored."""

    def __init__(self, path: Path, identity: str):
        self.done: dict[int, tuple[dict[str, np.ndarray] | None, str | None]] = {}
        end = 0
        try:
            if path.exists():
                end = self._read(path, identity)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("r+b" if end else "wb", buffering=0)
            self._file.truncate(end)
            self._file.seek(end)
            if not end:
                self._file.write(json.dumps({"sweep": identity}).encode() + b"\n")
        except OSError as error:
            raise ResultFileError(f"cannot write {path}: {error.strerror}. Choose another journal=.") from error

    def _read(self, path: Path, identity: str) -> int:
        end = 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            try:
                entry = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                entry = None
            if entry is None:
                break
            if number == 0 and entry.get("sweep") != identity:
                raise OptionError(f"{path} is the journal of another sweep; choose another file, or delete it")
            if number:
                values = entry["values"]
                arrays = None if values is None else {n: np.array(v, dtype=float) for n, v in values.items()}
                self.done[entry["point"]] = arrays, entry["error"]
            end += len(line)
        return end

    def append(self, point: int, outcome: tuple[dict[str, np.ndarray] | None, str | None]) -> None:
        """Keep the outcome of a run; numbers come back bit for bit."""
        values, error = outcome
        lists = None if values is None else {name: array.tolist() for name, array in values.items()}
        self._file.write(json.dumps({"point": point, "values": lists, "error": error}).encode() + b"\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

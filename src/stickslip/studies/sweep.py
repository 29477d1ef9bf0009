"""Many runs over parameters and initial states, with a number of each: grids, lists and samples.

Runs are independent, so the result does not depend on where and in which order they run. What is done is kept in a journal,
if one is asked for: a killed sweep goes on where it was.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import OptionError, ResultFileError
from stickslip.model.system import System
from stickslip.notebook import html_table
from stickslip.schemes import Scheme
from stickslip.solution import Solution
from stickslip.solve.options import out_path, shows_progress, whole
from stickslip.solve.terminal import progress_bar
from stickslip.studies.journal import Journal, Measured
from stickslip.studies.likeness import likeness
from stickslip.studies.pools import SweepTask, check_call, made, outcomes

if TYPE_CHECKING:
    import xarray

SHOWN = 20  # points in a notebook
SweepPoint = dict[str, Any]


def _require_zarr() -> None:
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise OptionError("a Zarr store needs zarr: pip install zarr; or save NetCDF, runs.nc") from None


def final_state(solution: Solution) -> dict[str, np.ndarray]:
    """The measure that is taken if none is given: coordinates and velocities at the end."""
    return {"q": solution.q[-1], "u": solution.u[-1]}


@dataclass(frozen=True, eq=False)
class Sweep:
    """The points of a sweep and what was measured there: `values[name]` has one row per point.

    axes: the lists of a grid, by name; empty for lists and samples. errors: the messages of runs that failed, by the number of
    their point; their values are NaN.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.bouncing_ball()
    >>> found = ss.sweep(ball, 0.1, 1e-2, parameters={"g": [5.0, 9.81]}, measure=lambda s: s.u[5, 0], progress=False)
    >>> len(found), found["value"].round(4).tolist()
    (2, [-0.25, -0.4905])
    """

    points: tuple[SweepPoint, ...]
    axes: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    errors: dict[int, str]

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        what = " x ".join(f"{len(axis)} {name}" for name, axis in self.axes.items()) or f"{len(self)} points"
        return f"<Sweep: {what}, measured {', '.join(self.values)}, {len(self.errors)} failed>"

    def _repr_html_(self) -> str:
        """The first points and what was measured there, for notebooks."""
        header = [*(self.points[0] if self.points else {}), *self.values]
        rows = [
            [*(_shown(value) for value in point.values()), *(_shown(array[k]) for array in self.values.values())]
            for k, point in enumerate(self.points[:SHOWN])
        ]
        return f"<b>{escape(repr(self))}</b>{html_table(rows, header, len(self) - SHOWN)}"

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
        if both := sorted(set(self.values) & (set(dims) | set(coordinates))):
            raise OptionError(f"{both[0]!r} names a parameter and a measure; give what is measured another name")
        variables = {
            name: ((*dims, *[f"{name}_{k}" for k in range(self[name].ndim - len(dims))]), self[name])
            for name in self.values
        }
        return xarray.Dataset(variables, coordinates, {"failed": len(self.errors)})

    def save(self, path: str | Path) -> Path:
        """Write `to_xarray()` to a NetCDF file, `runs.nc`, or a Zarr store, `runs.zarr`, and return its path.

        >>> sweep.save("runs.nc")    # doctest: +SKIP
        """
        path, data = Path(path), self.to_xarray()
        if path.suffix not in (".nc", ".zarr"):
            raise OptionError(f"a sweep is saved as NetCDF (runs.nc) or Zarr (runs.zarr), got {path}")
        try:
            if path.suffix == ".nc":
                data.to_netcdf(path)
            else:
                _require_zarr()
                data.to_zarr(path, mode="w", zarr_format=2)  # which other programs read, too
        except OSError as error:
            raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error
        return path


def _shown(value: Any) -> str:
    return f"{value:.6g}" if np.ndim(value) == 0 else np.array2string(np.asarray(value), precision=6, threshold=6)


def sweep(
    system: System | Callable[[], System],
    t_end: float,
    dt: float,
    *,
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    measure: Callable[[Solution], Any] = final_state,
    method: str | Scheme = "rattle",
    sampler: Any = None,
    samples: int | None = None,
    executor: Any = None,
    workers: int | None = None,
    journal: str | Path | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Sweep:
    """Solve for many parameters, and keep what `measure` makes of each solution.

    parameters: {name: list} for all combinations (a grid), or a list of {name: value} for chosen points. With a `sampler` of
    `scipy.stats.qmc`, {name: (least, largest)}: it draws `samples` points between them. The names "q0" and "u0" mean initial
    states. measure(solution) returns a number, an array, or several by name.

    executor: None for the cores of this machine, `workers` of them: threads over one compiled program, which releases the
    interpreter lock, or processes where runs spend their time in Python (events, detected contacts). Else any
    `concurrent.futures.Executor`, or a `dask.distributed.Client`; systems and functions travel by themselves. The result does
    not depend on it, bit for bit. journal: a file that keeps what is done, so that a killed sweep goes on. Runs that fail are
    collected in `errors`. progress: a bar, with runs per second. options: those of `ss.solve`.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.bouncing_ball()
    >>> heights = ss.sweep(ball, 1.0, 1e-2, parameters={"e": [0.2, 0.5, 0.8]}, measure=lambda s: s.q[60:, 0].max())
    >>> heights["value"].shape
    (3,)
    >>> from scipy.stats import qmc
    >>> drawn = ss.sweep(ball, 1.0, 1e-2, parameters={"e": (0.2, 0.9)}, sampler=qmc.Halton(1, seed=0), samples=4)
    >>> drawn["q"].shape
    (4, 1)
    """
    if not callable(measure):
        raise OptionError(f"measure = {measure!r} must be a function of a solution")
    if not isinstance(system, System) and not callable(system):
        raise OptionError(f"sweep needs a System, or a function that makes one, got {system!r}")
    progress = shows_progress(progress)
    if workers is not None:
        workers = whole(workers=workers)
    points, axes = _points(parameters) if sampler is None and samples is None else _drawn(parameters, sampler, samples)
    first = system if isinstance(system, System) else made(system)
    _check_names(first, points)
    if options.get("out") is not None:
        raise OptionError(
            "out= is one file, and a sweep makes many runs. Keep numbers of each run with measure=, what is done with "
            "journal=, and all of it with save() of the result; for whole trajectories call ss.solve(..., out=...) in a loop"
        )
    call = {"t_end": t_end, "dt": dt, "method": method, **options}
    check_call(first, call)
    journal = None if journal is None else out_path(journal=journal)
    identity = None if journal is None else _identity(first, call, points, measure)
    kept = None if journal is None or identity is None else Journal(journal, identity, len(points))
    done: dict[int, Measured] = dict(kept.done) if kept is not None else {}
    left = [k for k in range(len(points)) if k not in done]
    bar = sys.stderr.isatty() if progress is None else progress
    before = len(done)
    try:
        with progress_bar(bar, len(left), "sweep", "runs") as show:
            work = SweepTask(system, call, measure)
            for numbers, results in outcomes(work, [points[k] for k in left], executor, workers):
                for k, outcome in zip([left[n] for n in numbers], results, strict=True):
                    done[k] = outcome
                    if kept is not None:
                        kept.append(k, outcome)
                show(len(done) - before)
    finally:
        if kept is not None:
            kept.close()
    return _result(points, axes, done)


def _check_names(system: System, points: Sequence[SweepPoint]) -> None:
    """A name that no run can have is a mistake of the call; values are for each run to judge."""
    known = {"q0", "u0", *system.parameters}
    for name in dict.fromkeys(name for point in points for name in point if name not in known):
        system.parameter_values({name: 1.0})
    for name, size in (("q0", system.n_q), ("u0", system.n_u)):
        for k, point in enumerate(points):
            if name in point and np.shape(point[name]) != (size,):
                raise OptionError(
                    f"{name} of point {k} has the shape {np.shape(point[name])}, expected ({size},): every {name} is a list "
                    f"of {size} number{'s' if size > 1 else ''}, also where there is only one"
                )


def _points(parameters: Any) -> tuple[tuple[SweepPoint, ...], dict[str, np.ndarray]]:
    if isinstance(parameters, Mapping):
        axes = {}
        for name, values in parameters.items():
            try:
                axes[name] = np.asarray(values, dtype=float)
            except (TypeError, ValueError, OverflowError):
                axes[name] = np.zeros(())
            if axes[name].ndim == 0 or not len(axes[name]):
                raise OptionError(
                    f"parameters[{name!r}] = {values!r} must be a list of values, or of states of one length"
                )
        scalar = all(axis.ndim == 1 for axis in axes.values())
        points = tuple(dict(zip(axes, combination, strict=True)) for combination in itertools.product(*axes.values()))
        points = tuple({n: float(v) if np.ndim(v) == 0 else v for n, v in p.items()} for p in points)
        if not scalar:  # initial states have no place on an axis: they are counted
            return points, {n: axis if axis.ndim == 1 else np.arange(len(axis)) for n, axis in axes.items()}
        return points, axes
    if isinstance(parameters, str) or not isinstance(parameters, Iterable):
        raise OptionError(f"parameters = {parameters!r} must be {{name: list}} or a list of {{name: value}}")
    parameters = tuple(parameters)
    if not all(isinstance(point, Mapping) for point in parameters):
        raise OptionError(f"parameters = {parameters!r} must be {{name: list}} or a list of {{name: value}}")
    points = tuple(dict(point) for point in parameters)
    if not points or any(set(point) != set(points[0]) for point in points):
        raise OptionError("all points of a sweep need the same parameters, and there must be at least one point")
    return points, {}


def _drawn(parameters: Any, sampler: Any, samples: Any) -> tuple[tuple[SweepPoint, ...], dict[str, np.ndarray]]:
    """Points of a sampler between the bounds of each parameter."""
    if not hasattr(sampler, "random") or not hasattr(sampler, "d"):
        raise OptionError(f"sampler = {sampler!r} must be one of scipy.stats.qmc, such as qmc.Sobol(d=2)")
    count = whole(samples=samples)
    bounds = parameters if isinstance(parameters, Mapping) else {}
    if not bounds or any(np.shape(b) != (2,) or not np.isfinite(b).all() or b[0] > b[1] for b in bounds.values()):
        raise OptionError(f"with a sampler, parameters = {parameters!r} must be {{name: (least, largest)}}")
    if sampler.d != len(bounds):
        raise OptionError(f"the sampler has {sampler.d} dimensions, but {len(bounds)} parameters are to be drawn")
    low, high = np.array(list(bounds.values()), dtype=float).T
    rows = (low + (high - low) * sampler.random(count)).tolist()
    return tuple(dict(zip(bounds, row, strict=True)) for row in rows), {}


def _result(points: tuple[SweepPoint, ...], axes: dict[str, np.ndarray], done: Mapping[int, Any]) -> Sweep:
    errors = {k: text for k in sorted(done) if (text := done[k][1]) is not None}
    if errors and len(errors) == len(points) and all(text.startswith("measure: ") for text in errors.values()):
        raise OptionError(
            f"no run could be measured; the first: {next(iter(errors.values())).removeprefix('measure: ')}"
        )
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


def _identity(system: System, call: Mapping[str, Any], points: Sequence[SweepPoint], measure: Any) -> str:
    """What must be the same for a sweep to go on."""
    from stickslip.solve.outfile import fingerprint
    from stickslip.solve.prepared import prepare

    about: list[Any] = [
        fingerprint(prepare(system)),
        system.parameters,
        [system.q_initial.tolist(), system.u_initial.tolist()],
        {k: likeness(v) if k in ("q0", "u0", "start") else str(v) for k, v in call.items()},
    ]
    about += [[{n: np.asarray(v).tolist() for n, v in p.items()} for p in points], likeness(measure)]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()

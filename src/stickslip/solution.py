"""The result of a simulation as data: arrays, statistics, names, provenance, and the file that keeps all of them.

A file is HDF5 without pickled objects, so that any HDF5 reader opens it: one dataset per array under its name in
`Solution`, the groups `extra` and `stats`, and two JSON texts, `names` and `provenance`. What is loaded equals what was
saved, bit for bit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip._version import __version__
from stickslip.detected import COLUMNS as CONTACT_COLUMNS
from stickslip.detected import DetectedContacts
from stickslip.engine.state import State
from stickslip.errors import ResultFileError
from stickslip.notebook import folded, html_table, sparkline

if TYPE_CHECKING:
    from collections.abc import Sequence

    import h5py
    import pandas
    import xarray
    from matplotlib.figure import Figure

    from stickslip.model.system import System
    from stickslip.shapes import Drawing

FORMAT = "stickslip solution"
FORMAT_VERSION = 2  # from 2 on with a checksum

SPARKLINES = 6  # of coordinates, in a notebook


@dataclass(frozen=True)
class Names:
    """Labels of the columns of a `Solution`.

    `q`, `u`, `g`, `gamma` and `contacts` have one label per column. A friction element has one label, `friction_sizes`
    many columns in `slip` and `P_F`, and belongs to the normal contact with the index `friction_contact` (-1: to none).
    Units have one text per label, or are empty where nothing is known: of q and u, of the forces of g and gamma, of
    the gaps of contacts, and of the measure along which friction elements slip.

    >>> names = Names(contacts=("floor",), friction=("floor",), friction_sizes=(2,), friction_contact=(0,))
    >>> names.friction_labels
    ('floor 1', 'floor 2')
    """

    q: tuple[str, ...] = ()
    u: tuple[str, ...] = ()
    g: tuple[str, ...] = ()
    gamma: tuple[str, ...] = ()
    contacts: tuple[str, ...] = ()
    friction: tuple[str, ...] = ()
    friction_sizes: tuple[int, ...] = ()
    friction_contact: tuple[int, ...] = ()
    q_units: tuple[str, ...] = field(default=(), compare=False)
    u_units: tuple[str, ...] = field(default=(), compare=False)
    g_units: tuple[str, ...] = field(default=(), compare=False)
    gamma_units: tuple[str, ...] = field(default=(), compare=False)
    contact_units: tuple[str, ...] = field(default=(), compare=False)
    friction_units: tuple[str, ...] = field(default=(), compare=False)

    @property
    def friction_labels(self) -> tuple[str, ...]:
        """One label per column of `slip` and `P_F`: the element's own, numbered where it has several components."""
        return tuple(
            name if size == 1 else f"{name} {k + 1}"
            for name, size in zip(self.friction, self.friction_sizes, strict=True)
            for k in range(size)
        )

    @property
    def friction_slices(self) -> tuple[slice, ...]:
        """The columns of `slip` and `P_F` that belong to each friction element.

        >>> Names(friction=("a", "b"), friction_sizes=(1, 2), friction_contact=(-1, -1)).friction_slices
        (slice(0, 1, None), slice(1, 3, None))
        """
        ends = np.cumsum((0, *self.friction_sizes)).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))


@dataclass(frozen=True, eq=False)
class Stats:
    """What the steps cost: iterations and final residual of every stage of every step, and the time of the whole run.

    A stage that a step did not need has 0 iterations and the residual 0 there.

    >>> stats = Stats(("position", "velocity"), np.array([[3, 1], [2, 1]]), np.full((2, 2), 1e-10), wall_time=2e-5)
    >>> stats.mean_iterations
    array([2.5, 1. ])
    >>> print(stats)
    stage     iterations mean  max  residual max
    position             2.50    3       1.0e-10
    velocity             1.00    1       1.0e-10
    """

    stages: tuple[str, ...]
    iterations: np.ndarray
    residuals: np.ndarray
    wall_time: float
    taken: int | None = None  # number of steps, if a row stands for several: then it holds their sum and their maximum
    solved_by: dict[str, int] = field(default_factory=dict)  # how many stages each solver solved; "newton" comes first

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.iterations) if self.taken is None else self.taken

    @property
    def time_per_step(self) -> float:
        """Wall time per step in seconds; 0 without steps."""
        return self.wall_time / self.steps if self.steps else 0.0

    @property
    def mean_iterations(self) -> np.ndarray:
        """Mean number of iterations of each stage."""
        return self.iterations.sum(axis=0) / max(self.steps, 1)

    @property
    def max_iterations(self) -> np.ndarray:
        """Largest number of iterations of each stage."""
        return self.iterations.max(axis=0, initial=0)

    @property
    def max_residuals(self) -> np.ndarray:
        """Largest final residual of each stage."""
        return self.residuals.max(axis=0, initial=0.0)

    def __str__(self) -> str:
        width = max(map(len, ("stage", *self.stages)))
        rows = zip(self.stages, self.mean_iterations, self.max_iterations, self.max_residuals, strict=True)
        return "\n".join(
            [f"{'stage':{width}}  iterations mean  max  residual max"]
            + [f"{name:{width}}  {mean:15.2f}  {most:3d}  {residual:12.1e}" for name, mean, most, residual in rows]
            + ([f"solved by {', '.join(f'{k}: {n}' for k, n in self.solved_by.items())}"] if self.solved_by else [])
        )


@dataclass(frozen=True, eq=False)
class Energy:
    """Kinetic, potential and total energy at every time of a solution.

    >>> Energy(kinetic=np.array([0.0, 1.0]), potential=np.array([2.0, 0.5])).total
    array([2. , 1.5])
    """

    kinetic: np.ndarray
    potential: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Kinetic plus potential energy."""
        return self.kinetic + self.potential


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Solution:
    """A trajectory: n steps give n+1 rows, and row 0 is the initial state.

    | array | columns | holds |
    | --- | --- | --- |
    | `t` | - | time |
    | `q`, `u` | n_q, n_u | coordinates and velocities |
    | `g`, `g_dot` | bilateral constraints | residuals on position and velocity level |
    | `gamma` | nonholonomic constraints | residuals |
    | `gap`, `gap_dot` | normal contacts | gap (not negative) and its velocity |
    | `slip` | friction components | sliding velocities |
    | `P_g`, `P_gamma`, `P_N`, `P_F` | as above | percussions: increment over the step that ends there; row 0 is zero |
    | `kinetic`, `potential` | - | energies |

    `extra` holds further results of a scheme by name, `stats` what the steps cost, `names` the labels of the columns,
    and `provenance` where the result comes from, in JSON's types: system, method, options, dt, tol, t_end, parameters,
    versions, platform, date, complete (did it reach t_end?), interrupted (why not). `state` is where the run ended: pass
    it as start= to continue. `states`, if they were asked for, are those of all rows. `contacts` are those that were detected,
    where the system has `Collisions`; gaps and percussions above are those of declared contacts.

    `solution["ball.x"]` reads a quantity by its name; `quantities` lists all names with their units. `system` is the
    system that was solved, which `evaluate` needs. It is kept in memory only: `ss.load("run.h5", system=system)`.

    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=1e-3, method="rattle")    # doctest: +SKIP
    >>> solution.q[-1], solution.gap.min(), solution.energy().total[-1]    # doctest: +SKIP
    >>> solution.save("ball.h5")    # doctest: +SKIP
    """

    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    g: np.ndarray
    g_dot: np.ndarray
    gamma: np.ndarray
    gap: np.ndarray
    gap_dot: np.ndarray
    slip: np.ndarray
    P_g: np.ndarray
    P_gamma: np.ndarray
    P_N: np.ndarray
    P_F: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    stats: Stats
    names: Names
    provenance: dict[str, Any] = field(default_factory=dict)
    system: System | None = None
    state: State | None = None
    states: tuple[State, ...] = ()
    contacts: DetectedContacts | None = None

    def __post_init__(self) -> None:
        rows, names = len(self.t), self.names
        friction = sum(names.friction_sizes)
        columns = {
            **dict.fromkeys(("t", "kinetic", "potential"), ()),
            **dict.fromkeys(("g", "g_dot", "P_g"), (len(names.g),)),
            **dict.fromkeys(("gap", "gap_dot", "P_N"), (len(names.contacts),)),
            **dict.fromkeys(("slip", "P_F"), (friction,)),
            **dict.fromkeys(("gamma", "P_gamma"), (len(names.gamma),)),
            "q": (len(names.q),),
            "u": (len(names.u),),
        }
        for name, shape in columns.items():
            if np.shape(getattr(self, name)) != (rows, *shape):
                raise ValueError(f"{name} has the shape {np.shape(getattr(self, name))}, expected {(rows, *shape)}")
        for name, array in self.extra.items():
            if "/" in name or len(array) != rows:
                raise ValueError(f"extra result {name!r} needs a name without '/' and {rows} rows")

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, name: str) -> np.ndarray:
        """A quantity by its name: one row per time, and columns where it has several components.

        >>> solution["ball.x"], solution["pin.force"], solution["energy.total"]    # doctest: +SKIP
        """
        from stickslip.values import read

        return read(self, name)

    @property
    def quantities(self) -> dict[str, str]:
        """The names of all quantities that `solution[name]` knows, with their units (empty where unknown).

        >>> solution.quantities["ball.x"]    # doctest: +SKIP
        'm'
        """
        from stickslip.values import catalogue

        return {name: entry.unit for name, entry in catalogue(self).items()}

    def evaluate(self, expression: Any, *, system: System | None = None) -> np.ndarray:
        """An expression of the system's symbols, or a measure such as `joint.angle`, at every time; compiled.

        Rows are times; a vector gives columns, a matrix two more axes. A solution from a file needs `system`.

        >>> solution.evaluate(ball.q[0] ** 2 + ball.q[1] ** 2)    # doctest: +SKIP
        """
        from stickslip.values import evaluate

        return evaluate(self, expression, system)

    def path(self, point: Any, *, system: System | None = None) -> np.ndarray:
        """Where a point is at every time: a point of a body (`body.point(0.1, 0)`), or a body, or its name: the centre.

        >>> solution.path(crank.point(0.0765, 0))    # doctest: +SKIP
        """
        from stickslip.values import path

        return path(self, point, system)

    def velocity(self, point: Any, *, system: System | None = None) -> np.ndarray:
        """The velocity of a point at every time; `point` as in `path`.

        >>> solution.velocity("crank")    # doctest: +SKIP
        """
        from stickslip.values import velocity

        return velocity(self, point, system)

    def acceleration(self, point: Any, *, system: System | None = None) -> np.ndarray:
        """The mean acceleration of a point over the step that ends at each time, impacts included; row 0 is nan.

        >>> solution.acceleration("crank")    # doctest: +SKIP
        """
        from stickslip.values import acceleration

        return acceleration(self, point, system)

    def to_pandas(self, quantities: Sequence[str] | None = None) -> pandas.DataFrame:
        """A table with the time as index and one column per quantity; all that the solution holds if none are chosen.

        Units are in `frame.attrs["units"]`. Needs pandas: pip install stickslip[data]

        >>> solution.to_pandas(["ball.x", "floor.force"])    # doctest: +SKIP
        """
        from stickslip.export import to_pandas

        return to_pandas(self, quantities)

    def to_xarray(self, quantities: Sequence[str] | None = None) -> xarray.Dataset:
        """The arrays with labelled axes, or chosen quantities, one variable each, with units and provenance as attributes.

        Needs xarray: pip install stickslip[data]

        >>> solution.to_xarray()["q"].sel(coordinate="ball.x")    # doctest: +SKIP
        """
        from stickslip.export import to_xarray

        return to_xarray(self, quantities)

    def to_csv(self, path: str | Path, quantities: Sequence[str] | None = None) -> Path:
        """Write a table of text, one row per time; the header has names and units. Returns the path.

        >>> solution.to_csv("ball.csv", ["ball.x", "floor.force"])    # doctest: +SKIP
        """
        from stickslip.export import to_csv

        return to_csv(self, path, quantities)

    def __repr__(self) -> str:
        about, steps = self.provenance, max(len(self) - 1, 0)
        parts = [f"{about.get('system', 'a system')} by {about.get('method', 'an unknown method')}", f"{steps} steps"]
        if len(self):
            parts.append(f"t = {self.t[0]:g} .. {self.t[-1]:g}")
        parts += [f"n_q = {self.q.shape[1]}", f"{self.gap.shape[1]} contacts"]
        if self.gap.size:
            parts.append(f"min gap {self.gap.min():.1e}")
        if not self.complete:
            parts.append("incomplete")
        return f"<Solution: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """In a notebook: the summary, and small curves of what moves most and of the energy."""
        lines = [line.partition("  ") for line in self.summary().splitlines()]
        moves = np.argsort(-np.ptp(self.q, axis=0), kind="stable")[:SPARKLINES].tolist() if self.q.size else []
        rows = [(self.names.q[k], sparkline(self.t, self.q[:, k]), f"{self.q[-1, k]:.4g}") for k in sorted(moves)]
        if len(self):
            total = self.energy().total
            rows.append(("energy.total", sparkline(self.t, total), f"{total[-1]:.4g}"))
        html = f"<b>{escape(repr(self))}</b>{html_table(rows, ('quantity', 'over time', 'at the end'))}"
        return html + folded("summary", html_table([(label, text.strip()) for label, _, text in lines]))

    @property
    def complete(self) -> bool:
        """Whether the run reached its end time."""
        return bool(self.provenance.get("complete", True))

    def energy(self) -> Energy:
        """Kinetic, potential and total energy over time.

        >>> solution.energy().total    # doctest: +SKIP
        """
        return Energy(self.kinetic, self.potential)

    def summary(self) -> str:
        """What matters about the run, as a few lines of text.

        >>> print(solution.summary())    # doctest: +SKIP
        """
        about, stats = self.provenance, self.stats
        lines = {
            "system": about.get("system", "unknown"),
            "method": about.get("method", "unknown") + _options_text(about.get("options")),
            "steps": f"{stats.steps}" + (f" of dt = {about['dt']:g}" if "dt" in about else ""),
        }
        if about.get("parameters"):
            lines["parameters"] = ", ".join(
                f"{key} = {_value_text(value)}" for key, value in about["parameters"].items()
            )
        if len(self):
            lines["time"] = f"{self.t[0]:g} to {self.t[-1]:g}"
        if not self.complete:
            lines["incomplete"] = about.get("interrupted") or "the run did not reach its end time"
        lines["wall time"] = f"{stats.wall_time:.3g} s, {1e6 * stats.time_per_step:.3g} us a step"
        for stage, mean, most in zip(stats.stages, stats.mean_iterations, stats.max_iterations, strict=True):
            lines[f"iterations, {stage.replace('_', ' ')}"] = f"{mean:.3g} on average, {most} at most"
        if stats.residuals.size:
            lines["largest residual"] = f"{stats.residuals.max():.1e}"
        if self.gap.size:
            lines["smallest gap"] = f"{self.gap.min():.1e} ({self.names.contacts[self.gap.min(axis=0).argmin()]})"
            lines["steps in contact"] = f"{100 * np.mean((self.P_N[1:] > 0).any(axis=1)) if stats.steps else 0:.3g} %"
        for label, array in ("g", self.g), ("g_dot", self.g_dot), ("gamma", self.gamma):
            if array.size:
                lines[f"largest |{label}|"] = f"{np.abs(array).max():.1e}"
        if len(self):
            total = self.energy().total
            lines["energy"] = f"{total[0]:.6g} at the start, {total[-1]:.6g} at the end"
        width = max(map(len, lines))
        return "\n".join(f"{label:{width}}  {text}" for label, text in lines.items())

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """The overview figure, saved under `path` if there is one; `options` as of `stickslip.plots.plot_solution`.

        >>> solution.plot("ball.png")    # doctest: +SKIP
        """
        from stickslip.plots import plot_solution, save

        figure = plot_solution(self, **options)
        if path is not None:
            save(figure, path)
        return figure

    def view(self, drawing: Drawing | None = None, path: str | Path | None = None, **options: Any) -> Path:
        """Write a page with the film of the mechanism and return its path; `options` as of `stickslip.viewer.view`.

        Without a drawing the system's own is used, `system.drawing`; without a path the page is called as the system.

        >>> solution.view(path="ball.html", open_browser=True)    # doctest: +SKIP
        """
        from stickslip.viewer import view

        return view(self, drawing, path, **options)

    def save(self, path: str | Path, *, compress: bool = False) -> Path:
        """Write everything to one HDF5 file and return its path; `load` reads it back bit for bit.

        The file appears under its name only when it is complete: an interrupted save leaves an older file as it was.

        >>> solution.save("ball.h5")    # doctest: +SKIP
        """
        import h5py

        path = Path(path)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with h5py.File(unfinished, "w") as file:
                    _write(self, file, compress)
                sign(unfinished)
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)
        except OSError as error:
            raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error
        return path


_OTHERS = ("extra", "stats", "names", "provenance", "system", "state", "states", "contacts")
ARRAYS = tuple(f.name for f in fields(Solution) if f.name not in _OTHERS)


def load(path: str | Path, *, system: System | None = None, mapped: bool = False) -> Solution:
    """Read a solution that `Solution.save` wrote.

    With the `system` that it is a solution of, `evaluate`, `path` and the quantities of springs and joints work again.
    mapped: leave the arrays on the disk until they are used, for results that are larger than the memory.

    A checksum of the whole file is compared first: a damaged result is never read in silence.

    Raises `ResultFileError` for anything else: a missing file, one that is no result, one by a newer version.

    >>> solution = ss.load("ball.h5")    # doctest: +SKIP
    """
    import h5py

    if not isinstance(path, (str, os.PathLike)):
        raise ResultFileError(f"{path!r} is no path of a file, such as 'out/slider_crank.h5'")
    path = Path(path)
    if not path.exists():
        raise ResultFileError(
            f"{path} does not exist. Check the path; `Solution.save` and `stickslip run` write results."
        )
    if path.is_dir():
        raise ResultFileError(f"{path} is a directory. Name a result file in it, such as {path / 'slider_crank.h5'}.")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise ResultFileError(f"cannot open {path}: {error.strerror}. Check the permissions of the file.") from error
    signed = verify(path)
    if not h5py.is_hdf5(path):
        raise ResultFileError(
            f"{path} is not an HDF5 file. Name a result that `Solution.save` or `stickslip run` wrote."
        )
    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("format") != FORMAT:
                raise ResultFileError(
                    f"{path} is an HDF5 file, but no stickslip result. "
                    "Name a result that `Solution.save` or `stickslip run` wrote."
                )
            version = int(file.attrs["format_version"])
            if version > FORMAT_VERSION:
                raise ResultFileError(
                    f"{path} was written by stickslip {file.attrs.get('stickslip_version', '?')} in format {version}; "
                    f"stickslip {__version__} reads up to format {FORMAT_VERSION}. Upgrade: pip install -U stickslip"
                )
            if version > 1 and not signed:
                raise ValueError("it has no checksum, or was changed by another program")
            solution = _read(file, path if mapped else None)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ResultFileError(f"{path} is a damaged stickslip result ({error}). Run the simulation again.") from error
    if system is None:
        return solution
    from stickslip.values import require_own

    require_own(solution, system)
    return replace(solution, system=system)


def _write(solution: Solution, file: h5py.File, compress: bool) -> None:
    def write(group: h5py.Group, name: str, array: np.ndarray) -> None:
        filters = {"compression": "gzip", "shuffle": True} if compress and np.size(array) else {}
        group.create_dataset(name, data=array, **filters)

    file.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION, "stickslip_version": __version__})
    for name in ARRAYS:
        write(file, name, getattr(solution, name))
    extra = file.create_group("extra", track_order=True)
    for name, array in solution.extra.items():
        write(extra, name, array)
    stats = file.create_group("stats")
    stats.attrs["stages"] = json.dumps(solution.stats.stages)
    stats.attrs["wall_time"] = solution.stats.wall_time
    write(stats, "iterations", solution.stats.iterations)
    write(stats, "residuals", solution.stats.residuals)
    file["names"] = json.dumps({f.name: getattr(solution.names, f.name) for f in fields(Names)})
    file["provenance"] = json.dumps(solution.provenance, default=_plain)
    stats.attrs["solved_by"] = json.dumps(solution.stats.solved_by)
    if solution.stats.taken is not None:
        stats.attrs["taken"] = solution.stats.taken
    if solution.state is not None:
        _write_state(file, solution.state)
    if solution.contacts is not None:
        contacts = file.create_group("contacts")
        contacts.attrs["labels"] = json.dumps(solution.contacts.labels)
        for name in CONTACT_COLUMNS:
            write(contacts, name, getattr(solution.contacts, name))


def write_pieces(
    path: Path,
    pieces: Iterable[tuple[dict[str, Any], Any]],
    rows: int,
    stats: Stats,
    names: Names,
    provenance: dict[str, Any],
    state: State,
) -> None:
    """Write a result that comes in pieces, (arrays, rows with iterations and residuals); `rows` is their sum.

    The file is that of `Solution.save`, but never as a whole in memory.
    """
    import h5py

    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    at = {"": 0, "stats": 0}

    def put(group: h5py.Group, name: str, array: np.ndarray, total: int, first: int) -> None:
        if name not in group:
            group.create_dataset(name, shape=(total, *array.shape[1:]), dtype=array.dtype)
        group[name][first : first + len(array)] = array

    try:
        try:
            with h5py.File(unfinished, "w") as file:
                file.attrs.update(
                    {"format": FORMAT, "format_version": FORMAT_VERSION, "stickslip_version": __version__}
                )
                extra, group = file.create_group("extra", track_order=True), file.create_group("stats")
                for arrays, taken in pieces:
                    for name in ARRAYS:
                        put(file, name, arrays[name], rows, at[""])
                    for name, array in arrays["extra"].items():
                        put(extra, name, array, rows, at[""])
                    put(group, "iterations", taken.iterations, rows - 1, at["stats"])
                    put(group, "residuals", taken.residuals, rows - 1, at["stats"])
                    at[""], at["stats"] = at[""] + len(arrays["t"]), at["stats"] + len(taken.iterations)
                group.attrs["stages"], group.attrs["wall_time"] = json.dumps(stats.stages), stats.wall_time
                if stats.taken is not None:
                    group.attrs["taken"] = stats.taken
                file["names"] = json.dumps({f.name: getattr(names, f.name) for f in fields(Names)})
                file["provenance"] = json.dumps(provenance, default=_plain)
                _write_state(file, state)
            sign(unfinished)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise ResultFileError(
            f"cannot write {path}: {error}. Nothing is lost: free some space and call ss.resume."
        ) from error


SIGNATURE = b"\nstickslip sha256 "


def sign(path: Path) -> None:
    """Append the checksum of a file to it; HDF5 does not mind what stands behind its end."""
    digest = _digest(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(SIGNATURE + digest)


def verify(path: Path) -> bool:
    """Compare a file with the checksum that stands at its end; False if it has none."""
    length, size = len(SIGNATURE) + 64, path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - length))
        end = file.read()
    if len(end) < length or not end.startswith(SIGNATURE):
        return False
    if _digest(path, size - length) != end[len(SIGNATURE) :]:
        raise ResultFileError(
            f"{path} is a damaged stickslip result: its checksum does not fit its content. Run the simulation again."
        )
    return True


def _digest(path: Path, size: int) -> bytes:
    import hashlib

    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0:
            block = file.read(min(size, 2**20))
            if not block:
                break
            digest.update(block)
            size -= len(block)
    return digest.hexdigest().encode()


def _write_state(file: h5py.File, state: State) -> None:
    """Replaces one that is there."""
    if "state" in file:
        del file["state"]
    group = file.create_group("state", track_order=True)
    group.attrs["clock"] = json.dumps([state.method, state.t_start, state.dt, state.step, state.t])
    for name, array in {"q": state.q, "u": state.u}.items():
        group[name] = array
    memory = group.create_group("memory", track_order=True)
    for name, array in state.memory.items():
        memory[name] = array


def _read_state(file: h5py.File) -> State | None:
    if "state" not in file:
        return None
    group = file["state"]
    memory = {name: dataset[()] for name, dataset in group["memory"].items()}
    method, t_start, dt, step, t = json.loads(group.attrs["clock"])
    return State(method, t_start, dt, step, t, group["q"][()], group["u"][()], memory)


def _read(file: h5py.File, path: Path | None) -> Solution:
    def array(dataset: h5py.Dataset) -> np.ndarray:
        place = None if path is None else dataset.id.get_offset()
        if path is None or place is None or not dataset.size:
            return dataset[()]
        return np.memmap(path, dataset.dtype, "r", place, dataset.shape)

    stats = file["stats"]
    arrays: dict[str, Any] = {name: array(file[name]) for name in ARRAYS}
    return Solution(
        **arrays,
        extra={name: array(dataset) for name, dataset in file["extra"].items()},
        stats=Stats(
            stages=tuple(json.loads(stats.attrs["stages"])),
            iterations=array(stats["iterations"]),
            residuals=array(stats["residuals"]),
            wall_time=float(stats.attrs["wall_time"]),
            taken=int(stats.attrs["taken"]) if "taken" in stats.attrs else None,
            solved_by=json.loads(stats.attrs.get("solved_by", "{}")),
        ),
        names=Names(**{name: tuple(labels) for name, labels in json.loads(file["names"].asstr()[()]).items()}),
        provenance=json.loads(file["provenance"].asstr()[()]),
        state=_read_state(file),
        contacts=_read_contacts(file),
    )


def _read_contacts(file: h5py.File) -> DetectedContacts | None:
    if "contacts" not in file:
        return None
    group = file["contacts"]
    labels = tuple(json.loads(group.attrs["labels"]))
    return DetectedContacts(labels, **{name: group[name][()] for name in CONTACT_COLUMNS})


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON's; a tuple needs nothing (and comes back as a list)."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"provenance holds {value!r}, which JSON cannot express")


def _options_text(options: dict[str, Any] | None) -> str:
    return f" ({', '.join(f'{key} = {_value_text(value)}' for key, value in options.items())})" if options else ""


def _value_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

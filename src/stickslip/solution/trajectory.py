"""A trajectory: arrays with one row per time, and doors to everything that can be done with them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.detected import DetectedContacts
from stickslip.engine.state import State
from stickslip.errors import OptionError
from stickslip.solution.records import Energy, Further, Names, NotKept, Stats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas
    import xarray
    from matplotlib.figure import Figure

    from stickslip.model.system import System
    from stickslip.shapes import Drawing

CATALOGUE = "_catalogue"  # where `values` keeps the quantities of a solution
LATER = "_later"  # where a solution keeps what computes arrays that nobody has read yet
COMPUTED = ("g", "g_dot", "gamma", "gap", "gap_dot", "slip", "kinetic", "potential")  # from t, q and u
MAY_COME_LATER = (*COMPUTED, "P_N", "P_F", "extra")


class Later:
    """Arrays of a solution, by name, that are computed when one of them is first read."""

    def __init__(self, compute: Callable[[], Mapping[str, Any]]):
        self.compute = compute


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
        own = self.__dict__
        own[LATER] = {name: own.pop(name) for name in MAY_COME_LATER if isinstance(own[name], Later)}
        if self.contacts is not None:
            own["contacts"] = replace(self.contacts, steps=self.stats.steps)
        self._check_shapes()
        self._name_missing()

    def __getattr__(self, name: str) -> Any:
        """An array that is computed now, because somebody reads it."""
        own = self.__dict__
        if name not in own.get(LATER, ()):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        source = own[LATER][name]
        mine, arrays = [each for each, later in own[LATER].items() if later is source], source.compute()
        own |= {each: arrays[each] for each in mine}
        self._check_shapes()
        self._name_missing()
        for each in mine:
            own[LATER].pop(each, None)
        return own[name]

    @property
    def computed(self) -> bool:
        """Whether gaps, slips, constraints and energies are there; else they are computed when one of them is first read."""
        return not any(name in self.__dict__[LATER] for name in COMPUTED)

    def _check_shapes(self) -> None:
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
            array = self.__dict__.get(name)  # None: it comes later
            if array is not None and not isinstance(array, NotKept) and np.shape(array) != (rows, *shape):
                raise ValueError(f"{name} has the shape {np.shape(array)}, expected {(rows, *shape)}")
        for name, array in self.__dict__.get("extra", {}).items():
            if "/" in name or len(array) != rows:
                raise ValueError(f"extra result {name!r} needs a name without '/' and {rows} rows")

    def _name_missing(self) -> None:
        """Whoever asks `extra` for something that is not there is told what there is."""
        if "extra" in self.__dict__:
            self.__dict__["extra"] = Further(self.extra, selected="kept" in self.provenance)

    def __len__(self) -> int:
        return len(self.t)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: everything but the list of quantities, which is made again."""
        for name in tuple(self.__dict__[LATER]):
            getattr(self, name)
        return {key: value for key, value in self.__dict__.items() if key != CATALOGUE}

    def holds(self, *names: str) -> bool:
        """Whether all of these arrays are there; `save=` of a run may have left some out.

        >>> solution.holds("q", "P_N")    # doctest: +SKIP
        True
        """
        return not any(isinstance(self.__dict__.get(name), NotKept) for name in names)

    def __getitem__(self, name: str | list[str]) -> np.ndarray:
        """A quantity by its name: one row per time, and columns where it has several components.

        A list of names gives the columns of all of them, side by side. Rows are chosen from the arrays: `solution.q[10:20]`.

        >>> solution["ball.x"], solution["pin.force"], solution["energy.total"]    # doctest: +SKIP
        >>> solution[["ball.x", "ball.y"]]    # doctest: +SKIP
        """
        from stickslip.values import read

        if isinstance(name, list | tuple):
            if not name:
                raise OptionError("solution[[]]: name at least one quantity")
            return np.column_stack([read(self, each) for each in name])
        if not isinstance(name, str):
            raise OptionError(
                f"solution[{name!r}]: name a quantity, such as solution['t'] (`solution.quantities` lists all), or choose rows "
                "of an array, such as solution.q[10:20]"
            )
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
        declared, found = len(self.names.contacts), self.contacts
        parts.append(f"n_q = {len(self.names.q)}")
        if declared or found is None:
            parts.append(f"{declared} contact{'' if declared == 1 else 's'}")
        if found is not None:
            parts.append(f"detected contacts: {found.most()} at most")
        if (gap := self.smallest_gap()) is not None:
            parts.append(f"min gap {gap[0]:.1e}")
        if not self.complete:
            parts.append("incomplete")
        return f"<Solution: {', '.join(parts)}>"

    def smallest_gap(self) -> tuple[float, str] | None:
        """The smallest gap of the run and its contact, declared or detected; None where there is no gap to tell of.

        >>> import stickslip as ss
        >>> ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.01, dt=1e-3).smallest_gap()[1]
        'floor'
        """
        gaps: list[tuple[float, str]] = []
        if self.holds("gap") and self.gap.size:
            gaps.append((float(self.gap.min()), self.names.contacts[self.gap.min(axis=0).argmin()]))
        if self.contacts is not None and len(self.contacts):
            k = int(self.contacts.gap.argmin())
            gaps.append((float(self.contacts.gap[k]), self.contacts.names[k]))
        return min(gaps) if gaps else None

    def _repr_html_(self) -> str:
        """In a notebook: the film, small curves of what moves most and of the energy, and the summary."""
        from stickslip.solution.told import html

        return html(self)

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
        from stickslip.solution.told import summary

        return summary(self)

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """The overview figure, saved under `path` if there is one; `options` as of `stickslip.plots.plot_solution`.

        >>> solution.plot("ball.png")    # doctest: +SKIP
        """
        from stickslip.plots import plot_solution, saved

        if path is not None and (not isinstance(path, str | PathLike) or str(path) in self.quantities):
            raise OptionError(
                f"{path!r} is not the path of a picture, such as 'ball.png'; what it shows is chosen by quantities=[...]"
            )
        return saved(plot_solution(self, **options), path)

    def view(self, drawing: Drawing | str | Path | None = None, path: str | Path | None = None, **options: Any) -> Path:
        """Write a page with the film of the mechanism and return its path; `options` as of `stickslip.viewer.view`.

        Without a drawing the system's own is used, `system.drawing`; without a path the page is called as the system.

        >>> solution.view("ball.html", open_browser=True)    # doctest: +SKIP
        """
        from stickslip.viewer import view

        if isinstance(drawing, str | Path):
            if path is not None:
                raise OptionError(f"view takes a drawing and a path, got two paths: {drawing} and {path}")
            drawing, path = None, drawing
        return view(self, drawing, path, **options)

    def save(self, path: str | Path, *, compress: bool = False) -> Path:
        """Write everything to one HDF5 file and return its path; `load` reads it back bit for bit.

        The file appears under its name only when it is complete: an interrupted save leaves an older file as it was.

        >>> solution.save("ball.h5")    # doctest: +SKIP
        """
        from stickslip.solution.files import save

        return save(self, path, compress=compress)


_OTHERS = ("extra", "stats", "names", "provenance", "system", "state", "states", "contacts")
ARRAYS = tuple(f.name for f in fields(Solution) if f.name not in _OTHERS)

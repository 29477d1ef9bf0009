"""Bifurcation diagrams by brute force: what remains of a motion after a transient, over a parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import OptionError, StudyError, unknown_name
from stickslip.model.system import System
from stickslip.notebook import ShownWithFigure
from stickslip.schemes import Scheme
from stickslip.solve.options import shows_progress
from stickslip.solve.terminal import progress_bar
from stickslip.studies.inputs import require_acting
from stickslip.studies.journal import Journal
from stickslip.studies.many import ManyRuns, journaled, study_journal
from stickslip.studies.sections import Cut, cut_of, whole_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIRECTIONS = {"up": ("up",), "down": ("down",), "both": ("up", "down"), "none": ("none",)}


@dataclass(frozen=True)
class BifurcationDiagram(ShownWithFigure):
    """Points on a section over a parameter: for every value a block of states, in each direction.

    `points["up"][k]` has a row (q, u) for each crossing at `values[k]`; `failed` are values at which a run stopped.
    """

    system: str
    parameter: str
    values: np.ndarray
    names: tuple[str, ...]
    points: dict[str, list[np.ndarray]]
    failed: dict[str, list[float]]
    about: str

    def column(self, name: str, direction: str = "up") -> tuple[np.ndarray, np.ndarray]:
        """All points of a coordinate or velocity: values of the parameter, and its values."""
        if name not in self.names:
            raise OptionError(unknown_name("coordinate or velocity", name, self.names))
        if direction not in self.points:
            raise OptionError(unknown_name("direction", direction, self.points))
        k, blocks = self.names.index(name), self.points[direction]
        x = np.concatenate([np.full(len(b), v) for v, b in zip(self.values, blocks, strict=True)])
        return x, np.concatenate([b[:, k] for b in blocks])

    def periods(self, direction: str = "up", most: int = 16, tol: float = 1e-4) -> np.ndarray:
        """After how many crossings the motion repeats, for every value; 0 where it does not within `most`."""
        return np.array([repeats(block, most, tol) for block in self.points[direction]])

    def __str__(self) -> str:
        ends = (
            f"{self.parameter} from {self.values[0]:.6g} to {self.values[-1]:.6g}"
            if len(self.values)
            else self.parameter
        )
        lines = [f"{self.system}: {self.about}, {len(self.values)} values of {ends}"]
        for direction in self.points:
            periods, counts = np.unique(self.periods(direction), return_counts=True)
            found = ", ".join(
                f"{n} of period {p}" if p else f"{n} without" for p, n in zip(periods, counts, strict=True)
            )
            lines.append(f"  {direction}: {found}; {len(self.failed.get(direction, []))} failed")
        return "\n".join(lines)

    def save(self, path: str | Path, name: str | None = None) -> Path:
        """A CSV file: direction, parameter, and all coordinates and velocities of every point."""
        path = Path(path)
        lines = [",".join(["direction", self.parameter, *self.names])]
        for direction, blocks in self.points.items():
            for value, block in zip(self.values, blocks, strict=True):
                lines += [",".join([direction, repr(float(value)), *map(repr, row.tolist())]) for row in block]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def plot(self, path: str | Path | None = None, name: str | None = None) -> Figure:
        """The diagram of one coordinate or velocity, the first if none is named."""
        from stickslip.plots import plot_diagram, saved

        return saved(plot_diagram(self, name or self.names[0]), path)


def repeats(points: np.ndarray, most: int, tol: float) -> int:
    """The smallest p with x_n = x_{n-p} for the last 2 p points, 0 if there is none.

    >>> repeats(np.array([[0.0], [1.0]] * 6), 4, 1e-6)
    2
    """
    if not len(points) or not np.isfinite(points).all():
        return 0
    size = tol * max(1.0, np.abs(points).max())
    for p in range(1, min(most, len(points) // 3) + 1):
        if np.abs(points[-2 * p :] - points[-3 * p : -p]).max() < size:
            return p
    return 0


def bifurcation(
    system: System,
    parameter: str,
    values: Sequence[float] | np.ndarray,
    *,
    period: Any = None,
    section: Any = None,
    contact: str | None = None,
    count: int = 100,
    transient: int = 400,
    steps: int = 100,
    dt: float | None = None,
    direction: str = "up",
    method: str | Scheme = "auto",
    parameters: Mapping[str, float] | None = None,
    q0: np.ndarray | None = None,
    u0: np.ndarray | None = None,
    journal: str | Path | None = None,
    progress: bool | None = None,
    **options: Any,
) -> BifurcationDiagram:
    """Points of a section over a parameter.

    direction: "up" and "down" continue from the end at the value before, so that coexisting motions are kept; "both" does
    each on a core; "none" begins at the initial state for every value, on all cores. journal: a file that keeps what is done,
    so that a killed study continues. progress: a bar. Everything else as in `poincare`.

    >>> import stickslip as ss
    >>> s = ss.benchmarks.impact_oscillator(zeta=0.1, e=0.6)
    >>> w = s.parameter_symbols()["omega"]
    >>> diagram = ss.bifurcation(s, "omega", [2.3, 2.7], period=2 * ss.math.pi / w, count=20, transient=100, progress=False)
    >>> diagram.periods().tolist()
    [1, 2]
    """
    if not isinstance(system, System):
        raise OptionError(f"bifurcation needs a System, got {system!r}")
    if parameter not in system.parameters:
        raise OptionError(f"{system.name}: {unknown_name('parameter', parameter, system.parameters)}")
    require_acting(system, parameter, period)
    whole_numbers(count=(count, 1), transient=(transient, 0))
    if direction not in DIRECTIONS:
        raise OptionError(unknown_name("direction", direction, DIRECTIONS))
    points = np.asarray(values, float)
    if points.ndim != 1 or not points.size or not np.isfinite(points).all():
        raise OptionError(f"values of {parameter} must be a list of finite numbers")
    points = np.sort(points)
    runs, cut = ManyRuns(system, method, options), cut_of(system, period, section, contact, steps, dt)
    all_values = [_values(system, parameters, parameter, v) for v in points]
    x = np.concatenate([system.q_initial if q0 is None else q0, system.u_initial if u0 is None else u0]).astype(float)
    for v in all_values:
        runs.check(x, v, 0.0, cut.step(v))
    ways, size = DIRECTIONS[direction], len(points)
    kept = study_journal(
        journal, system, parameter=parameter, values=points.tolist(), cut=[str(period), str(section), contact, steps, dt],
        count=count, transient=transient, direction=direction, method=str(method), parameters=dict(parameters or {}),
        start=x.tolist(), options=options,
    )  # fmt: skip
    wanted = shows_progress(progress)
    bar = _terminal() if wanted is None else wanted
    with progress_bar(bar, size * len(ways), f"{system.name}, {parameter}", "values") as show:
        if direction == "none":

            def one(k: int) -> dict[str, np.ndarray]:
                return _outcome(cut.states(runs, x, all_values[k], count, transient))

            outcomes = journaled(one, range(size), kept, show)
        else:
            follow = _OneWay(cut, runs, x, all_values, count, transient, kept, show)
            with ThreadPoolExecutor(len(ways)) as pool:
                each = list(pool.map(lambda n: follow.way(ways[n], n * size), range(len(ways))))
            outcomes = [outcome for way in each for outcome in way]
            if kept is not None:
                kept.close()
    found = {way: outcomes[n * size : (n + 1) * size] for n, way in enumerate(ways)}
    blocks = {way: [o["states"] for o in result] for way, result in found.items()}
    failed = {way: [float(v) for v, o in zip(points, r, strict=True) if o["failed"]] for way, r in found.items()}
    if not any(len(b) for result in blocks.values() for b in result):
        raise StudyError(f"{system.name}: the section ({cut.about}) is never crossed at any value of {parameter}")
    return BifurcationDiagram(system.name, parameter, points, cut.names, blocks, failed, cut.about)


def _outcome(run: tuple[np.ndarray, np.ndarray, np.ndarray, bool]) -> dict[str, np.ndarray]:
    _, states, end, failed = run
    return {"states": states.reshape(-1, end.size), "end": end, "failed": np.array(float(failed))}


@dataclass(frozen=True)
class _OneWay:
    """One value after the other, each from the end of the one before; from the start where that is not possible."""

    cut: Cut
    runs: ManyRuns
    x: np.ndarray
    values: list[np.ndarray]
    count: int
    transient: int
    journal: Journal | None
    show: Callable[[int], None]
    lock: Lock = field(default_factory=Lock)
    told: list[int] = field(default_factory=lambda: [0])

    def way(self, way: str, first: int) -> list[dict[str, np.ndarray]]:
        """All values up or down, in rising order; `first` is the number of the first one in the journal."""
        done = {} if self.journal is None else self.journal.done
        out, at = [], self.x
        for k, v in enumerate(self.values if way == "up" else self.values[::-1]):
            known = done.get(first + k, (None, None))[0]
            if known is None:
                if not self.runs.possible(at[None, :], v, 0.0)[0]:
                    at = self.x
                outcome = _outcome(self.cut.states(self.runs, at, v, self.count, self.transient))
            else:
                outcome = {**known, "states": known["states"].reshape(-1, self.x.size)}
            end = outcome["end"]
            at = self.x if outcome["failed"] or not np.isfinite(end).all() else end
            out.append(outcome)
            with self.lock:
                if known is None and self.journal is not None:
                    self.journal.append(first + k, (outcome, None))
                self.told[0] += 1
                self.show(self.told[0])
        return out if way == "up" else out[::-1]


def _values(system: System, parameters: Mapping[str, float] | None, name: str, value: float) -> np.ndarray:
    return np.array(list(system.parameter_values({**(parameters or {}), name: float(value)}).values()))


def _terminal() -> bool:
    import sys

    return sys.stderr.isatty()

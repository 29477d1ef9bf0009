"""Basins of attraction: where motions from a grid of initial states end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import OptionError, StudyError, unknown_name
from stickslip.model.system import System
from stickslip.notebook import ShownWithFigure
from stickslip.schemes import Scheme
from stickslip.solve.options import is_number, shows_progress
from stickslip.solve.terminal import progress_bar
from stickslip.studies.diagram import _terminal, repeats
from stickslip.studies.many import ManyRuns, journaled, study_journal
from stickslip.studies.sections import cut_of, whole_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IRREGULAR, IMPOSSIBLE, FAILED = -1, -2, -3
BATCH = 64  # runs of a thread in a row


@dataclass(frozen=True)
class Basins(ShownWithFigure):
    """The attractor that each initial state leads to.

    labels[j, i] belongs to x[i] and y[j]: the number of an attractor, or -1 (does not repeat), -2 (starts inside an
    obstacle), -3 (a step could not be solved). attractors[k] holds the states (q, u) of attractor k, one per period.
    """

    system: str
    names: tuple[str, ...]
    axes: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    attractors: list[np.ndarray]

    @property
    def shares(self) -> dict[int, float]:
        """The part of the possible initial states that leads to each attractor."""
        possible = self.labels[self.labels != IMPOSSIBLE]
        return {int(k): float(np.mean(possible == k)) for k in np.unique(possible)}

    def __str__(self) -> str:
        names = {IRREGULAR: "no repetition", IMPOSSIBLE: "inside an obstacle", FAILED: "failed"}
        lines = [
            f"{self.system}: {len(self.attractors)} attractors, {len(self.x)} x {len(self.y)} states of {', '.join(self.axes)}"
        ]
        for k, share in self.shares.items():
            what = names.get(k) or f"attractor {k}, period {len(self.attractors[k])}"
            lines.append(f"  {what:24} {100 * share:5.1f} %")
        return "\n".join(lines)

    def save(self, path: str | Path) -> Path:
        """A NumPy archive with labels, axes and attractors."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        states = {f"attractor_{k}": a for k, a in enumerate(self.attractors)}
        arrays: dict[str, Any] = {"x": self.x, "y": self.y, "labels": self.labels, "names": np.array(self.names)}
        np.savez_compressed(path, **(arrays | states))
        return path

    def plot(self, path: str | Path | None = None) -> Figure:
        """The basins as an image, attractors as dots."""
        from stickslip.plots import plot_basins, saved

        return saved(plot_basins(self), path)


def basins(
    system: System,
    grid: Mapping[str, Sequence[float] | np.ndarray],
    *,
    period: Any,
    transient: int = 40,
    count: int = 12,
    steps: int = 50,
    tol: float = 1e-3,
    method: str | Scheme = "auto",
    parameters: Mapping[str, float] | None = None,
    journal: str | Path | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Basins:
    """Run from every state of a grid, and sort the motions by where they end.

    grid: two coordinates or velocities and their values; all others are the system's own. period: at multiples of which
    states are compared; any time for a system that comes to rest. After `transient` periods of `steps` steps, the next
    `count` must repeat, to `tol` of the size of the states; attractors closer to each other are one. journal: a file that keeps
    what is done, so that a killed study continues. progress: a bar.

    >>> import stickslip as ss
    >>> s = ss.benchmarks.impact_oscillator(zeta=0.1, e=0.6)
    >>> result = ss.basins(s, {"x": [-1.0, -0.5], "x_dot": [0.0, 1.0]}, period=2 * ss.math.pi / 2.8, progress=False)
    >>> result.labels.tolist(), len(result.attractors)
    ([[0, 0], [0, 0]], 1)
    """
    whole_numbers(count=(count, 3), transient=(transient, 0))
    if not (is_number(tol) and tol > 0):
        raise OptionError(f"tol = {tol!r} must be a number > 0")
    runs, cut = ManyRuns(system, method, options), cut_of(system, period, None, None, steps, None)
    if not isinstance(grid, Mapping) or len(grid) != 2:
        raise OptionError("grid must name two coordinates or velocities, as in {'x': [...], 'x_dot': [...]}")
    (name_x, x), (name_y, y) = ((name, np.asarray(v, float)) for name, v in grid.items())
    for name, axis in ((name_x, x), (name_y, y)):
        if name not in cut.names:
            raise OptionError(f"{system.name}: {unknown_name('coordinate or velocity', name, cut.names)}")
        if axis.ndim != 1 or not axis.size or not np.isfinite(axis).all():
            raise OptionError(f"the grid of {name!r} must be a list of finite numbers")
    values = np.array(list(system.parameter_values(parameters).values()))
    start = np.concatenate([system.q_initial, system.u_initial])
    states = np.tile(start, (y.size * x.size, 1))
    states[:, cut.names.index(name_x)] = np.tile(x, y.size)
    states[:, cut.names.index(name_y)] = np.repeat(y, x.size)
    possible = runs.possible(states, values, 0.0)
    if not possible.any():
        raise StudyError(f"{system.name}: every state of the grid lies inside an obstacle")
    numbers = np.flatnonzero(possible)
    runs.check(states[numbers[0]], values, 0.0, cut.step(values))
    batches = np.array_split(numbers, max(1, len(numbers) // BATCH))
    kept = study_journal(
        journal, system, grid=[x.tolist(), y.tolist()], names=[name_x, name_y], period=str(period), count=count,
        transient=transient, steps=steps, tol=tol, method=str(method), parameters=dict(parameters or {}), options=options,
    )  # fmt: skip
    at, dt = cut.steps * np.arange(transient + 1, transient + count + 1), cut.step(values)

    def work(k: int) -> dict[str, np.ndarray]:
        """For each run of a batch, the number of periods after which it repeats, and the states of one repetition."""
        ends, failed = runs.many(states[batches[k]], np.tile(values, (len(batches[k]), 1)), dt, at)
        found = [FAILED if bad else repeats(end, count // 3, tol) for end, bad in zip(ends, failed, strict=True)]
        cycles = [end[-p:] for end, p in zip(ends, found, strict=True) if p > 0]
        return {"periods": np.array(found), "states": np.vstack([np.zeros((0, states.shape[1])), *cycles])}

    wanted = shows_progress(progress)
    bar = _terminal() if wanted is None else wanted
    with progress_bar(bar, len(batches), f"{system.name}, basins", "batches") as show:
        outcomes = journaled(work, range(len(batches)), kept, show)
    labels = np.full(len(states), IMPOSSIBLE)
    attractors: list[np.ndarray] = []
    for batch, outcome in zip(batches, outcomes, strict=True):
        first = 0
        for k, p in zip(batch, outcome["periods"].astype(int).tolist(), strict=True):
            cycle = outcome["states"][first : first + max(p, 0)]
            labels[k] = FAILED if p == FAILED else _sorted_in(cycle, attractors, tol) if p else IRREGULAR
            first += max(p, 0)
    shape = (y.size, x.size)
    return Basins(system.name, cut.names, (name_x, name_y), x, y, labels.reshape(shape), attractors)


def _sorted_in(cycle: np.ndarray, attractors: list[np.ndarray], tol: float) -> int:
    """The attractor that a repetition belongs to, a new one if it is none of those known."""
    for k, known in enumerate(attractors):
        size = 10 * tol * max(1.0, float(np.abs(known).max()))
        if len(known) == len(cycle) and np.abs(known - cycle[-1]).max(axis=1).min() < size:
            return k
    attractors.append(cycle)
    return len(attractors) - 1

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
from stickslip.solve.terminal import progress_bar
from stickslip.studies.diagram import _terminal, repeats
from stickslip.studies.many import ManyRuns, in_threads
from stickslip.studies.sections import cut_of

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
        from stickslip.plots import save
        from stickslip.plots.nonlinear import plot_basins

        figure = plot_basins(self)
        if path is not None:
            save(figure, path)
        return figure


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
    progress: bool | None = None,
    **options: Any,
) -> Basins:
    """Run from every state of a grid, and sort the motions by where they end.

    grid: two coordinates or velocities and their values; all others are the system's own. period: at multiples of which
    states are compared; any time for a system that comes to rest. After `transient` periods of `steps` steps, the next
    `count` must repeat, to `tol` of the size of the states; attractors closer to each other are one.

    >>> import stickslip as ss
    >>> s = ss.benchmarks.impact_oscillator(zeta=0.1, e=0.6)
    >>> result = ss.basins(s, {"x": [-1.0, -0.5], "x_dot": [0.0, 1.0]}, period=2 * ss.math.pi / 2.8, progress=False)
    >>> result.labels.tolist(), len(result.attractors)
    ([[0, 0], [0, 0]], 1)
    """
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

    def work(batch: np.ndarray) -> list[np.ndarray | None]:
        out: list[np.ndarray | None] = []
        for k in batch:
            _, end, _, failed = cut.states(runs, states[k], values, count, transient)
            out.append(None if failed else end)
        return out

    bar = bool(progress) if progress is not None else _terminal()
    with progress_bar(bar, len(batches), f"{system.name}, basins") as show:
        ends = [end for batch in in_threads(work, batches, show) for end in batch]
    labels = np.full(len(states), IMPOSSIBLE)
    attractors: list[np.ndarray] = []
    for k, end in zip(numbers, ends, strict=True):
        labels[k] = FAILED if end is None else _sorted_in(end, attractors, tol)
    shape = (y.size, x.size)
    return Basins(system.name, cut.names, (name_x, name_y), x, y, labels.reshape(shape), attractors)


def _sorted_in(end: np.ndarray, attractors: list[np.ndarray], tol: float) -> int:
    """The attractor that a motion ends on, a new one if it is none of those known."""
    p = repeats(end, len(end) // 3, tol)
    if not p:
        return IRREGULAR
    cycle = end[-p:]
    for k, known in enumerate(attractors):
        size = 10 * tol * max(1.0, float(np.abs(known).max()))
        if len(known) == p and np.abs(known - cycle[-1]).max(axis=1).min() < size:
            return k
    attractors.append(cycle)
    return len(attractors) - 1

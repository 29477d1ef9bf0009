"""One aspect of a solution per function, each on its own axes or on those that it is given, so that they compose.

Every function takes `ax`, the axes to draw on (new ones if there are none), and returns them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from stickslip.plots.style import INK, LINE, PALETTE, SMALL, SOFT, label, legend, new_axes
from stickslip.solution import Solution

Which = Sequence[int | str] | None
MOST_LINES = 9
"""More lines cannot be told apart: a panel that is not told which to draw takes the first ones and says so."""


def coordinates(
    solution: Solution,
    ax: Axes | None = None,
    which: Which = None,
    *,
    title: str = "coordinates",
    ylabel: str | None = None,
    of: int | None = None,
) -> Axes:
    """Coordinates q over time; `which` of them by index or name. `of` says how many there are, where not all are shown.

    >>> coordinates(solution, which=["x", "y"])    # doctest: +SKIP
    """
    ax = new_axes(ax, title=title, ylabel="q" if ylabel is None else ylabel)
    return _lines(solution.t, solution.q, solution.names.q, ax, which, of)


def velocities(
    solution: Solution,
    ax: Axes | None = None,
    which: Which = None,
    *,
    title: str = "velocities",
    ylabel: str | None = None,
    of: int | None = None,
) -> Axes:
    """Velocities u over time, which jump at impacts; `which` of them by index or name.

    >>> velocities(solution, which=[0])    # doctest: +SKIP
    """
    ax = new_axes(ax, title=title, ylabel="u" if ylabel is None else ylabel)
    return _lines(solution.t, solution.u, solution.names.u, ax, which, of)


def gaps(solution: Solution, ax: Axes | None = None, which: Which = None, *, of: int | None = None) -> Axes:
    """Gaps over time; below the zero line bodies would penetrate each other, so that side is shaded.

    >>> gaps(solution).get_title(loc="left")    # doctest: +SKIP
    """
    units = sorted(set(solution.names.contact_units) or {"m"})
    ax = new_axes(ax, title="gaps", ylabel=f"$g_N$  [{', '.join(units)}]")
    _lines(solution.t, solution.gap, solution.names.contacts, ax, which, of)
    bottom, top = ax.get_ylim()
    top = max(top, solution.provenance.get("tol", 1e-8))  # rounding errors of a closed contact are no motion
    bottom = min(bottom, -0.06 * top)
    ax.axhspan(bottom, 0.0, color="#f6e3da", linewidth=0, zorder=0)
    ax.axhline(0.0, color=SOFT, linewidth=0.8)
    ax.set_ylim(bottom, top)
    return ax


def normal_percussions(solution: Solution, ax: Axes | None = None, which: Which = None) -> Axes:
    """Normal percussions P_N of every step as spikes: tall at an impact, low and dense in persistent contact.

    >>> normal_percussions(solution, which=["floor"])    # doctest: +SKIP
    """
    ax = new_axes(ax, title="normal percussions per step", ylabel="$P_N$  [N s]")
    _spikes(solution.t, solution.P_N, solution.names.contacts, ax, which)
    ax.set_ylim(bottom=0.0)
    return ax


def friction_percussions(solution: Solution, ax: Axes | None = None, which: Which = None) -> Axes:
    """Friction percussions P_F of every step as spikes, one colour per component.

    >>> friction_percussions(solution)    # doctest: +SKIP
    """
    ax = new_axes(ax, title="friction percussions per step", ylabel="$P_F$  [N s]")
    return _spikes(solution.t, solution.P_F, solution.names.friction_labels, ax, which)


def energies(solution: Solution, ax: Axes | None = None) -> Axes:
    """Kinetic, potential and total energy over time.

    >>> energies(solution)    # doctest: +SKIP
    """
    ax = new_axes(ax, title="energies", ylabel="E  [J]")
    energy = solution.energy()
    ax.plot(solution.t, energy.kinetic, color=PALETTE[4], linewidth=LINE, label="kinetic")
    ax.plot(solution.t, energy.potential, color=PALETTE[7], linewidth=LINE, label="potential")
    ax.plot(solution.t, energy.total, color=INK, linewidth=1.3 * LINE, label="total")
    legend(ax)
    return ax


def residuals(solution: Solution, ax: Axes | None = None) -> Axes:
    """Largest residual of the bilateral constraints on each level over time, next to the tolerance of the run.

    >>> residuals(solution).get_yscale()    # doctest: +SKIP
    'log'
    """
    ax = new_axes(ax, title="constraint residuals", ylabel="largest")
    ax.set_yscale("log")
    levels = (r"$|g|$", solution.g), (r"$|\dot{g}|$", solution.g_dot), (r"$|\gamma|$", solution.gamma)
    for color, (text, values) in zip(PALETTE, levels, strict=False):
        if values.size:
            # A logarithm has no zero: what is exact lies on the floor of double precision.
            largest = np.maximum(np.abs(values).max(axis=1), 1e-17)
            ax.plot(solution.t, largest, color=color, linewidth=0.7 * LINE, label=text)
    if (tol := solution.provenance.get("tol")) is not None:
        ax.axhline(tol, color=SOFT, linewidth=LINE, linestyle=(0, (4, 3)), label="tolerance")
    legend(ax)
    return ax


def iterations(solution: Solution, ax: Axes | None = None) -> Axes:
    """Newton iterations of every step, one row of dots per stage.

    >>> iterations(solution)    # doctest: +SKIP
    """
    ax = new_axes(ax, title="Newton iterations", ylabel="per step")
    stats = solution.stats
    shifts = 0.2 * (np.arange(len(stats.stages)) - (len(stats.stages) - 1) / 2)  # stages side by side, not on top
    for k, (stage, shift) in enumerate(zip(stats.stages, shifts, strict=True)):
        values = stats.iterations[:, k]
        text = f"{stage.replace('_', ' ')}\nmean {stats.mean_iterations[k]:.2f}"
        color = PALETTE[k % len(PALETTE)]
        ax.plot(solution.t[1:], values + shift, "o", markersize=2.0, markeredgewidth=0, color=color, label=text)
    ax.set_ylim(-0.5, stats.max_iterations.max(initial=1) + 0.7)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    legend(ax, markerscale=2.5)
    return ax


def _chosen(names: Sequence[str], which: Which) -> list[int]:
    """Columns by index or name; the first few if nobody chose."""
    if which is None:
        return list(range(min(len(names), MOST_LINES)))
    for item in which:
        if isinstance(item, str) and item not in names:
            raise ValueError(f"there is no {item!r} to plot; there are {', '.join(names)}")
    return [names.index(item) if isinstance(item, str) else item for item in which]


def _note_left_out(ax: Axes, names: Sequence[str], which: Which, of: int | None = None) -> None:
    if which is None and len(names) > MOST_LINES:
        ax.set_title(f"first {MOST_LINES} of {len(names)}", loc="right", fontsize=SMALL, color=SOFT)
    elif of is not None and which is not None:
        ax.set_title(f"{len(which)} of {of}", loc="right", fontsize=SMALL, color=SOFT)


def _lines(
    t: np.ndarray, values: np.ndarray, names: Sequence[str], ax: Axes, which: Which, of: int | None = None
) -> Axes:
    for position, k in enumerate(_chosen(names, which)):
        color = PALETTE[position % len(PALETTE)]
        ax.plot(t, values[:, k], color=color, linewidth=LINE, label=label(names[k]))
    _note_left_out(ax, names, which, of)
    legend(ax)
    return ax


def _spikes(t: np.ndarray, values: np.ndarray, names: Sequence[str], ax: Axes, which: Which) -> Axes:
    ax.axhline(0.0, color=SOFT, linewidth=LINE, zorder=3)
    for position, k in enumerate(_chosen(names, which)):
        # One polyline 0, P, 0 per step draws a million steps as fast as a curve; a million separate stems do not.
        height = np.zeros((len(t), 3))
        height[:, 1] = values[:, k]
        color = PALETTE[position % len(PALETTE)]
        ax.plot(np.repeat(t, 3), height.ravel(), color=color, linewidth=0.8 * LINE, alpha=0.85, label=label(names[k]))
    _note_left_out(ax, names, which)
    legend(ax)
    return ax

"""The overview of a solution on one page: motion, contact, energy and numerics, a column each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.plots import panels
from stickslip.plots.style import INK, LARGE, NORMAL, SOFT
from stickslip.solution import Solution

Panel = Callable[..., Axes]
LEFT, RIGHT = 0.72, 1.36  # inches beside a panel: for its label, for its legend
SCALE_RATIO = 8.0
"""Curves whose ranges differ by more than this factor get panels of their own: the smaller would look like zero."""


def plot_solution(solution: Solution, *, title: str | None = None, size: tuple[float, float] | None = None) -> Figure:
    """Everything about a run in one figure, fit for a talk: only the panels that have data, with time running along.

    The figure belongs to nobody's window: save it with `stickslip.plots.save`, or let a notebook show it.

    >>> figure = plot_solution(solution, title="A ball comes to rest")    # doctest: +SKIP
    """
    columns = [column for column in (_motion(solution), _contact(solution), _energy_and_numerics(solution)) if column]
    rows = max(map(len, columns))
    size = size or (5.34 * len(columns), 1.2 + max(1.95 * rows, 7.8))  # three columns of up to four rows: 16 by 9
    figure = Figure(figsize=size)
    headline, details = _titles(solution)
    figure.suptitle(title or headline, x=0.01, ha="left", fontsize=LARGE, color=INK, fontweight="bold")
    figure.text(0.99, 0.985, details, ha="right", va="top", fontsize=NORMAL, color=SOFT)
    # Margins in inches, with room for a legend at the right of each panel; an automatic layout would draw everything twice.
    width, height = size
    inner = width - LEFT - RIGHT - (len(columns) - 1) * (LEFT + RIGHT)
    grid = figure.add_gridspec(
        1,
        len(columns),
        left=LEFT / width,
        right=1 - RIGHT / width,
        top=1 - 0.85 / height,
        bottom=0.55 / height,
        wspace=(LEFT + RIGHT) * len(columns) / inner,
    )
    first: Axes | None = None
    for k, column in enumerate(columns):
        cells = grid[k].subgridspec(len(column), 1, hspace=0.26)
        for row, panel in enumerate(column):
            ax = figure.add_subplot(cells[row], sharex=first)
            first = first or ax
            panel(solution, ax=ax)
            if row < len(column) - 1:
                ax.set_xlabel("")
                ax.tick_params(labelbottom=False)
    return figure


def _motion(solution: Solution) -> list[Panel]:
    return _by_scale(panels.coordinates, solution.q) + _by_scale(panels.velocities, solution.u)


def _contact(solution: Solution) -> list[Panel]:
    has_data = {
        panels.gaps: solution.gap.size > 0,
        panels.normal_percussions: solution.P_N.size > 0,
        panels.friction_percussions: solution.P_F.size > 0,
    }
    return [panel for panel, data in has_data.items() if data]


def _energy_and_numerics(solution: Solution) -> list[Panel]:
    has_data = {
        panels.energies: True,
        panels.residuals: solution.g.size + solution.gamma.size > 0,
        panels.iterations: solution.stats.iterations.size > 0,
    }
    return [panel for panel, data in has_data.items() if data]


def _by_scale(panel: Panel, values: np.ndarray) -> list[Panel]:
    groups = _groups_of_like_scale(values[:, : panels.MOST_LINES])
    return [panel] * len(groups) if len(groups) < 2 else [partial(panel, which=group) for group in groups]


def _groups_of_like_scale(values: np.ndarray) -> list[list[int]]:
    """Columns in at most two groups, split where the ranges differ most if they differ by more than `SCALE_RATIO`.

    The group that holds the first column comes first.

    >>> _groups_of_like_scale(np.array([[0.0, 0.0, 0.0], [1.0, 100.0, 2.0]]))
    [[0, 2], [1]]
    """
    if values.size == 0:
        return []
    scale = np.abs(values).max(axis=0)
    order = [k for k in np.argsort(scale, kind="stable").tolist() if scale[k] > 0]
    constant = [k for k in range(len(scale)) if scale[k] == 0]
    ratios = scale[order[1:]] / scale[order[:-1]]
    if ratios.size == 0 or ratios.max() < SCALE_RATIO:
        return [list(range(len(scale)))]
    cut = int(ratios.argmax()) + 1
    return sorted([sorted(order[:cut] + constant), sorted(order[cut:])])


def _titles(solution: Solution) -> tuple[str, str]:
    about = solution.provenance
    details = [str(about["method"])] if "method" in about else []
    if "dt" in about:
        details.append(f"dt = {about['dt']:g} s")
    details.append(f"{solution.stats.steps} steps, {1e6 * solution.stats.time_per_step:.3g} µs each")
    if not solution.complete:
        details.append("incomplete")
    return str(about.get("system", "solution")).replace("_", " "), "  ·  ".join(details)

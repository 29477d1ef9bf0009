"""Pictures of nonlinear dynamics: branches of orbits, bifurcation diagrams, sections, basins, fits."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from stickslip.plots.style import INK, LINE, NORMAL, PALETTE, SMALL, SOFT, label, legend, new_axes

if TYPE_CHECKING:
    from stickslip.studies import Basins, BifurcationDiagram, Branch, Identification, PoincareSection


def plot_branch(branch: Branch, coordinate: str | None = None) -> Figure:
    """A coordinate at the start of each orbit, and the sizes of the multipliers; unstable orbits are dashed.

    >>> figure = plot_branch(branch)    # doctest: +SKIP
    """
    system = branch.orbits[0].system
    names = system.q_names
    drift = {names[i] for i in branch.orbits[0].shooting.drift}
    coordinate = next(n for n in names if n not in drift) if coordinate is None else coordinate
    k = names.index(coordinate)
    figure = Figure(figsize=(8.0, 6.4), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    new_axes(top, title=system.name, ylabel=label(coordinate), xlabel="")
    new_axes(bottom, ylabel="size of the multipliers", xlabel=label(branch.parameter))
    values, height = branch.values, np.array([orbit.q0[k] for orbit in branch.orbits])
    stable = branch.stable
    for a, b in _pieces(stable):
        style = "-" if stable[a] else "--"
        top.plot(values[a : b + 1], height[a : b + 1], style, color=PALETTE[0], linewidth=LINE)
    sizes = np.array([np.abs(orbit.multipliers) for orbit in branch.orbits])
    bottom.plot(values, sizes, color=PALETTE[0], linewidth=LINE)
    bottom.axhline(1.0, color=INK, linewidth=0.8, linestyle=":")
    for color, kind in zip(PALETTE[1:], dict.fromkeys(b.kind for b in branch.bifurcations), strict=False):
        found = [b for b in branch.bifurcations if b.kind == kind]
        at = [np.mean(height[b.index : b.index + 2]) for b in found]
        top.plot([b.value for b in found], at, "o", color=color, markersize=6, label=kind)
    if branch.bifurcations:
        legend(top)
    for ax in (top, bottom):
        ax.margins(x=0.02, y=0.06)
        ax.title.set_fontsize(NORMAL)
        ax.xaxis.label.set_fontsize(SMALL)
    return figure


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    return Figure(figsize=size, layout="constrained").add_subplot() if ax is None else ax


def _figure(ax: Axes) -> Figure:
    found = ax.get_figure(root=True)
    assert found is not None
    return found


def plot_section(section: PoincareSection, x: str, y: str, ax: Axes | None = None) -> Figure:
    """The points of a section in the plane of two coordinates or velocities, in a new figure or in `ax`.

    >>> figure = plot_section(section, "x", "x_dot")    # doctest: +SKIP
    """
    ax = new_axes(_axes(ax, (7.0, 5.6)), title=f"{section.system}, {section.about}", ylabel=label(y), xlabel=label(x))
    ax.plot(section[x], section[y], ".", color=PALETTE[0], markersize=_dot(len(section)), markeredgewidth=0)
    ax.margins(x=0.05, y=0.05)
    return _figure(ax)


def plot_diagram(diagram: BifurcationDiagram, name: str, ax: Axes | None = None) -> Figure:
    """A bifurcation diagram of one coordinate or velocity, in a new figure or in `ax`; the way down lies over the way up.

    >>> figure = plot_diagram(diagram, "x")    # doctest: +SKIP
    """
    title = f"{diagram.system}, {diagram.about}"
    ax = new_axes(_axes(ax, (9.0, 5.2)), title=title, ylabel=label(name), xlabel=label(diagram.parameter))
    for color, way in zip(PALETTE, diagram.points, strict=False):
        x, y = diagram.column(name, way)
        ax.plot(x, y, ".", color=color, markersize=_dot(len(x)), markeredgewidth=0, label=way, rasterized=True)
    if len(diagram.points) > 1:
        legend(ax, markerscale=8.0)
    ax.margins(x=0.01, y=0.03)
    return _figure(ax)


def plot_basins(basins: Basins, ax: Axes | None = None) -> Figure:
    """Basins as an image with a colour per attractor, and the attractors as dots, in a new figure or in `ax`.

    >>> figure = plot_basins(basins)    # doctest: +SKIP
    """
    x_name, y_name = basins.axes
    ax = new_axes(_axes(ax, (7.6, 6.2)), title=basins.system, ylabel=label(y_name), xlabel=label(x_name))
    ax.grid(False)
    special = {-1: ("does not repeat", "#c9ced6"), -2: ("inside an obstacle", "#ffffff"), -3: ("not solved", "#22272e")}
    shown = [int(k) for k in np.unique(basins.labels)]
    colors = {k: PALETTE[k % len(PALETTE)] if k >= 0 else special[k][1] for k in shown}
    picture = np.zeros((*basins.labels.shape, 3))
    for k, color in colors.items():
        picture[basins.labels == k] = to_rgb(color)
    edges = [_outer(axis) for axis in (basins.x, basins.y)]
    ax.imshow(picture, origin="lower", extent=(*edges[0], *edges[1]), aspect="auto", interpolation="nearest")
    i, j = basins.names.index(x_name), basins.names.index(y_name)
    for k in shown:
        if k >= 0:
            orbit = basins.attractors[k]
            ax.plot(orbit[:, i], orbit[:, j], "o", color=colors[k], markeredgecolor="white", markersize=7)
    text = {k: f"period {len(basins.attractors[k])}" if k >= 0 else special[k][0] for k in shown}
    share = basins.shares
    for k in shown:
        part = f", {100 * share[k]:.3g} %" if k in share else ""
        ax.plot([], [], "s", color=colors[k], markeredgecolor=INK, markeredgewidth=0.4, label=text[k] + part)
    legend(ax)
    ax.set_xlim(*edges[0])
    ax.set_ylim(*edges[1])
    return _figure(ax)


def plot_fit(fit: Identification) -> Figure:
    """Measurement and fit of every column, and what is left, in units of sigma.

    >>> figure = plot_fit(fit)    # doctest: +SKIP
    """
    columns = [name for name in fit.data if name != "t"]
    others = [name for name in fit.residuals if name not in columns]
    rows = max(len(columns), 1)
    figure = Figure(figsize=(11.0, 2.9 * rows), layout="constrained")
    grid = figure.subplots(rows, 2, squeeze=False, width_ratios=(2, 1))
    found = ", ".join(f"{label(n)} = {v:.4g} ± {fit.errors[n]:.2g}" for n, v in fit.values.items())
    names = [*fit.solution.names.q, *fit.solution.names.u]
    motion = np.hstack([fit.solution.q, fit.solution.u])
    for k, name in enumerate(columns):
        ax = new_axes(grid[k, 0], title=found if k == 0 else "", ylabel=label(name))
        ax.plot(fit.data["t"], fit.data[name], ".", color=PALETTE[1], markersize=4, label="measured")
        ax.plot(fit.solution.t, motion[:, names.index(name)], color=PALETTE[0], linewidth=LINE, label="fit")
        left = new_axes(grid[k, 1], title="residuals" if k == 0 else "", ylabel="sigma")
        left.plot(fit.data["t"], fit.residuals[name], ".", color=SOFT, markersize=4)
        left.axhline(0.0, color=INK, linewidth=0.8)
        if k == 0:
            ax.legend(frameon=False, fontsize=SMALL)
    if not columns:
        left = new_axes(grid[0, 1], title="residuals", ylabel="sigma", xlabel="impact")
        for name in others:
            left.plot(np.arange(1, len(fit.residuals[name]) + 1), fit.residuals[name], "o", label=name)
        grid[0, 0].set_axis_off()
        grid[0, 0].text(0.0, 0.5, found, fontsize=NORMAL, color=INK)
    return figure


def _outer(axis: np.ndarray) -> tuple[float, float]:
    """The edges of the first and last cell of an axis."""
    half = (axis[-1] - axis[0]) / (2 * max(len(axis) - 1, 1)) or 0.5
    return float(axis[0] - half), float(axis[-1] + half)


def _dot(count: int) -> float:
    """The size of a dot, smaller where there are many."""
    return float(np.clip(40 / np.sqrt(max(count, 1)), 0.6, 5.0))


def _pieces(stable: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of equal stability, each up to the first point of the next."""
    edges = [0, *(np.flatnonzero(stable[1:] != stable[:-1]) + 1).tolist(), len(stable) - 1]
    return [(a, b) for a, b in pairwise(edges) if b > a]

"""Pictures of nonlinear dynamics: branches of orbits, bifurcation diagrams, sections, basins, fits."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from stickslip.plots.style import INK, LINE, NORMAL, PALETTE, SMALL, label, legend, new_axes

if TYPE_CHECKING:
    from stickslip.studies import Branch


def plot_branch(branch: Branch, coordinate: str | None = None) -> Figure:
    """A coordinate at the start of each orbit, and the sizes of the multipliers; unstable orbits are dashed.

    >>> figure = plot_branch(branch)    # doctest: +SKIP
    """
    system = branch.orbits[0].system
    names = [n for b in system.blocks for n in b.q_names]
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


def _pieces(stable: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of equal stability, each up to the first point of the next."""
    edges = [0, *(np.flatnonzero(stable[1:] != stable[:-1]) + 1).tolist(), len(stable) - 1]
    return [(a, b) for a, b in pairwise(edges) if b > a]

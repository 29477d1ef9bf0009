"""Look at a `Solution`: an overview for a talk, and the panels that it is composed of.

>>> from stickslip import plots    # doctest: +SKIP
>>> plots.save(plots.plot_solution(solution), "overview.png")    # doctest: +SKIP
>>> ax = plots.gaps(solution, which=["floor"])    # a panel alone, on a figure of its own    # doctest: +SKIP
"""

from stickslip.plots.chosen import curves, phase
from stickslip.plots.motion import animate, strip
from stickslip.plots.nonlinear import plot_basins, plot_branch, plot_diagram, plot_fit, plot_section
from stickslip.plots.overview import forces_of, plot_solution
from stickslip.plots.panels import (
    coordinates,
    energies,
    friction_percussions,
    gaps,
    iterations,
    normal_percussions,
    residuals,
    velocities,
)
from stickslip.plots.studies import plot_comparison, plot_convergence, plot_ledger
from stickslip.plots.style import save
from stickslip.plots.style import saved as saved  # for methods `plot` of results

__all__ = [
    "animate",
    "coordinates",
    "curves",
    "energies",
    "forces_of",
    "friction_percussions",
    "gaps",
    "iterations",
    "normal_percussions",
    "phase",
    "plot_basins",
    "plot_branch",
    "plot_comparison",
    "plot_convergence",
    "plot_diagram",
    "plot_fit",
    "plot_ledger",
    "plot_section",
    "plot_solution",
    "residuals",
    "save",
    "strip",
    "velocities",
]

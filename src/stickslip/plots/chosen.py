"""Panels of quantities by name: curves over time grouped by unit, and phase plots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from stickslip.errors import OptionError
from stickslip.plots.style import LINE, PALETTE, SMALL, SOFT, label, legend, new_axes
from stickslip.solution import Solution
from stickslip.values import catalogue

Chosen = Sequence[str | tuple[str, str]]
PEAK = 4.0
"""Spikes so many times higher than all but one percent of the values are cut; the panel says how high they are."""
STEADY = 1e-9
"""Curves that change by less than this part of their size are constant."""
TITLES = {
    "m": "lengths",
    "rad": "angles",
    "m/s": "velocities",
    "rad/s": "angular velocities",
    "N": "forces",
    "N m": "torques",
    "N s": "percussions",
    "N m s": "angular percussions",
    "J": "energies",
}


def curves(
    solution: Solution,
    quantities: Sequence[str],
    ax: Axes | None = None,
    *,
    title: str | None = None,
    short: bool = False,
) -> Axes:
    """Quantities by name over time, on one pair of axes; units are on the axis, or in the legend where they differ.

    short: leave the last word out of the legend, as in pin.force, where the title says it.

    >>> curves(solution, ["slider.x", "crank.x"])    # doctest: +SKIP
    """
    columns = _columns(solution, quantities)
    units = {unit for _, unit, _ in columns}
    one = units.pop() if len(units) == 1 else None
    ax = new_axes(ax, title=TITLES.get(one or "", "") if title is None else title, ylabel=f"[{one}]" if one else "")
    for k, (name, unit, values) in enumerate(columns):
        shown = label(name.rpartition(".")[0] or name) if short else label(name)
        text = shown if one is not None or not unit else f"{shown}  [{unit}]"
        ax.plot(solution.t, values, color=PALETTE[k % len(PALETTE)], linewidth=LINE, label=text)
    cut_peaks(ax, [values for *_, values in columns], one or "")
    legend(ax)
    return ax


def phase(solution: Solution, x: str, y: str, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """One quantity over another: a phase plot of a coordinate and its velocity, or the path of a point in the plane.

    A dot marks the start. Paths of two lengths have equal scales.

    >>> phase(solution, "phi", "phi_dot")    # doctest: +SKIP
    >>> phase(solution, "slider.x", "slider.y")    # doctest: +SKIP
    """
    (x_name, x_unit, x_values), (y_name, y_unit, y_values) = (_one(solution, name) for name in (x, y))
    ax = new_axes(
        ax,
        title=f"{label(y_name)} over {label(x_name)}" if title is None else title,
        xlabel=f"{label(x_name)}  [{x_unit}]" if x_unit else label(x_name),
        ylabel=f"{label(y_name)}  [{y_unit}]" if y_unit else label(y_name),
    )
    ax.plot(x_values, y_values, color=PALETTE[0], linewidth=LINE)
    ax.plot(x_values[:1], y_values[:1], "o", color=PALETTE[1], markersize=5)
    ax.margins(x=0.05, y=0.05)
    if x_unit == y_unit == "m":
        ax.set_aspect("equal", adjustable="datalim")
    return ax


def groups_by_unit(solution: Solution, quantities: Chosen) -> list[list[str] | tuple[str, str]]:
    """Names that share a panel: those of one unit, in the order in which the units appear; pairs stay by themselves."""
    if isinstance(quantities, str) or not all(_is_name_or_pair(q) for q in quantities) or not quantities:
        raise OptionError(
            f"quantities = {quantities!r} must be a list of names, such as ['slider.x', 'pin.force'], or of pairs of names "
            "for phase plots"
        )
    out: list[list[str] | tuple[str, str]] = []
    by_unit: dict[str, list[str]] = {}
    for chosen in quantities:
        if isinstance(chosen, str):
            unit = _columns(solution, [chosen])[0][1]
            if unit not in by_unit:
                by_unit[unit] = []
                out.append(by_unit[unit])
            by_unit[unit].append(chosen)
        else:
            out.append(tuple(chosen))  # type: ignore[arg-type]
    return out


def cut_peaks(ax: Axes, columns: Sequence[np.ndarray], unit: str) -> None:
    """Limit the axis where single spikes would flatten everything else, and say how high they are.

    What is constant but for rounding looks constant.
    """
    finite = np.concatenate([np.abs(values[np.isfinite(values)]) for values in columns] or [np.zeros(1)])
    if not finite.size:
        return
    low, high = min(np.nanmin(values) for values in columns), max(np.nanmax(values) for values in columns)
    if 0 < high - low < STEADY * max(abs(low), abs(high)):  # rounding errors of something constant
        ends = sorted([0.0, 1.25 * (low + high) / 2])
        ax.set_ylim(*ends)
        return
    most, peak = float(np.quantile(finite, 0.99)), float(finite.max())
    if 0 < PEAK * most < peak:
        room = 0.08 * most  # what never changes its sign gets no empty half
        ax.set_ylim(max(low - room, -1.5 * most), min(high + room, 1.5 * most))
        ax.set_title(f"peaks to {peak:.2g} {unit}".rstrip(), loc="right", fontsize=SMALL, color=SOFT)


def _is_name_or_pair(given: object) -> bool:
    return isinstance(given, str) or (
        isinstance(given, tuple | list) and len(given) == 2 and all(isinstance(name, str) for name in given)
    )


def _columns(solution: Solution, names: Sequence[str]) -> list[tuple[str, str, np.ndarray]]:
    """Name, unit and values of every curve; a quantity with several components has one each."""
    out: list[tuple[str, str, np.ndarray]] = []
    units = solution.quantities
    kinds = catalogue(solution)
    for name in names:
        values = solution[name]
        entry = kinds.get(name, kinds.get(name.partition("[")[0]))
        if entry is not None and entry.of_step and len(values):
            values = values.copy()
            values[0] = np.nan  # there is no step before the first row
        unit = units.get(name, units.get(name.partition("[")[0], ""))
        flat = values.reshape(len(values), -1)
        axes = "xyz" if unit == "N" and flat.shape[1] in (2, 3) and name.endswith(".force") else None
        for k in range(flat.shape[1]):
            component = f"{name} {axes[k]}" if axes else f"{name} {k + 1}"
            out.append((name if values.ndim == 1 else component, unit, flat[:, k]))
    return out


def _one(solution: Solution, name: str) -> tuple[str, str, np.ndarray]:
    columns = _columns(solution, [name])
    if len(columns) > 1:
        raise OptionError(f"{name!r} has {len(columns)} components; choose one, such as {name}[0]")
    return columns[0]

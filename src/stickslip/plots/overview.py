"""The overview of a solution on one page: motion, contact, energy and forces, one column each.

It shows what moves and what acts: coordinates by unit, without those that rest; contacts that touch; forces of joints and
springs; measures. Round-off has no panel: constraint residuals appear where they exceed the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.plots import panels
from stickslip.plots.chosen import TITLES, Chosen, curves, cut_peaks, groups_by_unit, phase
from stickslip.plots.style import INK, LARGE, LINE, NORMAL, PALETTE, SOFT, label, legend, new_axes
from stickslip.solution import Solution
from stickslip.values import catalogue

Panel = Callable[..., Axes]
LEFT, RIGHT = 0.78, 1.42  # inches beside a panel: for its label, for its legend
SCALE_RATIO = 8.0
"""Curves whose ranges differ by more than this factor get panels of their own: the smaller would look like zero."""
NOISE = 1e-12
"""What changes by less than this part of its size, or by less than ten tolerances, rests."""
PERSISTENT = 0.8
"""Contact in more than this part of the steps is shown by its forces, other contact by percussions."""
MOST_PANELS = 4  # of a column
LIVELY = 0.02  # of too many curves, those that move less than this share of the liveliest are not drawn
QUATERNIONS = 8  # components: the orientations of more than two bodies cannot be read from such curves


def plot_solution(
    solution: Solution,
    *,
    quantities: Chosen | None = None,
    numerics: bool = False,
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """A run in one figure, fit for a talk: what moves, what touches, energies and forces; time runs along.

    quantities: names as in `solution[name]`, drawn in one panel per unit, instead of the overview; a pair of names gives
    a phase plot. numerics: also constraint residuals and Newton iterations. The figure belongs to nobody's
    window: save it with `stickslip.plots.save`, or let a notebook show it.

    >>> figure = plot_solution(solution, title="A ball comes to rest")    # doctest: +SKIP
    >>> figure = plot_solution(solution, quantities=["slider.x", "pin.force", ("slider.x", "slider.x_dot")])    # doctest: +SKIP
    """
    if quantities is not None:
        return _figure(solution, [[p] for p in _chosen(solution, quantities)], title, size, stacked=True)
    columns = [_motion(solution), _contact(solution), _energy_and_forces(solution, numerics)]
    return _figure(solution, [column for column in columns if column], title, size)


def _figure(
    solution: Solution,
    columns: list[list[Panel]],
    title: str | None,
    size: tuple[float, float] | None,
    stacked: bool = False,
) -> Figure:
    if stacked:  # chosen panels: below each other, in two columns from the fifth on
        flat = [column[0] for column in columns]
        half = len(flat) if len(flat) <= MOST_PANELS else -(-len(flat) // 2)
        columns = [flat[k : k + half] for k in range(0, len(flat), half)]
    rows = max(map(len, columns))
    width = 5.34 * len(columns) if not stacked else 9.0 * len(columns)
    size = size or (width, 1.2 + (max(1.95 * rows, 7.8) if not stacked else 2.6 * rows))  # three by four: 16 by 9
    figure = Figure(figsize=size)
    headline, details = _titles(solution)
    width, height = size
    figure.suptitle(title or headline, x=0.15 / width, y=1 - 0.14 / height, ha="left", va="top", fontsize=LARGE,
                    color=INK, fontweight="bold")  # fmt: skip
    figure.text(1 - 0.15 / width, 1 - 0.2 / height, details, ha="right", va="top", fontsize=NORMAL, color=SOFT)
    # Margins in inches, with room for a legend at the right of each panel; an automatic layout would draw everything twice.
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
        cells = grid[k].subgridspec(len(column), 1, hspace=0.42 if any(map(_is_phase, column)) else 0.3)
        for row, panel in enumerate(column):
            over_time = not _is_phase(panel)
            ax = figure.add_subplot(cells[row], sharex=first if over_time else None)
            first = first or (ax if over_time else None)
            panel(solution, ax=ax)
            if over_time and row < len(column) - 1 and not _is_phase(column[row + 1]):
                ax.set_xlabel("")
                ax.tick_params(labelbottom=False)
    return figure


def _is_phase(panel: Panel) -> bool:
    return isinstance(panel, partial) and panel.func is phase


def _chosen(solution: Solution, quantities: Chosen) -> list[Panel]:
    groups = groups_by_unit(solution, quantities)
    return [partial(phase, x=g[0], y=g[1]) if isinstance(g, tuple) else partial(curves, quantities=g) for g in groups]


# --- motion --------------------------------------------------------------------------------------------------------


def _motion(solution: Solution) -> list[Panel]:
    names = solution.names
    if len(_moving(solution.q, solution.provenance.get("tol", 0.0))) > panels.MOST_LINES and (
        joints := _joints(solution)
    ):
        return joints
    out = _by_unit(solution, panels.coordinates, solution.q, names.q_units, "coordinates", "lengths", "positions")
    return out + _by_unit(solution, panels.velocities, solution.u, names.u_units, "velocities", "", "")


def _joints(solution: Solution) -> list[Panel]:
    """Measures of joints and their rates: of a mechanism of many bodies they say more than a few coordinates."""
    groups: dict[str, list[str]] = {}
    for name, entry in catalogue(solution).items():
        if entry.kind == "joint":
            groups.setdefault(entry.unit, []).append(name)
    titles = {"rad": "joint angles", "rad/s": "joint rates", "m": "joint displacements", "m/s": "joint velocities"}
    return [
        partial(curves, quantities=g[: panels.MOST_LINES], title=titles.get(u), short=True)
        for u, g in sorted(groups.items())
    ]


def _by_unit(
    solution: Solution,
    panel: Panel,
    values: np.ndarray,
    units: Sequence[str],
    unknown: str,
    generic: str,
    better: str,
) -> list[Panel]:
    """One panel per unit of the columns that move; two where their scales are far apart."""
    moving = _moving(values, solution.provenance.get("tol", 0.0))
    groups: dict[str | None, list[int]] = {}
    for k in moving:
        groups.setdefault(units[k] if units else None, []).append(k)
    if len(groups.get("", [])) > QUATERNIONS and len(groups) > 1:
        del groups[""]
    out: list[Panel] = []
    for unit, columns in groups.items():
        title = unknown if unit is None else "orientation" if unit == "" else TITLES.get(unit, unknown)
        title = better if title == generic else title
        ylabel = f"[{unit}]" if unit else None if unit is None else "quaternion"
        spans = {k: float(np.ptp(values[:, k])) for k in columns}
        least = LIVELY * max(spans.values()) if len(columns) > panels.MOST_LINES else 0.0
        liveliest = sorted((k for k in columns if spans[k] >= least), key=lambda k: -spans[k])
        shown = sorted(liveliest[: panels.MOST_LINES])
        split = (
            _groups_of_like_scale(values[:, shown]) if len(groups) <= MOST_PANELS // 2 else [list(range(len(shown)))]
        )
        for part in split:
            chosen = [shown[k] for k in part]
            of = len(columns) if len(columns) > len(shown) else None
            out.append(partial(panel, which=chosen, title=title, ylabel=ylabel, of=of))
    return out


def _moving(values: np.ndarray, tol: float) -> list[int]:
    """Columns that change by more than rounding and the tolerance; all of them if none does."""
    if values.size == 0:
        return []
    return np.flatnonzero(_changes(values, tol)).tolist() or list(range(values.shape[1]))


def _changes(values: np.ndarray, tol: float) -> np.ndarray:
    """Whether columns change by more than rounding and the tolerance."""
    limit = np.maximum(NOISE * np.abs(values).max(axis=0), 10 * tol)
    return np.asarray(np.ptp(values, axis=0) > limit)


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


# --- contact -------------------------------------------------------------------------------------------------------


def _contact(solution: Solution) -> list[Panel]:
    """Gaps of the contacts that touch, or of those that come closest, and what they transmit: percussions where most is
    impact, forces where contact persists.
    """
    if not solution.gap.size and not solution.P_F.size:
        return []
    touching = np.flatnonzero(solution.P_N.any(axis=0)).tolist()
    closest = np.argsort(solution.gap.min(axis=0), kind="stable").tolist() if solution.gap.size else []
    shown = sorted((touching or closest)[: panels.MOST_LINES])
    rubbing = np.flatnonzero(solution.P_F.any(axis=0)).tolist()[: panels.MOST_LINES]
    of = solution.gap.shape[1] if len(shown) < solution.gap.shape[1] else None
    out: list[Panel] = []
    if shown and (not touching or _changes(solution.gap[:, shown], solution.provenance.get("tol", 0.0)).any()):
        out.append(partial(panels.gaps, which=shown, of=of))
    steps = max(len(solution) - 1, 1)
    acting = solution.P_N.any(axis=1) | solution.P_F.any(axis=1)
    if np.count_nonzero(acting) > PERSISTENT * steps:
        names, friction = solution.names.contacts, solution.names
        forces = [f"{names[k]}.force" for k in touching[: panels.MOST_LINES]]
        ends = np.cumsum(friction.friction_sizes)
        rubs = list(
            dict.fromkeys(f"{friction.friction[int(np.searchsorted(ends, k, side='right'))]}.friction" for k in rubbing)
        )
        return out + [
            partial(curves, quantities=chosen, title=title, short=True)
            for chosen, title in ((forces, "normal forces"), (rubs, "friction forces"))
            if chosen
        ]
    out += [partial(panels.normal_percussions, which=shown)] if touching else []
    return out + ([partial(panels.friction_percussions, which=rubbing)] if rubbing else [])


# --- energy, forces, numerics --------------------------------------------------------------------------------------


def _energy_and_forces(solution: Solution, numerics: bool) -> list[Panel]:
    tol = solution.provenance.get("tol", 0.0)
    out: list[Panel] = [panels.energies]
    forces: dict[str, list[str]] = {}
    measures: dict[str, list[str]] = {}
    contacts = {f"{name}.force" for name in solution.names.contacts}
    contacts |= {f"{name}.friction" for name in solution.names.friction}
    for name, entry in catalogue(solution).items():
        if entry.kind == "force" and name not in contacts and entry.unit:
            forces.setdefault(entry.unit, []).append(name)
        elif entry.kind == "measure":
            measures.setdefault(entry.unit, []).append(name)
    out += [partial(forces_of, quantities=names) for names in forces.values()]
    out += [partial(curves, quantities=names, title="measures") for names in measures.values()]
    drift = max((float(np.abs(x).max(initial=0.0)) for x in (solution.g, solution.gamma)), default=0.0)
    out = out[:MOST_PANELS] if not numerics else out[: MOST_PANELS - 2]
    if solution.g.size + solution.gamma.size and (numerics or drift > max(tol, 1e-12)):
        out.append(panels.residuals)
    if numerics and solution.stats.iterations.size:
        out.append(panels.iterations)
    return out


def forces_of(solution: Solution, quantities: Sequence[str], ax: Axes | None = None) -> Axes:
    """Magnitudes of forces by name, without those that vanish; a force with several components has one curve.

    >>> forces_of(solution, ["pin.force", "spring.force"])    # doctest: +SKIP
    """
    units = solution.quantities
    unit = units.get(quantities[0], "")
    ax = new_axes(ax, title=TITLES.get(unit, "forces"), ylabel=f"[{unit}]" if unit else "")
    drawn: list[np.ndarray] = []
    for name in quantities:
        values = solution[name]
        size = values if values.ndim == 1 else np.linalg.norm(values, axis=1)
        if len(drawn) < panels.MOST_LINES and np.abs(size).max(initial=0.0) > 0:
            short = name.removesuffix(".force").removesuffix(".torque")
            text = label(short) if values.ndim == 1 else f"|{label(short)}|"
            ax.plot(solution.t[1:], size[1:], color=PALETTE[len(drawn) % len(PALETTE)], linewidth=LINE, label=text)
            drawn.append(size)
    cut_peaks(ax, drawn, unit)
    if drawn:
        legend(ax)
    return ax


def _titles(solution: Solution) -> tuple[str, str]:
    about = solution.provenance
    details = [str(about["method"])] if "method" in about else []
    if "dt" in about:
        details.append(f"dt = {about['dt']:g} s")
    each = 1e6 * solution.stats.time_per_step
    time = f"{each:.3g} µs" if each < 1e3 else f"{each / 1e3:.3g} ms" if each < 1e6 else f"{each / 1e6:.3g} s"
    details.append(f"{solution.stats.steps} steps, {time} each")
    if not solution.complete:
        details.append("incomplete")
    return str(about.get("system", "solution")).replace("_", " "), "  ·  ".join(details)

"""Pictures of what `stickslip.analysis` finds: energy ledgers, comparisons of methods, convergence studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from stickslip.analysis.compare import Comparison
from stickslip.analysis.convergence import Convergence
from stickslip.analysis.ledger import MEANING, EnergyLedger
from stickslip.plots.style import INK, LARGE, LINE, NORMAL, PALETTE, SMALL, SOFT, label, legend, new_axes
from stickslip.solution import Solution

ComparisonPanel = Callable[[Axes, dict[str, Solution], dict[str, str], int], None]
MARKERS = "osD^vP*Xh"
FLOOR = 1e-17  # a logarithm has no zero: what is exact lies on the floor of double precision
COLORS = dict(zip(MEANING, (PALETTE[2], PALETTE[5], PALETTE[1], PALETTE[3], PALETTE[0], PALETTE[6], SOFT), strict=True))


def plot_ledger(ledger: EnergyLedger) -> Figure:
    """Where the energy went: what has entered and left so far, the totals, and the numerical remainder apart.

    >>> figure = plot_ledger(ledger)    # doctest: +SKIP
    """
    figure = _page(ledger.system or "energy ledger", f"energy ledger  ·  {ledger.method}" if ledger.method else "")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.7, 1), hspace=0.34, wspace=0.58)
    grid.update(left=0.06, right=0.985, top=0.86, bottom=0.08)
    sums = {name: np.concatenate([[0.0], np.cumsum(column)]) for name, column in ledger.entries.items()}
    least = 1e-9 * max(np.abs(ledger.energy).max(), 1e-300)
    shown = [name for name, total in sums.items() if np.abs(total).max() > least and name != "remainder"]
    ax = new_axes(figure.add_subplot(grid[0, 0]), title="change of energy so far", ylabel="[J]")
    for name in shown:
        ax.plot(ledger.t, sums[name], color=COLORS[name], linewidth=LINE, label=MEANING[name])
    ax.plot(ledger.t, ledger.energy - ledger.energy[0], color=INK, linewidth=1.4 * LINE, label="kinetic + potential")
    legend(ax)
    ax = new_axes(figure.add_subplot(grid[1, 0]), title="numerical remainder so far", ylabel="[J]")
    ax.plot(ledger.t, sums["remainder"], color=COLORS["remainder"], linewidth=LINE)
    _waterfall(ledger, shown, new_axes(figure.add_subplot(grid[:, 1]), xlabel="[J]"))
    return figure


def _waterfall(ledger: EnergyLedger, shown: Sequence[str], ax: Axes) -> None:
    """From the energy at the start to that at the end, an entry after the other."""
    start, end = ledger.energy[[0, -1]]
    _title(ax, f"from {start:.4g} J to {end:.4g} J")
    level, bars = 0.0, []
    for name in [*shown, "remainder"]:
        total = ledger.totals[name]
        bars.append((MEANING[name], level, total, COLORS[name]))
        level += total
    bars.append(("kinetic + potential", 0.0, end - start, INK))
    for row, (_, left, width, color) in enumerate(bars):
        ax.barh(row, width, left=left, color=color, height=0.5)
        ax.annotate(
            f"{width:+.4g}", (left + width / 2, row - 0.27), ha="center", va="bottom", fontsize=SMALL, color=INK
        )
    ax.set_yticks(range(len(bars)), [text for text, *_ in bars])
    ax.tick_params(axis="y", labelcolor=INK)
    ax.set_ylim(len(bars) - 0.4, -0.75)
    ax.grid(False, axis="y")
    ax.axvline(0.0, color=SOFT, linewidth=0.8)
    ax.use_sticky_edges = False
    ax.margins(x=0.2)  # room for the number of a bar that is too short to be seen


def plot_comparison(comparison: Comparison) -> Figure:
    """Several methods on one system: the coordinates in which they differ most, gaps, residuals, energy and cost.

    >>> figure = plot_comparison(comparison)    # doctest: +SKIP
    """
    figure = _page(comparison.system, f"{len(comparison.outcomes)} methods  ·  dt = {comparison.dt:g} s")
    solutions = {m: s for m, s in comparison.solutions.items() if s.stats.steps}
    colors = {o.method: PALETTE[k % len(PALETTE)] for k, o in enumerate(comparison.outcomes)}
    _method_legend(figure, comparison, colors)
    if not solutions:
        return figure
    some = next(iter(solutions.values()))
    panels: list[tuple[ComparisonPanel, int]] = [(_coordinate, k) for k in _most_different(list(solutions.values()), 3)]
    panels += [(_penetration, 0)] if some.smallest_gap() is not None else []
    panels += [(_residual, 0)] if some.g.size + some.gamma.size else []
    panels += [(_energy, 0)]
    columns = max(2, -(-(len(panels) + 1) // 2))
    grid = figure.add_gridspec(2, columns, hspace=0.36, wspace=0.27)
    grid.update(left=0.055, right=0.985, top=0.80, bottom=0.075)
    for place, (panel, k) in enumerate(panels):
        ax = new_axes(figure.add_subplot(grid[place // columns, place % columns]))
        panel(ax, solutions, colors, k)
    _cost(new_axes(figure.add_subplot(grid[1, len(panels) - columns :])), solutions, colors)
    return figure


def _method_legend(figure: Figure, comparison: Comparison, colors: dict[str, str]) -> None:
    texts = []
    for o in comparison.outcomes:
        if o.failure is None:
            texts.append(o.method)
        elif o.solution is None:
            texts.append(f"{o.method} (not applicable)")
        else:
            texts.append(f"{o.method} (fails at t = {o.solution.t[-1]:.3g})")
    lines = [Line2D([], [], color=colors[o.method], linewidth=3) for o in comparison.outcomes]
    figure.legend(
        lines, texts, loc="upper left", bbox_to_anchor=(0.005, 0.925), ncols=min(len(lines), 6), frameon=False,
        fontsize=NORMAL, labelcolor=INK, handlelength=1.2,
    )  # fmt: skip


def _most_different(solutions: list[Solution], most: int) -> list[int]:
    """The coordinates in which solutions differ most, relative to their range, in the order of their indices."""
    rows = min(len(s) for s in solutions)
    if len(solutions) < 2:
        return list(range(min(most, solutions[0].q.shape[1])))
    q = np.array([s.q[:rows] for s in solutions])
    spread, extent = np.ptp(q, axis=0).max(axis=0), np.ptp(q, axis=(0, 1))
    order = np.argsort(-spread / np.maximum(extent, 1e-12), kind="stable")
    return sorted(order[:most].tolist())


def _curves(ax: Axes, solutions: dict[str, Solution], colors: dict[str, str], values: dict[str, np.ndarray]) -> None:
    # Curves that coincide stay visible: earlier ones are drawn wider.
    for k, (method, s) in enumerate(solutions.items()):
        width = LINE * (1 + 1.1 * (len(solutions) - 1 - k) / max(len(solutions) - 1, 1))
        ax.plot(s.t, values[method], color=colors[method], linewidth=width)


def _coordinate(ax: Axes, solutions: dict[str, Solution], colors: dict[str, str], k: int) -> None:
    names = next(iter(solutions.values())).names
    _title(ax, f"coordinate {label(names.q[k])}")
    unit = names.q_units[k] if names.q_units else ""
    if unit:
        ax.set_ylabel(f"[{unit}]")
    _curves(ax, solutions, colors, {m: s.q[:, k] for m, s in solutions.items()})


def _penetration(ax: Axes, solutions: dict[str, Solution], colors: dict[str, str], _: int) -> None:
    _title(ax, "deepest penetration so far")
    ax.set_ylabel("$-g_N$  [m]")
    _logarithmic(ax)
    _curves(ax, solutions, colors, {m: _largest_so_far(_depth(s)) for m, s in solutions.items()})


def _depth(s: Solution) -> np.ndarray:
    """How deep declared and detected contacts are, as one column."""
    gap = s.gap.min(axis=1, initial=np.inf)
    if s.contacts is not None:
        np.minimum.at(gap, s.contacts.row, s.contacts.gap)
    return -gap[:, None]


def _residual(ax: Axes, solutions: dict[str, Solution], colors: dict[str, str], _: int) -> None:
    some = next(iter(solutions.values()))
    name, what = ("g", "$|g|$, position level") if some.g.size else ("gamma", r"$|\gamma|$, velocity level")
    _title(ax, "largest constraint residual so far")
    ax.set_ylabel(what)
    _logarithmic(ax)
    _curves(ax, solutions, colors, {m: _largest_so_far(np.abs(getattr(s, name))) for m, s in solutions.items()})


def _largest_so_far(values: np.ndarray) -> np.ndarray:
    return np.maximum.accumulate(np.maximum(values.max(axis=1), FLOOR))


def _energy(ax: Axes, solutions: dict[str, Solution], colors: dict[str, str], _: int) -> None:
    _title(ax, "total energy")
    ax.set_ylabel("E  [J]")
    _curves(ax, solutions, colors, {m: s.energy().total for m, s in solutions.items()})


def _cost(ax: Axes, solutions: dict[str, Solution], colors: dict[str, str]) -> None:
    _title(ax, "cost of a step")
    ax.set_xlabel("[µs]")
    for row, (method, s) in enumerate(solutions.items()):
        time = 1e6 * s.stats.time_per_step
        ax.barh(row, time, color=colors[method], height=0.3)
        text = f"{method}: {time:.3g} µs, {s.stats.mean_iterations.sum():.2f} iterations"
        ax.annotate(text, (0, row - 0.19), (3, 0), textcoords="offset points", fontsize=SMALL, color=INK, va="bottom")
    ax.set_yticks([])
    ax.set_ylim(len(solutions) - 0.6, -0.75)
    ax.grid(False, axis="y")
    ax.margins(x=0.05)


def plot_convergence(study: Convergence, quantity: str = "q") -> Figure:
    """Error over step, and error over cost, in time and in iterations: the lower and the more to the left, the better.

    >>> figure = plot_convergence(study, "u")    # doctest: +SKIP
    """
    figure = _page(study.system, f"reference: {study.reference}  ·  norm: {study.norm}", height=6.6)
    grid = figure.add_gridspec(1, 3, wspace=0.2)
    grid.update(left=0.06, right=0.985, top=0.74, bottom=0.11)
    titles = {"dt": "convergence", "wall_time": "work-precision: time", "iterations": "work-precision: iterations"}
    units = {
        "dt": r"$\Delta t$  [s]",
        "wall_time": "time of the run  [s]",
        "iterations": "Newton iterations of the run",
    }
    orders = study.orders(quantity)
    first: Axes | None = None
    for column, (name, title) in enumerate(titles.items()):
        ax = new_axes(figure.add_subplot(grid[column]), title=title, xlabel=units[name])
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(FuncFormatter(_short))
        _logarithmic(ax)
        ax.margins(x=0.06, y=0.06)
        if first is None:
            ax.set_ylabel(f"error of {label(quantity)}")
        else:
            ax.sharey(first)
        for k, method in enumerate(study.methods):
            runs = [run for run in study.of(method) if quantity in run.errors]
            x, y = [getattr(run, name) for run in runs], [max(run.errors[quantity], FLOOR) for run in runs]
            mark = {"marker": MARKERS[k % len(MARKERS)], "markersize": 6.5, "markeredgecolor": "white"}
            ax.plot(x, y, color=PALETTE[k % len(PALETTE)], linewidth=1.2 * LINE, **mark)  # type: ignore[arg-type]
        if name == "dt":
            _slopes(ax, study, quantity)
        first = first or ax
    entries = [
        Line2D([], [], color=PALETTE[k % len(PALETTE)], marker=MARKERS[k % len(MARKERS)], markersize=7, linewidth=2)
        for k in range(len(study.methods))
    ]
    texts = [m if np.isnan(orders[m]) else f"{m}: order {orders[m]:.2f}" for m in study.methods]
    figure.legend(
        entries, texts, loc="upper left", bbox_to_anchor=(0.005, 0.90), ncols=min(len(texts), 5), frameon=False,
        fontsize=NORMAL, labelcolor=INK, handlelength=1.8,
    )  # fmt: skip
    return figure


def _slopes(ax: Axes, study: Convergence, quantity: str) -> None:
    """Thin lines of the orders nearest to the observed ones, below the methods of that order."""
    lowest: dict[int, float] = {}
    dt = np.array(sorted({run.dt for run in study.runs if run.failure is None}, reverse=True))
    for method, order in study.orders(quantity).items():
        if not np.isnan(order) and round(order) > 0:
            steps, error = study.errors(method, quantity)
            constant = float((error / steps ** round(order)).min())
            lowest[round(order)] = min(constant, lowest.get(round(order), np.inf))
    for order, constant in lowest.items():
        line = 0.6 * constant * dt**order
        ax.plot(dt, line, color=SOFT, linewidth=0.9, linestyle=(0, (4, 3)))
        place = (dt[-1], line[-1])
        ax.annotate(f"order {order}", place, (8, -3), textcoords="offset points", fontsize=SMALL, color=SOFT, va="top")


def _short(value: float, _: int) -> str:
    """A number on a logarithmic axis: 20, 0.005, 2e-05 as powers where that is shorter."""
    if 1e-3 <= value < 1e4:
        return f"{value:g}"
    digits, power = f"{value:.0e}".split("e")
    return rf"${'' if digits == '1' else digits + chr(92) + 'cdot '}10^{{{int(power)}}}$"


def _title(ax: Axes, text: str) -> None:
    ax.set_title(text, loc="left", fontsize=NORMAL, color=INK, fontweight="bold")


def _logarithmic(ax: Axes) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())


def _page(title: str, details: str, height: float = 9.0) -> Figure:
    figure = Figure(figsize=(16.0, height))
    figure.suptitle(title.replace("_", " "), x=0.01, y=1 - 0.13 / height, ha="left", va="top", fontsize=LARGE,
                    color=INK, fontweight="bold")  # fmt: skip
    figure.text(0.99, 1 - 0.2 / height, details, ha="right", va="top", fontsize=NORMAL, color=SOFT)
    return figure

"""Figures of the report: small panels, which stand below one another on a phone and side by side on a wide screen.

Colours that belong to the page (ink, grid, the palette) become CSS variables, so that a panel follows light and dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.papers.paper import PaperFigure
from stickslip.plots.style import GRID, INK, LINE, PALETTE, SMALL, SOFT, new_axes

WIDTH, HEIGHT = 4.6, 3.0  # inches: at this width a text of 10 points is readable on a phone
MOST_POINTS = 1500
VARIABLES = {color: f"var(--c{k})" for k, color in enumerate(PALETTE)} | {INK: "var(--ink)", GRID: "var(--grid)"}
# SOFT is the last colour of the palette too; both may follow the page in the same way.


def panel(title: str, *, xlabel: str = "t  [s]", ylabel: str = "", log: str = "", height: float = HEIGHT) -> Axes:
    """Axes on a figure of their own; log: "x", "y" or "xy" for logarithmic ones.

    >>> panel("energy", log="y").get_yscale()
    'log'
    """
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    ax = new_axes(figure.add_subplot(), title=title, xlabel=xlabel, ylabel=ylabel)
    ax.ticklabel_format(useMathText=False)  # parsing numbers as mathematics takes half of the time of a drawing
    for axis in log:
        getattr(ax, f"set_{axis}scale")("log")
    return ax


def twin(ax: Axes, ylabel: str) -> Axes:
    """Axes over the same time with a scale of their own at the right."""
    right = ax.twinx()
    right.set_ylabel(ylabel, fontsize=SMALL, color=SOFT)
    right.tick_params(colors=SOFT, labelsize=SMALL, length=3, width=0.8)
    for spine in right.spines.values():
        spine.set_visible(False)
    return right


def curve(
    ax: Axes, x: np.ndarray, y: np.ndarray, label: str = "", *, color: int | str | None = None, **style: Any
) -> None:
    """A curve; a long one is drawn by its extremes, which looks the same."""
    x, y = thinned(x, y)
    chosen = {} if color is None else {"color": PALETTE[color] if isinstance(color, int) else color}
    ax.plot(x, y, label=label, **({"linewidth": LINE} | chosen | style))


def thinned(x: np.ndarray, y: np.ndarray, most: int = MOST_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most about `most` points that draw the same picture: smallest and largest value of each of most/2 intervals.

    >>> x, y = thinned(np.arange(10_000.0), np.sin(np.arange(10_000)), most=100)
    >>> len(x), bool(y.max() > 0.999)
    (102, True)
    """
    if len(x) <= most:
        return x, y
    edges = np.linspace(0, len(x), most // 2 + 1).astype(int)
    spans = list(pairwise(edges.tolist()))
    kept = {0, len(x) - 1}
    kept.update(int(a + np.argmin(y[a:b])) for a, b in spans)
    kept.update(int(a + np.argmax(y[a:b])) for a, b in spans)
    index = np.array(sorted(kept))
    return x[index], y[index]


def orders(ax: Axes, dts: Sequence[float], levels: dict[int, float]) -> None:
    """Thin lines of the slopes that are asked for; each starts at the smallest step with the error given."""
    ends = np.array([min(dts), max(dts)])
    for order, level in levels.items():
        ax.plot(ends, level * (ends / ends[0]) ** order, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
        ax.annotate(
            f"order {order}",
            (ends[1], level * (ends[1] / ends[0]) ** order),
            color=SOFT,
            fontsize=SMALL - 2,
            ha="right",
        )


def drawing(ax: Axes, caption: str) -> PaperFigure:
    """The panel as part of the report; curves that have a label are named in a legend.

    >>> drawing(panel("gap"), "The gap over time").svg.startswith("<svg")
    True
    """
    figure = cast(Figure, ax.figure)
    if labels := ax.get_legend_handles_labels()[1]:
        # Below the axes, where it covers nothing; as many columns as fit, of about 7 points a letter.
        columns = max(1, min(len(labels), int(46 / (max(map(len, labels)) + 4)), 4))
        figure.set_figheight(figure.get_figheight() + 0.22 * -(-len(labels) // columns))
        style = {"fontsize": SMALL - 1, "labelcolor": INK, "handlelength": 1.4, "columnspacing": 1.2}
        figure.legend(loc="outside lower center", ncols=columns, frameon=False, borderaxespad=0.0, **style)
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": caption}):  # ids of clip paths: unique, repeatable
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="(?:figure|axes|patch|line2d|text|matplotlib\.axis|xtick|ytick|legend)_\d+"', "", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    for color, variable in VARIABLES.items():
        svg = svg.replace(color, variable)
    return PaperFigure(re.sub(r"\n\s*", "\n", svg), caption)

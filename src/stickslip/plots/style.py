"""How the figures look: one palette, one kind of axes, labels as mathematics. matplotlib's globals stay untouched."""

from __future__ import annotations

import re
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stickslip.errors import ResultFileError

# Nine hues that differ in lightness too, so that neighbours stay apart in print and for colour-blind readers.
PALETTE = ("#1f5a99", "#d9622b", "#2f8f6b", "#b0417a", "#7fb2dc", "#8a6a1f", "#6c5aa8", "#e3a63a", "#5b6670")
INK, SOFT, GRID = "#22272e", "#5b6670", "#e3e6ea"
LINE, SMALL, NORMAL, LARGE = 1.4, 10.0, 12.0, 19.0  # widths and font sizes in points

_GREEK = (
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|chi|psi|omega|"
    "Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega"
)
_SYMBOL = re.compile(rf"({_GREEK}|[A-Za-z])(?:_?(\d+)|_([A-Za-z]))?(_dot)?")


def new_axes(ax: Axes | None = None, *, title: str = "", ylabel: str = "", xlabel: str = "t  [s]") -> Axes:
    """`ax`, or the axes of a new figure, dressed in the library's style.

    >>> new_axes(title="gaps").get_title(loc="left")
    'gaps'
    """
    if ax is None:
        ax = Figure(figsize=(8.0, 3.2), layout="constrained").add_subplot()
    ax.set_prop_cycle(color=PALETTE)
    ax.set_axisbelow(True)
    ax.grid(True, color=GRID, linewidth=0.8)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(SOFT)
        spine.set_linewidth(0.8)
    ax.tick_params(colors=SOFT, labelsize=SMALL, length=3, width=0.8)
    ax.tick_params(which="minor", length=0)
    ax.ticklabel_format(scilimits=(-2, 4), useMathText=True)
    ax.yaxis.get_offset_text().set(fontsize=SMALL, color=SOFT, ha="right")
    ax.xaxis.set_major_locator(MaxNLocator(nbins=5))
    ax.margins(x=0.0)
    ax.set_title(title, loc="left", fontsize=NORMAL, color=INK, fontweight="bold")
    ax.set_xlabel(xlabel, fontsize=SMALL, color=SOFT)
    ax.set_ylabel(ylabel, fontsize=SMALL, color=SOFT)
    return ax


def legend(ax: Axes, markerscale: float = 1.0) -> None:
    """A legend right of the axes, where it cannot cover data.

    >>> ax = new_axes()
    >>> _ = ax.plot([0, 1], label="x")
    >>> legend(ax)
    """
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.03),
        borderaxespad=0.0,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        handlelength=1.2,
        handletextpad=0.5,
        labelspacing=0.3,
        markerscale=markerscale,
    )


def label(name: str) -> str:
    r"""A name as it is written in a paper: Greek letters, indices and dots as mathematics, other words as they are.

    >>> label("phi1"), label("x_dot"), label("crank.phi"), label("floor")
    ('$\\varphi_{1}$', '$\\dot{x}$', 'crank $\\varphi$', 'floor')
    """
    words = []
    for word in re.split(r"[. ]", name):
        match = _SYMBOL.fullmatch(word)
        if match is None:
            words.append(word.replace("_", " "))
            continue
        letter, number, index, dot = match.groups()
        index = number or index
        symbol = letter if len(letter) == 1 else rf"\{'varphi' if letter == 'phi' else letter}"
        symbol = rf"\dot{{{symbol}}}" if dot else symbol
        words.append(f"${symbol}_{{{index}}}$" if index else f"${symbol}$")
    return " ".join(words)


def save(figure: Figure, path: str | Path, dpi: int = 150) -> Path:
    """Write a figure in the format of the path's suffix (png, pdf, svg, ...); needs no display.

    >>> save(solution.plot(), "ball.pdf")    # doctest: +SKIP
    """
    path = Path(path)
    known = figure.canvas.get_supported_filetypes()
    if path.suffix[1:] not in known:
        raise ResultFileError(f"cannot draw {path}: end its name in one of {', '.join(f'.{end}' for end in known)}.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dpi, facecolor="white")
    except OSError as error:
        raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error
    return path


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """The figure, written to the path if there is one: what a method `plot` returns.

    >>> len(saved(new_axes().get_figure(), None).axes)
    1
    """
    if path is not None:
        save(figure, path)
    return figure

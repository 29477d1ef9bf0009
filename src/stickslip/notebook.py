"""What objects look like in notebooks: small pieces of HTML, in which every text is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from typing import Any

import numpy as np

WIDTH, HEIGHT = 220, 36  # of a sparkline, in pixels
MOST_POINTS = 440


class ShownAsText:
    """Base of objects that a notebook shows as they are printed."""

    def _repr_html_(self) -> str:
        return f'<pre style="line-height:1.25">{escape(str(self))}</pre>'


class ShownWithFigure(ShownAsText):
    """Base of studies, which a notebook shows as they are printed, with their figure below."""

    def _repr_html_(self) -> str:
        figure: Any = self.plot()  # type: ignore[attr-defined]
        picture = BytesIO()
        figure.savefig(picture, format="png", dpi=80)
        text = b64encode(picture.getvalue()).decode()
        return f'{super()._repr_html_()}<img alt="figure" style="max-width:100%" src="data:image/png;base64,{text}">'


def html_table(rows: Sequence[Sequence[Any]], header: Sequence[str] = (), more: int = 0) -> str:
    """Rows of a table; cells that are `Raw` are HTML already. `more` rows are not shown, and the table says so.

    >>> html_table([("a", "<b>")])
    '<table><tr><td style="text-align:left">a</td><td style="text-align:left">&lt;b&gt;</td></tr></table>'
    """
    cell = '<{0} style="text-align:left">{1}</{0}>'
    lines = ["".join(cell.format("th", escape(text)) for text in header)] if header else []
    lines += ["".join(cell.format("td", x if isinstance(x, Raw) else escape(str(x))) for x in row) for row in rows]
    if more > 0:
        lines.append(cell.format("td", f"and {more} more"))
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


class Raw(str):
    """Text that is HTML already."""


def folded(title: str, content: str, opened: bool = False) -> str:
    """Content under a title that opens and closes it."""
    return f"<details{' open' if opened else ''}><summary>{escape(title)}</summary>{content}</details>"


def sparkline(t: np.ndarray, values: np.ndarray) -> Raw:
    """A small curve over time; long ones keep the smallest and the largest value of each stretch, so spikes stay.

    >>> sparkline(np.array([0.0, 1.0]), np.array([0.0, 1.0])).startswith("<svg")
    True
    """
    keep = np.isfinite(values)
    t, values = t[keep], values[keep]
    if len(values) < 2 or t[-1] == t[0]:
        return Raw("")
    if len(values) > MOST_POINTS:
        pieces = np.array_split(np.arange(len(values)), MOST_POINTS // 2)
        chosen = sorted({int(i) for p in pieces for i in (p[values[p].argmin()], p[values[p].argmax()])})
        t, values = t[chosen], values[chosen]
    low, high = float(values.min()), float(values.max())
    span = high - low if high - low > 1e-12 * max(abs(low), abs(high)) else 1.0
    x = WIDTH * (t - t[0]) / (t[-1] - t[0])
    y = (HEIGHT - 4) * (1 - (values - low) / span) + 2
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return Raw(
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f'<polyline points="{points}" fill="none" stroke="#1f5a99" stroke-width="1.3"/></svg>'
    )

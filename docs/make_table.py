"""Writes the table of docs/schemes/README.md from the facts that the schemes declare."""

from __future__ import annotations

from pathlib import Path

import stickslip as ss

PAGE = Path(__file__).parent / "schemes" / "README.md"
MARK = "facts that the schemes declare -->\n"


def table() -> str:
    """One row per method."""
    rows = [
        "| method | order | in contact | slip turns | rolling | constraints on | contacts on | symmetric | variational "
        "| friction | qdot = B u |"
    ]
    rows.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    yes = {True: "yes", False: ""}
    for name in sorted(ss.METHODS):
        f = ss.METHODS[name]().facts
        order = "exact" if f.order is None else f.order
        levels = ", ".join(f.levels) or "none: drifts"
        words = [yes[f.symmetric], yes[f.variational], yes[f.friction], yes[f.general_kinematics]]
        slip = "" if not f.friction else order if f.order is None else f.sliding_order or 1
        orders = [order, f.contact_order or order, slip, f.rolling_order or order]
        cells = [f"[`{name}`]({name}.md)", *orders, levels, f.contact_level, *words]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    """The whole page, with the table made anew."""
    head, _ = PAGE.read_text(encoding="utf-8").split(MARK)
    return f"{head}{MARK}\n{table()}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""A system in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from stickslip.notebook import folded, html_table

if TYPE_CHECKING:
    from stickslip.model.system import System

MOST_ROWS = 30  # of a table


def system_html(system: System) -> str:
    """Counts, parts, coordinates with their initial values."""
    equations = system.equations()
    g = sum(c.value.numel() for e in equations for c in e.constraints + e.velocity_constraints)
    counts = [("coordinates", system.n_q), ("velocities", system.n_u), ("constraint equations", g)]
    counts += [("contacts", sum(len(e.contacts) for e in equations)), ("parameters", len(system.parameters))]
    parts = [(part.name, type(part).__name__, repr(part)) for part in system.parts[:MOST_ROWS]]
    names = [(n, x) for b in system.blocks for n, x in zip(b.q_names, b.q_units or [""] * len(b.q_names), strict=True)]
    start = [(n, f"{x:.6g}", unit) for (n, unit), x in zip(names, system.q_initial, strict=True)][:MOST_ROWS]
    html = f"<b>{escape(system.name)}</b>{html_table(counts)}"
    if parts:
        table = html_table(parts, ("name", "kind", "declared as"), len(system.parts) - len(parts))
        html += folded(f"{len(system.parts)} parts", table)
    table = html_table(start, ("coordinate", "initial", "unit"), len(names) - len(start))
    return html + folded(f"{len(names)} coordinates", table)

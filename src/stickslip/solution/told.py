"""A solution in words: its summary, and what a notebook shows of it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from stickslip.errors import StickslipError
from stickslip.notebook import folded, html_table, sparkline
from stickslip.solution.trajectory import Solution

SPARKLINES = 6  # of coordinates, in a notebook
FILM_HEIGHT = 420  # of the film in a notebook, in pixels


def summary(solution: Solution) -> str:
    """What matters about the run, as a few lines of text."""
    about, stats = solution.provenance, solution.stats
    lines = {
        "system": about.get("system", "unknown"),
        "method": about.get("method", "unknown") + _options_text(about.get("options")),
        "steps": f"{stats.steps}" + (f" of dt = {about['dt']:g}" if "dt" in about else ""),
    }
    if about.get("parameters"):
        lines["parameters"] = ", ".join(f"{key} = {_value_text(value)}" for key, value in about["parameters"].items())
    if len(solution):
        lines["time"] = f"{solution.t[0]:g} to {solution.t[-1]:g}"
    if not solution.complete:
        lines["incomplete"] = about.get("interrupted") or "the run did not reach its end time"
    lines["wall time"] = f"{stats.wall_time:.3g} s, {1e6 * stats.time_per_step:.3g} us per step"
    for stage, mean, most in zip(stats.stages, stats.mean_iterations, stats.max_iterations, strict=True):
        lines[f"iterations, {stage.replace('_', ' ')}"] = f"{mean:.3g} on average, {most} at most"
    if stats.residuals.size:
        lines["largest residual"] = f"{stats.residuals.max():.1e}"
    if (gap := solution.smallest_gap()) is not None:
        lines["smallest gap"] = f"{gap[0]:.1e} ({gap[1]})"
    if solution.holds("P_N") and (solution.P_N.size or solution.contacts is not None) and len(solution) > 1:
        touching: np.ndarray = np.any(solution.P_N > 0, axis=1, keepdims=True)[:, 0]
        if (found := solution.contacts) is not None:
            touching[found.row[found.P_N > 0]] = True
        lines["steps in contact"] = f"{100 * np.mean(touching[1:]):.3g} %"
    if (found := solution.contacts) is not None and len(found):
        lines["detected contacts"] = f"{found.most()} at most that carry something at the same time"
    for label in ("g", "g_dot", "gamma"):
        if solution.holds(label) and getattr(solution, label).size:
            lines[f"largest |{label}|"] = f"{np.abs(getattr(solution, label)).max():.1e}"
    if len(solution) and solution.holds("kinetic", "potential"):
        total = solution.energy().total
        lines["energy"] = f"{total[0]:.6g} at the start, {total[-1]:.6g} at the end"
    width = max(map(len, lines))
    return "\n".join(f"{label:{width}}  {text}" for label, text in lines.items())


def html(solution: Solution) -> str:
    """The film, small curves, and the summary."""
    lines = [line.partition("  ") for line in summary(solution).splitlines()]
    q, names = solution.q, solution.names.q
    some = solution.holds("q") and q.size
    moves = np.argsort(-np.ptp(q, axis=0), kind="stable")[:SPARKLINES].tolist() if some else []
    rows = [(names[k], sparkline(solution.t, q[:, k]), f"{q[-1, k]:.4g}") for k in sorted(moves)]
    if len(solution) and solution.holds("kinetic", "potential"):
        total = solution.energy().total
        rows.append(("energy.total", sparkline(solution.t, total), f"{total[-1]:.4g}"))
    curves = html_table(rows, ("quantity", "over time", "at the end"))
    text = html_table([(label, text.strip()) for label, _, text in lines])
    return f"<b>{escape(repr(solution))}</b>{_film(solution)}{folded('curves', curves, True)}{folded('summary', text)}"


def _film(solution: Solution) -> str:
    """The page of the solution as a frame; nothing where there is nothing to draw, for a notebook must show the rest."""
    from stickslip.viewer import embedded

    try:
        return embedded(solution, height=FILM_HEIGHT, light=True)
    except StickslipError:
        return ""


def _options_text(options: dict[str, Any] | None) -> str:
    return f" ({', '.join(f'{key} = {_value_text(value)}' for key, value in options.items())})" if options else ""


def _value_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Film and curves of a solution, put as data into the page `page.html`, which draws them."""

from __future__ import annotations

import base64
import json
import re
import webbrowser
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.errors import ResultFileError
from stickslip.filming import FRAMES, mean_forces
from stickslip.plots.panels import MOST_LINES
from stickslip.scene import Scene, film
from stickslip.shapes import Drawing
from stickslip.solution import Solution

BUDGET = 450_000  # numbers of a film, four bytes each and a third more as text: 2.4 MB
FEWEST = 60  # frames of a film, however many shapes it has


def view(
    solution: Solution,
    drawing: Drawing | None = None,
    path: str | Path | None = None,
    *,
    t_start: float | None = None,
    t_end: float | None = None,
    open_browser: bool = False,
) -> Path:
    """Write the page of a solution and return its path: by default the system's name with .html, in this folder.

    >>> view(solution, path="crank.html", open_browser=True)    # doctest: +SKIP
    """
    path = Path(f"{_slug(solution)}.html" if path is None else path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ResultFileError(f"cannot write {path}: end its name in .html; `stickslip.plots.animate` makes GIFs.")
    text = page(solution, drawing, t_start=t_start, t_end=t_end)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error
    if open_browser:
        webbrowser.open(path.resolve().as_uri())
    return path


def page(
    solution: Solution, drawing: Drawing | None = None, *, t_start: float | None = None, t_end: float | None = None
) -> str:
    """The page as text.

    >>> page(solution).startswith("<!doctype html>")    # doctest: +SKIP
    True
    """
    few = film(solution, drawing, frames=8, t_start=t_start, t_end=t_end)  # enough to see how many points move
    moving = sum(track.points[0].size for track in few.tracks if len(track.points) > 1)
    frames = min(FRAMES, max(FEWEST, BUDGET // max(moving, 1)))
    scene = film(solution, drawing, frames=frames, t_start=t_start, t_end=t_end)
    about = solution.provenance
    details = [str(about["method"])] if "method" in about else []
    details += [f"dt = {about['dt']:g} s"] if "dt" in about else []
    details += [scene.note] if scene.note else []
    title = str(about.get("system", "solution"))
    data = {"title": title, "details": details, **_film(scene), "panels": _panels(solution, scene)}
    # "<" would end the script that holds the data; as an escape it cannot.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    template = files("stickslip.viewer").joinpath("page.html").read_text(encoding="utf-8")
    return template.replace("{{title}}", escape(title)).replace("{{film}}", text)


def _film(scene: Scene) -> dict[str, Any]:
    tracks = []
    for track in scene.tracks:
        look = dict(track.look)
        if track.kind == "touch":
            look["contact"] = scene.contacts.index(look["contact"])
        tracks.append({"kind": track.kind, "count": track.points.shape[1], **look, "points": packed(track.points)})
    return {"t": packed(scene.t, np.float64), "bounds": scene.bounds, "tracks": tracks, "glow": packed(scene.glow)}


def _panels(solution: Solution, scene: Scene) -> list[dict[str, Any]]:
    """Small plots over time, one value a frame."""
    rows, names, energy = scene.rows, solution.names, solution.energy()
    energies = {"kinetic": energy.kinetic, "potential": energy.potential, "total": energy.total}
    panels = [_panel("energies", "J", {name: values[rows] for name, values in energies.items()})]
    if names.contacts:
        force = mean_forces(solution.t, solution.P_N, rows)
        panels.insert(0, _panel("gaps", "m", _columns(names.contacts, solution.gap[rows])))
        panels.insert(1, _panel("normal forces, mean over a frame", "N", _columns(names.contacts, force)))
    else:
        panels.insert(0, _panel("coordinates", "", _columns(names.q, solution.q[rows])))
    return panels


def _columns(names: tuple[str, ...], values: np.ndarray) -> dict[str, np.ndarray]:
    return {name: values[:, k] for k, name in enumerate(names[:MOST_LINES])}


def _panel(title: str, unit: str, lines: dict[str, np.ndarray]) -> dict[str, Any]:
    return {
        "title": title,
        "unit": unit,
        "lines": [{"name": name, "values": packed(values)} for name, values in lines.items()],
    }


def packed(values: np.ndarray, dtype: Any = np.float32) -> str:
    """Numbers as text, which a browser turns into a typed array without parsing.

    >>> np.frombuffer(base64.b64decode(packed(np.array([1.5, -2.0]))), np.float32)
    array([ 1.5, -2. ], dtype=float32)
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode()


def _slug(solution: Solution) -> str:
    name = solution.provenance.get("system", "solution")
    return re.sub(r"\W+", "_", name).strip("_").lower() or "solution"

"""The page of a solution: film and curves as data, put into one HTML file with everything that draws them."""

from __future__ import annotations

import base64
import json
import re
import webbrowser
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.errors import OptionError, ResultFileError
from stickslip.filming import FRAMES, IMPACT_FRAMES, Film, shoot
from stickslip.shapes import Drawing
from stickslip.solution import Solution
from stickslip.viewer.curves import curves

BUDGET = 1_500_000  # numbers of a film: 6 MB, a third more as text
FEWEST = 60  # frames of a film, however many bodies it has
LIGHT = 200  # frames of a light page
COARSE = 300  # from so many bodies on, poses are stored with 16 bits, exact to 1/65535 of the picture
PIECES = ("style.css", "vendor/uplot.min.css", "vendor/vendor.min.js", "stage.js", "curves.js", "page.js")


def view(
    solution: Solution,
    drawing: Drawing | None = None,
    path: str | Path | None = None,
    *,
    overlay: Solution | None = None,
    quantities: Sequence[str] | None = None,
    t_start: float | None = None,
    t_end: float | None = None,
    open_browser: bool = False,
) -> Path:
    """Write the page of a solution and return its path: by default the system's name with .html, in this folder.

    overlay: a second solution, such as the same run by another scheme, that is drawn into the same picture.
    quantities: names as in `solution[...]` whose curves are open at first; others can be chosen in the page.

    >>> view(solution, path="crank.html", open_browser=True)    # doctest: +SKIP
    """
    path = Path(f"{_slug(solution)}.html" if path is None else path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ResultFileError(
            f"cannot write {path}: end its name in .html; `stickslip.plots.animate` makes GIF and MP4 films."
        )
    text = page(solution, drawing, overlay=overlay, quantities=quantities, t_start=t_start, t_end=t_end)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error
    if open_browser:
        webbrowser.open(path.resolve().as_uri())
    return path


def page(
    solution: Solution,
    drawing: Drawing | None = None,
    *,
    overlay: Solution | None = None,
    quantities: Sequence[str] | None = None,
    t_start: float | None = None,
    t_end: float | None = None,
    light: bool = False,
) -> str:
    """The page as text; options as of `view`.

    light: a smaller page for a cell of a notebook, with fewer frames and only the curves that are open at first.

    >>> page(solution).startswith("<!doctype html>")    # doctest: +SKIP
    True
    """
    film = _film(solution, drawing, t_start, t_end, light)
    films, runs = [film], [solution]
    if overlay is not None:
        if not isinstance(overlay, Solution):
            raise OptionError(f"overlay = {overlay!r} must be a Solution")
        films.append(_film(overlay, drawing, t_start, t_end, light))
        runs.append(overlay)
    low, high = (np.stack([getattr(f, side) for f in films]) for side in ("low", "high"))
    data = {
        "title": _title(solution),
        "details": _details(solution, film),
        "planar": all(f.planar for f in films),
        "camera": film.camera,
        "up": film.up.tolist(),
        "low": low.min(axis=0).tolist(),
        "high": high.max(axis=0).tolist(),
        "symbol": max(f.symbol for f in films),
        "runs": [_run(f, s, runs) for f, s in zip(films, runs, strict=True)],
        "curves": curves(runs, quantities, float(film.t[0]), float(film.t[-1]), light),
    }
    # "<" would end the script that holds the data; as an escape it cannot.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=_plain).replace("<", "\\u003c")
    folder = files("stickslip.viewer")
    pieces = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in PIECES}
    pieces |= {"title": escape(data["title"]), "data": text}
    template = folder.joinpath("page.html").read_text(encoding="utf-8")
    # In one pass, so that braces in what is put in mean nothing.
    return re.sub(r"\{\{([\w./]+)\}\}", lambda match: pieces[match[1]], template)


def embedded(solution: Solution, drawing: Drawing | None = None, *, height: int = 480, **options: Any) -> str:
    """The page as a frame in HTML, for notebooks: `IPython.display.HTML(embedded(solution))`; options as of `page`.

    >>> embedded(solution).startswith("<iframe")    # doctest: +SKIP
    True
    """
    text = escape(page(solution, drawing, **options), quote=True)
    # Scripts run in the frame, but see neither the notebook nor its cookies.
    return (
        f'<iframe srcdoc="{text}" loading="lazy" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {int(height)}px; border: 0"></iframe>'
    )


def _film(
    solution: Solution, drawing: Drawing | None, t_start: float | None, t_end: float | None, light: bool = False
) -> Film:
    """As many frames as fit into the budget."""
    few = shoot(solution, drawing, frames=8, t_start=t_start, t_end=t_end)  # enough to see how many points move
    moving = sum(p[0].size for p in few.poses if len(p) > 1) + sum(
        trace.points[0].size for trace in few.traces if len(trace.points) > 1
    )
    frames = min(LIGHT if light else FRAMES, max(FEWEST, BUDGET // (10 if light else 1) // max(moving, 1)))
    more = min(IMPACT_FRAMES, frames)
    return shoot(solution, drawing, frames=frames, impact_frames=more, t_start=t_start, t_end=t_end)


def _title(solution: Solution) -> str:
    return str(solution.provenance.get("system", "solution"))


def _details(solution: Solution, film: Film) -> list[str]:
    about = solution.provenance
    details = [str(about["method"])] if "method" in about else []
    details += [f"dt = {about['dt']:g} s"] if "dt" in about else []
    return details + ([film.note] if film.note else [])


def _run(film: Film, solution: Solution, runs: list[Solution]) -> dict[str, Any]:
    about = solution.provenance
    name = str(about.get("method", "run"))
    if len(runs) > 1 and len({str(s.provenance.get("method")) for s in runs}) == 1:
        changed = about.get("parameters") or {}
        name = ", ".join(f"{k} = {v:g}" for k, v in changed.items()) or f"dt = {about.get('dt', 0):g} s"
    moving = [k for k, pose in enumerate(film.poses) if len(pose) > 1]
    poses = np.stack([film.poses[k] for k in moving], axis=1) if moving else np.zeros((len(film), 0, 7))
    coarse = len(moving) > COARSE
    return {
        "name": name,
        "t": packed(film.t, np.float64),
        "bodies": list(film.bodies),
        "moving": moving,
        "still": {str(k): pose[0].tolist() for k, pose in enumerate(film.poses) if len(pose) == 1},
        "coarse": coarse,
        "places": rounded(poses[..., :3], film.low, film.high) if coarse else packed(poses[..., :3]),
        "turns": rounded(poses[..., 3:], -np.ones(4), np.ones(4)) if coarse else packed(poses[..., 3:]),
        "low": film.low.tolist(),
        "high": film.high.tolist(),
        "solids": [
            {"kind": s.kind, "body": s.body, "at": s.at.tolist(), "turn": s.turn.tolist(), **s.look}
            for s in film.solids
        ],
        "traces": [
            {"kind": t.kind, "count": t.points.shape[1], **_safe(t.look), "points": packed(t.points)}
            for t in film.traces
        ],
        "spots": _spots(film),
        "impacts": packed(_thinned(film.impacts), np.float64),
        "impactCount": len(film.impacts),
    }


def _safe(look: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in look.items() if k not in ("kind", "count", "points")}


def _thinned(times: np.ndarray, most: int = 4000) -> np.ndarray:
    """Times of impacts as marks of the time line: more than it has pixels are told apart by nobody."""
    return times if len(times) <= most else times[np.linspace(0, len(times) - 1, most).round().astype(int)]


def _spots(film: Film) -> dict[str, Any]:
    """Contacts that carry something, declared and detected ones, frame by frame: `start` is where those of a frame begin."""
    spots, more = film.spots, film.detected
    frame, contact = np.nonzero((spots.states > 0) & np.isfinite(spots.places).all(axis=-1))
    forces = spots.forces[frame, contact]
    frames = np.concatenate([frame, more.frame])
    order = np.argsort(frames, kind="stable")
    arrays = {
        "places": (spots.places[frame, contact], more.places),
        "forces": (np.where(np.isfinite(forces), forces, 0.0), more.forces),
        "strength": (spots.strength[frame, contact], more.strength),
    }
    return {
        "names": list(spots.names),
        "start": packed(np.searchsorted(frames[order], np.arange(len(film) + 1)), np.uint32),
        **{name: packed(np.concatenate(pair)[order]) for name, pair in arrays.items()},
        "states": packed(np.concatenate([spots.states[frame, contact], more.states])[order], np.uint8),
    }


def packed(values: np.ndarray, dtype: Any = np.float32) -> str:
    """Numbers as text, which a browser turns into a typed array without parsing.

    >>> np.frombuffer(base64.b64decode(packed(np.array([1.5, -2.0]))), np.float32)
    array([ 1.5, -2. ], dtype=float32)
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode()


def rounded(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    """Numbers between bounds, each with 16 bits."""
    span = np.where(high > low, high - low, 1.0)
    return packed(np.clip(np.round((values - low) / span * 65535), 0, 65535), np.uint16)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be put into a page")


def _slug(solution: Solution) -> str:
    name = solution.provenance.get("system", "solution")
    return re.sub(r"\W+", "_", name).strip("_").lower() or "solution"

"""From a solution to its film: which moments, which look or drawing."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.analysis.events import contact_states
from stickslip.errors import OptionError, unknown_name
from stickslip.filming.build import build
from stickslip.filming.film import Film
from stickslip.filming.gather import Gathered
from stickslip.shapes import DRAWINGS, Drawing
from stickslip.solution import Solution
from stickslip.touching import detected_states

FRAMES = 600  # ten seconds at sixty per second
IMPACT_FRAMES = 600  # in addition, for impacts; the strongest ones if there are more


def drawing_of(solution: Solution) -> Drawing | None:
    """The drawing that the solution's system has; None where its parts show themselves.

    >>> import stickslip as ss
    >>> drawing_of(ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.01, dt=1e-3)).name
    'bouncing_ball'
    """
    about = solution.provenance
    remembered = about.get("drawing")
    if remembered is None:
        if seen(about.get("look")):
            return None
        raise OptionError(
            f"{about.get('system', 'this system')!r} has nothing to draw: no parts, and no shapes. Name points, lines and "
            "solids in its symbols before solving it, `system.show(...)`, or pass a drawing: `solution.view(drawing)`; "
            "docs/viewing.md shows how."
        )
    if remembered["name"] not in DRAWINGS:
        if seen(about.get("look")):
            return None
        text = unknown_name("drawing", remembered["name"], DRAWINGS)
        raise OptionError(f"{text}. Import the module that defines it, or pass it: `solution.view(drawing)`.")
    return DRAWINGS[remembered["name"]]


def seen(look: dict[str, Any] | None) -> bool:
    """Whether a look shows anything."""
    if look is not None and "error" in look:
        raise OptionError(f"the parts could not be drawn: {look['error']}. Pass a drawing: `solution.view(drawing)`.")
    return look is not None and bool(look["bodies"] or look["tracks"])


def shoot(
    solution: Solution,
    drawing: Drawing | None = None,
    *,
    frames: int = FRAMES,
    impact_frames: int = 0,
    t_start: float | None = None,
    t_end: float | None = None,
) -> Film:
    """Film a solution: up to `frames` moments, evenly in time, and `impact_frames` more where impacts are.

    Every frame is a state of the solution and not an interpolation; percussions between two frames belong to the
    second. A drawing replaces what the parts show, unless it is made with `adds=True`.

    >>> import stickslip as ss
    >>> s = ss.System("throw")
    >>> ball = s.add(ss.PointMass("ball", mass=1, position=[0, 1], velocity=[1, 1]))
    >>> film = shoot(ss.solve(s, t_end=0.1, dt=1e-2))
    >>> film.bodies, [solid.kind for solid in film.solids], film.poses[0].shape
    (('ball',), ['knob'], (11, 7))
    """
    drawing = drawing or drawing_of(solution)
    states = contact_states(solution)
    rows = moments(solution.t, None if drawing is None else drawing.span, frames, t_start, t_end)
    strength = strokes(solution, states)
    struck = np.flatnonzero(strength)
    struck = struck[(struck >= rows[0]) & (struck <= rows[-1])]
    if impact_frames:
        strongest = struck
        if len(struck) > impact_frames:
            order = np.argsort(-strength[struck], kind="stable")
            strongest = struck[order[:impact_frames]]
        rows = np.unique(np.concatenate([rows, strongest, np.maximum(strongest - 1, rows[0])]))
    found = Gathered(solution, rows)
    look = solution.provenance.get("look")
    if look is not None and (drawing is None or drawing.adds):
        found.look(look)
    if drawing is not None:
        found.drawing(drawing)
    return build(found, drawing, states, solution.t[struck])


def strokes(solution: Solution, states: np.ndarray) -> np.ndarray:
    """The strongest percussion of an impact in every row, of declared and of detected contacts; 0 where there is none."""
    out: np.ndarray = np.where(states == 3, solution.P_N, 0.0).max(axis=1, initial=0.0)
    _, found = detected_states(solution)
    if solution.contacts is not None:
        np.maximum.at(out, solution.contacts.row[found == 3], solution.contacts.P_N[found == 3])
    return out


def moments(t: np.ndarray, span: float | None, frames: int, t_start: float | None, t_end: float | None) -> np.ndarray:
    """Rows of a solution that are evenly spaced in time, as far as possible."""
    if frames < 1:
        raise OptionError(f"frames = {frames} must be at least 1")
    if not len(t):
        raise OptionError("the solution is empty: there is nothing to see")
    begin = t[0] if t_start is None else t_start
    end = t_end if t_end is not None else t[-1] if span is None else min(t[-1], begin + span)
    inside = np.flatnonzero((t >= begin - 1e-9 * abs(begin)) & (t <= end + 1e-9 * abs(end)))
    if not len(inside):
        raise OptionError(
            f"no state lies between t = {begin:g} and {end:g}; the solution has t = {t[0]:g} .. {t[-1]:g}"
        )
    first, last = inside[0], inside[-1]
    wanted = np.linspace(t[first], t[last], min(frames, len(inside)))
    after = np.clip(np.searchsorted(t, wanted), first, last)
    before = np.maximum(after - 1, first)
    return np.unique(np.where(t[after] - wanted <= wanted - t[before], after, before))

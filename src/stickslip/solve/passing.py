"""Declared contacts of round shapes that passed through each other: a warning that names them.

The gap of two balls is their distance less their radii. Where a step takes one past the middle of the other, it is positive
before and after, so no scheme sees anything (contacts that are detected look ahead, see `collide.fast`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.evaluate import evaluate
from stickslip.errors import TunnellingWarning
from stickslip.math import column
from stickslip.model.contacts import Contact
from stickslip.model.readings import Reading
from stickslip.model.system import System
from stickslip.solution import Solution
from stickslip.solve.prepared import Prepared

KEY = "ways between"
SLOW = 0.1  # of a radius: where no velocity takes a body farther in a step, nothing is looked at
MOST_ROWS = 2_000_000


def warn_of_passing(ready: Prepared, system: System, solution: Solution, values: Mapping[str, Any], dt: float) -> None:
    """Warn of the first pair, and say when. Rows that are several steps apart tell nothing."""
    if KEY not in ready.inputs:
        reading: Any = Reading(system)
        seen = [(part.name, part.way_between(reading)) for part in system.parts if isinstance(part, Contact)]
        ready.inputs[KEY] = [(name, ca.vertcat(column(each[0]), each[1])) for name, each in seen if each is not None]
    if not ready.inputs[KEY] or not solution.holds("q", "u") or not 2 <= len(solution) <= MOST_ROWS:
        return
    far = float(np.abs(solution.u).max(initial=0.0)) * dt
    step_by_step = np.diff(solution.t) < 1.5 * dt
    start = solution.t[:1], solution.q[:1], solution.u[:1]
    first = np.inf, ""
    for name, seen in ready.inputs[KEY]:
        if far < SLOW * float(evaluate(system, seen[-1], values, *start)[0, 0]):
            continue
        *way, radii = evaluate(system, seen, values, solution.t, solution.q, solution.u).T
        before, after = np.array(way)[:, :-1], np.array(way)[:, 1:]
        moved = after - before
        square = (moved**2).sum(axis=0)
        share = -(before * moved).sum(axis=0) / np.where(square > 0.0, square, 1.0)
        nearest = np.linalg.norm(before + share * moved, axis=0)
        passed = step_by_step & ((before * after).sum(axis=0) < 0.0) & (nearest < radii[1:])
        if passed.any():
            first = min(first, (float(solution.t[int(passed.argmax())]), name))
    if first[1]:
        warnings.warn(
            f"contact {first[1]!r}: at t = {first[0]:.6g} a step of {dt:g} took one shape through the other, and a contact "
            "that is declared does not see that. Take a smaller dt, or Collisions, which look ahead, with method='rattle'",
            TunnellingWarning,
            stacklevel=4,
        )

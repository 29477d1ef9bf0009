"""Angles in space are known only up to whole turns: a warning where a spring, a motor or a stop was taken past half a turn.

There the angle that such a part sees jumps from pi to -pi. Parts say themselves what they see (`half_turns`): the angle, its
rate, and by how much their force changes with a whole turn, which is nothing for a periodic law.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.evaluate import evaluate
from stickslip.errors import AngleWarning, warn
from stickslip.math import column
from stickslip.model.readings import Reading
from stickslip.model.system import System
from stickslip.solution import Solution
from stickslip.solve.prepared import Prepared

KEY = "half turns"
PERIODIC = 1e-9  # of a force: a change with a whole turn that counts as none
MOST_ROWS = 2_000_000


def warn_of_half_turns(ready: Prepared, system: System, solution: Solution, values: Mapping[str, Any]) -> None:
    """Warn of the first part whose angle has jumped, and say when."""
    if KEY not in ready.inputs:
        reading: Any = Reading(system)
        seen = [
            (part, each) for part in system.parts if hasattr(part, "half_turns") for each in part.half_turns(reading)
        ]
        ready.inputs[KEY] = [
            (f"{type(part).__name__} {part.name!r}", ca.vertcat(*map(column, each))) for part, each in seen
        ]
    if not ready.inputs[KEY] or not solution.holds("q", "u") or not 2 <= len(solution) <= MOST_ROWS:
        return
    first = np.inf, ""
    for name, seen in ready.inputs[KEY]:
        angle, rate, change, size = evaluate(system, seen, values, solution.t, solution.q, solution.u).T
        turned = np.diff(solution.t) * (rate[1:] + rate[:-1]) / 2  # rows may be several steps apart
        jumps = (np.abs(np.diff(angle) - turned) > np.pi) & (np.abs(change[1:]) > PERIODIC * np.sqrt(size[1:]))
        if jumps.any():
            first = min(first, (float(solution.t[1 + int(jumps.argmax())]), name))
    if first[1]:
        warn(
            f"{first[1]}: its angle passes half a turn at t = {first[0]:.6g}. In space an angle is known only between -pi and "
            "pi: the force jumps there, and the motion after it is not that of a spring or stop that counts turns, as those in "
            "the plane do",
            AngleWarning,
        )

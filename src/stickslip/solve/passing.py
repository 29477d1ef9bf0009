"""Declared contacts of round shapes that passed through each other: a warning that names them.

The gap of two balls is their distance less their radii. Where a step takes one past the middle of the other, it is positive
before and after, so no scheme sees anything (contacts that are detected look ahead, see `collide.fast`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import casadi as ca
import numpy as np

from stickslip.engine.evaluate import RowEvaluation
from stickslip.errors import TunnellingWarning, warn
from stickslip.math import column
from stickslip.model.contacts import Contact
from stickslip.model.readings import Reading
from stickslip.model.system import System
from stickslip.solution import Solution
from stickslip.solve.prepared import Prepared

PAIRS, WAYS = "round pairs", "ways between"  # what is kept with a model
SLOW = 0.1  # of the radii: where no velocity takes two bodies farther in a step, nothing is looked at
MOST_ROWS = 2_000_000
TOGETHER = 50  # pairs that are evaluated at once


class RoundPairs(NamedTuple):
    """Declared contacts that could pass, their radii, and where the velocities of the two bodies begin and end."""

    contacts: list[Contact]
    radii: np.ndarray
    columns: np.ndarray


def warn_of_passing(ready: Prepared, system: System, solution: Solution, values: Mapping[str, Any], dt: float) -> None:
    """Warn of the first pair, and say when. Rows that are several steps apart tell nothing."""
    if PAIRS not in ready.inputs:
        ready.inputs[PAIRS] = _round_pairs(system)
    pairs: RoundPairs = ready.inputs[PAIRS]
    if not pairs.contacts or not solution.holds("q", "u") or not 2 <= len(solution) <= MOST_ROWS:
        return
    fast = _fast(pairs, np.abs(solution.u).max(axis=0) * dt)
    if not fast.size:
        return
    step_by_step, first = np.diff(solution.t) < 1.5 * dt, (np.inf, "")
    for begin in np.unique(fast // TOGETHER * TOGETHER).tolist():
        some = pairs.contacts[begin : begin + TOGETHER]
        for contact, (*way, radii) in zip(some, _ways(ready, system, solution, values, begin, some), strict=True):
            before, after = np.array(way)[:, :-1], np.array(way)[:, 1:]
            moved = after - before
            square = (moved**2).sum(axis=0)
            share = -(before * moved).sum(axis=0) / np.where(square > 0.0, square, 1.0)
            nearest = np.linalg.norm(before + share * moved, axis=0)
            passed = step_by_step & ((before * after).sum(axis=0) < 0.0) & (nearest < radii[1:])
            if passed.any():
                first = min(first, (float(solution.t[int(passed.argmax())]), contact.name))
    if first[1]:
        warn(
            f"contact {first[1]!r}: at t = {first[0]:.6g} a step of {dt:g} took one shape through the other, and a contact "
            "that is declared does not see that. Take a smaller dt, or Collisions, which look ahead, with method='rattle'",
            TunnellingWarning,
        )


def _round_pairs(system: System) -> RoundPairs:
    """Without symbols: there may be thousands. A radius that is not a number counts as zero, so such pairs are looked at."""
    starts = [int(first) for first in system.starts["u"]]
    where = {block.name: (first, first + block.u.numel()) for block, first in zip(system.blocks, starts, strict=False)}
    contacts, radii, columns = [], [], []
    for part in system.parts:
        if not isinstance(part, Contact) or part.round_shapes is None:
            continue
        own = [getattr(shape, "radius", 0.0) for shape in part.round_shapes]
        bodies = [shape.body.name for shape in part.round_shapes]
        contacts.append(part)
        radii.append(sum(own) if all(isinstance(x, (int, float)) for x in own) else 0.0)
        columns.append([where.get(name, (0, 0)) for name in bodies])
    return RoundPairs(contacts, np.array(radii, float), np.array(columns, int).reshape(-1, 2, 2))


def _fast(pairs: RoundPairs, far: np.ndarray) -> np.ndarray:
    """Which pairs move far enough in a step; far: of each velocity."""
    ways = {
        tuple(each): far[each[0] : each[1]].max(initial=0.0) for each in np.unique(pairs.columns.reshape(-1, 2), axis=0)
    }
    both = np.array([ways[tuple(a)] + ways[tuple(b)] for a, b in pairs.columns])
    return np.flatnonzero(both >= SLOW * pairs.radii)


def _ways(
    ready: Prepared, system: System, solution: Solution, values: Mapping[str, Any], begin: int, contacts: list[Contact]
) -> list[np.ndarray]:
    """For each pair, the vector between its shapes and its radii, by rows of the solution; they are the ones from `begin`."""
    known = ready.inputs.setdefault(WAYS, {})
    if begin not in known:
        reading = cast(Any, Reading(system))
        ways: list[Any] = [each.way_between(reading) or ([], 0.0) for each in contacts]
        columns = [ca.vertcat(column(way), radii) for way, radii in ways]
        known[begin] = RowEvaluation(system, ca.vertcat(*columns)), np.cumsum([each.numel() for each in columns])[:-1]
    evaluation, ends = known[begin]
    return np.split(evaluation(values, solution.t, solution.q, solution.u).T, ends)

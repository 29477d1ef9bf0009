"""Enumeration of modes: every combination of open, stick and slip of few planar contacts, tried one after the other.

In the plane each mode is a set of linear equations and inequalities, so the search is complete: it finds a solution if there
is one, and proves that there is none where no mode has one. A mode whose equations are dependent (redundant
contacts) has many candidates; whether one of them obeys the inequalities is a linear program. It is a proof only where rounding
errors cannot turn a mode that fails into one that holds.

Multipliers and velocities have unit scale, r sqrt(w) and u/sqrt(w) with the Delassus diagonal w, and each row is held against
its own free velocity there: light and heavy contacts stand side by side, in any units.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from stickslip.nonsmooth.cones import BALL, CONE, NORMAL, ZERO
from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.measure import Scales

MOST_MODES = 20_000
# Singular values relative to the largest. Redundant contacts make some that are zero but for rounding (of the sums that W was
# made of); below NOTHING they are, and between both nobody knows.
RANK, NOTHING = 1e-10, 1e-14
SMALL = 1e-9  # relative error of a row
ROUNDED = 1e-15  # relative error of a sum


def mode_count(laws: Laws) -> int:
    """How many modes there are; 0 where friction is not planar or has a cone of its own, so that modes are not linear."""
    if (laws.size[laws.kind == BALL] > 1).any() or (laws.kind == CONE).any():
        return 0
    count = 1
    for e in range(laws.element.size - 1):
        count = min(count * len(_choices(laws, e)), 10**9)
    return count


def _choices(laws: Laws, e: int) -> list[tuple[str, ...]]:
    """Modes of the blocks of one element; a ball without reservoir has none of its own."""
    blocks = range(laws.element[e], laws.element[e + 1])
    options = [{ZERO: ("closed",), NORMAL: ("open", "closed"), BALL: ("stick", "+", "-")}[laws.kind[b]] for b in blocks]
    modes = []
    for mode in itertools.product(*options):
        is_open = "open" in mode
        fixed = tuple("none" if is_open and laws.kind[b] == BALL and laws.normal[b] >= 0 and laws.radius[b] == 0 else m
                      for b, m in zip(blocks, mode, strict=True))  # fmt: skip
        if fixed not in modes:
            modes.append(fixed)
    return modes


class Search(NamedTuple):
    """Multipliers of the first mode that holds, or None if none does; how many were tried; whether none can hold."""

    found: np.ndarray | None
    tried: int
    proved: bool


def enumerate_modes(laws: Laws, W: np.ndarray, q: np.ndarray, scales: Scales) -> Search:
    """Try all modes, until one holds."""
    root = np.sqrt(scales.weight)
    A, c, unit = W / root[:, None] / root, q / root, scales.scale / root
    tried, proved = 0, True
    for combination in itertools.product(*[_choices(laws, e) for e in range(laws.element.size - 1)]):
        tried += 1
        conditions = _mode(laws, A, c, [m for element in combination for m in element], root, unit)
        r, fails = _solve(conditions)
        if r is not None:
            return Search(r / root, tried, False)
        proved = proved and fails
    return Search(None, tried, proved)


class Conditions(NamedTuple):
    """E r = e (equations) and K r >= k (inequalities) of one mode; units of the rows of both."""

    E: np.ndarray
    e: np.ndarray
    unit: np.ndarray
    K: np.ndarray
    k: np.ndarray
    K_unit: np.ndarray


def _mode(laws: Laws, A: np.ndarray, c: np.ndarray, mode: list[str], root: np.ndarray, unit: np.ndarray) -> Conditions:
    n, one = c.size, np.eye(c.size)
    E, e, K, k, of = np.zeros((n, n)), np.zeros(n), [], [], []
    for b, m in enumerate(mode):
        i = laws.start[b]
        if laws.kind[b] == ZERO:
            rows = slice(i, i + laws.size[b])
            E[rows], e[rows] = A[rows], -c[rows]
        elif m in ("open", "none"):
            E[i] = one[i]
            if m == "open":
                K.append(A[i])
                k.append(-c[i])
                of.append(i)
        elif m == "closed":
            E[i], e[i] = A[i], -c[i]
            K.append(one[i])
            k.append(0.0)
            of.append(i)
        else:
            radius, bound = np.zeros(n), laws.radius[b] * root[i]  # radius = bound + radius . r
            if laws.normal[b] >= 0:
                radius[laws.normal[b]] = laws.mu[b] * root[i] / root[laws.normal[b]]
            if m == "stick":
                E[i], e[i] = A[i], -c[i]
                K += [radius - one[i], radius + one[i]]
                k += [-bound, -bound]
                of += [i, i]
            else:  # slip in the direction of the sign: r = -sign radius
                sign = 1.0 if m == "+" else -1.0
                E[i], e[i] = one[i] + sign * radius, -sign * bound
                K.append(sign * A[i])
                k.append(-sign * c[i])
                of.append(i)
    return Conditions(E, e, unit, np.array(K).reshape(-1, n), np.array(k), unit[np.array(of, int)])


def _solve(conditions: Conditions) -> tuple[np.ndarray | None, bool]:
    """Multipliers of a mode that holds, or None; and whether it surely fails."""
    r, _, rank, sizes = np.linalg.lstsq(conditions.E, conditions.e, rcond=RANK)
    held, fails = _hold(conditions, r, int(rank), sizes)
    unclear = (sizes > NOTHING * sizes.max(initial=0.0)).sum() > rank
    if held is not None or not unclear:
        return held, fails
    r, _, rank, sizes = np.linalg.lstsq(conditions.E, conditions.e, rcond=NOTHING)
    return _hold(conditions, r, int(rank), sizes)[0], False


def _hold(conditions: Conditions, r: np.ndarray, rank: int, sizes: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """The same from the solution r of the equations, whose matrix has this rank and these singular values."""
    E, e, unit, K, k, K_unit = conditions
    n = e.size
    # of r, from the rounding of E and e
    error = ROUNDED * n * np.linalg.norm(r) * (sizes[0] / sizes[rank - 1] if rank else 1.0)
    off = np.abs(E @ r - e)
    if (off > 10 * SMALL * unit).any():
        return None, bool((off > 10 * SMALL * unit + np.linalg.norm(E, axis=1) * error).any())
    slack = K @ r - k
    if (slack >= -SMALL * K_unit).all():
        return np.asarray(r), False
    unsure = np.linalg.norm(K, axis=1) * error / K_unit
    if rank == n:
        return None, bool((slack / K_unit < -SMALL - unsure).any())
    _, _, V = np.linalg.svd(E)
    free = V[rank:].T * unit.max()  # r + free t, t of any sign, the largest smallest slack
    program = linprog(
        np.append(np.zeros(free.shape[1]), -1.0),
        A_ub=np.column_stack([-(K @ free) / K_unit[:, None], np.ones(len(K))]),
        b_ub=slack / K_unit,
        bounds=[(None, None)] * free.shape[1] + [(None, 1.0)],
    )
    if program.status != 0:
        return None, False
    least = program.x[-1]
    if least < -SMALL:
        return None, bool(least < -SMALL - unsure.max())
    return np.asarray(r + free @ program.x[:-1]), False

"""Enumeration of modes: every combination of open, stick and slip of few planar contacts, tried one after the other.

In the plane each mode is a set of linear equations and inequalities, so the search is complete: it finds a solution if there
is one, and proves that there is none where no mode has one. A mode whose equations are dependent (redundant
contacts) has many candidates; whether one of them obeys the inequalities is a linear program.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from stickslip.nonsmooth.cones import BALL, CONE, NORMAL, ZERO
from stickslip.nonsmooth.laws import Laws

MOST_MODES = 20_000
RANK = 1e-10  # relative size of a singular value that counts as zero


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


def enumerate_modes(laws: Laws, W: np.ndarray, q: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray | None, int]:
    """Multipliers of the first mode that holds, or None if none does; and how many modes were tried."""
    root = np.sqrt(weight)  # unit scale: rows and multipliers of the same size
    A, c = W / root[:, None] / root, q / root
    tried = 0
    for combination in itertools.product(*[_choices(laws, e) for e in range(laws.element.size - 1)]):
        tried += 1
        r = _mode(laws, A, c, [m for element in combination for m in element], root)
        if r is not None:
            return r / root, tried
    return None, tried


def _mode(laws: Laws, A: np.ndarray, c: np.ndarray, mode: list[str], root: np.ndarray) -> np.ndarray | None:
    """E r = e (equations) and K r >= k (inequalities) of one mode, in unit scale."""
    n, one = c.size, np.eye(c.size)
    E, e, K, k = np.zeros((n, n)), np.zeros(n), [], []
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
        elif m == "closed":
            E[i], e[i] = A[i], -c[i]
            K.append(one[i])
            k.append(0.0)
        else:
            radius, bound = np.zeros(n), laws.radius[b] * root[i]  # radius = bound + radius . r
            if laws.normal[b] >= 0:
                radius[laws.normal[b]] = laws.mu[b] * root[i] / root[laws.normal[b]]
            if m == "stick":
                E[i], e[i] = A[i], -c[i]
                K += [radius - one[i], radius + one[i]]
                k += [-bound, -bound]
            else:  # slip in the direction of the sign: r = -sign radius
                sign = 1.0 if m == "+" else -1.0
                E[i], e[i] = one[i] + sign * radius, -sign * bound
                K.append(sign * A[i])
                k.append(-sign * c[i])
    size = max(1.0, np.abs(c).max(initial=0.0))
    r, _, rank, _ = np.linalg.lstsq(E, e, rcond=RANK)
    small = 1e-9 * size
    if np.abs(E @ r - e).max(initial=0.0) > small * 10:
        return None
    low, right = np.array(K).reshape(-1, n), np.array(k)
    slack = low @ r - right
    if slack.min(initial=0.0) >= -small:
        return np.asarray(r)
    if rank == n:
        return None
    _, _, V = np.linalg.svd(E)
    free = V[rank:].T  # r + free t, t of any sign, the largest smallest slack
    program = linprog(
        np.append(np.zeros(free.shape[1]), -1.0),
        A_ub=np.column_stack([-(low @ free), np.ones(len(low))]),
        b_ub=slack,
        bounds=[(None, None)] * free.shape[1] + [(None, size)],
    )
    if program.status != 0 or program.x[-1] < -small:
        return None
    return np.asarray(r + free @ program.x[:-1])

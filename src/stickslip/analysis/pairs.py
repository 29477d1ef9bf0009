"""Detected contacts as columns: two shapes that touch anywhere are one contact, as if it had been declared."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stickslip.detected import DetectedContacts
from stickslip.errors import OptionError
from stickslip.solution import Solution

MOST = 50_000_000  # numbers in a column table: pairs times rows


def pairs_as_contacts(solution: Solution) -> Solution:
    """The solution with a column for each pair of shapes that came near: smallest gap, velocities there, all percussions.

    Rows in which a pair is not near have no gap and no velocity (nan), and no percussion. Pairs without friction have no slip.

    >>> import stickslip as ss
    >>> s = ss.System("ball")
    >>> ball = s.add(ss.solid("ball", ss.Sphere(ss.ground.point(0, 0, 0.2), 0.1), density=1000))
    >>> _ = s.add(ss.Gravity([0, 0, -9.81])), s.add(ss.Collisions("touch", [ball, ss.Plane([0, 0, 0], [0, 0, 1])]))
    >>> pairs_as_contacts(ss.solve(s, t_end=0.3, dt=1e-3)).names.contacts
    ('ball - ground',)
    """
    found = solution.contacts
    if found is None:
        return solution
    names, column = pair_columns(found)
    rows, n, d = len(solution), len(names), found.normal.shape[1]
    if rows * max(n, 1) > MOST:
        raise OptionError(
            f"{n} pairs of shapes in {rows} rows are too many to follow one by one; `solution.contacts` has them all"
        )
    gap, speed, P_N = np.full((rows, n), np.nan), np.full((rows, n), np.nan), np.zeros((rows, n))
    slip, P_F = np.full((rows, n, d), np.nan), np.zeros((rows, n, d))
    np.add.at(P_N, (found.row, column), found.P_N)
    np.add.at(P_F, (found.row, column), found.P_F)
    closest = np.lexsort([-found.gap, column, found.row])  # the one with the smallest gap is written last
    for velocity, row in ((found.before, found.row - 1), (found.after, found.row)):
        normal = np.einsum("ij,ij->i", velocity, found.normal)
        tangent = velocity - normal[:, None] * found.normal
        at = row[closest], column[closest]
        # Where a pair was not near before, it touches in the middle of the step, for all that is known.
        half = 0.5 * np.diff(solution.t)[found.row - 1]
        gap[at] = (found.gap if velocity is found.after else -normal * half)[closest]
        speed[at], slip[at] = normal[closest], tangent[closest]
    rough = np.flatnonzero(~_frictionless(solution, found) | (np.abs(P_F).max(axis=(0, 2)) > 1e-10 * P_N.max(axis=0)))
    slip, P_F, own = slip[:, rough], P_F[:, rough], solution.names
    wider = replace(
        own,
        contacts=(*own.contacts, *names),
        friction=(*own.friction, *[names[k] for k in rough]),
        friction_sizes=(*own.friction_sizes, *[d] * rough.size),
        friction_contact=(*own.friction_contact, *(len(own.contacts) + rough).tolist()),
        contact_units=(*own.contact_units, *["m"] * n) if own.contact_units else (),
        friction_units=(*own.friction_units, *["m"] * rough.size) if own.friction_units else (),
    )
    return replace(
        solution,
        names=wider,
        gap=np.hstack([solution.gap, gap]),
        gap_dot=np.hstack([solution.gap_dot, speed]),
        P_N=np.hstack([solution.P_N, P_N]),
        slip=np.hstack([solution.slip, slip.reshape(rows, -1)]),
        P_F=np.hstack([solution.P_F, P_F.reshape(rows, -1)]),
        contacts=None,
    )


def _frictionless(solution: Solution, found: DetectedContacts) -> np.ndarray:
    """Which pairs of shapes have mu = 0, as the run says; a stepper may have changed it, so percussions are looked at, too."""
    low, high = _pairs(found)[:2]
    said = solution.provenance.get("frictionless")  # not in older files
    if said is None:
        return np.zeros(low.size, bool)
    material = np.array(said["material"] or [0] * len(found.labels), int)
    smooth = {(int(i), int(j)) for i, j in said["pairs"]}
    return np.array([(material[i], material[j]) in smooth for i, j in zip(low, high, strict=True)], bool)


def pair_columns(found: DetectedContacts) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of all pairs of shapes, in the order of the shapes, and which of them each contact is."""
    low, high, column = _pairs(found)
    return tuple(f"{found.labels[i]} - {found.labels[j]}" for i, j in zip(low, high, strict=True)), column


def _pairs(found: DetectedContacts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs of shapes, by their two numbers, and which of them each contact is."""
    low, high = found.shapes.min(axis=1, initial=len(found.labels)), found.shapes.max(axis=1, initial=0)
    codes, column = np.unique(low * len(found.labels) + high, return_inverse=True)
    return codes // len(found.labels), codes % len(found.labels), column


@dataclass(frozen=True)
class Landing:
    """A contact that begins to carry in the step that ends in `row`: when, and its normal velocity before and after."""

    row: int
    time: float
    before: float
    after: float


def landings(solution: Solution, tol: float) -> dict[str, list[Landing]]:
    """Features of two shapes that strike each other, whatever their other features carry; at most one per row and pair.

    A corner may land while another one carries: a wheel with corners is in contact all the time, and strikes with each of them.
    A contact that carried nothing in the row before lands if it approaches faster than 2 a dt, with the median a of
    |d gap_dot/dt| over the rows in which contacts of these two shapes carry nothing, and faster than `tol`.
    """
    found = solution.contacts
    out: dict[str, list[Landing]] = {}
    if found is None or not len(found):
        return out
    names, column = pair_columns(found)
    P_N, last, dt = found.P_N, found.last(), np.diff(solution.t)[found.row - 1]
    start, end = (np.einsum("ij,ij->i", v, found.normal) for v in (found.before, found.after))
    largest = np.zeros(len(names))
    np.maximum.at(largest, column, P_N)
    carries = 1e-10 * largest[column] < P_N
    struck = carries & ~(carries[last] & (last >= 0)) & (start < -tol)
    order = np.argsort(column, kind="stable")
    ends = np.searchsorted(column[order], np.arange(len(names) + 1))
    for k in np.unique(column[struck]).tolist():
        own = order[ends[k] : ends[k + 1]]
        free = own[~carries[own]]
        a = float(np.median(np.abs(end[free] - start[free]) / dt[free])) if len(free) else 0.0
        hits = own[struck[own] & (start[own] < -2 * a * dt[own])]
        hits = hits[np.lexsort([start[hits], found.row[hits]])]  # the fastest of a row first
        out[names[k]] = []
        for i in hits[np.unique(found.row[hits], return_index=True)[1]].tolist():
            # Where it was not near before, it lands in the middle of the step, for all that is known.
            after = min(found.gap[last[i]] / -start[i], dt[i]) if last[i] >= 0 else dt[i] / 2
            time = float(solution.t[found.row[i] - 1] + max(after, 0.0))
            out[names[k]].append(Landing(int(found.row[i]), time, float(start[i]), float(end[i])))
    return out


def work_of_detected(solution: Solution) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Names of pairs, and what impacts and friction do in each step: P . (v_0 + v_1)/2, one column per pair."""
    found = solution.contacts
    if found is None:
        return (), np.zeros((len(solution) - 1, 0)), np.zeros((len(solution) - 1, 0))
    names, column = pair_columns(found)
    if len(solution) * max(len(names), 1) > MOST:
        names, column = ("detected contacts",), np.zeros(len(found), int)
    mean = (found.before + found.after) / 2
    normal = np.einsum("ij,ij->i", mean, found.normal)
    out = []
    for work in (found.P_N * normal, np.einsum("ij,ij->i", found.P_F, mean)):
        total = np.zeros((len(solution) - 1, len(names)))
        np.add.at(total, (found.row - 1, column), work)
        out.append(total)
    return names, out[0], out[1]

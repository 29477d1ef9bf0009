"""The contacts of a film: where they are, what they carry, and what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.solution import Solution

SLIDING = (
    0.999  # of the largest ratio of friction to normal force that two shapes have: a contact can slip from there on
)
SLOW = 1e-3  # of the largest velocity at any contact: slower is rest, because velocities are those of the end of a step


@dataclass(frozen=True, eq=False)
class Spots:
    """Contacts: in every frame the place, mean force on the first body (nan: direction unknown), and state of each.

    `open`, `stick`, `slip` and `impact` are 0 to 3; a frame shows the most violent state since the one before it.
    """

    names: tuple[str, ...]
    places: np.ndarray
    forces: np.ndarray
    states: np.ndarray
    strength: np.ndarray


@dataclass(frozen=True, eq=False)
class DetectedSpots:
    """Contacts that were detected, those that carry something: `frame` of each, in order, and what `Spots` has of it."""

    frame: np.ndarray
    places: np.ndarray
    forces: np.ndarray
    states: np.ndarray
    strength: np.ndarray

    def __len__(self) -> int:
        return len(self.frame)


def detected_states(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """For every detected contact: does it carry a percussion, and its state as in `Spots`.

    A contact slips if it moves along its plane and its friction is as large as the two shapes ever have it; without friction
    it slips always. A contact that carried nothing in the row before, and whose shapes approach there, is an impact, even if
    other features of the same shapes carry.
    """
    found: Any = getattr(solution, "contacts", None)
    if found is None or not len(found):
        return np.zeros(0, bool), np.zeros(0, np.int8)
    P_N, normal = np.asarray(found.P_N), np.asarray(found.normal)
    carries = 1e-10 * P_N.max(initial=0.0) < P_N
    ratio = np.where(carries, np.linalg.norm(found.P_F, axis=1) / np.where(carries, P_N, 1.0), 0.0)
    low, high = np.sort(np.asarray(found.shapes, np.int64), axis=1).T
    pair = np.unique(low * (high.max() + 1) + high, return_inverse=True)[1].ravel()
    largest = np.zeros(pair.max() + 1)
    np.maximum.at(largest, pair, ratio)
    velocities = [np.asarray(v)[carries] for v in (found.before, found.after)]
    fastest = max((float(np.linalg.norm(v, axis=1).max(initial=0.0)) for v in velocities), default=0.0)
    slow = max(10 * float(solution.provenance.get("tol", 0.0)), SLOW * fastest)
    approach, along = (np.einsum("ij,ij->i", v, normal) for v in (found.before, found.after))
    slides = np.linalg.norm(found.after - along[:, None] * normal, axis=1) > slow
    limit = largest[pair]
    states = np.where((limit < 1e-9) | (slides & (ratio >= SLIDING * limit)), 2, 1).astype(np.int8)
    last = found.last()
    states[carries & ~(carries[last] & (last >= 0)) & (approach < -slow)] = 3
    return carries, states


def detected(solution: Solution, rows: np.ndarray) -> DetectedSpots:
    """Detected contacts of the steps that end in these rows."""
    found: Any = getattr(solution, "contacts", None)
    if found is None or not len(found):
        empty = np.zeros((0, 3))
        return DetectedSpots(np.zeros(0, int), empty, empty, np.zeros(0, np.int8), np.zeros(0))
    P_N, row = np.asarray(found.P_N), np.asarray(found.row, np.int64)
    carries, states = detected_states(solution)
    frame = np.searchsorted(rows, row)
    shown = carries & (frame < len(rows))
    shown[shown] &= rows[frame[shown]] == row[shown]
    dt = np.diff(solution.t, prepend=solution.t[:1])
    step = np.where(dt > 0, dt, 1.0)[row[shown]]
    places = np.asarray(found.point)[shown]
    forces = np.asarray(found.percussion)[shown] / step[:, None]
    order = np.argsort(frame[shown], kind="stable")
    places, forces = (np.pad(x, ((0, 0), (0, 3 - x.shape[1])))[order] for x in (places, forces))
    return DetectedSpots(frame[shown][order], places, forces, states[shown][order], (P_N[shown] / step)[order])


def most(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The largest state of the rows since the frame before.

    >>> most(np.array([[0], [3], [0], [1]]), np.array([0, 2, 3])).ravel()
    array([0, 3, 1])
    """
    out = np.zeros((len(rows), states.shape[1]), states.dtype)
    if len(rows) > 1 and states.size:
        out[1:] = np.maximum.reduceat(states[: rows[-1] + 1], rows[:-1] + 1, axis=0)
    return out


def mean_forces(t: np.ndarray, P: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The percussions of the steps between one frame and the next, over the time between them; zero in the first frame.

    >>> mean_forces(np.array([0.0, 0.5, 1.0, 1.5]), np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0, 1, 3]))
    array([[0.],
           [2.],
           [6.]])
    """
    force = np.zeros((len(rows), P.shape[1]))
    if len(rows) > 1 and P.size:
        sums = np.add.reduceat(P[: rows[-1] + 1], rows[:-1] + 1, axis=0)
        force[1:] = sums / np.diff(t[rows])[:, None]
    return force

"""The table of detected contacts of a run in the making: rows of all steps, thinned as the other results are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stickslip.detected import DetectedContacts

# Columns of a row, as `collide.report` writes them, after the number of the step and the row of the solution.
SHAPES, FEATURES, POINT, NORMAL, GAP, PERCUSSION, BEFORE, AFTER, WIDTH = 2, 4, 6, 9, 12, 13, 16, 19, 22


class ContactTable:
    """Rows of detected contacts. With every > 1 the steps in between are summed up: one row per contact, with the sum of its
    percussions and everything else as it was last.
    """

    def __init__(self, labels: Sequence[str], dimension: int, every: int, first: int):
        """first: the step after which the table begins."""
        self.labels, self.dimension, self.every, self.first = tuple(labels), dimension, every, first
        self._kept: list[np.ndarray] = []
        self._pending: list[np.ndarray] = []

    def take(self, steps: Sequence[tuple[int, np.ndarray]]) -> None:
        """Contacts of some steps: their number, counted from the start of the run, and what was reported."""
        for number, reported in steps:
            step = number - self.first
            rows = np.empty((len(reported), WIDTH))
            rows[:, 0], rows[:, 1], rows[:, 2:] = step, -(-step // self.every), reported
            self._pending.append(rows)
            if step % self.every == 0:
                self._close()

    def _close(self) -> None:
        if self._pending:
            rows = self._pending[0] if self.every == 1 else merged(np.concatenate(self._pending))
            self._kept.append(rows)
            self._pending = []

    def flush(self) -> tuple[np.ndarray, np.ndarray]:
        """What is complete since the last time, which is forgotten, and what is still to be summed up."""
        kept, self._kept = np.concatenate([np.zeros((0, WIDTH)), *self._kept]), []
        return kept, np.concatenate([np.zeros((0, WIDTH)), *self._pending])

    def resume(self, pending: np.ndarray) -> None:
        """Continue with rows that were still to be summed up."""
        self._pending = [pending] if len(pending) else []

    def table(self) -> DetectedContacts:
        """Everything so far."""
        rest = [merged(np.concatenate(self._pending))] if self._pending else []
        return as_contacts(self.labels, self.dimension, np.concatenate([np.zeros((0, WIDTH)), *self._kept, *rest]))

    def close(self) -> None:
        """The run is over: what is still to be summed up ends here."""
        self._close()


def merged(rows: np.ndarray) -> np.ndarray:
    """Rows of several steps as one per contact, in the order of their identities.

    >>> a = np.zeros((2, WIDTH)); a[:, 0], a[:, PERCUSSION] = [1, 2], [3.0, 4.0]
    >>> merged(a)[:, [0, PERCUSSION]]
    array([[2., 7.]])
    """
    if not len(rows):
        return rows
    identity = rows[:, SHAPES:POINT]
    order = np.lexsort([rows[:, 0], *identity.T[::-1]])
    rows, identity = rows[order], identity[order]
    first = np.flatnonzero(np.concatenate([[True], (identity[1:] != identity[:-1]).any(axis=1)]))
    last = np.append(first[1:], len(rows)) - 1
    out = rows[last].copy()
    out[:, PERCUSSION:BEFORE] = np.add.reduceat(rows[:, PERCUSSION:BEFORE], first, axis=0)
    out[:, BEFORE:AFTER] = rows[first, BEFORE:AFTER]
    return out


def as_contacts(labels: Sequence[str], dimension: int, rows: np.ndarray) -> DetectedContacts:
    """Rows as arrays by name."""
    whole, n = rows[:, :POINT].astype(np.int64), dimension
    vectors = [rows[:, k : k + n].copy() for k in (POINT, NORMAL, PERCUSSION, BEFORE, AFTER)]
    point, normal, percussion, before, after = vectors
    return DetectedContacts(
        tuple(labels),
        whole[:, 0].copy(),
        whole[:, 1].copy(),
        whole[:, SHAPES:FEATURES].copy(),
        whole[:, FEATURES:POINT].copy(),
        point,
        normal,
        rows[:, GAP].copy(),
        percussion,
        before,
        after,
    )


def as_rows(contacts: DetectedContacts) -> np.ndarray:
    """The rows of a table: the inverse of `as_contacts`."""
    rows = np.zeros((len(contacts), WIDTH))
    rows[:, 0], rows[:, 1], rows[:, GAP] = contacts.step, contacts.row, contacts.gap
    rows[:, SHAPES:FEATURES], rows[:, FEATURES:POINT] = contacts.shapes, contacts.features
    for k, name in (
        (POINT, "point"),
        (NORMAL, "normal"),
        (PERCUSSION, "percussion"),
        (BEFORE, "before"),
        (AFTER, "after"),
    ):
        vectors = getattr(contacts, name)
        rows[:, k : k + vectors.shape[1]] = vectors
    return rows

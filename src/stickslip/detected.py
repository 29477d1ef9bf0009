"""Contacts that were detected during a run, as a ragged table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stickslip.errors import OptionError, unknown_name


@dataclass(frozen=True, eq=False)
class DetectedContacts:
    """All contacts of all steps, one row each, in the order of time.

    | array | holds |
    | --- | --- |
    | `step` | number of the step, from 1 |
    | `row` | row of the solution that the step ends in, or that it is summed up in with save_every |
    | `shapes` | two numbers, places in `labels` |
    | `features` | two numbers: which corner, edge or face of each; with `shapes` the identity of a contact over time |
    | `point`, `normal` | place, and normal from the second to the first shape, at the start of the step |
    | `gap` | at the end of the step |
    | `percussion` | on the first shape over the step, as a vector in space |
    | `before`, `after` | velocity of the first shape relative to the second where they touch, at the start and at the end |

    Contacts that stay open are there too, as long as they are near. With save_every a row stands for all steps that end in
    one row of the solution: the percussion is their sum, everything else as it was last. `steps` is the number of steps of the
    solution that the table belongs to.
    """

    labels: tuple[str, ...]
    step: np.ndarray
    row: np.ndarray
    shapes: np.ndarray
    features: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    percussion: np.ndarray
    before: np.ndarray
    after: np.ndarray
    steps: int | None = None

    def __len__(self) -> int:
        return len(self.step)

    @property
    def P_N(self) -> np.ndarray:
        """Normal percussions."""
        return np.einsum("ij,ij->i", self.percussion, self.normal)

    @property
    def names(self) -> tuple[str, ...]:
        """The two shapes of every contact, as one text."""
        return tuple(f"{self.labels[i]} - {self.labels[j]}" for i, j in self.shapes.tolist())

    @property
    def P_F(self) -> np.ndarray:
        """Percussions of friction, as vectors in space."""
        return self.percussion - self.P_N[:, None] * self.normal

    @property
    def identity(self) -> np.ndarray:
        """One number per row, the same wherever the same features of the same two shapes meet."""
        code = np.zeros(len(self), np.int64)
        for column in (*self.shapes.T, *self.features.T):
            values, place = np.unique(column, return_inverse=True)
            code = np.unique(code * len(values) + place.ravel(), return_inverse=True)[1].ravel()
        return code

    def last(self) -> np.ndarray:
        """For every row, where the same contact stands in the row of the solution before; -1 if it is not there.

        >>> two, one = np.zeros((3, 2), int), np.zeros((3, 3))
        >>> row, three = np.array([4, 5, 7]), np.zeros(3)
        >>> DetectedContacts(("a", "b"), row, row, two, two, one, one, three, one, one, one).last()
        array([-1,  0, -1])
        """
        if not len(self):
            return np.zeros(0, np.int64)
        identity = self.identity
        size = int(identity.max()) + 1
        key = self.row.astype(np.int64) * size + identity
        order = np.argsort(key, kind="stable")
        place = np.searchsorted(key[order], key - size, side="right") - 1
        there = (place >= 0) & (key[order[place]] == key - size)
        return np.where(there, order[place], -1)

    def most(self) -> int:
        """The largest number of contacts that carry something at the same time."""
        rows = self.row[self.P_N > 0]
        return int(np.bincount(rows).max()) if len(rows) else 0

    def at(self, step: int) -> DetectedContacts:
        """The contacts of one step, from 1 to the last one."""
        last = self.step.max(initial=0) if self.steps is None else self.steps
        if np.ndim(step) or step not in range(1, last + 1):
            raise OptionError(
                f"step = {step!r} must be a whole number from 1 to {last}, the last step of this solution"
            )
        if (self.row != self.step).any():
            raise OptionError(
                "with save_every contacts are summed up over the steps of a row of the solution: those of row k are "
                "contacts.where(contacts.row == k)"
            )
        return self.where(self.step == step)

    def between(self, first: str, second: str) -> DetectedContacts:
        """The contacts of two shapes, or of all shapes of two bodies, by their labels."""
        a, b = (self._labelled(name) for name in (first, second))
        i, j = self.shapes.T
        return self.where((a[i] & b[j]) | (a[j] & b[i]))

    def _labelled(self, name: str) -> np.ndarray:
        """Which labels are this shape, or shapes of this body."""
        found = np.array([name in (x, x.split("[")[0]) for x in self.labels], bool)
        if not found.any():
            known = {each for x in self.labels for each in (x, x.split("[")[0])}
            raise OptionError(unknown_name("shape or body", name, known))
        return found

    def where(self, chosen: np.ndarray) -> DetectedContacts:
        """Some of the rows."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in COLUMNS})


COLUMNS = ("step", "row", "shapes", "features", "point", "normal", "gap", "percussion", "before", "after")

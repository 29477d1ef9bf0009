"""Rows of results without the columns of contacts that have never closed: memory is paid for contacts that act.

Percussions of a contact that is far away are zero in every row. A run begins with the columns that it always has (time,
coordinates, velocities, constraints) and those that runs of the same program have needed. When another percussion is not
zero for the first time, the loop stops after that step (`naps.seen_first`), and rows get its column from there on. So whoever
takes rows gets them with the columns that they have; all others are zero. Schemes that record more than percussions have rows
with all columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stickslip.engine.fields import PERCUSSIONS
from stickslip.engine.layout import slices
from stickslip.engine.program import Program

if TYPE_CHECKING:
    from stickslip.engine.work import Work

USED, STAYS = "columns in use", "results stay"  # what a program keeps
ALL_BUT = 0.75  # share of all columns in use from which on it is not worth the trouble


class NarrowRecord:
    """Which columns of a row are in use, in rising order, and their places in the memory."""

    def __init__(self, program: Program, widths: Mapping[str, int], record: np.ndarray):
        self.record, at = record, slices(widths)
        self._program, self._contacts = program, at[PERCUSSIONS.N.name].start
        self._use(program.kept.get(USED, np.arange(self._contacts)))

    def _use(self, columns: np.ndarray) -> None:
        if columns.size > ALL_BUT * self.record.size:
            columns = np.arange(self.record.size)
        self.columns, self.places = columns, self.record[columns]
        self.given = None if columns.size == self.record.size else columns  # None: all of them
        self._program.kept[USED] = columns

    def tell(self, work: Work) -> None:
        """Let the loop know what is left out."""
        from stickslip.engine.naps import LEFT_OUT, LISTED

        unused = np.ones(self.record.size, bool)
        unused[: self._contacts] = unused[self.columns] = False
        left_out = self.record[unused]
        work.nap[LEFT_OUT], work.nap[LISTED], work.left_out[0, : left_out.size] = left_out.size, 0, left_out

    def wider(self, rows: np.ndarray, memory: np.ndarray, work: Work) -> np.ndarray:
        """These rows with further columns: those that the last of them needs, whose step is the last of the memory."""
        last, before = memory[self.record], self.columns
        acting = np.flatnonzero((last != 0.0) | np.signbit(last))
        self._use(np.union1d(before, acting[acting >= self._contacts]))
        self.tell(work)
        out = np.zeros((len(rows), self.columns.size))
        out[:, np.searchsorted(self.columns, before)] = rows
        out[-1] = last[self.columns]
        return out


def narrow_record(program: Program, widths: Mapping[str, int], record: np.ndarray) -> NarrowRecord | None:
    """For a program whose rows of results nothing changes after a step."""
    if STAYS not in program.kept:
        program.kept[STAYS] = not np.isin(program.layout.places(*program.carried), record).any()
    return NarrowRecord(program, widths, record) if program.kept[STAYS] else None


def widened(rows: np.ndarray, columns: np.ndarray | None, width: int) -> np.ndarray:
    """Rows with all columns."""
    if columns is None:
        return rows
    out = np.zeros((*rows.shape[:-1], width))
    out[..., columns] = rows
    return out


def without_zeros(rows: np.ndarray, always: int) -> tuple[np.ndarray, np.ndarray]:
    """The first `always` columns of rows, and those that are not zero; and which these are."""
    columns = np.concatenate([np.arange(always), always + np.flatnonzero(rows[:, always:].any(axis=0))])
    return rows[:, columns], columns


def with_equal_columns(
    pieces: Sequence[tuple[np.ndarray, np.ndarray | None]], width: int
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Pieces of rows with all columns that one of them has, and these columns; None: all."""
    given = [columns for _, columns in pieces if columns is not None]
    if len(given) < len(pieces):
        return [widened(rows, columns, width) for rows, columns in pieces], None
    every = given[-1]
    for columns in given:
        if columns is not every:
            every = np.union1d(every, columns)
    out = []
    for (rows, _), columns in zip(pieces, given, strict=True):
        at = None if columns.size == every.size else np.searchsorted(every, columns)
        out.append(widened(rows, at, every.size))
    return out, every

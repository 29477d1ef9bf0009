"""Rows of results without the columns of contacts that have never closed: memory is paid for contacts that act.

Percussions of a contact that is far away are zero in every row, and so is whatever else a scheme records of it. A run begins
with the columns that it always has (all that do not belong to contacts) and those that runs of the same program have needed.
When another one is not zero for the first time, the loop stops after that step (`naps.seen_first`), and rows get its column
from there on. So whoever takes rows gets them with the columns that they have; all others are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stickslip.engine.fields import RESULTS, F, Field, N
from stickslip.engine.program import Program

if TYPE_CHECKING:
    from stickslip.engine.work import Work

USED, STAYS = "columns in use", "results stay"  # what a program keeps, for what is recorded
ALL_BUT = 0.75  # share of all columns in use from which on it is not worth the trouble


class NarrowRecord:
    """Which columns of a row are in use, in rising order, and their places in the memory. `extra`: recorded after RESULTS."""

    def __init__(self, program: Program, extra: tuple[Field, ...], record: np.ndarray):
        self.record, self._program, self._key = record, program, (USED, extra)
        spaces, declared = [each.space for each in (*RESULTS, *extra)], program.numbering.declared
        of_contacts = np.repeat([x in (N, F) for x in spaces], [declared[x] for x in spaces])
        self._of_contacts = np.concatenate([[False], of_contacts])  # the first column is the time
        self._use(program.kept.get(self._key, np.flatnonzero(~self._of_contacts)))

    def _use(self, columns: np.ndarray) -> None:
        if columns.size > ALL_BUT * self.record.size:
            columns = np.arange(self.record.size)
        self.columns, self.places = columns, self.record[columns]
        self.given = None if columns.size == self.record.size else columns  # None: all of them
        self._program.kept[self._key] = columns

    def tell(self, work: Work) -> None:
        """Let the loop know what is left out."""
        from stickslip.engine.naps import LEFT_OUT, LISTED

        unused = self._of_contacts.copy()
        unused[self.columns] = False
        left_out = self.record[unused]
        work.nap[LEFT_OUT], work.nap[LISTED], work.left_out[0, : left_out.size] = left_out.size, 0, left_out

    def wider(self, rows: np.ndarray, memory: np.ndarray, work: Work) -> np.ndarray:
        """These rows with further columns: those that the last of them needs, whose step is the last of the memory."""
        last, before = memory[self.record], self.columns
        self._use(np.union1d(before, np.flatnonzero(_not_zero(last) & self._of_contacts)))
        self.tell(work)
        out = np.zeros((len(rows), self.columns.size))
        out[:, np.searchsorted(self.columns, before)] = rows
        out[-1] = last[self.columns]
        return out


def narrow_record(program: Program, extra: tuple[Field, ...], record: np.ndarray) -> NarrowRecord | None:
    """For a program whose rows of results nothing changes after a step."""
    if (STAYS, extra) not in program.kept:
        program.kept[STAYS, extra] = not np.isin(program.layout.places(*program.carried), record).any()
    return NarrowRecord(program, extra, record) if program.kept[STAYS, extra] else None


def _not_zero(values: np.ndarray) -> np.ndarray:
    """Columns that are left out come back as zeros, so a negative zero is not one."""
    return (values != 0.0) | np.signbit(values)


def widened(rows: np.ndarray, columns: np.ndarray | None, width: int) -> np.ndarray:
    """Rows with all columns."""
    if columns is None:
        return rows
    out = np.zeros((*rows.shape[:-1], width))
    out[..., columns] = rows
    return out


def without_zeros(row: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One whole row with these columns and those that are not zero; and which these are."""
    columns = np.union1d(columns, np.flatnonzero(_not_zero(row)))
    return row[None, columns], columns


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

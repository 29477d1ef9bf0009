"""A step that could not be solved, in shorter ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stickslip.engine.runs import Rows, percussions
from stickslip.patience import Abandoned

if TYPE_CHECKING:
    from stickslip.engine.run import ProgramRun

HALVINGS = 10  # of a step


def subdivided(run: ProgramRun) -> Rows | None:
    """The step that failed, in pieces: its row has the percussions of all of them; None if that does not help either, or if
    somebody asks to stop meanwhile; then nothing has failed.

    A scheme that decides the length of its steps is offered shorter ones, and the first that it solves is its step.
    """
    clock, t, before, failure = run.clock, run.t, run.memory.copy(), run.failure
    pieces: list[Rows] = []
    try:
        if clock.end < math.inf:
            for halving in range(1, HALVINGS + 1):
                if _piece(run, t, clock.step / 2**halving, pieces):
                    break
                run.back_to(before)
        else:
            _halve(run, t, clock.step, HALVINGS, pieces)
    except Abandoned:
        run.back_to(before)
        run.clock, run.failure = clock, None
        return None
    run.clock = clock
    if not pieces:
        run.back_to(before)
        text = f"{failure.message}; nor in steps down to {clock.step / 2**HALVINGS:.3g}" if failure else ""
        run.failure = failure._replace(message=text) if failure else None
        return None
    results, iterations, residuals = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    summed, row = percussions(run.columns), results[-1].copy()
    row[summed] = results[:, summed].sum(axis=0)
    if clock.end == math.inf:
        row[0] = clock.start + (run.first + run.done + 1) * clock.step
    run.failure, run.row = None, row
    run.done, run.subdivided = run.done + 1, run.subdivided + 1
    return Rows(row[None, :], iterations.sum(axis=0, keepdims=True), residuals.max(axis=0, keepdims=True))


def _halve(run: ProgramRun, t: float, dt: float, depth: int, pieces: list[Rows]) -> bool:
    """Two halves of a step, and halves of those that fail; what is solved goes to `pieces`, nothing if one is not."""
    for k in range(2):
        before = run.memory.copy()
        if _piece(run, t + k * dt / 2, dt / 2, pieces):
            continue
        run.back_to(before)
        if depth == 1 or not _halve(run, t + k * dt / 2, dt / 2, depth - 1, pieces):
            pieces.clear()
            return False
    return True


def _piece(run: ProgramRun, t: float, dt: float, pieces: list[Rows]) -> bool:
    row = run.piece(t, dt)
    if row is not None:
        pieces.append(row)
    return row is not None

"""Many short runs of one program in one compiled loop: nothing is allocated, checked or called from Python in between."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.engine.advance import Clock, advance
from stickslip.engine.tables import Tables
from stickslip.jit import jit


@jit
def advance_many(
    tables: Tables,
    begin: np.ndarray,
    step: np.ndarray,
    carry: np.ndarray,
    blank: np.ndarray,
    memory: np.ndarray,
    work: Any,
    options: Any,
    clock: Clock,
    places: np.ndarray,
    values: np.ndarray,
    at: np.ndarray,
    record: np.ndarray,
    rows: np.ndarray,
    iterations: np.ndarray,
    residuals: np.ndarray,
    nothing: np.ndarray,
    results: np.ndarray,
    done: np.ndarray,
) -> None:
    """One run for each row of `values`, which go to `places`; `blank` is the memory that all of them start from.

    `at`: the steps, in rising order, after which results are kept; results[run, k] is the row after at[k] steps. done[run]: how
    many steps it took, less than asked for if one could not be solved.
    """
    chunk = rows.shape[0] - 1
    for run in range(values.shape[0]):
        for i in range(memory.size):
            memory[i] = blank[i]
        for i in range(places.size):
            memory[places[i]] = values[run, i]
        now, kept, failed = 0, 0, -1
        if begin.shape[0] > 0:
            _, failed = advance(
                tables, begin, nothing, nothing, memory, work, options, clock, 0, 1, record, rows, iterations, residuals
            )
        while failed < 0 and kept < at.size:
            last = min(at[kept], now + chunk)
            moved = Clock(clock.t_0, clock.t_1, clock.dt, clock.start, clock.step, clock.end, now)
            before = now
            now, failed = advance(
                tables,
                nothing,
                step,
                carry,
                memory,
                work,
                options,
                moved,
                now,
                last,
                record,
                rows,
                iterations,
                residuals,
            )
            if now == at[kept]:
                for i in range(record.size):
                    results[run, kept, i] = rows[now - before, i]
                kept += 1
        done[run] = now

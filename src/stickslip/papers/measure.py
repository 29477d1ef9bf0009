"""Simulate for an item, and measure what convergence studies need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stickslip.analysis.convergence import NORMS
from stickslip.model.system import System
from stickslip.schemes import Rattle, Scheme
from stickslip.solution import Solution
from stickslip.solve import solve

PRINTED = Rattle(variant="printed")  # what the papers call RATTLE


def simulate(system: System, t_end: float, dt: float, method: str | Scheme = PRINTED, **options: Any) -> Solution:
    """`stickslip.solve` without a bar, and without an energy alarm: items judge that themselves.

    >>> import stickslip as ss
    >>> simulate(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=1e-2).complete
    True
    """
    return solve(system, t_end, dt, method=method, energy_alarm=False, progress=False, **options)


def error(values: np.ndarray, reference: np.ndarray, dt: float, norm: str) -> float:
    """Error in a paper's norm (`stickslip.analysis.convergence.NORMS`) at the times of the coarser of two uniform grids.

    Row 0 is the initial state, which does not count. The reference's step divides `dt`, and it may end later.

    >>> error(np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [0.5], [1.5], [2.0], [2.0]]), 0.5, "rattle")
    0.25
    """
    ratio = (len(reference) - 1) // (len(values) - 1)
    rows = reference[ratio : ratio * (len(values) - 1) + 1 : ratio]
    return NORMS[norm](values[1:] - rows, np.full(len(rows), dt))


def order(dts: Sequence[float], errors: Sequence[float]) -> float:
    """Observed order: slope of the line through the logarithms, by least squares.

    >>> round(order([0.1, 0.2, 0.4], [1.0, 4.0, 16.0]), 12)
    2.0
    """
    return float(np.polyfit(np.log(dts), np.log(errors), 1)[0])

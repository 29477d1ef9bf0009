"""Problems in extreme units, brought to unit size: squares of multipliers of 1e200 overflow, those of 1e-200 are zero.

With W = a W', q = b q' the multipliers are r = (b/a) r' and the velocities u = b u'. a and b are powers of two, so that nothing
is rounded. Contacts of one problem that are too far apart have no common size: they are refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stickslip.errors import OptionError
from stickslip.nonsmooth.problem import Problem

USUAL = 1e60  # from 1/USUAL to USUAL squares and their products are numbers
WIDEST = 1e100  # ratio of diagonals of W
SMALLEST, LARGEST = 1e-290, 1e300  # below, numbers have fewer digits


class UnitSize(NamedTuple):
    """A problem of unit size, and the units of its velocities and multipliers."""

    problem: Problem
    velocity: float
    reaction: float


def of_unit_size(problem: Problem) -> UnitSize:
    """The problem itself where its units are usual."""
    with np.errstate(over="ignore", invalid="ignore"):
        scales = problem.scales
    weight, speed = scales.weight, scales.speed
    if not weight.size:
        return UnitSize(problem, 1.0, 1.0)
    largest, least = float(weight.max()), float(weight.min())
    if not SMALLEST <= largest <= LARGEST:
        raise OptionError(
            f"W has diagonals of {largest:g}, which leave the range of floating point numbers; use other units"
        )
    if not SMALLEST <= speed <= LARGEST:
        raise OptionError(f"q reaches {speed:g}, which leaves the range of floating point numbers; use other units")
    if least * WIDEST < largest:
        raise OptionError(
            f"W has diagonals from {least:g} to {largest:g}: with these, numbers leave the range of floating point; use other "
            "units, or leave out contacts that nothing moves"
        )
    a, b = (2.0 ** np.round(np.log2(size)) for size in (largest, speed))
    reaction = np.log10(speed) - np.log10(largest)
    if not np.log10(SMALLEST) <= reaction <= np.log10(LARGEST) - np.log10(largest / least):
        raise OptionError(
            f"q/W, the size of reactions, is 1e{reaction:.0f} and leaves the range of floating point numbers; use other units"
        )
    if all(1 / USUAL <= size <= USUAL for size in (largest, speed, speed / largest)):
        return UnitSize(problem, 1.0, 1.0)
    laws = problem.laws._replace(radius=problem.laws.radius * (a / b))
    if problem.M is None:
        scaled = replace(problem, laws=laws, W_given=problem.W / a, q_given=problem.q / b)
    else:
        scaled = replace(problem, laws=laws, M=problem.M * a, f=problem.f * (a / b), w=problem.w / b)  # type: ignore[operator]
    return UnitSize(scaled, float(b), float(b / a))

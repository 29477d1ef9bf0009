"""Parameters that change during a run: one value per row, that of the step that ends there (row 0: of the first step).

A solution keeps them as columns of `extra`, and `provenance["varying"]` says which column belongs to which parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.solution import Solution

Change = tuple[int, np.ndarray, np.ndarray]  # steps done before, indices of parameters, their new values


def columns_of_changes(first: np.ndarray, changes: Sequence[Change], steps: np.ndarray) -> dict[int, np.ndarray]:
    """Values of the parameters that changed, by index; row k is that of the step with the number steps[k], counted from 1.

    >>> columns_of_changes(np.array([5.0, 0.0]), [(2, np.array([1]), np.array([7.0]))], np.array([1, 2, 3]))
    {1: array([0., 0., 7.])}
    """
    out: dict[int, np.ndarray] = {}
    for done, where, values in changes:
        row = int(np.searchsorted(steps, done, side="right"))
        for k, value in zip(where.tolist(), values.tolist(), strict=True):
            out.setdefault(k, np.full(len(steps), first[k]))[row:] = value
    return out


def varying_of(solution: Solution) -> dict[str, np.ndarray]:
    """The columns of the parameters that changed during the run, by the names of the parameters."""
    return {name: solution.extra[column] for name, column in solution.provenance.get("varying", {}).items()}


def by_index(system: System, varying: Mapping[str, np.ndarray]) -> dict[int, np.ndarray]:
    """The same by the places of the parameters."""
    index = {name: k for k, name in enumerate(system.parameter_symbols())} if varying else {}
    return {index[name]: column for name, column in varying.items()}


def refuse_varying(solution: Solution, what: str) -> None:
    """Complain where values of parameters within a step are needed, and rows do not say them."""
    if names := list(solution.provenance.get("varying", {})):
        raise OptionError(
            f"{what} needs parameters that stay as they are; {', '.join(map(repr, names))} changed during this run. Run the "
            "pieces between two changes one by one with `sim.run`"
        )

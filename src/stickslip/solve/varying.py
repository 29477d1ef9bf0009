"""Parameters that change during a run: one value per row, that of the step that ends there (row 0: of the first step).

A solution keeps them as columns of `extra`, and `provenance["varying"]` says which column belongs to which parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stickslip.engine.fields import Q_0, T_0, U_0, Field
from stickslip.engine.observe import observe
from stickslip.engine.program import Program
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
    index = {name: k for k, name in enumerate(system.parameter_symbols())}
    return {index[name]: column for name, column in varying.items()}


def refuse_varying(solution: Solution, what: str) -> None:
    """Complain where values of parameters within a step are needed, and rows do not say them."""
    if names := list(solution.provenance.get("varying", {})):
        raise OptionError(
            f"{what} needs parameters that stay as they are; {', '.join(map(repr, names))} changed during this run. Run the "
            "pieces between two changes one by one with `sim.run`"
        )


def observe_varying(
    program: Program,
    parameters: np.ndarray,
    varying: Mapping[int, np.ndarray],
    t: np.ndarray,
    q: np.ndarray,
    u: np.ndarray,
    fields: Sequence[Field],
) -> dict[str, np.ndarray]:
    """As `engine.observe`, with some parameters that have a value per row."""
    if not varying:
        return observe(program, parameters, t, q, u, fields)
    from stickslip.engine.advance import observe as run
    from stickslip.engine.advance import workspace

    layout = program.layout
    memory = np.zeros(layout.total)
    memory[: layout.parameters] = parameters
    places = layout.places(T_0, Q_0, U_0)
    inputs = np.concatenate([np.array(list(varying), places.dtype), places])
    record = layout.places(*fields)
    rows = np.ascontiguousarray(np.column_stack([*varying.values(), t, q, u]))
    out = np.zeros((len(t), record.size))
    run(program.tables, 0, memory, workspace(program), inputs, record, rows, out)
    ends = np.cumsum([layout.size[each] for each in fields])
    parts = np.split(out, ends[:-1], axis=1)
    return {each.name: np.ascontiguousarray(part) for each, part in zip(fields, parts, strict=True)}

"""The error of a step that cannot be solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.engine.check import not_finite
from stickslip.engine.failure import Failure
from stickslip.errors import ConvergenceError
from stickslip.solution import Solution
from stickslip.solve.prepared import Prepared


def _explained(run: Any, ready: Prepared, values: np.ndarray) -> Failure:
    """The failure of a run; where no force exists at the start of the step, with that as its reason."""
    failure: Failure = run.failure
    if np.isfinite(failure.residual):
        return failure
    state = run.state
    parts = not_finite(ready.numbering, state.t, state.q, state.u, values)
    if not parts:
        return failure
    names = ", ".join(map(repr, parts[:5]))
    return failure._replace(
        message=f"forces of {names} are not finite at t = {state.t:g}",
        remedy="look for points that coincide, a division by zero, a root or logarithm of a negative number",
    )


def convergence_error(run: Any, ready: Prepared, values: np.ndarray, solution: Solution, step: int) -> ConvergenceError:
    """The error of a run that ended after so many steps, with what it has and knows."""
    failure = _explained(run, ready, values)
    t = float(solution.t[-1])
    names = (*_unclosed(failure, solution), *failure.names)
    which = f". Not closed: {', '.join(names)}" if names else ""
    remedy = f". {failure.remedy[:1].upper()}{failure.remedy[1:]}" if failure.remedy else ""
    return ConvergenceError(
        f"step {step + 1}, from t = {t:g} to {failure.t_1:g}: {failure.message}{which}{remedy}. The solution up to there is "
        "in the attribute `solution` of this error.",
        time=t,
        step=step,
        stage=failure.stage,
        residual=failure.residual,
        solution=solution,
        names=names,
        problem=failure.problem,
    )


def _unclosed(failure: Failure, solution: Solution) -> tuple[str, ...]:
    """Names of the constraints and contacts that did not close."""
    own, friction = solution.names, []
    for name, size in zip(own.friction, own.friction_sizes, strict=True):
        friction += [f"friction of {name}"] * size
    labels = {"g": own.g, "gamma": own.gamma, "N": own.contacts, "F": tuple(friction)}
    return tuple(dict.fromkeys(labels[space][i] for space, i in failure.rows))

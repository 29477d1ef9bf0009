"""The error of a step that cannot be solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.engine.check import not_finite
from stickslip.engine.failure import Failure
from stickslip.errors import ConvergenceError
from stickslip.solution import Solution
from stickslip.solve.prepared import Prepared
from stickslip.solve.scales import ROUNDING_ERRORS, scales_of_model


def _explained(run: Any, ready: Prepared, values: np.ndarray, solution: Solution) -> Failure:
    """The failure of a run, with its reason where that is no force at the start of the step, or a motion that has exploded."""
    failure: Failure = run.failure
    if np.isfinite(failure.residual):
        return _exploded(run, ready, failure, solution)
    state = run.state
    parts = not_finite(ready.numbering, state.t, state.q, state.u, values)
    if not parts:
        return failure
    names = ", ".join(map(repr, parts[:5]))
    return failure._replace(
        message=f"forces of {names} are not finite at t = {state.t:g}",
        remedy="look for points that coincide, a division by zero, a root or logarithm of a negative number",
        rows=(),  # the part is named
    )


def _exploded(run: Any, ready: Prepared, failure: Failure, solution: Solution) -> Failure:
    """The same, with that as reason where rounding errors of coordinates and velocities are above the tolerance."""
    tol = getattr(getattr(run, "options", None), "tolerance", None)
    if tol is None or failure.final:
        return failure
    scales, names, state = scales_of_model(ready, ready.model.system), solution.names, run.state
    sizes = np.abs(np.concatenate([state.q / scales.length, state.u / scales.velocity]))
    if not sizes.size or tol >= ROUNDING_ERRORS * sizes.max():
        return failure
    k = int(sizes.argmax())
    name, value = (*names.q, *names.u)[k], (*state.q, *state.u)[k]
    return failure._replace(
        message=f"the motion has exploded: {name!r} is {value:.3g} at t = {state.t:g}, and rounding errors of such numbers "
        f"are above tol = {tol:g}, so that no step can reach it. Residual of the {failure.stage.replace('_', ' ')} "
        f"{failure.residual:.2e}",
        remedy="a smaller dt, or a scheme with implicit forces such as theta, may help; where bodies are meant to move so far "
        "or so fast, a larger tol",
    )


def convergence_error(
    run: Any, ready: Prepared, values: np.ndarray, solution: Solution, step: int, rise: str = ""
) -> ConvergenceError:
    """The error of a run that ended after so many steps, with what it has and knows.

    rise: of energy without a source before that step (`alarm`).
    """
    failure = _explained(run, ready, values, solution)
    t = float(solution.t[-1])
    names = (*_unclosed(failure, solution), *failure.names)
    which = f". Not closed: {', '.join(names)}" if names else ""
    remedy = f". {failure.remedy[:1].upper()}{failure.remedy[1:]}" if failure.remedy else ""
    before = f". Even before it, {rise}: the result is not to be trusted from there on" if rise else ""
    return ConvergenceError(
        f"step {step + 1}, from t = {t:g} to {failure.t_1:g}: {failure.message}{which}{remedy}{before}. The solution up to "
        "there is in the attribute `solution` of this error.",
        time=t,
        step=step,
        stage=failure.stage,
        residual=failure.residual,
        solution=solution,
        names=names,
        problem=failure.problem,
    )


def _unclosed(failure: Failure, solution: Solution) -> tuple[str, ...]:
    """Names of the constraints and contacts that did not close; if all did, of the equations that do not hold."""
    own, friction = solution.names, []
    for name, size in zip(own.friction, own.friction_sizes, strict=True):
        friction += [f"friction of {name}"] * size
    equations = {
        "u": [f"equation of motion for {u!r}" for u in own.u],
        "q": [f"kinematic equation for {q!r}" for q in own.q],
    }
    labels = equations | {"g": own.g, "gamma": own.gamma, "N": own.contacts, "F": tuple(friction)}
    return tuple(dict.fromkeys(labels[space][i] for space, i in failure.rows))

"""A few design variables that make a number at the end of a motion as small, or as large, as possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.errors import ConvergenceError, NoDerivativeError, OptionError, StudyError
from stickslip.model.system import System
from stickslip.notebook import ShownAsText
from stickslip.solution import Solution
from stickslip.solve import solve
from stickslip.solve.options import flag
from stickslip.studies.inputs import declared_inputs, require_inputs, with_inputs
from stickslip.studies.sensitivity import gradient


@dataclass(frozen=True)
class Optimum(ShownAsText):
    """The best values, the number that they give, and the motion. `derivatives`: whether they could be used to the end."""

    values: dict[str, float]
    value: float
    derivatives: bool
    evaluations: int
    solution: Solution = field(repr=False)

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {x:.6g}" for name, x in self.values.items())
        how = "with derivatives" if self.derivatives else "without derivatives at the end"
        return f"{self.value:.9g} at {values}; {self.evaluations} evaluations, {how}"


def optimize(
    system: System,
    t_end: float,
    dt: float,
    *,
    of: Any,
    variables: Mapping[str, tuple[float, float]],
    start: Mapping[str, float] | None = None,
    largest: bool = False,
    parameters: Mapping[str, float] | None = None,
    starts: int = 1,
    seed: int = 0,
    max_evaluations: int = 200,
    **options: Any,
) -> Optimum:
    """Search parameters or initial values for the smallest (or `largest`) value of an expression at the end of a motion.

    of: as in `gradient`. variables: names with their bounds. start: where the search begins, the declared values if not given;
    with `starts` > 1 others are drawn at random. The adjoint gives derivatives through impacts; where one does not exist, the
    search goes on without (Nelder and Mead).

    >>> import stickslip as ss
    >>> ball = ss.System("throw")
    >>> (x, z), u = ball.coordinates("x z", initial=[0, 0], velocity=[3, 4])
    >>> ball.kinetic_energy((u @ u) / 2)
    >>> ball.potential_energy(10 * z)
    >>> best = ss.optimize(ball, 0.5, 0.1, of=(x - 2)**2 + (z - 1)**2, variables={"x_dot": (0, 9), "z_dot": (0, 9)})
    >>> {name: round(value, 4) for name, value in best.values.items()}
    {'x_dot': 4.0, 'z_dot': 4.5}
    """
    from scipy.optimize import minimize

    names = list(variables)
    if not names:
        raise OptionError("variables is empty: name what may change, with bounds")
    require_inputs(system, [*names, *(start or {})])
    low, high = (np.array([float(variables[n][side]) for n in names]) for side in (0, 1))
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise OptionError("variables must have finite bounds, lowest before highest")
    initial = declared_inputs(system, parameters)
    first = np.clip([float((start or {}).get(n, initial[n])) for n in names], low, high)
    random, sign = np.random.default_rng(seed), -1.0 if flag(largest=largest) else 1.0
    count = 0

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray, Solution]:
        nonlocal count
        count += 1
        varied = with_inputs(system, names, x, parameters)
        result = gradient(system, t_end, dt, of=of, wrt=names, **varied, **options)
        slope = np.array([result.by[n][0] for n in names])
        return sign * result.value, sign * slope, result.solution

    def plain(x: np.ndarray) -> float:
        try:
            return evaluate(np.clip(x, low, high))[0]
        except NoDerivativeError as error:
            return sign * float(error.value) if error.value is not None else np.inf
        except ConvergenceError:
            return np.inf

    best: tuple[float, np.ndarray, bool] | None = None
    for k in range(starts):
        point = first if k == 0 else low + (high - low) * random.random(low.size)
        smooth = True
        try:
            found = minimize(
                lambda x: evaluate(x)[:2], point, jac=True, bounds=list(zip(low, high, strict=True)), method="L-BFGS-B",
                options={"maxfun": max_evaluations, "ftol": 1e-14, "gtol": 1e-9},
            )  # fmt: skip
            if not found.success and found.nfev < max_evaluations:
                raise NoDerivativeError(found.message)
        except (NoDerivativeError, ConvergenceError):
            smooth = False
            found = minimize(
                plain, point, bounds=list(zip(low, high, strict=True)), method="Nelder-Mead",
                options={"maxfev": max_evaluations, "xatol": 1e-9, "fatol": 1e-12},
            )  # fmt: skip
        if np.isfinite(found.fun) and (best is None or found.fun < best[0]):
            best = float(found.fun), np.asarray(found.x), smooth
    if best is None:
        raise StudyError(f"{system.name}: the motion cannot be computed from any start")
    value, x, smooth = best
    varied = with_inputs(system, names, x, parameters)
    solution = solve(system, t_end, dt, method="event-driven", progress=False, **varied)
    return Optimum(dict(zip(names, x.tolist(), strict=True)), sign * value, smooth, count, solution)

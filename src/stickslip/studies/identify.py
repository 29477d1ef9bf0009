"""Parameters from measurements: least squares with derivatives that are right through events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import ConvergenceError, ModelError, OptionError, StudyError
from stickslip.model.system import System
from stickslip.notebook import ShownWithFigure
from stickslip.solution import Solution
from stickslip.studies.inputs import declared_inputs, require_inputs
from stickslip.studies.measurements import Measurements
from stickslip.studies.sensitivity import Sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.95  # of the confidence intervals
NO_EFFECT = 1e-9  # of what is measured: a parameter that changes less by as much as its own size does not act


@dataclass(frozen=True)
class Identification(ShownWithFigure):
    """Parameters that fit, and how certain they are.

    values: the fit. errors: standard deviations. intervals: of confidence, 95 %. covariance: in the order of values. rms: the
    root mean square of the residuals, in units of sigma. starts: the sum of squares and the values found from each start.
    """

    values: dict[str, float]
    errors: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    covariance: np.ndarray
    rms: float
    count: int
    evaluations: int
    solution: Solution = field(repr=False)
    residuals: dict[str, np.ndarray] = field(repr=False)
    data: dict[str, np.ndarray] = field(repr=False)
    starts: list[tuple[float, dict[str, float]]] = field(repr=False)

    @property
    def correlation(self) -> np.ndarray:
        """Correlations of the parameters."""
        size = np.sqrt(np.diag(self.covariance))
        return np.asarray(self.covariance / np.outer(size, size))

    def __str__(self) -> str:
        lines = [f"{self.count} numbers, {self.evaluations} evaluations, residuals {self.rms:.3g} sigma"]
        for name, value in self.values.items():
            low, high = self.intervals[name]
            lines.append(f"  {name:<10} {value:.6g} +- {self.errors[name]:.2g}   95 %: {low:.6g} .. {high:.6g}")
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Measurement and fit of every column, and the residuals."""
        from stickslip.plots import plot_fit, saved

        return saved(plot_fit(self), path)


def identify(
    system: System,
    data: Mapping[str, Any] | Solution,
    parameters: Sequence[str],
    *,
    start: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    sigma: Mapping[str, float] | None = None,
    fixed: Mapping[str, float] | None = None,
    starts: int = 1,
    seed: int = 0,
    max_evaluations: int = 60,
    **options: Any,
) -> Identification:
    """Fit parameters and initial values to measurements.

    data: {"t": times, name: values, ...} with coordinates and velocities by name, at equidistant times from the start of the
    motion on, {"impacts": {contact: times}} for the times of impacts, and {"amplitudes": {coordinate: values}} for its
    largest values between impacts, one after the other; or a solution. parameters: what is searched,
    parameters of the system or coordinates and velocities at the start. start: where the search begins, instead of the
    declared values. bounds: lowest and highest values. sigma: standard deviations, for the weights, by column, contact, or
    "amplitudes of x"; without them all weigh the same and the scatter is estimated. fixed: other parameters. starts: with more
    than one, the others are drawn at random within bounds. options: of the method `event-driven`.

    >>> import numpy as np
    >>> import stickslip as ss
    >>> ball = ss.benchmarks.bouncing_ball()
    >>> truth = ss.solve(ball, 1.0, 0.02, method="event-driven", parameters={"e": 0.6}, progress=False)
    >>> noise = np.random.default_rng(1).normal(0, 1e-3, len(truth))
    >>> fit = ss.identify(ball, {"t": truth.t, "q": truth.q[:, 0] + noise}, ["e", "g"])
    >>> low, high = fit.intervals["e"]
    >>> bool(low < 0.6 < high and high - low < 0.01)
    True
    """
    from scipy.optimize import least_squares
    from scipy.stats import t as student

    if isinstance(data, Solution):
        data = {"t": data.t, **{n: data.q[:, k] for k, n in enumerate(data.names.q)}}
    if not isinstance(data, Mapping) or "t" not in data:
        raise OptionError("data must be {'t': times, 'x': values, ...}, or a solution")
    if isinstance(parameters, str) or not len(parameters):
        raise OptionError("parameters must be a list of names")
    problem = Measurements(system, data, parameters, dict(sigma or {}), {"parameters": fixed, **options})
    first, low, high = _box(system, problem.names, dict(start or {}), dict(bounds or {}), dict(fixed or {}))
    points = [first]
    if starts > 1:
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise OptionError("more than one start needs bounds of all parameters")
        random = np.random.default_rng(seed)
        points += [low + (high - low) * random.random(low.size) for _ in range(starts - 1)]
    cache: dict[bytes, Sensitivity] = {}

    def run(x: np.ndarray) -> Sensitivity:
        key = x.tobytes()
        if key not in cache:
            cache.clear()
            cache[key] = problem.run(x)
        return cache[key]

    _check_act(problem, run(first), first)
    results, found = [], []
    for point in points:
        try:
            result = least_squares(
                lambda x: np.concatenate(list(problem.residuals(run(x)).values())),
                point,
                jac=lambda x: problem.jacobian(run(x), x),
                bounds=(low, high),
                x_scale=np.maximum(np.abs(point), 1e-3),
                max_nfev=max_evaluations,
                ftol=1e-12,
                xtol=1e-10,
                gtol=1e-14,
            )
        except ConvergenceError:
            continue  # a start from which the motion cannot be computed
        except ModelError as error:
            raise StudyError(f"{system.name}: the search left what is possible; give bounds ({error})") from error
        results.append(result)
        found.append((2 * float(result.cost), dict(zip(problem.names, result.x.tolist(), strict=True))))
    if not results:
        raise StudyError(f"{system.name}: the motion cannot be computed from any start")
    best = min(results, key=lambda r: r.cost)
    n, m = best.fun.size, best.x.size
    _check_apart(problem, best.jac)
    normal = best.jac.T @ best.jac
    variance = 2 * best.cost / (n - m) if not sigma else max(1.0, 2 * best.cost / (n - m))
    covariance = variance * np.linalg.inv(normal)
    deviation = np.sqrt(np.diag(covariance))
    wide = float(student.ppf(0.5 + LEVEL / 2, n - m)) * deviation
    last = run(best.x)
    return Identification(
        values=dict(zip(problem.names, best.x.tolist(), strict=True)),
        errors=dict(zip(problem.names, deviation.tolist(), strict=True)),
        intervals={k: (float(x - w), float(x + w)) for k, x, w in zip(problem.names, best.x, wide, strict=True)},
        covariance=covariance,
        rms=float(np.sqrt(np.mean(best.fun**2))),
        count=n,
        evaluations=problem.evaluations,
        solution=last.solution,
        residuals=problem.residuals(last),
        data={"t": problem.t, **{k: values for k, (_, _, values) in problem.columns.items()}},
        starts=sorted(found, key=lambda pair: pair[0]),
    )


def _box(
    system: System,
    names: Sequence[str],
    start: dict[str, float],
    bounds: dict[str, tuple[float, float]],
    fixed: dict[str, float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    require_inputs(system, [*names, *start, *bounds])
    declared = declared_inputs(system, fixed)
    first = np.array([float(start.get(n, declared[n])) for n in names])
    low, high = (np.array([float(bounds.get(n, (-np.inf, np.inf))[side]) for n in names]) for side in (0, 1))
    outside = [n for n, x, a, b in zip(names, first, low, high, strict=True) if not a <= x <= b]
    if outside:
        raise OptionError(f"the start of {', '.join(outside)} lies outside of its bounds")
    return first, low, high


def _check_act(problem: Measurements, r: Sensitivity, x: np.ndarray) -> None:
    """Every parameter changes something that is measured, and there is enough to go by."""
    J = problem.jacobian(r, x)
    if len(J) <= len(problem.names):
        raise StudyError(f"{len(J)} measured numbers are not enough for {len(problem.names)} parameters")
    sizes = [np.abs(values).max() / problem.sigma[n] for n, (_, _, values) in problem.columns.items()]
    sizes += [np.abs(values).max() / problem.sigma[n] for n, values in problem.impacts.items()]
    sizes += [
        np.abs(values).max() / problem.sigma[f"amplitudes of {n}"] for n, (_, values) in problem.amplitudes.items()
    ]
    for name, value, column in zip(problem.names, x, J.T, strict=True):
        if not np.abs(column).max() * max(abs(value), 1e-3) > NO_EFFECT * max(sizes):
            raise StudyError(
                f"{problem.system.name}: {name!r} does not act on what is measured, at least not at the start"
            )
    _check_apart(problem, J)


def _check_apart(problem: Measurements, J: np.ndarray) -> None:
    """No combination of parameters leaves everything that is measured as it is."""
    if np.linalg.cond(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300)) > 1e6:
        names = ", ".join(problem.names)
        raise StudyError(f"{problem.system.name}: the data do not tell {names} apart; search fewer of them")

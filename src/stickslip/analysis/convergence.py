"""Convergence studies: errors against a reference for several steps and methods, observed orders, and what they cost.

The norms are those of the papers, for a matrix of differences with a row for each of the N steps and a column for each
component:

    rattle    max over components of sum_i dt |d_i|             RATTLE (56) with p = 1
    lobatto   sum_i dt sum_k |d_ik|                             LOBATTO (74)
    moreau    1/T sum_i dt sum_k d_ik^2                         MOREAU (65): a mean square, so that its order is doubled
    dg        2-norm of the matrix                              DG, section 6.1
    max       max over steps and components
    end       max over components at the end

Percussions of a step are compared as the mean forces P/dt of that step, with the reference's percussions summed over
the same interval. RATTLE compares the increments of steps of different length that end at the same time, which is
`percussions="increments"`; as an increment is proportional to its dt, that difference is of order 1 for any scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.analysis.runs import Outcome, attempt, schemes_of
from stickslip.errors import OptionError, StickslipError, unknown_name
from stickslip.model.system import System
from stickslip.notebook import ShownWithFigure
from stickslip.schemes import Scheme
from stickslip.schemes.spec import label, scheme_of
from stickslip.solution import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Norm = Callable[[np.ndarray, np.ndarray], float]
Exact = Callable[[np.ndarray], Any]
SHORT = 0.05  # seconds; a shorter run is timed three times, and the shortest time counts
QUANTITIES = ("q", "u", "P_N", "P_F", "P_g", "P_gamma")
REFINEMENT = 16
"""How much finer than the finest step a reference is: it shifts the observed order of a first-order method by 0.05."""

NORMS: dict[str, Norm] = {
    "rattle": lambda d, dt: float((dt[:, None] * np.abs(d)).sum(axis=0).max(initial=0.0)),
    "lobatto": lambda d, dt: float((dt[:, None] * np.abs(d)).sum()),
    "moreau": lambda d, dt: float((dt[:, None] * d**2).sum() / dt.sum()),
    "dg": lambda d, dt: float(np.linalg.norm(d, 2)) if d.size else 0.0,
    "max": lambda d, dt: float(np.abs(d).max(initial=0.0)),
    "end": lambda d, dt: float(np.abs(d[-1:]).max(initial=0.0)),
}


@dataclass(frozen=True)
class MeasuredRun:
    """One run of a study: errors by quantity, and the cost. `failure` says why there are none."""

    method: str
    dt: float
    errors: dict[str, float]
    steps: int = 0
    iterations: int = 0
    wall_time: float = 0.0
    failure: str | None = None


@dataclass(frozen=True)
class Convergence(ShownWithFigure):
    """The result of a study; prints as a table.

    >>> import stickslip as ss
    >>> slope = ss.benchmarks.point_mass_on_slope(case=1)
    >>> study = ss.convergence(slope, ["rattle", "moreau"], dts=[0.04, 0.02, 0.01], t_end=1.6)
    >>> {method: round(order) for method, order in study.orders("q").items()}
    {'rattle': 2, 'moreau': 1}
    """

    system: str
    reference: str
    norm: str
    t_end: float
    tol: float
    runs: tuple[MeasuredRun, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in the order in which they were named."""
        return tuple(dict.fromkeys(run.method for run in self.runs))

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that have errors."""
        return tuple(name for name in QUANTITIES if any(name in run.errors for run in self.runs))

    def of(self, method: str) -> tuple[MeasuredRun, ...]:
        """The runs of a method that gave a result, from the largest step to the smallest."""
        return tuple(run for run in self.runs if run.method == method and run.failure is None)

    @property
    def failures(self) -> tuple[MeasuredRun, ...]:
        """The runs that gave no result."""
        return tuple(run for run in self.runs if run.failure is not None)

    def errors(self, method: str, quantity: str = "q") -> tuple[np.ndarray, np.ndarray]:
        """Steps, and errors of a quantity, of a method."""
        runs = [run for run in self.of(method) if quantity in run.errors]
        return np.array([run.dt for run in runs]), np.array([run.errors[quantity] for run in runs])

    def orders(self, quantity: str = "q") -> dict[str, float]:
        """Observed order of each method: slope of log(error) over log(dt) by least squares.

        Errors that the tolerance of the steps hides, below ten times `tol`, are left out; nan where fewer than two stay.
        """
        out = {}
        for method in self.methods:
            dt, error = self._visible(method, quantity)
            out[method] = float(np.polyfit(np.log(dt), np.log(error), 1)[0]) if len(dt) > 1 else float("nan")
        return out

    def pairwise(self, quantity: str = "q") -> dict[str, np.ndarray]:
        """Observed orders between neighbouring steps, from the largest to the smallest."""
        out = {}
        for method in self.methods:
            dt, error = self._visible(method, quantity)
            out[method] = np.diff(np.log(error)) / np.diff(np.log(dt))
        return out

    def _visible(self, method: str, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        dt, error = self.errors(method, quantity)
        seen = error > 10 * self.tol
        return dt[seen], error[seen]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Header and rows of texts: a row for each run."""
        names = self.quantities
        rows = [
            (run.method, f"{run.dt:g}")
            + tuple(f"{run.errors[name]:.2e}" if name in run.errors else "-" for name in names)
            + ((f"{1e3 * run.wall_time:.3g}", f"{run.iterations}") if run.failure is None else ("-", "-"))
            for run in self.runs
        ]
        return ("method", "dt", *[f"error of {name}" for name in names], "time in ms", "iterations"), rows

    def __str__(self) -> str:
        header, body = self.table()
        widths = [max(len(row[k]) for row in [header, *body]) for k in range(len(header))]
        lines = [
            "  ".join([f"{row[0]:{widths[0]}}", *[f"{x:>{w}}" for x, w in zip(row[1:], widths[1:], strict=True)]])
            for row in [header, *body]
        ]
        for name in self.quantities:
            orders = ", ".join(f"{method} {order:.2f}" for method, order in self.orders(name).items())
            lines.append(f"observed order of {name}: {orders}")
        return "\n".join(lines + [f"{run.method}, dt = {run.dt:g}: {run.failure}" for run in self.failures])

    def csv(self) -> str:
        """All numbers as text with commas, a line for each run."""
        names = self.quantities
        lines = [",".join(["method", "dt", *names, "wall_time", "steps", "iterations", "failure"])]
        for run in self.runs:
            numbers = [repr(run.dt), *[repr(run.errors[n]) if n in run.errors else "" for n in names]]
            numbers += [repr(run.wall_time), str(run.steps), str(run.iterations)]
            reason = '"' + run.failure.replace('"', "'") + '"' if run.failure else ""
            lines.append(",".join([run.method, *numbers, reason]))
        return "\n".join(lines) + "\n"

    def plot(self, path: str | Path | None = None, quantity: str = "q") -> Figure:
        """Convergence and work-precision diagrams, saved under `path` if there is one.

        >>> study.plot("convergence.png", quantity="u")    # doctest: +SKIP
        """
        from stickslip.plots import plot_convergence, saved

        return saved(plot_convergence(self, quantity), path)


def convergence(
    system: System,
    methods: str | Scheme | Sequence[str | Scheme],
    dts: Sequence[float],
    t_end: float,
    *,
    reference: str | Scheme | Solution | Exact = "finest",
    dt_reference: float | None = None,
    norm: str | Norm = "rattle",
    percussions: str = "forces",
    tol: float = 1e-11,
    **options: Any,
) -> Convergence:
    """Errors of methods for several steps, against a reference; `options` as of `solve`.

    reference: "finest" compares each method with its own run at `dt_reference` (a sixteenth of the smallest step unless
    given); the name of a method, such as "rattle" or "event-driven", compares all with that method's run at
    `dt_reference`; a solution or a function of times, which returns q or (q, u) with a row for each time, is taken as it
    is. Steps should be multiples of one another, so that times coincide; a reference is interpolated elsewhere.
    norm: a name of `NORMS`, or a function of the differences (one row per step) and of the steps' lengths. percussions:
    "forces" or "increments", see the module's docstring.

    >>> import stickslip as ss
    >>> fall = ss.benchmarks.bouncing_ball(height=100.0)
    >>> exact = lambda t: (100 - 9.81 / 2 * t**2)[:, None]
    >>> study = ss.convergence(fall, "rattle", dts=[0.1, 0.05], t_end=1.0, reference=exact)
    >>> study.runs[0].errors["q"] < 1e-10      # a parabola is solved exactly
    True
    """
    if not isinstance(system, System):
        raise OptionError(f"convergence needs a System, such as stickslip.benchmarks.slider_crank(), got {system!r}")
    try:
        steps = sorted({float(dt) for dt in dts}, reverse=True) if not isinstance(dts, str | bytes) else []
    except (TypeError, ValueError, OverflowError):
        steps = []
    if not steps:
        raise OptionError(f"a convergence study needs steps; give dts=[1e-2, 5e-3, ...], not {dts!r}")
    if isinstance(norm, str) and norm not in NORMS:
        raise OptionError(unknown_name("norm", norm, NORMS))
    if percussions not in ("forces", "increments"):
        raise OptionError(unknown_name("comparison of percussions", percussions, ("forces", "increments")))
    measure = NORMS[norm] if isinstance(norm, str) else norm
    schemes = schemes_of(methods)
    fine = dt_reference or steps[-1] / REFINEMENT
    common = _common_reference(system, reference, t_end + steps[0], fine, tol, options)
    runs: list[MeasuredRun] = []
    for scheme in schemes:
        own: Solution | Exact
        if common is None:
            outcome = attempt(system, scheme, t_end + steps[0], fine, tol=tol, **options)
            if outcome.failure is not None or outcome.solution is None:
                runs += [
                    MeasuredRun(label(scheme), dt, {}, failure=f"its reference: {outcome.failure}") for dt in steps
                ]
                continue
            own = outcome.solution
        else:
            own = common
        for dt in steps:
            outcomes = [attempt(system, scheme, t_end, dt, tol=tol, **options)]
            while len(outcomes) < 3 and _wall_time(outcomes[-1]) < SHORT:
                outcomes.append(attempt(system, scheme, t_end, dt, tol=tol, **options))
            outcome = min(outcomes, key=_wall_time)
            runs.append(_measured(outcome, dt, own, measure, percussions == "increments"))
    about = reference if isinstance(reference, str) else label(reference) if isinstance(reference, Scheme) else "given"
    if isinstance(reference, str | Scheme):
        about += f", dt = {fine:g}"
    name = norm if isinstance(norm, str) else getattr(norm, "__name__", "given")
    return Convergence(system.name, about, name, float(t_end), tol, tuple(runs))


def _common_reference(
    system: System, reference: str | Scheme | Solution | Exact, t_end: float, dt: float, tol: float, options: Any
) -> Solution | Exact | None:
    """What all methods are compared with; None where each has its own."""
    if reference == "finest":
        return None
    if isinstance(reference, Solution) or (callable(reference) and not isinstance(reference, Scheme)):
        return reference
    if not isinstance(reference, str | Scheme):
        raise OptionError(f"reference = {reference!r} is no 'finest', method, solution or function")
    outcome = attempt(system, scheme_of(reference), t_end, dt, tol=tol, **options)
    if outcome.failure is not None or outcome.solution is None:
        raise StickslipError(f"the reference by {outcome.method} failed: {outcome.failure}")
    return outcome.solution


def _wall_time(outcome: Outcome) -> float:
    return SHORT if outcome.failure or outcome.solution is None else outcome.solution.stats.wall_time


def _measured(outcome: Outcome, dt: float, reference: Solution | Exact, norm: Norm, increments: bool) -> MeasuredRun:
    s = outcome.solution
    if outcome.failure is not None or s is None:
        return MeasuredRun(outcome.method, dt, {}, failure=outcome.failure)
    lengths, expected = np.diff(s.t), _expected(reference, s.t, increments)
    errors = {}
    for name, values in expected.items():
        computed = getattr(s, name)[1:]
        if computed.shape != values.shape:
            raise OptionError(f"the reference has {name} of shape {values.shape}, the solution {computed.shape}")
        if values.shape[1]:
            force = name.startswith("P_") and not increments
            errors[name] = norm((computed - values) / (lengths[:, None] if force else 1.0), lengths)
    return MeasuredRun(outcome.method, dt, errors, s.stats.steps, int(s.stats.iterations.sum()), s.stats.wall_time)


def _expected(reference: Solution | Exact, t: np.ndarray, increments: bool) -> dict[str, np.ndarray]:
    """The reference at the times t[1:]: states there, percussions of the steps that end there."""
    if not isinstance(reference, Solution):
        values = reference(t[1:])
        pair = values if isinstance(values, tuple) else (values,)
        return {name: np.asarray(value, float) for name, value in zip(("q", "u"), pair, strict=False)}
    if reference.t[-1] < t[-1] - 1e-9 * max(1.0, abs(t[-1])):
        raise OptionError(f"the reference ends at t = {reference.t[-1]:g}, before the solutions at t = {t[-1]:g}")
    out = {}
    for name in QUANTITIES:
        rows = getattr(reference, name)
        summed = name.startswith("P_") and not increments
        rows = np.cumsum(rows, axis=0) if summed else rows
        columns = [np.interp(t, reference.t, column) for column in rows.T]
        values = np.column_stack(columns) if columns else np.zeros((len(t), 0))
        out[name] = np.diff(values, axis=0) if summed else values[1:]
    return out

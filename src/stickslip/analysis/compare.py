"""Several methods on one system, side by side: motion, penetration, constraint residuals, energy and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.analysis.ledger import EnergyLedger, energy_ledger
from stickslip.analysis.runs import Outcome, attempt, schemes_of
from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.notebook import ShownWithFigure
from stickslip.schemes import Scheme
from stickslip.solution import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADER = ("method", "µs per step", "iterations", "penetration", "|g|", "|g_dot|", "|gamma|", "E end", "E remainder")


@dataclass(frozen=True, eq=False)
class Comparison(ShownWithFigure):
    """What several methods made of one system, in the order in which they were named; prints as a table.

    `ledgers` holds the energy ledger of each method that has a solution.

    >>> import stickslip as ss
    >>> found = ss.compare(ss.benchmarks.bouncing_ball(), ["moreau", "rattle"], t_end=0.1, dt=1e-2)
    >>> list(found.solutions), found.failures
    (['moreau', 'rattle'], {})
    """

    system: str
    dt: float
    t_end: float
    outcomes: tuple[Outcome, ...]
    ledgers: dict[str, EnergyLedger]

    @property
    def solutions(self) -> dict[str, Solution]:
        """The solutions by method, of those that have one; one that failed reaches to where it failed."""
        return {o.method: o.solution for o in self.outcomes if o.solution is not None}

    @property
    def failures(self) -> dict[str, str]:
        """Why methods failed, of those that did."""
        return {o.method: o.failure for o in self.outcomes if o.failure is not None}

    def table(self) -> list[tuple[str, ...]]:
        """A row of texts for every method, under `HEADER`; a method without a solution has its name alone."""
        return [(o.method, *self._numbers(o)) for o in self.outcomes]

    def _numbers(self, outcome: Outcome) -> tuple[str, ...]:
        s = outcome.solution
        if s is None or s.stats.steps == 0:
            return ("-",) * (len(HEADER) - 1)
        gap = s.smallest_gap()
        largest = [f"{np.abs(x).max():.1e}" if x.size else "-" for x in (s.g, s.g_dot, s.gamma)]
        return (
            f"{1e6 * s.stats.time_per_step:.3g}",
            f"{s.stats.mean_iterations.sum():.2f}",
            "-" if gap is None else f"{max(0.0, -gap[0]):.1e}",
            *largest,
            f"{s.energy().total[-1]:.6g}",
            f"{self.ledgers[outcome.method].totals['remainder']:.1e}",
        )

    def __str__(self) -> str:
        rows = [HEADER, *self.table()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
        lines = [
            "  ".join([f"{row[0]:{widths[0]}}", *[f"{x:>{w}}" for x, w in zip(row[1:], widths[1:], strict=True)]])
            for row in rows
        ]
        return "\n".join(lines + [f"{method}: {reason}" for method, reason in self.failures.items()])

    def plot(self, path: str | Path | None = None) -> Figure:
        """All methods in one picture, saved under `path` if there is one.

        >>> comparison.plot("comparison.png")    # doctest: +SKIP
        """
        from stickslip.plots import plot_comparison, saved

        return saved(plot_comparison(self), path)


def compare(system: System, methods: Sequence[str | Scheme], t_end: float, dt: float, **options: Any) -> Comparison:
    """Run several methods on one system; `options` as of `solve`.

    A method that cannot treat the system, or whose step does not converge, is part of the result with its reason.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.rotating_bouncing_ball()
    >>> result = ss.compare(ball, ["rattle", "moreau", "schatzman-paoli"], t_end=1.5, dt=1e-2)
    >>> list(result.solutions)
    ['rattle', 'moreau']
    >>> result.failures["schatzman-paoli"][:46]
    "method 'schatzman-paoli' cannot treat friction"
    """
    if not isinstance(system, System):
        raise OptionError(f"compare needs a System, such as stickslip.benchmarks.slider_crank(), got {system!r}")
    outcomes = tuple(attempt(system, scheme, t_end, dt, **options) for scheme in schemes_of(methods))
    ledgers = {o.method: energy_ledger(o.solution, system) for o in outcomes if o.solution is not None}
    return Comparison(system.name, dt, t_end, outcomes, ledgers)

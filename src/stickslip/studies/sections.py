"""Sections of a motion: states at multiples of a period, where an expression crosses zero, or after impacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import OptionError, StudyError, unknown_name
from stickslip.model.system import System
from stickslip.notebook import ShownWithFigure
from stickslip.schemes import Scheme
from stickslip.solve.prepared import prepare
from stickslip.studies.many import ManyRuns, Trajectory
from stickslip.studies.numeric import Numeric
from stickslip.studies.shooting import period_function, positive_period, section_function

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PoincareSection(ShownWithFigure):
    """States on a section: times t, coordinates q and velocities u, one row per crossing."""

    system: str
    names: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    about: str

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.names:
            raise OptionError(unknown_name("coordinate or velocity", name, self.names))
        return np.asarray(np.hstack([self.q, self.u])[:, self.names.index(name)])

    def __len__(self) -> int:
        return len(self.t)

    def __str__(self) -> str:
        return f"{self.system}: {len(self)} points on the section, {self.about}"

    def plot(self, path: str | Path | None = None, x: str | None = None, y: str | None = None) -> Figure:
        """The points in the plane of two coordinates or velocities; the first of each if none are named."""
        from stickslip.plots import plot_section, saved

        return saved(plot_section(self, x or self.names[0], y or self.names[self.q.shape[1]]), path)


@dataclass(frozen=True)
class Cut:
    """How a motion is cut: by time, by an expression, or at the impacts of a contact; and the step."""

    system: System
    steps: int
    dt: float | None = None
    period: Numeric | None = None
    section: Numeric | None = None
    contact: int = -1
    about: str = ""
    names: tuple[str, ...] = field(default=())

    def step(self, values: np.ndarray) -> float:
        """The length of a step for these parameters."""
        if self.dt is not None:
            return self.dt
        assert self.period is not None
        return positive_period(self.system, float(self.period(values)[0][0, 0])) / self.steps

    def states(
        self, runs: ManyRuns, x: np.ndarray, values: np.ndarray, count: int, transient: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        """Times and states on the section after the transient, and the end of the run.

        By time, `count` and `transient` are periods; otherwise steps, in units of `steps`.
        """
        dt = self.step(values)
        every = self.steps if self.section is None and self.contact < 0 else 1
        run = runs.run(x, values, dt, (transient + count) * self.steps, every, skip=transient * self.steps)
        if every > 1:
            return run.t, run.x, run.x[-1] if len(run.x) else x, run.failed
        t, states = self._impacts(run) if self.contact >= 0 else self._crossings(run, values)
        return t, states, run.x[-1] if len(run.x) else x, run.failed

    def _impacts(self, run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
        """States after the impacts of the contact."""
        rows = run.impacts[run.impacts[:, 1] == self.contact]
        return rows[:, 0], rows[:, 2:]

    def _crossings(self, run: Trajectory, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the expression crosses zero upwards, linearly between two rows."""
        assert self.section is not None
        n_q = self.system.n_q
        s = np.array([self.section(t, x[:n_q], x[n_q:], values)[0][0, 0] for t, x in zip(run.t, run.x, strict=True)])
        rows = np.flatnonzero((s[:-1] < 0) & (s[1:] >= 0))
        share = (s[rows] / (s[rows] - s[rows + 1]))[:, None]
        states = run.x[rows] + share * (run.x[rows + 1] - run.x[rows])
        return run.t[rows] + share[:, 0] * (run.t[rows + 1] - run.t[rows]), states


def whole_numbers(**given: tuple[Any, int]) -> None:
    """Each is a whole number, at least as large as asked."""
    for name, (value, least) in given.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise OptionError(f"{name} = {value!r} must be a whole number, at least {least}")


def cut_of(system: System, period: Any, section: Any, contact: str | None, steps: int, dt: float | None) -> Cut:
    """Check what a study was told about its section."""
    given = [
        name for name, value in (("period", period), ("section", section), ("contact", contact)) if value is not None
    ]
    if len(given) != 1:
        raise OptionError(f"give one of period=, section= and contact=, got {', '.join(given) or 'none'}")
    whole_numbers(steps=(steps, 1))
    names = system.q_names + system.u_names
    if period is not None:
        return Cut(
            system, steps, None, period_function(system, period), about="at multiples of the period", names=names
        )
    if dt is None or not dt > 0:
        raise OptionError(f"dt = {dt!r} must be a number > 0, for a section that is not a period")
    if section is not None:
        return Cut(
            system, steps, dt, None, section_function(system, section), about=f"where {section} = 0", names=names
        )
    known = prepare(system).names.contacts
    if contact not in known:
        raise OptionError(unknown_name("contact", str(contact), known))
    return Cut(system, steps, dt, contact=known.index(contact), about=f"at impacts of {contact}", names=names)


def poincare(
    system: System,
    *,
    period: Any = None,
    section: Any = None,
    contact: str | None = None,
    count: int = 1000,
    transient: int = 100,
    steps: int = 200,
    dt: float | None = None,
    method: str | Scheme = "auto",
    parameters: Mapping[str, float] | None = None,
    q0: np.ndarray | None = None,
    u0: np.ndarray | None = None,
    **options: Any,
) -> PoincareSection:
    """The states of a motion on a section.

    period: every period, a number or an expression of parameters, in `steps` steps each. section: where an expression crosses
    zero upwards. contact: after every impact of this contact. The last two need dt, and a stretch of `steps` steps stands
    for a period. The first `transient` periods are left out, then follow `count`.

    method: "auto" locates impacts inside steps where there is no friction and no joint, and takes rattle elsewhere. Schemes
    that capture events place an impact at the end of a step: sections then blur by about a velocity times dt.

    >>> import stickslip as ss
    >>> s = ss.benchmarks.impact_oscillator(zeta=0.1)
    >>> points = ss.poincare(s, period=2 * ss.math.pi / 2.8, count=20, transient=100)
    >>> len(points)
    20
    """
    whole_numbers(count=(count, 1), transient=(transient, 0))
    runs = ManyRuns(system, method, options)
    cut = cut_of(system, period, section, contact, steps, dt)
    values = np.array(list(system.parameter_values(parameters).values()))
    x = np.concatenate(
        [system.q_initial if q0 is None else np.asarray(q0), system.u_initial if u0 is None else np.asarray(u0)]
    )
    if x.shape != (system.n_q + system.n_u,):
        raise OptionError(f"q0 and u0 must have {system.n_q} and {system.n_u} numbers")
    runs.check(x, values, 0.0, cut.step(values))
    t, states, _, failed = cut.states(runs, x, values, count, transient)
    if failed:
        raise StudyError(f"{system.name}: a step could not be solved; solve() says more")
    if not len(t):
        raise StudyError(f"{system.name}: the section ({cut.about}) is never crossed after the transient")
    n = system.n_q
    return PoincareSection(system.name, cut.names, t, states[:, :n], states[:, n:], cut.about)

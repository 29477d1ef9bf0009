"""Every error that stickslip raises on purpose; all of them say what is wrong and what helps."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stickslip.nonsmooth.problem import Problem
    from stickslip.solution import Solution


class StickslipError(Exception):
    """Base class: catch this to catch everything that the library raises on purpose.

    >>> import stickslip as ss
    >>> try:
    ...     ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=1e-3, method="ratle")
    ... except ss.StickslipError as error:
    ...     print(str(error).partition(";")[0])
    unknown method 'ratle'
    """


class ModelError(StickslipError, ValueError):
    """A mechanism is declared wrongly: a shape, an undeclared symbol, a value out of its range.

    >>> import stickslip as ss
    >>> try:
    ...     ss.PointMass("m", mass=-1, position=[0, 0])
    ... except ss.ModelError as error:
    ...     print(error)
    point mass 'm': mass = -1 must be a finite number > 0
    """


class OptionError(StickslipError, ValueError):
    """An argument of `solve` or of the command line cannot be used.

    >>> import stickslip as ss
    >>> try:
    ...     ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=0)
    ... except ss.OptionError as error:
    ...     print(error)
    dt = 0 must be a finite number > 0
    """


class InitialStateError(StickslipError, ValueError):
    """The initial state violates a constraint or lies inside an obstacle."""


class MethodError(StickslipError, ValueError):
    """A scheme cannot treat this system; the message names schemes that can.

    >>> import stickslip as ss
    >>> try:
    ...     ss.solve(ss.benchmarks.slider_crank(), t_end=1.0, dt=1e-3, method="schatzman-paoli")
    ... except ss.MethodError as error:
    ...     print(str(error).partition(".")[0])    # doctest: +ELLIPSIS
    method 'schatzman-paoli' ...
    """


class StabilityWarning(UserWarning):
    """The step is so large that oscillations grow with this scheme, or that stick and slip cannot be told apart."""


class EnergyWarning(UserWarning):
    """The energy of a run rises although nothing puts it in."""


class ImpactWarning(UserWarning):
    """Contacts that jam have impacted without their restitution, with which a step has no solution."""


class AngleWarning(UserWarning):
    """A spring, a motor or a stop in space was taken past half a turn, where the angle that it sees jumps."""


class CacheWarning(UserWarning):
    """Compiled code cannot be kept where it is wanted."""


class TunnellingWarning(UserWarning):
    """A body moves farther in a step than it is thick, with a scheme that does not look ahead at positions."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of this package that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("stickslip."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class NoDerivativeError(StickslipError):
    """A motion has no derivative at this point: it grazes a contact, or a law is at the border of two cases.

    `value` is the number whose derivative was wanted, if there is one.
    """

    def __init__(self, message: str, value: float | None = None):
        super().__init__(message)
        self.value = value


class StudyError(StickslipError):
    """A study found no answer: an orbit that does not converge, a section that is never crossed, data without information."""


class ResultFileError(StickslipError):
    """A file cannot be read as a stickslip result."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or SIGTERM, during a run. Nothing is lost: `solution` holds every step up to there.

    It is a KeyboardInterrupt, so that it also ends a loop over many runs. A run with out= is in its file, and `ss.resume`
    continues it. `signal` is the number of the signal.

    >>> import stickslip as ss
    >>> try:
    ...     solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=1e-2)
    ... except ss.Interrupted as stop:
    ...     solution = stop.solution
    """

    def __init__(self, message: str, read: Callable[[], Solution], signal: int = 2):
        super().__init__(message)
        self._read, self.signal = read, signal

    @property
    def solution(self) -> Solution:
        """All steps up to the interruption; of a run with out= they are read from its file."""
        return self._read()


class ConvergenceError(StickslipError):
    """A step could not be solved. Nothing is lost: `solution` holds every step before it.

    Attributes: `time` and `step` where it happened, `stage` of the scheme, `residual` that was reached, `solution`,
    `names` of the contacts and constraints that did not close, or of the equations if all of them did, and `problem`, the
    linearised contact problem of the step (`error.problem.save("step.hdf5")` keeps it), or None.

    >>> import stickslip as ss
    >>> try:
    ...     solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=1e-2)
    ... except ss.ConvergenceError as error:
    ...     solution = error.solution
    """

    def __init__(
        self,
        message: str,
        *,
        time: float,
        step: int,
        stage: str,
        residual: float,
        solution: Solution,
        names: tuple[str, ...] = (),
        problem: Problem | None = None,
    ):
        super().__init__(message)
        self.time, self.step, self.stage, self.residual, self.solution = time, step, stage, residual, solution
        self.names, self.problem = names, problem

    def __reduce__(self) -> tuple[Any, ...]:
        """Exceptions are pickled by their positional arguments; this one has named ones, which a pool of processes needs."""
        return _rebuilt, (type(self), str(self), {k: v for k, v in self.__dict__.items() if not k.startswith("_")})


def _rebuilt(kind: type[ConvergenceError], message: str, attributes: dict[str, Any]) -> ConvergenceError:
    return kind(message, **attributes)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """The text for a name that does not exist: what was meant, probably, and what there is.

    >>> unknown_name("method", "ratle", ["moreau", "rattle"])
    "unknown method 'ratle'; did you mean 'rattle'? Known: moreau, rattle"
    """
    known = sorted(known)
    close = get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"unknown {kind} {name!r}{hint} Known: {', '.join(known) or 'none'}"

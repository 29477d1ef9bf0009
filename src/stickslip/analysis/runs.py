"""Run several methods on one system, where a failure of one is a result and not the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stickslip.errors import ConvergenceError, MethodError, OptionError
from stickslip.model.system import System
from stickslip.schemes import Scheme
from stickslip.schemes.spec import label, scheme_of
from stickslip.solution import Solution
from stickslip.solve import solve


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method made of a system: its solution, or why there is none.

    A step that did not converge leaves the solution up to there and a `failure`.
    """

    method: str
    solution: Solution | None
    failure: str | None = None


def schemes_of(methods: str | Scheme | Sequence[str | Scheme]) -> list[Scheme]:
    """Schemes from names, texts with options, or schemes; wrong ones are refused before anything runs.

    >>> [scheme.name for scheme in schemes_of(["rattle", "theta:theta=1"])]
    ['rattle', 'theta']
    """
    given = [methods] if isinstance(methods, str | Scheme) else methods
    if not isinstance(given, list | tuple) or not given:
        raise OptionError("there is no method to run; name one or more, for example 'rattle'")
    schemes = [scheme_of(method) for method in given]
    labels = [label(scheme) for scheme in schemes]
    for k, text in enumerate(labels):
        if text in labels[:k]:
            raise OptionError(f"method {text!r} is named twice")
    return schemes


def attempt(system: System, scheme: Scheme, t_end: float, dt: float, **options: Any) -> Outcome:
    """Solve, and keep the reason where the scheme cannot treat the system or a step does not converge."""
    try:
        return Outcome(label(scheme), solve(system, t_end, dt, method=scheme, **options))
    except MethodError as error:
        return Outcome(label(scheme), None, str(error))
    except ConvergenceError as error:
        return Outcome(label(scheme), error.solution, str(error).split(". A smaller dt")[0])

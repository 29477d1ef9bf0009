"""Options of calls: what they must be, and complaints that say so."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.engine.runs import ROUNDING
from stickslip.errors import MethodError, OptionError, unknown_name
from stickslip.schemes import Scheme

MOST_STEPS = 1e12  # more is a slip of the pen: years of computing


def count_steps(t_start: float, t_end: float, dt: float) -> int:
    """How many steps lead from t_start to t_end."""
    if 0 < t_end - t_start < dt * (1 - ROUNDING):
        raise OptionError(f"dt = {dt:g} is longer than the whole run, from t = {t_start:g} to {t_end:g}")
    if (t_end - t_start) / dt > MOST_STEPS:
        raise OptionError(
            f"dt = {dt:g} makes {(t_end - t_start) / dt:.3g} steps to t_end = {t_end:g}; take larger ones"
        )
    return max(0, math.ceil((t_end - t_start) / dt - ROUNDING))


def subdivides(on_failure: Any, scheme: Scheme) -> bool:
    """Whether steps that fail are subdivided; a scheme that cannot is refused by name."""
    if on_failure not in ("raise", "subdivide"):
        raise OptionError(f"on_failure = {on_failure!r} is neither 'raise' nor 'subdivide'")
    if on_failure == "subdivide" and scheme.facts.equal_steps:
        raise MethodError(
            f"method {scheme.name!r} cannot subdivide a step: {scheme.facts.equal_steps}; leave out on_failure, or take "
            "another method"
        )
    return bool(on_failure == "subdivide")


def contact_solver(solver: Any, scheme: Scheme) -> str:
    """The solver of stages with contacts; one that there is not, and a method without stages, are refused by name."""
    if solver == "auto":
        return "auto"
    from stickslip.nonsmooth import SOLVERS

    if not isinstance(solver, str) or solver not in SOLVERS:
        raise OptionError(unknown_name("solver", str(solver), ["auto", *SOLVERS]))
    if type(scheme).compile is not Scheme.compile:
        raise MethodError(f"method {scheme.name!r} has no steps, whose contact problems solver={solver!r} could solve")
    return solver


def positive(**option: Any) -> float:
    """An option that must be a finite number > 0, as a float."""
    ((name, value),) = option.items()
    if not (is_number(value) and value > 0):
        raise OptionError(f"{name} = {value!r} must be a finite number > 0")
    return as_float(value)


def as_float(value: Any) -> float:
    """A number as it was written: 0.01 of single precision is 0.01, and not 0.00999999977, of which 0.1 takes 11 steps."""
    short = isinstance(value, np.floating) and not isinstance(value, float)
    return float(str(value)) if short else float(value)


def whole(**option: Any) -> int:
    """An option that must be a whole number of at least 1, as an int."""
    ((name, value),) = option.items()
    if not is_number(value) or int(value) != value or value < 1:
        raise OptionError(f"{name} = {value!r} must be a whole number, at least 1")
    return int(value)


def flag(**option: Any) -> bool:
    """An option that must be True or False."""
    ((name, value),) = option.items()
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{name} = {value!r} must be True or False")
    return bool(value)


def shows_progress(progress: Any) -> bool | None:
    """The option that asks for a bar."""
    if not isinstance(progress, bool | np.bool_ | None):
        raise OptionError(f"progress = {progress!r} must be True, False or None, which asks the terminal")
    return None if progress is None else bool(progress)


def is_number(value: Any) -> bool:
    """Whether it is a finite real number."""
    try:
        return isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value)
    except OverflowError:  # an int beyond all floats
        return False


def vector_of(own: np.ndarray, given: Any, name: str) -> np.ndarray:
    """A vector that is given instead of `own`, as floats."""
    if given is None:
        return own
    try:
        state = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"{name} = {given!r} must be an array of {own.size} numbers") from None
    if state.shape != own.shape:
        raise OptionError(f"{name} has shape {state.shape}, expected {own.shape}")
    if not np.isfinite(state).all():
        raise OptionError(f"{name} is not finite: {state}")
    return state


def out_path(**option: Any) -> Path:
    """The file that an option such as `out=` names."""
    ((name, value),) = option.items()
    if not isinstance(value, str | os.PathLike):
        raise OptionError(f"{name} = {value!r} must be the path of a file, such as 'run.h5'")
    if Path(value).is_dir():
        raise OptionError(
            f"{name} = {str(value)!r} is a folder; name a file in it, such as {str(Path(value) / 'run.h5')!r}"
        )
    if Path(value).suffix == ".part":
        raise OptionError(
            f"{name} = {str(value)!r}: unfinished results end in .part; give the name of the finished one"
        )
    return Path(value)

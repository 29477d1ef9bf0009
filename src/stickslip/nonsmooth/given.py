"""What users give to problems and their solvers, checked: anything else is refused under the name of the argument."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.errors import OptionError, ResultFileError


def vector(name: str, value: Any) -> np.ndarray:
    """A row of finite numbers.

    >>> vector("mu", 0.3)
    array([0.3])
    """
    _refuse_complex(name, value)
    try:
        numbers = np.atleast_1d(np.array(value, float)).ravel()
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"{name} = {value!r} must be numbers, one per row") from None
    if not np.isfinite(numbers).all():
        raise OptionError(f"{name} is not finite")
    return numbers


def matrix(name: str, value: Any) -> sp.csr_matrix:
    """A matrix of finite numbers, dense or sparse."""
    _refuse_complex(name, value)
    try:
        numbers = sp.csr_matrix(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"{name} = {value!r} must be a matrix of numbers, dense or of scipy.sparse") from None
    if not np.isfinite(numbers.data).all():
        raise OptionError(f"{name} is not finite")
    return numbers


def _refuse_complex(name: str, value: Any) -> None:
    """NumPy would take the real parts."""
    try:
        is_complex = np.iscomplexobj(value)
    except ValueError:  # rows of different lengths
        return
    if is_complex:
        raise OptionError(f"{name} is complex; its numbers must be real")


def friction(value: Any) -> np.ndarray:
    """Coefficients of friction, one per contact."""
    mu = vector("mu", value)
    if (mu < 0).any():
        raise OptionError(f"mu = {mu.min():g} is negative")
    return mu


def count(name: str, value: Any, most: int) -> int:
    """A number of rows, from zero to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= most:
        raise OptionError(f"{name} = {value!r} must be a whole number from 0 to {most}, the number of rows")
    return int(value)


def regular(M: sp.csr_matrix) -> None:
    """Refuse a mass matrix that has no inverse."""
    from scipy.sparse.linalg import splu

    try:
        splu(sp.csc_matrix(M))
    except RuntimeError:
        raise OptionError("M is singular: some motion has no mass; give it one, or leave it out") from None


def tolerance(value: Any, smallest: float) -> float:
    """A relative tolerance that rounding can reach."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise OptionError(f"tol = {value!r} must be a number, such as 1e-8")
    if not smallest <= value < np.inf:
        why = "is below rounding errors" if value < smallest else "must be a finite number"
        raise OptionError(f"tol = {value!r} {why}; the smallest that makes sense is {smallest:g}")
    return float(value)


def file_to_write(path: Any) -> Path:
    """A path that does not name a folder."""
    if not isinstance(path, str | PathLike):
        raise ResultFileError(f"{path!r} is not the path of a file, such as 'problem.hdf5'")
    path = Path(path)
    if path.is_dir():
        raise ResultFileError(f"{path} is a folder; name a file in it, such as {path / 'problem.hdf5'}")
    return path

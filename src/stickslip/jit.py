"""The one place that says how loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable)


def jit(function: F) -> F:
    """Compile with Numba: cached on disk, without the interpreter lock, IEEE arithmetic (runs repeat bit for bit).

    Division follows IEEE too (`error_model="numpy"`): a zero pivot gives inf, which the solver tests for, not an exception
    check at every division of the hot loop.
    """
    return numba.njit(**POLICY)(function)


def jit_inline(function: F) -> F:
    """The same for a function that is called from one place: the tuples of tables are then not copied for every call."""
    return numba.njit(**POLICY, forceinline=True)(function)


POLICY = {"cache": True, "nogil": True, "error_model": "numpy", "boundscheck": False}

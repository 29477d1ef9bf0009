"""The one place that says how loops are compiled."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable)

# With STICKSLIP_JIT=0 the same loops run in plain Python, thousands of times slower: to step through them in a debugger, and
# to see in a coverage report what tests reach.
COMPILED = os.environ.get("STICKSLIP_JIT", "1") != "0"


def jit(function: F) -> F:
    """Compile with Numba: cached on disk, without the interpreter lock, IEEE arithmetic (runs repeat bit for bit).

    Division follows IEEE too (`error_model="numpy"`): a zero pivot gives inf, which the solver tests for, not an exception
    check at every division of the hot loop.
    """
    return _compile(function)


def jit_inline(function: F) -> F:
    """The same for a function that is called from one place: the tuples of tables are then not copied for every call."""
    return _compile(function, forceinline=True)


def _compile(function: F, **further: bool) -> F:
    if not COMPILED:
        return function
    import numba

    return numba.njit(**POLICY, **further)(function)


POLICY = {"cache": True, "nogil": True, "error_model": "numpy", "boundscheck": False}

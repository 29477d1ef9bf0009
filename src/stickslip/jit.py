"""The one place that says how loops are compiled."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable)

# With STICKSLIP_JIT=0 the same loops run in plain Python, thousands of times slower: to step through them in a debugger, and
# to see in a coverage report what tests reach.
COMPILED = os.environ.get("STICKSLIP_JIT", "1") != "0"

POLICY = {"cache": True, "nogil": True, "error_model": "numpy", "boundscheck": False}


def jit(function: F) -> F:
    """Compile with Numba: cached on disk, without the interpreter lock, IEEE arithmetic (runs repeat bit for bit).

    Division follows IEEE too (`error_model="numpy"`): a zero pivot gives inf, which the solver tests for, not an exception
    check at every division of the hot loop.
    """
    return _compile(function, _nrt=True)  # said explicitly: a callee inherits it from its caller


def jit_bare(function: F) -> F:
    """The same for loops that allocate nothing: arrays are borrowed, without counting references to them.

    Counting took more than half of the time of a small system, because every table is part of a tuple that is taken apart
    again and again.
    """
    return _compile(function, _nrt=False)


def jit_inline(function: F) -> F:
    """The same for a function that is called from few places: the tuples of tables are then not copied for every call.

    It is part of its caller, also on the disk.
    """
    return _compile(function, _nrt=False, forceinline=True, cache=False)


def records(table: np.ndarray) -> np.ndarray:
    """A structured array whose rows have their columns as attributes, compiled or not."""
    return table if COMPILED or not table.dtype.names else table.view(np.recarray)


def _compile(function: F, **further: bool) -> F:
    if not COMPILED:
        return function
    import numba

    dispatcher: Any = numba.njit(**{**POLICY, **further})(function)
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None:
        file._source_stamp = _newest_source()
    return dispatcher


@cache
def _newest_source() -> tuple[float, int]:
    """Time of the last change and total size of all sources that are compiled.

    Numba looks only at the file of the function itself, and would keep a loop whose pieces in other files have changed.
    """
    here = Path(__file__).parent
    files = [here / "jit.py"]
    for package in ("engine", "nonsmooth", "collide"):
        files += (here / package).glob("**/*.py")
    stats = [file.stat() for file in files]
    return max(s.st_mtime for s in stats), sum(s.st_size for s in stats)

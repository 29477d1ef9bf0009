"""The one place that says how loops are compiled."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from stickslip.indices import CHECKED

F = TypeVar("F", bound=Callable)

# With STICKSLIP_JIT=0, or Numba's NUMBA_DISABLE_JIT=1, the same loops run in plain Python, thousands of times slower: to step
# through them in a debugger, and to see in a coverage report what tests reach.
COMPILED = os.environ.get("STICKSLIP_JIT", "1") != "0" and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

POLICY = {"nogil": True, "error_model": "numpy", "boundscheck": CHECKED}

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)  # of a kernel: inputs, outputs


def jit(function: F) -> F:
    """Compile with Numba: kept on disk, without the interpreter lock, IEEE arithmetic (runs repeat bit for bit).

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
    """The same for a function that is called from few places: the tuples of tables are then not copied for every call."""
    return _compile(function, _nrt=False, forceinline=True)


class Direct:
    """A compiled function that is called again and again with arguments of the same types, as those of a run are.

    Numba looks at the types of all arguments in every call, for 0.2 ms where all tables of a program are among them. Here
    arrays and numbers are compared by what decides their type, and tuples by their class: each is made in one place. A call
    with other types, or with an array that is not contiguous, goes the usual way.
    """

    def __init__(self, function: Any):
        self._function: Any = function
        self._direct: tuple[list[Any], Any] | None = (
            None  # types and what they call, at once: other threads call it too
        )

    def __call__(self, *arguments: Any) -> Any:
        """The result; the types of the first call decide what is direct."""
        if not COMPILED:
            return self._function(*arguments)
        types = [  # an array that is not contiguous is like no other
            (a.dtype, a.ndim, a.flags.carray or object()) if type(a) is np.ndarray else type(a) for a in arguments
        ]
        direct = self._direct
        if direct is not None and types == direct[0]:
            return direct[1](*arguments)
        out = self._function(*arguments)
        if direct is None:
            numba_types = tuple(map(self._function.typeof_pyval, arguments))
            self._direct = types, self._function.alone().overloads[numba_types].entry_point
        return out


def records(table: np.ndarray) -> np.ndarray:
    """A structured array whose rows have their columns as attributes, compiled or not."""
    return table if COMPILED or not table.dtype.names else table.view(np.recarray)


def _compile(function: F, **further: bool) -> F:
    if not COMPILED:
        return function
    from stickslip.linked import linked

    return linked(function, {**POLICY, **further})


# -- functions that are called through their address -----------------------------------------------------------------


class Apart:
    """A function that is compiled alone and called through its address (`call_apart`), so not part of its callers.

    LLVM looks anew at all that a function contains, at every level at which one contains another. Three functions that stand
    apart make the time loop compile in a third of the time; and what a model does not need is not compiled for it.
    """

    def __init__(self, function: Callable, result: str, allocates: bool):
        self.function, self._result, self._allocates = function, result, allocates
        self._address: int | None = None
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    @property
    def at_hand(self) -> bool:
        """Whether its address costs nothing: it is loaded, or not compiled at all."""
        return self._address is not None or not COMPILED

    def address(self, *arguments: Any) -> Any:
        """Where the compiled function lies, for arguments of these types, which are always the same; uncompiled: itself."""
        if not COMPILED:
            return self.function
        if self._address is None:
            import numba
            from numba.core import sigutils
            from numba.core.ccallback import CFunc

            from stickslip.kept import keep

            types = tuple(numba.typeof(argument) for argument in arguments)
            signature = sigutils.normalize_signature(getattr(numba.types, self._result)(*types))
            compiled = CFunc(self.function, signature, {}, {"nopython": True, **POLICY, "_nrt": self._allocates})
            keep(compiled, self.function)
            compiled.compile()
            self._compiled = compiled  # owns what lies at the address
            self._address = int(compiled.address)
        return self._address


def apart(result: str, allocates: bool = False) -> Callable[[Callable], Apart]:
    """Compile a function alone; `result` is the type it returns, by Numba's name."""
    return lambda function: Apart(function, result, allocates)

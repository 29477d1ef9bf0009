"""Compiled loops on the disk, in place of Numba's own cache.

Numba's looks only at the file of the function itself, and would keep a loop whose pieces in other files have changed; it lies
beside the sources, which may be read-only; and a damaged file ends the process. Here the name of a file is a hash of
everything that its content depends on, so nothing is ever out of date, and copies of the package share what they have in
common.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import pickle
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from stickslip.indices import CHECKED, leave_out_wrapping
from stickslip.store import LOOPS, Store, sources
from stickslip.turns import Turn

FRAME = 70_000  # places on the stack of a frame: just over half of a piece of 1 MB, the rest is left for others

STORE = Store(LOOPS)
announce: list[Callable[[], None]] = []  # whom to tell, once, before the first loop is compiled


class Kept(NullCache):
    """The cache of one compiled function, with the methods that Numba calls.

    Processes that miss the same code at the same time, as first runs do that are started together, take turns: one compiles,
    the others load what it has written.
    """

    def __init__(self, function: Callable):
        self.function = function
        self.turns: list[Turn | None] = []  # of signatures that are being compiled

    def _key(self, signature: Any, codegen: Any) -> str:
        code, cells = self.function.__code__, self.function.__closure__ or ()
        what = (self.function.__module__, self.function.__qualname__, code.co_code, code.co_firstlineno, CHECKED)
        text = repr(
            (what, signature, codegen.magic_tuple(), sys.version, sources(self.function.__module__, numba.__version__))
        )
        return hashlib.sha256(text.encode() + dumps(tuple(cell.cell_contents for cell in cells))).hexdigest()

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled function, or None.

        What is there needs Numba's runtime for arrays, but nothing of what Numba can compile: to load that takes longer than
        all the rest of a first run, SciPy's linear algebra included.
        """
        rtsys.initialize(context)
        key = self._key(signature, context.codegen())
        data, turn = STORE.read(key), None
        if data is None:
            for tell in announce:
                tell()
            announce.clear()
            turn = STORE.turn(key)
            data = STORE.read(key)
        if data is not None:
            with contextlib.suppress(Exception):  # made by something else under the same name: it is compiled again
                result = CompileResult._rebuild(context, *pickle.loads(data))
                if turn is not None:
                    turn.end()
                return result
        leave_out_wrapping()
        context.refresh()
        self.turns.append(turn)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep it, unless it contains addresses of this process."""
        try:
            if not result.library.has_dynamic_globals:
                STORE.write(self._key(signature, result.library.codegen), dumps(result._reduce()))
        finally:
            self.end_turn()

    def end_turn(self) -> None:
        """End the turn of what was compiled last."""
        if (turn := self.turns.pop()) is not None:
            turn.end()


def keep(compiled: Any, function: Callable) -> None:
    """Let Numba's dispatcher or callback of a function use the store; if compilation fails, nobody waits for it.

    The collection of garbage rests meanwhile: it would take a tenth of the time, and finds nothing.
    """
    compiled._cache = kept = Kept(function)
    compile_ = compiled._compiler.compile

    def compile_or_let_others(*arguments: Any) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            return compile_(*arguments)
        except BaseException:
            kept.end_turn()
            raise
        finally:
            if collects:
                gc.enable()

    compiled._compiler.compile = _with_room(compile_or_let_others)


def _with_room(function: Callable) -> Callable:
    """The same function, with so large a frame that all frames above it share one piece of memory.

    Python 3.11 and later give frames memory in pieces of 16 kB, and hand a piece back with the last frame in it. Numba works
    around one depth of calls: a quarter of a million pieces came and went in a first run, for two of its eighteen seconds.
    """
    code: CodeType = function.__code__
    function.__code__ = code.replace(co_stacksize=FRAME)
    return function

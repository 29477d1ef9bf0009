"""Compiled loops on the disk, in place of Numba's own cache.

Numba's looks only at the file of the function itself, and would keep a loop whose pieces in other files have changed; it lies
beside the sources, which may be read-only; and a damaged file ends the process. Here the name of a file is a hash of
everything that its content depends on, so nothing is ever out of date, and copies of the package share what they have in
common.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from stickslip.store import LOOPS, Store

STORE = Store(LOOPS)
announce: list[Callable[[], None]] = []  # whom to tell, once, before the first loop is compiled


class Kept(NullCache):
    """The cache of one compiled function, with the methods that Numba calls."""

    def __init__(self, function: Callable):
        self.function = function

    def _key(self, signature: Any, codegen: Any) -> str:
        code, cells = self.function.__code__, self.function.__closure__ or ()
        what = (self.function.__module__, self.function.__qualname__, code.co_code, code.co_firstlineno)
        text = repr((what, signature, codegen.magic_tuple(), sys.version, sources(self.function.__module__)))
        return hashlib.sha256(text.encode() + dumps(tuple(cell.cell_contents for cell in cells))).hexdigest()

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled function, or None.

        What is there needs Numba's runtime for arrays, but nothing of what Numba can compile: to load that takes longer than
        all the rest of a first run, SciPy's linear algebra included.
        """
        rtsys.initialize(context)
        data = STORE.read(self._key(signature, context.codegen()))
        if data is None:
            for tell in announce:
                tell()
            announce.clear()
            context.refresh()
            return None
        try:
            return CompileResult._rebuild(context, *pickle.loads(data))
        except Exception:  # made by something else under the same name: it is compiled again
            context.refresh()
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep it, unless it contains addresses of this process."""
        if not result.library.has_dynamic_globals:
            STORE.write(self._key(signature, result.library.codegen), dumps(result._reduce()))


_IMPORT = re.compile(r"^from (stickslip[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


@cache
def sources(module: str) -> str:
    """A hash of Numba's version and of all sources that a module is made of: its own, and those that it imports, in turn.

    What is imported inside of a function, or for annotations only, does not count.
    """
    found: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = None if name in found else _file(name)
        if file is None:
            continue
        found[name] = file.read_bytes()
        for source, names in _IMPORT.findall(found[name].decode()):
            waiting += [source, *[f"{source}.{each}" for each in re.findall(r"\w+", names)]]
    whole = hashlib.sha256(numba.__version__.encode())
    for name in sorted(found):
        whole.update(name.encode() + found[name])
    return whole.hexdigest()


@cache
def _file(module: str) -> Path | None:
    """The source of a module; of packages none, as they only gather names."""
    top, *below = module.split(".")
    if top == "stickslip":
        file = Path(__file__).parent.joinpath(*below).with_suffix(".py")
        return file if below and file.exists() else None
    source = getattr(sys.modules.get(module), "__file__", None)
    return Path(source) if source else None

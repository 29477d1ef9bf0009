"""What a function is, as text: so that what one function measured is not taken for what another one would have.

Two functions are alike if their code is, and what it reads besides its arguments: defaults, variables around it, arguments of
a `partial`, attributes of an object that is called, and other functions of the user. A function of a library is its name.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from stickslip.engine.state import State
from stickslip.model.system import System
from stickslip.solution import Solution
from stickslip.solve.outfile import fingerprint
from stickslip.solve.prepared import prepare

CHANGING = {"append", "add", "extend", "update", "insert", "pop", "popitem", "clear", "remove", "discard", "setdefault"}
DEEPEST = 8  # objects within objects


def likeness(value: Any, depth: int = 0, changes: bool = False) -> Any:
    """A function, or a value that it reads, as lists of texts; `changes`: it is read by a function that changes containers,
    such as a list that counts calls, which are then no part of what the function is.
    """
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | range | slice):
        return repr(value)
    if isinstance(value, np.ndarray | np.generic):
        array = np.ascontiguousarray(value)
        data = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
        return [str(array.dtype), list(array.shape), hashlib.sha256(data).hexdigest()]
    if depth > DEEPEST or (changes and isinstance(value, list | dict | set)):
        return type(value).__qualname__
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(likeness(x, depth + 1, changes) for x in value)]
    if isinstance(value, dict):
        return ["dict", *([likeness(k, depth + 1), likeness(x, depth + 1, changes)] for k, x in value.items())]
    if isinstance(value, set | frozenset):
        return ["set", *sorted(str(likeness(x, depth + 1, changes)) for x in value)]
    if isinstance(value, FunctionType):
        return _function(value, depth)
    if isinstance(value, MethodType):
        return [likeness(value.__func__, depth), likeness(value.__self__, depth + 1)]
    if isinstance(value, functools.partial):
        return ["partial", *(likeness(x, depth + 1) for x in (value.func, value.args, value.keywords))]
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, Solution):
        return ["Solution", *(likeness(x, depth + 1) for x in (value.t, value.q, value.u))]
    if isinstance(value, State):
        own = (value.method, value.t_start, value.dt, value.step, value.t, value.q, value.u, value.memory)
        return ["State", *(likeness(x, depth + 1) for x in own)]
    if isinstance(value, System):
        return ["System", *_system(value)]
    return _object(value, depth, changes)


def _system(system: System) -> list[Any]:
    """Its equations, as a hash, with the values of its parameters and its initial state."""
    equations = fingerprint(prepare(system)) if system.n_u else system.name
    return [equations, system.parameters, system.q_initial.tolist(), system.u_initial.tolist()]


def _object(value: Any, depth: int, changes: bool) -> Any:
    kind = value if isinstance(value, type) else type(value)
    name = f"{kind.__module__}.{getattr(value, '__qualname__', kind.__qualname__)}"
    if isinstance(value, type) or not _of_the_user(kind.__module__, ""):
        return name
    call = vars(kind).get("__call__")
    own = [likeness(call, depth + 1)] if isinstance(call, FunctionType) else []
    changes = changes or (isinstance(call, FunctionType) and _changes(call.__code__))
    return [
        name,
        own,
        likeness(dict(getattr(value, "__dict__", {})), depth + 1) if not changes else _steady(value, depth),
    ]


def _steady(value: Any, depth: int) -> Any:
    """Attributes of an object that changes some of them."""
    return [[k, likeness(x, depth + 1, True)] for k, x in getattr(value, "__dict__", {}).items()]


def _function(f: FunctionType, depth: int) -> Any:
    name = f"{f.__module__}.{f.__qualname__}"
    if not _of_the_user(f.__module__, f.__code__.co_filename):
        return name
    changes = _changes(f.__code__)
    read: dict[str, Any] = {}
    for key, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            read[key] = cell.cell_contents
        except ValueError:  # not yet known
            continue
    read |= {key: f.__globals__[key] for key in sorted(_globals(f.__code__)) if key in f.__globals__}
    around = [[key, likeness(x, depth + 1, changes)] for key, x in read.items() if x is not f]
    given = [likeness(x, depth + 1, changes) for x in (f.__defaults__, f.__kwdefaults__)]
    return [f.__qualname__, _code(f.__code__), given, around]


def _code(code: CodeType) -> Any:
    constants = [_code(c) if isinstance(c, CodeType) else str(likeness(c)) for c in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), constants]


def _inner(code: CodeType) -> list[CodeType]:
    return [code, *(x for c in code.co_consts if isinstance(c, CodeType) for x in _inner(c))]


def _globals(code: CodeType) -> set[str]:
    return {str(i.argval) for c in _inner(code) for i in dis.get_instructions(c) if i.opname == "LOAD_GLOBAL"}


def _changes(code: CodeType) -> bool:
    names = {name for c in _inner(code) for name in c.co_names}
    stores = {"STORE_SUBSCR", "DELETE_SUBSCR"}
    return bool(names & CHANGING) or any(i.opname in stores for c in _inner(code) for i in dis.get_instructions(c))


def _of_the_user(module: str | None, file: str) -> bool:
    top = (module or "").partition(".")[0]
    path = file or getattr(sys.modules.get(module or ""), "__file__", "") or ""
    return top not in sys.stdlib_module_names - {"__main__"} and top != "stickslip" and "site-packages" not in path

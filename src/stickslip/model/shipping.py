"""Systems as bytes, for other processes: what is declared travels, what is compiled is rebuilt where it arrives.

A system is a graph of symbols: coordinates, bodies that hold them, expressions that contain them. Pickled one by one,
expressions would no longer share their symbols. So all expressions of one message are serialised together, and objects refer
to them by number. Time and the approach speed become the symbols of the process that reads. Functions that cannot be
imported, such as lambdas, travel by value (cloudpickle). As with every pickle: read only what you trust.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import casadi as ca
import cloudpickle

from stickslip.errors import ModelError
from stickslip.model.declaration import APPROACH_SPEED, TIME

_SHARED = (TIME, APPROACH_SPEED)


class _Pickler(cloudpickle.Pickler):
    def __init__(self, file: Any, kind: type):
        super().__init__(file)
        self.kind, self.expressions = kind, list(_SHARED)
        self.systems: list[Any] = []
        self._places = {_key(x): k for k, x in enumerate(_SHARED)}

    def persistent_id(self, obj: Any) -> tuple[str, int] | None:
        if isinstance(obj, self.kind):
            if not any(obj is other for other in self.systems):
                self.systems.append(obj)
            return "system", next(k for k, other in enumerate(self.systems) if other is obj)
        if isinstance(obj, ca.SX):
            place = self._places.setdefault(_key(obj), len(self.expressions))
            if place == len(self.expressions):
                self.expressions.append(obj)
            return "expression", place
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, kind: type, expressions: list[ca.SX]):
        super().__init__(file)
        self.kind, self.expressions = kind, expressions
        self.systems: dict[int, Any] = {}

    def persistent_load(self, pid: tuple[str, int]) -> Any:
        what, k = pid
        if what == "expression":
            return self.expressions[k]
        return self.systems.setdefault(k, object.__new__(self.kind))


def _key(x: ca.SX) -> tuple[str, int]:
    """Equal symbols are one; other expressions are told apart as objects, which the pickler keeps alive."""
    return ("node", x.__hash__()) if x.is_scalar() else ("object", id(x))


def packed(obj: Any, kind: type) -> tuple[str, bytes]:
    """An object with the systems (instances of `kind`) and the expressions that it refers to."""
    file = io.BytesIO()
    pickler = _Pickler(file, kind)
    try:
        pickler.dump(obj)
        done = 0
        while done < len(pickler.systems):  # the state of one system may refer to others
            pickler.dump(pickler.systems[done].to_ship())
            done += 1
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{getattr(obj, 'name', obj)!r} cannot be pickled: {error}. Functions of a model may use what can be pickled: "
            "numbers, arrays, other functions; no open files, locks or connections"
        ) from error
    serializer = ca.StringSerializer()
    serializer.pack(pickler.expressions)
    return serializer.encode(), file.getvalue()


def unpacked(text: str, content: bytes, kind: type) -> Any:
    """What was packed, with symbols of its own."""
    expressions = ca.StringDeserializer(text).unpack()
    old = expressions[: len(_SHARED)]
    expressions = ca.substitute(expressions, old, list(_SHARED))  # all at once: pieces that they share stay shared
    unpickler = _Unpickler(io.BytesIO(content), kind, expressions)
    obj = unpickler.load()
    done = 0
    while done < len(unpickler.systems):
        state = unpickler.load()
        unpickler.systems[done].from_shipped(state)
        done += 1
    return obj

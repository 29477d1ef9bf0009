"""How a part is printed: as it was made, without what has its default."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import column, is_symbolic

LONGEST = 60


class Described:
    """Base of parts: `repr` shows what was given to them, and what a system has read cannot be changed."""

    name: str

    def __setattr__(self, name: str, value: Any) -> None:
        owner = vars(self).get("_owner")
        kept = name in vars(self) or isinstance(getattr(type(self), name, None), property)
        if owner is not None and kept and not name.startswith("_"):
            raise ModelError(
                f"{owner.name}: {name!r} of {self.name!r} was read when it was added, and a change would be ignored, or half "
                "of it: set it before, or change numbers by parameters={...} or q0= and u0= of a run"
            )
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        parts = [repr(self.name)]
        for key, parameter in list(inspect.signature(type(self).__init__).parameters.items())[1:]:
            value = vars(self).get(
                "measure" if key == "point_1" and "measure" in vars(self) else key
            )  # what is kept under the name that it was given by
            if key == "name" or value is None or _same(value, parameter.default):
                continue
            text = shown(self._number(value))
            parts.append(f"{key}={text}" if parameter.kind is parameter.KEYWORD_ONLY else text)
        return f"{type(self).__name__}({', '.join(parts)})"

    def _number(self, value: Any) -> Any:
        """What was given as a number and became a parameter is shown as its number again."""
        system: Any = getattr(self, "_owner", None)
        symbols = ca.symvar(column(value)) if system is not None and is_symbolic(value) else []
        known = {s.__hash__() for s in system.parameter_symbols().values()} if symbols else set()
        if symbols and all(s.__hash__() in known for s in symbols):
            return system.initial_value(value)
        return value


def shown(value: Any) -> str:
    """A value in few characters: points and bodies by their names, numbers short, functions by their names.

    >>> shown([1.0, 2.50]), shown(0.1 + 0.2)
    ('[1, 2.5]', '0.3')
    """
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, ca.SX):
        return _cut(str(value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return f"{float(value):.6g}"
    if isinstance(value, np.ndarray) and value.shape == (3, 3) and np.array_equal(value, np.diag(np.diag(value))):
        value = np.diag(value)  # moments of inertia may be given as three numbers
    if isinstance(value, np.ndarray | list | tuple):
        return _cut(f"[{', '.join(shown(x) for x in value)}]")
    if is_dataclass(value) and not hasattr(value, "coordinates"):
        given = [getattr(value, f.name) for f in fields(value)]
        return _cut(f"{type(value).__name__}({', '.join(shown(x) for x in given if x is not None)})")
    if hasattr(value, "coordinates") or not hasattr(value, "name"):
        return _cut(getattr(value, "__name__", None) or str(value))
    return str(value.name)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _same(value: Any, default: Any) -> bool:
    if default is inspect.Parameter.empty or isinstance(value, ca.SX):
        return False
    try:
        return bool(np.array_equal(np.asarray(value, dtype=float), np.asarray(default, dtype=float)))
    except (TypeError, ValueError, OverflowError):
        return value is default or (isinstance(value, str) and value == default)

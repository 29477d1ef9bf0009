"""Named parameters: numbers that a run may change, and expressions that follow them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError, unknown_name
from stickslip.math import Scalar
from stickslip.model.declaration import APPROACH_SPEED, TIME, _scalar
from stickslip.model.given import number, text


class ParameterSpace:
    """Parameters by name, and the symbols that are known."""

    def __init__(self, name: str):
        self.name = text("system", name)
        self._parameters: dict[str, ca.SX] = {}
        self._values: dict[str, ca.SX] = {}
        self._numbers_of: dict[str, float] = {}  # the free parameters among them
        self._ranges: dict[str, dict[str, float]] = {}  # bounds as `given.number` takes them, of those that have some
        # What follows, and all values if nothing is changed: made when a run asks for them, void when more are declared.
        self._following: list[tuple[str, ca.Function, str]] | None = None
        self._all_values: dict[str, float] | None = None
        # By the hashes of all symbols that are declared, their values: numbers, or expressions of parameters.
        self._initial: dict[int, Any] = {TIME.__hash__(): 0.0, APPROACH_SPEED.__hash__(): 0.0}

    def parameter(
        self, name: str, value: Scalar, *, above: float = -np.inf, at_least: float = -np.inf, at_most: float = np.inf
    ) -> ca.SX:
        """Declare a named parameter; return its symbol. Its value is an input of the compiled kernels.

        A value may be an expression of other parameters; it then follows them. Values outside of the range, here or in a run,
        are refused.

        >>> ParameterSpace("ball").parameter("radius", 0.1, above=0)
        SX(radius)
        """
        text(f"{self.name}: parameter", name)
        if name in self._parameters:
            raise ModelError(f"{self.name}: parameter {name!r} is declared twice")
        self._refuse_name("parameter", name)
        given = _scalar(value, f"{self.name}: parameter {name!r}")
        if given.is_constant():
            number(self.name, f"parameter {name!r}", float(given), above=above, at_least=at_least, at_most=at_most)
        else:
            self._require_known(given, f"parameter {name!r}", parameters_only=True)
        self._parameters[name] = ca.SX.sym(name)
        self._values[name], self._following, self._all_values = given, None, None
        bounds = {"above": above, "at_least": at_least, "at_most": at_most}
        self._ranges |= {name: bounds} if np.isfinite([*bounds.values()]).any() else {}
        if given.is_constant():
            self._numbers_of[name] = float(given)
        self._initial[self._parameters[name].__hash__()] = float(given) if given.is_constant() else given
        return self._parameters[name]

    @property
    def parameters(self) -> dict[str, float]:
        """The free parameters and their values; each can be changed in `solve(..., parameters={...})`.

        >>> import stickslip as ss

        >>> s = ss.System()
        >>> _ = s.parameter("mu", 0.3)
        >>> s.parameters
        {'mu': 0.3}
        """
        return dict(self._numbers_of)

    def parameter_symbols(self) -> dict[str, ca.SX]:
        """All parameters, those that follow from others included."""
        return dict(self._parameters)

    def parameter_expressions(self) -> dict[str, ca.SX]:
        """What was declared as the value of every parameter: a number, or an expression of other parameters."""
        return dict(self._values)

    def parameter_values(self, changed: Mapping[str, float] | None = None) -> dict[str, float]:
        """The value of every parameter, with some of the free ones changed."""
        if changed is None and self._all_values is not None:
            return dict(self._all_values)
        values = self.parameters
        given = {} if changed is None else changed
        if not isinstance(given, Mapping):
            raise ModelError(f"{self.name}: parameters must be given as {{name: value}}, got {given!r}")
        for name, value in given.items():
            if name not in self._parameters:
                raise ModelError(f"{self.name}: {unknown_name('parameter', name, values)}")
            if name not in values:
                raise ModelError(f"{self.name}: parameter {name!r} follows from others and cannot be set")
            values[name] = self.parameter_value(name, value)
        numbers = list(values.values())
        for name, function, others in self._what_follows():
            follows = float(function(*numbers))
            values[name] = self.parameter_value(name, follows, others) if name in self._ranges else follows
            numbers.append(values[name])
        found = {name: values[name] for name in self._parameters}
        if not given:
            self._all_values = dict(found)
        return found

    def _what_follows(self) -> list[tuple[str, ca.Function, str]]:
        """Parameters that follow from others, in their order: from all before them, and from whom by name."""
        if self._following is None:
            symbols, self._following = [self._parameters[name] for name in self._numbers_of], []
            for name, value in self._values.items():
                if name not in self._numbers_of:
                    others = ", ".join(repr(s.name()) for s in ca.symvar(value))
                    self._following.append((name, ca.Function("value", list(symbols), [value]), others))
                    symbols.append(self._parameters[name])
        return self._following

    def parameter_value(self, name: str, value: Any, follows_from: str = "") -> float:
        """A number for a parameter, if it is in its range.

        >>> s = ParameterSpace("ball")
        >>> _ = s.parameter("radius", 0.1, above=0)
        >>> s.parameter_value("radius", -0.1)
        Traceback (most recent call last):
        stickslip.errors.ModelError: ball: parameter 'radius' = -0.1 must be a finite number > 0
        """
        others = f" (from {follows_from})" if follows_from else ""
        return float(number(self.name, f"parameter {name!r}{others}", value, **self._ranges.get(name, {})))

    def parameter_array(self, changed: Mapping[str, float] | None = None) -> np.ndarray:
        """The same in an array."""
        values = self.parameter_values(changed or None)
        return np.fromiter(values.values(), float, len(values))

    def is_constant(self, expression: ca.SX) -> bool:
        """Whether an expression is made of numbers and parameters alone."""
        return all(self._is_parameter(s) for s in ca.symvar(expression))

    # -- helpers ------------------------------------------------------------------------------------------------------

    def _refuse_name(self, kind: str, name: str) -> None:
        """One name, one thing: results, sweeps and studies read all of them by name."""
        taken = {"t": "time", "q0": "initial coordinates", "u0": "initial velocities"}
        if name in taken:
            raise ModelError(f"{self.name}: {kind} {name!r} has the name of the {taken[name]}; choose another")
        if name in self._parameters:
            raise ModelError(f"{self.name}: {kind} {name!r} has the name of a parameter; choose another")

    def _is_known(self, symbol: ca.SX) -> bool:
        """Whether it is declared here."""
        return symbol.__hash__() in self._initial

    def _is_parameter(self, symbol: ca.SX) -> bool:
        own = self._parameters.get(symbol.name())
        return own is not None and own.__hash__() == symbol.__hash__()

    def _require_known(self, expression: ca.SX, what: str, parameters_only: bool = False) -> None:
        used = ca.symvar(expression)
        if parameters_only:
            foreign = [s.name() for s in used if not self._is_parameter(s)]
        else:
            foreign = [s.name() for s in used if not self._is_known(s)]
        if foreign and parameters_only and all(map(self._is_known, used)):
            raise ModelError(
                f"{self.name}: {what} depends on {', '.join(map(repr, foreign))}, which changes during a run; a parameter is a "
                "number, or an expression of other parameters"
            )
        if foreign:
            raise ModelError(
                f"{self.name}: {what} depends on {', '.join(map(repr, foreign))}, which this system does not declare; "
                "use coordinates() or parameter(), or add the body that it belongs to"
            )

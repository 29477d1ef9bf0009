"""Controllers that are sampled: Python functions that are called at their own rate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.engine.state import State
from stickslip.errors import OptionError
from stickslip.solve.options import positive


@dataclass(frozen=True)
class SampledController:
    """A sampled controller: a function that is called every `period`; its outputs hold in between (zero-order hold).

    function(t, q, u) returns values of parameters by name. With states of its own, function(t, q, u, x) returns the values
    and the new x; `state` is the first x.

    >>> import stickslip as ss
    >>> cart = ss.System("cart")
    >>> F = cart.parameter("F", 0.0)
    >>> (x,), (v,) = cart.coordinates("x", initial=[1.0], velocity=[0.0])
    >>> cart.kinetic_energy(v**2 / 2)
    >>> cart.force([F])
    >>> damped = ss.SampledController(lambda t, q, u: {"F": -4 * q[0] - 4 * u[0]}, period=0.01)
    >>> with ss.stepper(cart, dt=1e-3, controllers=[damped]) as sim:
    ...     solution = sim.run(t_end=5.0)
    >>> bool(abs(solution.q[-1, 0]) < 1e-2)
    True
    """

    function: Callable[..., Any]
    period: float
    state: Any = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise OptionError(f"SampledController: {self.function!r} must be a function of t, q and u")
        positive(period=self.period)
        arguments = ["t", "q", "u"] if self.state is None else ["t", "q", "u", "x"]
        try:
            inspect.signature(self.function).bind(*arguments)
        except TypeError as error:
            state = "; state= is its first x" if self.state is not None else ""
            raise OptionError(
                f"SampledController: its function must take ({', '.join(arguments)}){state} ({error})"
            ) from None
        except ValueError:  # a builtin without a signature
            pass


@dataclass(frozen=True, eq=False)
class SteppedState(State):
    """A state of a stepper with controllers: also what these remember, and the parameters that were changed by then."""

    remembered: tuple[Any, ...]
    changed: Mapping[str, float]
    outputs: tuple[str, ...]  # parameters that controllers have set


class Controllers:
    """The controllers of a stepper: when each of them acts, what it remembers, and which parameters they set."""

    def __init__(self, controllers: Sequence[SampledController], dt: float):
        if isinstance(controllers, SampledController) or not isinstance(controllers, Sequence):
            raise OptionError(
                f"controllers = {controllers!r} must be a list, such as [ss.SampledController(f, period=0.01)]"
            )
        for controller in controllers:
            if not isinstance(controller, SampledController):
                raise OptionError(f"controllers: {controller!r} is not an ss.SampledController(function, period)")
        self._all = tuple(controllers)
        self._every = [in_steps(c.period, dt) for c in controllers]
        self._x = [c.state for c in controllers]
        self._names: set[str] = set()

    def due(self, step: int) -> list[int]:
        """Those that act before this step."""
        return [k for k, every in enumerate(self._every) if step % every == 0]

    def until_next(self, step: int) -> int:
        """How many steps may be taken at once."""
        return min((every - step % every for every in self._every), default=2**62)

    def state(self, state: State, changed: Mapping[str, float]) -> State:
        """A state that includes the controllers; their states may be objects that change, so they are copied."""
        if not self._all:
            return state
        return SteppedState(
            **vars(state), remembered=tuple(deepcopy(self._x)), changed=dict(changed), outputs=tuple(self._names)
        )

    def go_back(self, state: State, changed: Mapping[str, float]) -> dict[str, float] | None:
        """Remember what they did at that state; all changed parameters then, or None if nothing is to be set.

        Parameters that no controller sets stay as they are now.
        """
        if not isinstance(state, SteppedState) or len(state.remembered) != len(self._all):
            return None
        self._x = list(deepcopy(state.remembered))
        self._names |= set(state.outputs)
        others = {name: value for name, value in changed.items() if name not in self._names}
        return others | {name: value for name, value in state.changed.items() if name in self._names}

    def outputs(self, k: int, t: float, q: np.ndarray, u: np.ndarray, known: Iterable[str]) -> Mapping[str, float]:
        """What one of them says now; its own state goes on. `known`: the parameters there are."""
        controller = self._all[k]
        if controller.state is None:
            outputs = controller.function(t, q, u)
        else:
            both = controller.function(t, q, u, self._x[k])
            if not isinstance(both, tuple) or len(both) != 2:
                raise OptionError(
                    f"a controller with a state returns two things, {{name: value}} and the new state; got {both!r}"
                )
            outputs, self._x[k] = both
        if not isinstance(outputs, Mapping):
            raise OptionError(
                f"a controller returns values of parameters by name, such as {{'F': 2.0}}, got {outputs!r}; "
                f"parameters: {', '.join(known) or 'none'}"
            )
        self._names |= set(outputs)
        return outputs


def in_steps(period: float, dt: float) -> int:
    """A period in steps."""
    period = positive(period=period)
    every = round(period / dt)
    if every < 1 or abs(every * dt - period) > 1e-9 * period:
        raise OptionError(f"period = {period:g} of a controller must be a multiple of dt = {dt:g}")
    return every

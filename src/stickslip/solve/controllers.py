"""Controllers that are sampled: Python functions that are called at their own rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


def in_steps(period: float, dt: float) -> int:
    """A period in steps."""
    period = positive(period=period)
    every = round(period / dt)
    if every < 1 or abs(every * dt - period) > 1e-9 * period:
        raise OptionError(f"period = {period:g} of a controller must be a multiple of dt = {dt:g}")
    return every

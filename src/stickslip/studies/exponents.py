"""Lyapunov exponents from the tangent of the motion, saltation at events included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.notebook import ShownAsText
from stickslip.solve.options import vector_of
from stickslip.studies.sections import whole_numbers
from stickslip.studies.shooting import Shooting, period_function, positive_period


@dataclass(frozen=True)
class LyapunovExponents(ShownAsText):
    """The spectrum, largest first, and how it settled: one row of running means per period."""

    exponents: np.ndarray
    history: np.ndarray
    t: np.ndarray

    @property
    def chaotic(self) -> bool:
        """Whether neighbours separate exponentially, beyond what the running mean still changes by."""
        half = self.history[len(self.history) // 2 :, 0]
        return bool(self.exponents[0] > max(1e-3, np.ptp(half)))

    def __str__(self) -> str:
        found = ", ".join(f"{x:.4g}" for x in self.exponents)
        return f"Lyapunov exponents {found} 1/s after {len(self.t)} periods: {'chaotic' if self.chaotic else 'regular'}"


def lyapunov(
    system: System,
    *,
    period: Any,
    count: int = 200,
    transient: int = 50,
    parameters: Mapping[str, float] | None = None,
    q0: np.ndarray | None = None,
    u0: np.ndarray | None = None,
    **options: Any,
) -> LyapunovExponents:
    """The Lyapunov exponents of a motion, by event-driven integration of the motion and its tangent.

    period: after which the tangent is made orthogonal again; that of the forcing, or any time. Contacts that stay closed and
    stick take directions away: their exponents are -inf. A motion that grazes raises `NoDerivativeError`.

    >>> import stickslip as ss
    >>> s = ss.System("damped oscillator")
    >>> (x,), (v,) = s.coordinates("x", initial=[1], velocity=[0])
    >>> s.kinetic_energy(v**2 / 2)
    >>> s.potential_energy(x**2 / 2)
    >>> s.force([-0.2 * v])
    >>> print(ss.lyapunov(s, period=6.3, count=5, transient=1).exponents.sum().round(6))    # the sum is that of the damping
    -0.2
    """
    if not isinstance(system, System):
        raise OptionError(f"lyapunov needs a System, got {system!r}")
    whole_numbers(count=(count, 1), transient=(transient, 0))
    shooting = Shooting(system, period=period, options=options)
    parameters = dict(parameters or {})
    values = np.array(list(system.parameter_values(parameters).values()))
    T = positive_period(system, float(period_function(system, period)(values)[0][0, 0]))
    x = np.concatenate([vector_of(system.q_initial, q0, "q0"), vector_of(system.u_initial, u0, "u0")])
    Q = np.eye(shooting.n_x)
    sums, history = np.zeros(shooting.n_x), []
    for k in range(transient + count):
        flow = shooting.flow(x, 0.0, T, parameters, segment=k)
        x = flow.x
        Q, R = np.linalg.qr(flow.Phi @ Q)
        if k >= transient:
            with np.errstate(divide="ignore"):
                sums += np.log(np.abs(np.diag(R)))
            history.append(sums / ((k + 1 - transient) * T))
    order = np.argsort(-history[-1], kind="stable")
    return LyapunovExponents(history[-1][order], np.array(history)[:, order], T * np.arange(1, count + 1))

"""Parameters, coordinates and velocities at the start, by name: what studies vary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import OptionError, unknown_name
from stickslip.model.system import System
from stickslip.solve.prepared import refuse_detected


def declared_inputs(system: System, fixed: Mapping[str, float] | None = None) -> dict[str, float]:
    """The value of everything that can be varied: free parameters, coordinates and velocities at the start."""
    values = system.parameter_values(fixed)
    out = {name: values[name] for name in system.parameters}
    for b in system.blocks:
        out |= dict(zip(b.q_names, b.q_initial.tolist(), strict=True))
        out |= dict(zip(b.u_names, b.u_initial.tolist(), strict=True))
    return out


def require_inputs(system: System, names: Iterable[str]) -> None:
    """Each name can be varied."""
    known = declared_inputs(system)
    for name in names:
        if name not in known:
            raise OptionError(f"{system.name}: {unknown_name('parameter or coordinate', name, known)}")


def require_acting(system: System, parameter: str, period: Any = None) -> None:
    """The parameter occurs in the equations, through others that follow from it too, or in the period."""
    refuse_detected(system)
    symbols, names = system.parameter_symbols(), {parameter}
    for name, expression in system.parameter_expressions().items():  # in the order of their declaration
        if ca.depends_on(ca.SX(expression), ca.vertcat(*[symbols[n] for n in names])):
            names.add(name)
    everything = [x for e in system.equations() for x in e.expressions()] + [b.qdot for b in system.blocks]
    everything += [period] if isinstance(period, ca.SX) else []
    if not ca.depends_on(ca.veccat(*everything), ca.vertcat(*[symbols[n] for n in sorted(names)])):
        raise OptionError(f"{system.name}: the parameter {parameter!r} does not act: no equation contains it")


def with_inputs(
    system: System, names: Sequence[str], values: Sequence[float] | np.ndarray, fixed: Mapping[str, float] | None
) -> dict[str, Any]:
    """Arguments of `solve` with these values: parameters, q0 and u0.

    >>> import stickslip as ss
    >>> with_inputs(ss.benchmarks.bouncing_ball(), ["e", "q"], [0.5, 2.0], None)
    {'parameters': {'e': 0.5}, 'q0': array([2.]), 'u0': array([0.])}
    """
    q = system.q_names
    u = system.u_names
    parameters, q0, u0 = dict(fixed or {}), system.q_initial.copy(), system.u_initial.copy()
    for name, value in zip(names, values, strict=True):
        if name in system.parameters:
            parameters[name] = float(value)
        elif name in q:
            q0[q.index(name)] = value
        else:
            u0[u.index(name)] = value
    return {"parameters": parameters, "q0": q0, "u0": u0}

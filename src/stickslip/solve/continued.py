"""Where a run goes on from: a state, or a solution that ends with one."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.engine.state import State
from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.solution import Solution
from stickslip.solve.options import is_number


def continued(system: System, label: str, dt: float, start: Any, t_start: Any, q0: Any, u0: Any) -> State | None:
    """The state to start from, if it fits the method with this label, its step and what else is asked for."""
    state = start.state if isinstance(start, Solution) else start
    if state is None:
        if start is not None:
            raise OptionError(
                "start= is a solution without a state, written by another version; give q0= and u0= instead"
            )
        return None
    if not isinstance(state, State):
        raise OptionError(f"start = {start!r} must be a state, such as solution.state, or a solution")
    if isinstance(start, Solution) and start.names.q != tuple(system.q_names):
        raise OptionError(
            f"start= is a solution of {start.provenance.get('system')!r}, whose coordinates have other names than those of "
            f"{system.name!r}"
        )
    if t_start is not None or q0 is not None or u0 is not None:
        raise OptionError("start= already says where to begin: leave out t_start, q0 and u0")
    if (state.method, state.dt) != (label, dt):
        raise OptionError(
            f"start= is a state of method {state.method!r} with dt = {state.dt:g}, which {label!r} with dt = "
            f"{dt:g} cannot continue; give q0=state.q, u0=state.u and t_start=state.t instead"
        )
    require_times(state)
    return state


def require_times(state: State) -> None:
    """A state knows how many steps it is from its start, and when both are; one that was made by hand may not."""
    if isinstance(state.step, bool) or not isinstance(state.step, int | np.integer) or state.step < 0:
        raise OptionError(
            f"start= is a state whose step = {state.step!r} must be a whole number >= 0, the steps since t_start; begin anew "
            "with q0=state.q, u0=state.u and t_start=state.t"
        )
    for name, value in (("t", state.t), ("t_start", state.t_start)):
        if not is_number(value):
            raise OptionError(f"start= is a state whose {name} = {value!r} must be a finite number")

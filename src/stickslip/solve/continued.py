"""Where a run goes on from: a state, or a solution that ends with one."""

from __future__ import annotations

from typing import Any

from stickslip.engine.state import State
from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.solution import Solution


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
    return state

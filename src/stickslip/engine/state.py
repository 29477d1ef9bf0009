"""Where a run is, as a value: what the next step reads, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stickslip.errors import OptionError


@dataclass(frozen=True, eq=False)
class State:
    """Time and memory of a run between two steps; a run that starts from it repeats the rest bit for bit.

    t is t_start + step dt, free of summed rounding errors, unless the scheme decides the length of its steps. `memory` holds
    copies of the fields that a step reads before it writes them, by name, and those that the scheme records besides q, u and
    percussions. `method` is the scheme that wrote it, as text.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.bouncing_ball()
    >>> first = ss.solve(ball, t_end=0.5, dt=1e-2)
    >>> second = ss.solve(ball, t_end=1.0, dt=1e-2, start=first.state)
    >>> whole = ss.solve(ball, t_end=1.0, dt=1e-2)
    >>> bool((second.q == whole.q[50:]).all())
    True
    """

    method: str
    t_start: float
    dt: float
    step: int
    t: float
    q: np.ndarray
    u: np.ndarray
    memory: Mapping[str, np.ndarray]

    def __repr__(self) -> str:
        return f"<State of {self.method} at t = {self.t:g}, after {self.step} steps of {self.dt:g}>"

    def kept(self, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
        """A field of the memory, of this shape if it is known; states that were made by hand may lack it."""
        if name not in self.memory:
            raise OptionError(
                f"start = {self!r} has no {name!r} in its memory, which method {self.method!r} reads; take a state as a run "
                "gives it, or begin anew with q0=state.q, u0=state.u and t_start=state.t"
            )
        array = self.memory[name]
        if shape is not None and np.shape(array) != shape:
            raise OptionError(
                f"start = {self!r} has {name!r} of shape {np.shape(array)} in its memory, and this system needs {shape}; take "
                "a state of a run of this system"
            )
        return array

    def same(self, other: State) -> bool:
        """Whether two states are equal bit for bit."""
        mine, theirs = ((s.method, s.t_start, s.dt, s.step, s.t, list(s.memory)) for s in (self, other))
        arrays = [(self.q, other.q), (self.u, other.u)]
        return mine == theirs and all(
            a.tobytes() == b.tobytes() for a, b in [*arrays, *((self.memory[k], other.memory[k]) for k in self.memory)]
        )

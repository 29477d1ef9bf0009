"""What an event-driven run did: phases and transitions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


@dataclass
class Modes:
    """Of all contacts (closed) and friction components (stick, direction of slip); numbers 0 and 1, as kernels want them."""

    closed: np.ndarray
    stick: np.ndarray
    direction: np.ndarray


class Phase(NamedTuple):
    """Smooth motion in fixed modes, from (t_0, q_0, u_0) to t_1; `row` is the output time that it leads to."""

    t_0: float
    q_0: np.ndarray
    u_0: np.ndarray
    t_1: float
    modes: Modes
    row: int


class Jump(NamedTuple):
    """One impact: velocities before and after, and all percussions, in the order of SPACES."""

    u_0: np.ndarray
    u_1: np.ndarray
    P: np.ndarray


@dataclass
class Transition:
    """What happened at an event: state and modes before, contacts that touched, impacts, contacts at rest, what follows.

    `event` counts contacts, then friction elements; negative ones are START, JAM (`settle`) and BROKEN (`search`).
    """

    t: float
    event: int
    q_0: np.ndarray
    u_0: np.ndarray
    before: Modes
    touching: np.ndarray
    row: int
    impacts: list[Jump] = field(default_factory=list)
    resting: np.ndarray = field(default_factory=lambda: np.zeros(0))
    slip: np.ndarray = field(default_factory=lambda: np.zeros(0))
    q_1: np.ndarray = field(default_factory=lambda: np.zeros(0))
    u_1: np.ndarray = field(default_factory=lambda: np.zeros(0))
    after: Modes | None = None


History = list[Phase | Transition]
HISTORY: ContextVar[History | None] = ContextVar("history", default=None)  # where the present run keeps what it does


@contextmanager
def recorded() -> Iterator[History]:
    """Keep what event-driven runs do in here, one phase and one event after the other: derivatives are taken of that.

    >>> with recorded() as history:
    ...     pass
    >>> history
    []
    """
    history: History = []
    token = HISTORY.set(history)
    try:
        yield history
    finally:
        HISTORY.reset(token)

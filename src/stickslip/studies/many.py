"""Many short runs of one system: compiled once, checked at once, on all cores.

Compiled loops run without the interpreter's lock, so that threads are enough. Systems with frictionless impacts take the
integrator of `studies.located`, unless a method is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.engine.observe import observe
from stickslip.engine.run import Start
from stickslip.errors import MethodError, OptionError
from stickslip.model.system import System
from stickslip.schemes import EventDriven, Scheme
from stickslip.schemes.spec import scheme_of
from stickslip.solve.prepared import check_capability, check_start, compiled, prepare, program_of

INSIDE = -1e-9  # gap below which a start lies inside an obstacle


@dataclass(frozen=True)
class Trajectory:
    """What is kept of one run: times, states (q, u), and the state at its end; `failed` if a step could not be solved."""

    t: np.ndarray
    x: np.ndarray
    impacts: np.ndarray  # (t, contact, q, u) after each impact, after the first `skip` steps
    failed: bool

    @property
    def end(self) -> np.ndarray:
        """The last state."""
        return self.x[-1]


class ManyRuns:
    """Runs of a system by one scheme. Thread-safe: every run has its own memory."""

    def __init__(self, system: System, method: str | Scheme, options: dict[str, Any], tol: float = 1e-8):
        if not isinstance(system, System):
            raise OptionError(f"a study needs a System, got {system!r}")
        from stickslip.studies.located import Located, suits  # Numba takes long to import

        self._located = None
        if method == "auto":
            method, model = "rattle", prepare(system).model
            if not options and suits(model):
                self._located = compiled(system, Located, lambda: Located(model))
        self.system, self.scheme, self.tol = system, scheme_of(method, options), tol
        if isinstance(self.scheme, EventDriven):
            raise MethodError("many runs need a compiled scheme such as 'rattle' or 'moreau', not 'event-driven'")
        self._ready = prepare(system)
        check_capability(self.scheme, self._ready.model)
        self._program = program_of(system, self.scheme)
        self.n_q, self.n_u = system.n_q, system.n_u

    def check(self, x: np.ndarray, values: np.ndarray, t: float, dt: float) -> None:
        """Everything that `solve` checks about a start."""
        check_start(self._ready, self.scheme, dt, t, x[: self.n_q], x[self.n_q :], values, 1e-6)

    def possible(self, X: np.ndarray, values: np.ndarray, t: float) -> np.ndarray:
        """Which starts lie outside of all obstacles."""
        seen = observe(self._ready.observing, values, np.full(len(X), t), X[:, : self.n_q], X[:, self.n_q :])
        return np.asarray((seen["gap"] >= INSIDE).all(axis=1))

    def run(
        self, x: np.ndarray, values: np.ndarray, dt: float, steps: int, every: int = 1, t: float = 0.0, skip: int = 0
    ) -> Trajectory:
        """So many steps from x; every so many are kept, after `skip` steps."""
        if self._located is not None:
            rows, impacts, done = self._located.run(x, values, dt, steps, every, t, skip, events=steps)
            return Trajectory(rows[:, 0], rows[:, 1:], impacts, done < steps)
        q, u, wide = x[: self.n_q].copy(), x[self.n_q :].copy(), self.n_q + self.n_u
        start = Start(values, q, u, t, t + steps * dt, dt, steps, self.tol, 30, 0.0, self.scheme.name)
        run: Any = self.scheme.start(self._program, start)
        ends = np.cumsum([0, *run.columns.values()])
        N = slice(*ends[(k := list(run.columns).index("P.N")) : k + 2])
        kept, hits, done, before = [], [], 0, np.zeros(run.columns["P.N"])
        while done < steps and run.failure is None:
            rows = run.step(min(2048, steps - done)).results
            numbers = done + 1 + np.arange(len(rows))
            kept.append(rows[(numbers % every == 0) & (numbers > skip)])
            acting = np.vstack([before, rows[:, N]]) > 0
            row, contact = np.nonzero(acting[1:] & ~acting[:-1] & (numbers > skip)[:, None])
            hits.append(np.column_stack([rows[row, 0], contact, rows[row, 1 : 1 + wide]]))
            done += len(rows)
            before = rows[-1, N] if len(rows) else before
        rows = np.vstack(kept) if kept else np.zeros((0, 1 + wide))
        failed = run.failure is not None or not np.isfinite(rows).all()
        impacts = np.vstack(hits) if hits else np.zeros((0, 2 + wide))
        return Trajectory(rows[:, 0], rows[:, 1 : 1 + wide], impacts, failed)


def in_threads(
    work: Callable[[Any], Any], items: Sequence[Any], show: Callable[[int], None] | None = None
) -> list[Any]:
    """work(item) for all items, in their order, on all cores; `show` is told how many are done."""
    out = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for k, result in enumerate(pool.map(work, items)):
            out.append(result)
            if show is not None:
                show(k + 1)
    return out

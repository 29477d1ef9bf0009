"""Many short runs of one system: compiled once, checked at once, on all cores.

Compiled loops run without the interpreter's lock, so that threads are enough. Systems with frictionless impacts take the
integrator of `studies.located`, unless a method is named.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.engine.layout import slices
from stickslip.engine.observe import observe
from stickslip.engine.runs import Start
from stickslip.errors import MethodError, OptionError
from stickslip.model.system import System
from stickslip.schemes import EventDriven, Scheme
from stickslip.schemes.spec import scheme_of
from stickslip.solve.checks import check_capability, check_start
from stickslip.solve.ensemble import run_many
from stickslip.solve.options import out_path
from stickslip.solve.outfile import fingerprint
from stickslip.solve.prepared import compiled, prepare, program_of
from stickslip.studies.journal import Journal

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
        N = slices(run.columns)["P.N"]
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

    def many(self, X: np.ndarray, values: np.ndarray, dt: float, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States after `at` steps (runs, times, columns) from each row of X, with its row of parameters; which runs failed."""
        if self._located is not None:
            every, steps = int(at[1] - at[0]) if at.size > 1 else int(at[0]), int(at[-1])
            rows = [
                self._located.run(x, v, dt, steps, every, 0.0, int(at[0]) - every, 0)
                for x, v in zip(X, values, strict=True)
            ]
            failed = np.array([done < steps for *_, done in rows])
            states = np.full((len(X), at.size, X.shape[1]), np.nan)
            for k, (kept, _, _) in enumerate(rows):
                states[k, : len(kept)] = kept[:, 1:]
            return states, failed
        steps, wide = int(at[-1]), self.n_q + self.n_u
        q, u = X[0, : self.n_q].copy(), X[0, self.n_q :].copy()
        start = Start(values[0], q, u, 0.0, steps * dt, dt, 0, self.tol, 30, 0.0, self.scheme.name)
        width = sum(self.scheme.start(self._program, start).columns.values())
        results, done = np.full((len(X), at.size, width), np.nan), np.zeros(len(X), np.int64)
        inputs = np.hstack([values, X])
        run_many(self.scheme, self._program, start, inputs, at, np.arange(len(X)), results, done)
        states = results[:, :, 1 : 1 + wide]
        return states, (done < steps) | ~np.isfinite(states).all(axis=(1, 2))


def study_journal(path: str | Path | None, system: System, **call: Any) -> Journal | None:
    """The journal of a study, or none; a file of another study is refused."""
    if path is None:
        return None
    about = [
        fingerprint(prepare(system)),
        system.parameters,
        system.q_initial.tolist(),
        system.u_initial.tolist(),
        call,
    ]
    identity = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
    return Journal(out_path(journal=path), identity)


def journaled(
    work: Callable[[int], dict[str, np.ndarray]],
    items: Sequence[int],
    journal: Journal | None,
    show: Callable[[int], None] | None = None,
) -> list[dict[str, np.ndarray]]:
    """work(item) for all items, in their order, on all cores; what a journal has is not repeated."""
    done = {} if journal is None else {k: values for k, (values, _) in journal.done.items() if values is not None}
    left = [k for k in items if k not in done]
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for k, result in zip(left, pool.map(work, left), strict=True):
                done[k] = result
                if journal is not None:
                    journal.append(k, (result, None))
                if show is not None:
                    show(len(done))
    finally:
        if journal is not None:
            journal.close()
    return [done[k] for k in items]

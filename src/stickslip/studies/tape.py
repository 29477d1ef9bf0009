"""A recorded event-driven run as a sequence of linear maps: steps between events, saltations at them.

Between events the derivative is that of the integrator's steps. For a Runge-Kutta step with k_i = f(t_i, x_0 + h a_ij k_j)

    K_i = f_x (X_0 + h a_ij K_j) + f_p P,      X_1 = X_0 + h b_i K_i,

so that columns pushed forward and rows pulled back are transposed to each other to round-off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.derive import derive
from stickslip.model.system import System
from stickslip.phases.history import History, Phase
from stickslip.schemes import EventDriven
from stickslip.solution import Names
from stickslip.studies.linearised import Mechanism, Tangent
from stickslip.studies.numeric import Numeric
from stickslip.studies.saltation import GRAZE, Affine, EventDerivative, saltation
from stickslip.studies.stages import LinearMap


@dataclass(frozen=True)
class RungeKuttaStep:
    """The derivative of one step of length h with the coefficients a, b."""

    h: float
    a: np.ndarray
    b: np.ndarray
    stages: Sequence[Tangent]

    def push(self, X: np.ndarray, P: np.ndarray) -> np.ndarray:
        """X_1 for the columns X_0 = X."""
        slopes: list[np.ndarray] = []
        for i, stage in enumerate(self.stages):
            at = X + self.h * sum(
                (c * k for c, k in zip(self.a[i, :i], slopes, strict=True) if c), start=np.zeros_like(X)
            )
            slopes.append(stage.push(at, P))
        return X + self.h * sum((c * k for c, k in zip(self.b, slopes, strict=True) if c), start=np.zeros_like(X))

    def pull(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The transposed map, of a row after the step."""
        n = len(self.stages)
        pulled: list[np.ndarray] = [np.zeros(0)] * n
        total, by_p = row.copy(), np.zeros(self.stages[0].R_p.shape[1])
        for i in reversed(range(n)):
            weight = self.h * self.b[i] * row
            for j in range(i + 1, n):
                if self.a[j, i]:
                    weight = weight + self.h * self.a[j, i] * pulled[j]
            pulled[i], more = self.stages[i].pull(weight)
            total += pulled[i]
            by_p += more
        return total, by_p


Operation = RungeKuttaStep | Affine | LinearMap
Gaps = tuple[np.ndarray, np.ndarray]  # and their velocities


class Tape:
    """The linear maps of a recorded run, one after the other; `Mechanism` is compiled once for all runs."""

    def __init__(self, system: System, wrt: Sequence[int]):
        self.system, self.mechanism = system, Mechanism(derive(system), wrt)

    @cached_property
    def _gap(self) -> Numeric:
        m, e = self.mechanism, self.mechanism._motion_equations
        return Numeric([m._t, m._q, m._u, m._p], [e["gap"], e["gap_dot"]])

    def gaps(self, t: float, x: np.ndarray, p: np.ndarray) -> Gaps:
        """Gaps and their velocities."""
        n_q = self.mechanism.n_q
        gap, gap_dot = self._gap(t, x[:n_q], x[n_q:], p)
        return gap[:, 0], gap_dot[:, 0]

    def operations(
        self, history: History, p: np.ndarray, scheme: EventDriven, names: Names
    ) -> Iterator[tuple[int, Operation]]:
        """Each map, and the output row that it leads to."""
        height = np.zeros(self.mechanism.n["N"])
        for item in history:
            if isinstance(item, Phase):
                for step in self._phase(item, p, scheme, height, names):
                    yield item.row, step
            else:
                yield item.row, saltation(self.mechanism, p, item, height, names)
                assert item.after is not None
                height[(item.touching > 0) | (item.after.closed > 0)] = 0.0

    def _phase(
        self, phase: Phase, p: np.ndarray, scheme: EventDriven, height: np.ndarray, names: Names
    ) -> Iterator[Operation]:
        from scipy.integrate import DOP853

        m, n_q, modes = self.mechanism, self.mechanism.n_q, phase.modes
        if not phase.t_1 > phase.t_0:
            return

        def rate(t: float, x: np.ndarray) -> np.ndarray:
            return m.motion(t, x[:n_q], x[n_q:], p, modes).rate

        solver = DOP853(
            rate, phase.t_0, np.concatenate([phase.q_0, phase.u_0]), phase.t_1, rtol=scheme.rtol, atol=scheme.atol
        )
        before = self.gaps(phase.t_0, solver.y, p)
        while solver.status == "running":
            message = solver.step()
            if solver.status == "failed":
                raise RuntimeError(f"the tangent's integrator stops at t = {solver.t:.9g}: {message}")
            t, x, h = solver.t_old, solver.y_old, solver.t - solver.t_old
            stages = []
            for i in range(solver.n_stages):
                y = x + h * (solver.K[:i].T @ solver.A[i, :i])
                stages.append(m.tangent(t + solver.C[i] * h, y[:n_q], y[n_q:], p, modes)[1])
            after = self.gaps(solver.t, solver.y, p)
            np.maximum(height, after[0], out=height)
            yield from self._missed(solver, before, after, p, height, modes.closed, names)
            before = after
            yield RungeKuttaStep(h, solver.A, solver.B, stages)

    def _missed(
        self,
        solver: Any,
        before: Gaps,
        after: Gaps,
        p: np.ndarray,
        height: np.ndarray,
        closed: np.ndarray,
        names: Names,
    ) -> Iterator[Affine]:
        """Touches that are missed by next to nothing: on one side of them the motion is another one."""
        left = before[0] > 1e-4 * height  # a contact that has just opened is not missed
        turned = (closed == 0) & left & (before[1] < 0) & (after[1] > 0)
        for i in np.flatnonzero(turned):
            dense = solver.dense_output()

            def gap_dot(t: float, i: int = int(i), dense: Any = dense) -> float:
                return float(self.gaps(t, dense(t), p)[1][i])

            if gap_dot(solver.t_old) < 0 < gap_dot(solver.t):
                from scipy.optimize import brentq

                t = float(brentq(gap_dot, solver.t_old, solver.t, xtol=1e-14))
                gap = self.gaps(t, dense(t), p)[0][i]
                if abs(gap) < GRAZE * max(height[i], 1e-300):
                    n, k = self.mechanism.n_x, len(self.mechanism.wrt)
                    said = f"no derivative: the contact is missed by {gap:.1e} only"
                    event = EventDerivative(t, "grazing", names.contacts[i], said, exists=False)
                    yield Affine(np.full((n, n), np.nan), np.full((n, k), np.nan), event)


def parameter_directions(
    system: System, names: Sequence[str], changed: Mapping[str, float] | None = None
) -> tuple[list[int], np.ndarray]:
    """Which parameters change with the free ones `names` (those that follow from them included), and how fast."""
    symbols, values, free = system.parameter_symbols(), system.parameter_values(changed), system.parameters
    everything = ca.vertcat(ca.SX(0, 1), *symbols.values())
    expressions = system.parameter_expressions()
    full = ca.vertcat(ca.SX(0, 1), *[symbols[n] if n in free else expressions[n] for n in symbols])
    following = ca.vertcat(ca.SX(0, 1), *[symbols[n] for n in symbols if n not in free])
    while following.numel() and ca.depends_on(full, following):  # parameters may follow from ones that follow
        full = ca.substitute(full, everything, full)
    chosen = ca.vertcat(ca.SX(0, 1), *[symbols[n] for n in names])
    J = ca.Function("J", [everything], [ca.densify(ca.jacobian(full, chosen))])(list(values.values())).full()
    J = J.reshape(len(symbols), len(names))
    changing = np.flatnonzero(np.abs(J).sum(axis=1) > 0).tolist()
    return changing, J[changing]

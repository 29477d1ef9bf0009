"""A compiled integrator for many runs with frictionless impacts: Runge-Kutta steps, impacts located inside them.

Schemes that capture events place an impact at the end of a step. That makes the return map discontinuous, and a bifurcation
diagram shows cycles where the motion has none. Here

    qdot = B u + beta,     udot = M^-1 (h + W_N la_N),     0 <= la_N  perp  g_N_ddot >= 0  for closed contacts,

is integrated by steps of the classical method of order 4. An open gap that is negative at the end of a step, or at a minimum
inside it, is followed to its zero, where the velocities jump by Newton's law,

    M (u_1 - u_0) = W_N P_N,     0 <= P_N  perp  g_N_dot(u_1) + e_N g_N_dot(u_0) >= 0.

A contact that leaves slowly stays closed until its force vanishes. This is for systems without friction and without bilateral
constraints, with at most MOST velocities. `located_steps` has the steps.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.derive import Model
from stickslip.native.kernel import Kernel, compile_kernel
from stickslip.studies.linearised import Mechanism
from stickslip.studies.located_steps import located_run

MOST = 8  # velocities: M is inverted symbolically


def suits(model: Model) -> bool:
    """Whether a system has only what this integrator knows."""
    kinds = [part.type for part in model.parts]
    plain = not any(kind.n["g"] or kind.n["gamma"] or kind.frictions for kind in kinds)
    return plain and model.system.n_u <= MOST and any(kind.n["N"] for kind in kinds)


class Located:
    """The kernel of a system, and the loop as a function of numbers."""

    def __init__(self, model: Model):
        m = Mechanism(model, [])
        self.n_q, self.n_u, self.n_N = m.n_q, m.n_u, m.n["N"]
        self._kernel = kernel_of(m)

    def run(
        self, x: np.ndarray, values: np.ndarray, dt: float, steps: int, every: int, t: float, skip: int, events: int
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Rows (t, q, u) that are kept, rows (t, contact, q, u) after impacts (so many at most), the steps that are done."""
        n_x = self.n_q + self.n_u
        rows = np.empty((max(0, steps // every - skip // every), 1 + n_x))
        impacts = np.empty((events, 2 + n_x))
        inputs = np.concatenate([[t], x, values])
        done, hits = located_run(
            self._kernel.address, self.n_q, self.n_u, self.n_N, self._kernel.n_out, inputs, x.copy(), t, dt, steps, every,
            skip, rows, impacts,
        )  # fmt: skip
        return rows[: max(0, done // every - skip // every)], impacts[: min(hits, events)], done


def kernel_of(m: Mechanism) -> Kernel:
    """(t, q, u, p) -> qdot, a without contacts, g_N, g_N_dot, g_N_ddot for it, e_N, M^-1 W_N, W_N^T M^-1 W_N."""
    t, q, u, p = m._t, m._q, m._u, m._p
    mass, h = ca.SX(m.n_u, m.n_u), ca.SX.zeros(m.n_u)
    W, e = ca.SX(m.n_u, m.n["N"]), ca.SX.zeros(m.n["N"])
    for part, r in zip(m.model.parts, m._rows, strict=True):

        def here(value: ca.SX, part: Any = part, r: Any = r) -> ca.SX:
            return ca.substitute(value, part.type.parameters, p[r.p]) if r.p else value

        kind = part.type
        mass[r.u, r.u] += here(kind.M(t, q[r.q]))
        h[r.u] += here(kind.h(t, q[r.q], u[r.u]))
        if r.N:
            W[r.u, r.N] += here(kind.W(t, q[r.q]).N)
            e[r.N] = here(kind.e_N(t, q[r.q], u[r.u]))
    solved = ca.solve(ca.densify(mass), ca.densify(ca.horzcat(h, W)))
    a, V = solved[:, 0], solved[:, 1:]
    y = ca.vertcat(a, ca.SX.zeros(m.n_y - m.n_u))
    gap, gap_dot, gap_ddot = (m._motion_equations[name] for name in ("gap", "gap_dot", "gap_ddot"))
    gap_ddot = ca.substitute(gap_ddot, m._y, y)
    out = ca.veccat(m._qdot, a, gap, gap_dot, gap_ddot, e, V, W.T @ V)
    return compile_kernel(ca.Function("located", [ca.vertcat(t, q, u, p)], [ca.densify(out)]))

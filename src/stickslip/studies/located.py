"""A compiled integrator for many runs with frictionless impacts: Runge-Kutta steps, impacts located inside them.

Schemes that capture events place an impact at the end of a step. That makes the return map discontinuous, and a bifurcation
diagram shows cycles where the motion has none. Here

    qdot = B u + beta,     udot = M^-1 (h + W_N la_N),     0 <= la_N  perp  g_N_ddot >= 0  for closed contacts,

is integrated by steps of the classical method of order 4. An open gap that is negative at the end of a step, or at a minimum
inside it, is followed to its zero, where the velocities jump by Newton's law,

    M (u_1 - u_0) = W_N P_N,     0 <= P_N  perp  g_N_dot(u_1) + e_N g_N_dot(u_0) >= 0.

A contact that leaves slower than REST stays closed until its force vanishes. This is for systems without friction and without
bilateral constraints, with at most MOST velocities.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.derive import Model
from stickslip.jit import jit
from stickslip.native.call import call_kernel
from stickslip.native.kernel import Kernel, compile_kernel
from stickslip.studies.linearised import Mechanism

MOST = 8  # velocities: M is inverted symbolically
REST = 1e-6  # gap velocity after an impact at which a contact stays closed
ROUNDING = 1e-12  # gap velocity that is none
EVENTS = 400  # in one step, before what is left of it is done with the contact closed


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


@jit
def rates(address, n_q, n_u, n_N, inputs, out, t, x, closed, la, dx):
    """The rate of x, with the forces la of closed contacts (by Gauss-Seidel); everything else stays in `out`."""
    n_x = n_q + n_u
    inputs[0] = t
    for i in range(n_x):
        inputs[1 + i] = x[i]
    call_kernel(address, inputs, 0, out, 0)
    for i in range(n_x):
        dx[i] = out[i]
    g_ddot = n_x + 2 * n_N
    V = n_x + 4 * n_N
    G = V + n_u * n_N
    any_closed = False
    for i in range(n_N):
        la[i] = 0.0
        any_closed = any_closed or closed[i]
    if not any_closed:
        return
    for _ in range(200):
        change = 0.0
        for i in range(n_N):
            if closed[i]:
                y = out[g_ddot + i]
                for j in range(n_N):
                    y += out[G + i + j * n_N] * la[j]
                new = max(0.0, la[i] - y / out[G + i + i * n_N])
                change = max(change, abs(new - la[i]))
                la[i] = new
        if change <= 1e-14:
            break
    for j in range(n_N):
        if la[j] != 0.0:
            for i in range(n_u):
                dx[n_q + i] += out[V + i + j * n_u] * la[j]


@jit
def runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, h, closed, la, k, y, x_1):
    """x_1 after a step of length h with the rate k_0 at its start; `out`, `la` and `k` are those at its end."""
    n_x = n_q + n_u
    for i in range(n_x):
        x_1[i] = x[i] + h / 6 * k_0[i]
        k[i] = k_0[i]
    for stage in range(1, 4):
        share = 1.0 if stage == 3 else 0.5
        weight = h / 6 if stage == 3 else h / 3
        for i in range(n_x):
            y[i] = x[i] + share * h * k[i]
        rates(address, n_q, n_u, n_N, inputs, out, t + share * h, y, closed, la, k)
        for i in range(n_x):
            x_1[i] += weight * k[i]
    rates(address, n_q, n_u, n_N, inputs, out, t + h, x_1, closed, la, k)


@jit
def hold(n_q, n_u, n_N, out, x, closed):
    """Take the gap velocities out of closed contacts, which the integrator keeps up to its error only."""
    n_x = n_q + n_u
    V = n_x + 4 * n_N
    G = V + n_u * n_N
    for _ in range(20):
        for i in range(n_N):
            if closed[i]:
                P = -out[n_x + n_N + i] / out[G + i + i * n_N]
                for j in range(n_N):
                    out[n_x + n_N + j] += out[G + j + i * n_N] * P
                for j in range(n_u):
                    x[n_q + j] += out[V + j + i * n_u] * P


@jit
def jump(n_q, n_u, n_N, out, x, closed, touching):
    """Newton's impact law for all contacts that touch; the largest impulse in units of velocity."""
    n_x = n_q + n_u
    g_dot, e = n_x + n_N, n_x + 3 * n_N
    V = n_x + 4 * n_N
    G = V + n_u * n_N
    P = np.zeros(n_N)
    for _ in range(500):
        change = 0.0
        for i in range(n_N):
            if touching[i]:
                before = out[g_dot + i]
                y = before + (out[e + i] * before if before < 0.0 else 0.0)
                for j in range(n_N):
                    y += out[G + i + j * n_N] * P[j]
                new = max(0.0, P[i] - y / out[G + i + i * n_N])
                change = max(change, abs(new - P[i]))
                P[i] = new
        if change <= 1e-15:
            break
    for j in range(n_N):
        for i in range(n_u):
            x[n_q + i] += out[V + i + j * n_u] * P[j]
    for i in range(n_N):
        if touching[i]:
            after = out[g_dot + i]
            for j in range(n_N):
                after += out[G + i + j * n_N] * P[j]
            closed[i] = after <= REST


@jit
def located_run(address, n_q, n_u, n_N, n_out, inputs, x, t_0, dt, steps, every, skip, rows, impacts):
    """All steps: how many are done (fewer if the state is not finite), and how many impacts there were."""
    n_x = n_q + n_u
    out, la, k, k_0 = np.empty(n_out), np.zeros(n_N), np.empty(n_x), np.empty(n_x)
    y, x_1, x_2 = np.empty(n_x), np.empty(n_x), np.empty(n_x)
    closed, touching = np.zeros(n_N, np.bool_), np.zeros(n_N, np.bool_)
    gap, gap_dot = np.empty(n_N), np.empty(n_N)
    hits, kept = 0, 0
    rates(address, n_q, n_u, n_N, inputs, out, t_0, x, closed, la, k)
    for i in range(n_N):
        touching[i] = out[n_x + i] <= 1e-12
        closed[i] = touching[i] and abs(out[n_x + n_N + i]) <= REST
    fresh = False  # whether `out` and `k` are those of x
    for n in range(steps):
        t, left = t_0 + n * dt, dt
        for event in range(EVENTS + 1):
            if not fresh:
                rates(address, n_q, n_u, n_N, inputs, out, t, x, closed, la, k)
            for i in range(n_x):
                k_0[i] = k[i]
            fresh = False
            for i in range(n_N):
                gap[i], gap_dot[i] = out[n_x + i], out[n_x + n_N + i]
            runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, left, closed, la, k, y, x_1)
            first, which = left, -1
            for i in range(n_N):
                if closed[i]:
                    continue
                end = left
                g_end = out[n_x + i]
                speed = out[n_x + n_N + i]
                fastest = max(-gap_dot[i], speed)
                lowest = g_end - 0.5 * speed * speed * left / max(speed - gap_dot[i], 1e-300)  # were it a parabola
                if g_end >= 0.0 and gap_dot[i] < 0.0 and speed > 0.0 and lowest < 0.1 * left * fastest:
                    a, b = 0.0, left
                    for _ in range(40):
                        c = 0.5 * (a + b)
                        runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, c, closed, la, k, y, x_2)
                        if out[n_x + n_N + i] < 0.0:
                            a = c
                        else:
                            b = c
                        g_end, end = out[n_x + i], c
                        if g_end < 0.0:
                            break
                    runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, left, closed, la, k, y, x_1)
                # A contact that leaves may be negative by rounding, or by the drift while it was closed.
                if g_end < 0.0 and (speed < -ROUNDING or gap_dot[i] < -ROUNDING):
                    a, g_a, b, g_b = 0.0, max(gap[i], 0.0), end, g_end
                    if gap_dot[i] >= 0.0:  # it leaves first
                        a, g_a = _above(address, n_q, n_u, n_N, inputs, out, t, x, k_0, end, closed, la, k, y, x_2, i)
                    side = 0
                    for _ in range(60):
                        if b - a <= 1e-15 * max(abs(t), dt):
                            break
                        c = (a * g_b - b * g_a) / (g_b - g_a) if g_b != g_a else 0.5 * (a + b)
                        if not a < c < b:
                            c = 0.5 * (a + b)
                        runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, c, closed, la, k, y, x_2)
                        g_c = out[n_x + i]
                        if g_c > 0.0:
                            a, g_a = c, g_c
                            if side == 1:
                                g_b *= 0.5
                            side = 1
                        else:
                            b, g_b = c, g_c
                            if side == -1:
                                g_a *= 0.5
                            side = -1
                        if abs(g_c) <= 1e-15:
                            b = c
                            break
                    if b < first or which < 0:
                        first, which = b, i
                    runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, left, closed, la, k, y, x_1)
            opens = False
            for i in range(n_N):
                if closed[i] and la[i] <= 0.0:  # its force vanishes inside
                    a, b = 0.0, first
                    while b - a > 1e-13 * dt:
                        c = 0.5 * (a + b)
                        runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, c, closed, la, k, y, x_2)
                        if la[i] > 0.0:
                            a = c
                        else:
                            b = c
                    first, which, opens = b, -1, True
                    runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, left, closed, la, k, y, x_1)
            if which >= 0 or opens:
                runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, first, closed, la, k, y, x_1)
            for i in range(n_x):
                x[i] = x_1[i]
            t, left = t + first, left - first
            hold(n_q, n_u, n_N, out, x, closed)
            for i in range(n_N):  # contacts whose force has vanished open
                if closed[i] and la[i] <= 0.0:
                    closed[i] = False
            if opens and left > 1e-15 * dt:
                continue
            if which < 0:
                fresh = not opens
                for i in range(n_N):
                    fresh = fresh and not closed[i]
                break
            for i in range(n_N):
                touching[i] = closed[i] or i == which or (out[n_x + i] <= 1e-10 and out[n_x + n_N + i] < 0.0)
            jump(n_q, n_u, n_N, out, x, closed, touching)
            if event == EVENTS:
                closed[which] = True
            if hits < len(impacts) and n >= skip:
                impacts[hits, 0], impacts[hits, 1] = t, which
                impacts[hits, 2:] = x
            hits += n >= skip
            if left <= 1e-15 * dt:
                break
        for i in range(n_x):
            if not np.isfinite(x[i]):
                return n, hits
        if (n + 1) % every == 0 and n + 1 > skip and kept < len(rows):
            rows[kept, 0] = t_0 + (n + 1) * dt
            rows[kept, 1:] = x
            kept += 1
    return steps, hits


@jit
def _above(address, n_q, n_u, n_N, inputs, out, t, x, k_0, end, closed, la, k, y, x_2, i):
    """A time at which the gap of a contact that has just left is positive, before it comes back."""
    c = end
    for _ in range(60):
        c *= 0.5
        runge_kutta(address, n_q, n_u, n_N, inputs, out, t, x, k_0, c, closed, la, k, y, x_2)
        if out[n_q + n_u + i] > 0.0:
            return c, out[n_q + n_u + i]
    return 0.0, 0.0

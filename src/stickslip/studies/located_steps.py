"""Steps of `located`: the compiled loop, and what happens inside of a step, where contacts close and open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import jit, jit_bare
from stickslip.native.call import call_kernel

REST = 1e-6  # gap velocity after an impact at which a contact stays closed
ROUNDING = 1e-12  # gap velocity that is none
EVENTS = 400  # in one step, before what is left of it is done with the contact closed


class RunArrays(NamedTuple):
    """What a run works with: kernel and sizes, the state x at which what is left of a step begins, and arrays to write to."""

    address: int
    n_q: int
    n_u: int
    n_N: int
    inputs: np.ndarray
    out: np.ndarray  # what the kernel has said last
    x: np.ndarray
    k_0: np.ndarray  # rate at x
    k: np.ndarray  # rate that was asked for last
    y: np.ndarray
    x_1: np.ndarray  # after what is left of a step
    x_2: np.ndarray  # somewhere inside of it
    la: np.ndarray
    closed: np.ndarray
    touching: np.ndarray
    P: np.ndarray
    gap: np.ndarray  # at x
    gap_dot: np.ndarray


@jit_bare
def rates(c: RunArrays, t: float, x: np.ndarray) -> None:
    """The rate k of x, with the forces la of closed contacts (by Gauss-Seidel); everything else stays in `out`."""
    n_q, n_u, n_N, out, la = c.n_q, c.n_u, c.n_N, c.out, c.la
    n_x = n_q + n_u
    c.inputs[0] = t
    for i in range(n_x):
        c.inputs[1 + i] = x[i]
    call_kernel(c.address, c.inputs, 0, out, 0)
    for i in range(n_x):
        c.k[i] = out[i]
    g_ddot = n_x + 2 * n_N
    V = n_x + 4 * n_N
    G = V + n_u * n_N
    any_closed = False
    for i in range(n_N):
        la[i] = 0.0
        any_closed = any_closed or c.closed[i]
    if not any_closed:
        return
    for _ in range(200):
        change = 0.0
        for i in range(n_N):
            if c.closed[i]:
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
                c.k[n_q + i] += out[V + i + j * n_u] * la[j]


@jit_bare
def runge_kutta(c: RunArrays, t: float, h: float, to: np.ndarray) -> None:
    """The state after a step of length h from x; `out`, `la` and `k` are those at its end."""
    for i in range(c.x.size):
        to[i] = c.x[i] + h / 6 * c.k_0[i]
        c.k[i] = c.k_0[i]
    for stage in range(1, 4):
        share = 1.0 if stage == 3 else 0.5
        weight = h / 6 if stage == 3 else h / 3
        for i in range(c.x.size):
            c.y[i] = c.x[i] + share * h * c.k[i]
        rates(c, t + share * h, c.y)
        for i in range(c.x.size):
            to[i] += weight * c.k[i]
    rates(c, t + h, to)


@jit_bare
def hold(c: RunArrays) -> None:
    """Take the gap velocities out of closed contacts, which the integrator keeps up to its error only."""
    n_u, n_N, out, n_x = c.n_u, c.n_N, c.out, c.n_q + c.n_u
    V = n_x + 4 * n_N
    G = V + n_u * n_N
    for _ in range(20):
        for i in range(n_N):
            if c.closed[i]:
                P = -out[n_x + n_N + i] / out[G + i + i * n_N]
                for j in range(n_N):
                    out[n_x + n_N + j] += out[G + j + i * n_N] * P
                for j in range(n_u):
                    c.x[c.n_q + j] += out[V + j + i * n_u] * P


@jit_bare
def jump(c: RunArrays) -> None:
    """Newton's impact law for all contacts that touch; those that leave slowly are closed."""
    n_u, n_N, out, n_x = c.n_u, c.n_N, c.out, c.n_q + c.n_u
    g_dot, e = n_x + n_N, n_x + 3 * n_N
    V = n_x + 4 * n_N
    G = V + n_u * n_N
    P = c.P
    for i in range(n_N):
        P[i] = 0.0
    for _ in range(500):
        change = 0.0
        for i in range(n_N):
            if c.touching[i]:
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
            c.x[c.n_q + i] += out[V + i + j * n_u] * P[j]
    for i in range(n_N):
        if c.touching[i]:
            after = out[g_dot + i]
            for j in range(n_N):
                after += out[G + i + j * n_N] * P[j]
            c.closed[i] = after <= REST


@jit_bare
def lowest_gap(c: RunArrays, t: float, left: float, i: int) -> tuple[float, float]:
    """An open gap at the end of what is left of a step, or where it is negative at a minimum inside of it; and when."""
    n_x, out = c.n_q + c.n_u, c.out
    gap, speed, end = out[n_x + i], out[n_x + c.n_N + i], left
    if not (gap >= 0.0 and c.gap_dot[i] < 0.0 and speed > 0.0):
        return gap, end
    lowest = gap - 0.5 * speed * speed * left / max(speed - c.gap_dot[i], 1e-300)  # were it a parabola
    if lowest >= 0.1 * left * max(-c.gap_dot[i], speed):
        return gap, end
    a, b = 0.0, left
    for _ in range(40):
        end = 0.5 * (a + b)
        runge_kutta(c, t, end, c.x_2)
        gap = out[n_x + i]
        if out[n_x + c.n_N + i] < 0.0:
            a = end
        else:
            b = end
        if gap < 0.0:
            break
    return gap, end


@jit_bare
def closing_time(c: RunArrays, t: float, dt: float, i: int, end: float, g_end: float) -> float:
    """When a gap that is negative at `end` has become zero, by regula falsi."""
    n_x, out = c.n_q + c.n_u, c.out
    a, g_a, b, g_b = 0.0, max(c.gap[i], 0.0), end, g_end
    if c.gap_dot[i] >= 0.0:  # it leaves first
        a, g_a = _above(c, t, end, i)
    side = 0
    for _ in range(60):
        if b - a <= 1e-15 * max(abs(t), dt):
            break
        middle = (a * g_b - b * g_a) / (g_b - g_a) if g_b != g_a else 0.5 * (a + b)
        if not a < middle < b:
            middle = 0.5 * (a + b)
        runge_kutta(c, t, middle, c.x_2)
        g = out[n_x + i]
        if g > 0.0:
            a, g_a = middle, g
            if side == 1:
                g_b *= 0.5
            side = 1
        else:
            b, g_b = middle, g
            if side == -1:
                g_a *= 0.5
            side = -1
        if abs(g) <= 1e-15:
            return middle
    return b


@jit_bare
def _above(c: RunArrays, t: float, end: float, i: int) -> tuple[float, float]:
    """A time at which the gap of a contact that has just left is positive, before it comes back."""
    middle, n_x = end, c.n_q + c.n_u
    for _ in range(60):
        middle *= 0.5
        runge_kutta(c, t, middle, c.x_2)
        if c.out[n_x + i] > 0.0:
            return middle, c.out[n_x + i]
    return 0.0, 0.0


@jit_bare
def opening_time(c: RunArrays, t: float, dt: float, i: int, end: float) -> float:
    """When the force of a closed contact vanishes, which has done so at `end`."""
    a, b = 0.0, end
    while b - a > 1e-13 * dt:
        middle = 0.5 * (a + b)
        runge_kutta(c, t, middle, c.x_2)
        if c.la[i] > 0.0:
            a = middle
        else:
            b = middle
    return b


@jit_bare
def first_event(c: RunArrays, t: float, left: float, dt: float) -> tuple[float, int, bool]:
    """When something happens in what is left of a step, which contact closes then (or -1), and whether one opens; x_1 and
    `out` are those of that moment.
    """
    n_x, n_N, out = c.n_q + c.n_u, c.n_N, c.out
    for i in range(n_N):
        c.gap[i], c.gap_dot[i] = out[n_x + i], out[n_x + n_N + i]
    runge_kutta(c, t, left, c.x_1)
    first, which, opens = left, -1, False
    for i in range(n_N):
        if c.closed[i]:
            continue
        speed = out[n_x + n_N + i]
        gap, end = lowest_gap(c, t, left, i)
        # A contact that leaves may be negative by rounding, or by the drift while it was closed.
        if gap < 0.0 and (speed < -ROUNDING or c.gap_dot[i] < -ROUNDING):
            end = closing_time(c, t, dt, i, end, gap)
            if end < first or which < 0:
                first, which = end, i
            runge_kutta(c, t, left, c.x_1)
        elif end != left:
            runge_kutta(c, t, left, c.x_1)
    for i in range(n_N):
        if c.closed[i] and c.la[i] <= 0.0:
            first, which, opens = opening_time(c, t, dt, i, first), -1, True
            runge_kutta(c, t, left, c.x_1)
    if which >= 0 or opens:
        runge_kutta(c, t, first, c.x_1)
    return first, which, opens


@jit_bare
def one_step(
    c: RunArrays, t: float, dt: float, fresh: bool, impacts: np.ndarray, hits: int, count: bool
) -> tuple[int, bool]:
    """A step from x with all that happens inside of it; how many impacts there were so far, and whether `out` and k are those
    of x. `fresh`: whether they are at its start, `count`: whether its impacts count.
    """
    n_x, n_N, out, left = c.n_q + c.n_u, c.n_N, c.out, dt
    for event in range(EVENTS + 1):
        if not fresh:
            rates(c, t, c.x)
        for i in range(n_x):
            c.k_0[i] = c.k[i]
        first, which, opens = first_event(c, t, left, dt)
        for i in range(n_x):
            c.x[i] = c.x_1[i]
        t, left, fresh = t + first, left - first, False
        hold(c)
        for i in range(n_N):  # contacts whose force has vanished open
            if c.closed[i] and c.la[i] <= 0.0:
                c.closed[i] = False
        if opens and left > 1e-15 * dt:
            continue
        if which < 0:
            fresh = not opens
            for i in range(n_N):
                fresh = fresh and not c.closed[i]
            return hits, fresh
        for i in range(n_N):
            near = out[n_x + i] <= 1e-10 and out[n_x + n_N + i] < 0.0
            c.touching[i] = c.closed[i] or i == which or near
        jump(c)
        if event == EVENTS:
            c.closed[which] = True
        if hits < len(impacts) and count:
            impacts[hits, 0], impacts[hits, 1] = t, which
            for i in range(n_x):
                impacts[hits, 2 + i] = c.x[i]
        hits += count
        if left <= 1e-15 * dt:
            break
    return hits, False


@jit
def located_run(
    address: int,
    n_q: int,
    n_u: int,
    n_N: int,
    n_out: int,
    inputs: np.ndarray,
    x: np.ndarray,
    t_0: float,
    dt: float,
    steps: int,
    every: int,
    skip: int,
    rows: np.ndarray,
    impacts: np.ndarray,
) -> tuple[int, int]:
    """All steps: how many are done (fewer if the state is not finite), and how many impacts there were."""
    n_x = n_q + n_u
    c = RunArrays(
        address, n_q, n_u, n_N, inputs, np.empty(n_out), x,
        np.empty(n_x), np.empty(n_x), np.empty(n_x), np.empty(n_x), np.empty(n_x), np.zeros(n_N),
        np.zeros(n_N, np.bool_), np.zeros(n_N, np.bool_), np.empty(n_N), np.empty(n_N), np.empty(n_N),
    )  # fmt: skip
    hits, kept, fresh = 0, 0, False
    rates(c, t_0, x)
    for i in range(n_N):
        c.touching[i] = c.out[n_x + i] <= 1e-12
        c.closed[i] = c.touching[i] and abs(c.out[n_x + n_N + i]) <= REST
    for n in range(steps):
        hits, fresh = one_step(c, t_0 + n * dt, dt, fresh, impacts, hits, n >= skip)
        if not np.isfinite(x).all():
            return n, hits
        if (n + 1) % every == 0 and n + 1 > skip and kept < len(rows):
            rows[kept, 0] = t_0 + (n + 1) * dt
            rows[kept, 1:] = x
            kept += 1
    return steps, hits

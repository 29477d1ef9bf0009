"""Sweeps over the contacts of a linearised stage (`contact_rows`), with Anderson acceleration.

A sweep takes one contact after the other, in the present velocities of its two bodies, and projects its multipliers,

    z_N <- max(0, z_N - omega u_N/D_N),    z_F <- projection of z_F - omega u_F/D_F on the disk of radius mu z_N.

Every PERIOD sweeps the map "PERIOD sweeps" is accelerated by Anderson's method of type II,

    f = G(z) - z,   gamma = argmin |f - dF gamma|,   z <- G(z) - dG gamma,   v <- v(G(z)) - dV gamma.

Velocities depend on the multipliers affinely, so they are extrapolated with the same coefficients. The differences are dropped
while |f| grows. A residual is evaluated, not estimated, before a solve ends.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from stickslip.engine.contact_plan import SIZE
from stickslip.engine.contact_state import (
    D_1,
    D_2,
    FIRST,
    MEMORY,
    MU,
    OMEGA,
    R_F,
    R_N,
    RADIUS,
    SECOND,
    W_F,
    W_N,
    Sweeping,
)
from stickslip.jit import jit_bare
from stickslip.native.sums import sum_products
from stickslip.native.wide import WIDTH, along, push

PERIOD = 3
RESTART = (
    400  # sweeps, after which the acceleration begins anew: more than half of those that stall are done soon after
)


@jit_bare
def sweep(s: Sweeping, count: int) -> float:
    """One sweep over all contacts; the largest change, in units of velocity and of the goal of its row."""
    worst_N, worst_F = 0.0, 0.0
    v, z, G, T = s.v_flat, s.z, s.G_flat, s.T_flat
    for c in range(count):
        a, b, at, n = SIZE * s.who[c, FIRST], SIZE * s.who[c, SECOND], 3 * WIDTH * c, s.numbers[c]
        u0 = s.u[c, 0] + along(G, at, v, a, b)
        p0, p1, p2 = z[c, 0], z[c, 1], z[c, 2]
        if p0 == 0.0 and u0 >= 0.0 and p1 == 0.0 and p2 == 0.0 and n[RADIUS] == 0.0:
            continue
        u1 = s.u[c, 1] + along(G, at + WIDTH, v, a, b)
        u2 = s.u[c, 2] + along(G, at + 2 * WIDTH, v, a, b)
        q0 = max(0.0, p0 - n[R_N] * u0)
        d0 = q0 - p0
        q1, q2 = p1 - n[R_F] * (u1 + n[D_1] * d0), p2 - n[R_F] * (u2 + n[D_2] * d0)
        square, limit = q1 * q1 + q2 * q2, n[RADIUS] + n[MU] * q0
        if square > limit * limit:
            f = limit / sqrt(square)
            q1, q2 = q1 * f, q2 * f
        d1, d2 = q1 - p1, q2 - p2
        z[c, 0], z[c, 1], z[c, 2] = q0, q1, q2
        worst_N = max(worst_N, abs(d0) * n[W_N])
        worst_F = max(worst_F, (d1 * d1 + d2 * d2) * (n[W_F] * n[W_F]))
        push(T, at, v, a, b, d0, d1, d2)
    return max(worst_N, sqrt(worst_F)) / OMEGA


@jit_bare
def natural_map(s: Sweeping, count: int) -> float:
    """The largest residual, in the unit of its row and shares of what is enough there; nan stays.

    As in the residual of a stage, the radius of friction is that of the multiplier, not of the projected one: what a gap
    misses, as a force, is 23 times as much in the unit of slips as in its own.
    """
    worst, total = 0.0, 0.0
    v, G = s.v_flat, s.G_flat
    for c in range(count):
        a, b, at, n = SIZE * s.who[c, FIRST], SIZE * s.who[c, SECOND], 3 * WIDTH * c, s.numbers[c]
        u0, u1 = s.u[c, 0] + along(G, at, v, a, b), s.u[c, 1] + along(G, at + WIDTH, v, a, b)
        u2 = s.u[c, 2] + along(G, at + 2 * WIDTH, v, a, b)
        p0, p1, p2 = s.z[c, 0], s.z[c, 1], s.z[c, 2]
        q0 = max(0.0, p0 - u0 * n[R_N] / OMEGA)
        q1, q2 = p1 - u1 * n[R_F] / OMEGA, p2 - u2 * n[R_F] / OMEGA
        slip, limit = sqrt(q1 * q1 + q2 * q2), n[RADIUS] + n[MU] * p0
        if slip > limit:
            f = limit / slip if limit > 0.0 else 0.0
            q1, q2 = q1 * f, q2 * f
        size = max(abs(q0 - p0) * n[W_N], sqrt((q1 - p1) ** 2 + (q2 - p2) ** 2) * n[W_F])
        s.violated[c] = size
        total += size + q0 + q1 + q2
        worst = max(worst, size)
    return worst if abs(total) < np.inf else np.nan


@jit_bare
def accelerated(s: Sweeping, count: int, goal: float, most: int) -> tuple[int, float]:
    """Sweeps with acceleration until the natural map is below the goal; sweeps, and the residual."""
    n, n_v = 3 * count, s.v.size
    z, v, weight = s.z_flat, s.v_flat, s.weight
    dF, dG = s.history[:MEMORY], s.history[MEMORY : 2 * MEMORY]
    f, f_old, g_old = s.history[2 * MEMORY], s.history[2 * MEMORY + 1], s.history[2 * MEMORY + 2]
    dV, v_old = s.speeds[:MEMORY], s.speeds[MEMORY]
    A, C, gamma, sums = s.small[:MEMORY], s.small[MEMORY : 2 * MEMORY], s.small[2 * MEMORY], s.sums
    filled, last, done, begun = 0, -1.0, 0, 0
    while done < most:
        if done >= begun + RESTART:
            filled, last, begun = 0, -1.0, done
        for i in range(n):
            f[i] = z[i]
        for _ in range(PERIOD):
            done += 1
            if sweep(s, count) < goal:
                residual = natural_map(s, count)
                if residual < goal:
                    return done, residual
        for i in range(n):
            f[i] = (z[i] - f[i]) * weight[i]
        square = _square(f, n)
        if not square < np.inf:
            break
        k = -1  # the new difference, if there is one
        if square > last and last >= 0.0:
            filled, last = 0, square  # no history while it grows
        else:
            if last >= 0.0:
                k = filled % MEMORY
                filled += 1
            last = square if last < 0.0 else min(last, square)
        if k >= 0:
            for i in range(n):
                dF[k, i], dG[k, i] = f[i] - f_old[i], z[i] - g_old[i]
            for i in range(n_v):
                dV[k, i] = v[i] - v_old[i]
        for i in range(n):
            f_old[i], g_old[i] = f[i], z[i]
        for i in range(n_v):
            v_old[i] = v[i]
        if k < 0 or done >= most:
            continue  # end with a sweep, so that the multipliers lie in their cones
        h, trace = min(filled, MEMORY), 0.0
        sum_products(dF, k, f, n, sums)
        for j in range(MEMORY):
            gamma[j] = sums[MEMORY + j] if j < h else 0.0
        for j in range(h):
            A[k, j], A[j, k] = sums[j], sums[j]
        for j in range(h):
            trace += A[j, j]
        if trace > 0.0:
            _small_solve(A, C, gamma, h, 1e-10 * trace)
            _extrapolate(z, dG, gamma, h, n)
            _extrapolate(v, dV, gamma, h, n_v)
    return done, natural_map(s, count)


@jit_bare
def _extrapolate(z: np.ndarray, d: np.ndarray, gamma: np.ndarray, h: int, n: int) -> None:
    """z - gamma d of the first h differences; all at once where there are as many as there can be."""
    if h < MEMORY:
        for k in range(h):
            for i in range(n):
                z[i] -= gamma[k] * d[k, i]
        return
    d_0, d_1, d_2, d_3, d_4 = d[0], d[1], d[2], d[3], d[4]
    g_0, g_1, g_2, g_3, g_4 = gamma[0], gamma[1], gamma[2], gamma[3], gamma[4]
    for i in range(n):
        z[i] -= ((g_0 * d_0[i] + g_1 * d_1[i]) + (g_2 * d_2[i] + g_3 * d_3[i])) + g_4 * d_4[i]


@jit_bare
def _square(a: np.ndarray, n: int) -> float:
    """Four partial sums, which the compiler can add side by side without changing the result from run to run."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    m = n - n % 4
    for i in range(0, m, 4):
        s0 += a[i] * a[i]
        s1 += a[i + 1] * a[i + 1]
        s2 += a[i + 2] * a[i + 2]
        s3 += a[i + 3] * a[i + 3]
    for i in range(m, n):
        s0 += a[i] * a[i]
    return (s0 + s1) + (s2 + s3)


@jit_bare
def _small_solve(A: np.ndarray, C: np.ndarray, g: np.ndarray, h: int, shift: float) -> None:
    """A g = g for a few unknowns, by Cholesky."""
    for i in range(h):
        for j in range(i + 1):
            t = A[i, j]
            for k in range(j):
                t -= C[i, k] * C[j, k]
            C[i, j] = sqrt(max(t + shift, 1e-300)) if i == j else t / C[j, j]
    for i in range(h):
        for k in range(i):
            g[i] -= C[i, k] * g[k]
        g[i] /= C[i, i]
    for i in range(h - 1, -1, -1):
        for k in range(i + 1, h):
            g[i] -= C[k, i] * g[k]
        g[i] /= C[i, i]

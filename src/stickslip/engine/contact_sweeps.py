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

from stickslip.engine.contact_rows import (
    D_1,
    D_2,
    D_F,
    D_N,
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
from stickslip.jit import jit_bare, jit_inline

PERIOD = 3


@jit_inline
def _along(g: np.ndarray, x: tuple, y: tuple) -> float:
    """A row of G times the velocities of two bodies; pairs are added side by side."""
    return (
        ((g[0] * x[0] + g[1] * x[1]) + (g[2] * x[2] + g[3] * x[3]))
        + ((g[4] * x[4] + g[5] * x[5]) + (g[6] * y[0] + g[7] * y[1]))
        + ((g[8] * y[2] + g[9] * y[3]) + (g[10] * y[4] + g[11] * y[5]))
    )


@jit_bare
def sweep(s: Sweeping, count: int) -> float:
    """One sweep over all contacts; the largest change, in units of velocity and of the goal of its row."""
    worst_N, worst_F = 0.0, 0.0
    v, z = s.v, s.z
    for c in range(count):
        a, b = s.who[c, FIRST], s.who[c, SECOND]
        x = (v[a, 0], v[a, 1], v[a, 2], v[a, 3], v[a, 4], v[a, 5])
        y = (v[b, 0], v[b, 1], v[b, 2], v[b, 3], v[b, 4], v[b, 5])
        G, T, n = s.G[c], s.T[c], s.numbers[c]
        u0 = s.u[c, 0] + _along(G[0], x, y)
        p0, p1, p2 = z[c, 0], z[c, 1], z[c, 2]
        if p0 == 0.0 and u0 >= 0.0 and p1 == 0.0 and p2 == 0.0 and n[RADIUS] == 0.0:
            continue
        u1, u2 = s.u[c, 1] + _along(G[1], x, y), s.u[c, 2] + _along(G[2], x, y)
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
        v[a, 0] = x[0] + (T[0, 0] * d0 + T[1, 0] * d1 + T[2, 0] * d2)
        v[a, 1] = x[1] + (T[0, 1] * d0 + T[1, 1] * d1 + T[2, 1] * d2)
        v[a, 2] = x[2] + (T[0, 2] * d0 + T[1, 2] * d1 + T[2, 2] * d2)
        v[a, 3] = x[3] + (T[0, 3] * d0 + T[1, 3] * d1 + T[2, 3] * d2)
        v[a, 4] = x[4] + (T[0, 4] * d0 + T[1, 4] * d1 + T[2, 4] * d2)
        v[a, 5] = x[5] + (T[0, 5] * d0 + T[1, 5] * d1 + T[2, 5] * d2)
        v[b, 0] = y[0] + (T[0, 6] * d0 + T[1, 6] * d1 + T[2, 6] * d2)
        v[b, 1] = y[1] + (T[0, 7] * d0 + T[1, 7] * d1 + T[2, 7] * d2)
        v[b, 2] = y[2] + (T[0, 8] * d0 + T[1, 8] * d1 + T[2, 8] * d2)
        v[b, 3] = y[3] + (T[0, 9] * d0 + T[1, 9] * d1 + T[2, 9] * d2)
        v[b, 4] = y[4] + (T[0, 10] * d0 + T[1, 10] * d1 + T[2, 10] * d2)
        v[b, 5] = y[5] + (T[0, 11] * d0 + T[1, 11] * d1 + T[2, 11] * d2)
    return max(worst_N, sqrt(worst_F)) / OMEGA


@jit_bare
def natural_map(s: Sweeping, count: int) -> float:
    """The largest residual, in the unit of its row and shares of what is enough there; nan stays."""
    worst, total = 0.0, 0.0
    v = s.v
    for c in range(count):
        a, b = s.who[c, FIRST], s.who[c, SECOND]
        x = (v[a, 0], v[a, 1], v[a, 2], v[a, 3], v[a, 4], v[a, 5])
        y = (v[b, 0], v[b, 1], v[b, 2], v[b, 3], v[b, 4], v[b, 5])
        G, n = s.G[c], s.numbers[c]
        u0, u1 = s.u[c, 0] + _along(G[0], x, y), s.u[c, 1] + _along(G[1], x, y)
        u2 = s.u[c, 2] + _along(G[2], x, y)
        p0, p1, p2 = s.z[c, 0], s.z[c, 1], s.z[c, 2]
        q0 = max(0.0, p0 - u0 * n[R_N] / OMEGA)
        q1, q2 = p1 - u1 * n[R_F] / OMEGA, p2 - u2 * n[R_F] / OMEGA
        slip, limit = sqrt(q1 * q1 + q2 * q2), n[RADIUS] + n[MU] * q0
        if slip > limit:
            f = limit / slip if limit > 0.0 else 0.0
            q1, q2 = q1 * f, q2 * f
        size = max(abs(q0 - p0) * n[W_N], sqrt((q1 - p1) ** 2 + (q2 - p2) ** 2) * n[W_F])
        total += size + q0 + q1 + q2
        worst = max(worst, size)
    return worst if abs(total) < np.inf else np.nan


@jit_bare
def accelerated(s: Sweeping, count: int, goal: float, most: int) -> tuple[int, float]:
    """Sweeps with acceleration until the natural map is below the goal; sweeps, and the residual."""
    n, n_v = 3 * count, s.v.size
    z, v = s.z_flat, s.v_flat
    dF, dG = s.history[:MEMORY], s.history[MEMORY : 2 * MEMORY]
    f, f_old, g_old = s.history[2 * MEMORY], s.history[2 * MEMORY + 1], s.history[2 * MEMORY + 2]
    dV, v_old = s.speeds[:MEMORY], s.speeds[MEMORY]
    A, C, gamma = s.small[:MEMORY], s.small[MEMORY : 2 * MEMORY], s.small[2 * MEMORY]
    filled, last, done = 0, -1.0, 0
    while done < most:
        for i in range(n):
            f[i] = z[i]
        for _ in range(PERIOD):
            done += 1
            if sweep(s, count) < goal:
                residual = natural_map(s, count)
                if residual < goal:
                    return done, residual
        square = 0.0
        for c in range(count):
            f[3 * c] = (z[3 * c] - f[3 * c]) * s.info[c, D_N]
            f[3 * c + 1] = (z[3 * c + 1] - f[3 * c + 1]) * s.info[c, D_F]
            f[3 * c + 2] = (z[3 * c + 2] - f[3 * c + 2]) * s.info[c, D_F]
        square = _dot(f, f, n)
        if not square < np.inf:
            break
        if square > last and last >= 0.0:
            filled, last = 0, square  # no history while it grows
        else:
            if last >= 0.0:
                k = filled % MEMORY
                filled += 1
                for i in range(n):
                    dF[k, i], dG[k, i] = f[i] - f_old[i], z[i] - g_old[i]
                for i in range(n_v):
                    dV[k, i] = v[i] - v_old[i]
                for j in range(min(filled, MEMORY)):
                    A[k, j] = _dot(dF[k], dF[j], n)
                    A[j, k] = A[k, j]
            last = square if last < 0.0 else min(last, square)
        for i in range(n):
            f_old[i], g_old[i] = f[i], z[i]
        for i in range(n_v):
            v_old[i] = v[i]
        h, trace = min(filled, MEMORY), 0.0
        for k in range(h):
            gamma[k] = _dot(dF[k], f, n)
            trace += A[k, k]
        if trace == 0.0 or done >= most:
            continue  # end with a sweep, so that the multipliers lie in their cones
        _small_solve(A, C, gamma, h, 1e-10 * trace)
        for k in range(h):
            for i in range(n):
                z[i] -= gamma[k] * dG[k, i]
            for i in range(n_v):
                v[i] -= gamma[k] * dV[k, i]
    return done, natural_map(s, count)


@jit_bare
def _dot(a: np.ndarray, b: np.ndarray, n: int) -> float:
    """Four partial sums, which the compiler can add side by side without changing the result from run to run."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    m = n - n % 4
    for i in range(0, m, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(m, n):
        s0 += a[i] * b[i]
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

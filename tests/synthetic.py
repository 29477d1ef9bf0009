"""A solution whose every number is known: a ball that bounces on a floor and slides along it, from closed formulas."""

from __future__ import annotations

import numpy as np

from stickslip.solution import Names, Solution, Stats

GRAVITY, MASS, RESTITUTION, FRICTION = 9.81, 0.1, 0.75, 0.1


def make_ball(steps: int = 1500, dt: float = 1e-3) -> Solution:
    """Moreau's time stepping of a point mass over a floor, with friction; height 1 and speed 1 at the start."""
    t = dt * np.arange(steps + 1)
    q, u = np.zeros((steps + 1, 2)), np.zeros((steps + 1, 2))
    q[0], u[0] = (0.0, 1.0), (1.0, 0.0)
    P_N, P_F = np.zeros((steps + 1, 1)), np.zeros((steps + 1, 1))
    for k in range(steps):
        free = u[k] - (0.0, GRAVITY * dt)
        if q[k, 1] + dt / 2 * u[k, 1] <= 0:
            P_N[k + 1, 0] = max(0.0, -MASS * (free[1] + RESTITUTION * u[k, 1]))
            bound = FRICTION * P_N[k + 1, 0]
            P_F[k + 1, 0] = np.clip(-MASS * free[0], -bound, bound)
        u[k + 1] = free + np.array([P_F[k + 1, 0], P_N[k + 1, 0]]) / MASS
        q[k + 1] = q[k] + dt / 2 * (u[k] + u[k + 1])
    g = np.full((steps + 1, 1), 1e-16) * np.arange(steps + 1)[:, None]
    nothing = np.zeros((steps + 1, 0))
    iterations = np.column_stack([1 + (P_N[1:, 0] > 0), np.ones(steps, int)])
    return Solution(
        t=t,
        q=q,
        u=u,
        g=g,
        g_dot=10 * g,
        gamma=nothing,
        gap=q[:, 1:] - min(q[:, 1].min(), 0.0),
        gap_dot=u[:, 1:],
        slip=u[:, :1],
        P_g=0 * g,
        P_gamma=nothing,
        P_N=P_N,
        P_F=P_F,
        kinetic=MASS / 2 * (u**2).sum(axis=1),
        potential=MASS * GRAVITY * q[:, 1],
        extra={"a": 2.0 * q, "sticking": P_F[:, 0] != 0},
        stats=Stats(("position", "velocity"), iterations, np.full((steps, 2), 1e-12), wall_time=1e-6 * steps),
        names=Names(
            q=("x", "y"),
            u=("x_dot", "y_dot"),
            g=("guide",),
            contacts=("floor",),
            friction=("floor",),
            friction_sizes=(1,),
            friction_contact=(0,),
        ),
        provenance={
            "system": "ball on a floor",
            "method": "moreau",
            "options": {"theta": 0.5},
            "dt": dt,
            "tol": 1e-8,
            "t_end": steps * dt,
            "parameters": {"mu": 0.1, "box": [1.0, 2.0]},
            "versions": {"stickslip": "0.1.0"},
            "complete": True,
        },
    )

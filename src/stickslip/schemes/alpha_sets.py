"""The active sets of the generalized-alpha method as printed, from augmented multipliers (55-57).

    A: nu* - r g >= 0,   B: those of A with P - r xi_N >= 0,   S: those of B with la - r g_N_ddot >= 0
    g_N = 0 on A, else nu_N = 0                                                                            (65e, f)
    xi_N = 0 on B, else Lambda_N = 0                                                                       (65h, i)
    g_N_ddot = 0 on S, else la_N = 0                                                                       (65b, c)

The sets are found anew before every iteration, and stay fixed within it, as in Algorithm 1. Outside of A and B the relative
multipliers vanish, not the total ones: a contact still pushes, by what (65o) remembers of la_N, after it has opened.
"""

from __future__ import annotations

import casadi as ca

from stickslip.engine.derive import PartType
from stickslip.engine.fields import PERCUSSIONS, Q_1, U_1
from stickslip.engine.stage import Stage
from stickslip.schemes.alpha_motion import (
    ACCELERATION,
    CORRECTION,
    OUTSIDE_A,
    OUTSIDE_B,
    OUTSIDE_S,
    SMOOTH,
    AlphaMotion,
)

AUGMENTED = 1.0  # r, in kg: "strictly positive yet arbitrary"


def decide_sets(part: PartType, s: Stage) -> None:
    """A and B from the present iterate."""
    t_1, dt, q_1 = s.t_1, s.dt, s.known(Q_1)
    before, after = (s.t_0, s.q_0, s.u_0), (t_1, q_1, s.known(U_1))
    A = AUGMENTED / dt * (part.g_N(t_1, q_1) - part.reach(s.q_0)) - s.known(CORRECTION.N)
    B = ca.fmax(A, AUGMENTED * s.xi_N(after, before) - s.known(PERCUSSIONS.N))
    s.update(OUTSIDE_A, A)
    s.update(OUTSIDE_B, B)


def decide_smooth_set(part: PartType, s: Stage) -> None:
    """S, for a smooth motion that sees contacts."""
    a, after = s.known(ACCELERATION) / s.dt, (s.t_1, s.known(Q_1), s.known(U_1))
    push = AUGMENTED * s.dt * part.g_N_ddot(*after, a) - s.known(SMOOTH.N)
    s.update(OUTSIDE_S, ca.fmax(s.known(OUTSIDE_B), push))


def first_guess(part: PartType, s: Stage) -> None:
    """Where the sets of the first iteration come from: the position and velocity that u_0 leads to."""
    s.update(Q_1, s.q_0 + s.dt * part.qdot(s.t_0, s.q_0, s.u_0))
    s.update(U_1, s.u_0)


def position_law(part: PartType, s: Stage, x: AlphaMotion) -> None:
    """(65e, 65f)."""
    s.zero(ca.if_else(s.known(OUTSIDE_A) > 0, x.nu.N, part.g_N(s.t_1, x.q_1)), by=x.K.N)


def velocity_law(part: PartType, s: Stage, x: AlphaMotion) -> None:
    """(65h, 65i)."""
    xi_N = s.xi_N((s.t_1, x.q_1, x.u_1), (s.t_0, s.q_0, s.u_0))
    s.zero(ca.if_else(s.known(OUTSIDE_B) > 0, x.Lambda.N, xi_N), by=x.P.N)

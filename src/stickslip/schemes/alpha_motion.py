"""The integration formulas of the generalized-alpha method, for all its constraint formulations.

O. Brüls, V. Acary, A. Cardona: On the constraints formulation in the nonsmooth generalized-alpha method (2018),
sections 3.4 to 3.7. A step is a smooth motion, which integrates the acceleration a and the multipliers la alike, plus
a correction of position U and a jump of velocity w:

    (1 - alpha_m) a_bar_1 + alpha_m a_bar_0 = (1 - alpha_f) a_1 + alpha_f a_0                               (65l)
    u_1 = u_0 + dt (1 - gamma) a_bar_0 + dt gamma a_bar_1 + w                                               (65k)
    u_M = u_0 + dt (1/2 - beta) a_bar_0 + dt beta a_bar_1 + U/dt                                            (65j)
    q_1 = q_0 + dt/2 (qdot(t_0, q_0, u_M) + qdot(t_1, q_1, u_M))                                            (65j)
    P = Lambda + dt (1 - gamma) la_bar_0 + dt gamma la_bar_1                                                (65m)
    K = nu/dt + dt (1/2 - beta) la_bar_0 + dt beta la_bar_1,   la_bar like a_bar                        (65n-o)

u_M is the mean velocity of the step. For qdot = u the position is the paper's (65j), with its factor of a_bar_0
corrected to 1/2 - beta; for a quaternion it is a Cayley map, which keeps the norm exactly and needs no further
constraint. P is the total percussion of the step (Lambda* of the paper), K the total double integral (nu*) over dt.

The unknowns are dt a_1, U/dt, w and dt la_1, K, P: velocities and percussions, so that the tolerance means the same
for all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import casadi as ca

from stickslip.engine.derive import PartType, Percussions
from stickslip.engine.fields import (
    GAP_RATE,
    GAP_SIZE,
    PERCUSSIONS,
    Q_0,
    Q_1,
    SLIP_RATE,
    SPACES,
    U_1,
    F,
    Field,
    G,
    Multipliers,
    N,
    Space,
    U,
)
from stickslip.engine.stage import Stage
from stickslip.schemes.alpha_coefficients import Coefficients

ACCELERATION, SHIFT, JUMP = Field("A", U), Field("U/dt", U), Field("w", U)  # dt a_1, U/dt and w
SMOOTH, CORRECTION = Multipliers("R"), Multipliers("K")  # dt la_1 and K; those of the jump are P
A_0, A_BAR_0, A_1, A_BAR_1 = Field("a_0", U), Field("a_bar_0", U), Field("a", U), Field("a_bar", U)
LA_0, LA_BAR_0, LA_1, LA_BAR_1 = (Multipliers(name) for name in ("la_0", "la_bar_0", "la", "la_bar"))
LAMBDA, G_DDOT = Multipliers("Lambda"), Field("g_ddot", G)
U_SHIFT, W_JUMP, NU, G_N_DDOT = Field("U", U), Field("W", U), Multipliers("nu"), Field("g_N_ddot", N)  # on request
OUTSIDE_A, OUTSIDE_B, SLIPS = Field("outside_A", N), Field("outside_B", N), Field("slips", F)
OUTSIDE_B_0, OUTSIDE_S = Field("outside_B_0", N), Field("outside_S", N)  # B of the step before; S, a part of B
Spaces = Mapping[Multipliers, Collection[Space]]  # where multipliers live

CLOSED = 1e-8  # gaps, gap velocities and slips up to this are zero at the start, relative to those of the model


@dataclass(frozen=True)
class AlphaMotion:
    """A step in terms of its unknowns A = dt a_1, U (over dt), w and their multipliers R = dt la_1, K and P."""

    A: ca.SX
    U: ca.SX
    w: ca.SX
    R: Percussions
    K: Percussions
    P: Percussions
    nu: Percussions  # what of K is not the smooth motion's
    Lambda: Percussions  # what of P is not the smooth motion's
    u_smooth: ca.SX  # velocity u_1 without its jump w
    u_1: ca.SX
    q_1: ca.SX


def motion(
    part: PartType,
    s: Stage,
    c: Coefficients,
    spaces: Spaces,
    sought: Collection[Field],
    guess: Field = Q_0,
    record: bool = False,
) -> AlphaMotion:
    """The step, for one stage.

    `spaces` says where the multipliers R, K and P live; without K there is no U, without P no w. Those of A, U and w
    that are `sought` are unknowns of this stage, with their multipliers; the others are known from another stage.
    """
    t_0, t_1, dt, q_0, u_0 = s.t_0, s.t_1, s.dt, s.q_0, s.u_0
    a_0, a_bar_0, la_0, la_bar_0 = s.known(A_0), s.known(A_BAR_0), s.known(LA_0), s.known(LA_BAR_0)

    A = _value(part, s, ACCELERATION, exists=True, sought=ACCELERATION in sought)
    U = _value(part, s, SHIFT, exists=bool(spaces[CORRECTION]), sought=SHIFT in sought)
    w = _value(part, s, JUMP, exists=bool(spaces[PERCUSSIONS]), sought=JUMP in sought)
    R = multipliers(part, s, SMOOTH, spaces, sought=ACCELERATION in sought)
    K = multipliers(part, s, CORRECTION, spaces, sought=SHIFT in sought)

    A_bar = ((1 - c.alpha_f) * A + dt * (c.alpha_f * a_0 - c.alpha_m * a_bar_0)) / (1 - c.alpha_m)  # (65l)
    remembered = dt * (c.alpha_f * la_0 - c.alpha_m * la_bar_0)
    R_bar = (1 / (1 - c.alpha_m)) * ((1 - c.alpha_f) * R + remembered)  # (65o)
    P_smooth = dt * (1 - c.gamma) * la_bar_0 + c.gamma * R_bar  # (65m)
    K_smooth = dt * (0.5 - c.beta) * la_bar_0 + c.beta * R_bar  # (65n)
    P = multipliers(part, s, PERCUSSIONS, spaces, sought=JUMP in sought) if spaces[PERCUSSIONS] else P_smooth
    nu = Percussions(K.g - K_smooth.g, K.gamma, K.N - K_smooth.N, K.F)  # positions have no gamma and no friction

    u_smooth = u_0 + dt * (1 - c.gamma) * a_bar_0 + c.gamma * A_bar
    u_1 = u_smooth + w  # (65k)
    u_M = u_0 + dt * (0.5 - c.beta) * a_bar_0 + c.beta * A_bar + U  # (65j)
    q_1 = s.position(Q_1, lambda q_1: q_1 - q_0 - dt / 2 * (part.qdot(t_0, q_0, u_M) + part.qdot(t_1, q_1, u_M)), guess)

    s.update(U_1, u_1)
    s.update(A_1, A / dt)
    s.update(A_BAR_1, A_bar / dt)
    s.update(G_DDOT, part.g_ddot(t_1, q_1, u_1, A / dt))
    s.update(LA_1, (1 / dt) * R)
    s.update(LA_BAR_1, (1 / dt) * R_bar)
    s.update(LAMBDA, P - P_smooth)
    if record:
        s.update(U_SHIFT, dt * U)
        s.update(W_JUMP, w)
        s.update(NU, dt * nu if spaces[CORRECTION] else nothing(part))
        s.update(G_N_DDOT, part.g_N_ddot(t_1, q_1, u_1, A / dt))
    s.update(PERCUSSIONS, P)
    return AlphaMotion(A, U, w, R, K, P, nu, P - P_smooth, u_smooth, u_1, q_1)


def multipliers(part: PartType, s: Stage, which: Multipliers, spaces: Spaces, *, sought: bool) -> Percussions:
    """Multipliers in some spaces, unknown or known, and zero in the others."""
    return Percussions(*[_value(part, s, which.of(x), exists=x in spaces[which], sought=sought) for x in SPACES])


def initial_contacts(part: PartType, s: Stage) -> None:
    """Which contacts are closed on velocity level, and which slip, at the start."""
    t_0, q_0, u_0 = s.t_0, s.q_0, s.u_0
    gap, rate = part.g_N(t_0, q_0) / s.known(GAP_SIZE), part.g_N_dot(t_0, q_0, u_0) / s.known(GAP_RATE)
    for outside in (OUTSIDE_B, OUTSIDE_B_0, OUTSIDE_S):
        s.update(outside, ca.fmax(gap, rate) - CLOSED)
    s.update(SLIPS, ca.if_else(at_rest(part, s), -1, 1))


def predict_position(part: PartType, s: Stage) -> None:
    """q_0 as the start for subproblems that know q_1 only as an unknown."""
    s.update(Q_1, s.q_0)


def no_accelerations(part: PartType, s: Stage) -> None:
    """The start of experiments with accelerations that are not those of the equations of motion."""
    for each in (A_0, A_BAR_0):
        s.update(each, ca.SX.zeros(part.n_u))
    for forces in (LA_0, LA_BAR_0):
        s.update(forces, nothing(part))


def no_corrections(part: PartType, s: Stage) -> None:
    """The start of the very first iteration over subproblems."""
    for each in (SHIFT, JUMP):
        s.update(each, ca.SX.zeros(part.n_u))
    for which in (CORRECTION, PERCUSSIONS):
        s.update(which, nothing(part))


def nothing(part: PartType) -> Percussions:
    """Multipliers that are zero."""
    return Percussions(*[ca.SX.zeros(part.n[x]) for x in SPACES])


def _value(part: PartType, s: Stage, field: Field, *, exists: bool, sought: bool) -> ca.SX:
    if not exists:
        return ca.SX.zeros(part.n[field.space])
    return s.unknown(field) if sought else s.known(field)


def at_rest(part: PartType, s: Stage) -> ca.SX:
    """For each component of friction, whether its element has no slip at the start but that of rounding."""
    relative = part.gamma_F(s.t_0, s.q_0, s.u_0) / s.known(SLIP_RATE)
    still = [ca.repmat(ca.norm_2(relative[f.first : f.first + f.size]) <= CLOSED, f.size, 1) for f in part.frictions]
    return ca.vertcat(ca.SX(0, 1), *still)

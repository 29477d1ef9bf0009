"""The scheme of Schatzman and Paoli: the impact law on position level, over two steps.

L. Paoli, M. Schatzman: A numerical scheme for impact problems I and II, SIAM Journal on Numerical Analysis 40 (2002).
In positions alone, with nodes t_0, t_1, t_2 and the velocity u_1 = (q_2 - q_0)/(2 dt) of the middle one,

    M(t_1, q_1) (q_2 - 2 q_1 + q_0) = dt^2 h(t_1, q_1, u_1) + dt W(t_1, q_1) P                       (1)
        g(t_2, q_2) = 0,  gamma(t_1, q_1, u_1) = 0                                                   (2)
        g_N((q_2 + e_N q_0)/(1 + e_N)) in N_R-(-P_N)                                                 (3)

A step ends at t_1, where q_1 is known, and finds the velocity w_1 = (q_2 - q_1)/dt of the interval that follows, as
Moreau's does. The first interval follows from the velocity at the start by half a step, with (3) for the position
q_0 - dt u_0 before it:

    M(t_0, q_0) (w_0 - u_0) = dt/2 h(t_0, q_0, u_0) + W(t_0, q_0) P/2                                (4)
        g(t_1, q_1) = 0,  gamma(t_0 + dt/2, (q_0 + q_1)/2, w_0) = 0

The papers take the force direction at the point of (3); at q_1, as here, bilateral constraints are those of SHAKE and
persistent contact is of order 2 as well.

Good for: frictionless impacts, constraints that do not drift, smooth motion of order 2 without loss of energy. For
e_N = 0 nothing penetrates. For e_N > 0 an impact takes two steps or more, in which the gap may fall to -e_N times
that of two steps before. Friction has no place in it, and a mean of positions needs qdot = u (that of two quaternions
is no rotation). Not for impacts that neighbouring contacts pass on within a few steps: each restitutes in a step of its
own, and the energy can rise (0.5 to 0.556 in a row of three balls with e = 0.97 and 0.67, 0.5 mm apart).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stickslip.engine.derive import PartType
from stickslip.engine.fields import PERCUSSIONS, Q_0, Q_1, U_0, U_1, Carry, Field, U
from stickslip.engine.flow import StageFunction
from stickslip.engine.stage import Stage
from stickslip.schemes.scheme import Facts, Scheme

W_0, W_1 = Field("w_0", U), Field("w_1", U)


@dataclass(frozen=True)
class SchatzmanPaoli(Scheme):
    """Scheme of Schatzman and Paoli: positions only, frictionless, the impact law over two steps.

    Not for impacts that neighbouring contacts pass on within a few steps (balls in a row): energy can rise there.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(e=0.0), t_end=1.0, dt=1e-2, method="schatzman-paoli")
    >>> bool(solution.gap.min() > -1e-8)
    True
    """

    name = "schatzman-paoli"
    facts = Facts(
        summary="positions only, impact law over two steps, frictionless; order 2; not for impacts that neighbours pass on",
        source="Paoli, Schatzman 2002",
        order=2,
        unknowns={"first_interval": "n_u + n_P", "interval": "n_u + n_P"},
        levels=("position",),
        contact_level="position",
        stable_to=2.0,
        symmetric=True,
        friction=False,
        general_kinematics=False,
        detected=False,
        equal_steps="its impact law joins two steps of equal length",
    )
    carry: ClassVar[Carry] = {Q_0: Q_1, U_0: U_1, W_0: W_1}

    def begin(self) -> tuple[StageFunction, ...]:
        return (self.first_interval,)

    def step(self) -> tuple[StageFunction, ...]:
        return (self.interval,)

    def first_interval(self, part: PartType, s: Stage) -> None:
        """w_0, the velocity of the first interval, from that of its first node (4)."""
        t_0, t_1, dt, q_0, u_0 = s.t_0, s.t_1, s.dt, s.q_0, s.u_0
        w_0 = s.unknown(W_0, guess=U_0)
        P = s.unknown(PERCUSSIONS)
        q_1 = q_0 + dt * w_0
        impulse = dt * part.h(t_0, q_0, u_0) + part.W(t_0, q_0) @ P
        s.equation(part.M(t_0, q_0) @ (w_0 - u_0) - impulse / 2, for_=w_0)  # (4)
        s.zero(part.g(t_1, q_1), by=P.g)
        s.zero(part.gamma(t_0 + dt / 2, (q_0 + q_1) / 2, w_0), by=P.gamma)
        s.normal(part.g_N_mean((t_1, q_1), (t_0 - dt, q_0 - dt * u_0)), P.N, by=P.N)

    def interval(self, part: PartType, s: Stage) -> None:
        """w_1, the velocity of the next interval, and P at the node before it (1-3)."""
        t_0, t_1, dt, q_0, w_0 = s.t_0, s.t_1, s.dt, s.q_0, s.known(W_0)
        w_1 = s.unknown(W_1, guess=W_0)
        P = s.unknown(PERCUSSIONS)
        t_2, q_1, u_1 = t_1 + dt, q_0 + dt * w_0, (w_0 + w_1) / 2
        q_2 = q_1 + dt * w_1
        impulse = dt * part.h(t_1, q_1, u_1) + part.W(t_1, q_1) @ P
        s.equation(part.M(t_1, q_1) @ (w_1 - w_0) - impulse, for_=w_1)  # (1), divided by dt
        s.zero(part.g(t_2, q_2), by=P.g)  # (2)
        s.zero(part.gamma(t_1, q_1, u_1), by=P.gamma)
        s.normal(part.g_N_mean((t_2, q_2), (t_0, q_0)), P.N, by=P.N)  # (3)
        s.update(Q_1, q_1)
        s.update(U_1, u_1)

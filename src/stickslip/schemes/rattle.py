"""Nonsmooth RATTLE.

J. Breuling, G. Capobianco, S. R. Eugster, R. I. Leine: A nonsmooth RATTLE algorithm for mechanical systems with frictional
unilateral constraints (2024), sections 3 and 4. Numbers at the lines are its equations.

    q_1 = q_0 + dt/2 (qdot(t_0, q_0, u_M) + qdot(t_1, q_1, u_M))                                     (27)
    M_0 (u_M - u_0) = dt/2 h(t_0, q_0, u_M) + W_0 P_first                                            (25a)
        g(t_1, q_1) = 0,  gamma(t_1, q_1, u_M) = 0                                                   (28a, 29a)
        g_N(t_1, q_1) in N_R-(-P_N_first)                                                            (33)
        gamma_F(t_1, q_1, u_M) in N_C(-P_F_first)                                                    (36)
    M_1 (u_1 - u_M) = dt/2 h(t_1, q_1, u_M) + W_1 P_second,      P = P_first + P_second              (25b)
        g_dot(t_1, q_1, u_1) = 0,  gamma(t_1, q_1, u_1) = 0                                          (28b, 29b)
        xi_N in N_R-(-P_N) for contacts that are closed at q_1, else P_N = 0                         (32)
        xi_F in N_C(-P_F)                                                                            (34)

Good for: everything; positions never penetrate, constraints hold on position and velocity level, order 2 in persistent
contact, any kinematics. The percussions of single steps are of first order.
"""

from __future__ import annotations

from dataclasses import dataclass

from stickslip.engine.derive import PartType
from stickslip.engine.fields import PERCUSSIONS, Q_1, U_0, U_1, Field, Multipliers, N, U
from stickslip.engine.flow import StageFunction
from stickslip.engine.stage import Stage
from stickslip.schemes.scheme import Facts, Scheme

U_M, U_E = Field("u_M", U), Field("u_E", U)
P_FIRST, P_SECOND = Multipliers("P_first"), Multipliers("P_second")
OPEN = Field("open", N)  # contacts that are open at q_1


@dataclass(frozen=True)
class Rattle(Scheme):
    """Nonsmooth RATTLE: two decoupled stages a step, the first on position level, the second on velocity level.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=1e-2, method=ss.Rattle())
    """

    name = "rattle"
    facts = Facts(
        summary="two stages on position and velocity level; no penetration, order 2 in persistent contact",
        source="Breuling, Capobianco, Eugster, Leine 2024, (41) and (43)",
        order=2,
        unknowns={"position_stage": "n_u + n_P", "velocity_stage": "n_u + n_P"},
        levels=("position", "velocity"),
        contact_level="position",
        symmetric=True,
        stable_to=2.0,
    )

    def step(self) -> tuple[StageFunction, ...]:
        return self.position_stage, self.velocity_stage

    def position_stage(self, part: PartType, s: Stage) -> None:
        """q_1, u_M and the percussions of the first half-step (41)."""
        t_0, t_1, dt, q_0, u_0 = s.t_0, s.t_1, s.dt, s.q_0, s.u_0
        u_M = s.unknown(U_M, guess=U_0)
        P = s.unknown(P_FIRST)
        q_1 = s.position(
            Q_1, lambda q_1: q_1 - q_0 - dt / 2 * (part.qdot(t_0, q_0, u_M) + part.qdot(t_1, q_1, u_M))
        )  # (27)
        s.equation(
            part.M(t_0, q_0) @ (u_M - u_0) - dt / 2 * part.h(t_0, q_0, u_M) - part.W(t_0, q_0) @ P, for_=u_M
        )  # (25a)
        s.zero(part.g(t_1, q_1), by=P.g)  # (28a)
        s.zero(part.gamma(t_1, q_1, u_M), by=P.gamma)  # (29a)
        s.normal(part.g_N(t_1, q_1), P.N, by=P.N, mark_open=OPEN)  # (33)
        s.friction(part.gamma_F(t_1, q_1, u_M), P.F, radius=part.radius(t_1, q_1, u_M, P.N, dt / 2), by=P.F)  # (36)
        # Where the second half leads if it repeats the first: a start for its iterations. Not for changes of the size of
        # rounding errors, which would then never die out at rest.
        change = u_M - u_0
        s.update(U_E, u_M + change * (change**2 > 1e-18))

    def velocity_stage(self, part: PartType, s: Stage) -> None:
        """u_1 and the percussions of the second half-step; the impact law is one of their sum (43)."""
        t_1, dt, q_1, u_M = s.t_1, s.dt, s.known(Q_1), s.known(U_M)
        u_1 = s.unknown(U_1, guess=U_E)
        P_second = s.unknown(P_SECOND, guess=P_FIRST)
        P = s.known(P_FIRST) + P_second  # (24)
        before, after = (s.t_0, s.q_0, s.u_0), (t_1, q_1, u_1)
        s.equation(
            part.M(t_1, q_1) @ (u_1 - u_M) - dt / 2 * part.h(t_1, q_1, u_M) - part.W(t_1, q_1) @ P_second, for_=u_1
        )  # (25b)
        s.zero(part.g_dot(*after), by=P_second.g)  # (28b)
        s.zero(part.gamma(*after), by=P_second.gamma)  # (29b)
        s.normal(part.xi_N(after, before), P.N, by=P_second.N, open_where=OPEN)  # (32)
        s.friction(part.xi_F(after, before), P.F, radius=part.radius(*after, P.N, dt), by=P_second.F)  # (34)
        s.update(PERCUSSIONS, P)

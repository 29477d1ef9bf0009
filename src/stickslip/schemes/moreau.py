"""Moreau's time-stepping scheme.

G. Capobianco, S. R. Eugster: Time finite element based Moreau-type integrators (2018), section 4.1. Impacts are possible at
the nodes t_k; between them the velocity is constant.

    q_1 = q_0 + dt u_0                                                                               (39)
    M_1 (u_1 - u_0) = dt h(t_1, q_1, u_0) + W_1 P                                                    (59)
        g_dot(t_1, q_1, u_1) = 0,  gamma(t_1, q_1, u_1) = 0
        xi_N in N_R-(-P_N) where g_N(t_1, q_1) <= 0, else P_N = 0                                    (56, 57)
        xi_F in N_C(-P_F)

In the paper's count the step ends at t_k with q_k known and u_k sought: u_0 is u_{k-1} and q_1 is q_k. The first step (58)
then needs nothing special. Gyroscopic forces, the part G(u) u of h with a skew G, are taken as G(u_0) (u_0 + u_1)/2, where
they do no work; with u_0 alone, variant gyroscopic="printed", a body that spins at 10 rad/s doubles its energy within a
minute (dt = 1e-2). For qdot = B u + beta the drift of q is taken by the trapezoidal rule, which is q_0 + dt u_0 for
qdot = u and keeps the norm of quaternions.

Good for: robustness, many contacts, cheap steps. Contacts and constraints live on velocity level, so positions drift, and
the order is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from stickslip.engine.derive import PartType, Percussions
from stickslip.engine.fields import PERCUSSIONS, Q_1, U_0, U_1, Field, N
from stickslip.engine.flow import StageFunction
from stickslip.engine.stage import Stage
from stickslip.errors import OptionError, unknown_name
from stickslip.schemes.scheme import Facts
from stickslip.schemes.velocity_level import VelocityLevel, touch

GAP = Field("gap", N)
GYROSCOPIC = ("no work", "printed")


def drift(part: PartType, s: Stage) -> None:
    """q_1 with the velocity of the start of the step, and its gaps (39)."""
    t_0, t_1, dt, q_0, u_0 = s.t_0, s.t_1, s.dt, s.q_0, s.u_0
    q_1 = s.position(
        Q_1, lambda q_1: q_1 - q_0 - dt / 2 * (part.qdot(t_0, q_0, u_0) + part.qdot(t_1, q_1, u_0)), at=t_1
    )
    s.update(GAP, part.g_N(t_1, q_1) - touch(part, s))


def force(part: PartType, gyroscopic: str, at: tuple[Any, ...], u_1: ca.SX) -> ca.SX:
    """h at a state (t, q, u_0), with gyroscopic forces at the mean of u_0 and u_1."""
    if gyroscopic == "printed":
        return part.h(*at)
    return part.h(*at) + part.gyroscopic(*at) @ (u_1 - at[2]) / 2


def check_gyroscopic(method: str, given: str) -> None:
    """An option of both explicit schemes."""
    if given not in GYROSCOPIC:
        raise OptionError(unknown_name(f"gyroscopic of {method}", str(given), GYROSCOPIC))


def velocity_laws(part: PartType, s: Stage, P: Percussions, *, before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
    """Bilateral constraints, impact law and friction on velocity level, for contacts with GAP <= 0 (56, 57)."""
    t_1, q_1, u_1 = after
    s.zero(part.g_dot(*after), by=P.g)
    s.zero(part.gamma(*after), by=P.gamma)
    s.normal(s.xi_N(after, before), P.N, by=P.N, open_where=GAP)
    s.friction(part.xi_F(after, before), P.F, radius=part.radius(t_1, q_1, u_1, P.N, s.dt), by=P.F)


@dataclass(frozen=True)
class Moreau(VelocityLevel):
    """Moreau's time-stepping scheme: explicit in the forces, impact laws on velocity level.

    gyroscopic: forces of spinning bodies at the mean of both velocities, where they do "no work", or as "printed" at u_0.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=1e-2, method="moreau")
    """

    gyroscopic: str = "no work"

    name = "moreau"
    facts = Facts(
        summary="the classic: one stage on velocity level, robust and cheap, order 1",
        source="Capobianco, Eugster 2018, (59)",
        order=1,
        unknowns={"velocity_stage": "n_u + n_P"},
        levels=("velocity",),
        contact_level="velocity",
        stable_to=2.0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gyroscopic(self.name, self.gyroscopic)

    def step(self) -> tuple[StageFunction, ...]:
        return drift, self.velocity_stage

    def velocity_stage(self, part: PartType, s: Stage) -> None:
        """u_1 and P at the end of the step (59)."""
        t_1, dt, q_1, u_0 = s.t_1, s.dt, s.known(Q_1), s.u_0
        u_1 = s.unknown(U_1, guess=U_0)
        P = s.unknown(PERCUSSIONS)
        h = force(part, self.gyroscopic, (t_1, q_1, u_0), u_1)
        s.equation(part.M(t_1, q_1) @ (u_1 - u_0) - dt * h - part.W(t_1, q_1) @ P, for_=u_1)  # (59)
        velocity_laws(part, s, P, before=(t_1, q_1, u_0), after=(t_1, q_1, u_1))

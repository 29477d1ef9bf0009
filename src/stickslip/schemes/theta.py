"""Jean's theta method, the modified one of contact dynamics.

M. Jean: The non-smooth contact dynamics method (1999); for mass matrices that are not constant C. Studer: Numerics of
unilateral contacts and friction (2009), which takes M at the beginning of the step.

    q_1 = q_0 + dt ((1 - theta) u_0 + theta u_1)                                                     (1)
    M(t_0, q_0) (u_1 - u_0) = dt ((1 - theta) h(t_0, q_0, u_0) + theta h(t_1, q_1, u_1)) + W P       (2)
        g_dot(t_1, q_1, u_1) = 0,  gamma(t_1, q_1, u_1) = 0,  their W = (1 - theta) W_0 + theta W_1  (3)
    and contacts, with their W, in t_M = t_0 + (1 - theta) dt, q_M = q_0 + (1 - theta) dt u_0        (4)
        xi_N in N_R-(-P_N) where g_N(t_M, q_M) <= 0, else P_N = 0                                    (5)
        xi_F in N_C(-P_F)                                                                            (6)

xi = gamma(t_M, q_M, u_1) + e gamma(t_M, q_M, u_0). For theta = 1/2, (4) is Moreau's midpoint. For qdot = B u + beta
these mean velocities move q by the trapezoidal rule, which is (1) and (4) for qdot = u and keeps the norm of
quaternions. Bilateral constraints, which Jean does not have, act in the directions that forces are taken at. With W at
q_M = q_0 instead, theta = 1 would feed energy into every joint: a pendulum gains 13 % in 0.6 s at dt = 2e-3, and loses
11 % as written here.

Good for: stiff forces (theta >= 1/2 is stable for every step in linear systems; theta > 1/2 damps high frequencies)
and systems of constant mass, where theta = 1/2 is of order 2 between impacts and conserves quadratic energies. A mass
matrix that changes, taken at the beginning of the step, makes the order 1 and energy drift. Positions drift in
contacts.
"""

from __future__ import annotations

from dataclasses import dataclass

from stickslip.engine.derive import ForceDirections, PartType
from stickslip.engine.fields import PERCUSSIONS, Q_1, U_0, U_1, Field, N, Q
from stickslip.engine.flow import StageFunction
from stickslip.engine.stage import Stage
from stickslip.errors import OptionError
from stickslip.schemes.scheme import Facts
from stickslip.schemes.velocity_level import VelocityLevel, touch

Q_M, GAP = Field("q_M", Q), Field("gap", N)


@dataclass(frozen=True)
class Theta(VelocityLevel):
    """Jean's theta method: forces are weighted 1 - theta at the start and theta at the end of the step.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=1e-2, method="theta", theta=0.5)
    """

    theta: float = 0.5

    name = "theta"

    @property
    def facts(self) -> Facts:
        """Order 2 and no limit of stability for the trapezoidal rule."""
        return Facts(
            summary="implicit in the forces, for stiff systems; order 2 for theta = 1/2 and constant mass, else 1",
            source="Jean 1999; Studer 2009",
            order=2 if self.theta == 0.5 else 1,
            contact_order=1,
            unknowns={"velocity_stage": "n_u + n_P"},
            levels=("velocity",),
            contact_level="velocity",
            stable_to=0.0 if self.theta < 0.5 else None,
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.theta, int | float) or not 0 <= self.theta <= 1:
            raise OptionError(
                f"theta = {self.theta!r} must be a number from 0 (explicit) to 1 (implicit); "
                "0.5 is the trapezoidal rule"
            )

    def step(self) -> tuple[StageFunction, ...]:
        return self.prediction, self.velocity_stage

    def prediction(self, part: PartType, s: Stage) -> None:
        """The configuration of the contacts (4)."""
        t_0, q_0, u_0, ahead = s.t_0, s.q_0, s.u_0, (1 - self.theta) * s.dt
        q_M = s.position(
            Q_M, lambda q_M: q_M - q_0 - ahead / 2 * (part.qdot(t_0, q_0, u_0) + part.qdot(t_0 + ahead, q_M, u_0))
        )
        s.update(GAP, part.g_N(t_0 + ahead, q_M) - touch(part, s))

    def velocity_stage(self, part: PartType, s: Stage) -> None:
        """q_1, u_1 and P, coupled by implicit forces (1-6)."""
        t_0, t_1, dt, q_0, u_0, theta = s.t_0, s.t_1, s.dt, s.q_0, s.u_0, self.theta
        t_M, q_M = t_0 + (1 - theta) * dt, s.known(Q_M)
        u_1 = s.unknown(U_1, guess=U_0)
        P = s.unknown(PERCUSSIONS)
        u = (1 - theta) * u_0 + theta * u_1
        q_1 = s.position(
            Q_1, lambda q_1: q_1 - q_0 - dt / 2 * (part.qdot(t_0, q_0, u) + part.qdot(t_1, q_1, u)), at=t_1
        )  # (1)
        force = (1 - theta) * part.h(t_0, q_0, u_0) + theta * part.h(t_1, q_1, u_1)
        W_0, W_M, W_1 = part.W(t_0, q_0), part.W(t_M, q_M), part.W(t_1, q_1)
        W_g, W_gamma = (1 - theta) * W_0.g + theta * W_1.g, (1 - theta) * W_0.gamma + theta * W_1.gamma
        W = ForceDirections(W_g, W_gamma, W_M.N, W_M.F)  # (3, 4)
        s.equation(part.M(t_0, q_0) @ (u_1 - u_0) - dt * force - W @ P, for_=u_1)  # (2)
        s.zero(part.g_dot(t_1, q_1, u_1), by=P.g)  # (3)
        s.zero(part.gamma(t_1, q_1, u_1), by=P.gamma)
        before, after = (t_M, q_M, u_0), (t_M, q_M, u_1)
        s.normal(s.xi_N(after, before), P.N, by=P.N, open_where=GAP)  # (5)
        s.friction(part.xi_F(after, before), P.F, radius=part.radius(*after, P.N, dt), by=P.F)  # (6)

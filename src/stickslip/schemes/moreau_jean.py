"""The classic explicit Moreau-Jean scheme.

T. Schindler, S. Rezaei, J. Kursawe, V. Acary: Half-explicit timestepping schemes on velocity level based on
time-discontinuous Galerkin methods (2014), section 2.3. Forces are those of the start of the step, percussions act at
its end.

    q_1 = q_0 + dt u_0                                                                               (43)
    u_1 = u_0 + dt M_0^-1 h(t_0, q_0, u_0) + M_1^-1 W_1 P                                            (44)
        g_dot(t_1, q_1, u_1) = 0,  gamma(t_1, q_1, u_1) = 0
        xi_N = g_N_dot(t_1, q_1, u_1) + e_N g_N_dot(t_0, q_0, u_0) in N_R-(-P_N)                     (45)
            where g_N(t_0, q_0) + dt/2 g_N_dot(t_0, q_0, u_0) <= 0, else P_N = 0                     (47)
        xi_F = gamma_F(t_1, q_1, u_1) + e_F gamma_F(t_0, q_0, u_0) in N_C(-P_F)                      (46)

For qdot = B u + beta the drift of q is taken by the trapezoidal rule, and gyroscopic forces do no work, as in Moreau's scheme.

Good for: the baseline that every paper compares with, and one cheap linear system per step. Explicit Euler in free
motion: undamped oscillations gain energy, by a factor of 1 + (omega dt)^2/2 in amplitude per step. Order 1; positions
drift.
"""

from __future__ import annotations

from dataclasses import dataclass

from stickslip.engine.derive import PartType
from stickslip.engine.fields import PERCUSSIONS, Q_1, U_0, U_1, Field, U
from stickslip.engine.flow import StageFunction
from stickslip.engine.stage import Stage
from stickslip.schemes.moreau import GAP, check_gyroscopic, force, velocity_laws
from stickslip.schemes.scheme import Facts
from stickslip.schemes.velocity_level import VelocityLevel, touch

U_FREE = Field("u_free", U)


@dataclass(frozen=True)
class MoreauJean(VelocityLevel):
    """Classic explicit Moreau-Jean scheme: explicit Euler with impacts at the end of the step.

    gyroscopic: forces of spinning bodies at the mean of both velocities, where they do "no work", or as "printed" at u_0.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=1e-2, method="moreau-jean")
    """

    gyroscopic: str = "no work"

    name = "moreau-jean"
    facts = Facts(
        summary="explicit Euler with impacts, the baseline of the papers; order 1",
        source="Schindler, Rezaei, Kursawe, Acary 2014, (43) to (47)",
        order=1,
        unknowns={"free_stage": "n_u", "impact_stage": "n_u + n_P"},
        levels=("velocity",),
        contact_level="velocity",
        stable_to=0.0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gyroscopic(self.name, self.gyroscopic)

    def step(self) -> tuple[StageFunction, ...]:
        return self.free_stage, self.impact_stage

    def free_stage(self, part: PartType, s: Stage) -> None:
        """q_1, the velocity u_free without percussions, and the gaps that decide about contact."""
        t_0, t_1, dt, q_0, u_0 = s.t_0, s.t_1, s.dt, s.q_0, s.u_0
        u_free = s.unknown(U_FREE, guess=U_0)
        s.position(
            Q_1, lambda q_1: q_1 - q_0 - dt / 2 * (part.qdot(t_0, q_0, u_0) + part.qdot(t_1, q_1, u_0)), at=t_1
        )  # (43)
        h = force(part, self.gyroscopic, (t_0, q_0, u_0), u_free)
        s.equation(part.M(t_0, q_0) @ (u_free - u_0) - dt * h, for_=u_free)  # (44)
        s.update(GAP, part.g_N(t_0, q_0) - touch(part, s) + dt / 2 * part.g_N_dot(t_0, q_0, u_0))  # (47)

    def impact_stage(self, part: PartType, s: Stage) -> None:
        """u_1 and P at the end of the step."""
        t_1, q_1, u_free = s.t_1, s.known(Q_1), s.known(U_FREE)
        u_1 = s.unknown(U_1, guess=U_FREE)
        P = s.unknown(PERCUSSIONS)
        s.equation(part.M(t_1, q_1) @ (u_1 - u_free) - part.W(t_1, q_1) @ P, for_=u_1)  # (44)
        velocity_laws(part, s, P, before=(s.t_0, s.q_0, s.u_0), after=(t_1, q_1, u_1))  # (45, 46)

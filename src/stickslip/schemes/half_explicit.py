"""Half-explicit time-stepping schemes on velocity level.

T. Schindler, S. Rezaei, J. Kursawe, V. Acary: Half-explicit timestepping schemes on velocity level based on
time-discontinuous Galerkin methods (2014), section 5. Numbers at the lines are its equations. The trapezoidal rule
carries the non-impulsive forces lambda; an impact is a jump at the end of the step, with the impulse Lambda:

    M_0 (u_P - u_0) = dt (h_0 + W_0 lambda_0)                                                        (54)
        g_dot(t_1, q_E, u_P) = 0, and contacts likewise, with q_E = q_0 + dt qdot_0                  (115, 116)
    q_1 = q_0 + dt/2 (qdot(t_0, q_0, u_M) + qdot(t_1, q_1, u_M)),  u_M = (u_0 + u_P)/2               (51)
    no contact closes in this step:
        M_1 (u_1 - (u_0 + u_P)/2) = dt/2 (h(t_1, q_1, u_P) + W_1 lambda_1)                           (109)
            g_dot(t_1, q_1, u_1) = 0, and contacts with g_N(t_1, q_1) <= 0 likewise                  (117, 118)
        P = dt (lambda_0 + lambda_1)/2
    a contact closes, g_N(t_0, q_0) > 0 and g_N(t_1, q_1) <= 0: all constraints act by impulses,
        u_F = u_0 + dt/2 (M_0^-1 h_0 + M_1^-1 h(t_1, q_1, u_P))                                      (77)
        M_1 (u_A - u_F) = W_1 P_A,  g_dot(t_1, q_1, u_A) = 0,  joints only                           (77*)
        M_1 (u_1 - u_F) = W_1 Lambda,  g_dot(t_1, q_1, u_1) = 0,  impact laws between u_A and u_1    (78, 110, 114)
        P = Lambda

(51) is the paper's q_0 + dt/2 (u_0 + u_P) for qdot = u, and keeps the norm of quaternions exactly; with u_0 and u_P at
the two ends, of the same order, a box that tumbles for 1 s loses 5e-7 of it at dt = 2e-3.
The paper's impact laws take u_F itself. Without joints u_A is u_F, and with joints it is what u_F is in coordinates that need
none. Joints may forbid the free fall that u_F contains, and then its restitution, too: a slider on a rail that also touches the
floor, with e > 0, cannot leave the floor with e g dt/2, and could not take any impact.
All unknowns of a stage are percussions and velocities (dt lambda in place of lambda), so that one tolerance serves all.
Percussions start from zero in every step, as in (72): dependent contacts get those of minimum norm.

Good for: cheap explicit forces, order 2 as long as no contact closes, forces and impulses told apart. Constraints and
contacts live on velocity level, so positions drift with order 2; forces are explicit, so stiff ones bound dt.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from stickslip.engine.derive import PartType, Percussions
from stickslip.engine.fields import (
    COLD,
    GAMMA,
    GAP_RATE,
    ONE,
    PERCUSSIONS,
    Q_0,
    Q_1,
    SPACES,
    U_0,
    U_1,
    Carry,
    Field,
    G,
    Multipliers,
    N,
    Q,
    U,
)
from stickslip.engine.flow import If, StageFunction
from stickslip.engine.stage import Stage
from stickslip.errors import OptionError
from stickslip.schemes.alpha_motion import CLOSED
from stickslip.schemes.scheme import Facts
from stickslip.schemes.velocity_level import VelocityLevel, touch

Q_E = Field("q_E", Q)
U_P, U_E, U_F, U_A = Field("u_P", U), Field("u_E", U), Field("u_F", U), Field("u_A", U)
P_FORCES_0, P_FORCES_1, LAMBDA = Multipliers("P_0"), Multipliers("P_1"), Multipliers("Lambda")
P_A_G, P_A_GAMMA = Field("P_A.g", G), Field("P_A.gamma", GAMMA)
OPEN_0, OPEN_E, OPEN_1 = (
    Field("open_0", N),
    Field("open_E", N),
    Field("open_1", N),
)  # 1 for contacts that are open, else 0
CLOSING, CLOSING_E = Field("closing", N), Field("closing_E", N)
IMPULSIVE = Field("impulsive", ONE)
MEAN_FORCE = {x: Field(f"lambda_{x}", x) for x in SPACES}
IMPULSE = {x: Field(f"Lambda_{x}", x) for x in SPACES}

CARRY: Carry = {Q_0: Q_1, U_0: U_1, OPEN_0: OPEN_1}
SPLIT = (*MEAN_FORCE.values(), *IMPULSE.values(), IMPULSIVE)


# -- stages that all schemes of this family share ----------------------------------------------------------------------


def initial_contacts(part: PartType, s: Stage) -> None:
    """Contacts that are open at the start; later this is carried from step to step.

    A contact that starts with a velocity into the obstacle counts as open: its first step is an impact.
    """
    gap = part.g_N(s.t_0, s.q_0) - touch(part, s)
    approaches = part.g_N_dot(s.t_0, s.q_0, s.u_0) < -CLOSED * s.known(GAP_RATE)
    s.update(OPEN_0, 1 - (gap <= 0) * (1 - approaches))


def position(part: PartType, s: Stage) -> None:
    """q_1 by the trapezoidal rule (51), which contacts are open there, and which close."""
    t_0, t_1, dt, q_0, u_M = s.t_0, s.t_1, s.dt, s.q_0, (s.u_0 + s.known(U_P)) / 2
    q_1 = s.position(
        Q_1, lambda q_1: q_1 - q_0 - dt / 2 * (part.qdot(t_0, q_0, u_M) + part.qdot(t_1, q_1, u_M)), at=t_1
    )
    closed = part.g_N(t_1, q_1) - touch(part, s) <= 0
    s.update(OPEN_1, 1 - closed)
    s.update(CLOSING, s.known(OPEN_0) * closed)


def free_velocity(part: PartType, s: Stage) -> None:
    """Velocity u_F before the impact, without any constraint force (77)."""
    t_0, t_1, dt, q_0, q_1, u_0, u_P = s.t_0, s.t_1, s.dt, s.q_0, s.known(Q_1), s.u_0, s.known(U_P)
    u_E, u_F = s.unknown(U_E, guess=U_0), s.unknown(U_F, guess=U_0)
    s.equation(part.M(t_0, q_0) @ (u_E - u_0) - dt * part.h(t_0, q_0, u_0), for_=u_E)
    s.equation(part.M(t_1, q_1) @ (u_F - (u_0 + u_E) / 2) - dt / 2 * part.h(t_1, q_1, u_P), for_=u_F)


def admissible_velocity(part: PartType, s: Stage) -> None:
    """u_A, the velocity next to u_F that the joints allow (77*)."""
    t_1, q_1 = s.t_1, s.known(Q_1)
    u_A = s.unknown(U_A, guess=U_F)
    P_g, P_gamma = s.unknown(P_A_G, guess=COLD.g), s.unknown(P_A_GAMMA, guess=COLD.gamma)
    W = part.W(t_1, q_1)
    s.equation(part.M(t_1, q_1) @ (u_A - s.known(U_F)) - W.g @ P_g - W.gamma @ P_gamma, for_=u_A)
    s.zero(part.g_dot(t_1, q_1, u_A), by=P_g)
    s.zero(part.gamma(t_1, q_1, u_A), by=P_gamma)


def impact(part: PartType, s: Stage) -> None:
    """The jump at the end of an impulsive step (78, 110, 114)."""
    t_1, q_1, u_F = s.t_1, s.known(Q_1), s.known(U_F)
    u_1 = s.unknown(U_1, guess=U_F)
    Lambda = s.unknown(LAMBDA, guess=COLD)
    before, after = (t_1, q_1, s.known(U_A)), (t_1, q_1, u_1)
    s.equation(part.M(t_1, q_1) @ (u_1 - u_F) - part.W(t_1, q_1) @ Lambda, for_=u_1)  # (114)
    s.zero(part.g_dot(*after), by=Lambda.g)
    s.zero(part.gamma(*after), by=Lambda.gamma)
    s.normal(s.xi_N(after, before), Lambda.N, by=Lambda.N, open_where=OPEN_1)  # (78)
    s.friction(part.xi_F(after, before), Lambda.F, radius=part.radius(*after, Lambda.N, s.dt), by=Lambda.F)  # (110)
    _record(s, 0.0 * Lambda, Lambda, impulsive=1)


def record_forces(s: Stage, P: Percussions) -> None:
    """The results of a step without impact: all percussions are those of forces."""
    _record(s, P, 0.0 * P, impulsive=0)


def _record(s: Stage, P: Percussions, Lambda: Percussions, impulsive: int) -> None:
    """Keep mean forces lambda of the step and impulses Lambda apart, and P = dt lambda + Lambda."""
    s.update(PERCUSSIONS, P + Lambda)
    for x in SPACES:
        s.update(MEAN_FORCE[x], getattr(P, x) / s.dt)
        s.update(IMPULSE[x], getattr(Lambda, x))
    s.update(IMPULSIVE, ca.SX(impulsive))


def foresight(part: PartType, s: Stage) -> None:
    """Which contacts are open at q_E (120), and which would close there."""
    closed = part.g_N(s.t_1, euler(part, s)) - touch(part, s) <= 0
    s.update(OPEN_E, 1 - closed)
    s.update(CLOSING_E, s.known(OPEN_0) * closed)


def euler(part: PartType, s: Stage) -> ca.SX:
    """q_E, the position that the velocity of the start leads to (120)."""
    return s.q_0 + s.dt * part.qdot(s.t_0, s.q_0, s.u_0)


def predict(part: PartType, s: Stage, open_where: Field) -> None:
    """u_P and lambda_0: an Euler step that ends with a velocity that the constraints at q_E allow (54, 115, 116)."""
    t_0, t_1, dt, q_0, u_0 = s.t_0, s.t_1, s.dt, s.q_0, s.u_0
    q_E = s.onto_constraints(Q_E, euler(part, s), t_1)
    u_P = s.unknown(U_P, guess=U_0)
    P = s.unknown(P_FORCES_0, guess=COLD)  # dt lambda_0
    s.equation(part.M(t_0, q_0) @ (u_P - u_0) - dt * part.h(t_0, q_0, u_0) - part.W(t_0, q_0) @ P, for_=u_P)  # (54)
    s.zero(part.g_dot(t_1, q_E, u_P), by=P.g)
    s.zero(part.gamma(t_1, q_E, u_P), by=P.gamma)
    s.normal(part.g_N_dot(t_1, q_E, u_P), P.N, by=P.N, open_where=open_where)  # (115)
    s.friction(part.gamma_F(t_1, q_E, u_P), P.F, radius=part.radius(t_0, q_0, u_P, P.N, dt), by=P.F)  # (116)


def output(part: PartType, s: Stage) -> None:
    """u_1 and lambda_1 of a step without impact (109, 117, 118)."""
    t_1, dt, q_1, u_P = s.t_1, s.dt, s.known(Q_1), s.known(U_P)
    u_M = (s.u_0 + u_P) / 2
    u_1 = s.unknown(U_1, guess=U_P)
    P = s.unknown(P_FORCES_1, guess=COLD)  # dt/2 lambda_1
    s.equation(
        part.M(t_1, q_1) @ (u_1 - u_M) - dt / 2 * part.h(t_1, q_1, u_P) - part.W(t_1, q_1) @ P, for_=u_1
    )  # (109)
    s.zero(part.g_dot(t_1, q_1, u_1), by=P.g)
    s.zero(part.gamma(t_1, q_1, u_1), by=P.gamma)
    s.normal(part.g_N_dot(t_1, q_1, u_1), P.N, by=P.N, open_where=OPEN_1)  # (117)
    s.friction(part.gamma_F(t_1, q_1, u_1), P.F, radius=part.radius(t_1, q_1, u_1, P.N, dt / 2), by=P.F)  # (118)
    record_forces(s, 0.5 * s.known(P_FORCES_0) + P)


IMPULSIVE_STEP = (free_velocity, admissible_velocity, impact)
IMPULSIVE_UNKNOWNS = {
    "free_velocity": "2*n_u",
    "admissible_velocity": "n_u + n_g + n_gamma",
    "impact": "n_u + n_P",
}


# -- the schemes -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HalfExplicit(VelocityLevel):
    """The half-explicit scheme on velocity level, Fig. 9: trapezoidal rule for forces, jumps for impacts.

    variant: which position decides whether a contact closes in a step; "galerkin": q_1 (51), as in Fig. 9; "brasey":
    also q_E, as in section 5.2 (120). Without a closing contact the two are the same scheme.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.ball_in_box(), t_end=1.0, dt=5e-3, method="half-explicit")
    >>> force, impulse = solution.extra["lambda_N"], solution.extra["Lambda_N"]
    """

    variant: str = "galerkin"

    name = "half-explicit"
    facts = Facts(
        summary="explicit forces, constraints on velocity level; order 2 between impacts, forces and impulses apart",
        source="Schindler, Rezaei, Kursawe, Acary 2014, section 5 and Fig. 9",
        order=2,
        unknowns={"prediction": "n_u + n_P", "output": "n_u + n_P"} | IMPULSIVE_UNKNOWNS,
        levels=("velocity",),
        contact_level="velocity",
        stable_to=2.0,
    )
    carry = CARRY
    extra = SPLIT

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in ("galerkin", "brasey"):
            raise OptionError(f'variant = {self.variant!r} of half-explicit is neither "galerkin" nor "brasey"')

    def begin(self) -> tuple[StageFunction, ...]:
        return (initial_contacts,)

    def step(self) -> tuple[StageFunction | If, ...]:
        decide = If(CLOSING, then=IMPULSIVE_STEP, otherwise=(output,))
        if self.variant == "galerkin":
            return self.prediction, position, decide
        return foresight, self.prediction, position, If(CLOSING_E, then=IMPULSIVE_STEP, otherwise=(decide,))

    def prediction(self, part: PartType, s: Stage) -> None:
        """u_P and lambda_0, of contacts that are closed at the start."""
        predict(part, s, open_where=OPEN_0)

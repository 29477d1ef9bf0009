"""Nonsmooth RATTLE.

J. Breuling, G. Capobianco, S. R. Eugster, R. I. Leine: A nonsmooth RATTLE algorithm for mechanical systems with frictional
unilateral constraints (2024), sections 3 and 4. Numbers at the lines are its equations.

    q_1 = q_0 + dt/2 (qdot(t_0, q_0, u_M) + qdot(t_1, q_1, u_M))                                     (27)
    M_0 (u_M - u_0) = dt/2 h(t_0, q_0, u_M) + W_0 P_first                                            (25a)
        g(t_1, q_1) = 0,  gamma_M = 0                                                                (28a, 29a)
        g_N(t_1, q_1) in N_R-(-P_N_first)                                                            (33)
        gamma_F_M in N_C(-P_F_first)                                                                 (36)
    M_1 (u_1 - u_M) = dt/2 h(t_1, q_1, u_M) + W_1 P_second,      P = P_first + P_second              (25b)
        g_dot(t_1, q_1, u_1) = 0,  gamma(t_1, q_1, u_1) = 0                                          (28b, 29b)
        xi_N in N_R-(-P_N) for contacts that are closed at q_1, else P_N = 0                         (32)
        xi_F in N_C(-P_F)                                                                            (34)

The paper takes gamma_M = gamma(t_1, q_1, u_M), and gamma_F_M likewise: variant "printed". That is the end of the first
half-step, but the start of the second, so the two halves are not mirror images, and rolling and sticking are of order 1.
Here they are the mean of both ends,

    gamma_M = (gamma(t_0, q_0, u_M) + gamma(t_1, q_1, u_M))/2                                        (29a*)

which makes them symmetric and of order 2. Variant "midpoint" does the same for slip: in steps without impacts, elements
that slip in (36) keep its direction for the whole step,

    gamma_F_M in N_C(-P_F),  gamma_F_M not zero                                                      (34*)

with the mean of the coefficients at both ends. (34) is implicit Euler for the direction of slip, (34*) the midpoint rule.
Without slip there is no direction: an element of a contact patch may be at the edge of its reservoir though the patch sticks,
and (34*), which does not contain u_1, would leave its percussion and u_1 undetermined. It keeps (34).

(32) reverses the velocity of the start of the step, and (33) puts the contact onto the surface at its end: what gravity does on
the way there is lost, of order dt per impact. With restitution="touch" the velocity before the impact is the one with which
free motion arrives at the surface,

    v^2 = g_N_dot_0^2 - 2 g_N_ddot g_N_0,   g_N_ddot from M_0 (u_F - u_0) = dt h(t_0, q_0, u_0)         (32*)

so that e = 1 keeps the energy.

Good for: everything; positions never penetrate, constraints hold on position and velocity level, order 2 in persistent
contact, any kinematics. The percussions of single steps are of first order.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from stickslip.engine.derive import PartType
from stickslip.engine.fields import (
    GAP_RATE,
    GAP_SIZE,
    ONE,
    PERCUSSIONS,
    Q_1,
    SLIP_RATE,
    U_0,
    U_1,
    Carry,
    F,
    Field,
    Multipliers,
    N,
    U,
)
from stickslip.engine.flow import If, Step
from stickslip.engine.stage import Stage
from stickslip.errors import OptionError, unknown_name
from stickslip.schemes.alpha_motion import CLOSED
from stickslip.schemes.scheme import Facts, Scheme

VARIANTS = ("mean", "printed", "midpoint")
RESTITUTIONS = ("step", "touch")
SLIDING = (
    100 * CLOSED
)  # slip whose direction is known to about 1 % where solvers leave 1e-8, relative to that of the model
U_M, U_E = Field("u_M", U), Field("u_E", U)
P_FIRST, P_SECOND = Multipliers("P_first"), Multipliers("P_second")
OPEN, OPEN_0 = Field("open", N), Field("open_0", N)  # contacts that are open at q_1, and at q_0
IMPACTS = Field("impacts", ONE)  # how many contacts close in the step
U_F, ARRIVAL = Field("u_F", U), Field("arrival", N)  # velocities of free motion; with which contacts arrive
SLIPS, SLIDES = (
    Field("slips", F),
    Field("slides", F),
)  # elements that slip in the first half, and that keep its direction


@dataclass(frozen=True)
class Rattle(Scheme):
    """Nonsmooth RATTLE: two decoupled stages per step, the first on position level, the second on velocity level.

    variant: "mean" (default) takes velocity constraints and slip of the first half-step at the mean of both ends,
    "printed" at the end, as in the paper; "midpoint" also takes the direction of slip for the whole step from there.
    restitution: of the velocity at the start of the "step" (default, as in the paper), or of that at the "touch".

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=1e-2, method=ss.Rattle())
    """

    variant: str = "mean"
    restitution: str = "step"

    name = "rattle"

    def __post_init__(self) -> None:
        if self.restitution not in RESTITUTIONS:
            raise OptionError(unknown_name("restitution of rattle", str(self.restitution), RESTITUTIONS))
        if self.variant not in VARIANTS:
            raise OptionError(unknown_name("variant of rattle", str(self.variant), VARIANTS))

    @property
    def facts(self) -> Facts:
        """What it promises."""
        return Facts(
            summary="two stages on position and velocity level; no penetration, order 2 in persistent contact",
            source="Breuling, Capobianco, Eugster, Leine 2024, (41) and (43)",
            order=2,
            sliding_order=2 if self.variant == "midpoint" else 1,
            rolling_order=1 if self.variant == "printed" else 2,
            unknowns={"position_stage": "n_u + n_P", "velocity_stage": "n_u + n_P"}
            | ({"free_velocity": "n_u"} if self.restitution == "touch" else {}),
            levels=("position", "velocity"),
            contact_level="position",
            symmetric=True,
            stable_to=2.0,
        )

    @property
    def remembers(self) -> bool:
        """Whether it must know which contacts were closed."""
        return self.variant == "midpoint" or self.restitution == "touch"

    @property
    def carry(self) -> Carry:  # type: ignore[override]
        return {**super().carry, OPEN_0: OPEN} if self.remembers else super().carry

    def begin(self) -> tuple[Step, ...]:
        return (closed_contacts,) if self.remembers else ()

    def step(self) -> tuple[Step, ...]:
        counted = (count_impacts,) if self.remembers else ()
        direction = (choose_direction,) if self.variant == "midpoint" else ()
        arrival: tuple[Step, ...] = ()
        if self.restitution == "touch":
            arrival = (If(IMPACTS, then=(free_velocity, arrival_at_touch), otherwise=(arrival_at_start,)),)
        return self.position_stage, *counted, *direction, *arrival, self.velocity_stage

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
        start, end = (t_0, q_0, u_M), (t_1, q_1, u_M)
        gamma, slip, radius = part.gamma(*end), part.gamma_F(*end), part.radius(*end, P.N, dt / 2)
        if self.variant != "printed":
            gamma, slip = (part.gamma(*start) + gamma) / 2, (part.gamma_F(*start) + slip) / 2  # (29a*)
        if self.variant == "midpoint":
            radius = (part.radius(*start, P.N, dt / 2) + radius) / 2
        s.zero(part.g(t_1, q_1), by=P.g)  # (28a)
        s.zero(gamma, by=P.gamma)  # (29a)
        s.normal(part.g_N(t_1, q_1) - part.reach(q_0), P.N, by=P.N, mark_open=OPEN)  # (33)
        s.friction(slip, P.F, radius=radius, by=P.F, mark_slip=SLIPS if self.variant == "midpoint" else None)  # (36)
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
        xi_N = s.xi_N(after, before)
        if self.restitution == "touch":
            xi_N = part.g_N_dot(*after) + s.e_N(t_1, q_1, s.u_0) * s.known(ARRIVAL)  # (32*)
        s.normal(xi_N, P.N, by=P_second.N, open_where=OPEN)  # (32)
        whole = part.radius(*after, P.N, dt)
        if self.variant == "midpoint":
            start, end = (s.t_0, s.q_0, u_M), (t_1, q_1, u_M)
            slip = (part.gamma_F(*start) + part.gamma_F(*end)) / 2
            radius = (part.radius(*start, P.N, dt) + part.radius(*end, P.N, dt)) / 2
            s.friction(slip, P.F, radius=radius, by=P_second.F, only_where=SLIDES)  # (34*)
            s.friction(part.xi_F(after, before), P.F, radius=whole, by=P_second.F, except_where=SLIDES)  # (34)
        else:
            s.friction(part.xi_F(after, before), P.F, radius=whole, by=P_second.F)  # (34)
        s.update(PERCUSSIONS, P)


# -- the midpoint variant: where there is no impact ------------------------------------------------------------------------


def closed_contacts(part: PartType, s: Stage) -> None:
    """At the start, contacts with a velocity into the obstacle count as open: their first step is an impact."""
    gap, approach = part.g_N(s.t_0, s.q_0), -part.g_N_dot(s.t_0, s.q_0, s.u_0)
    s.update(OPEN_0, ca.fmax(gap / s.known(GAP_SIZE), approach / s.known(GAP_RATE)) > CLOSED)


def count_impacts(part: PartType, s: Stage) -> None:
    """Contacts that are closed now and were not before; one of them makes all percussions of the step impulsive."""
    s.total(IMPACTS, ca.sum1((s.known(OPEN_0) > 0) * (s.known(OPEN) <= 0)))


def choose_direction(part: PartType, s: Stage) -> None:
    """Elements for (34*): those that slip, in a step without impacts."""
    u_M = s.known(U_M)
    slip = (part.gamma_F(s.t_0, s.q_0, u_M) + part.gamma_F(s.t_1, s.known(Q_1), u_M)) / 2
    slips = s.known(SLIPS) - 2 * s.known(IMPACTS)
    s.update(SLIDES, ca.if_else(turns(part) * moves(part, s, slip), slips, -1))


def moves(part: PartType, s: Stage, slip: ca.SX) -> ca.SX:
    """Components of elements whose slip has a direction."""
    v, rows = slip / s.known(SLIP_RATE), [ca.SX(0, 1)]
    for f in part.frictions:
        rows.append(ca.repmat(ca.sumsqr(v[f.first : f.first + f.size]) > SLIDING**2, f.size, 1))
    return ca.vertcat(*rows)


def turns(part: PartType) -> ca.SX:
    """Components whose direction, or coefficient, changes while they slide.

    A single component with a coefficient that is free of velocities has only a sign. There (34) and (34*) are the same, but
    (34) has a solution where a sign that is given in advance has none (Painleve's paradox).
    """
    e, rows = part.expressions, [ca.SX(0, 1)]
    for k, f in enumerate(part.frictions):
        varies = f.size > 1 or ca.depends_on(ca.vertcat(e.mu[k], e.radius[k]), e.u)
        rows.append(ca.SX.ones(f.size) if varies else ca.SX.zeros(f.size))
    return ca.vertcat(*rows)


# -- restitution at the touch --------------------------------------------------------------------------------------------


def free_velocity(part: PartType, s: Stage) -> None:
    """u_F, where forces alone would lead."""
    u_F = s.unknown(U_F, guess=U_0)
    s.equation(part.M(s.t_0, s.q_0) @ (u_F - s.u_0) - s.dt * part.h(s.t_0, s.q_0, s.u_0), for_=u_F)


def arrival_at_touch(part: PartType, s: Stage) -> None:
    """Gap velocities with which open contacts arrive at the surface (32*)."""
    t, q = s.t_0, s.q_0
    gap, v_0, v_1 = part.g_N(t, q), part.g_N_dot(t, q, s.u_0), part.g_N_dot(t, q, s.known(U_F))
    square = v_0**2 - 2 * (v_1 - v_0) / s.dt * gap
    s.update(ARRIVAL, ca.if_else(s.known(OPEN_0) > 0, -ca.sqrt(ca.fmax(square, 0)), v_0))


def arrival_at_start(part: PartType, s: Stage) -> None:
    """Nothing closes: the velocities of the start."""
    s.update(ARRIVAL, part.g_N_dot(s.t_0, s.q_0, s.u_0))

"""Trapezoidal rules whose contact forces are evaluated at given states, not solved for with the velocities.

T. Schindler, S. Rezaei, J. Kursawe, V. Acary: Half-explicit timestepping schemes on velocity level based on
time-discontinuous Galerkin methods (2014), sections 3 and 4: the way to `schemes.half_explicit`, with which they share
positions, impacts and the decision between forces and impulses. Forces lambda_0 belong to the state (t_0, q_0, u_0),
and lambda_1 to the predicted one (t_1, q_1, u_P). Both follow from the same rule for a state (t, q, u) and the velocity
u_Y one Euler step later, in which contacts are complementary to lambda:

    M(t, q) (u_Y - u) = dt (h(t, q, u) + W(t, q) lambda)                                             (54)
    acceleration level: g_N_ddot(t, q, u, (u_Y - u)/dt) where g_N <= 0 and g_N_dot <= 0              (56, 57, 64)
    velocity level: g_N_dot(t, q, u_Z) where g_N <= 0, friction with gamma_F(t, q, u_Z),             (102, 103)
        M(t, q) (u_Z - u) = dt (h~ + W(t, q) lambda) with h~ = 0 or h~ = h                           (98, 99, 100)

and g_ddot = 0 or g_dot = 0 likewise for bilateral constraints. Called u_P for the first state and u_Y for the second,
these velocities give u_1 = (u_0 + u_Y)/2 for a step without impact, the trapezoidal rule (76, 109).

Good for: seeing what drift is; for work, use `half-explicit`. On acceleration level bilateral constraints are met with
order 2; a contact whose velocity gets positive, by a rounding error even, is left without force for a part of a step,
then keeps a small velocity into the wall and sinks, with order 1 (section 3.6). On velocity level forces lag by a step,
which is of order 1 for all constraints (section 4.6). With h~ = h, the default, bodies at rest do rest. With h~ = 0, as in
Fig. 8, they sink with the velocity dt g: a tower of ten boxes by 0.2 m in 10 s of steps of 2 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from stickslip.engine.derive import PartType
from stickslip.engine.fields import COLD, Q_1, U_0, U_1, Field, Multipliers, N, U
from stickslip.engine.flow import If, StageFunction
from stickslip.engine.stage import Stage
from stickslip.errors import OptionError
from stickslip.schemes.half_explicit import (
    CARRY,
    CLOSING,
    IMPULSIVE_STEP,
    IMPULSIVE_UNKNOWNS,
    OPEN_0,
    OPEN_1,
    P_FORCES_0,
    P_FORCES_1,
    SPLIT,
    U_P,
    initial_contacts,
    position,
    record_forces,
)
from stickslip.schemes.scheme import Facts
from stickslip.schemes.velocity_level import VelocityLevel

SymbolicState = tuple[ca.SX, ca.SX, ca.SX]
Sought = tuple[Field, Field]  # the velocity that is sought, and the one at which its iterations start

SHIFT = Multipliers("P_held")
U_Y, U_Z = Field("u_Y", U), Field("u_Z", U)
FREE_0, FREE_1 = Field("free_0", N), Field("free_1", N)  # contacts that are open or opening


def start(s: Stage) -> SymbolicState:
    """The state at the start of the step."""
    return s.t_0, s.q_0, s.u_0


def end(s: Stage) -> SymbolicState:
    """The predicted state at its end."""
    return s.t_1, s.known(Q_1), s.known(U_P)


def trapezoidal_velocity(part: PartType, s: Stage) -> None:
    """u_1 of a step without impact (76, 109)."""
    s.update(U_1, (s.u_0 + s.known(U_Y)) / 2)
    record_forces(s, 0.5 * (s.known(P_FORCES_0) + s.known(P_FORCES_1)))


@dataclass(frozen=True)
class HalfExplicitAcceleration(VelocityLevel):
    """The half-explicit trapezoidal rule on acceleration level, Fig. 4; without friction.

    >>> import stickslip as ss
    >>> system = ss.benchmarks.slider_crank_minimal(friction=False)
    >>> solution = ss.solve(system, t_end=0.01, dt=1e-4, method="half-explicit-acceleration")
    """

    name = "half-explicit-acceleration"
    facts = Facts(
        summary="trapezoidal rule, contact forces from accelerations; frictionless, drifts, for comparison",
        source="Schindler, Rezaei, Kursawe, Acary 2014, section 3 and Fig. 4",
        order=2,
        contact_order=1,
        unknowns={"start_forces": "n_u + n_P", "end_forces": "n_u + n_P"} | IMPULSIVE_UNKNOWNS,
        levels=("acceleration",),
        contact_level="acceleration",
        stable_to=2.0,
        friction=False,
    )
    carry = CARRY
    extra = SPLIT

    def begin(self) -> tuple[StageFunction, ...]:
        return (initial_contacts,)

    def step(self) -> tuple[StageFunction | If, ...]:
        smooth = (self.hold_prediction, self.end_activity, self.end_forces, trapezoidal_velocity, self.hold_velocity)
        decide = If(CLOSING, then=IMPULSIVE_STEP, otherwise=smooth)
        return self.start_activity, self.start_forces, position, decide

    def hold_prediction(self, part: PartType, s: Stage) -> None:
        """u_P among the velocities that constraints allow, if q_1 was moved onto them: else accelerations contradict."""
        self._hold(part, s, U_P)

    def hold_velocity(self, part: PartType, s: Stage) -> None:
        """The same for u_1."""
        self._hold(part, s, U_1)

    def _hold(self, part: PartType, s: Stage, velocity: Field) -> None:
        if s.held:
            t_1, q_1 = s.t_1, s.known(Q_1)
            u, P = s.unknown(Field(f"{velocity.name}_held", U), guess=velocity), s.unknown(SHIFT, guess=COLD)
            s.equation(part.M(t_1, q_1) @ (u - s.known(velocity)) - part.W(t_1, q_1).g @ P.g, for_=u)
            s.zero(part.g_dot(t_1, q_1, u), by=P.g)
            s.zero(P.gamma, by=P.gamma)
            s.zero(P.N, by=P.N)
            s.zero(P.F, by=P.F)
            s.update(velocity, u)

    def start_activity(self, part: PartType, s: Stage) -> None:
        """Positive for contacts that are open or opening at the start (59)."""
        s.update(FREE_0, ca.fmax(part.g_N(*start(s)[:2]) - part.reach(s.q_0), part.g_N_dot(*start(s))))

    def start_forces(self, part: PartType, s: Stage) -> None:
        """lambda_0 and u_P (54, 56)."""
        self._forces(part, s, start(s), (U_P, U_0), P_FORCES_0, open_where=FREE_0)

    def end_activity(self, part: PartType, s: Stage) -> None:
        """The same at the end."""
        s.update(FREE_1, ca.fmax(part.g_N(*end(s)[:2]) - part.reach(s.q_0), part.g_N_dot(*end(s))))

    def end_forces(self, part: PartType, s: Stage) -> None:
        """lambda_1 and u_Y (57)."""
        self._forces(part, s, end(s), (U_Y, U_P), P_FORCES_1, open_where=FREE_1)

    def _forces(
        self, part: PartType, s: Stage, state: SymbolicState, sought: Sought, forces: Multipliers, open_where: Field
    ) -> None:
        t, q, u = state
        u_Y, P = s.unknown(sought[0], guess=sought[1]), s.unknown(forces, guess=COLD)
        a, dt = (u_Y - u) / s.dt, s.dt
        s.equation(part.M(t, q) @ (u_Y - u) - dt * part.h(t, q, u) - part.W(t, q) @ P, for_=u_Y)  # (54)
        s.zero(dt * part.g_ddot(t, q, u, a), by=P.g)  # times dt: all rows of a stage are velocities
        s.zero(dt * part.gamma_dot(t, q, u, a), by=P.gamma)
        s.normal(dt * part.g_N_ddot(t, q, u, a), P.N, by=P.N, open_where=open_where)  # (64)
        s.zero(P.F, by=P.F)  # has no rows: no friction


@dataclass(frozen=True)
class ExplicitVelocity(VelocityLevel):
    """The explicit trapezoidal rule on velocity level, Fig. 7.

    h_tilde: the force under which velocities are projected (100); "h": option 1; "zero": option 2, as in Fig. 8.

    >>> import stickslip as ss
    >>> system = ss.benchmarks.slider_crank_minimal()
    >>> solution = ss.solve(system, t_end=0.01, dt=1e-4, method="explicit-velocity", h_tilde="zero")
    """

    h_tilde: str = "h"

    name = "explicit-velocity"
    carry = CARRY
    extra = SPLIT

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.h_tilde not in ("zero", "h"):
            raise OptionError(f'h_tilde = {self.h_tilde!r} of explicit-velocity is neither "h" nor "zero"')

    @property
    def facts(self) -> Facts:
        """For h_tilde = "h", u_Z is u_Y."""
        forces = "2*n_u + n_P" if self.h_tilde == "zero" else "n_u + n_P"
        return Facts(
            summary="trapezoidal rule, contact forces that project the last velocities; drifts, for comparison",
            source="Schindler, Rezaei, Kursawe, Acary 2014, section 4 and Fig. 7",
            order=1,
            unknowns={"start_forces": forces, "end_forces": forces} | IMPULSIVE_UNKNOWNS,
            levels=(),
            contact_level="no",
            stable_to=2.0,
        )

    def begin(self) -> tuple[StageFunction, ...]:
        return (initial_contacts,)

    def step(self) -> tuple[StageFunction | If, ...]:
        smooth = (self.end_forces, trapezoidal_velocity)
        return self.start_forces, position, If(CLOSING, then=IMPULSIVE_STEP, otherwise=smooth)

    def start_forces(self, part: PartType, s: Stage) -> None:
        """lambda_0 and u_P (54, 90, 92)."""
        self._forces(part, s, start(s), (U_P, U_0), P_FORCES_0, open_where=OPEN_0)

    def end_forces(self, part: PartType, s: Stage) -> None:
        """lambda_1 and u_Y (91, 93)."""
        self._forces(part, s, end(s), (U_Y, U_P), P_FORCES_1, open_where=OPEN_1)

    def _forces(
        self, part: PartType, s: Stage, state: SymbolicState, sought: Sought, forces: Multipliers, open_where: Field
    ) -> None:
        (t, q, u), dt = state, s.dt
        u_Y, P = s.unknown(sought[0], guess=sought[1]), s.unknown(forces, guess=COLD)
        s.equation(part.M(t, q) @ (u_Y - u) - dt * part.h(t, q, u) - part.W(t, q) @ P, for_=u_Y)  # (54)
        u_Z = u_Y
        if self.h_tilde == "zero":
            u_Z = s.unknown(U_Z, guess=sought[1])
            s.equation(part.M(t, q) @ (u_Z - u) - part.W(t, q) @ P, for_=u_Z)
        s.zero(part.g_dot(t, q, u_Z), by=P.g)
        s.zero(part.gamma(t, q, u_Z), by=P.gamma)
        s.normal(part.g_N_dot(t, q, u_Z), P.N, by=P.N, open_where=open_where)  # (98, 102)
        s.friction(part.gamma_F(t, q, u_Z), P.F, radius=part.radius(t, q, u_Z, P.N, dt), by=P.F)  # (99, 103)

"""The symmetric and the variational Moreau-type scheme.

G. Capobianco, S. R. Eugster: Time finite element based Moreau-type integrators (2018), sections 4.2 and 4.3. As in
Moreau's scheme the velocity is constant between the nodes t_k, where impacts are possible; forces are integrated by
the trapezoidal rule. A step ends at t_1 and finds u_1, the velocity of the interval that follows; q_2 = q_1 + dt u_1
is where it leads.

    q_1 = q_0 + dt u_0                                                                               (39)
    symmetric:    M_1 (u_1 - u_0) = dt/2 (h(t_1, q_1, u_0) + h(t_1, q_1, u_1)) + W_1 P               (61)
    variational:  (p(t_1, q_1, u_1) + p(t_2, q_2, u_1))/2 - (p(t_0, q_0, u_0) + p(t_1, q_1, u_0))/2
                      = dt/2 (b(t_1, q_1, u_0) + b(t_1, q_1, u_1)) + W_1 P                           (63)
    both with the laws of Moreau's scheme, where g_N(t_1, q_1) <= 0                                  (56, 57)

The velocity that is given at the start belongs to the node, not to the interval that follows; half a step leads from
one to the other:

    symmetric:    M_0 (u - u_0) = dt/2 h(t_0, q_0, u) + W_0 P/2                                      (50, 60)
    variational:  (p(t_0, q_0, u) + p(t_1, q_0 + dt u, u))/2 - p(t_0, q_0, u_0)
                      = dt/2 b(t_0, q_0, u) + W_0 P/2                                                (55, 62)

Good for: long simulations, where they neither lose nor gain energy; q is of order 2 in free motion. Recorded
velocities are those of the interval after t_k, so (u_{k-1} + u_k)/2 is the velocity at t_k to order 2 where nothing
impacts; a run that continues from a solution wants that one, not u_k. Constraints and contacts live on velocity level:
with them positions drift and the order is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from stickslip.engine.derive import PartType
from stickslip.engine.fields import PERCUSSIONS, Q_1, U_0, U_1
from stickslip.engine.flow import StageFunction
from stickslip.engine.stage import Stage
from stickslip.schemes.moreau import GAP, drift, velocity_laws
from stickslip.schemes.scheme import Facts
from stickslip.schemes.velocity_level import VelocityLevel, touch


def initial_gap(part: PartType, s: Stage) -> None:
    """Gaps of the first node, which decide about its contacts."""
    s.update(GAP, part.g_N(s.t_0, s.q_0) - touch(part, s))


@dataclass(frozen=True)
class MoreauSymmetric(VelocityLevel):
    """Symmetric Moreau-type scheme: Moreau's with the trapezoidal rule for the forces.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.spring_pendulum(), t_end=1.0, dt=1e-2, method="moreau-symmetric")
    >>> energy = solution.energy().total
    >>> bool(abs(energy / energy[0] - 1).max() < 0.03)
    True
    """

    name = "moreau-symmetric"
    facts = Facts(
        summary="Moreau's scheme made symmetric: no energy drift, order 2 of q in free motion",
        source="Capobianco, Eugster 2018, (60) and (61)",
        order=1,
        unknowns={"first_velocity": "n_u + n_P", "velocity_stage": "n_u + n_P"},
        levels=("velocity",),
        contact_level="velocity",
        stable_to=2.0,
        symmetric=True,
    )

    def begin(self) -> tuple[StageFunction, ...]:
        return initial_gap, self.first_velocity

    def step(self) -> tuple[StageFunction, ...]:
        return drift, self.velocity_stage

    def first_velocity(self, part: PartType, s: Stage) -> None:
        """From the given velocity to that of the first interval (60)."""
        t_0, dt, q_0, u_0 = s.t_0, s.dt, s.q_0, s.u_0
        u = s.unknown(U_1, guess=U_0)
        P = s.unknown(PERCUSSIONS)
        impulse = dt * part.h(t_0, q_0, u) + part.W(t_0, q_0) @ P
        s.equation(part.M(t_0, q_0) @ (u - u_0) - impulse / 2, for_=u)  # (50)
        velocity_laws(part, s, P, before=(t_0, q_0, u_0), after=(t_0, q_0, u))
        s.update(U_0, u)

    def velocity_stage(self, part: PartType, s: Stage) -> None:
        """u_1 and P at the end of the step (61)."""
        t_1, dt, q_1, u_0 = s.t_1, s.dt, s.known(Q_1), s.u_0
        u_1 = s.unknown(U_1, guess=U_0)
        P = s.unknown(PERCUSSIONS)
        impulse = dt / 2 * (part.h(t_1, q_1, u_0) + part.h(t_1, q_1, u_1)) + part.W(t_1, q_1) @ P
        s.equation(part.M(t_1, q_1) @ (u_1 - u_0) - impulse, for_=u_1)  # (49)
        velocity_laws(part, s, P, before=(t_1, q_1, u_0), after=(t_1, q_1, u_1))


@dataclass(frozen=True)
class MoreauVariational(VelocityLevel):
    """Variational Moreau-type scheme: a variational integrator between impacts, in terms of momenta.

    Hamilton's principle is discretised in coordinates, so it needs qdot = u. For rigid bodies with quaternions take the
    symmetric scheme; the two are the same where the mass matrix is constant and forces are free of velocities.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.spring_pendulum(), t_end=1.0, dt=1e-2, method="moreau-variational")
    >>> energy = solution.energy().total
    >>> bool(abs(energy / energy[0] - 1).max() < 0.03)
    True
    """

    name = "moreau-variational"
    facts = Facts(
        summary="a variational integrator with impacts: no energy drift, order 2 of q in free motion",
        source="Capobianco, Eugster 2018, (62) and (63)",
        order=1,
        unknowns={"first_velocity": "n_u + n_P", "velocity_stage": "n_u + n_P"},
        levels=("velocity",),
        contact_level="velocity",
        stable_to=2.0,
        symmetric=True,
        variational=True,
        general_kinematics=False,
    )

    def begin(self) -> tuple[StageFunction, ...]:
        return initial_gap, self.first_velocity

    def step(self) -> tuple[StageFunction, ...]:
        return drift, self.velocity_stage

    def first_velocity(self, part: PartType, s: Stage) -> None:
        """From the given velocity to that of the first interval (62)."""
        t_0, t_1, dt, q_0, u_0 = s.t_0, s.t_1, s.dt, s.q_0, s.u_0
        u = s.unknown(U_1, guess=U_0)
        P = s.unknown(PERCUSSIONS)
        p_mean = (part.p(t_0, q_0, u) + part.p(t_1, q_0 + dt * u, u)) / 2  # (51)
        impulse = dt * part.b(t_0, q_0, u) + part.W(t_0, q_0) @ P
        s.equation(p_mean - part.p(t_0, q_0, u_0) - impulse / 2, for_=u)  # (55)
        velocity_laws(part, s, P, before=(t_0, q_0, u_0), after=(t_0, q_0, u))
        s.update(U_0, u)

    def velocity_stage(self, part: PartType, s: Stage) -> None:
        """u_1 and P at the end of the step (63)."""
        t_0, t_1, dt, q_0, q_1, u_0 = s.t_0, s.t_1, s.dt, s.q_0, s.known(Q_1), s.u_0
        u_1 = s.unknown(U_1, guess=U_0)
        P = s.unknown(PERCUSSIONS)
        p_before = (part.p(t_0, q_0, u_0) + part.p(t_1, q_1, u_0)) / 2  # (51)
        p_after = (part.p(t_1, q_1, u_1) + part.p(t_1 + dt, q_1 + dt * u_1, u_1)) / 2
        impulse = dt / 2 * (part.b(t_1, q_1, u_0) + part.b(t_1, q_1, u_1)) + part.W(t_1, q_1) @ P
        s.equation(p_after - p_before - impulse, for_=u_1)  # (54)
        velocity_laws(part, s, P, before=(t_1, q_1, u_0), after=(t_1, q_1, u_1))

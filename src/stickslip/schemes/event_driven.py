"""Event-driven integration: the reference for systems with few events.

Between events the modes of all contacts are fixed (closed or open, stick or slip), and the motion is a smooth differential
equation on acceleration level, integrated to rtol and atol by a high-order method of SciPy:

    qdot = B u + beta,   M a = h + W_g la_g + W_gamma la_gamma + W_N la_N + W_F la_F,   udot = a               (1)
    g_ddot = 0,  gamma_dot = 0
    closed: g_N_ddot = 0,              else la_N = 0
    stick:  gamma_F_dot = 0,           slip: la_F = -(mu la_N + radius) gamma_F/|gamma_F|,      else la_F = 0

An event is the first zero of: the gap of an open contact, la_N of a closed one, gamma_F of a sliding element and
mu la_N + radius - |la_F| of a sticking one. There the velocities jump where a contact closes with g_N_dot < 0,

    M (u_1 - u_0) = W P,   g_dot(u_1) = 0,  gamma(u_1) = 0,   xi_N in N_R-(-P_N),  xi_F in N_C(-P_F)            (2)

and the modes that follow are those of the complementarity problem on acceleration level,

    (1) with  g_N_ddot in N_R-(-la_N)  for contacts at rest,  gamma_F_dot in N_C(-la_F)  for elements without slip     (3)

q and u are projected onto the constraints of the present modes at every event and every output time (4, 5), quaternions onto
their length.

With much friction (1) and (3) may have no solution (Painleve's paradox), or lose it where la_N grows without bound. There (2)
has, besides P = 0, a solution in which the slip stops at once: an impact without collision, which is taken.

Good for: ground truth, exact event times, percussions to all digits. Not for many contacts, and not for accumulating
impacts: a contact that leaves slower than `rest_velocity` stays closed, which ends a sequence of bounces; more than
`max_events` events within one dt are an error. So is a point at which constraints become dependent, as those of a parallelogram
with all bars in one line: their forces have no limit there. Stiff systems: integrator="Radau".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from stickslip.engine.derive import Model, PartType, Percussions, require_balls
from stickslip.engine.fields import PERCUSSIONS, Q_1, U_0, U_1
from stickslip.engine.numbering import Detected
from stickslip.engine.program import Program, assemble
from stickslip.engine.runs import Run, Start
from stickslip.engine.stage import Stage
from stickslip.errors import OptionError
from stickslip.phases.problems import (
    CLOSED,
    DIRECTION,
    FORCE_F,
    GAP,
    GAP_DDOT,
    GAP_DOT,
    LA,
    LEAST_SLIP,
    LIFTS,
    OPEN,
    PUSH,
    QDOT,
    RADIUS,
    SHIFT,
    SLIDING,
    SLIP,
    STICK,
    U_GUESS,
    A,
)
from stickslip.phases.run import EventOptions, EventRun
from stickslip.schemes.scheme import Facts, Scheme

INTEGRATORS = ("DOP853", "RK45", "Radau", "BDF", "LSODA")
LEAST_RTOL, LEAST_ATOL = 2.3e-14, 2.3e-16  # 100 and one unit of rounding: SciPy's integrators go no further


def motion(part: PartType, s: Stage) -> None:
    """(1): accelerations and forces for given modes, and everything that the search for events looks at."""
    t, q, u = s.t_0, s.q_0, s.u_0
    closed, stick = s.known(CLOSED), s.known(STICK)
    a, la, la_F, radius = _newton_euler(part, s)
    slip_rate = part.gamma_F_dot(t, q, u, a)
    s.zero(closed * part.g_N_ddot(t, q, u, a) + (1 - closed) * la.N, by=la.N)
    s.zero(stick * slip_rate + (1 - stick) * la.F, by=la.F)
    s.update(QDOT, part.qdot(t, q, u))
    s.update(FORCE_F, la_F)
    s.update(RADIUS, _per_component(part, radius))
    s.update(GAP, part.g_N(t, q))
    s.update(GAP_DOT, part.g_N_dot(t, q, u))
    s.update(GAP_DDOT, part.g_N_ddot(t, q, u, a))
    s.update(SLIP, part.gamma_F(t, q, u))


def choice(part: PartType, s: Stage) -> None:
    """(3): which contacts stay closed and which elements stick."""
    t, q, u = s.t_0, s.q_0, s.u_0
    sliding = s.known(SLIDING)
    a, la, _, radius = _newton_euler(part, s)
    free = [(1 - sliding[f.first]) * radius[k] for k, f in enumerate(part.frictions)]
    s.normal(part.g_N_ddot(t, q, u, a), la.N, by=la.N, open_where=OPEN, mark_open=LIFTS)
    s.friction(part.gamma_F_dot(t, q, u, a), la.F, radius=ca.vertcat(ca.SX(0, 1), *free), by=la.F)
    s.update(RADIUS, _per_component(part, radius))


def impact(part: PartType, s: Stage) -> None:
    """(2): velocities after an impact of the contacts that touch."""
    t, q, u_0 = s.t_0, s.q_0, s.u_0
    u_1 = s.unknown(U_1, guess=U_GUESS)
    P = s.unknown(PERCUSSIONS)
    before, after = (t, q, u_0), (t, q, u_1)
    s.equation(part.M(t, q) @ (u_1 - u_0) - part.W(t, q) @ P, for_=u_1)
    s.zero(part.g_dot(*after), by=P.g)
    s.zero(part.gamma(*after), by=P.gamma)
    s.normal(part.xi_N(after, before) - s.known(PUSH), P.N, by=P.N, open_where=OPEN)
    s.friction(part.xi_F(after, before), P.F, radius=part.radius(*after, P.N, 0), by=P.F)


def project_positions(part: PartType, s: Stage) -> None:
    """(4): the nearest coordinates, in the metric of M, with g = 0 and g_N = 0 for closed contacts."""
    t, q_0, closed = s.t_0, s.q_0, s.known(CLOSED)
    shift = s.unknown(SHIFT)
    la = s.unknown(LA)
    still = ca.SX.zeros(part.n_u)
    q_1 = q_0 + part.qdot(t, q_0, shift) - part.qdot(t, q_0, still)
    s.equation(part.M(t, q_0) @ shift - part.W(t, q_0) @ la, for_=shift)
    s.zero(part.g(t, q_1), by=la.g)
    s.zero(la.gamma, by=la.gamma)
    s.zero(closed * part.g_N(t, q_1) + (1 - closed) * la.N, by=la.N)
    s.zero(la.F, by=la.F)
    s.update(Q_1, q_1)


def project_velocities(part: PartType, s: Stage) -> None:
    """(5): the nearest velocities that satisfy the constraints of the modes."""
    t, q, u_0, closed, stick = s.t_0, s.q_0, s.u_0, s.known(CLOSED), s.known(STICK)
    u_1 = s.unknown(U_1, guess=U_0)
    P = s.unknown(PERCUSSIONS)
    s.equation(part.M(t, q) @ (u_1 - u_0) - part.W(t, q) @ P, for_=u_1)
    s.zero(part.g_dot(t, q, u_1), by=P.g)
    s.zero(part.gamma(t, q, u_1), by=P.gamma)
    s.zero(closed * part.g_N_dot(t, q, u_1) + (1 - closed) * P.N, by=P.N)
    s.zero(stick * part.gamma_F(t, q, u_1) + (1 - stick) * P.F, by=P.F)


def _newton_euler(part: PartType, s: Stage) -> tuple[ca.SX, Percussions, ca.SX, ca.SX]:
    """Unknown a and la with the equation of motion and the bilateral constraints; also all friction forces, and their bounds.

    la.F are the forces of sticking elements; those of sliding ones follow from the known field DIRECTION.
    """
    t, q, u = s.t_0, s.q_0, s.u_0
    a = s.unknown(A)
    la = s.unknown(LA)
    radius = part.radius(t, q, u, la.N, 1)
    slip, direction = part.gamma_F(t, q, u), s.known(DIRECTION)
    rows = [ca.SX(0, 1)]
    for k, f in enumerate(part.frictions):
        d = direction[f.first : f.first + f.size]
        if f.size > 1:  # in one dimension it is a sign, which is fixed until the next event
            v = slip[f.first : f.first + f.size] + s.known(LEAST_SLIP)[f.first] * d
            d = ca.dot(d, d) * v / ca.sqrt(ca.dot(v, v) + 1e-300)  # zero where the element does not slide
        rows.append(-radius[k] * d)
    la_F = la.F + ca.vertcat(*rows)
    s.equation(part.M(t, q) @ a - part.h(t, q, u) - part.W(t, q) @ Percussions(la.g, la.gamma, la.N, la_F), for_=a)
    s.zero(part.g_ddot(t, q, u, a), by=la.g)
    s.zero(part.gamma_dot(t, q, u, a), by=la.gamma)
    return a, la, la_F, radius


def _per_component(part: PartType, element: ca.SX) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *[element[k] for k, f in enumerate(part.frictions) for _ in range(f.size)])


@dataclass(frozen=True)
class EventDriven(Scheme):
    """Event-driven reference integrator; dt is the distance of the output, not the step.

    rtol, atol: of q, u and percussions. integrator: a solver of `scipy.integrate`. rest_velocity: contacts that leave an
    impact slower stay closed. max_events: within one dt. `solution.extra` has the number of `events` in every interval
    and the time of the `last_event` in it (NaN without one).

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.rotating_bouncing_ball(case=2)
    >>> solution = ss.solve(ball, t_end=1.0, dt=1e-2, method="event-driven", rtol=1e-10)
    >>> bool(abs(solution.u[-1, 0] + 10 / 7) < 1e-9)
    True
    """

    rtol: float = 1e-10
    atol: float = 1e-12
    integrator: str = "DOP853"
    rest_velocity: float = 1e-5
    max_events: int = 1000

    name = "event-driven"
    facts = Facts(
        summary="finds every event, integrates between them to rtol and atol: ground truth for systems with few events",
        source="SciPy's solve_ivp methods between events",
        order=None,
        unknowns={"motion": "n_u + n_P", "choice": "n_u + n_P", "impact": "n_u + n_P"},
        levels=("position", "velocity", "acceleration"),
        contact_level="position",
        detected=False,
        equal_steps="it has events instead of steps",
    )

    def __post_init__(self) -> None:
        if self.integrator not in INTEGRATORS:
            raise OptionError(f"integrator = {self.integrator!r} does not exist; there are {', '.join(INTEGRATORS)}")
        for name in ("rtol", "atol", "rest_velocity", "max_events"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not value > 0:
                raise OptionError(f"{name} = {value!r} of method 'event-driven' must be a number > 0")
        for name, least in (("rtol", LEAST_RTOL), ("atol", LEAST_ATOL)):
            if getattr(self, name) < least:
                raise OptionError(
                    f"{name} = {getattr(self, name)!r} of method 'event-driven' is below the rounding errors of its steps; "
                    f"the smallest that makes sense is {least:.1e}"
                )

    def compile(self, model: Model, detected: Sequence[Detected] = ()) -> tuple[Model, dict[str, Program]]:
        """Each of the problems (1) to (5) as a program of one stage."""
        require_balls(model, "method 'event-driven'")
        stages = (motion, choice, impact, project_positions, project_velocities)
        given = (CLOSED, OPEN, STICK, SLIDING, DIRECTION, LEAST_SLIP, PUSH, U_GUESS)
        return model, {f.__name__: assemble(model, step=(f,), given=given, name=self.name) for f in stages}

    def start(self, compiled: tuple[Model, dict[str, Program]], start: Start) -> Run:
        """A run from a state."""
        options = EventOptions(self.rtol, self.atol, self.integrator, self.rest_velocity, self.max_events)
        return EventRun(*compiled, start, options)

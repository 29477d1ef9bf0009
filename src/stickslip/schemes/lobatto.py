"""Nonsmooth Lobatto IIIA-IIIB methods with any number of stages.

G. Capobianco, J. Harsch, S. Leyendecker: Lobatto-type variational integrators for mechanical systems with frictional
contact (2024), sections 4 and 5. Numbers at the lines are its equations; sums run over the s stages, t_i = t_0 + c_i dt.

    Q_i = q_0 + dt sum_j a_ij qdot(t_j, Q_j, V_j),   Q_1 = q_0,  Q_s = q_1       Lobatto IIIA         (47a, c)
    F_i = dt b(t_i, Q_i, V_i) + W(t_i, Q_i) R_i                                                       (47f)
    p(t_i, Q_i, V_i) = p(t_0, q_0, u_0) + sum_j a^_ij F_j,   a^_is = 0           Lobatto IIIB         (47d, e)
        for i = 2, ..., s, enforced by R_(i-1):
        g(t_i, Q_i) = 0,  gamma(t_i, Q_i, V_i) = 0                                                    (50, 51)
        g_N(t_i, Q_i) in N_R-(-R_N),  gamma_F(t_i, Q_i, V_i) in N_C(-R_F)                             (52, 57)
    p(t_1, q_1, u_1) = p(t_0, q_0, u_0) + sum_j b_j F_j,      P = sum_j b_j R_j                       (47b, 49, 55)
        g_dot(t_1, q_1, u_1) = 0,  gamma(t_1, q_1, u_1) = 0                                           (50, 51)
        xi_N in N_R-(-P_N) for contacts that are closed at q_1, else P_N = 0                          (56)
        xi_F in N_C(-P_F)                                                                             (58)

The last multiplier R_s acts on u_1 alone because a^_is = 0, so the paper's one system (60) falls apart into two, exactly as
RATTLE does: all V_i with R_1 ... R_(s-1) first, then u_1 with R_s. The percussion R is dt times a force in smooth motion.

That is the variant "printed". With velocity constraints it is of order s - 1: (51) asks them of stages that are less
accurate than u_1, one after the other from the second on. By default ("mean") the polynomial of degree s - 2 that is closest
to gamma at the stages, in the metric of the quadrature, is zero instead, and likewise slip,

    gamma*_i = sum_j Pi_ij gamma(t_j, Q_j, V_j) = 0,   gamma_F*_i in N_C(-R_F_(i-1))                  (51*, 57*)

which is sum_j b_j c_j^k gamma_j = 0 for k = 0, ..., s - 2, for s = 2 the mean of both ends. What is left out is orthogonal
to all polynomials of that degree, so that (51*) is symmetric and of order 2s - 2. Variant "midpoint" extends that to slip: each
R_F_i goes with gamma_F*_i, and in steps without impacts the last one, too, where (58) is implicit Euler for the direction of
slip.

With three stages and more, a contact that is closed at some stages only has no consistent percussion: where it is open at
q_1, (56) makes its sum P_N zero, so that R_s pulls as much as the others push, and the energy rises, in a grazing contact
step after step. Steps in which a contact closes, or is closed at some stages only, are therefore taken with two stages, in
which this cannot happen (not in the variant "printed"). Their order is 1 in any case. So is a step in which more stages have no
solution: where contacts jam, their friction at inner stages may contradict the positions at the end.

Good for: accuracy in smooth and in persistent contact, order 2s - 2; no penetration, constraints on position and velocity
level. For s = 2 and constant mass it is RATTLE. After an impact the order drops to 1 as for every event-capturing scheme.
Beyond the paper: qdot = B u + beta. The pair is then still of order 2s - 2, but not variational, and for s > 2 the norm of
a quaternion is kept to that order only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca

from stickslip.engine.derive import PartType, Percussions
from stickslip.engine.fields import ONE, PERCUSSIONS, Q_1, U_0, U_1, UNSETTLED, Carry, F, Field, Multipliers, N, Q, U
from stickslip.engine.flow import If, Step
from stickslip.engine.stage import Stage
from stickslip.errors import MethodError, OptionError, unknown_name
from stickslip.model.declaration import slip_speed
from stickslip.schemes.lobatto_tableau import projection, tableau
from stickslip.schemes.rattle import (
    IMPACTS,
    OPEN,
    OPEN_0,
    SLIDES,
    VARIANTS,
    closed_contacts,
    count_impacts,
    moves,
    turns,
)
from stickslip.schemes.scheme import Facts, Scheme

FREE = Field("free", N)  # contacts without a percussion
CHANGES = Field("changes", ONE)  # how many contacts change their status within the step
MOST_STAGES = 32  # more take long to derive and compile


@dataclass(frozen=True)
class Lobatto(Scheme):
    """Nonsmooth Lobatto IIIA-IIIB with s >= 2 stages, of order 2s - 2 while the contact status does not change.

    variant: "mean" (default) is of that order with velocity constraints and sticking, too, "printed" as in the paper;
    "midpoint" is so in sliding whose direction turns as well.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=1e-2, method=ss.Lobatto(stages=3))
    """

    stages: int = 3
    variant: str = "mean"

    name = "lobatto"

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise OptionError(unknown_name("variant of lobatto", str(self.variant), VARIANTS))
        if not isinstance(self.stages, int) or not 2 <= self.stages <= MOST_STAGES:
            raise OptionError(
                f"stages = {self.stages!r} of method 'lobatto' must be a whole number from 2 to {MOST_STAGES}; for more "
                "accuracy take a smaller dt"
            )

    @property
    def facts(self) -> Facts:
        """Order and number of unknowns grow with the stages."""
        s = self.stages
        return Facts(
            summary="s stages on position and velocity level; no penetration, order 2s - 2 in persistent contact",
            source="Capobianco, Harsch, Leyendecker 2024, (47) to (59)",
            order=2 * s - 2,
            sliding_order=2 * s - 2 if self.variant == "midpoint" else 1,
            rolling_order=s - 1 if self.variant == "printed" else 2 * s - 2,
            unknowns={"position_stage": f"{s}*n_u + {s - 1}*n_P", "velocity_stage": "n_u + n_P"}
            | ({"impact_positions": "2*n_u + n_P", "impact_velocities": "n_u + n_P"} if self.guarded else {}),
            levels=("position", "velocity"),
            contact_level="position",
            symmetric=True,
            variational=True,
            stable_to={2: 2.0, 3: 8**0.5}.get(s, 3.1),  # observed; the next windows of growth are narrow and near k pi
        )

    @property
    def guarded(self) -> bool:
        """Whether steps with a change of contact are taken with two stages."""
        return self.stages > 2 and self.variant != "printed"

    @property
    def remembers(self) -> bool:
        """Whether it must know which contacts were closed."""
        return self.guarded or self.variant == "midpoint"

    @property
    def carry(self) -> Carry:  # type: ignore[override]
        return {**super().carry, OPEN_0: OPEN} if self.remembers else super().carry

    def begin(self) -> tuple[Step, ...]:
        return (closed_contacts,) if self.remembers else ()

    def step(self) -> tuple[Step, ...]:
        second: tuple[Step, ...] = (self.velocity_stage, self.percussions)
        if self.variant == "midpoint":
            second = (count_impacts, self.choose_direction, *second)
        if self.guarded:
            impact = (self.impact_positions, self.impact_velocities, self.impact_percussions)
            second = (self.count_changes, If(CHANGES, then=impact, otherwise=second))
        return self.position_stage, *second

    def position_stage(self, part: PartType, s: Stage) -> None:
        """All V_i and Q_i, and the percussions R_1, ..., R_(s-1)."""
        c, _, a, a_hat = tableau(self.stages)
        stages, dt, q_0 = range(self.stages), s.dt, s.q_0
        t = [s.t_0 + c_i * dt for c_i in c]
        V = [s.unknown(_V(i), guess=U_0) for i in stages]
        R = [s.unknown(_R(j)) for j in stages[:-1]]

        def kinematics(*later: ca.SX) -> list[ca.SX]:
            rates = [part.qdot(*at) for at in zip(t, (q_0, *later), V, strict=True)]
            return [later[i - 1] - q_0 - dt * _sum(a[i], rates) for i in stages[1:]]  # (47c)

        Q = [q_0, *s.positions(self._later, kinematics)]
        forces = [
            _force(part, dt, *at) for at in zip(t[:-1], Q[:-1], V[:-1], R, strict=True)
        ]  # F_s does not enter: a^_is = 0
        for i in stages:
            s.equation(
                part.p(t[i], Q[i], V[i]) - part.p(s.t_0, q_0, s.u_0) - _sum(a_hat[i, :-1], forces), for_=V[i]
            )  # (47d, e)
        at = list(zip(t, Q, V, strict=True))
        for i in stages[1:]:
            s.zero(part.g(t[i], Q[i]), by=R[i - 1].g)  # (50)
            s.normal(
                part.g_N(t[i], Q[i]) - part.reach(q_0),
                R[i - 1].N,
                by=R[i - 1].N,
                mark_open=self._open(i),
            )  # (52)
        for j in stages[:-1]:
            gamma, slip = self._slip(part, at, j + 1)  # later: a start from rest slips in its direction at all of them
            radius = part.radius(*at[j + 1], R[j].N, dt)
            if self.variant == "midpoint":
                gamma, turned = self._slip(part, at, j)
                slip = ca.if_else(turns(part), turned, slip)
                radius = ca.if_else(_per_element(part, turns(part)), part.radius(*at[j], R[j].N, dt), radius)
            s.zero(gamma, by=R[j].gamma)  # (51)
            s.friction(slip, R[j].F, radius=radius, by=R[j].F, mark_slip=self._slips(j))  # (57)

    def velocity_stage(self, part: PartType, s: Stage) -> None:
        """u_1 and R_s; the impact law is one of the percussions of the whole step."""
        c, b, _, _ = tableau(self.stages)
        stages, dt, q_1 = range(self.stages), s.dt, s.known(Q_1)
        Q = [s.q_0, *[s.known(later) for later in self._later]]
        V = [s.known(_V(i)) for i in stages]
        u_1 = s.unknown(U_1, guess=_V(stages[-1]))
        R = [*[s.known(_R(j)) for j in stages[:-1]], s.unknown(_R(stages[-1]))]
        forces = [_force(part, dt, s.t_0 + c[i] * dt, Q[i], V[i], R[i]) for i in stages]
        P = _sum(b, R)  # (55, 59)
        before, after = (s.t_0, s.q_0, s.u_0), (s.t_1, q_1, u_1)
        s.equation(part.p(*after) - part.p(*before) - _sum(b, forces), for_=u_1)  # (47b, 49)
        s.zero(part.g_dot(*after), by=R[-1].g)  # (50)
        s.zero(part.gamma(*after), by=R[-1].gamma)  # (51)
        s.normal(s.xi_N(after, before), P.N, by=R[-1].N, open_where=OPEN, mark_open=FREE)  # (56)
        whole = part.radius(*after, P.N, dt)
        if self.variant == "midpoint":
            at = [(s.t_0 + c[i] * dt, Q[i], V[i]) for i in stages]
            _, slip = self._slip(part, at, stages[-1])
            radius = part.radius(*at[-1], P.N, dt)
            # R_F_s alone, written as a law of P so that its radius is never negative: P - P* with what the other stages
            # would have done along the last direction.
            earlier = _sum(b[:-1], R[:-1])
            shift = earlier.F + _along(part, slip, part.radius(*at[-1], earlier.N, (1 - float(b[-1])) * dt))
            s.friction(slip, P.F - shift, radius=radius, by=R[-1].F, only_where=SLIDES)  # (57*)
            s.friction(part.xi_F(after, before), P.F, radius=whole, by=R[-1].F, except_where=SLIDES)  # (58)
        else:
            s.friction(part.xi_F(after, before), P.F, radius=whole, by=R[-1].F)  # (58)

    def percussions(self, part: PartType, s: Stage) -> None:
        """P of the whole step (55, 59), which is zero where a contact is free: not a sum that cancels up to rounding errors."""
        P = _sum(tableau(self.stages).b, [s.known(_R(j)) for j in range(self.stages)])
        closed = s.known(FREE) <= 0
        touching = [ca.vertcat(0, *[closed[i] for i in f.normals]) for f in part.frictions]
        acts = [ca.mmax(t) if f.normals else ca.SX(1) for t, f in zip(touching, part.frictions, strict=True)]
        rows = [acts[k] for k, f in enumerate(part.frictions) for _ in range(f.size)]
        P_F = P.F if self.variant == "midpoint" else ca.if_else(ca.vertcat(ca.SX(0, 1), *rows), P.F, 0)
        s.update(PERCUSSIONS, Percussions(P.g, P.gamma, ca.if_else(closed, P.N, 0), P_F))

    def choose_direction(self, part: PartType, s: Stage) -> None:
        """Elements that slip at all inner stages and have a direction for (57*), in a step without impacts.

        The first stage does not count where there are others: slip that begins in this step is zero there, and (58) for it
        would make a start from rest of order 2 for s >= 4.
        """
        masks = [s.known(Field(f"slips_{j + 1}", F)) for j in range(self.stages - 1)]
        masks = masks[1:] or masks
        least = masks[0]
        for mask in masks[1:]:
            least = ca.fmin(least, mask)
        c, stages = tableau(self.stages)[0], range(self.stages)
        Q = [s.q_0, *[s.known(later) for later in self._later]]
        _, slip = self._slip(part, [(s.t_0 + c[i] * s.dt, Q[i], s.known(_V(i))) for i in stages], stages[-1])
        s.update(SLIDES, ca.if_else(turns(part) * moves(part, s, slip), least - 2 * s.known(IMPACTS), -1))

    # -- steps in which a contact changes its status -----------------------------------------------------------------------

    def count_changes(self, part: PartType, s: Stage) -> None:
        """Contacts that close in this step, or are closed at some of its stages only; all where the stages have no solution."""
        marks = [s.known(field) for field in map(self._open, range(1, self.stages)) if field is not None]
        most = least = marks[0]
        for mark in marks[1:]:
            most, least = ca.fmax(most, mark), ca.fmin(least, mark)
        partly, closes = (most > 0) * (least <= 0), (s.known(OPEN_0) > 0) * (most <= 0)
        s.total(CHANGES, ca.sum1(partly + closes) + s.known(UNSETTLED))

    def impact_positions(self, part: PartType, s: Stage) -> None:
        """The first stage with s = 2."""
        self._two_stages.position_stage(part, s)

    def impact_velocities(self, part: PartType, s: Stage) -> None:
        """The second stage with s = 2."""
        self._two_stages.velocity_stage(part, s)

    def impact_percussions(self, part: PartType, s: Stage) -> None:
        """Percussions with s = 2."""
        self._two_stages.percussions(part, s)

    @property
    def _two_stages(self) -> Lobatto:
        return replace(self, stages=2, variant="mean")

    def _open(self, i: int) -> Field | None:
        """The mask of contacts that are open at stage i; that of the last one is remembered."""
        if i == self.stages - 1:
            return OPEN
        return Field(f"open_at_{i + 1}", N) if self.guarded else None

    def _slips(self, j: int) -> Field | None:
        return Field(f"slips_{j + 1}", F) if self.variant == "midpoint" else None

    def _slip(self, part: PartType, at: Sequence[tuple[ca.SX, ca.SX, ca.SX]], i: int) -> tuple[ca.SX, ca.SX]:
        """gamma and gamma_F at stage i, or of the polynomial closest to all stages there (51*, 57*)."""
        if self.variant == "printed":
            return part.gamma(*at[i]), part.gamma_F(*at[i])
        row = projection(self.stages)[i]
        return _sum(row, [part.gamma(*x) for x in at]), _sum(row, [part.gamma_F(*x) for x in at])

    @property
    def _later(self) -> list[Field]:
        """Q_2, ..., Q_s."""
        return [*[Field(f"Q_{i}", Q) for i in range(2, self.stages)], Q_1]


def _V(i: int) -> Field:
    """V_(i+1)."""
    return Field(f"V_{i + 1}", U)


def _R(i: int) -> Multipliers:
    """R_(i+1)."""
    return Multipliers(f"R_{i + 1}")


def _force(part: PartType, dt: ca.SX, t: ca.SX, Q: ca.SX, V: ca.SX, R: Percussions) -> ca.SX:
    return dt * part.b(t, Q, V) + part.W(t, Q) @ R  # (47f), with W at t_i


def _along(part: PartType, slip: ca.SX, radius: ca.SX) -> ca.SX:
    """radius times the direction of slip, element by element."""
    rows = [ca.SX(0, 1)]
    for k, f in enumerate(part.frictions):
        if f.cone is not None:
            raise MethodError(
                f"variant='midpoint' of lobatto treats Coulomb friction, in a ball, not the cone {f.cone.name}; its other "
                "variants can treat it"
            )
        v = slip[f.first : f.first + f.size]
        rows.append(radius[k] * v / slip_speed(v))
    return ca.vertcat(*rows)


def _per_element(part: PartType, rows: ca.SX) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *[rows[f.first] for f in part.frictions])


def _sum(weights, terms):
    """Weighted sum; NumPy's numbers become Python's, so that CasADi's and our own products apply."""
    first, *others = [float(w) * x for w, x in zip(weights, terms, strict=True)]
    for x in others:
        first = first + x
    return first

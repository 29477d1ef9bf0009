"""The generalized-alpha method, smooth and nonsmooth, with constraints on one, two or three levels.

O. Brüls, V. Acary, A. Cardona: On the constraints formulation in the nonsmooth generalized-alpha method (2018);
numbers at the lines are its equations. Friction and qdot = B u + beta after G. Capobianco, J. Harsch, S. R. Eugster,
R. I. Leine: A nonsmooth generalized-alpha method for mechanical systems with frictional contact (2021). With the
formulas of `alpha_motion` for q_1, u_1, P and K, the form PVA is

    M_1 a_1 = h(t_1, q_1, u_1) + W_1 la     g_ddot = 0,  g_N_ddot in N_R-(-la_N) on B, else la_N = 0            (65a-c)
    M_1 U = W_1 nu                          g = 0,       g_N in N_R-(-K_N)                                      (65d-f)
    M_1 w = W_1 Lambda                      g_dot = 0,   xi_N in N_R-(-P_N) on A, else P_N = 0                  (65g-i)

A: contacts that are closed on position level; B: those of A that are closed on velocity level too (55-57). Friction:

    xi_F in N_C(-P_F), C of radius mu P_N;  while it sticks gamma_F_dot in N_D(-la_F), D of radius mu la_N, else
    gamma_F in N_D(-la_F)

An open contact has P_N = 0 and K_N = 0. The paper sets Lambda_N = 0 and nu_N = 0 instead (65f, 65i), but decides by
P_N and K_N: then a contact still pushes, by what (65o) remembers of la_N, after it has opened, and the result depends
on the arbitrary r of the decision. With P and K it is one complementarity problem, and P_N >= 0 always. release="printed"
is the paper's choice (`alpha_sets`); friction="smooth" is of order 2 where the direction of slip turns (`alpha_sliding`).

Good for: flexible systems (rho_inf damps the frequencies that the mesh makes up), constraints without drift and, in
the form PVA, without oscillations after impacts. Not for: many contacts (three sets of unknowns), exact energy
balances.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from stickslip.engine.derive import PartType, Percussions
from stickslip.engine.fields import (
    EARLY,
    FORCELESS,
    GAMMA,
    PERCUSSIONS,
    Q_0,
    Q_1,
    SPACES,
    U_0,
    U_1,
    Carry,
    F,
    Field,
    G,
    Multipliers,
    N,
    Space,
)
from stickslip.engine.flow import If, Repeat, Step
from stickslip.engine.stage import Stage
from stickslip.errors import OptionError, unknown_name
from stickslip.schemes.alpha_coefficients import COEFFICIENTS, Coefficients
from stickslip.schemes.alpha_motion import (
    A_0,
    A_1,
    A_BAR_0,
    A_BAR_1,
    ACCELERATION,
    CORRECTION,
    G_DDOT,
    G_N_DDOT,
    JUMP,
    LA_0,
    LA_1,
    LA_BAR_0,
    LA_BAR_1,
    LAMBDA,
    NU,
    OUTSIDE_A,
    OUTSIDE_B,
    OUTSIDE_B_0,
    OUTSIDE_S,
    SHIFT,
    SLIPS,
    SMOOTH,
    U_SHIFT,
    W_JUMP,
    AlphaMotion,
    at_rest,
    initial_contacts,
    motion,
    multipliers,
    no_accelerations,
    no_corrections,
    predict_position,
)
from stickslip.schemes.alpha_sets import decide_sets, decide_smooth_set, first_guess, position_law, velocity_law
from stickslip.schemes.alpha_sliding import CHANGES, SLIDES, choose_slides, count_changes, no_slides
from stickslip.schemes.scheme import Facts, Scheme

LEVELS = {  # of bilateral constraints, for each formulation
    "PVA": ("position", "velocity", "acceleration"),
    "PVV": ("position", "velocity"),
    "PV": ("position", "velocity"),
    "PV-2": ("position", "velocity"),
    "P": ("position",),
    "V": ("velocity",),
    "A": ("acceleration",),
    "Baumgarte": (),
}


@dataclass(frozen=True)
class GeneralizedAlpha(Scheme):
    """The generalized-alpha method.

    constraints: "PVA" and "PVV" treat contacts, friction and impacts. The smooth motion of PVA meets constraints and
    closed contacts on acceleration level, that of PVV only bilateral constraints, on velocity level. Systems without
    contacts may also take "P" (index 3), "V" (index 2), "PV" (Gear, Gupta, Leimkuhler), "PV-2" (the same,
    mass-weighted), "A" (index 1) and "Baumgarte" (index 1, stabilised).
    rho_inf: spectral radius at infinite frequency, from 0 (strongest numerical damping) to 1 (none).
    activation: what the smooth motion of PVA sees: 1 no constraints, 2 bilateral ones, 3 (default) closed contacts too.
    solver: of PVA and PVV, "newton" for all unknowns at once or "subproblems" for three smaller problems in turn.
    consistent: start with the accelerations of the equations of motion, or else (for experiments) with zero.
    baumgarte, baumgarte_beta: the rates alpha and beta of Baumgarte's stabilisation, in 1/s; beta = alpha if not given.
    coefficients: "chung-hulbert", "hht" (rho_inf from 1/2 on) or "newmark" (of order 1 unless rho_inf = 1).
    shifted_start: a_bar starts with the acceleration at (alpha_m - alpha_f) dt, option (i) of section 3.6.
    release: an open contact has no total percussion ("total"), or as in the paper no relative one ("printed", frictionless).
    friction: sliding obeys the law of the whole step ("step"), or is a force of the smooth motion ("smooth", PVA with newton).
    record: also keep U, W, nu and g_N_ddot in `solution.extra`.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.rotating_bouncing_ball(case=2)
    >>> solution = ss.solve(ball, t_end=1.5, dt=1e-2, method=ss.GeneralizedAlpha(rho_inf=0.8))
    >>> bool(abs(solution.u[-1, 2] - 100 / 7) < 1e-6)  # it rolls
    True
    """

    constraints: str = "PVA"
    rho_inf: float = 0.9
    activation: int | None = None
    solver: str = "newton"
    consistent: bool = True
    baumgarte: float = 20.0
    baumgarte_beta: float | None = None
    coefficients: str = "chung-hulbert"
    shifted_start: bool = False
    release: str = "total"
    friction: str = "step"
    record: bool = False

    name = "generalized-alpha"

    def __post_init__(self) -> None:
        for name in ("consistent", "shifted_start", "record"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError(f"{name} = {getattr(self, name)!r} of generalized-alpha must be True or False")
        if self.constraints not in LEVELS:
            raise OptionError(unknown_name("constraints of generalized-alpha", str(self.constraints), LEVELS))
        if not isinstance(self.rho_inf, int | float) or not 0 <= self.rho_inf <= 1:
            raise OptionError(f"rho_inf = {self.rho_inf!r} must lie between 0 (strongest damping) and 1 (none)")
        if self.activation not in (None, 1, 2, 3):
            raise OptionError(f"activation = {self.activation} must be 1, 2 or 3")
        if self.activation is not None and self.constraints != "PVA":
            raise OptionError(f"activation is a choice of constraints='PVA', not of {self.constraints!r}")
        if self.solver not in ("newton", "subproblems"):
            raise OptionError(unknown_name("solver of generalized-alpha", str(self.solver), ("newton", "subproblems")))
        if self.solver == "subproblems" and not self.nonsmooth:
            raise OptionError(f"solver='subproblems' exists for 'PVA' and 'PVV'; {self.constraints!r} is one problem")
        for name in ("baumgarte", "baumgarte_beta"):
            rate = getattr(self, name)
            if not (name == "baumgarte_beta" and rate is None) and not (
                isinstance(rate, int | float) and 0 <= rate < float("inf")
            ):
                raise OptionError(f"{name} = {rate!r} must be a finite rate >= 0, in 1/s")
        choices = {"coefficients": COEFFICIENTS, "release": ("total", "printed"), "friction": ("step", "smooth")}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise OptionError(unknown_name(f"{name} of generalized-alpha", str(getattr(self, name)), known))
        if self.coefficients == "hht" and self.rho_inf < 0.5:
            raise OptionError(f"rho_inf = {self.rho_inf!r}: the coefficients 'hht' exist from 1/2 to 1")
        if self.shifted_start and not self.consistent:
            raise OptionError("shifted_start=True needs consistent=True: it is a start with accelerations")
        if self.release == "printed" and not self.nonsmooth:
            raise OptionError(f"release='printed' is a choice of 'PVA' and 'PVV', not of {self.constraints!r}")
        if self.friction == "smooth" and not (
            self.sees_contacts and self.solver == "newton" and self.release == "total"
        ):
            raise OptionError(
                "friction='smooth' needs constraints='PVA' with activation 3, solver='newton' and release='total'"
            )

    @property
    def facts(self) -> Facts:
        """Levels, order and capabilities depend on the formulation."""
        damped = self.coefficients == "newmark" and self.rho_inf < 1
        order = 1 if self.activation == 1 or damped else 2
        return Facts(
            summary="smooth motion of order 2 plus impulses, with as much numerical damping as rho_inf asks for",
            source="Brüls, Acary, Cardona 2018, (65); Capobianco et al. 2021 for friction",
            order=order,
            contact_order=order if self.sees_contacts else 1,  # 1: by impulses alone
            sliding_order=order if self.friction == "smooth" else 1,
            levels=LEVELS["PVV" if self.activation == 1 else self.constraints],
            contact_level="position",
            unknowns=self._unknowns(),
            contacts=self.nonsmooth,
            friction=self.nonsmooth and self.release == "total",
        )

    def _unknowns(self) -> dict[str, str]:
        count = {
            which.name: " + n_P" if spaces == SPACES else "".join(f" + n_{space}" for space in spaces)
            for which, spaces in self.spaces.items()
        }
        begin = {"initial_accelerations": f"n_u{count['R']}"} if self.consistent else {}
        if self.shifted_start:
            begin["shifted_accelerations"] = begin["initial_accelerations"]
        if self.solver == "newton":
            vectors = 1 + bool(count["K"]) + bool(count["P"])
            whole = ["step_stage", "impact_stage"] if self.friction == "smooth" else ["step_stage"]
            return begin | dict.fromkeys(whole, f"{vectors}*n_u{count['R']}{count['K']}{count['P']}")
        stages = {"smooth_motion": "R", "position_correction": "K", "velocity_jump": "P"}
        return begin | {stage: f"n_u{count[name]}" for stage, name in stages.items()}

    @property
    def nonsmooth(self) -> bool:
        """Whether the velocity may jump."""
        return self.constraints in ("PVA", "PVV")

    @property
    def sees_contacts(self) -> bool:
        """Whether the smooth motion sees closed contacts: strategy 3 of section 3.2."""
        return self.constraints == "PVA" and self.activation in (None, 3)

    @property
    def spaces(self) -> dict[Multipliers, tuple[Space, ...]]:
        """Where the multipliers R of the smooth motion, K of the position and P of the velocity live."""
        bilateral: tuple[Space, ...] = () if self.activation == 1 else (G, GAMMA)
        corrected: tuple[Space, ...] = (G,) if self.constraints in ("PV", "PV-2") else ()
        return {
            SMOOTH: SPACES if self.sees_contacts else bilateral,
            CORRECTION: (G, N) if self.nonsmooth else corrected,
            PERCUSSIONS: SPACES if self.nonsmooth else (),
        }

    @property
    def carry(self) -> Carry:  # type: ignore[override]
        carry: Carry = {Q_0: Q_1, U_0: U_1, A_0: A_1, A_BAR_0: A_BAR_1, LA_0: LA_1, LA_BAR_0: LA_BAR_1}
        return {**carry, OUTSIDE_B_0: OUTSIDE_B} if self.friction == "smooth" else carry

    @property
    def extra(self) -> tuple[Field, ...]:  # type: ignore[override]
        """What is recorded besides the results."""
        always = (A_1, G_DDOT, *[which.of(x) for which in (LA_1, LAMBDA) for x in (G, N, F)])
        return (*always, U_SHIFT, W_JUMP, NU.g, NU.N, G_N_DDOT) if self.record else always

    # -- program -------------------------------------------------------------------------------------------------------

    def begin(self) -> tuple[Step, ...]:
        """Initial accelerations."""
        accelerations = self.initial_accelerations if self.consistent else no_accelerations
        shifted = (self.shifted_accelerations,) if self.shifted_start else ()
        corrections = (no_corrections,) if self.solver == "subproblems" or self.release == "printed" else ()
        return initial_contacts, accelerations, *shifted, *corrections

    def step(self) -> tuple[Step, ...]:
        """All at once, or Algorithm 1."""
        subproblems = (self.smooth_motion, self.position_correction, self.velocity_jump)
        if self.release == "printed":
            sets = (decide_sets, decide_smooth_set) if self.sees_contacts else (decide_sets,)
            return first_guess, Repeat((*sets, *((self.step_stage,) if self.solver == "newton" else subproblems)))
        if self.solver == "subproblems":
            return predict_position, Repeat(subproblems)
        if self.friction == "smooth":
            again = If(CHANGES, then=(no_slides, self.impact_stage))
            return choose_slides, self.step_stage, count_changes, again
        return (self.step_stage,)

    def initial_accelerations(self, part: PartType, s: Stage) -> None:
        """a_0 and la_0 (38); a_bar and la_bar start with them."""
        t_0, dt, q_0, u_0 = s.t_0, s.dt, s.q_0, s.u_0
        A = s.unknown(ACCELERATION)
        R = multipliers(part, s, SMOOTH, self.spaces, sought=True)
        s.equation(part.M(t_0, q_0) @ A - dt * part.h(t_0, q_0, u_0) - part.W(t_0, q_0) @ R, for_=A)  # (38a)
        self._on_acceleration_level(part, s, (t_0, q_0, u_0), A, R)  # (38b, 38c)
        for each in (A_1, A_0, A_BAR_0):
            s.update(each, A / dt)
        for forces in (LA_1, LA_0, LA_BAR_0):
            s.update(forces, (1 / dt) * R)
        s.update(G_DDOT, part.g_ddot(t_0, q_0, u_0, A / dt))

    def shifted_accelerations(self, part: PartType, s: Stage) -> None:
        """a_bar_0 and la_bar_0 at the time (alpha_m - alpha_f) dt to which they belong, option (i) of section 3.6."""
        shift, a_0 = (self._c.alpha_m - self._c.alpha_f) * s.dt, s.known(A_0)
        t, u = s.t_0 + shift, s.u_0 + shift * a_0
        q = s.q_0 + shift * part.qdot(s.t_0, s.q_0, s.u_0 + shift / 2 * a_0)
        A = s.unknown(ACCELERATION)
        R = multipliers(part, s, SMOOTH, self.spaces, sought=True)
        s.equation(part.M(t, q) @ A - s.dt * part.h(t, q, u) - part.W(t, q) @ R, for_=A)
        self._on_acceleration_level(part, s, (t, q, u), A, R)
        s.update(A_BAR_0, A / s.dt)
        s.update(LA_BAR_0, (1 / s.dt) * R)

    @property
    def _c(self) -> Coefficients:
        return COEFFICIENTS[self.coefficients](self.rho_inf)

    def impact_stage(self, part: PartType, s: Stage) -> None:
        """The same once more, where a contact changes its status."""
        self.step_stage(part, s)

    def step_stage(self, part: PartType, s: Stage) -> None:
        """All unknowns of a step. The order of the laws nests the active sets: A, then B in A, then C in B."""
        x = motion(part, s, self._c, self.spaces, (ACCELERATION, SHIFT, JUMP), record=self.record)
        if self.spaces[CORRECTION]:
            self._correct_position(part, s, x)
        if self.spaces[PERCUSSIONS]:
            self._correct_velocity(part, s, x)
        self._move_smoothly(part, s, x)

    def smooth_motion(self, part: PartType, s: Stage) -> None:
        """First subproblem: a_1 and la."""
        self._move_smoothly(part, s, motion(part, s, self._c, self.spaces, (ACCELERATION,), Q_1, self.record))

    def position_correction(self, part: PartType, s: Stage) -> None:
        """Second subproblem: U and K."""
        self._correct_position(part, s, motion(part, s, self._c, self.spaces, (SHIFT,), Q_1, self.record))

    def velocity_jump(self, part: PartType, s: Stage) -> None:
        """Third subproblem: w and P."""
        self._correct_velocity(part, s, motion(part, s, self._c, self.spaces, (JUMP,), Q_1, self.record))

    # -- equations -----------------------------------------------------------------------------------------------------

    def _correct_position(self, part: PartType, s: Stage, x: AlphaMotion) -> None:
        if self.constraints == "PV":
            U = x.U if s.is_node else ca.SX.zeros(part.n_u)  # once, while W K is a sum over parts
            s.equation(U - part.W(s.t_0, s.q_0) @ x.K, for_=x.U)  # (73a)
        else:
            s.equation(part.M(s.t_1, x.q_1) @ x.U - part.W(s.t_1, x.q_1) @ x.nu, for_=x.U)  # (65d, 74a)
        s.zero(part.g(s.t_1, x.q_1), by=x.K.g)  # (65e, 73c, 74c)
        if self.release == "printed":
            position_law(part, s, x)
        elif self.nonsmooth:
            gap = part.g_N(s.t_1, x.q_1) - part.reach(s.q_0)
            s.normal(gap, x.K.N, by=x.K.N, mark_open=OUTSIDE_A, closed_within=EARLY)  # (55)

    def _correct_velocity(self, part: PartType, s: Stage, x: AlphaMotion) -> None:
        before, after = (s.t_0, s.q_0, s.u_0), (s.t_1, x.q_1, x.u_1)
        s.equation(part.M(s.t_1, x.q_1) @ x.w - part.W(s.t_1, x.q_1) @ x.Lambda, for_=x.w)  # (65g)
        s.zero(part.g_dot(*after), by=x.P.g)  # (65h)
        s.zero(part.gamma(*after), by=x.P.gamma)
        if self.release == "printed":
            velocity_law(part, s, x)
            s.zero(x.P.F, by=x.P.F)  # has no rows: no friction
            return
        masks = {"open_where": OUTSIDE_A, "mark_open": OUTSIDE_B, "mark_also": FORCELESS}
        s.normal(s.xi_N(after, before), x.P.N, by=x.P.N, **masks)  # (56)
        radius, xi_F = part.radius(*after, x.P.N, s.dt), part.xi_F(after, before)
        if self.friction == "smooth":
            s.friction(xi_F, x.P.F, radius=radius, by=x.P.F, mark_slip=SLIPS, except_where=SLIDES)
            nothing = ca.SX.zeros(len(part.frictions))
            s.friction(part.gamma_F(*after), x.Lambda.F, radius=nothing, by=x.P.F, only_where=SLIDES)  # (65m*)
        else:
            s.friction(xi_F, x.P.F, radius=radius, by=x.P.F, mark_slip=SLIPS)

    def _move_smoothly(self, part: PartType, s: Stage, x: AlphaMotion) -> None:
        t_1, dt, q_1, R = s.t_1, s.dt, x.q_1, x.R
        after, smooth = (t_1, q_1, x.u_1), (t_1, q_1, x.u_smooth)
        s.equation(part.M(t_1, q_1) @ x.A - dt * part.h(*after) - part.W(t_1, q_1) @ R, for_=x.A)  # (65a)
        if self.constraints in ("PVA", "A"):
            self._on_acceleration_level(part, s, after, x.A, R)
        elif self.constraints == "Baumgarte":
            rate, a = self.baumgarte, x.A / dt
            beta = rate if self.baumgarte_beta is None else self.baumgarte_beta
            g, g_dot, g_ddot = part.g(t_1, q_1), part.g_dot(*after), part.g_ddot(*after, a)
            s.zero(dt * (g_ddot + 2 * rate * g_dot + beta**2 * g), by=R.g)  # (71c)
            s.zero(dt * (part.gamma_dot(*after, a) + rate * part.gamma(*after)), by=R.gamma)
        else:
            s.zero(part.g(t_1, q_1) if self.constraints == "P" else part.g_dot(*smooth), by=R.g)  # (71c, 73d, 74d)
            s.zero(part.gamma(*smooth), by=R.gamma)

    def _on_acceleration_level(
        self, part: PartType, s: Stage, state: tuple[ca.SX, ca.SX, ca.SX], A: ca.SX, R: Percussions
    ) -> None:
        """Constraints, contacts and friction, as far as the smooth motion sees them."""
        dt, a = s.dt, A / s.dt
        if self.activation != 1:
            s.zero(dt * part.g_ddot(*state, a), by=R.g)  # (65b)
            s.zero(dt * part.gamma_dot(*state, a), by=R.gamma)
        if self.sees_contacts and self.release == "printed":
            outside = s.known(OUTSIDE_S)
            s.zero(ca.if_else(outside > 0, R.N, dt * part.g_N_ddot(*state, a)), by=R.N)  # (65b, c)
            s.zero(R.F, by=R.F)  # has no rows: no friction
        elif self.sees_contacts:
            s.normal(dt * part.g_N_ddot(*state, a), R.N, by=R.N, open_where=OUTSIDE_B)  # (57)
            radius = part.radius(*state, R.N, dt)
            slip, slip_rate = part.gamma_F(*state), dt * part.gamma_F_dot(*state, a)
            slip = ca.if_else(at_rest(part, s), slip_rate, slip)  # a slip of zero leaves R.F free, and bodies creep
            s.friction(slip, R.F, radius=radius, by=R.F, only_where=SLIPS)
            s.friction(slip_rate, R.F, radius=radius, by=R.F, except_where=SLIPS)

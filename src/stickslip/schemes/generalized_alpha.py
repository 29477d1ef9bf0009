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
on the arbitrary r of the decision. With P and K it is one complementarity problem, and P_N >= 0 always.

Good for: flexible systems (rho_inf damps the frequencies that the mesh makes up), constraints without drift and, in
the form PVA, without oscillations after impacts. Not for: many contacts (three sets of unknowns), exact energy
balances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from stickslip.engine.derive import PartType, Percussions
from stickslip.engine.fields import (
    GAMMA,
    PERCUSSIONS,
    Q_0,
    Q_1,
    SPACES,
    U_0,
    U_1,
    Carry,
    F,
    G,
    Multipliers,
    N,
    Space,
)
from stickslip.engine.flow import Repeat, Step
from stickslip.engine.stage import Stage
from stickslip.errors import OptionError, unknown_name
from stickslip.schemes.alpha_motion import (
    A_0,
    A_1,
    A_BAR_0,
    A_BAR_1,
    ACCELERATION,
    CORRECTION,
    G_DDOT,
    JUMP,
    LA_0,
    LA_1,
    LA_BAR_0,
    LA_BAR_1,
    LAMBDA,
    OUTSIDE_A,
    OUTSIDE_B,
    SHIFT,
    SLIPS,
    SMOOTH,
    AlphaMotion,
    chung_hulbert,
    initial_contacts,
    motion,
    multipliers,
    no_accelerations,
    no_corrections,
    predict_position,
)
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
    baumgarte: the rate alpha = beta of Baumgarte's stabilisation, in 1/s.

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

    name = "generalized-alpha"
    carry: ClassVar[Carry] = {
        Q_0: Q_1,
        U_0: U_1,
        A_0: A_1,
        A_BAR_0: A_BAR_1,
        LA_0: LA_1,
        LA_BAR_0: LA_BAR_1,
    }
    extra = (A_1, G_DDOT, *[which.of(x) for which in (LA_1, LAMBDA) for x in (G, N, F)])

    def __post_init__(self) -> None:
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
        if not isinstance(self.baumgarte, int | float) or not 0 <= self.baumgarte < float("inf"):
            raise OptionError(f"baumgarte = {self.baumgarte!r} must be a finite rate >= 0, in 1/s")

    @property
    def facts(self) -> Facts:
        """Levels, order and capabilities depend on the formulation."""
        return Facts(
            summary="smooth motion of order 2 plus impulses, with as much numerical damping as rho_inf asks for",
            source="Brüls, Acary, Cardona 2018, (65); Capobianco et al. 2021 for friction",
            order=1 if self.activation == 1 else 2,
            contact_order=2 if self.sees_contacts else 1,  # 1: by impulses alone
            levels=LEVELS["PVV" if self.activation == 1 else self.constraints],
            contact_level="position",
            unknowns=self._unknowns(),
            contacts=self.nonsmooth,
            friction=self.nonsmooth,
        )

    def _unknowns(self) -> dict[str, str]:
        count = {
            which.name: " + n_P" if spaces == SPACES else "".join(f" + n_{space}" for space in spaces)
            for which, spaces in self.spaces.items()
        }
        begin = {"initial_accelerations": f"n_u{count['R']}"} if self.consistent else {}
        if self.solver == "newton":
            vectors = 1 + bool(count["K"]) + bool(count["P"])
            return begin | {"step_stage": f"{vectors}*n_u{count['R']}{count['K']}{count['P']}"}
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

    # -- program -------------------------------------------------------------------------------------------------------

    def begin(self) -> tuple[Step, ...]:
        """Initial accelerations."""
        accelerations = self.initial_accelerations if self.consistent else no_accelerations
        corrections = (no_corrections,) if self.solver == "subproblems" else ()
        return initial_contacts, accelerations, *corrections

    def step(self) -> tuple[Step, ...]:
        """All at once, or Algorithm 1."""
        if self.solver == "newton":
            return (self.step_stage,)
        return predict_position, Repeat((self.smooth_motion, self.position_correction, self.velocity_jump))

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

    def step_stage(self, part: PartType, s: Stage) -> None:
        """All unknowns of a step. The order of the laws nests the active sets: A, then B in A, then C in B."""
        x = motion(part, s, chung_hulbert(self.rho_inf), self.spaces, (ACCELERATION, SHIFT, JUMP))
        if self.spaces[CORRECTION]:
            self._correct_position(part, s, x)
        if self.spaces[PERCUSSIONS]:
            self._correct_velocity(part, s, x)
        self._move_smoothly(part, s, x)

    def smooth_motion(self, part: PartType, s: Stage) -> None:
        """First subproblem: a_1 and la."""
        self._move_smoothly(part, s, motion(part, s, chung_hulbert(self.rho_inf), self.spaces, (ACCELERATION,), Q_1))

    def position_correction(self, part: PartType, s: Stage) -> None:
        """Second subproblem: U and K."""
        self._correct_position(part, s, motion(part, s, chung_hulbert(self.rho_inf), self.spaces, (SHIFT,), Q_1))

    def velocity_jump(self, part: PartType, s: Stage) -> None:
        """Third subproblem: w and P."""
        self._correct_velocity(part, s, motion(part, s, chung_hulbert(self.rho_inf), self.spaces, (JUMP,), Q_1))

    # -- equations -----------------------------------------------------------------------------------------------------

    def _correct_position(self, part: PartType, s: Stage, x: AlphaMotion) -> None:
        if self.constraints == "PV":
            U = x.U if s.is_node else ca.SX.zeros(part.n_u)  # once, while W K is a sum over parts
            s.equation(U - part.W(s.t_0, s.q_0) @ x.K, for_=x.U)  # (73a)
        else:
            s.equation(part.M(s.t_1, x.q_1) @ x.U - part.W(s.t_1, x.q_1) @ x.nu, for_=x.U)  # (65d, 74a)
        s.zero(part.g(s.t_1, x.q_1), by=x.K.g)  # (65e, 73c, 74c)
        if self.nonsmooth:
            s.normal(part.g_N(s.t_1, x.q_1) - part.reach(s.q_0), x.K.N, by=x.K.N, mark_open=OUTSIDE_A)  # (55)

    def _correct_velocity(self, part: PartType, s: Stage, x: AlphaMotion) -> None:
        before, after = (s.t_0, s.q_0, s.u_0), (s.t_1, x.q_1, x.u_1)
        s.equation(part.M(s.t_1, x.q_1) @ x.w - part.W(s.t_1, x.q_1) @ x.Lambda, for_=x.w)  # (65g)
        s.zero(part.g_dot(*after), by=x.P.g)  # (65h)
        s.zero(part.gamma(*after), by=x.P.gamma)
        s.normal(part.xi_N(after, before), x.P.N, by=x.P.N, open_where=OUTSIDE_A, mark_open=OUTSIDE_B)  # (56)
        radius = part.radius(*after, x.P.N, s.dt)
        s.friction(part.xi_F(after, before), x.P.F, radius=radius, by=x.P.F, mark_slip=SLIPS)

    def _move_smoothly(self, part: PartType, s: Stage, x: AlphaMotion) -> None:
        t_1, dt, q_1, R = s.t_1, s.dt, x.q_1, x.R
        after, smooth = (t_1, q_1, x.u_1), (t_1, q_1, x.u_smooth)
        s.equation(part.M(t_1, q_1) @ x.A - dt * part.h(*after) - part.W(t_1, q_1) @ R, for_=x.A)  # (65a)
        if self.constraints in ("PVA", "A"):
            self._on_acceleration_level(part, s, after, x.A, R)
        elif self.constraints == "Baumgarte":
            rate, a = self.baumgarte, x.A / dt
            g, g_dot, g_ddot = part.g(t_1, q_1), part.g_dot(*after), part.g_ddot(*after, a)
            s.zero(dt * (g_ddot + 2 * rate * g_dot + rate**2 * g), by=R.g)  # (71c)
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
        if self.sees_contacts:
            s.normal(dt * part.g_N_ddot(*state, a), R.N, by=R.N, open_where=OUTSIDE_B)  # (57)
            radius = part.radius(*state, R.N, dt)
            s.friction(part.gamma_F(*state), R.F, radius=radius, by=R.F, only_where=SLIPS)
            s.friction(dt * part.gamma_F_dot(*state, a), R.F, radius=radius, by=R.F, except_where=SLIPS)

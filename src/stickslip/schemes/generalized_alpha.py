"""The generalized-alpha method, smooth and nonsmooth, with constraints on one, two or three levels.

O. Brüls, V. Acary, A. Cardona: On the constraints formulation in the nonsmooth generalized-alpha method (2018); numbers at the
lines are its equations. Friction and qdot = B u + beta after G. Capobianco, J. Harsch, S. R. Eugster, R. I. Leine: A nonsmooth
generalized-alpha method for mechanical systems with frictional contact (2021).

The motion is split into a smooth part, of second order, and corrections of position U and velocity w that carry impacts:

    (1 - alpha_m) a_bar_1 + alpha_m a_bar_0 = (1 - alpha_f) a_1 + alpha_f a_0                        (65l)
    u_M = u_0 + dt (1/2 - beta) a_bar_0 + dt beta a_bar_1 + U/dt                                     (65j)
    q_1 = q_0 + dt/2 (qdot(t_0, q_0, u_M) + qdot(t_1, q_1, u_M))                                     (65j)
    u_1 = u_0 + dt (1 - gamma) a_bar_0 + dt gamma a_bar_1 + w                                        (65k)
    M_1 a_1 = h(t_1, q_1, u_1) + W_1 la        g_ddot = 0, g_N_ddot in N_R-(-la_N) on B              (65a-c)
    M_1 U = W_1 nu                             g = 0,      g_N in N_R-(-K_N)                         (65d-f)
    M_1 w = W_1 Lambda                         g_dot = 0,  xi_N in N_R-(-P_N) on A                   (65g-i)

A and B are the contacts that are closed on position level and, of these, on velocity level (55-57). P and K are the total
impulse and double integral (Lambda* and nu* of the paper): those of la, integrated like a, plus Lambda and nu (65m-o).
Friction: xi_F in N_C(-P_F), C of radius mu P_N; la_F opposes the slip velocity, or obeys gamma_F_dot in N_C(-la_F) in stick.

Where this departs from the paper. (1) An open contact has P = 0 and K = 0, not Lambda = 0 and nu = 0 (65f, 65i): pairs of the
same complementarity that decides, so that the result does not depend on r, and no contact pushes after it has opened by what
(65l) remembers of its force. (2) u_M is the mean velocity of the step. For qdot = u this is (65j); for a quaternion it is a
Cayley map, which keeps the norm exactly without a further constraint. (3) Unknowns are dt a_1, U/dt, w, dt la, K/dt and P, all
velocities or percussions, so that the tolerance means the same for all of them.

Good for: vibrating and flexible systems (rho_inf damps what the mesh makes up), constraints free of drift and of oscillations
(PVA). Not for: many contacts (three sets of unknowns), long energy balances with rho_inf < 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from stickslip.engine.derive import PartType, Percussions
from stickslip.engine.program import Repeat, Step
from stickslip.engine.stage import SPACES, Stage
from stickslip.errors import OptionError, unknown_name
from stickslip.schemes.scheme import Facts, Scheme

SUMMARY = "smooth part of second order plus impulses; rho_inf sets the numerical damping; order 2 in persistent contact"
SOURCE = "Brüls, Acary, Cardona 2018, (65); Capobianco et al. 2021 for friction"
LEVELS = {  # of bilateral constraints, for each value of `constraints`
    "PVA": ("position", "velocity", "acceleration"),
    "PVV": ("position", "velocity"),
    "PV": ("position", "velocity"),
    "PV-2": ("position", "velocity"),
    "P": ("position",),
    "V": ("velocity",),
    "A": ("acceleration",),
    "Baumgarte": (),
}
CLOSED = 1e-8  # gaps, gap velocities and slips below this are zero for the initial accelerations


@dataclass(frozen=True)
class Motion:
    """The step in terms of its unknowns: A = dt a_1, U/dt, w; R = dt la, K (over dt), P."""

    A: ca.SX
    U: ca.SX
    w: ca.SX
    R: Percussions
    K: Percussions
    P: Percussions
    A_bar: ca.SX  # dt a_bar_1
    R_bar: Percussions
    K_smooth: Percussions  # share of la in K
    P_smooth: Percussions  # share of la in P
    u_smooth: ca.SX  # velocity of the smooth motion
    u_1: ca.SX
    q_1: ca.SX


@dataclass(frozen=True)
class GeneralizedAlpha(Scheme):
    """The generalized-alpha method.

    constraints: "PVA" (default) and "PVV" treat contacts, friction and impacts; in PVA the smooth motion meets constraints and
    closed contacts on acceleration level, in PVV bilateral constraints on velocity level. For systems without contacts also
    "P" (index 3), "V" (index 2), "PV" (Gear, Gupta, Leimkuhler (73)), "PV-2" (its mass-weighted form (74)), "A" (index 1),
    "Baumgarte" (index 1, stabilised (71c)).
    rho_inf: spectral radius at infinite frequency, from 0 (strongest numerical damping) to 1 (none).
    activation: which constraints the smooth motion of PVA sees: 1 none, 2 bilateral ones, 3 (default) closed contacts too.
    solver: of PVA and PVV, "newton" for all unknowns at once or "subproblems" for three smaller problems in turn.
    consistent: start with the accelerations that the equations of motion give (default), or with zero (a disturbed start).
    baumgarte: the rate alpha = beta of (71c), in 1/s.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.rotating_bouncing_ball(case=2)
    >>> solution = ss.solve(ball, t_end=1.5, dt=1e-2, method=ss.GeneralizedAlpha(rho_inf=0.8))
    >>> abs(solution.u[-1, 2] - 100 / 7) < 1e-8  # rolling
    True
    """

    constraints: str = "PVA"
    rho_inf: float = 0.9
    activation: int | None = None
    solver: str = "newton"
    consistent: bool = True
    baumgarte: float = 20.0

    name = "generalized-alpha"
    facts = Facts(SUMMARY, SOURCE, order=2, levels=LEVELS["PVA"], contact_level="position")
    carry: ClassVar[Mapping[str, str]] = {"q_0": "q_1", "u_0": "u_1", "a_0": "a", "a_bar_0": "a_bar"} | {
        f"{name}_0.{space}": f"{name}.{space}" for name in ("la", "la_bar") for space in SPACES
    }
    extra: ClassVar[Mapping[str, str]] = {"a": "u", "g_ddot": "g"} | {
        f"{name}.{space}": space for name in ("la", "Lambda") for space in ("g", "N", "F")
    }

    def __post_init__(self) -> None:
        if self.constraints not in LEVELS:
            raise OptionError(unknown_name("constraints of generalized-alpha", str(self.constraints), LEVELS))
        if not 0 <= self.rho_inf <= 1:
            raise OptionError(f"rho_inf = {self.rho_inf} must lie between 0 (strongest damping) and 1 (none)")
        if self.activation not in (None, 1, 2, 3):
            raise OptionError(f"activation = {self.activation} must be 1, 2 or 3")
        if self.activation is not None and self.constraints != "PVA":
            raise OptionError(f"activation is a choice of constraints='PVA', not of {self.constraints!r}")
        if self.solver not in ("newton", "subproblems"):
            raise OptionError(unknown_name("solver of generalized-alpha", str(self.solver), ("newton", "subproblems")))
        if self.solver == "subproblems" and not self.nonsmooth:
            raise OptionError(f"solver='subproblems' exists for 'PVA' and 'PVV'; {self.constraints!r} is one problem")
        if not self.baumgarte >= 0:
            raise OptionError(f"baumgarte = {self.baumgarte} must be >= 0, a rate in 1/s")
        levels = LEVELS["PVA" if self.bilateral_in_smooth else "PVV"] if self.constraints == "PVA" else LEVELS[self.constraints]
        order = 2 if self.contacts_in_smooth or not self.nonsmooth else 1
        able = {"contacts": self.nonsmooth, "friction": self.nonsmooth}
        object.__setattr__(self, "facts", Facts(SUMMARY, SOURCE, order, levels, "position", **able))

    @property
    def nonsmooth(self) -> bool:
        """Whether there are corrections of position and velocity, and with them contacts and impacts."""
        return self.constraints in ("PVA", "PVV")

    @property
    def corrects_position(self) -> bool:
        """Whether there is a correction of position U."""
        return self.nonsmooth or self.constraints in ("PV", "PV-2")

    @property
    def bilateral_in_smooth(self) -> bool:
        """Whether the smooth motion sees bilateral constraints: strategies 2 and 3 of section 3.2."""
        return self.activation != 1

    @property
    def contacts_in_smooth(self) -> bool:
        """Whether it sees closed contacts: strategy 3."""
        return self.constraints == "PVA" and self.activation in (None, 3)

    @property
    def coefficients(self) -> tuple[float, float, float, float]:
        """alpha_m, alpha_f, gamma, beta of Chung and Hulbert (61)."""
        alpha_m = (2 * self.rho_inf - 1) / (self.rho_inf + 1)
        alpha_f = self.rho_inf / (self.rho_inf + 1)
        gamma = 0.5 + alpha_f - alpha_m
        return alpha_m, alpha_f, gamma, 0.25 * (gamma + 0.5) ** 2

    # -- program ---------------------------------------------------------------------------------------------------

    def begin(self) -> tuple[Step, ...]:
        return (initial_contacts, self.initial_accelerations) if self.consistent else ()

    def step(self) -> tuple[Step, ...]:
        if self.solver == "newton":
            return (self.step_stage,)
        return predict_position, Repeat((self.smooth_motion, self.position_correction, self.velocity_jump))  # Algorithm 1

    def step_stage(self, part: PartType, s: Stage) -> None:
        """All unknowns of a step (65). The order of the laws nests the active sets: A, then B in A, then C in B."""
        x = self._motion(part, s, ("A", "U", "w"), guess="q_0")
        self._correct_position(part, s, x)
        self._correct_velocity(part, s, x)
        self._move_smoothly(part, s, x)

    def smooth_motion(self, part: PartType, s: Stage) -> None:
        """First subproblem: a_1 and la (65a-c)."""
        self._move_smoothly(part, s, self._motion(part, s, ("A",), guess="q_1"))

    def position_correction(self, part: PartType, s: Stage) -> None:
        """Second subproblem: U and nu (65d-f)."""
        self._correct_position(part, s, self._motion(part, s, ("U",), guess="q_1"))

    def velocity_jump(self, part: PartType, s: Stage) -> None:
        """Third subproblem: w and Lambda (65g-i)."""
        self._correct_velocity(part, s, self._motion(part, s, ("w",), guess="q_1"))

    def initial_accelerations(self, part: PartType, s: Stage) -> None:
        """a_0 and la_0 from (38); a_bar and la_bar start with them."""
        t_0, dt, q_0, u_0 = s.t_0, s.dt, s.q_0, s.u_0
        A, R = s.unknown("A", "u"), _multipliers(part, s, "R", self._spaces_of_R, sought=True)
        s.equation(part.M(t_0, q_0) @ A - dt * part.h(t_0, q_0, u_0) - part.W(t_0, q_0) @ R, for_=A)  # (38a)
        self._acceleration_laws(part, s, t_0, q_0, u_0, A, R)  # (38b, 38c)
        for name in ("a", "a_0", "a_bar_0"):
            s.update(name, "u", A / dt)
        for name in ("la", "la_0", "la_bar_0"):
            s.update_percussions(name, (1 / dt) * R)
        s.update("g_ddot", "g", part.g_ddot(t_0, q_0, u_0, A / dt))

    # -- equations -------------------------------------------------------------------------------------------------

    @property
    def _spaces_of_R(self) -> tuple[str, ...]:
        return SPACES if self.contacts_in_smooth else ("g", "gamma") if self.bilateral_in_smooth else ()

    def _motion(self, part: PartType, s: Stage, sought: tuple[str, ...], guess: str) -> Motion:
        """The step in terms of its unknowns; those in `sought`, with their multipliers, are unknowns of this stage."""
        alpha_m, alpha_f, gamma, beta = self.coefficients
        t_0, t_1, dt, q_0, u_0 = s.t_0, s.t_1, s.dt, s.q_0, s.u_0
        a_0, a_bar_0 = s.known("a_0", "u"), s.known("a_bar_0", "u")
        la_0, la_bar_0 = s.known_percussions("la_0"), s.known_percussions("la_bar_0")

        def vector(name: str, exists: bool) -> ca.SX:
            if not exists:
                return ca.SX.zeros(part.n_u)
            return s.unknown(name, "u") if name in sought else s.known(name, "u")

        A = vector("A", True)
        R = _multipliers(part, s, "R", self._spaces_of_R, sought="A" in sought)
        A_bar = ((1 - alpha_f) * A + dt * (alpha_f * a_0 - alpha_m * a_bar_0)) / (1 - alpha_m)  # (65l)
        R_bar = (1 / (1 - alpha_m)) * ((1 - alpha_f) * R + dt * (alpha_f * la_0 - alpha_m * la_bar_0))  # (65o)
        P_smooth = dt * (1 - gamma) * la_bar_0 + gamma * R_bar  # (65m)
        K_smooth = dt * (0.5 - beta) * la_bar_0 + beta * R_bar  # (65n)
        u_smooth = u_0 + dt * (1 - gamma) * a_bar_0 + gamma * A_bar

        U = vector("U", self.corrects_position)
        spaces = ("g", "N") if self.nonsmooth else ("g",) if self.corrects_position else ()
        K = _multipliers(part, s, "K", spaces, sought="U" in sought)
        w = vector("w", self.nonsmooth)
        P = _multipliers(part, s, "P", SPACES, sought="w" in sought) if self.nonsmooth else P_smooth

        u_M = u_0 + dt * (0.5 - beta) * a_bar_0 + beta * A_bar + U  # (65j)
        u_1 = u_smooth + w  # (65k)
        q_1 = s.position(
            "q_1", lambda q_1: q_1 - q_0 - dt / 2 * (part.qdot(t_0, q_0, u_M) + part.qdot(t_1, q_1, u_M)), guess
        )
        s.update("u_1", "u", u_1)
        s.update("a", "u", A / dt)
        s.update("a_bar", "u", A_bar / dt)
        s.update("g_ddot", "g", part.g_ddot(t_1, q_1, u_1, A / dt))
        s.update_percussions("la", (1 / dt) * R)
        s.update_percussions("la_bar", (1 / dt) * R_bar)
        s.update_percussions("Lambda", P - P_smooth)
        if not self.nonsmooth:
            s.update_percussions("P", P)
        return Motion(A, U, w, R, K, P, A_bar, R_bar, K_smooth, P_smooth, u_smooth, u_1, q_1)

    def _correct_position(self, part: PartType, s: Stage, x: Motion) -> None:
        if not self.corrects_position:
            return
        if self.constraints == "PV":
            U = x.U if s.is_node else ca.SX.zeros(part.n_u)  # once, while W K is a sum over parts
            s.equation(U - part.W(s.t_0, s.q_0) @ x.K, for_=x.U)  # (73a)
        else:
            nu = Percussions(x.K.g - x.K_smooth.g, x.K.gamma, x.K.N - x.K_smooth.N, x.K.F)  # gamma, F: none
            s.equation(part.M(s.t_1, x.q_1) @ x.U - part.W(s.t_1, x.q_1) @ nu, for_=x.U)  # (65d, 74a)
        s.zero(part.g(s.t_1, x.q_1), by=x.K.g)  # (65e)
        if self.nonsmooth:
            s.normal(part.g_N(s.t_1, x.q_1), x.K.N, by=x.K.N, status="outside_A")  # (55)

    def _correct_velocity(self, part: PartType, s: Stage, x: Motion) -> None:
        if not self.nonsmooth:
            return
        before, after = (s.t_0, s.q_0, s.u_0), (s.t_1, x.q_1, x.u_1)
        s.equation(part.M(s.t_1, x.q_1) @ x.w - part.W(s.t_1, x.q_1) @ (x.P - x.P_smooth), for_=x.w)  # (65g)
        s.zero(part.g_dot(*after), by=x.P.g)  # (65h)
        s.zero(part.gamma(*after), by=x.P.gamma)
        s.normal(part.xi_N(after, before), x.P.N, by=x.P.N, where="outside_A", status="outside_B")  # (56)
        s.friction(part.xi_F(after, before), x.P.F, radius=part.radius(s.t_1, x.q_1, x.P.N, s.dt), by=x.P.F, status="slips")

    def _move_smoothly(self, part: PartType, s: Stage, x: Motion) -> None:
        t_1, dt, q_1, u_1, A, R = s.t_1, s.dt, x.q_1, x.u_1, x.A, x.R
        s.equation(part.M(t_1, q_1) @ A - dt * part.h(t_1, q_1, u_1) - part.W(t_1, q_1) @ R, for_=A)  # (65a)
        if self.constraints in ("PVA", "A"):
            self._acceleration_laws(part, s, t_1, q_1, u_1, A, R)  # (65b)
        elif self.constraints == "Baumgarte":
            rate, g, g_dot = self.baumgarte, part.g(t_1, q_1), part.g_dot(t_1, q_1, u_1)
            s.zero(dt * (part.g_ddot(t_1, q_1, u_1, A / dt) + 2 * rate * g_dot + rate**2 * g), by=R.g)  # (71c)
            s.zero(dt * (part.gamma_dot(t_1, q_1, u_1, A / dt) + rate * part.gamma(t_1, q_1, u_1)), by=R.gamma)
        else:
            u = x.u_smooth
            s.zero(part.g(t_1, q_1) if self.constraints == "P" else part.g_dot(t_1, q_1, u), by=R.g)  # (71c, 73d, 74d)
            s.zero(part.gamma(t_1, q_1, u), by=R.gamma)

    def _acceleration_laws(self, part: PartType, s: Stage, t, q, u, A: ca.SX, R: Percussions) -> None:
        """Constraints, contacts and friction on acceleration level, each as far as the smooth motion sees it."""
        a, dt = A / s.dt, s.dt
        if self.bilateral_in_smooth:
            s.zero(dt * part.g_ddot(t, q, u, a), by=R.g)
            s.zero(dt * part.gamma_dot(t, q, u, a), by=R.gamma)
        if self.contacts_in_smooth:
            radius = part.radius(t, q, R.N, dt)
            s.normal(dt * part.g_N_ddot(t, q, u, a), R.N, by=R.N, where="outside_B")  # (57)
            s.friction(part.gamma_F(t, q, u), R.F, radius=radius, by=R.F, when="slips")
            s.friction(dt * part.gamma_F_dot(t, q, u, a), R.F, radius=radius, by=R.F, unless="slips")


def initial_contacts(part: PartType, s: Stage) -> None:
    """Which contacts are closed on velocity level, and slip, at the start."""
    t_0, q_0, u_0 = s.t_0, s.q_0, s.u_0
    s.update("outside_B", "N", ca.fmax(part.g_N(t_0, q_0), part.g_N_dot(t_0, q_0, u_0)) - CLOSED)
    gamma_F = part.gamma_F(t_0, q_0, u_0)
    slips = [ca.repmat(ca.norm_2(gamma_F[f.first : f.first + f.size]) - CLOSED, f.size, 1) for f in part.frictions]
    s.update("slips", "F", ca.vertcat(ca.SX(0, 1), *slips))


def predict_position(part: PartType, s: Stage) -> None:
    """Where q_1 is an unknown, the subproblems start from q_0, and each of them from the last."""
    s.update("q_1", "q", s.q_0)


def _multipliers(part: PartType, s: Stage, name: str, spaces: tuple[str, ...], *, sought: bool) -> Percussions:
    """Multipliers in some spaces, zero in the others."""

    def field(space: str) -> ca.SX:
        if space not in spaces:
            return ca.SX.zeros(part.n[space])
        return s.unknown(f"{name}.{space}", space) if sought else s.known(f"{name}.{space}", space)

    return Percussions(*[field(space) for space in SPACES])

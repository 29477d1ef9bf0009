"""The functions of mechanics of one kind of part, as schemes call them.

`PartType` is one kind of part in its own local coordinates: the functions M, h, W, g, g_N, gamma_F, ... that a scheme's
text uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from stickslip.engine.derivations import Derivations
from stickslip.engine.expressions import Expressions, T, stack
from stickslip.errors import MethodError

ROUNDING = 16 * np.finfo(float).eps  # of coordinates, relative to their size


@dataclass(frozen=True)
class Percussions:
    """Percussions, or forces, of a part's constraints: g, gamma (bilateral), N (normal), F (friction)."""

    g: ca.SX
    gamma: ca.SX
    N: ca.SX
    F: ca.SX

    def __add__(self, other: Percussions) -> Percussions:
        return Percussions(self.g + other.g, self.gamma + other.gamma, self.N + other.N, self.F + other.F)

    def __sub__(self, other: Percussions) -> Percussions:
        return self + -1.0 * other

    def __rmul__(self, factor: float | ca.SX) -> Percussions:
        return Percussions(factor * self.g, factor * self.gamma, factor * self.N, factor * self.F)


@dataclass(frozen=True)
class ForceDirections:
    """W = (W_g, W_gamma, W_N, W_F); W @ P is the generalized force of percussions."""

    g: ca.SX
    gamma: ca.SX
    N: ca.SX
    F: ca.SX

    def __matmul__(self, P: Percussions) -> ca.SX:
        return self.g @ P.g + self.gamma @ P.gamma + self.N @ P.N + self.F @ P.F


class PartType(Derivations):
    """The functions of mechanics of one kind of part, for symbolic arguments. Names and signs as in the papers.

    M(t, q), h(t, q, u), qdot(t, q, u), W(t, q); g, g_dot, g_ddot; gamma, gamma_dot; g_N, g_N_dot, g_N_ddot; gamma_F,
    gamma_F_dot; the Lagrangian view p = M u + a and b = h + M_dot u + a_dot; radius of the friction reservoirs.
    """

    def __init__(self, e: Expressions):
        super().__init__(e)
        self.key, self.operations = e.key, e.operations
        self.n = {"q": self.n_q, "u": self.n_u, "one": 1}
        self.n |= {"g": e.g.numel(), "gamma": e.gamma.numel(), "N": e.g_N.numel(), "F": e.gamma_F.numel()}
        self.frictions = e.frictions
        self._plain: dict[str, list[int] | None] = {}
        self._inputs: dict[str, tuple[bool, bool, list[int]]] = {}

    # -- kinematics and kinetics -----------------------------------------------------------------------------------

    def qdot(self, t, q, u) -> ca.SX:
        """qdot = B(t, q) u + beta(t, q)."""
        return self._call("qdot", t, q, u)

    def M(self, t, q) -> ca.SX:
        """Mass matrix."""
        return self._call("M", t, q)

    def h(self, t, q, u) -> ca.SX:
        """All forces that are no constraint forces, gyroscopic ones included: M udot = h + W lambda."""
        return self._call("h", t, q, u)

    def gyroscopic(self, t, q, u) -> ca.SX:
        """Skew matrix G; G u are the declared forces that are quadratic in u and do no work, as those of spinning bodies.

        With the mean of two velocities, G(u_0) (u_0 + u_1)/2, they do no work in a step either.
        """
        return self._call("gyroscopic", t, q, u)

    def p(self, t, q, u) -> ca.SX:
        """Generalized momentum p = dT/du = M u + a."""
        return self._call("p", t, q, u)

    def b(self, t, q, u) -> ca.SX:
        """Right-hand side of the momentum form, pdot = b + W lambda."""
        return self._call("b", t, q, u)

    def W(self, t, q) -> ForceDirections:
        """Generalized force directions, W_g^T = (dg/dq) B and so on."""
        return ForceDirections(*[self._call(name, t, q) for name in ("W_g", "W_gamma", "W_N", "W_F")])

    # -- constraints -----------------------------------------------------------------------------------------------

    def g(self, t, q) -> ca.SX:
        """Bilateral constraints on position level."""
        return self._call("g", t, q)

    def g_dot(self, t, q, u) -> ca.SX:
        """Their velocities."""
        return self._call("g_dot", t, q, u)

    def g_ddot(self, t, q, u, a) -> ca.SX:
        """Their accelerations, with udot = a."""
        return self._call("g_ddot", t, q, u, a)

    def gamma(self, t, q, u) -> ca.SX:
        """Bilateral constraints on velocity level."""
        return self._call("gamma", t, q, u)

    def gamma_dot(self, t, q, u, a) -> ca.SX:
        """Their time derivatives."""
        return self._call("gamma_dot", t, q, u, a)

    def g_N(self, t, q) -> ca.SX:
        """Gaps of the normal contacts."""
        return self._call("g_N", t, q)

    def reach(self, q) -> ca.SX:
        """Gaps up to this size touch: rounding errors of coordinates of the size of q.

        Laws take g_N - reach, so that contacts which close together in exact arithmetic do so in floating point.
        """
        size = ca.SX(1)
        for k in range(self.n_q):
            size = ca.fmax(size, ca.fabs(q[k]))
        return ROUNDING * size * ca.SX.ones(self.n["N"])

    def g_N_dot(self, t, q, u) -> ca.SX:
        """Gap velocities."""
        return self._call("g_N_dot", t, q, u)

    def g_N_ddot(self, t, q, u, a) -> ca.SX:
        """Gap accelerations."""
        return self._call("g_N_ddot", t, q, u, a)

    def gamma_F(self, t, q, u) -> ca.SX:
        """Slip velocities."""
        return self._call("gamma_F", t, q, u)

    def gamma_F_dot(self, t, q, u, a) -> ca.SX:
        """Slip accelerations."""
        return self._call("gamma_F_dot", t, q, u, a)

    def xi_N(self, after: tuple, before: tuple) -> ca.SX:
        """Newton's impact law, g_N_dot(after) + e_N g_N_dot(before); the arguments are (t, q, u).

        An e_N that depends on velocities takes them from before the impact. A stage writes it by `Stage.xi_N`.
        """
        return self.g_N_dot(*after) + self.e_N(after[0], after[1], before[2]) * self.g_N_dot(*before)

    def xi_F(self, after: tuple, before: tuple) -> ca.SX:
        """Tangential impact law, gamma_F(after) + e_F gamma_F(before), with the e_F of the velocities before."""
        e_F = self.e_F(after[0], after[1], before[2])
        rows = [e_F[k] for k, f in enumerate(self.frictions) for _ in range(f.size)]
        return self.gamma_F(*after) + stack(rows) * self.gamma_F(*before)

    def g_N_mean(self, after: tuple, before: tuple) -> ca.SX:
        """Gaps at (after + e_N before)/(1 + e_N), each contact with its own e_N; the arguments are (t, q)."""
        if ca.depends_on(self.expressions.e_N, self.expressions.u):
            raise MethodError(
                "an impact law on position level takes a restitution that does not depend on velocities: this method "
                "cannot tell the speed of an impact; rattle, moreau and theta can"
            )
        e_N = self._call("e_N", *after)
        rows = []
        for i in range(e_N.numel()):
            t, q = ((x + e_N[i] * y) / (1 + e_N[i]) for x, y in zip(after, before, strict=True))
            rows.append(self.g_N(t, q)[i])
        return stack(rows)

    def mu(self, t, q, u) -> ca.SX:
        """Friction coefficients, one per friction element."""
        return self._call("mu", t, q, u)

    def fixed_radius(self, t, q, u) -> ca.SX:
        """Friction forces that need no normal force, one per friction element."""
        return self._call("radius", t, q, u)

    def e_N(self, t, q, u) -> ca.SX:
        """Restitution of the normal contacts, for the velocities before the impact."""
        return self._call("e_N", t, q, u)

    def e_F(self, t, q, u) -> ca.SX:
        """Tangential restitution of the friction elements, for the velocities before the impact."""
        return self._call("e_F", t, q, u)

    def radius(self, t, q, u, P_N, duration) -> ca.SX:
        """Radius of each friction reservoir: mu P_N, plus fixed radius (a force) times the duration of the percussion.

        u: the velocities whose slip the law is about, for coefficients that depend on it. P_N is summed over the normal
        contacts of the element.
        """
        mu, fixed = self.mu(t, q, u), self.fixed_radius(t, q, u)
        rows = [
            fixed[k] * duration + sum((mu[k] * P_N[i] for i in f.normals), ca.SX(0))
            for k, f in enumerate(self.frictions)
        ]
        return stack(rows)

    # -- energies --------------------------------------------------------------------------------------------------

    def kinetic(self, t, q, u) -> ca.SX:
        """Kinetic energy."""
        return self._call("kinetic", t, q, u)

    def potential(self, t, q) -> ca.SX:
        """Potential energy."""
        return self._call("potential", t, q)

    def power_applied(self, t, q, u) -> ca.SX:
        """Power of the declared forces as far as they do not depend on velocities, u . f(t, q, 0)."""
        return self._call("power_applied", t, q, u)

    def power_damping(self, t, q, u) -> ca.SX:
        """Power of the rest of the declared forces, u . (f(t, q, u) - f(t, q, 0)); gyroscopic forces have none."""
        return self._call("power_damping", t, q, u)

    def power_moving(self, t, q, u) -> ca.SX:
        """Power that enters because energies or kinematics depend on time explicitly, with `transport`."""
        return self._call("power_moving", t, q, u)

    def transport(self, t, q, u) -> ca.SX:
        """2 T - p . u, by which T + V exceeds Jacobi's energy p . u - L; zero where T is quadratic in u."""
        return self._call("transport", t, q, u)

    def evaluate(self, name: str, t: float, q: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """One of these functions of (t, q) for numbers; for checks, not for the hot loop.

        With a column of q and of parameters for each of several instances, their values stand side by side.
        """
        if name not in self._functions:
            self._call(name, T, self.expressions.q)
        zero = np.zeros(self.n_u)
        return np.array(self._functions[name](t, q, zero, zero, parameters))

    def plain_parameters(self, name: str) -> list[int] | None:
        """Which parameters the components of such a function are, if all of them are parameters or constants."""
        if name not in self._plain:
            f, p = getattr(self, f"_{name}"), self.expressions.p
            found = {p[k].__hash__(): k for k in range(p.numel())}
            own = [f[i] for i in range(f.numel()) if not f[i].is_constant()]
            at = [found.get(x.__hash__()) if x.is_symbolic() else None for x in own]
            self._plain[name] = [k for k in at if k is not None] if None not in at else None
        return self._plain[name]

    def inputs_of(self, name: str) -> tuple[bool, bool, list[int]]:
        """What such a function depends on: whether on time, whether on coordinates, and on which parameters."""
        if name not in self._inputs:
            f, e = getattr(self, f"_{name}"), self.expressions
            own = [k for k in range(e.p.numel()) if ca.depends_on(f, e.p[k])]
            self._inputs[name] = ca.depends_on(f, T), ca.depends_on(f, e.q), own
        return self._inputs[name]

"""Every function of mechanics that schemes ask for, derived here, and only here."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from stickslip.engine.expressions import Expressions, T
from stickslip.model.rates import along, mass_of_energy


class Derivations:
    """Expressions in the symbols of a part for all functions of `PartType`: `_M` for M, derived when it is first asked for."""

    def __init__(self, e: Expressions):
        self.expressions = e
        self.parameters = e.p
        self.n_q, self.n_u = sum(e.n_q), sum(e.n_u)
        self._functions: dict[str, ca.Function] = {}
        self._a = ca.SX.sym("a", self.n_u)

    def _call(self, name: str, t, q, u=None, a=None) -> ca.SX:
        f = self._functions.get(name)
        if f is None:
            e = self.expressions
            f = self._functions[name] = ca.Function(name, [T, e.q, e.u, self._a, e.p], [getattr(self, f"_{name}")])
        zero = ca.SX.zeros(self.n_u)
        return f(t, q, zero if u is None else u, zero if a is None else a, self.parameters)

    def _rate(self, f: ca.SX) -> ca.SX:
        """Time derivative of f(t, q, u) along the motion with udot = a."""
        e = self.expressions
        return along(f, (e.q, e.qdot), (e.u, self._a), t=T)

    @cached_property
    def _qdot(self):
        return self.expressions.qdot

    @cached_property
    def _B(self):
        return ca.jacobian(self.expressions.qdot, self.expressions.u)

    @cached_property
    def _M(self):
        e = self.expressions
        return e.mass + mass_of_energy(e.kinetic, e.u)

    @cached_property
    def has_mass(self) -> bool:
        """Whether the part contributes to the mass matrix at all."""
        return bool(self._M.nnz())

    @cached_property
    def _p(self):
        e = self.expressions
        return e.mass @ e.u + ca.gradient(e.kinetic, e.u)

    @cached_property
    def _b(self):
        return self._h + self._no_acceleration(self._p)

    @cached_property
    def _h(self):
        # Lagrange: d/dt dT/du - dT/dq = f - B^T dV/dq, with M udot alone on the left.
        e = self.expressions
        h = e.force - self._B.T @ ca.gradient(e.potential, e.q)
        if e.kinetic.is_constant():
            return h
        momentum = ca.gradient(e.kinetic, e.u)
        return h + (ca.gradient(e.kinetic, e.q) - along(momentum, (e.q, e.u), t=T))

    @cached_property
    def _gyroscopic(self):
        # Q(u) quadratic with u . Q = 0: for D = dQ/du, D u = 2 Q, and D^T u = -Q because u . Q is zero for all u.
        e = self.expressions
        reversed_, still = (ca.substitute(e.force, e.u, u) for u in (-e.u, ca.SX.zeros(self.n_u)))
        Q = (e.force + reversed_) / 2 - still
        D = ca.jacobian(Q, e.u)
        G = (D - D.T) / 3
        return G if _vanishes(ca.vertcat(G @ e.u - Q, ca.dot(Q, e.u))) else ca.SX(self.n_u, self.n_u)

    def _directions(self, f: ca.SX) -> ca.SX:
        return (ca.jacobian(f, self.expressions.q) @ self._B).T

    _stiffness = cached_property(lambda self: -ca.jacobian(self._h, self.expressions.q) @ self._B)
    _W_g = cached_property(lambda self: self._directions(self.expressions.g))
    _W_N = cached_property(lambda self: self._directions(self.expressions.g_N))
    _W_gamma = cached_property(lambda self: ca.jacobian(self.expressions.gamma, self.expressions.u).T)
    _W_F = cached_property(lambda self: ca.jacobian(self.expressions.gamma_F, self.expressions.u).T)
    _g = cached_property(lambda self: self.expressions.g)
    _g_dot = cached_property(lambda self: self._rate(self._g))
    _g_ddot = cached_property(lambda self: self._rate(self._g_dot))
    _gamma = cached_property(lambda self: self.expressions.gamma)
    _gamma_dot = cached_property(lambda self: self._rate(self._gamma))
    _g_N = cached_property(lambda self: self.expressions.g_N)
    _g_N_dot = cached_property(lambda self: self._rate(self._g_N))
    _g_N_ddot = cached_property(lambda self: self._rate(self._g_N_dot))
    _gamma_F = cached_property(lambda self: self.expressions.gamma_F)
    _gamma_F_dot = cached_property(lambda self: self._rate(self._gamma_F))
    _mu = cached_property(lambda self: self.expressions.mu)
    _radius = cached_property(lambda self: self.expressions.radius)
    _e_N = cached_property(lambda self: self.expressions.e_N)
    _e_F = cached_property(lambda self: self.expressions.e_F)
    _coefficients = cached_property(lambda self: self.expressions.coefficients)
    _potential = cached_property(lambda self: self.expressions.potential)

    @cached_property
    def _kinetic(self):
        e = self.expressions
        return e.kinetic + ca.dot(e.mass @ e.u, e.u) / 2

    # Energy balance. With Jacobi's energy H = p . u - L of the declared kinetic energy, Lagrange's equations give
    #     dH/dt = u . (f + W lambda) - dL/dt (explicit),     T + V = H + transport;
    # a declared mass matrix adds u . Mdot u/2, which the gyroscopic forces declared along with it take back, and
    # kinematics with beta move the potential by dV/dq beta, which no force -B^T dV/dq does.

    @cached_property
    def _power_applied(self):
        e = self.expressions
        return ca.dot(e.u, ca.substitute(e.force, e.u, ca.SX.zeros(self.n_u)))

    @cached_property
    def _power_damping(self):
        e = self.expressions
        return ca.dot(e.u, e.force) - self._power_applied + self._no_acceleration(ca.dot(e.mass @ e.u, e.u) / 2)

    @cached_property
    def _power_moving(self):
        e = self.expressions
        beta = ca.substitute(e.qdot, e.u, ca.SX.zeros(self.n_u))
        return along(e.potential, (e.q, beta)) + ca.jacobian(e.potential - e.kinetic, T)

    @cached_property
    def _transport(self):
        e = self.expressions
        a, c = (ca.substitute(f, e.u, ca.SX.zeros(self.n_u)) for f in (ca.gradient(e.kinetic, e.u), e.kinetic))
        return ca.dot(a, e.u) + 2 * c  # of T = u^T M u/2 + a . u + c, an exact zero where a and c are none

    def _no_acceleration(self, f: ca.SX) -> ca.SX:
        """Time derivative of f along the motion with udot = 0."""
        return ca.substitute(self._rate(f), self._a, ca.SX.zeros(self.n_u))


def _vanishes(f: ca.SX) -> bool:
    """Whether an expression is zero for all values of its symbols, tested for random ones."""
    symbols, random = ca.symvar(f), np.random.default_rng(0)
    value = ca.Function("value", symbols, [f])
    draws = [list(random.uniform(0.5, 1.5, len(symbols))) for _ in range(3)]
    return all(np.abs(np.array(value.call(draw)[0])).max(initial=0.0) < 1e-12 for draw in draws)

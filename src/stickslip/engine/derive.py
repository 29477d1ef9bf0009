"""From declarations to functions of mechanics: every derivative of a part is derived here, and only here.

`PartType` is one kind of part in its own local coordinates: the functions M, h, W, g, g_N, gamma_F, ... that a scheme's
text uses. Instances that declare the same expressions share one type, so that it is differentiated and compiled once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from stickslip.errors import MethodError, ModelError
from stickslip.model.declaration import APPROACH_SPEED, TIME, Contact, Coordinates, Equations
from stickslip.model.system import System

T = ca.SX.sym("t")


@dataclass(frozen=True)
class Friction:
    """One friction element of a part: rows `first` to `first + size` of gamma_F, the normal contacts it belongs to."""

    first: int
    size: int
    normals: tuple[int, ...]  # rows of g_N; none for friction of fixed radius


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


@dataclass(frozen=True)
class Expressions:
    """What a part declares, in its local symbols, before any derivative."""

    n_q: tuple[int, ...]  # coordinates of each block that it touches
    n_u: tuple[int, ...]
    q: ca.SX
    u: ca.SX
    p: ca.SX
    qdot: ca.SX
    mass: ca.SX
    kinetic: ca.SX
    potential: ca.SX
    force: ca.SX
    g: ca.SX
    gamma: ca.SX
    g_N: ca.SX
    gamma_F: ca.SX
    mu: ca.SX  # one per friction element
    radius: ca.SX
    e_N: ca.SX  # one per normal contact
    e_F: ca.SX  # one per friction element
    frictions: tuple[Friction, ...]

    NAMES = (
        "qdot",
        "mass",
        "kinetic",
        "potential",
        "force",
        "g",
        "gamma",
        "g_N",
        "gamma_F",
        "mu",
        "radius",
        "e_N",
        "e_F",
    )

    @cached_property
    def key(self) -> str:
        """Equal for parts that declare the same mathematics."""
        body = ca.Function("part", [T, self.q, self.u, self.p], [getattr(self, n) for n in self.NAMES])
        text = f"{self.n_q} {self.n_u} {self.frictions} {body.serialize()}"
        return hashlib.sha256(text.encode()).hexdigest()


class PartType:
    """The functions of mechanics of one kind of part, for symbolic arguments. Names and signs as in the papers.

    M(t, q), h(t, q, u), qdot(t, q, u), W(t, q); g, g_dot, g_ddot; gamma, gamma_dot; g_N, g_N_dot, g_N_ddot; gamma_F,
    gamma_F_dot; the Lagrangian view p = M u + a and b = h + M_dot u + a_dot; radius of the friction reservoirs.
    """

    def __init__(self, e: Expressions):
        self.expressions = e
        self.key = e.key
        self.parameters = e.p
        self.n_q, self.n_u = sum(e.n_q), sum(e.n_u)
        self.n = {"q": self.n_q, "u": self.n_u, "one": 1}
        self.n |= {"g": e.g.numel(), "gamma": e.gamma.numel(), "N": e.g_N.numel(), "F": e.gamma_F.numel()}
        self.frictions = e.frictions
        self._functions: dict[str, ca.Function] = {}
        self._a = ca.SX.sym("a", self.n_u)

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

        An e_N that depends on velocities takes them from before the impact.
        """
        return self.g_N_dot(*after) + self.e_N(after[0], after[1], before[2]) * self.g_N_dot(*before)

    def xi_F(self, after: tuple, before: tuple) -> ca.SX:
        """Tangential impact law, gamma_F(after) + e_F gamma_F(before), with the e_F of the velocities before."""
        e_F = self.e_F(after[0], after[1], before[2])
        rows = [e_F[k] for k, f in enumerate(self.frictions) for _ in range(f.size)]
        return self.gamma_F(*after) + _stack(rows) * self.gamma_F(*before)

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
        return _stack(rows)

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
        return _stack(rows)

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
        self._call(name, T, self.expressions.q)
        zero = np.zeros(self.n_u)
        return np.array(self._functions[name](t, q, zero, zero, parameters))

    # -- how they are derived --------------------------------------------------------------------------------------

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
        return _times(f, e.q, e.qdot) + _times(f, e.u, self._a) + ca.jacobian(f, T)

    @cached_property
    def _qdot(self):
        return self.expressions.qdot

    @cached_property
    def _B(self):
        return ca.jacobian(self.expressions.qdot, self.expressions.u)

    @cached_property
    def _M(self):
        e = self.expressions
        return e.mass + ca.jacobian(ca.gradient(e.kinetic, e.u), e.u)

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
        inertia = ca.gradient(e.kinetic, e.q) - _times(momentum, e.q, e.u) - ca.jacobian(momentum, T)
        return h + inertia

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
        return _times(e.potential, e.q, beta) + ca.jacobian(e.potential - e.kinetic, T)

    @cached_property
    def _transport(self):
        e = self.expressions
        a, c = (ca.substitute(f, e.u, ca.SX.zeros(self.n_u)) for f in (ca.gradient(e.kinetic, e.u), e.kinetic))
        return ca.dot(a, e.u) + 2 * c  # of T = u^T M u/2 + a . u + c, an exact zero where a and c are none

    def _no_acceleration(self, f: ca.SX) -> ca.SX:
        """Time derivative of f along the motion with udot = 0."""
        return ca.substitute(self._rate(f), self._a, ca.SX.zeros(self.n_u))


@dataclass(frozen=True)
class Instance:
    """One part of a system: its type, the blocks of coordinates it touches and its parameters, by their index."""

    name: str
    type: PartType
    blocks: tuple[int, ...]
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """A system ready for a scheme: instances of few part types.

    `nodes` has one instance per block of coordinates that carries its kinematics alone: what belongs to a block and not to
    the parts that touch it. `parts` is everything else.
    """

    system: System
    nodes: tuple[Instance, ...]
    parts: tuple[Instance, ...]
    equations: tuple[Equations, ...]  # what each of the parts declares, in their order


def derive(system: System) -> Model:
    """Sort a system's declarations into instances of part types."""
    types: dict[str, PartType] = {}
    symbols = list(system.parameter_symbols().values())
    index = {s.__hash__(): i for i, s in enumerate(symbols)}

    def instance(name: str, blocks: Sequence[int], equations: Equations) -> Instance:
        touched = [system.blocks[i] for i in blocks]
        everything = ca.veccat(*equations.expressions(), *[b.qdot for b in touched])
        used = [s for s in ca.symvar(everything) if s.__hash__() in index]
        used.sort(key=lambda s: index[s.__hash__()])
        e = _localise(equations, touched, used)
        if e.key not in types:
            _check(equations.name, e, touched)  # what one instance of a type may, all others may
            types[e.key] = PartType(e)
        return Instance(name, types[e.key], tuple(blocks), tuple(index[s.__hash__()] for s in used))

    nodes = [instance(block.name, [i], Equations(block.name)) for i, block in enumerate(system.blocks)]
    owner = {s.__hash__(): i for i, b in enumerate(system.blocks) for s in ca.symvar(ca.vertcat(b.q, b.u))}
    declared = tuple(system.equations())
    parts = [instance(e.name, _touched(e, owner), e) for e in declared]
    return Model(system, tuple(nodes), tuple(parts), declared)


def _touched(equations: Equations, owner: dict[int, int]) -> list[int]:
    """The blocks of coordinates that occur; `owner` says to which block a symbol belongs, by its hash."""
    used = ca.symvar(ca.veccat(*equations.expressions()))
    touched = sorted({owner[s.__hash__()] for s in used if s.__hash__() in owner})
    if not touched:
        raise ModelError(f"{equations.name}: what it declares depends on no coordinate or velocity; leave it out")
    return touched


def _localise(equations: Equations, blocks: Sequence[Coordinates], parameters: Sequence[ca.SX]) -> Expressions:
    """The declared expressions with the symbols of these blocks replaced by local ones, equal for equal parts."""
    name = equations.name
    q_global, u_global = (_stack([getattr(b, x) for b in blocks]) for x in ("q", "u"))
    place = {u_global[k].__hash__(): k for k in range(u_global.numel())}

    def selection(u: ca.SX) -> list[int]:
        rows = [ca.symvar(u[k]) for k in range(u.numel())]
        if any(len(s) != 1 or not ca.is_equal(u[k], s[0]) or s[0].__hash__() not in place for k, s in enumerate(rows)):
            raise ModelError(f"{name}: masses and forces must name velocities of the system, got {u}")
        return [place[s[0].__hash__()] for s in rows]

    n_u = u_global.numel()
    mass, force = ca.SX(n_u, n_u), ca.SX.zeros(n_u)
    for matrix, u in equations.mass:
        rows = selection(u)
        local = ca.SX(n_u, n_u)
        for i, row in enumerate(rows):
            for j, col in enumerate(rows):
                if not matrix[i, j].is_zero():
                    local[row, col] = matrix[i, j]
        mass += local
    for f, u in equations.forces:
        for k, row in enumerate(selection(u)):
            force[row] += f[k]

    normal = [c for c in equations.contacts if c.gap is not None]
    frictional = [c for c in equations.contacts if c.slip.numel() > 0]
    first, frictions = 0, []
    for c in frictional:
        mine = (c.name,) if c.gap is not None else c.of
        frictions.append(Friction(first, c.slip.numel(), tuple(i for i, n in enumerate(normal) if n.name in mine)))
        first += c.slip.numel()

    raw = {
        "qdot": _stack([b.qdot for b in blocks]),
        "mass": mass,
        "kinetic": sum(equations.kinetic, ca.SX(0)),
        "potential": sum(equations.potential, ca.SX(0)),
        "force": force,
        "g": _stack([c.value for c in equations.constraints]),
        "gamma": _stack([c.value for c in equations.velocity_constraints]),
        "g_N": _stack([c.gap for c in normal]),
        "gamma_F": _stack([c.slip for c in frictional]),
        "mu": _stack([c.friction for c in frictional]),
        "radius": _stack([c.radius for c in frictional]),
        "e_N": _stack([_restitution(c, blocks) for c in normal]),
        "e_F": _stack([c.tangential_restitution for c in frictional]),
    }
    q, u, p = ca.SX.sym("q", q_global.numel()), ca.SX.sym("u", n_u), ca.SX.sym("p", len(parameters))
    rename = ca.Function("rename", [TIME, q_global, u_global, _stack(parameters)], list(raw.values()))
    local = dict(zip(raw, rename.call([T, q, u, p]), strict=True))
    sizes = {f"n_{x}": tuple(getattr(b, x).numel() for b in blocks) for x in ("q", "u")}
    return Expressions(**sizes, q=q, u=u, p=p, **local, frictions=tuple(frictions))


def _restitution(contact: Contact, blocks: Sequence[Coordinates]) -> ca.SX:
    """e_N with the speed of approach, max(0, -g_N_dot), put in where it depends on it."""
    if not ca.depends_on(contact.restitution, APPROACH_SPEED):
        return contact.restitution
    q, qdot = (_stack([getattr(b, x) for b in blocks]) for x in ("q", "qdot"))
    rate = ca.jacobian(contact.gap, q) @ qdot + ca.jacobian(contact.gap, TIME)
    return ca.substitute(contact.restitution, APPROACH_SPEED, ca.fmax(0, -rate))


def _check(name: str, e: Expressions, blocks: Sequence[Coordinates]) -> None:
    """Expressions depend on nothing that they must not depend on."""
    if ca.depends_on(e.mass, e.u):
        raise ModelError(
            f"{name}: the mass matrix depends on velocities; a mass is a function of t and q. Give what depends on "
            "velocities as force()"
        )
    if not e.kinetic.is_constant():
        _check_kinetic(name, e, blocks)
    if ca.depends_on(e.potential, e.u):
        raise ModelError(f"{name}: the potential energy depends on velocities; use force() for what is no potential")
    if ca.depends_on(e.g, e.u):
        raise ModelError(
            f"{name}: constraint() takes g(t, q); use velocity_constraint() for one that contains velocities"
        )
    if ca.depends_on(e.g_N, e.u):
        raise ModelError(f"{name}: a gap must be a function of t and q, not of velocities")
    for what, f in (("velocity_constraint()", e.gamma), ("slip", e.gamma_F)):
        if ca.depends_on(ca.jacobian(f, e.u), e.u):
            raise ModelError(f"{name}: {what} must be affine in the velocities")


def _check_kinetic(name: str, e: Expressions, blocks: Sequence[Coordinates]) -> None:
    if ca.depends_on(ca.hessian(e.kinetic, e.u)[0], e.u):
        raise ModelError(f"{name}: the kinetic energy must be quadratic in the velocities")
    ends = np.cumsum([0, *e.n_u])
    for k, block in enumerate(blocks):
        if ca.depends_on(e.kinetic, e.u[int(ends[k]) : int(ends[k + 1])]) and not block.canonical:
            raise ModelError(
                f"{name}: kinetic_energy() needs qdot = u, but {block.name!r} has kinematics of its own; "
                "give mass_matrix() and the gyroscopic force() instead"
            )


def _stack(rows: Sequence[ca.SX]) -> ca.SX:
    return ca.vertcat(*rows) if rows else ca.SX(0, 1)


def _times(f: ca.SX, x: ca.SX, direction: ca.SX) -> ca.SX:
    """(df/dx) direction, with df/dx formed so that structural zeros vanish."""
    return ca.jacobian(f, x) @ direction if f.numel() else ca.SX(0, 1)


def numeric_mass(model: Model, t: float, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The mass matrix of the whole system at one state, dense; for checks before a run, not for the hot loop."""
    return _sum_over_parts(model, "M", t, q, p)


def numeric_stiffness(model: Model, t: float, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Likewise -(dh/dq) B for u = 0, the stiffness matrix."""
    return _sum_over_parts(model, "stiffness", t, q, p)


def _sum_over_parts(model: Model, name: str, t: float, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """A square matrix in the space of velocities."""
    system = model.system
    q_at = np.cumsum([0, *[b.q.numel() for b in system.blocks]])
    u_at = np.cumsum([0, *[b.u.numel() for b in system.blocks]])
    total = np.zeros((system.n_u, system.n_u))
    for part in model.parts:
        rows = np.concatenate([np.arange(u_at[b], u_at[b + 1]) for b in part.blocks] or [np.zeros(0, int)])
        cols = np.concatenate([np.arange(q_at[b], q_at[b + 1]) for b in part.blocks] or [np.zeros(0, int)])
        total[np.ix_(rows, rows)] += part.type.evaluate(name, t, q[cols], p[list(part.parameters)])
    return total

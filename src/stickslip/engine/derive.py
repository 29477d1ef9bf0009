"""From a system's declarations to instances of part types.

Instances that declare the same expressions share one type, so that it is differentiated and compiled once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

import casadi as ca
import numpy as np

from stickslip.engine.expressions import Expressions, FrictionElement, T, stack
from stickslip.engine.mechanics import ForceDirections, PartType, Percussions
from stickslip.errors import MethodError, ModelError
from stickslip.model.declaration import APPROACH_SPEED, TIME, Bilateral, Coordinates, DeclaredContact, Equations
from stickslip.model.rates import along, sum_of_masses
from stickslip.model.system import System

__all__ = [
    "ForceDirections",
    "Instance",
    "Model",
    "PartType",
    "Percussions",
    "derive",
    "derive_template",
    "require_balls",
]


@dataclass(frozen=True, slots=True)
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
    kept: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)  # what others make of it


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
            _check(equations.name, e, touched)  # once per type
            _check_directions(equations, e)
            types[e.key] = _type_of(e)
        return Instance(name, types[e.key], tuple(blocks), tuple(index[s.__hash__()] for s in used))

    nodes: list[Instance] = []
    alike: dict[str, int] = {}  # kinematics that were derived already
    for i, block in enumerate(system.blocks):
        other = alike.get(block.alike) if block.like is None else block.like
        if other is None:
            nodes.append(instance(block.name, [i], Equations(block.name)))
            if block.alike:
                alike[block.alike] = i
        else:
            nodes.append(replace(nodes[other], name=block.name, blocks=(i,)))
    used = [(i, b) for i, b in enumerate(system.blocks) if b.named]
    owner = {s.__hash__(): i for i, b in used for s in ca.symvar(ca.vertcat(b.q, b.u))}
    declared = system.declarations()
    parts: list[Instance] = []
    copied = {copy.like for copy in system.copies.values()}
    first: dict[str, tuple[Instance, Equations]] = {}
    for k, e in enumerate(declared):
        copy = system.copies.get(e.name)
        if copy is None:
            parts.append(instance(e.name, _touched(e, owner), e))
            if e.name in copied:
                first[e.name] = parts[-1], e
        else:
            like, equations = first[copy.like]
            parts.append(replace(like, name=e.name, blocks=copy.of(like.blocks)))
            if equations.constraints or equations.velocity_constraints or equations.contacts:
                declared[k] = copy.named(e.name, equations)
    return Model(system, tuple(nodes), tuple(parts), tuple(declared))


def require_balls(model: Model, who: str) -> None:
    """Refuse cones that users wrote, for those who know what a ball is."""
    for equations in model.equations:
        for contact in equations.contacts:
            if contact.cone is not None:
                raise MethodError(
                    f"{model.system.name}: the friction of {contact.name!r} has the cone {contact.cone.name}, but {who} "
                    "treats Coulomb friction, in a ball, only"
                )


def derive_template(
    blocks: Sequence[Coordinates], equations: Equations, parameters: Sequence[ca.SX]
) -> tuple[PartType, tuple[int, ...]]:
    """The type of a part of placeholder blocks, and which of the parameters it uses.

    For contacts that are detected: their instances come later, and bring their numbers along.
    """
    index = {s.__hash__(): i for i, s in enumerate(parameters)}
    everything = ca.veccat(*equations.expressions(), *[b.qdot for b in blocks])
    used = sorted((s for s in ca.symvar(everything) if s.__hash__() in index), key=lambda s: index[s.__hash__()])
    expressions = _localise(equations, blocks, used)
    _check(equations.name, expressions, blocks)
    _check_directions(equations, expressions)
    return _type_of(expressions), tuple(index[s.__hash__()] for s in used)


def _type_of(e: Expressions) -> PartType:
    """The type of parts that declare this, one for all systems: what was derived of it serves all of them."""
    found = _known.get(e.key)
    if found is None:
        found = _known[e.key] = PartType(e)
    return found


_known: WeakValueDictionary[str, PartType] = WeakValueDictionary()


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
    q_global, u_global = (stack([getattr(b, x) for b in blocks]) for x in ("q", "u"))
    place = {u_global[k].__hash__(): k for k in range(u_global.numel())}

    def selection(u: ca.SX) -> list[int]:
        rows = [u[k] for k in range(u.numel())]
        if any(not s.is_symbolic() or s.__hash__() not in place for s in rows):
            raise ModelError(f"{name}: masses and forces must name velocities of the system, got {u}")
        return [place[s.__hash__()] for s in rows]

    n_u = u_global.numel()
    mass, force = sum_of_masses([(matrix, selection(u)) for matrix, u in equations.mass], n_u), ca.SX.zeros(n_u)
    for f, u in equations.forces:
        for k, row in enumerate(selection(u)):
            force[row] += f[k]

    normal = [c for c in equations.contacts if c.gap is not None]
    frictional = [c for c in equations.contacts if c.slip.numel() > 0]
    first, coefficient, frictions = 0, 0, []
    for c in frictional:
        mine = (c.name,) if c.gap is not None else c.of
        normals = tuple(i for i, n in enumerate(normal) if n.name in mine)
        frictions.append(FrictionElement(first, c.slip.numel(), normals, c.cone, coefficient))
        first, coefficient = first + c.slip.numel(), coefficient + c.coefficients.numel()

    raw = {
        "qdot": stack([b.qdot for b in blocks]),
        "mass": mass,
        "kinetic": sum(equations.kinetic, ca.SX(0)),
        "potential": sum(equations.potential, ca.SX(0)),
        "force": force,
        "g": stack([c.value for c in equations.constraints]),
        "gamma": stack([c.value for c in equations.velocity_constraints]),
        "g_N": stack([c.gap for c in normal]),
        "gamma_F": stack([c.slip for c in frictional]),
        "mu": stack([c.friction for c in frictional]),
        "radius": stack([c.radius for c in frictional]),
        "e_N": stack([_restitution(c, blocks) for c in normal]),
        "e_F": stack([c.tangential_restitution for c in frictional]),
        "coefficients": stack([c.coefficients for c in frictional]),
    }
    q, u, p = ca.SX.sym("q", q_global.numel()), ca.SX.sym("u", n_u), ca.SX.sym("p", len(parameters))
    rename = ca.Function("rename", [TIME, q_global, u_global, stack(parameters)], list(raw.values()))
    local = dict(zip(raw, rename.call([T, q, u, p]), strict=True))
    sizes = {f"n_{x}": tuple(getattr(b, x).numel() for b in blocks) for x in ("q", "u")}
    return Expressions(**sizes, q=q, u=u, p=p, **local, frictions=tuple(frictions))


def _restitution(contact: DeclaredContact, blocks: Sequence[Coordinates]) -> ca.SX:
    """e_N with the speed of approach, max(0, -g_N_dot), put in where it depends on it."""
    if not ca.depends_on(contact.restitution, APPROACH_SPEED):
        return contact.restitution
    q, qdot = (stack([getattr(b, x) for b in blocks]) for x in ("q", "qdot"))
    return ca.substitute(contact.restitution, APPROACH_SPEED, ca.fmax(0, -along(contact.gap, (q, qdot), t=TIME)))


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
        raise ModelError(f"{name}: the potential energy depends on velocities; use force() for what has no potential")
    if ca.depends_on(e.g, e.u):
        raise ModelError(
            f"{name}: constraint() takes g(t, q); use velocity_constraint() for one that contains velocities"
        )
    if ca.depends_on(e.g_N, e.u):
        raise ModelError(f"{name}: a gap must be a function of t and q, not of velocities")
    if ca.depends_on(e.coefficients, ca.vertcat(T, e.q, e.u)):
        raise ModelError(
            f"{name}: the shape of a cone depends on time, coordinates or velocities; it may contain numbers and parameters. "
            "Let friction=, which scales it, depend on them"
        )
    for what, f in (("velocity_constraint()", e.gamma), ("slip", e.gamma_F)):
        if ca.depends_on(ca.jacobian(f, e.u), e.u):
            raise ModelError(f"{name}: {what} must be affine in the velocities")


def _check_directions(equations: Equations, e: Expressions) -> None:
    """Constraints and contacts act on velocities; a coordinate where a velocity was meant would switch friction off."""

    def idle(f: ca.SX, x: ca.SX) -> bool:
        return f.numel() > 0 and ca.jacobian(f, x).nnz() == 0

    for c, first in zip(equations.velocity_constraints, _starts(equations.velocity_constraints), strict=True):
        if idle(e.gamma[first : first + c.value.numel()], e.u):
            raise ModelError(
                f"{equations.name}: velocity_constraint() {c.name!r} contains no velocity; use constraint() for g(t, q) = 0"
            )
    frictional = [c for c in equations.contacts if c.slip.numel() > 0]
    for contact, element in zip(frictional, e.frictions, strict=True):
        if idle(e.gamma_F[element.first : element.first + element.size], e.u):
            raise ModelError(
                f"{equations.name}: the slip of {contact.name!r} contains no velocity, so that friction could do nothing; give "
                "the sliding velocity, such as u[0]"
            )
    for row, contact in enumerate(c for c in equations.contacts if c.gap is not None):
        if idle(e.g_N[row], e.q):
            raise ModelError(
                f"{equations.name}: the gap of {contact.name!r} depends on no coordinate; nothing could close it"
            )


def _starts(constraints: Sequence[Bilateral]) -> list[int]:
    return [sum(c.value.numel() for c in constraints[:k]) for k in range(len(constraints))]


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

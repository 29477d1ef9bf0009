"""Many equal bodies: declared once, copied in other symbols.

A copy has symbols of its own, so that joints, contacts and measures can name it, but no expressions: its type, mass and forces
are those of the first. Symbols and names of its coordinates come into being when somebody asks for them. That makes it cheap.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.model.bodies import Body
from stickslip.model.declaration import TIME, Coordinates, Equations

if TYPE_CHECKING:
    from stickslip.model.system import System

# Where the rows of a state go: (coordinates or velocities, after the components of the position, as in the bodies).
STATES = {"position": ("q", 0), "orientation": ("q", 1), "angle": ("q", 1)}
STATES |= {"velocity": ("u", 0), "angular_velocity": ("u", 1)}


@dataclass(frozen=True, slots=True)
class Copy:
    """A part that declares what the part `like` does, of other blocks: pairs (block of the first, block of this one)."""

    like: str
    blocks: tuple[tuple[int, int], ...]

    def of(self, blocks: Sequence[int]) -> tuple[int, ...]:
        """Its own blocks, where the first has these."""
        other = dict(self.blocks)
        return tuple(other.get(k, k) for k in blocks)

    def renamed(self, name: str, mine: str) -> str:
        """What something of the first is called here."""
        return mine + name.removeprefix(self.like)

    def moved(self, expressions: Sequence[ca.SX], blocks: Sequence[Coordinates]) -> list[ca.SX]:
        """Expressions of the first in the symbols of this one."""
        old, new = (
            ca.vertcat(*[x for pair in self.blocks for x in (blocks[pair[k]].q, blocks[pair[k]].u)]) for k in (0, 1)
        )
        own = {old[k].__hash__() for k in range(old.numel())}
        others = [s for s in ca.symvar(ca.veccat(*expressions)) if s.__hash__() not in own]
        return list(ca.Function("copy", [old, *others], list(expressions)).call([new, *others]))

    def equations(self, name: str, first: Equations, blocks: Sequence[Coordinates]) -> Equations:
        """What it declares, written out."""
        out, moved = self.named(name, first), iter(self.moved(first.expressions(), blocks))
        out.mass = [(next(moved), next(moved)) for _ in first.mass]
        out.kinetic, out.potential = [next(moved) for _ in first.kinetic], [next(moved) for _ in first.potential]
        out.forces = [(next(moved), next(moved)) for _ in first.forces]
        out.constraints = [replace(c, value=next(moved)) for c in out.constraints]
        out.velocity_constraints = [replace(c, value=next(moved)) for c in out.velocity_constraints]
        for k, c in enumerate(out.contacts):
            values: dict[str, Any] = {"gap": c.gap if c.gap is None else next(moved)}
            for key in ("slip", "friction", "radius", "restitution", "tangential_restitution", "coefficients"):
                values[key] = next(moved)
            out.contacts[k] = replace(c, **values)
        return out

    def named(self, name: str, first: Equations) -> Equations:
        """Constraints and contacts under their own names, still in the symbols of the first."""
        out = Equations(name)
        for key in ("constraints", "velocity_constraints", "contacts"):
            setattr(out, key, [replace(c, name=self.renamed(c.name, name)) for c in getattr(first, key)])
        out.contacts = [replace(c, of=tuple(self.renamed(n, name) for n in c.of)) for c in out.contacts]
        return out


def add_many(system: System, body: Any, states: Mapping[str, Any]) -> list[Any]:
    """See `System.add_many`."""
    where = f"{system.name}: many of {getattr(body, 'name', body)!r}"
    for needed in ("initial", "initial_velocity", "dimension"):
        if not hasattr(body, needed):
            raise ModelError(
                f"{where}: add_many takes bodies such as RigidBody, PlanarBody or PointMass, or another part with bodies=, got "
                f"{body!r}"
            )
    q, u = _rows(where, body, states)
    bodies = [_twin(body) for _ in q]
    for k, each in enumerate(bodies):
        each.name = f"{body.name}[{k}]"
        if k == 0 or not isinstance(each, Body):  # the others read theirs from their blocks
            each.initial, each.initial_velocity = q[k], u[k]
        if each.name in system._part_names:
            raise ModelError(f"{where}: there is another part named {each.name!r}; names must differ")
    with system._all_or_nothing():
        _declare(where, system, bodies, f"{body.name}[", q, u)
    return bodies


def _declare(where: str, system: System, bodies: list[Any], beginning: str, q: np.ndarray, u: np.ndarray) -> None:
    """The first, and its copies; their names begin so."""
    # Nobody stores the names of copies: only those are looked at whose own name is the beginning of another one.
    suspects = {
        beginning + name.removeprefix(beginning).partition("]")[0] + "]" for name in system._beginning(beginning)
    }
    first = system.add(bodies[0])
    if system._declared[-1].constraints or system._declared[-1].velocity_constraints or system._declared[-1].contacts:
        raise ModelError(
            f"{where}: a body with constraints or contacts of its own cannot be copied; add them one by one"
        )
    number = len(system.blocks) - 1
    family = Family(system.blocks[number], number, q, u, Symbols())
    shared = {key: value for key, value in vars(first).items() if key in ("mass", "inertia")} | {"_owner": system}
    for k, each in enumerate(bodies[1:], 1):
        block = CopiedCoordinates(family, each.name, k)
        if each.name in suspects:
            system._refuse_block(block.q_names, block.u_names)
        system.copies[each.name] = Copy(first.name, ((number, len(system.blocks)),))
        system._add_block(block)
        for key, value in shared.items():
            object.__setattr__(each, key, value)
        object.__setattr__(each, "_block", block)
        system._add_copy(each)


def _twin(body: Any) -> Any:
    """A body with the same attributes but its initial state. `copy.copy` would give each a dictionary of its own, 0.2 kB."""
    out = object.__new__(type(body))
    for key, value in vars(body).items():
        if key not in ("_initial", "_initial_velocity"):
            object.__setattr__(out, key, value)
    if hasattr(body, "shapes"):
        out.shapes = [_carried(shape, body, out) for shape in body.shapes]
    return out


def _carried(value: Any, body: Any, twin: Any) -> Any:
    """A shape of a body, or a point or frame in it, on its twin. What is large in it, such as a mesh, is shared."""
    if value is body:
        return twin
    if not is_dataclass(value) or isinstance(value, type):
        return value
    out = copy.copy(value)
    for f in fields(value):
        object.__setattr__(out, f.name, _carried(getattr(value, f.name), body, twin))
    return out


class Symbols(dict[str, tuple[ca.SX, ca.SX, ca.SX]]):
    """Symbols q, u and qdot of those copies that somebody asked for, by name.

    Deep copies of a system share them with it, whoever of them makes them: expressions of the one are expressions of the other.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> Symbols:
        return self


@dataclass(frozen=True)
class Family:
    """What all copies of a block share: the first one and its number, and the rows of their initial states."""

    template: Coordinates
    number: int
    q: np.ndarray
    u: np.ndarray
    symbols: Symbols


class CopiedCoordinates(Coordinates):
    """A block like another one, whose symbols q, u and qdot come into being when somebody asks for them."""

    _family: Family
    _row: int

    def __init__(self, family: Family, name: str, row: int):
        for key, value in (("_family", family), ("name", name), ("_row", row)):
            object.__setattr__(self, key, value)

    def _symbols(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        made = self._family.symbols
        if self.name not in made:
            template = self._family.template
            q, u = (ca.vertcat(*[ca.SX.sym(n) for n in names]) for names in (self.q_names, self.u_names))
            qdot = ca.Function("qdot", [TIME, template.q, template.u], [template.qdot])(TIME, q, u)
            made[self.name] = q, u, qdot
        return made[self.name]

    @property
    def q(self) -> ca.SX:
        return self._symbols()[0]

    @property
    def u(self) -> ca.SX:
        return self._symbols()[1]

    @property
    def qdot(self) -> ca.SX:
        return self._symbols()[2]

    @property
    def q_names(self) -> tuple[str, ...]:
        return self._renamed(self._family.template.q_names)

    @property
    def u_names(self) -> tuple[str, ...]:
        return self._renamed(self._family.template.u_names)

    def _renamed(self, names: tuple[str, ...]) -> tuple[str, ...]:
        first = self._family.template.name
        return tuple(self.name + n.removeprefix(first) for n in names)

    @property
    def q_initial(self) -> np.ndarray:
        return self._family.q[self._row]

    @property
    def u_initial(self) -> np.ndarray:
        return self._family.u[self._row]

    @property
    def q_units(self) -> tuple[str, ...]:
        return self._family.template.q_units

    @property
    def u_units(self) -> tuple[str, ...]:
        return self._family.template.u_units

    @property
    def like(self) -> int | None:
        return self._family.number

    @property
    def named(self) -> bool:
        return self.name in self._family.symbols

    @property
    def alike(self) -> str:
        return self._family.template.alike

    @property
    def canonical(self) -> bool:
        return self._family.template.canonical

    def at(self, q: np.ndarray, u: np.ndarray) -> Coordinates:
        out = copy.copy(self)
        vars(out).update(_family=replace(self._family, q=q[None], u=u[None]), _row=0)
        return out


def _rows(where: str, body: Any, states: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Initial coordinates and velocities, a row per body."""
    d = body.dimension
    turning = body.initial.size - d  # coordinates of orientation: 4, 1 or none
    sizes = {"position": d, "orientation": 4, "angle": 1, "velocity": d}
    sizes["angular_velocity"] = body.initial_velocity.size - d
    known = [key for key in STATES if sizes[key] and not (key == "orientation" and turning != 4)]
    known = [key for key in known if not (key == "angle" and turning != 1)]
    rows: dict[str, np.ndarray] = {}
    for key, given in states.items():
        if key not in known:
            raise ModelError(
                f"{where}: {key!r} is not a state of a {type(body).__name__}; it has {', '.join(known)}. Everything else is "
                "the same for all; bodies that differ in it are added one by one with add"
            )
        try:
            rows[key] = np.array(given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"{where}: {key} must be an array of numbers with a row per body, got {given!r}") from None
        if rows[key].ndim == 1 and sizes[key] == 1:
            rows[key] = rows[key][:, None]
        if rows[key].ndim != 2 or rows[key].shape[1] != sizes[key] or not np.isfinite(rows[key]).all():
            raise ModelError(
                f"{where}: {key} must have {sizes[key]} finite numbers per body, got shape {rows[key].shape}"
            )
    if "position" not in rows or not len(rows["position"]):
        raise ModelError(f"{where}: give position=, one row per body")
    n = len(rows["position"])
    for key, values in rows.items():
        if len(values) != n:
            raise ModelError(f"{where}: {n} positions, but {len(values)} rows of {key}")
    if "orientation" in rows:
        length = np.linalg.norm(rows["orientation"], axis=1, keepdims=True)
        if not length.all():
            raise ModelError(f"{where}: orientation must be quaternions of length > 0")
        rows["orientation"] /= length
    out = {"q": np.tile(body.initial, (n, 1)), "u": np.tile(body.initial_velocity, (n, 1))}
    for key, values in rows.items():
        space, after = STATES[key]
        out[space][:, after * d : after * d + sizes[key]] = values
    return out["q"], out["u"]

"""Contacts that are found while a system moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, is_symbolic
from stickslip.model.declaration import Equations, check_law_value
from stickslip.model.described import Described, shown
from stickslip.model.frames import Carrier, Ground, Point
from stickslip.model.geometry import Box, Capsule, Cavity, Cylinder, Disk, Ellipsoid, Graph, Line, Plane, Sphere
from stickslip.model.given import flag, number, text
from stickslip.model.outlines import ClosedCurve, SimplePolygon
from stickslip.model.polytopes import ConvexPolygon, Polyhedron
from stickslip.model.surfaces import HeightField, TriangleMesh
from stickslip.model.system import System

SHAPES: Any = (
    Sphere, Capsule, Box, Cylinder, Ellipsoid, Disk, Plane, Graph, Cavity, ConvexPolygon, Polyhedron, TriangleMesh, HeightField,
    SimplePolygon, ClosedCurve,
)  # fmt: skip
MANY = 50_000  # bodies
DETECTS = "parts that detect"  # what a system keeps


class Collisions(Described):
    """All contacts between these shapes, found at every step.

    shapes: shapes of bodies and of the ground, or bodies that carry their shapes (see `solid`). To give materials, a mapping
    from the name of a material to its shapes. friction, restitution and tangential_restitution are numbers, or mappings from
    pairs of materials that can meet to numbers; all of them are parameters of the system.

    Shapes of one body, of two fixed bodies, and of two bodies that a joint connects never touch, unless `joined` asks for the
    last; `ignore` lists further pairs of shapes or bodies. `skin` is the distance from which on a pair is watched, whatever
    its speed; by default 2 % of the smallest shape. There may be up to 50 000 bodies.

    >>> import stickslip as ss
    >>> s = ss.System("two balls in a ring")
    >>> balls = [s.add(ss.PlanarBody(n, mass=1, inertia=0.1, position=[x, 0])) for n, x in (("a", -1), ("b", 1))]
    >>> ring = ss.Cavity(ss.ground.point(0, 0), radius=3)
    >>> skins = [ss.Sphere(ball.point(), 0.5) for ball in balls]
    >>> rule = s.add(ss.Collisions("contacts", [*skins, ring], friction=0.3, restitution=0.5))
    """

    def __init__(
        self,
        name: str,
        shapes: Any,
        *,
        friction: Any = 0.0,
        restitution: Any = 0.0,
        tangential_restitution: Any = 0.0,
        ignore: Iterable[tuple[Any, Any]] = (),
        joined: bool = False,
        skin: float | None = None,
    ):
        self.name = text("collisions", name)
        where = f"collisions {name!r}"
        groups = shapes if isinstance(shapes, Mapping) else {"": shapes}
        self.materials = tuple(groups)
        self.shapes: list[Any] = []
        self.material: list[int] = []
        for k, (material, group) in enumerate(groups.items()):
            found = _shapes(where, group)
            if not found:
                raise ModelError(f"{where}: there are no shapes{f' of {material!r}' if material else ''}")
            self.shapes += found
            self.material += [k] * len(found)
        self.dimension = _dimension(where, self.shapes)
        bodies = {id(shape.body) for shape in self.shapes if not isinstance(shape.body, Ground)}
        if not bodies:
            raise ModelError(f"{where}: all shapes belong to the ground, so nothing can touch")
        if len(bodies) > MANY:
            raise ModelError(f"{where}: {len(bodies)} bodies; detection is meant for at most {MANY}")
        _require_able(where, self.shapes)
        self.joined = flag(where, "joined", joined)
        self.skin = None if skin is None else float(number(where, "skin", skin, above=0))
        self.given = {
            "friction": friction,
            "restitution": restitution,
            "tangential_restitution": tangential_restitution,
        }
        self.laws = {key: self._table(where, key, value) for key, value in self.given.items()}
        if not hasattr(ignore, "__iter__"):
            raise ModelError(f"{where}: ignore = {ignore!r} must be a list of pairs of shapes or bodies")
        self.ignored = [tuple(self._places(where, x) for x in _pair(where, pair)) for pair in ignore]

    def __repr__(self) -> str:
        laws = "".join(f", {key}={self._shown(value)}" for key, value in self.given.items() if not _same(value, 0.0))
        return f"Collisions({self.name!r}, {len(self.shapes)} shapes{laws})"

    def _shown(self, given: Any) -> str:
        """A law as it was given; a parameter of the system by its number."""
        if isinstance(given, Mapping):
            return f"{{{', '.join(f'{pair!r}: {shown(self._number(x))}' for pair, x in given.items())}}}"
        return shown(self._number(given))

    def declare(self, system: System, equations: Equations) -> None:
        """Check that its bodies belong to the system, and make its laws parameters; contacts come later."""
        where, known = f"collisions {self.name!r}", {id(part) for part in system.parts}
        for shape in self.shapes:
            if not isinstance(shape.body, Ground) and id(shape.body) not in known:
                kind = type(shape).__name__.lower()
                raise ModelError(
                    f"{where}: the {kind} of {shape.body.name!r} has no body in this system; add {shape.body.name!r} first"
                )
            if not isinstance(shape.body, Ground) and shape.body.name == Ground.name:
                raise ModelError(
                    f"{where}: a body named {Ground.name!r} could not be told from the ground; give it another name"
                )
        if len({id(shape.body) for shape in self.shapes}) == 1:
            raise ModelError(
                f"{where}: all shapes belong to {self.shapes[0].body.name!r}, which cannot touch itself; name what it may hit, "
                "such as a Plane or another body"
            )
        for key in self.laws:
            for label, value, _ in self._entries(key):
                system.parameter(f"{self.name}.{key}{label}", value)

    def law_values(self, parameters: Mapping[str, float]) -> np.ndarray:
        """mu, e_N and e_F by the materials of two shapes, for values of the system's parameters, which are in range."""
        n = len(self.materials)
        out = np.zeros((n, n, 3))
        for c, key in enumerate(self.laws):
            for label, _, pairs in self._entries(key):
                value = parameters[f"{self.name}.{key}{label}"]
                check_law_value(f"collisions {self.name!r}", f"{key}{label}", value)
                for i, j in pairs:
                    out[i, j, c] = out[j, i, c] = value
        return out

    def _entries(self, key: str) -> list[tuple[str, Scalar, list[tuple[int, int]]]]:
        """A law as parameters: what stands behind its name, the value, its pairs. A number for all pairs is one parameter."""
        table = self.laws[key]
        if len(self.materials) == 1 or not isinstance(self.given[key], Mapping):
            return [("", next(iter(table.values())), list(table))]
        return [(f"[{self.materials[i]}, {self.materials[j]}]", value, [(i, j)]) for (i, j), value in table.items()]

    @property
    def frictional(self) -> bool:
        """Whether any pair has friction, or could have: a law that is a parameter of the system."""
        return any(is_symbolic(x) or x != 0 for x in self.laws["friction"].values())

    def _table(self, where: str, key: str, given: Any) -> dict[tuple[int, int], Scalar]:
        """A law by pairs of materials (i <= j)."""
        n = len(self.materials)
        every = [(i, j) for i in range(n) for j in range(i, n)]
        most = np.inf if key == "friction" else 1
        if not isinstance(given, Mapping):
            value = _coefficient(where, key, given, most)
            return dict.fromkeys(every, value)
        table: dict[tuple[int, int], Scalar] = {}
        for pair, value in given.items():
            names = (pair, pair) if isinstance(pair, str) else _pair(where, pair)
            for name in names:
                if self.materials == ("",):
                    raise ModelError(
                        f"{where}: {key} names the material {name!r}, but the shapes have none; give them as "
                        f"{{{name!r}: [...], ...}}"
                    )
                if name not in self.materials:
                    raise ModelError(
                        f"{where}: {key} names the material {name!r}; there are {', '.join(map(repr, self.materials))}"
                    )
            i, j = sorted(self.materials.index(name) for name in names)
            law = _coefficient(where, f"{key} of {names}", value, most)
            if not _same(table.setdefault((i, j), law), law):
                a, b = self.materials[i], self.materials[j]
                raise ModelError(
                    f"{where}: {key} of {a!r} with {b!r} is given twice, as {table[i, j]} and as {law}; the order of a pair "
                    "does not matter, leave one of them out"
                )
        self._require_all(where, key, [pair for pair in every if pair not in table])
        return table

    def _require_all(self, where: str, key: str, missing: list[tuple[int, int]]) -> None:
        """A law is needed for materials that can meet: not for those that one body has alone, or the ground."""
        bodies: list[set[int]] = [set() for _ in self.materials]
        for shape, k in zip(self.shapes, self.material, strict=True):
            bodies[k].add(0 if isinstance(shape.body, Ground) else id(shape.body))
        for i, j in missing:
            if len(bodies[i] | bodies[j]) > 1:
                a, b = self.materials[i], self.materials[j]
                pair = f"{a!r}" if i == j else f"({a!r}, {b!r})"
                raise ModelError(
                    f"{where}: {key} of {a!r} with {b!r} is missing, and bodies of them can meet; give {key}={{..., {pair}: "
                    "a number}"
                )

    def _places(self, where: str, given: Any) -> list[int]:
        """A shape, or all shapes of a body, by their numbers."""
        found = [k for k, s in enumerate(self.shapes) if s is given or s.body is given]
        if not found:
            raise ModelError(f"{where}: ignore= names {given!r}, which is none of its shapes or bodies")
        return found


def collisions_of(system: System) -> Collisions | None:
    """The part that detects contacts, if a system has one. It is asked for several times by every run."""
    known, kept = len(system.parts), system.compiled
    if DETECTS not in kept or kept[DETECTS][0] != known:
        kept[DETECTS] = known, [part for part in system.parts if isinstance(part, Collisions)]
    found: list[Collisions] = kept[DETECTS][1]
    if len(found) > 1:
        names = ", ".join(repr(part.name) for part in found)
        raise ModelError(
            f"{system.name}: there are several parts that detect contacts, {names}; put all shapes into one"
        )
    return found[0] if found else None


def _coefficient(where: str, what: str, given: Any, most: float) -> Scalar:
    """A number or a parameter: detected contacts share their law, and have no symbols of their own."""
    if callable(given) and not is_symbolic(given):
        raise ModelError(
            f"{where}: {what} = {given!r} is a function of a speed, and detected contacts take numbers and parameters; declare "
            "these contacts one by one with Contact(..., friction=, restitution=), which takes functions"
        )
    return number(where, what, given, at_least=0, at_most=most)


def _same(first: Any, second: Any) -> bool:
    """Whether two coefficients are one number, or one expression."""
    if is_symbolic(first) or is_symbolic(second):
        return is_symbolic(first) and is_symbolic(second) and bool(ca.is_equal(first, second, 9))
    return bool(first == second)


def _pair(where: str, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise ModelError(f"{where}: a pair is needed, such as (a, b), got {given!r}")
    return given[0], given[1]


def _shapes(where: str, given: Any) -> list[Any]:
    """Shapes, and those that bodies carry."""
    if isinstance(given, (*SHAPES, Carrier)) or not isinstance(given, Iterable) or isinstance(given, str):
        given = [given]
    out: list[Any] = []
    for item in given:
        if isinstance(item, Carrier):
            own = getattr(item, "shapes", ())
            if not own:
                raise ModelError(
                    f"{where}: {item.name!r} carries no shapes; give shapes such as Sphere({item.name}.point(), 0.1)"
                )
            out += own
        elif isinstance(item, SHAPES):
            out.append(item)
        elif isinstance(item, Point):
            raise ModelError(f"{where}: {item} is a point; give a shape, such as Sphere({item}, 0.01)")
        else:
            raise ModelError(f"{where}: shapes of bodies are needed, such as Sphere(body.point(), 0.1), got {item!r}")
    if len({id(s) for s in out}) < len(out):
        raise ModelError(f"{where}: a shape is given twice")
    return out


def _dimension(where: str, shapes: Sequence[Any]) -> int:
    dimensions = {shape_dimension(s) for s in shapes} - {None}
    if len(dimensions) > 1:
        raise ModelError(f"{where}: some shapes live in the plane, others in space")
    if not dimensions:
        raise ModelError(f"{where}: its shapes do not say whether they live in the plane or in space")
    return int(dimensions.pop())  # type: ignore[arg-type]


def shape_dimension(shape: Any) -> int | None:
    """2 or 3, or None where a shape fits both."""
    if isinstance(shape, (Sphere, Cavity)):
        return shape.center.dimension
    if isinstance(shape, Capsule):
        return shape.end_1.dimension
    if isinstance(shape, (Disk, Cylinder, Polyhedron, TriangleMesh, HeightField)):
        return 3
    if isinstance(shape, (ConvexPolygon, SimplePolygon, ClosedCurve)):
        return 2
    if isinstance(shape, Plane):
        return shape.dimension
    return len(shape.size) if isinstance(shape, Box) else len(shape.semi_axes) if isinstance(shape, Ellipsoid) else None


def _require_able(where: str, shapes: Sequence[Any]) -> None:
    """Shapes that can be detected; moving half-spaces and holes do not meet each other."""
    endless = [s for s in shapes if isinstance(s, (Plane, Cavity))]
    if len({id(s.body) for s in endless if not isinstance(s.body, Ground)}) and len({id(s.body) for s in endless}) > 1:
        names = ", ".join(sorted({f"{type(s).__name__} of {s.body.name!r}" for s in endless}))
        raise ModelError(
            f"{where}: half-spaces and cavities of two bodies always overlap: {names}; only one body may carry them"
        )
    for s in shapes:
        if isinstance(s, (Disk, Graph)):
            instead = (
                "a Cylinder with points=16" if isinstance(s, Disk) else "a HeightField, in the plane a SimplePolygon"
            )
            raise ModelError(
                f"{where}: contacts of a {type(s).__name__} are not detected; declare them with Contact, or use {instead}"
            )
        if isinstance(s, Cylinder) and s.points == 0:
            raise ModelError(
                f"{where}: a cylinder is detected as a prism with so many sides as it has points; give points=, such as 16"
            )


__all__ = ["Collisions", "Line"]

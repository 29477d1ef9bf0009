"""A flexible part is a chain: nodes, which are bodies without a mass of their own, and elements between them.

Nodes and elements are parts of the system like all others. Elements of a chain declare the same expressions, so they
share one compiled type however many there are; their numbers are parameters of the chain. An element of any kind is

    T            kinetic energy, with consistent mass
    V = sum of k e^2 / 2                            stiffness k, deformation e(q)
    f = -alpha dT/du - beta sum of k edot de/dq     Rayleigh damping

Stiffness damping acts on deformations, not on displacements, so that it never brakes a rigid motion; for linear
elements it is the usual beta K.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, column, derivative, is_symbolic
from stickslip.model.bodies import Body
from stickslip.model.declaration import Equations
from stickslip.model.described import Described
from stickslip.model.frames import Point
from stickslip.model.given import number, require_positive
from stickslip.model.rates import along
from stickslip.model.system import System

DAMPINGS = ("mass_damping", "stiffness_damping")  # which may be zero, other numbers of a chain not


class Node(Body):
    """A node of a chain: a body whose inertia belongs to the elements that meet there.

    `names` are its coordinates, with qdot = u. Those that a support holds are not coordinates of the system but
    parameters, with their initial value; `q` and `qdot` have all of them in order, `u` the velocities that are free.
    """

    names: tuple[str, ...]

    def __init__(self, name: str, initial: Sequence[float], velocity: Sequence[float]):
        Body.__init__(self, name)  # not that of a body with a mass, which a node may be as well
        self.initial: Any = np.asarray(initial, dtype=float)
        self.initial_velocity: Any = np.asarray(velocity, dtype=float)
        self.held: tuple[str, ...] = ()

    def hold(self, names: Sequence[str]) -> None:
        """Hold coordinates at their initial values."""
        for name in names:
            if name not in self.names:
                raise ModelError(f"{self.name}: a support holds {name!r}, but there are only {', '.join(self.names)}")
            speed = self.initial_velocity[self.names.index(name)]
            if speed != 0.0:
                raise ModelError(f"{self.name}: a support holds {name!r}, whose initial velocity is {speed:g}")
        self.held = tuple(names)

    @property
    def qdot(self) -> np.ndarray:
        """Rates of all coordinates; zero where a support holds them."""
        out = np.zeros(len(self.names), dtype=object)
        out[self._free] = self.u
        return out

    @property
    def _free(self) -> list[int]:
        return [k for k, name in enumerate(self.names) if name not in self.held]

    def velocity(self, local: Vector) -> np.ndarray:
        """Velocity of a point fixed to the node."""
        return rate_of(self.position(local), self.q, self.qdot)

    def declare(self, system: System, equations: Equations) -> None:
        """Coordinates, and parameters for those that are held."""
        free = self._free
        self._u = np.zeros(0, dtype=object)
        self._q = np.zeros(len(self.names), dtype=object)
        for name in self.held:
            k = self.names.index(name)
            self._q[k] = system.parameter(f"{self.name}.{name}", self.initial[k])
        if free:
            names = " ".join(self.names[k] for k in free)
            self._q[free], self._u = system.coordinates(
                names,
                initial=self.initial[free],
                velocity=self.initial_velocity[free],
                block=self.name,
                units=" ".join("rad" if self.names[k].startswith("phi") else "m" for k in free),
            )


class Element(Body):
    """A piece of a chain between two nodes.

    Its body-fixed coordinates are material ones: the distance x from its first node in the undeformed state, then the
    offset from the axis. So `element.point(x, y)` is a point of the surface, and moves with it.
    """

    mass: Scalar

    def __init__(self, name: str, chain: Chain, nodes: tuple[Any, Any], length: Scalar):
        super().__init__(name)
        self.chain, self.nodes, self.length, self.dimension = chain, nodes, length, chain.dimension

    @property
    def q(self) -> np.ndarray:
        """Coordinates of its two nodes."""
        return np.concatenate([node.q for node in self.nodes])

    @property
    def qdot(self) -> np.ndarray:
        """Their rates."""
        return np.concatenate([node.qdot for node in self.nodes])

    @property
    def u(self) -> np.ndarray:
        """Velocities of its two nodes, those that are free."""
        return np.concatenate([node.u for node in self.nodes])

    def local(self, r: Vector) -> np.ndarray:
        """Not possible."""
        raise ModelError(
            f"{self.name}: an element has no rigid frame that a place could be seen from; use one of its nodes"
        )

    def velocity(self, local: Vector) -> np.ndarray:
        """Velocity of a material point."""
        return rate_of(self.position(local), self.q, self.qdot)

    def kinetic_energy(self) -> Scalar:
        """T, a quadratic form of the rates of its nodes."""
        raise NotImplementedError

    def deformations(self) -> list[tuple[Scalar, Scalar]]:
        """Pairs of stiffness and deformation."""
        raise NotImplementedError

    def declare(self, system: System, equations: Equations) -> None:
        """Inertia, elasticity and damping."""
        numbers, u = self.chain.numbers, self.u
        if not u.size:
            raise ModelError(f"{self.name}: its supports hold both nodes, so that it cannot move; leave it out")
        self.mass = numbers["density"] * numbers["area"] * self.length
        T, pairs = self.kinetic_energy(), self.deformations()
        equations.kinetic_energy(T)
        equations.potential_energy(sum(k / 2 * e**2 for k, e in pairs))
        if "mass_damping" in numbers:
            equations.force(-numbers["mass_damping"] * derivative(T, by=u), on=u)
        if "stiffness_damping" in numbers:
            force = np.zeros(u.size, dtype=object)
            for k, e in pairs:
                (e_dot,) = rate_of([e], self.q, self.qdot)
                direction = np.atleast_1d(derivative(e_dot, by=u))  # de/dq, because qdot = u
                force = force - array(numbers["stiffness_damping"] * k * e_dot * direction)
            equations.force(force, on=u)


class Chain(Described):
    """Base of flexible parts: nodes in a row, joined by elements.

    length: of the whole part, cut into `elements` equal pieces; or the lengths of the pieces, one by one.
    supports: which coordinates of which node are held, such as {0: "clamped"} or {0: "x y"}; node -1 is the last one.
    numbers: of material and section. mass_damping, stiffness_damping: alpha and beta of Rayleigh's
    damping, which is left out where they are zero.

    `nodes` and `elements` are the bodies; `node(k)`, `start`, `tip`, `point(x, ...)` are points for joints, contacts.
    """

    dimension: int
    kind: str  # what messages call it
    held_by: Mapping[str, str]  # coordinates that supports with a name hold

    def __init__(
        self,
        name: str,
        length: Any,
        elements: int | None,
        supports: Mapping[int, str] | None,
        numbers: Mapping[str, Scalar],
        mass_damping: Scalar,
        stiffness_damping: Scalar,
    ):
        self.name = name
        where = f"{self.kind} {name!r}"
        self.numbers: dict[str, Any] = dict(numbers)
        require_positive(where, **self.numbers)
        self.lengths, self._equal = _cut(where, length, elements), np.ndim(length) == 0
        for key, value in zip(DAMPINGS, (mass_damping, stiffness_damping), strict=True):
            number(where, key, value, at_least=0)
            if is_symbolic(value) or float(value) > 0.0:
                self.numbers[key] = value
        self._supports = {} if supports is None else supports
        if not isinstance(self._supports, Mapping):
            raise ModelError(f"{where}: supports must be given as {{node: what it holds}}, got {supports!r}")
        self.nodes: list[Any] = []
        self.elements: list[Any] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, length={self.stations[-1]:.6g}, elements={len(self.lengths)})"

    @property
    def stations(self) -> np.ndarray:
        """Distances of the nodes from the start, in the undeformed state."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)])

    def _make(self, nodes: Sequence[Node], element: type[Element]) -> None:
        """Take the nodes, hold what supports hold, and put elements between them."""
        self.nodes = list(nodes)
        for k, what in self._supports.items():
            self._require_node(k)
            nodes[k].hold(self.held_by.get(what, what).split())
        pairs = zip(nodes[:-1], nodes[1:], self.lengths, strict=True)
        self.elements = [element(f"{self.name}.element{k}", self, (a, b), l_k) for k, (a, b, l_k) in enumerate(pairs)]

    def declare(self, system: System, equations: Equations) -> None:
        """Parameters of the whole chain; nodes and elements become parts of the system."""
        self.numbers = {
            key: system.parameter(f"{self.name}.{key}", value, **{"at_least" if key in DAMPINGS else "above": 0.0})
            for key, value in self.numbers.items()
        }
        if self._equal:
            lengths = [system.parameter(f"{self.name}.element_length", self.lengths[0], above=0)] * len(self.elements)
        else:
            lengths = [system.parameter(f"{e.name}.length", e.length, above=0) for e in self.elements]
        for node in self.nodes:
            system.add(node)
        for element, length in zip(self.elements, lengths, strict=True):
            element.length = length
            system.add(element)

    # -- points ----------------------------------------------------------------------------------------------------

    def node(self, k: int) -> Point:
        """The point at node k, on the axis; k = -1 is the last one."""
        self._require_node(k)
        return self.nodes[k].point()

    @property
    def start(self) -> Point:
        """The first node."""
        return self.node(0)

    @property
    def tip(self) -> Point:
        """The last node."""
        return self.node(-1)

    def point(self, x: float, *offset: float) -> Point:
        """The material point at distance x from the start in the undeformed state, offset from the axis."""
        at, where = self.stations, f"{self.kind} {self.name!r}"
        number(where, "x", x)
        if not 0.0 <= x <= at[-1] * (1 + 1e-12):
            raise ModelError(f"{where}: no point at x = {x:g}; its length is {at[-1]:g}")
        if len(offset) not in (0, self.dimension - 1):
            raise ModelError(f"{where}: offset needs {self.dimension - 1} components, got {len(offset)}")
        k = min(int(np.searchsorted(at, x, side="right")) - 1, len(self.elements) - 1)
        return self.elements[k].point(x - at[k], *(offset or (0.0,) * (self.dimension - 1)))

    def _require_node(self, k: int) -> None:
        n = len(self.nodes)
        if not isinstance(k, (int, np.integer)) or not -n <= k < n:
            raise ModelError(f"{self.kind} {self.name!r}: there is no node {k}, only 0 to {n - 1}")


def _cut(where: str, length: Any, elements: int | None) -> np.ndarray:
    """The lengths of the elements, as numbers."""
    if np.ndim(length) == 0:
        if not isinstance(elements, (int, np.integer)) or elements < 1:
            raise ModelError(f"{where}: elements = {elements} must be a whole number >= 1")
        require_positive(where, length=length)
        return np.full(int(elements), float(length) / int(elements))
    try:
        pieces = array(length)
    except ModelError:
        pieces = np.zeros(0)
    if pieces.ndim != 1 or not pieces.size or elements not in (None, pieces.size):
        raise ModelError(
            f"{where}: length must be one number or a list of lengths, one per element, got {length!r} for "
            f"elements = {elements}"
        )
    for k, piece in enumerate(pieces):
        require_positive(where, **{f"length[{k}]": piece})
    return pieces


def rate_of(expressions: Vector, q: np.ndarray, qdot: np.ndarray) -> np.ndarray:
    """Time derivative of expressions of the coordinates q."""
    return array(ca.densify(along(column(expressions), (column(q), column(qdot)))))

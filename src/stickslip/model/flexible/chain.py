"""A flexible part is a chain: nodes, which are bodies without a mass of their own, and elements between them.

Nodes and elements are parts of the system like all others. Elements of a chain declare the same expressions, so that they
share one compiled type however many there are; their numbers are parameters of the chain. An element of any kind is

    T            kinetic energy, with consistent mass
    V = sum of k e^2 / 2                            stiffness k, deformation e(q)
    f = -alpha dT/du - beta sum of k edot de/dq     Rayleigh damping

Damping acts on deformations, not on displacements, so that beta never brakes a rigid motion; for elements that are linear
it is the usual C = alpha M + beta K.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, column, derivative, is_symbolic, pi
from stickslip.model.bodies import Body, Point, require_positive
from stickslip.model.declaration import Equations
from stickslip.model.system import System


class Node(Body):
    """A node of a chain: a body whose inertia belongs to the elements that meet there.

    `names` are its coordinates. Those that a support holds are no coordinates of the system but parameters, with their
    initial value; `q` and `qdot` have all of them in order, `u` only the velocities that are free.
    """

    names: tuple[str, ...]

    def __init__(self, name: str, initial: Sequence[float], velocity: Sequence[float]):
        Body.__init__(self, name)  # not that of a body with a mass, which a node may also be
        self.initial, self.initial_velocity = np.asarray(initial, dtype=float), np.asarray(velocity, dtype=float)
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
        free = self._free
        self._u = np.zeros(0, dtype=object)
        self._q = np.zeros(len(self.names), dtype=object)
        for name in self.held:
            k = self.names.index(name)
            self._q[k] = system.parameter(f"{self.name}.{name}", self.initial[k])
        if free:
            state = {"initial": self.initial[free], "velocity": self.initial_velocity[free]}
            self._q[free], self._u = system.coordinates(" ".join(self.names[k] for k in free), **state, block=self.name)


class Element(Body):
    """A piece of a chain between two nodes.

    Its body-fixed coordinates are material ones: the distance x from its first node in the undeformed state, then the
    offset from the axis. So `element.point(x, y)` is a point of the surface, and moves with it.
    """

    def __init__(self, name: str, chain: Chain, nodes: tuple[Any, Any], length: Scalar):
        super().__init__(name)
        self.chain, self.nodes, self.length, self.dimension = chain, nodes, length, chain.dimension

    @property
    def q(self) -> np.ndarray:
        """Coordinates of its two nodes."""
        return np.concatenate([node.q for node in self.nodes])

    @property
    def u(self) -> np.ndarray:
        """Velocities of its two nodes, those that are free."""
        return np.concatenate([node.u for node in self.nodes])

    def local(self, r: Vector) -> np.ndarray:
        raise ModelError(
            f"{self.name}: an element has no rigid frame that a place could be seen from; use one of its nodes"
        )

    def velocity(self, local: Vector) -> np.ndarray:
        """Velocity of a material point."""
        return rate_of(self.position(local), self.q, self.qdot)

    @property
    def qdot(self) -> np.ndarray:
        """Rates of all coordinates of its two nodes."""
        return np.concatenate([node.qdot for node in self.nodes])

    def kinetic_energy(self) -> Scalar:
        """T of the velocities of its nodes."""
        raise NotImplementedError

    def deformations(self) -> list[tuple[Scalar, Scalar]]:
        """Pairs of stiffness and deformation."""
        raise NotImplementedError

    def declare(self, system: System, equations: Equations) -> None:
        if not self.u.size:
            raise ModelError(f"{self.name}: its supports hold both nodes, so that it cannot move; leave it out")
        numbers = self.chain.numbers
        self.mass = numbers["density"] * numbers["area"] * self.length
        T = self.kinetic_energy()
        equations.kinetic_energy(T)
        pairs = self.deformations()
        equations.potential_energy(sum(k / 2 * e**2 for k, e in pairs))
        if "mass_damping" in numbers:
            equations.force(-numbers["mass_damping"] * derivative(T, by=self.u), on=self.u)
        if "stiffness_damping" in numbers:
            force = np.zeros(self.u.size, dtype=object)
            for k, e in pairs:
                (e_dot,) = rate_of([e], self.q, self.qdot)  # and de/dq = d(edot)/du, because qdot = u
                force = force - array(
                    numbers["stiffness_damping"] * k * e_dot * np.atleast_1d(derivative(e_dot, by=self.u))
                )
            equations.force(force, on=self.u)


class Chain:
    """Base of flexible parts: nodes in a row, joined by elements.

    length: of the whole part, cut into `elements` equal pieces; or the lengths of the pieces, one by one.
    supports: which coordinates of which node are held, such as {0: "clamped"}, {0: "x y"}; node -1 is the last one.
    mass_damping, stiffness_damping: alpha and beta of Rayleigh damping; zero leaves the damping out altogether.

    `nodes` and `elements` are the bodies; `node(k)`, `start`, `tip` and `point(x, ...)` are points for joints and contacts.
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
        require_positive(where, **{key: value for key, value in numbers.items() if value is not None})
        self.lengths = self._cut(where, length, elements)
        self.numbers: dict[str, Any] = {key: value for key, value in numbers.items() if value is not None}
        for key, value in (("mass_damping", mass_damping), ("stiffness_damping", stiffness_damping)):
            if not is_symbolic(value) and not (np.isfinite(float(value)) and float(value) >= 0.0):
                raise ModelError(f"{where}: {key} = {value} must be a finite number >= 0")
            if is_symbolic(value) or float(value) > 0.0:
                self.numbers[key] = value
        self._equal = np.ndim(length) == 0
        self._supports = dict(supports or {})
        self.nodes: list[Any] = []
        self.elements: list[Any] = []

    def _cut(self, where: str, length: Any, elements: int | None) -> np.ndarray:
        """The lengths of the elements, as numbers."""
        if np.ndim(length) == 0:
            if elements is None or int(elements) != elements or elements < 1:
                raise ModelError(f"{where}: elements = {elements} must be a whole number >= 1")
            require_positive(where, length=length)
            return np.full(int(elements), float(length) / int(elements))
        pieces = np.asarray(length, dtype=float)
        if pieces.ndim != 1 or not pieces.size or elements not in (None, pieces.size):
            raise ModelError(
                f"{where}: length must be one number or a list of lengths, one per element, got {length!r}"
            )
        for k, piece in enumerate(pieces):
            require_positive(where, **{f"length[{k}]": piece})
        return pieces

    @property
    def stations(self) -> np.ndarray:
        """Distances of the nodes from the start, in the undeformed state."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)])

    def _make(self, nodes: Sequence[Node], element: type[Element]) -> None:
        """Take the nodes, hold what supports hold, and put elements between them."""
        self.nodes = list(nodes)
        for k, what in self._supports.items():
            if not -len(nodes) <= k < len(nodes):
                raise ModelError(
                    f"{self.kind} {self.name!r}: there is no node {k} to support, only 0 to {len(nodes) - 1}"
                )
            nodes[k].hold(self.held_by.get(what, what).split())
        pairs = zip(self.nodes[:-1], self.nodes[1:], strict=True)
        self.elements = [
            element(f"{self.name}.element{k}", self, pair, length)
            for k, (pair, length) in enumerate(zip(pairs, self.lengths, strict=True))
        ]

    def declare(self, system: System, equations: Equations) -> None:
        """Parameters of the whole chain; nodes and elements become parts of the system."""
        self.numbers = {key: system.parameter(f"{self.name}.{key}", value) for key, value in self.numbers.items()}
        if self._equal:
            lengths = [system.parameter(f"{self.name}.element_length", self.lengths[0])] * len(self.elements)
        else:
            lengths = [system.parameter(f"{e.name}.length", e.length) for e in self.elements]
        for node in self.nodes:
            system.add(node)
        for element, length in zip(self.elements, lengths, strict=True):
            element.length = length
            system.add(element)

    # -- points ----------------------------------------------------------------------------------------------------

    def node(self, k: int) -> Point:
        """The point at node k, on the axis; k = -1 is the last one."""
        if not -len(self.nodes) <= k < len(self.nodes):
            raise ModelError(f"{self.kind} {self.name!r}: there is no node {k}, only 0 to {len(self.nodes) - 1}")
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
        """The material point at distance x from the start in the undeformed state, offset from the axis in its section."""
        at = self.stations
        if not -1e-12 * at[-1] <= x <= at[-1] * (1 + 1e-12):
            raise ModelError(f"{self.kind} {self.name!r}: no point at x = {x:g}; its length is {at[-1]:g}")
        if len(offset) not in (0, self.dimension - 1):
            raise ModelError(
                f"{self.kind} {self.name!r}: offset needs {self.dimension - 1} components, got {len(offset)}"
            )
        k = min(int(np.searchsorted(at, x, side="right")) - 1, len(self.elements) - 1)
        return self.elements[max(k, 0)].point(x - at[max(k, 0)], *(offset or (0.0,) * (self.dimension - 1)))


def rate_of(expressions: Vector, q: np.ndarray, qdot: np.ndarray) -> np.ndarray:
    """Time derivative of expressions of the coordinates q."""
    return array(ca.densify(ca.jacobian(column(expressions), column(q)) @ column(qdot)))


# -- cross-sections ----------------------------------------------------------------------------------------------------


def circular(radius: float) -> dict[str, Any]:
    """Area, moments of area, torsion constant and shear area of a full circle, as arguments of `SpatialBeam`.

    The shear area is 9/10 of the area.

    >>> round(circular(0.01)["torsion"] / circular(0.01)["moments"][0], 6)
    2.0
    """
    require_positive("circular section", radius=radius)
    area, moment = pi * radius**2, pi * radius**4 / 4
    return {"area": area, "moments": (moment, moment), "torsion": 2 * moment, "shear_area": 0.9 * area}


def rectangular(width: float, height: float) -> dict[str, Any]:
    """The same of a rectangle, `width` along y and `height` along z; the shear area is 5/6 of the area.

    The torsion constant is that of Saint-Venant's series, within 0.5 %.

    >>> section = rectangular(0.02, 0.01)
    >>> round(section["moments"][0], 12), round(section["moments"][1], 12)
    (1.667e-09, 6.667e-09)
    """
    require_positive("rectangular section", width=width, height=height)
    a, b = max(width, height), min(width, height)
    torsion = a * b**3 * (1 / 3 - 0.21 * b / a * (1 - (b / a) ** 4 / 12))
    moments = (width * height**3 / 12, height * width**3 / 12)
    return {"area": a * b, "moments": moments, "torsion": torsion, "shear_area": 5 / 6 * a * b}

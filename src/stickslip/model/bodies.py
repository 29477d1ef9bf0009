"""Bodies, the ground, and points fixed to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, column, diag, rotation
from stickslip.model.declaration import TIME, Equations
from stickslip.model.system import System


class Body:
    """Something with coordinates q and velocities u of its own that points can be fixed to.

    A body has its symbols once it is added to a system; until then only its numbers.
    """

    dimension: int
    mass: Scalar

    def __init__(self, name: str):
        self.name = name
        self._system: System | None = None
        self._q: np.ndarray | None = None
        self._u: np.ndarray | None = None

    @property
    def q(self) -> np.ndarray:
        """Symbols of the coordinates."""
        if self._q is None:
            raise ModelError(f"body {self.name!r} belongs to no system yet; add it first: system.add({self.name})")
        return self._q

    @property
    def u(self) -> np.ndarray:
        """Symbols of the velocities."""
        if self._u is None:
            raise ModelError(f"body {self.name!r} belongs to no system yet; add it first: system.add({self.name})")
        return self._u

    @property
    def center(self) -> np.ndarray:
        """Position of the centre of mass."""
        return self.position(np.zeros(self.dimension))

    def position(self, local: Vector) -> np.ndarray:
        """Where a body-fixed point is in space."""
        raise NotImplementedError

    def local(self, r: Vector) -> np.ndarray:
        """The body-fixed coordinates of a place in space."""
        raise NotImplementedError

    def point(self, *local: Scalar) -> Point:
        """A point fixed to the body, by its body-fixed coordinates; without any, the centre of mass."""
        coordinates = local or (0.0,) * self.dimension
        if len(coordinates) != self.dimension:
            raise ModelError(
                f"a point of body {self.name!r} needs {self.dimension} coordinates, got {len(coordinates)}: {coordinates}"
            )
        return Point(self, coordinates)

    def declare(self, system: System, equations: Equations) -> None:
        """Coordinates and inertia."""
        raise NotImplementedError


class Ground:
    """What does not move. Points of it are places in space: `ground.point(0, 1)`."""

    name = "ground"

    def point(self, *local: Scalar) -> Point:
        """A fixed place."""
        return Point(self, local)

    def position(self, local: Vector) -> np.ndarray:
        """A fixed place is where it is."""
        return array(local)

    def local(self, r: Vector) -> np.ndarray:
        """Coordinates in space."""
        return array(r)


ground = Ground()


@dataclass(frozen=True)
class Point:
    """A point fixed to a body or to the ground."""

    body: Body | Ground
    coordinates: Sequence[Scalar]

    def position(self, system: System, prefix: str) -> np.ndarray:
        """Its place in space; its coordinates become parameters of the system, named after `prefix`."""
        return self.body.position(parameters(system, prefix, self.coordinates))


class PointMass(Body):
    """A mass point in one, two or three dimensions, with the coordinates x, y, z and qdot = u.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> ball = s.add(ss.PointMass("ball", mass=0.1, position=[0, 1], velocity=[1, 0]))
    >>> ball.q
    array([SX(ball.x), SX(ball.y)], dtype=object)
    """

    def __init__(self, name: str, *, mass: Scalar, position: Vector, velocity: Vector | None = None):
        super().__init__(name)
        self.mass, self.initial = mass, np.atleast_1d(np.asarray(position, dtype=float))
        self.dimension = self.initial.size
        if self.dimension not in (1, 2, 3):
            raise ModelError(f"point mass {name!r}: position has {self.dimension} components; 1, 2 or 3 are possible")
        self.velocity = np.zeros(self.dimension) if velocity is None else velocity
        require_positive(f"point mass {name!r}", mass=mass)

    def position(self, local: Vector) -> np.ndarray:
        return self.q + array(local)

    def local(self, r: Vector) -> np.ndarray:
        return array(r) - self.q

    def declare(self, system: System, equations: Equations) -> None:
        names = " ".join("xyz"[: self.dimension])
        self._q, self._u = system.coordinates(names, initial=self.initial, velocity=self.velocity, block=self.name)
        self.mass = system.parameter(f"{self.name}.mass", self.mass)
        equations.mass_matrix(diag([self.mass] * self.dimension), of=self.u)


class PlanarBody(Body):
    """A rigid body in the plane: coordinates x, y of its centre of mass and the angle phi, with qdot = u.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> crank = s.add(ss.PlanarBody("crank", mass=0.038, inertia=7.4e-5, position=[0.0765, 0]))
    >>> end = crank.point(0.0765, 0)
    """

    dimension = 2

    def __init__(
        self,
        name: str,
        *,
        mass: Scalar,
        inertia: Scalar,
        position: Vector = (0.0, 0.0),
        angle: float = 0.0,
        velocity: Vector = (0.0, 0.0),
        angular_velocity: float = 0.0,
    ):
        super().__init__(name)
        self.mass, self.inertia = mass, inertia
        self.initial = (*np.atleast_1d(position), angle)
        self.velocity = (*np.atleast_1d(velocity), angular_velocity)
        require_positive(f"planar body {name!r}", mass=mass, inertia=inertia)

    def position(self, local: Vector) -> np.ndarray:
        return self.q[:2] + rotation(self.q[2]) @ array(local)

    def local(self, r: Vector) -> np.ndarray:
        return rotation(self.q[2]).T @ (array(r) - self.q[:2])

    def declare(self, system: System, equations: Equations) -> None:
        self._q, self._u = system.coordinates("x y phi", initial=self.initial, velocity=self.velocity, block=self.name)
        self.mass = system.parameter(f"{self.name}.mass", self.mass)
        self.inertia = system.parameter(f"{self.name}.inertia", self.inertia)
        equations.mass_matrix(diag([self.mass, self.mass, self.inertia]), of=self.u)


# -- helpers of parts --------------------------------------------------------------------------------------------------


def parameters(system: System, prefix: str, values: Vector) -> np.ndarray:
    """A vector of named parameters, so that parts that differ in numbers only share one compiled type."""
    return array([system.parameter(f"{prefix}.{'xyz'[k]}", value) for k, value in enumerate(values)])


def require_positive(where: str, **values: Any) -> None:
    """Numbers must be positive; parameters are checked with the mass matrix."""
    for name, value in values.items():
        if not isinstance(value, ca.SX) and not (np.isfinite(float(value)) and float(value) > 0):
            raise ModelError(f"{where}: {name} = {value} must be a finite number > 0")


def velocities_of(*bodies: Body | Ground) -> np.ndarray:
    """The velocities of these bodies, one after the other, each once, also where elements share a node."""
    found = {u.__hash__(): u for b in bodies if isinstance(b, Body) for u in b.u}
    return array(list(found.values()))


def rate(system: System, expression: Any) -> Any:
    """Time derivative of an expression of t and q along the motion."""
    f = column(expression)
    out = ca.jacobian(f, TIME)
    for block in system.blocks:
        if ca.depends_on(f, block.q):
            out += ca.jacobian(f, block.q) @ block.qdot
    return array(out) if f.numel() > 1 else ca.densify(out)[0]

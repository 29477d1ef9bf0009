"""Where things are: the ground, and points, axes and frames fixed to it or to a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, column, cross, dot, is_symbolic, norm, where
from stickslip.math import rotation as turn
from stickslip.model.declaration import TIME
from stickslip.model.described import Described
from stickslip.model.given import direction, number, vector
from stickslip.model.rates import along

if TYPE_CHECKING:
    from stickslip.model.system import System


OPPOSITE = -0.6  # cosine of the angle from which on a normal counts as opposite, see `turned_triad`


class Carrier(Described):
    """What points, axes and frames are fixed to: a body, or the ground.

    Vectors of the carrier are "local", those of space have no adjective. Everything is an expression of the
    coordinates.
    """

    name: str
    dimension: int

    def position(self, local: Vector) -> np.ndarray:
        """Where a point fixed to the carrier is."""
        raise NotImplementedError

    def local(self, r: Vector) -> np.ndarray:
        """The local coordinates of a place."""
        raise NotImplementedError

    def direction(self, local: Vector) -> np.ndarray:
        """A direction fixed to the carrier, seen in space."""
        raise NotImplementedError

    def velocity(self, local: Vector) -> np.ndarray:
        """Velocity of a point fixed to the carrier."""
        raise NotImplementedError

    def velocity_at(self, r: Vector) -> np.ndarray:
        """Velocity of the point of the carrier that is at the place r at this moment."""
        return self.velocity(self.local(r))

    @property
    def angle(self) -> Scalar:
        """Angle of a carrier in the plane."""
        raise ModelError(f"{self.name!r} has no angle in the plane")

    @property
    def angular_velocity(self) -> Any:
        """Angular velocity: a scalar in the plane, a vector in space."""
        raise ModelError(f"{self.name!r} is a point and cannot turn; a body with an orientation is needed here")

    def point(self, *local: Scalar) -> Point:
        """A point fixed to the carrier, by its local coordinates; without any, its origin (a body's centre of mass)."""
        coordinates = local or (0.0,) * self.dimension
        if len(coordinates) != self.dimension:
            raise ModelError(
                f"a point of body {self.name!r} needs {self.dimension} coordinates, got {len(coordinates)}: "
                f"{coordinates}"
            )
        return Point(self, _coordinates(self, coordinates))

    def axis(self, *local: Scalar) -> Axis:
        """A direction fixed to the carrier, by its local components."""
        return Axis(self, tuple(local))

    def frame(self, origin: Vector, rotation: Any = None) -> Frame:
        """A frame fixed to the carrier; the columns of `rotation` are its axes in local components.

        In the plane `rotation` may be an angle instead, counter-clockwise.
        """
        place = vector(f"frame of {self.name!r}", "origin", origin, (2, 3))
        if rotation is None:
            return Frame(self, place, np.eye(len(place)))
        if len(place) == 2 and np.ndim(rotation) == 0:
            return Frame(self, place, turn(number(f"frame of {self.name!r}", "rotation", rotation)))
        return Frame(self, place, array(rotation))


class Ground(Carrier):
    """What does not move. Points of it are places in space: `ground.point(0, 1)`."""

    name = "ground"

    def __repr__(self) -> str:
        return "ground"

    def point(self, *local: Scalar) -> Point:
        """A fixed place."""
        if len(local) not in (1, 2, 3):
            raise ModelError(f"a point of the ground needs 1, 2 or 3 coordinates, got {len(local)}: {local}")
        return Point(self, _coordinates(self, local))

    def position(self, local: Vector) -> np.ndarray:
        """A fixed place is where it is."""
        return array(local)

    def local(self, r: Vector) -> np.ndarray:
        """Coordinates in space."""
        return array(r)

    def direction(self, local: Vector) -> np.ndarray:
        """A fixed direction."""
        return array(local)

    def velocity(self, local: Vector) -> np.ndarray:
        """None."""
        return np.zeros(len(local))


ground = Ground()


@dataclass(frozen=True)
class Point:
    """A point fixed to a body or to the ground.

    >>> import stickslip as ss
    >>> ss.ground.point(1, 2).coordinates
    (1, 2)
    """

    body: Carrier
    coordinates: Sequence[Scalar]

    @property
    def dimension(self) -> int:
        """Number of its coordinates."""
        return len(self.coordinates)

    def position(self, system: System, prefix: str) -> np.ndarray:
        """Its place in space; its coordinates become parameters of the system, named after `prefix`."""
        return self.body.position(parameters(system, prefix, self.coordinates))

    def place_and_velocity(self, system: System, prefix: str) -> tuple[np.ndarray, np.ndarray]:
        """Its place and its velocity."""
        local = parameters(system, prefix, self.coordinates)
        return self.body.position(local), self.body.velocity(local)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.body.name}.point({', '.join(f'{c}' for c in self.coordinates)})"


@dataclass(frozen=True)
class Axis:
    """A direction fixed to a body or to the ground."""

    body: Carrier
    components: Sequence[Scalar]


@dataclass(frozen=True)
class Frame:
    """A frame fixed to a body: points and axes can be given in it, and shapes placed with it.

    >>> import numpy as np
    >>> import stickslip as ss
    >>> mount = ss.ground.frame([1.0, 0.0, 0.0], np.diag([1.0, -1.0, -1.0]))
    >>> mount.point(0, 0, 2).coordinates
    (1.0, 0.0, -2.0)
    """

    body: Carrier
    origin: np.ndarray
    rotation: np.ndarray

    def __post_init__(self) -> None:
        n, R = len(self.origin), self.rotation
        if R.shape != (n, n) or not np.allclose(R.T @ R, np.eye(n), atol=1e-10) or np.linalg.det(R) < 0:
            angle = "an angle or " if n == 2 else ""
            raise ModelError(
                f"frame of {self.body.name!r}: rotation= must be {angle}a proper orthogonal {n} x {n} matrix"
            )

    def point(self, *local: Scalar) -> Point:
        """A point by its coordinates in this frame; without any, the origin."""
        return Point(
            self.body, tuple((self.origin + self.rotation @ array(local or [0.0] * len(self.origin))).tolist())
        )

    def axis(self, *local: Scalar) -> Axis:
        """A direction by its components in this frame."""
        return Axis(self.body, tuple((self.rotation @ array(local)).tolist()))


# -- helpers of parts --------------------------------------------------------------------------------------------------


def _coordinates(carrier: Carrier, local: Sequence[Scalar]) -> tuple[Scalar, ...]:
    return tuple(number(f"point of {carrier.name!r}", f"coordinate {k + 1}", x) for k, x in enumerate(local))


def parameters(system: System, prefix: str, values: Vector) -> np.ndarray:
    """A vector of named parameters, so that parts that differ in numbers only share one compiled type.

    A vector of zeros stays one: a kernel for a point in the centre of mass is much smaller (no rotation in it).
    """
    if not is_symbolic(values) and not np.any(array(values)):
        return np.zeros(len(values))
    return array([system.parameter(f"{prefix}.{'xyz'[k]}", value) for k, value in enumerate(values)])


def unit(where: str, axis: Vector, dimension: int) -> np.ndarray:
    """A direction given by numbers, with length one."""
    if is_symbolic(axis):
        raise ModelError(f"{where}: the axis must be given by numbers, not by symbols")
    a = direction(where, "axis", axis, dimension)
    return a / norm(a)


def triad(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that make a right-handed triad with a unit vector: (x, y) for z."""
    e = np.eye(3)[0 if abs(axis[0]) < 0.9 else 1]
    first = e - (e @ axis) * axis
    first = first / np.sqrt(first @ first)
    return first, cross(axis, first)


def turned_triad(n: np.ndarray, e: np.ndarray, e_1: np.ndarray, e_2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tangents to n: the triad (e, e_1, e_2), turned on the shortest way from e to n.

    No field of tangents is continuous on the whole sphere. Where n has turned by more than 127 degrees away from e, the
    triad (-e, e_1, -e_2) is turned instead: the frame jumps there, once, and is finite for every n.
    """
    side = where(dot(e, n) > OPPOSITE, 1.0, -1.0)
    share = array((side * e + n) / (1 + side * dot(e, n)))
    return array(e_1 - dot(e_1, n) * share), array(side * (e_2 - dot(e_2, n) * share))


def velocities_of(*bodies: Any) -> np.ndarray:
    """The velocities of these bodies, one after the other, each once, also where elements share a node."""
    found = {u.__hash__(): u for b in bodies if not isinstance(b, Ground) for u in b.u}
    return array(list(found.values()))


def relative_spin(first: Carrier, second: Carrier, dimension: int) -> Any:
    """Angular velocity of the second body against the first: a scalar in the plane, a vector in space."""
    zero = 0.0 if dimension == 2 else np.zeros(3)
    spins = [zero if isinstance(body, Ground) else body.angular_velocity for body in (first, second)]
    return spins[1] - spins[0]


def initial_turn(system: System, first: Carrier, second: Carrier) -> np.ndarray:
    """Matrix from components in the first body to those in the second, at the initial state, in space."""
    A_1, A_2 = (system.initial_value([list(b.direction(e)) for e in np.eye(3)]).T for b in (first, second))
    return A_2.T @ A_1


def rate(system: System, expression: Any) -> Any:
    """Time derivative of an expression of t and q along the motion."""
    f = column(expression)
    moving = [(block.q, block.qdot) for block in system.blocks if ca.depends_on(f, block.q)]
    out = along(f, *moving, t=TIME)
    return array(out) if f.numel() > 1 else ca.densify(out)[0]

"""Bodies: coordinates, velocities and inertia."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, column, cross, diag, dot, is_symbolic, quaternion_rotation, rotation
from stickslip.model.declaration import TIME, Coordinates, Equations
from stickslip.model.frames import Carrier
from stickslip.model.given import numbers, principal_or_full, require_positive, unit_quaternion
from stickslip.model.system import System


class Body(Carrier):
    """Something with coordinates q and velocities u of its own that points can be fixed to.

    A body has its symbols once it is added to a system; until then only its numbers.
    """

    mass: Any
    # Of one of many equal bodies they are rows of its block: a view of each would take 0.2 kB.
    _initial: Any = None
    _initial_velocity: Any = None

    def __init__(self, name: str):
        self.name = name
        self._q: np.ndarray | None = None
        self._u: np.ndarray | None = None
        self._block: Coordinates | None = None  # of one of many equal bodies: its symbols are made when they are needed

    @property
    def q(self) -> np.ndarray:
        """Symbols of the coordinates."""
        if self._q is None and self._block is not None:
            self._q = array(self._block.q)
        if self._q is None:
            raise ModelError(f"body {self.name!r} belongs to no system yet; add it first: system.add({self.name})")
        return self._q

    @property
    def u(self) -> np.ndarray:
        """Symbols of the velocities."""
        if self._u is None and self._block is not None:
            self._u = array(self._block.u)
        if self._u is None:
            raise ModelError(f"body {self.name!r} belongs to no system yet; add it first: system.add({self.name})")
        return self._u

    @property
    def initial(self) -> Any:
        """Coordinates at the start."""
        if self._initial is None and self._block is not None:
            return self._block.q_initial
        if self._initial is None:
            raise AttributeError(f"{self.name!r} has no initial coordinates")
        return self._initial

    @initial.setter
    def initial(self, values: Any) -> None:
        self._initial = values

    @property
    def initial_velocity(self) -> Any:
        """Velocities at the start."""
        if self._initial_velocity is None and self._block is not None:
            return self._block.u_initial
        if self._initial_velocity is None:
            raise AttributeError(f"{self.name!r} has no initial velocities")
        return self._initial_velocity

    @initial_velocity.setter
    def initial_velocity(self, values: Any) -> None:
        self._initial_velocity = values

    @property
    def center(self) -> np.ndarray:
        """Position of the centre of mass."""
        return self.position(np.zeros(self.dimension))

    def declare(self, system: System, equations: Equations) -> None:
        """Coordinates and inertia."""
        raise NotImplementedError


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
        where = f"point mass {name!r}"
        self.mass, self.initial = mass, numbers(where, "position", position, (1, 2, 3))
        self.dimension = n = self.initial.size
        self.initial_velocity = np.zeros(n) if velocity is None else numbers(where, "velocity", velocity, n)
        require_positive(where, mass=mass)

    def position(self, local: Vector) -> np.ndarray:
        return self.q + array(local)

    def local(self, r: Vector) -> np.ndarray:
        return array(r) - self.q

    def direction(self, local: Vector) -> np.ndarray:
        return array(local)

    def velocity(self, local: Vector) -> np.ndarray:
        return self.u

    def declare(self, system: System, equations: Equations) -> None:
        names = " ".join("xyz"[: self.dimension])
        self._q, self._u = system.coordinates(
            names,
            initial=self.initial,
            velocity=self.initial_velocity,
            block=self.name,
            units=" ".join(["m"] * self.dimension),
        )
        self.mass = system.parameter(f"{self.name}.mass", self.mass, above=0)
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
        where = f"planar body {name!r}"
        place, turn = numbers(where, "position", position, 2), numbers(where, "angle", angle, 1)
        v, omega = numbers(where, "velocity", velocity, 2), numbers(where, "angular_velocity", angular_velocity, 1)
        self.initial, self.initial_velocity = np.concatenate([place, turn]), np.concatenate([v, omega])
        require_positive(where, mass=mass, inertia=inertia)

    def position(self, local: Vector) -> np.ndarray:
        return self.q[:2] + self.direction(local)

    def local(self, r: Vector) -> np.ndarray:
        return rotation(self.q[2]).T @ (array(r) - self.q[:2])

    def direction(self, local: Vector) -> np.ndarray:
        return _turn(lambda: rotation(self.q[2]), local)

    def velocity(self, local: Vector) -> np.ndarray:
        return self._velocity(self.direction(local))

    def velocity_at(self, r: Vector) -> np.ndarray:
        return self._velocity(array(r) - self.q[:2])

    def _velocity(self, arm: np.ndarray) -> np.ndarray:
        return array([self.u[0] - self.u[2] * arm[1], self.u[1] + self.u[2] * arm[0]])

    @property
    def angle(self) -> Scalar:
        return self.q[2]

    @property
    def angular_velocity(self) -> Scalar:
        return self.u[2]

    def declare(self, system: System, equations: Equations) -> None:
        self._q, self._u = system.coordinates(
            "x y phi", initial=self.initial, velocity=self.initial_velocity, block=self.name, units="m m rad"
        )
        self.mass = system.parameter(f"{self.name}.mass", self.mass, above=0)
        self.inertia = system.parameter(f"{self.name}.inertia", self.inertia, above=0)
        equations.mass_matrix(diag([self.mass, self.mass, self.inertia]), of=self.u)


class RigidBody(Body):
    """A rigid body in space: position of the centre of mass, unit quaternion (scalar first); velocity, angular
    velocity.

        q = (x, y, z, p_0, p_1, p_2, p_3),   u = (v_x, v_y, v_z, omega_x, omega_y, omega_z)
        rdot = v,   pdot = 1/2 p * (0, omega)                       v in space, omega in the body's frame
        M = diag(m, m, m, Theta),   h = (0, -omega x Theta omega)

    inertia: three principal moments, or a symmetric 3 x 3 matrix, about the centre of mass, in the body's frame.
    orientation: a quaternion (of any length > 0), or a rotation matrix from the body's frame to space.
    angular_velocity: in the body's frame.

    The rotation matrix is that of p/|p|, so a body stays rigid even where a scheme lets |p| drift.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> m, J = ss.inertia.box(0.3, 0.2, 0.1, density=1000)
    >>> box = s.add(ss.RigidBody("box", mass=m, inertia=J, position=[0, 0, 1]))
    >>> corner = box.point(0.15, 0.1, 0.05)
    """

    dimension = 3

    def __init__(
        self,
        name: str,
        *,
        mass: Scalar,
        inertia: Any,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Any = (1.0, 0.0, 0.0, 0.0),
        velocity: Vector = (0.0, 0.0, 0.0),
        angular_velocity: Vector = (0.0, 0.0, 0.0),
    ):
        super().__init__(name)
        where = f"rigid body {name!r}"
        require_positive(where, mass=mass)
        self.mass, self.inertia = mass, principal_or_full(where, inertia)
        self._A: np.ndarray | None = None
        self._spin: np.ndarray | None = None
        place, p = numbers(where, "position", position, 3), unit_quaternion(where, orientation)
        v, omega = numbers(where, "velocity", velocity, 3), numbers(where, "angular_velocity", angular_velocity, 3)
        self.initial, self.initial_velocity = np.concatenate([place, p]), np.concatenate([v, omega])

    @property
    def A(self) -> np.ndarray:
        """Rotation matrix from the body's frame to space."""
        if self._A is None:
            self._A = quaternion_rotation(self.q[3:])
        return self._A

    def position(self, local: Vector) -> np.ndarray:
        return self.q[:3] + self.direction(local)

    def local(self, r: Vector) -> np.ndarray:
        return self.A.T @ (array(r) - self.q[:3])

    def direction(self, local: Vector) -> np.ndarray:
        return _turn(lambda: self.A, local)

    def velocity(self, local: Vector) -> np.ndarray:
        if not is_symbolic(local) and not np.any(local):
            return self.u[:3]
        return self.u[:3] + self.A @ cross(self.u[3:], array(local))

    def velocity_at(self, r: Vector) -> np.ndarray:
        return self.u[:3] + cross(self.angular_velocity, array(r) - self.q[:3])

    @property
    def angular_velocity(self) -> np.ndarray:
        if self._spin is None:  # once for all contacts and joints of the body
            self._spin = self.A @ self.u[3:]
        return self._spin

    def declare(self, system: System, equations: Equations) -> None:
        self._q, self._u = system.coordinates(
            "x y z p_0 p_1 p_2 p_3",
            velocities="v_x v_y v_z omega_x omega_y omega_z",
            initial=self.initial,
            velocity=self.initial_velocity,
            kinematics=_rigid_kinematics(),
            block=self.name,
            units="m m m - - - -",
            velocity_units="m/s m/s m/s rad/s rad/s rad/s",
        )
        self.mass = system.parameter(f"{self.name}.mass", self.mass, above=0)
        Theta = self._inertia_parameters(system)
        omega = self.u[3:]
        equations.mass_matrix(diag([self.mass] * 3), of=self.u[:3])
        equations.mass_matrix(Theta, of=omega)
        equations.force(_gyroscopic().call([column(omega), column(Theta)])[0], on=omega)
        self.inertia = Theta

    def _inertia_parameters(self, system: System) -> np.ndarray:
        """Three parameters for principal moments, six for a full matrix."""
        if self.inertia.ndim == 1:
            return diag(
                [system.parameter(f"{self.name}.inertia.{'xyz'[k]}", v, above=0) for k, v in enumerate(self.inertia)]
            )
        Theta = np.empty((3, 3), object)
        for i in range(3):
            for j in range(i, 3):
                name = f"{self.name}.inertia.{'xyz'[i]}{'xyz'[j]}"
                Theta[i, j] = Theta[j, i] = system.parameter(name, self.inertia[i, j])
        return Theta


@cache
def _rigid_kinematics() -> ca.Function:
    """qdot = (v, 1/2 p * (0, omega)), written down once for all bodies."""
    x, y = ca.SX.sym("q", 7), ca.SX.sym("u", 6)
    q, u = array(x), array(y)
    p_0, p, omega = q[3], q[4:], u[3:]
    turned = array(p_0 * omega + cross(p, omega))
    return ca.Function("qdot", [TIME, x, y], [column([*u[:3], -dot(p, omega) / 2, *[each / 2 for each in turned]])])


@cache
def turning() -> str:
    """What tells blocks of rigid bodies from others: the kinematics of a quaternion."""
    return _rigid_kinematics().serialize()


@cache
def _gyroscopic() -> ca.Function:
    """-omega x Theta omega, the same way."""
    x, y = ca.SX.sym("omega", 3), ca.SX.sym("Theta", 3, 3)
    omega = array(x)
    return ca.Function("f", [x, y], [column(-cross(omega, array(y) @ omega))])


def _turn(A: Callable[[], np.ndarray], local: Vector) -> np.ndarray:
    """A local, where zero stays zero, has no symbols in it, and needs no rotation, which takes a millisecond to write down."""
    return np.zeros(len(local)) if not is_symbolic(local) and not np.any(local) else A() @ array(local)

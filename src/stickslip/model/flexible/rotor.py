"""Linear beam in space, for shafts and rotors, and disks on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, cos, cross, dot, is_symbolic, sin
from stickslip.model.bodies import Point, require_positive
from stickslip.model.declaration import Equations
from stickslip.model.flexible.chain import Chain, Element, Node
from stickslip.model.system import System

GAUSS = [
    (float((1 + x) / 2), float(w / 2)) for x, w in zip(*np.polynomial.legendre.leggauss(4), strict=True)
]  # on [0, 1]


class SpatialNode(Node):
    """A cross-section of a spatial beam: displacements u, v, w along the beam's axes, then the angles phi_x, phi_y, phi_z.

    They are Cardan angles, R = R_z(phi_z) R_y(phi_y) R_x(phi_x): phi_x is the twist, or the spin of a rotor, and may be as
    large as it likes; phi_y and phi_z are the slopes, for which the beam's equations are linear.
    """

    names = ("u", "v", "w", "phi_x", "phi_y", "phi_z")
    dimension = 3

    def __init__(self, name: str, origin: np.ndarray, axes: np.ndarray, station: float, spin: float):
        super().__init__(name, [0.0] * 6, [0.0, 0.0, 0.0, spin, 0.0, 0.0])
        self.origin, self.axes, self.station = origin, axes, station

    def declare(self, system: System, equations: Equations) -> None:
        super().declare(system, equations)
        self.station = system.parameter(f"{self.name}.station", self.station)

    @property
    def rotation(self) -> np.ndarray:
        """Orientation of the cross-section in space, as a matrix."""
        (c_x, c_y, c_z), (s_x, s_y, s_z) = ([f(phi) for phi in self.q[3:]] for f in (cos, sin))
        R = [
            [c_z * c_y, c_z * s_y * s_x - s_z * c_x, c_z * s_y * c_x + s_z * s_x],
            [s_z * c_y, s_z * s_y * s_x + c_z * c_x, s_z * s_y * c_x - c_z * s_x],
            [-s_y, c_y * s_x, c_y * c_x],
        ]
        return self.axes @ array(R)

    @property
    def on_axis(self) -> np.ndarray:
        """Its place in space."""
        return self.origin + self.axes @ array([self.station + self.q[0], self.q[1], self.q[2]])

    def position(self, local: Vector) -> np.ndarray:
        return self.on_axis + self.rotation @ array(local)

    def local(self, r: Vector) -> np.ndarray:
        return self.rotation.T @ (array(r) - self.on_axis)

    def direction(self, local: Vector) -> np.ndarray:
        """A direction fixed to the section, seen in space."""
        return self.rotation @ array(local)

    def velocity(self, local: Vector) -> np.ndarray:
        return self.velocity_at(self.position(local))

    def velocity_at(self, r: Vector) -> np.ndarray:
        """Velocity of the point of the section that is at the place r."""
        return self.axes @ self.qdot[:3] + cross(self.angular_velocity, array(r) - self.on_axis)

    @property
    def angular_velocity(self) -> np.ndarray:
        """Angular velocity of the section in space, for Cardan angles of any size."""
        (phi_y, phi_z), (x_dot, y_dot, z_dot) = self.q[4:], self.qdot[3:]
        along = x_dot * cos(phi_y)
        parts = (
            along * cos(phi_z) - y_dot * sin(phi_z),
            along * sin(phi_z) + y_dot * cos(phi_z),
            z_dot - x_dot * sin(phi_y),
        )
        return self.axes @ array(parts)

    @property
    def initial_rotation(self) -> np.ndarray:
        """Matrix from local to spatial components, at the initial state."""
        return self.axes


class SpatialElement(Element):
    """Axial motion and twist linear, deflections by the static solution of the element; the equations are in `SpatialBeam`."""

    def _bending(self, rates: bool = False) -> tuple[_Bending, _Bending]:
        """Deflection v with the slope phi_z, and w with the slope -phi_y; of the coordinates, or of their rates."""
        (_, v_1, w_1, _, y_1, z_1), (_, v_2, w_2, _, y_2, z_2) = (node.qdot if rates else node.q for node in self.nodes)
        m_v, m_w = (self._shear(axis) for axis in ("moment_z", "moment_y"))
        return _Bending(self.length, m_v, v_1, z_1, v_2, z_2), _Bending(self.length, m_w, w_1, -y_1, w_2, -y_2)

    def _shear(self, moment: str) -> Scalar:
        n = self.chain.numbers
        if "shear_area" not in n:
            return 1.0
        return 1 / (1 + 12 * n["modulus"] * n[moment] / (n["shear_modulus"] * n["shear_area"] * self.length**2))

    def kinetic_energy(self) -> Scalar:
        n, l, (first, second) = self.chain.numbers, self.length, self.nodes
        (in_v, in_w), (v, w) = self._bending(), self._bending(rates=True)
        T = 0.0
        for xi, weight in GAUSS:  # exact: the integrands have degree 6 at most
            axial = (1 - xi) * first.qdot[0] + xi * second.qdot[0]
            spin = (1 - xi) * first.qdot[3] + xi * second.qdot[3]
            if self.chain.gyroscopic:
                spin = spin + v.slope(xi) * in_w.slope(xi)  # phi_x' - phi_z' phi_y
            translation = n["area"] * (axial**2 + v.deflection(xi) ** 2 + w.deflection(xi) ** 2)
            tilting = n["moment_z"] * v.slope(xi) ** 2 + n["moment_y"] * w.slope(xi) ** 2
            T = T + weight * (translation + tilting + (n["moment_y"] + n["moment_z"]) * spin**2)
        return n["density"] * l / 2 * T

    def deformations(self) -> list[tuple[Scalar, Scalar]]:
        n, l, (first, second) = self.chain.numbers, self.length, self.nodes
        out = [(n["modulus"] * n["area"] / l, second.q[0] - first.q[0])]
        out += [(n["shear_modulus"] * n["torsion"] / l, second.q[3] - first.q[3])]
        for bending, moment in zip(self._bending(), ("moment_z", "moment_y"), strict=True):
            EI = n["modulus"] * n[moment]
            out += [(EI / l, bending.c), (3 * EI * bending.m / l, bending.b)]
        return out

    def position(self, local: Vector) -> np.ndarray:
        x, y, z = array(local)
        (first, second), xi = self.nodes, x / self.length
        v, w = self._bending()
        u, twist = (first.q[k] + (second.q[k] - first.q[k]) * xi for k in (0, 3))
        across_y, across_z = cos(twist) * y - sin(twist) * z, sin(twist) * y + cos(twist) * z
        along = first.station + x + u - v.slope(xi) * across_y - w.slope(xi) * across_z
        return first.origin + first.axes @ array([along, v.deflection(xi) + across_y, w.deflection(xi) + across_z])

    @property
    def center(self) -> np.ndarray:
        """Mean position: its weight is the consistent load of the nodes, forces and moments."""
        first, second = self.nodes
        along = first.station + (self.length + first.q[0] + second.q[0]) / 2
        return first.origin + first.axes @ array([along, *[bending.mean for bending in self._bending()]])


class _Bending:
    """Deflection of an element in one plane, from the deflections w and slopes theta of its ends.

    With a = (w_2 - w_1)/l, b = theta_1 + theta_2 - 2 a and c = theta_2 - theta_1 the static solution without load is

        theta(xi) = theta_1 + c xi + 3 m b (xi^2 - xi),      w' = theta + gamma,      gamma = -(1 - m) b/2
        V = E I (c^2 + 3 m b^2) / (2 l),                     m = 1/(1 + 12 E I/(G A_s l^2)), or 1 without shear

    so c bends the element symmetrically and b antisymmetrically, and only b shears it.
    """

    def __init__(self, l: Scalar, m: Scalar, w_1: Scalar, theta_1: Scalar, w_2: Scalar, theta_2: Scalar):
        self.l, self.m, self.w_1, self.w_2, self.theta_1, self.theta_2 = l, m, w_1, w_2, theta_1, theta_2
        self.b, self.c = theta_1 + theta_2 - 2 * (w_2 - w_1) / l, theta_2 - theta_1

    def slope(self, xi: Scalar) -> Scalar:
        """Angle of the cross-section."""
        return self.theta_1 + self.c * xi + 3 * self.m * self.b * (xi**2 - xi)

    def deflection(self, xi: Scalar) -> Scalar:
        """The integral of slope and shear."""
        gamma = -(1 - self.m) * self.b / 2
        theta = self.theta_1 * xi + self.c * xi**2 / 2 + self.m * self.b * (xi**3 - 3 * xi**2 / 2)
        return self.w_1 + self.l * (theta + gamma * xi)

    @property
    def mean(self) -> Scalar:
        """Mean deflection."""
        return (self.w_1 + self.w_2) / 2 - self.l * self.c / 12


class SpatialBeam(Chain):
    """A straight beam in space with small deflections: axial, twist and bending in two planes, for shafts and rotors.

    Node k has the coordinates u, v, w, phi_x, phi_y, phi_z: displacements along the beam's axes (x along it, y and z across;
    `axis` and `y_axis` say where they point in space) and Cardan angles. With a shear area it is Timoshenko's beam, without
    one Euler's and Bernoulli's; rotary inertia is included. The elements take the static solution as interpolation, exact
    at the nodes for loads there, and never lock:

        V = (E A (u_2 - u_1)^2 + G J (phi_x2 - phi_x1)^2 + E I_z (c_v^2 + 3 m b_v^2) + E I_y (c_w^2 + 3 m b_w^2)) / (2 l)
        T = rho/2 int A (u'^2 + v'^2 + w'^2) + I_z phi_z'^2 + I_y phi_y'^2 + (I_y + I_z) phi_x'^2 dx

    with b = theta_1 + theta_2 - 2 (w_2 - w_1)/l, c = theta_2 - theta_1, m = 1/(1 + 12 E I/(G A_s l^2)), dashes for rates.
    Frequencies of bending converge with order 4 in l, axial and torsional ones with order 2.

    gyroscopic: the spin of a section is phi_x' - phi_z' phi_y, which couples the slopes of a shaft that turns; for round
    sections only. Deflections are seen from the inertial frame, so damping is that of the surroundings, not of the turning shaft.

    moments: I_y and I_z, of bending in the planes x-z and x-y. torsion: Saint-Venant's J. spin: phi_x' at the start.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> steel = {"density": 7850, "modulus": 2.1e11, "shear_modulus": 8.1e10}
    >>> shaft = s.add(ss.SpatialBeam("shaft", length=0.6, elements=6, **ss.circular(0.0125), **steel, supports={0: "clamped"}))
    >>> wheel = s.add(ss.RotorDisk("wheel", shaft.tip, mass=5, polar=0.01, diametral=0.005))
    """

    kind, dimension = "spatial beam", 3
    held_by: Mapping[str, str] = {"clamped": "u v w phi_x phi_y phi_z", "pinned": "u v w"}

    def __init__(
        self,
        name: str,
        *,
        length: Any,
        elements: int | None = None,
        area: Scalar,
        moments: tuple[Scalar, Scalar],
        torsion: Scalar,
        shear_area: Scalar | None = None,
        density: Scalar,
        modulus: Scalar,
        shear_modulus: Scalar,
        gyroscopic: bool = False,
        position: Vector = (0.0, 0.0, 0.0),
        axis: Vector = (1.0, 0.0, 0.0),
        y_axis: Vector | None = None,
        spin: float = 0.0,
        supports: Mapping[int, str] | None = None,
        mass_damping: Scalar = 0.0,
        stiffness_damping: Scalar = 0.0,
    ):
        moment_y, moment_z = moments
        if (
            gyroscopic
            and not is_symbolic([moment_y, moment_z])
            and not np.isclose(moment_y, moment_z, rtol=1e-9, atol=0)
        ):
            raise ModelError(
                f"spatial beam {name!r}: gyroscopic effects need a round section, but the moments of area differ: {moments}"
            )
        numbers = {
            "area": area,
            "moment_y": moment_y,
            "moment_z": moment_z,
            "torsion": torsion,
            "shear_area": shear_area,
        }
        numbers |= {"density": density, "modulus": modulus, "shear_modulus": shear_modulus}
        super().__init__(name, length, elements, supports, numbers, mass_damping, stiffness_damping)
        self.gyroscopic = gyroscopic
        axes = _axes(name, np.asarray(axis, dtype=float), y_axis)
        origin = np.asarray(position, dtype=float)
        places = enumerate(self.stations)
        self._make([SpatialNode(f"{name}.node{k}", origin, axes, x, spin) for k, x in places], SpatialElement)


class RotorDisk:
    """A rigid wheel on a node of a spatial beam: centre on the axis, symmetric about it.

        T = m |v|^2/2 + I_p (phi_x' - phi_z' sin phi_y)^2/2 + I_d (phi_y'^2 + phi_z'^2 cos^2 phi_y)/2

    which is exact for any angles. `polar` is the inertia I_p about the axis, `diametral` I_d across it.
    """

    dimension = 3

    def __init__(self, name: str, point: Point, *, mass: Scalar, polar: Scalar, diametral: Scalar):
        if not isinstance(point.body, SpatialNode):
            raise ModelError(
                f"rotor disk {name!r} sits on a node of a spatial beam, such as shaft.node(2), not on {point!r}"
            )
        require_positive(f"rotor disk {name!r}", mass=mass, polar=polar, diametral=diametral)
        if not is_symbolic([polar, diametral]) and not polar <= 2 * diametral * (1 + 1e-9):
            raise ModelError(f"rotor disk {name!r}: no body has polar = {polar} > 2 diametral = {2 * diametral}")
        self.name, self.node, self.mass, self.polar, self.diametral = name, point.body, mass, polar, diametral

    @property
    def center(self) -> np.ndarray:
        """Its centre of mass."""
        return self.node.on_axis

    def position(self, local: Vector) -> np.ndarray:
        """Where a point of it is in space."""
        return self.node.position(local)

    def declare(self, system: System, equations: Equations) -> None:
        for key in ("mass", "polar", "diametral"):
            setattr(self, key, system.parameter(f"{self.name}.{key}", getattr(self, key)))
        phi_y, (x_dot, y_dot, z_dot) = self.node.q[4], self.node.qdot[3:]
        v = self.node.qdot[:3]
        tilting = y_dot**2 + (z_dot * cos(phi_y)) ** 2
        spin = x_dot - z_dot * sin(phi_y)
        equations.kinetic_energy(self.mass / 2 * dot(v, v) + self.diametral / 2 * tilting + self.polar / 2 * spin**2)


def _axes(name: str, axis: np.ndarray, y_axis: Vector | None) -> np.ndarray:
    """Columns: the beam's x, y and z axis in space."""
    if axis.shape != (3,) or not np.linalg.norm(axis) > 0:
        raise ModelError(f"spatial beam {name!r}: the axis {axis} needs three components and a length > 0")
    x = axis / np.linalg.norm(axis)
    hint = np.asarray((np.eye(3)[1] if abs(x[1]) < 0.9 else np.eye(3)[0]) if y_axis is None else y_axis, dtype=float)
    z = np.cross(x, hint)
    if not np.linalg.norm(z) > 1e-9 * np.linalg.norm(hint):
        raise ModelError(f"spatial beam {name!r}: y_axis = {y_axis} is parallel to the axis {axis}")
    z = z / np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])

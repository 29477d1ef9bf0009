"""Linear beam in space, for shafts and rotors, and disks on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, cos, cross, dot, is_symbolic, sin
from stickslip.model import given
from stickslip.model.declaration import Equations
from stickslip.model.described import Described
from stickslip.model.flexible.chain import Chain, Element, Node
from stickslip.model.frames import Point, unit
from stickslip.model.given import flag, require_positive
from stickslip.model.system import System

GAUSS = [
    (float(1 + x) / 2, float(w) / 2) for x, w in zip(*np.polynomial.legendre.leggauss(4), strict=True)
]  # on [0, 1]


class SpatialNode(Node):
    """A cross-section of a spatial beam: displacements u, v, w along the beam's axes, angles phi_x, phi_y, phi_z.

    They are Cardan angles, R = R_z(phi_z) R_y(phi_y) R_x(phi_x): phi_x is the twist, or the spin of a rotor, and may be
    as large as it likes; phi_y and phi_z are the slopes, for which the beam's equations are linear.
    """

    names = ("u", "v", "w", "phi_x", "phi_y", "phi_z")
    dimension = 3

    def __init__(self, name: str, origin: np.ndarray, axes: np.ndarray, station: float, spin: float):
        super().__init__(name, [0.0] * 6, [0.0, 0.0, 0.0, spin, 0.0, 0.0])
        self.origin, self.axes, self.station = origin, axes, station

    def declare(self, system: System, equations: Equations) -> None:
        """Coordinates, and the place of the node in the undeformed beam."""
        super().declare(system, equations)
        self.station = system.parameter(f"{self.name}.station", self.station)

    @property
    def on_axis(self) -> np.ndarray:
        """Its place in space."""
        return self.origin + self.axes @ array([self.station + self.q[0], self.q[1], self.q[2]])

    @property
    def rotation(self) -> np.ndarray:
        """Matrix from local to spatial components."""
        (c_x, c_y, c_z), (s_x, s_y, s_z) = ([f(phi) for phi in self.q[3:]] for f in (cos, sin))
        R = [
            [c_z * c_y, c_z * s_y * s_x - s_z * c_x, c_z * s_y * c_x + s_z * s_x],
            [s_z * c_y, s_z * s_y * s_x + c_z * c_x, s_z * s_y * c_x - c_z * s_x],
            [-s_y, c_y * s_x, c_y * c_x],
        ]
        return self.axes @ array(R)

    @property
    def initial_rotation(self) -> np.ndarray:
        """Matrix from local to spatial components, at the initial state."""
        return self.axes

    @property
    def angular_velocity(self) -> np.ndarray:
        """Angular velocity in space, for Cardan angles of any size."""
        (_, phi_y, phi_z), (x_dot, y_dot, z_dot) = self.q[3:], self.qdot[3:]
        along = x_dot * cos(phi_y)
        omega_x, omega_y = along * cos(phi_z) - y_dot * sin(phi_z), along * sin(phi_z) + y_dot * cos(phi_z)
        return self.axes @ array([omega_x, omega_y, z_dot - x_dot * sin(phi_y)])

    def position(self, local: Vector) -> np.ndarray:
        """Where a point of the section is."""
        return self.on_axis + self.direction(local)

    def local(self, r: Vector) -> np.ndarray:
        """A place seen from the section."""
        return self.rotation.T @ (array(r) - self.on_axis)

    def direction(self, local: Vector) -> np.ndarray:
        """A direction fixed to the section, seen in space."""
        if not is_symbolic(local) and not np.any(local):
            return np.zeros(3)
        return self.rotation @ array(local)

    def velocity(self, local: Vector) -> np.ndarray:
        """Velocity of a point of the section."""
        return self.velocity_at(self.position(local))

    def velocity_at(self, r: Vector) -> np.ndarray:
        """Velocity of the point of the section that is at the place r."""
        return self.axes @ self.qdot[:3] + cross(self.angular_velocity, array(r) - self.on_axis)


class SpatialElement(Element):
    """Stretch and twist linear, deflections by the static solution; the equations are in `SpatialBeam`."""

    chain: SpatialBeam

    def _bending(self, rates: bool = False) -> tuple[Bending, Bending]:
        """Deflection v with the slope phi_z, and w with the slope -phi_y; of the coordinates, or of their rates."""
        (_, v_1, w_1, _, y_1, z_1), (_, v_2, w_2, _, y_2, z_2) = (n.qdot if rates else n.q for n in self.nodes)
        v = Bending(self.length, self._shear("moment_z"), v_1, z_1, v_2, z_2)
        w = Bending(self.length, self._shear("moment_y"), w_1, -y_1, w_2, -y_2)
        return v, w

    def _shear(self, moment: str) -> Scalar:
        n = self.chain.numbers
        if "shear_area" not in n:
            return 1.0
        return 1 / (1 + 12 * n["modulus"] * n[moment] / (n["shear_modulus"] * n["shear_area"] * self.length**2))

    def kinetic_energy(self) -> Scalar:
        """T, with consistent mass."""
        n, (first, second) = self.chain.numbers, self.nodes
        (_, tilt), (v, w) = self._bending(), self._bending(rates=True)
        stretch, twist = (Linear(first.qdot[k], second.qdot[k]) for k in (0, 3))
        spin = twist.square
        if self.chain.gyroscopic:  # exact up to the square of phi_z' phi_y, which is negligible
            spin = sum(weight * (twist.at(s) + v.slope(s) * tilt.slope(s)) ** 2 for s, weight in GAUSS)
        translation = n["area"] * (stretch.square + v.square + w.square)
        tilting = n["moment_z"] * v.slope_square + n["moment_y"] * w.slope_square
        turning = (n["moment_y"] + n["moment_z"]) * spin
        return n["density"] * self.length / 2 * (translation + tilting + turning)

    def deformations(self) -> list[tuple[Scalar, Scalar]]:
        """Stretch, twist, and two of bending in either plane."""
        n, (first, second) = self.chain.numbers, self.nodes
        out = [(n["modulus"] * n["area"] / self.length, second.q[0] - first.q[0])]
        out += [(n["shear_modulus"] * n["torsion"] / self.length, second.q[3] - first.q[3])]
        for bending, moment in zip(self._bending(), ("moment_z", "moment_y"), strict=True):
            k = n["modulus"] * n[moment] / self.length
            out += [(k, bending.c), (3 * bending.m * k, bending.b)]
        return out

    def position(self, local: Vector) -> np.ndarray:
        """Where a material point is; linear in the slopes, as the beam is."""
        (x, y, z), (first, second), (v, w) = array(local), self.nodes, self._bending()
        s = x / self.length - 0.5
        stretch, twist = (Linear(first.q[k], second.q[k]).at(s) for k in (0, 3))
        y, z = cos(twist) * y - sin(twist) * z, sin(twist) * y + cos(twist) * z
        along = first.station + x + stretch - v.slope(s) * y - w.slope(s) * z
        return first.origin + first.axes @ array([along, v.deflection(s) + y, w.deflection(s) + z])

    @property
    def center(self) -> np.ndarray:
        """Mean position: its weight is the consistent load of the nodes, forces and moments."""
        first, second = self.nodes
        along = first.station + (self.length + first.q[0] + second.q[0]) / 2
        return first.origin + first.axes @ array([along, *[bending.mean for bending in self._bending()]])


class Linear:
    """Linear function of s from -1/2 to 1/2, by its values at the ends."""

    def __init__(self, first: Scalar, second: Scalar):
        self.mean, self.difference = (first + second) / 2, second - first

    def at(self, s: Scalar) -> Scalar:
        """Value at s."""
        return self.mean + self.difference * s

    @property
    def square(self) -> Scalar:
        """Mean of its square."""
        return self.mean**2 + self.difference**2 / 12


class Bending:
    """Deflection of an element in one plane, from the deflections w and slopes theta of its ends.

    With c = theta_2 - theta_1, b = theta_1 + theta_2 - 2 (w_2 - w_1)/l, s = x/l - 1/2, the static solution is

        w(s) = (w_1 + w_2)/2 + (w_2 - w_1) s + l (c (s^2 - 1/4)/2 + m b (s^3 - s/4))
        theta(s) = (w_2 - w_1)/l + (1 - m) b/2 + c s + m b (3 s^2 - 1/4)
        V = E I (c^2 + 3 m b^2) / (2 l),      m = 1/(1 + 12 E I/(G A_s l^2)), or 1 without shear

    so c bends the element symmetrically and b antisymmetrically, and only b shears it.
    """

    def __init__(self, length: Scalar, m: Scalar, w_1: Scalar, theta_1: Scalar, w_2: Scalar, theta_2: Scalar):
        self.length, self.m, self.chord = length, m, Linear(w_1, w_2)
        self.b, self.c = theta_1 + theta_2 - 2 * self.chord.difference / length, theta_2 - theta_1
        self.mean_slope = self.chord.difference / length + (1 - m) * self.b / 2

    def deflection(self, s: Scalar) -> Scalar:
        """w at s."""
        return self.chord.at(s) + self.length * (self.c * (s**2 - 0.25) / 2 + self.m * self.b * (s**3 - s / 4))

    def slope(self, s: Scalar) -> Scalar:
        """Angle of the cross-section at s."""
        return self.mean_slope + self.c * s + self.m * self.b * (3 * s**2 - 0.25)

    @property
    def mean(self) -> Scalar:
        """Mean deflection."""
        return self.chord.mean - self.length * self.c / 12

    @property
    def square(self) -> Scalar:
        """Mean of the square of the deflection."""
        even, odd = self.length * self.c, self.length * self.m * self.b
        coupled = self.chord.mean * even / 6 + self.chord.difference * odd / 60
        return self.chord.square - coupled + even**2 / 120 + odd**2 / 840

    @property
    def slope_square(self) -> Scalar:
        """Mean of the square of the slope."""
        return self.mean_slope**2 + self.c**2 / 12 + (self.m * self.b) ** 2 / 20


class SpatialBeam(Chain):
    """A straight beam in space with small deflections: stretch, twist and bending in two planes, for shafts and rotors.

    Node k has the coordinates u, v, w, phi_x, phi_y, phi_z: displacements along the beam's axes (x along it, y and z
    across; `axis` and `y_axis` say where they point in space) and Cardan angles. With a shear area it is Timoshenko's
    beam, without one that of Euler and Bernoulli; both have rotary inertia. Elements take the static solution as
    interpolation: they are exact at the nodes for loads there and for uniform ones, and do not lock.

        2 l V = E A (u_2 - u_1)^2 + G J (phi_x2 - phi_x1)^2 + E I_z (c_v^2 + 3 m b_v^2) + E I_y (c_w^2 + 3 m b_w^2)
        T = rho/2 int A (u'^2 + v'^2 + w'^2) + I_z phi_z'^2 + I_y phi_y'^2 + (I_y + I_z) phi_x'^2 dx

    with dashes for rates, and for either plane c = theta_2 - theta_1, b = theta_1 + theta_2 - 2 (w_2 - w_1)/l,
    m = 1/(1 + 12 E I/(G A_s l^2)). Frequencies of bending converge with order 4 in l, the share of shear in them and
    those of stretch and twist with order 2.

    gyroscopic: the spin of a section is phi_x' - phi_z' phi_y, which couples the slopes of a shaft that turns; for
    round sections. Deflections are seen from space, so stiffness damping is not the internal one of a shaft that turns.

    moments: I_y and I_z, of bending in the planes x-z and x-y. torsion: Saint-Venant's J. spin: phi_x' at the start.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> material = {"density": 7850, "modulus": 2.1e11, "shear_modulus": 8.1e10}
    >>> section = ss.circular(0.0125)
    >>> shaft = s.add(ss.SpatialBeam("shaft", length=0.6, elements=6, **section, **material, supports={0: "clamped"}))
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
        where = f"spatial beam {name!r}"
        gyroscopic = flag(where, "gyroscopic", gyroscopic)
        I_y, I_z = given.vector(where, "moments", moments, 2)
        (spin,) = given.numbers(where, "spin", spin, 1)
        if gyroscopic and not is_symbolic([I_y, I_z]) and not np.isclose(I_y, I_z, rtol=1e-9, atol=0):
            raise ModelError(f"{where}: gyroscopic effects need a round section, but moments = {moments}")
        numbers = {"area": area, "moment_y": I_y, "moment_z": I_z, "torsion": torsion}
        numbers |= {} if shear_area is None else {"shear_area": shear_area}
        numbers |= {"density": density, "modulus": modulus, "shear_modulus": shear_modulus}
        super().__init__(name, length, elements, supports, numbers, mass_damping, stiffness_damping)
        self.gyroscopic = gyroscopic
        origin, axes = given.numbers(where, "position", position, 3), _axes(where, axis, y_axis)
        places = enumerate(self.stations)
        self._make([SpatialNode(f"{name}.node{k}", origin, axes, x, spin) for k, x in places], SpatialElement)


class RotorDisk(Described):
    """A rigid wheel on a node of a spatial beam: centre on the axis, symmetric about it.

        T = m |v|^2/2 + I_p (phi_x' - phi_z' sin phi_y)^2/2 + I_d (phi_y'^2 + phi_z'^2 cos^2 phi_y)/2

    which is exact for any angles. `polar` is the inertia I_p about the axis, `diametral` I_d across it.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> steel = {"density": 7850, "modulus": 2.1e11, "shear_modulus": 8.1e10}
    >>> shaft = s.add(ss.SpatialBeam("shaft", length=0.6, elements=2, **ss.circular(0.0125), **steel, gyroscopic=True))
    >>> wheel = s.add(ss.RotorDisk("wheel", shaft.node(1), mass=5, polar=0.01, diametral=0.005))
    """

    dimension = 3

    def __init__(self, name: str, point: Point, *, mass: Scalar, polar: Scalar, diametral: Scalar):
        if not isinstance(point, Point) or not isinstance(point.body, SpatialNode):
            raise ModelError(f"rotor disk {name!r} sits on a node of a spatial beam, such as shaft.tip, not on {point}")
        require_positive(f"rotor disk {name!r}", mass=mass, polar=polar, diametral=diametral)
        if not is_symbolic([polar, diametral]) and not polar <= 2 * diametral * (1 + 1e-9):
            raise ModelError(f"rotor disk {name!r}: no body has polar = {polar} > 2 diametral = {2 * diametral}")
        self.name, self.point, self.node = name, point, point.body
        self.mass, self.polar, self.diametral = mass, polar, diametral

    @property
    def center(self) -> np.ndarray:
        """Its centre of mass."""
        return self.node.on_axis

    def position(self, local: Vector) -> np.ndarray:
        """Where a point of it is in space."""
        return self.node.position(local)

    def declare(self, system: System, equations: Equations) -> None:
        """Inertia."""
        for key in ("mass", "polar", "diametral"):
            setattr(self, key, system.parameter(f"{self.name}.{key}", getattr(self, key), above=0))
        phi_y, v, (x_dot, y_dot, z_dot) = self.node.q[4], self.node.qdot[:3], self.node.qdot[3:]
        spin, tilting = x_dot - z_dot * sin(phi_y), y_dot**2 + (z_dot * cos(phi_y)) ** 2
        equations.kinetic_energy(self.mass / 2 * dot(v, v) + self.polar / 2 * spin**2 + self.diametral / 2 * tilting)


def _axes(where: str, axis: Vector, y_axis: Vector | None) -> np.ndarray:
    """Columns: the beam's x, y and z axis in space."""
    x = unit(where, axis, 3)
    hint = np.eye(3)[1 if abs(x[1]) < 0.9 else 0] if y_axis is None else given.direction(where, "y_axis", y_axis, 3)
    z = np.cross(x, hint)
    if not np.linalg.norm(z) > 1e-9 * np.linalg.norm(hint):
        raise ModelError(f"{where}: y_axis = {y_axis} is parallel to the axis {axis}")
    z = z / np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])

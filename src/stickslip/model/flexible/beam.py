"""Planar geometrically exact beam: Reissner's theory of finite strain, for large displacements and rotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.math import Scalar, Vector, array, cos, dot, rotation, sin, vector
from stickslip.model import given
from stickslip.model.bodies import PlanarBody
from stickslip.model.flexible.chain import Chain, Element, Node


class BeamNode(Node, PlanarBody):
    """A cross-section of a planar beam. It stays plane, so it is a planar body: coordinates x, y and the angle phi."""

    names = ("x", "y", "phi")

    def direction(self, local: Vector) -> np.ndarray:
        """A direction fixed to the section, seen in space."""
        return rotation(self.q[2]) @ array(local)

    def velocity_at(self, r: Vector) -> np.ndarray:
        """Velocity of the point of the section that is at the place r."""
        arm, (x_dot, y_dot, phi_dot) = array(r) - self.q[:2], self.qdot
        return array([x_dot - phi_dot * arm[1], y_dot + phi_dot * arm[0]])

    @property
    def angle(self) -> Scalar:
        """Angle of the section."""
        return self.q[2]

    @property
    def angular_velocity(self) -> Scalar:
        """Angular velocity of the section."""
        return self.qdot[2]

    @property
    def initial_rotation(self) -> np.ndarray:
        """Matrix from local to spatial components, at the initial state."""
        return rotation(float(self.initial[2]))


class BeamElement(Element):
    """Place and angle interpolated linearly; the equations are in the docstring of `Beam`."""

    chain: Beam

    def kinetic_energy(self) -> Scalar:
        """T, with consistent mass."""
        n, (first, second) = self.chain.numbers, self.nodes
        (*v_1, omega_1), (*v_2, omega_2) = first.qdot, second.qdot
        rotary = n["density"] * n["moment"] * self.length
        translation = self.mass / 6 * (dot(v_1, v_1) + dot(v_1, v_2) + dot(v_2, v_2))
        return translation + rotary / 6 * (omega_1**2 + omega_1 * omega_2 + omega_2**2)

    def deformations(self) -> list[tuple[Scalar, Scalar]]:
        """Stretch, shear and curvature in the middle."""
        n, (first, second) = self.chain.numbers, self.nodes
        phi = (first.q[2] + second.q[2]) / 2
        x_s, y_s, kappa = array((second.q - first.q) / self.length)
        epsilon = cos(phi) * x_s + sin(phi) * y_s - 1.0
        gamma = cos(phi) * y_s - sin(phi) * x_s
        bending, shear = n["modulus"] * n["moment"], n["shear_modulus"] * n["shear_area"]
        if self.chain.residual_bending:
            shear = 1 / (1 / shear + self.length**2 / (12 * bending))
        stiffness = n["modulus"] * n["area"], shear, bending
        return [(k * self.length, e) for k, e in zip(stiffness, (epsilon, gamma, kappa), strict=True)]

    def position(self, local: Vector) -> np.ndarray:
        """Where a material point is."""
        (x, y), (first, second) = array(local), self.nodes
        q = first.q + array((second.q - first.q) * (x / self.length))
        return q[:2] + rotation(q[2]) @ vector(0.0, y)

    @property
    def center(self) -> np.ndarray:
        """Mean position: its weight is the consistent load of the nodes."""
        return array((self.nodes[0].q[:2] + self.nodes[1].q[:2]) / 2)


class Beam(Chain):
    """A straight beam in the plane, geometrically exact: shear-flexible, any rotations (Reissner 1972, Simo 1985).

    Node k has the coordinates x, y, phi, place and angle of its cross-section. An element of length l has, with
    x_s = (x_2 - x_1)/l, y_s alike, and phi the mean of its two angles,

        epsilon = cos(phi) x_s + sin(phi) y_s - 1,    gamma = cos(phi) y_s - sin(phi) x_s,    kappa = (phi_2 - phi_1)/l
        V = l (E A epsilon^2 + G A_s gamma^2 + E I kappa^2) / 2
        T = rho l (A (v_1.v_1 + v_1.v_2 + v_2.v_2) + I (omega_1^2 + omega_1 omega_2 + omega_2^2)) / 6

    The strain energy is integrated with one point, which keeps thin elements from locking in shear. Strains are those
    that the section sees, so a rigid motion costs no energy, however large. The mass is consistent: constant as a
    lumped one, but exact for rigid motions, whereas lumped masses make a rod of n elements turn with an inertia that is
    too large by 1/(2 n^2), 3 % for n = 4. Frequencies of waves of length 2 pi/k are too high by (k l)^2/8.

    residual_bending: take l^2/(12 E I) + 1/(G A_s) instead of 1/(G A_s) (residual bending flexibility, MacNeal 1978). The
    straight axis of an element then gives way as much as the bent one would: forces at the nodes of a straight beam
    deflect it exactly, with any number of elements, and few elements serve for slow bending.

    The fastest vibration of thin beams is that of the sections against the axis, omega = sqrt(G A_s/(rho I)): explicit
    schemes need dt < 2/omega. With residual bending it is slower, omega = sqrt(12 E/rho)/l.

    position, angle, velocity, angular_velocity: rigid motion at the start, of the first node and about it.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> section = {"area": 1e-4, "moment": 8.33e-10, "shear_area": 8.33e-5}
    >>> steel = {"density": 7800, "modulus": 2.1e11, "shear_modulus": 8.1e10}
    >>> beam = s.add(ss.Beam("beam", length=1, elements=4, **section, **steel, supports={0: "pinned"}))
    >>> stop = s.add(ss.Contact("stop", beam.tip, ss.Line(point=[0, -0.1], normal=[0, 1])))
    """

    kind, dimension = "beam", 2
    held_by: Mapping[str, str] = {"clamped": "x y phi", "pinned": "x y"}

    def __init__(
        self,
        name: str,
        *,
        length: Any,
        elements: int | None = None,
        area: Scalar,
        moment: Scalar,
        shear_area: Scalar,
        density: Scalar,
        modulus: Scalar,
        shear_modulus: Scalar,
        position: Vector = (0.0, 0.0),
        angle: float = 0.0,
        velocity: Vector = (0.0, 0.0),
        angular_velocity: float = 0.0,
        supports: Mapping[int, str] | None = None,
        mass_damping: Scalar = 0.0,
        stiffness_damping: Scalar = 0.0,
        residual_bending: bool = False,
    ):
        given.instance(f"beam {name!r}", "residual_bending", residual_bending, bool, "True or False")
        self.residual_bending = residual_bending
        numbers = {"area": area, "moment": moment, "shear_area": shear_area}
        numbers |= {"density": density, "modulus": modulus, "shear_modulus": shear_modulus}
        super().__init__(name, length, elements, supports, numbers, mass_damping, stiffness_damping)
        where = f"beam {name!r}"
        r, v = given.numbers(where, "position", position, 2), given.numbers(where, "velocity", velocity, 2)
        (angle,) = given.numbers(where, "angle", angle, 1)
        (angular_velocity,) = given.numbers(where, "angular_velocity", angular_velocity, 1)
        axis, omega = np.array([np.cos(angle), np.sin(angle)]), angular_velocity
        normal = np.array([-axis[1], axis[0]])
        states = [((*(r + x * axis), angle), (*(v + x * omega * normal), omega)) for x in self.stations]
        self._make([BeamNode(f"{name}.node{k}", *state) for k, state in enumerate(states)], BeamElement)

"""Linear bar: a rod that is stretched and compressed along its axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.math import Scalar, Vector, array
from stickslip.model import given
from stickslip.model.flexible.chain import Chain, Element, Node


class BarNode(Node):
    """A cross-section of a bar, which moves along the axis: coordinate x, its distance from the bar's origin."""

    names = ("x",)

    def __init__(self, name: str, origin: np.ndarray, axis: np.ndarray, x: float, velocity: float):
        super().__init__(name, [x], [velocity])
        self.origin, self.axis_of_bar, self.dimension = origin, axis, axis.size

    def on_axis(self, x: Scalar) -> np.ndarray:
        """The place in space at distance x from the origin."""
        return self.origin + array(self.axis_of_bar * x)

    def position(self, local: Vector) -> np.ndarray:
        """Where a point of the section is."""
        return self.on_axis(self.q[0]) + array(local)

    def local(self, r: Vector) -> np.ndarray:
        """A place seen from the section."""
        return array(r) - self.on_axis(self.q[0])

    def direction(self, local: Vector) -> np.ndarray:
        """It does not turn."""
        return array(local)

    @property
    def initial_rotation(self) -> np.ndarray:
        """It does not turn."""
        return np.eye(self.dimension)


class BarElement(Element):
    """Displacement interpolated linearly; the equations are in the docstring of `Bar`."""

    def kinetic_energy(self) -> Scalar:
        """T, with consistent mass."""
        v_1, v_2 = (node.qdot[0] for node in self.nodes)
        return self.mass / 6 * (v_1**2 + v_1 * v_2 + v_2**2)

    def deformations(self) -> list[tuple[Scalar, Scalar]]:
        """Elongation."""
        n, (first, second) = self.chain.numbers, self.nodes
        return [(n["modulus"] * n["area"] / self.length, second.q[0] - first.q[0] - self.length)]

    def position(self, local: Vector) -> np.ndarray:
        """Where a material point is."""
        (x, *offset), (first, second) = array(local), self.nodes
        r = first.on_axis(first.q[0] + (second.q[0] - first.q[0]) * x / self.length)
        return r + _across(first.axis_of_bar) @ array(offset) if offset else r

    @property
    def center(self) -> np.ndarray:
        """Mean position: its weight is the consistent load of the nodes."""
        first, second = self.nodes
        return first.on_axis((first.q[0] + second.q[0]) / 2)


class Bar(Chain):
    """A straight elastic bar of linear finite elements.

    Node k has the coordinate x, its distance from `origin` along `axis`; both have 1, 2 or 3 components, as the space
    that the bar lies in. An element of length l has

        T = rho A l (v_1^2 + v_1 v_2 + v_2^2) / 6,      V = E A (x_2 - x_1 - l)^2 / (2 l)

    Waves travel with c = sqrt(E/rho). Frequencies of equal elements are too high by (omega l/c)^2/24; the highest is
    sqrt(12) c/l, so that explicit schemes need dt < 0.577 l/c.

    position, velocity: of the first node along the axis, and of the whole bar, at the start. modulus: Young's.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> steel = {"density": 7800, "modulus": 2.1e11}
    >>> bar = s.add(ss.Bar("bar", length=1, elements=10, area=1e-4, **steel, position=1e-5, velocity=-0.1))
    >>> s.contact(gap=bar.nodes[0].q[0], name="wall")
    >>> solution = ss.solve(s, t_end=1e-4, dt=1e-6)
    """

    kind = "bar"
    held_by: Mapping[str, str] = {"fixed": "x", "clamped": "x"}

    def __init__(
        self,
        name: str,
        *,
        length: Any,
        elements: int | None = None,
        area: Scalar,
        density: Scalar,
        modulus: Scalar,
        origin: Vector = (0.0,),
        axis: Vector | None = None,
        position: float = 0.0,
        velocity: float = 0.0,
        supports: Mapping[int, str] | None = None,
        mass_damping: Scalar = 0.0,
        stiffness_damping: Scalar = 0.0,
    ):
        where = f"bar {name!r}"
        start = given.numbers(where, "origin", origin, (1, 2, 3))
        self.dimension = n = start.size
        along = np.eye(n)[0] if axis is None else given.direction(where, "axis", axis, n)
        (position,) = given.numbers(where, "position", position, 1)
        (velocity,) = given.numbers(where, "velocity", velocity, 1)
        numbers = {"area": area, "density": density, "modulus": modulus}
        super().__init__(name, length, elements, supports, numbers, mass_damping, stiffness_damping)
        along, places = along / np.linalg.norm(along), enumerate(position + self.stations)
        self._make([BarNode(f"{name}.node{k}", start, along, x, velocity) for k, x in places], BarElement)


def _across(axis: np.ndarray) -> np.ndarray:
    """Columns: an orthonormal basis of the directions across the axis, in the plane its left-hand normal."""
    if axis.size == 2:
        return np.array([[-axis[1]], [axis[0]]])
    basis = np.linalg.qr(np.column_stack([axis, np.eye(3)[:, np.argsort(np.abs(axis))[:2]]]))[0]
    return basis[:, 1:]

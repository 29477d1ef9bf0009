"""Mass and inertia of homogeneous bodies about their centre of mass, along their axes of symmetry.

Each function takes `mass` or `density` (per volume; per area for shells, per length for rods) and returns the mass
and the three principal moments:

>>> mass, inertia = sphere(0.1, mass=2.0)
>>> mass, [round(float(J), 6) for J in inertia]
(2.0, [0.008, 0.008, 0.008])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import is_symbolic
from stickslip.model.given import number, vector


class MassProperties(NamedTuple):
    """Mass, and principal moments of inertia about the centre of mass."""

    mass: float
    inertia: np.ndarray


def sphere(radius: float, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """Solid ball."""
    return hollow_sphere(radius, 0.0, mass=mass, density=density)


def hollow_sphere(
    outer: float, inner: float, *, mass: float | None = None, density: float | None = None
) -> MassProperties:
    """Ball with a concentric spherical hole."""
    _check_hollow("hollow sphere", outer, inner)
    m = _mass("sphere", 4 / 3 * np.pi * (outer**3 - inner**3), mass, density)
    return MassProperties(m, np.full(3, 2 / 5 * m * (outer**5 - inner**5) / (outer**3 - inner**3)))


def spherical_shell(radius: float, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """Thin spherical shell."""
    _check("spherical shell", radius=radius)
    m = _mass("spherical shell", 4 * np.pi * radius**2, mass, density)
    return MassProperties(m, np.full(3, 2 / 3 * m * radius**2))


def box(x: float, y: float, z: float, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """Solid box with these edges."""
    _check("box", x=x, y=y, z=z)
    m = _mass("box", x * y * z, mass, density)
    return MassProperties(m, m / 12 * np.array([y * y + z * z, z * z + x * x, x * x + y * y]))


def hollow_box(
    outer: tuple[float, float, float],
    inner: tuple[float, float, float],
    *,
    mass: float | None = None,
    density: float | None = None,
) -> MassProperties:
    """Box with a concentric box-shaped hole."""
    for a, b in zip(*(vector("hollow box", k, v, 3) for k, v in (("outer", outer), ("inner", inner))), strict=True):
        _check_hollow("hollow box", a, b)
    whole, hole = box(*outer, density=1.0), MassProperties(0.0, np.zeros(3))
    if min(inner) > 0:
        hole = box(*inner, density=1.0)
    return _scaled("hollow box", whole.mass - hole.mass, whole.inertia - hole.inertia, mass, density)


def cylinder(
    radius: float, length: float, *, mass: float | None = None, density: float | None = None
) -> MassProperties:
    """Solid cylinder with its axis along z."""
    return hollow_cylinder(radius, 0.0, length, mass=mass, density=density)


def hollow_cylinder(
    outer: float, inner: float, length: float, *, mass: float | None = None, density: float | None = None
) -> MassProperties:
    """Tube with its axis along z."""
    _check_hollow("hollow cylinder", outer, inner)
    _check("cylinder", length=length)
    m = _mass("cylinder", np.pi * (outer**2 - inner**2) * length, mass, density)
    square = outer**2 + inner**2
    side = m * (3 * square + length**2) / 12
    return MassProperties(m, np.array([side, side, m * square / 2]))


def disk(radius: float, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """Thin disk with its axis along z; density per area."""
    _check("disk", radius=radius)
    m = _mass("disk", np.pi * radius**2, mass, density)
    return MassProperties(m, m * radius**2 * np.array([0.25, 0.25, 0.5]))


def ring(radius: float, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """Thin ring with its axis along z; density per length."""
    _check("ring", radius=radius)
    m = _mass("ring", 2 * np.pi * radius, mass, density)
    return MassProperties(m, m * radius**2 * np.array([0.5, 0.5, 1.0]))


def capsule(radius: float, length: float, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """Cylinder of this length along z, with a half ball at each end."""
    _check("capsule", radius=radius, length=length)
    m_c, m_s = np.pi * radius**2 * length, 4 / 3 * np.pi * radius**3
    # A half ball: 2/5 m r^2 about the centre of its disk, which lies 3 r/8 from its centre of mass.
    side = m_c * (3 * radius**2 + length**2) / 12 + m_s * (0.4 * radius**2 + length**2 / 4 + 3 / 8 * radius * length)
    return _scaled(
        "capsule", m_c + m_s, np.array([side, side, m_c * radius**2 / 2 + 0.4 * m_s * radius**2]), mass, density
    )


def ellipsoid(
    a: float, b: float, c: float, *, mass: float | None = None, density: float | None = None
) -> MassProperties:
    """Solid ellipsoid with these semi-axes."""
    _check("ellipsoid", a=a, b=b, c=c)
    m = _mass("ellipsoid", 4 / 3 * np.pi * a * b * c, mass, density)
    return MassProperties(m, m / 5 * np.array([b * b + c * c, c * c + a * a, a * a + b * b]))


def _mass(shape: str, volume: float, mass: float | None, density: float | None) -> float:
    if (mass is None) == (density is None):
        raise ModelError(f"{shape}: give either mass= or density=")
    _check(shape, **({"density": density} if mass is None else {"mass": mass}))
    return float(mass if mass is not None else density * volume)  # type: ignore[operator]


def _scaled(
    shape: str, volume: float, inertia: np.ndarray, mass: float | None, density: float | None
) -> MassProperties:
    """From volume and inertia at density one."""
    m = _mass(shape, volume, mass, density)
    return MassProperties(m, m / volume * inertia)


def _check(shape: str, **numbers: float) -> None:
    for name, value in numbers.items():
        number(shape, name, value, above=0)
        if is_symbolic(value):
            raise ModelError(f"{shape}: {name} must be a number; a body's inertia= takes expressions, this does not")


def _check_hollow(shape: str, outer: float, inner: float) -> None:
    _check(shape, outer=outer)
    number(shape, "inner", inner)
    if not 0 <= inner < outer:
        raise ModelError(f"{shape}: the hole {inner} must be smaller than the outside {outer}, and not negative")

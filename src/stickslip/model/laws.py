"""Contact laws: what happens where two surfaces touch.

All of them have Signorini's condition with Newton's restitution in the normal direction (but `FixedRadius`, which has
no normal contact), and differ in friction. Friction is the normal-cone inclusion of a ball, gamma_F in N_C(-P_F); laws
with other reservoirs scale slip and percussion so that the reservoir becomes a ball and the power gamma_F . P_F stays
what it is.

Coefficients are numbers, expressions of t, q and u, or functions of a speed: friction of the slip speed |gamma_F| that
it acts on, restitution of the approach speed before the impact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from stickslip.cone import Cone
from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, exp, pi
from stickslip.model import given
from stickslip.model.declaration import Equations
from stickslip.model.given import number
from stickslip.model.system import System

L = TypeVar("L", bound="Law")


@dataclass(frozen=True)
class ContactKinematics:
    """What a law sees of one contact: gap, slip velocity (one component in the plane, two in space), normal spin."""

    name: str
    gap: Scalar
    slip: Callable[[Vector | None], np.ndarray]
    spin: Callable[[], Scalar]


@dataclass(frozen=True)
class Stribeck:
    """A friction coefficient that falls from `static` to `kinetic` as the slip speed v grows.

        mu(v) = kinetic + (static - kinetic) exp(-(v/speed)^exponent) + viscous v

    A law with one coefficient at rest and another in motion is the limit of a small `speed`. Where friction falls,
    steps must be short enough to tell stick from slip, dt < m |dmu/dv|^-1 / P_N per unit of time (for a block of mass m
    under its weight: dt < speed/(g (static - kinetic)), about); else both solve the step.

    >>> law = Stribeck(0.5, 0.2, speed=0.1)
    >>> float(law(0.0)), round(float(law(1.0)), 6)
    (0.5, 0.2)
    """

    static: Scalar
    kinetic: Scalar
    speed: Scalar
    exponent: float = 2.0
    viscous: Scalar = 0.0

    def __post_init__(self) -> None:
        for name in ("static", "kinetic", "viscous"):
            number("Stribeck friction", name, getattr(self, name), at_least=0)
        number("Stribeck friction", "speed", self.speed, above=0)
        number("Stribeck friction", "exponent", self.exponent, at_least=1)

    def __call__(self, v: Scalar) -> Scalar:
        return (
            self.kinetic + (self.static - self.kinetic) * exp(-((v / self.speed) ** self.exponent)) + self.viscous * v
        )

    def bind(self, system: System, name: str) -> Stribeck:
        """The same with parameters of the system for numbers."""
        keys = ("static", "kinetic", "speed", *(("viscous",) if self.viscous != 0.0 else ()))
        numbers = {key: (getattr(self, key), {"above" if key == "speed" else "at_least": 0.0}) for key in keys}
        return replace(
            self, **{key: system.parameter(f"{name}.{key}", x, **least) for key, (x, least) in numbers.items()}
        )


@dataclass(frozen=True)
class Law:
    """Base of the laws; numbers are fields, and become parameters of the system."""

    def bind(self: L, system: System, name: str) -> L:
        """The same law with parameters of the system, named after the contact, for numbers."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "direction"}
        return replace(self, **{key: bound(system, name, key, value) for key, value in values.items()})

    def declare(self, equations: Equations, touch: ContactKinematics) -> None:
        """Declare one contact."""
        raise NotImplementedError


def bound(system: System, name: str, key: str, value: Any) -> Any:
    """A coefficient with parameters for numbers; functions of a speed and expressions of the state stay what they are.

    >>> import stickslip as ss
    >>> bound(ss.System(), "floor", "friction", 0.3)
    SX(floor.friction)
    """
    if isinstance(value, Stribeck):
        return value.bind(system, f"{name}.{key}")
    if value is None or isinstance(value, Cone) or (callable(value) and not isinstance(value, ca.SX)):
        return value
    most = 1.0 if "restitution" in key else np.inf
    number(f"contact {name!r}", key, value, at_least=0, at_most=most)
    if isinstance(value, ca.SX) and not system.is_constant(value):
        return value
    return system.parameter(f"{name}.{key}", value, at_least=0, at_most=most)


@dataclass(frozen=True)
class Frictionless(Law):
    """Signorini's condition with Newton's restitution e_N, and no friction.

    >>> law = Frictionless(restitution=0.8)
    """

    restitution: Scalar = 0.0

    def declare(self, equations: Equations, touch: ContactKinematics) -> None:
        equations.contact(gap=touch.gap, restitution=self.restitution, name=touch.name)


@dataclass(frozen=True)
class Coulomb(Law):
    """Coulomb friction, |P_F| <= mu P_N, in one direction in the plane and two in space; e_F is the tangential
    restitution. mu may be a function of the slip speed, e_N one of the approach speed. A `cone` takes the place of the ball,
    see `Cone`.

    >>> law = Coulomb(0.3, restitution=0.5)
    >>> brake = Coulomb(Stribeck(0.5, 0.2, speed=0.1), restitution=lambda v: 0.8 / (1 + v))
    """

    friction: Scalar
    restitution: Scalar = 0.0
    tangential_restitution: Scalar = 0.0
    cone: Cone | None = None

    def declare(self, equations: Equations, touch: ContactKinematics) -> None:
        equations.contact(
            gap=touch.gap,
            slip=touch.slip(None),
            friction=self.friction,
            restitution=self.restitution,
            tangential_restitution=self.tangential_restitution,
            cone=self.cone,
            name=touch.name,
        )


@dataclass(frozen=True)
class OrthotropicCoulomb(Law):
    """Coulomb friction with two coefficients: `friction` along `direction`, `friction_across` perpendicular to it.

    The reservoir is the ellipse (P_1/mu_1)^2 + (P_2/mu_2)^2 <= P_N^2. With D = diag(1, mu_2/mu_1), P = D P~ and
    gamma~ = D gamma it is the ball of radius mu_1 P_N; `solution.slip` and `solution.P_F` hold gamma~ and P~.

    direction: in the frame of the second geometry's body, the direction of the grooves or the grain, say.

    >>> law = OrthotropicCoulomb(0.1, 0.6, direction=[1, 0, 0])
    """

    friction: Scalar
    friction_across: Scalar
    direction: Vector
    restitution: Scalar = 0.0
    tangential_restitution: Scalar = 0.0

    def __post_init__(self) -> None:
        for name in ("friction", "friction_across"):
            number("orthotropic friction", name, getattr(self, name), above=0)
        given.direction("orthotropic friction", "direction", self.direction, 3)

    def declare(self, equations: Equations, touch: ContactKinematics) -> None:
        slip = touch.slip(self.direction)
        if len(slip) != 2:
            raise ModelError(f"contact {touch.name!r}: orthotropic friction needs a contact in space")
        equations.contact(
            gap=touch.gap,
            slip=[slip[0], self.friction_across / self.friction * slip[1]],
            friction=self.friction,
            restitution=self.restitution,
            tangential_restitution=self.tangential_restitution,
            name=touch.name,
        )


@dataclass(frozen=True)
class CoulombContensou(Law):
    """Coulomb friction coupled with drilling friction of a small circular contact area of radius `patch`.

        gamma_F = (gamma_1, gamma_2, 3 pi/16 patch omega_n),     |P_F| <= mu P_N

    the ball that approximates the set-valued Coulomb-Contensou law [Breuling et al. 2024, (59)]. A mu that is a
    function of the slip speed gets the length of all three components.

    >>> law = CoulombContensou(0.3, patch=1e-3)
    """

    friction: Scalar
    patch: Scalar
    restitution: Scalar = 0.0
    tangential_restitution: Scalar = 0.0

    def __post_init__(self) -> None:
        number("drilling friction", "patch", self.patch, at_least=0)

    def declare(self, equations: Equations, touch: ContactKinematics) -> None:
        slip = touch.slip(None)
        if len(slip) != 2:
            raise ModelError(f"contact {touch.name!r}: drilling friction needs a contact in space")
        equations.contact(
            gap=touch.gap,
            slip=[*slip, 3 * pi / 16 * self.patch * touch.spin()],
            friction=self.friction,
            restitution=self.restitution,
            tangential_restitution=self.tangential_restitution,
            name=touch.name,
        )


@dataclass(frozen=True)
class FixedRadius(Law):
    """Dry friction of at most `force`, whatever the normal force is, and no normal contact: a preloaded pad.

    >>> law = FixedRadius(force=2.0)
    """

    force: Scalar
    tangential_restitution: Scalar = 0.0

    def declare(self, equations: Equations, touch: ContactKinematics) -> None:
        equations.contact(
            gap=None,
            slip=touch.slip(None),
            radius=self.force,
            tangential_restitution=self.tangential_restitution,
            name=touch.name,
        )


def law_from(
    where: str,
    law: Law | None,
    friction: Scalar | None,
    restitution: Scalar | None,
    tangential_restitution: Scalar | None,
) -> Law:
    """The law itself, or one from the shortcuts: Coulomb where friction is given, else frictionless."""
    shortcuts: dict[str, Any] = {"friction": friction, "restitution": restitution}
    shortcuts["tangential_restitution"] = tangential_restitution
    values = {key: value for key, value in shortcuts.items() if value is not None}
    if law is not None:
        if values or not isinstance(law, Law):
            raise ModelError(
                f"{where}: give a law such as Coulomb(0.3), or friction= and restitution=, not both; got {law!r}"
            )
        return law
    if friction is None:
        if tangential_restitution is not None:
            raise ModelError(f"{where}: tangential restitution needs friction=")
        return Frictionless(**values)
    return Coulomb(**values)

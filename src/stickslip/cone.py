"""Reservoirs of friction that a user writes: one class with one method, the projection.

Friction is the law  -gamma_F in N_C(P_F):  the percussion P_F lies in a set C, and among all of C it takes the most energy out
of the slip gamma_F. For Coulomb's law C is a ball of radius rho = mu P_N. A `Cone` is any other convex set that grows with
rho; what solvers need, the residual P_F - project(P_F - r gamma_F, rho) and its derivatives, follows from its projection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, array, column


class Cone:
    """Base of reservoirs of friction: write a class with a method `project`, and give it as `cone=` of a contact.

    `project(y, radius)` returns the point of the reservoir that is nearest to y, a vector of 1, 2 or 3 symbols, in
    operators and functions of `stickslip.math`. Reservoirs are convex, contain zero, and grow in proportion to the radius,
    which is mu P_N (or a fixed force times the time step); what is not so is refused. Numbers of the class are constants;
    a parameter of the system stays a parameter.

    A ratchet, which slides easily forwards (a friction force to the left) and hardly backwards:

    >>> import stickslip as ss
    >>> from stickslip.math import maximum, minimum
    >>> class Ratchet(ss.Cone):
    ...     def project(self, y, radius):
    ...         return [maximum(-0.1 * radius, minimum(y[0], radius))]
    >>> s = ss.System()
    >>> (x, z), u = s.coordinates("x z", initial=[0, 0], velocity=[-1, 0])
    >>> s.mass_matrix([[1, 0], [0, 1]])
    >>> s.force([0, -9.81])
    >>> s.contact(gap=z, slip=u[0], friction=0.5, cone=Ratchet())
    >>> solution = ss.solve(s, t_end=0.1, dt=1e-2, progress=False)
    >>> round(float(solution.u[-1, 0]), 4)
    -0.5095
    """

    def project(self, y: np.ndarray, radius: Scalar) -> Sequence[Scalar]:
        """The point of the reservoir of this radius that is nearest to y."""
        raise ModelError("it has no method project(self, y, radius)")


@dataclass(frozen=True)
class Projection:
    """A cone as a value: the name of its class, its size, and a Function that gives its projection and derivatives.

    The Function takes y, the radius and `coefficients` further numbers; `text` is its serialisation, so that equal cones
    are equal.
    """

    name: str
    size: int
    coefficients: int
    text: str

    @cached_property
    def function(self) -> ca.Function:
        """(y, radius, coefficients) -> (projection, derivative by y, derivative by the radius), all dense."""
        return ca.Function.deserialize(self.text)


def projection_of(where: str, cone: Any, size: int) -> tuple[Projection, ca.SX]:
    """The projection of a cone for slip of so many components, and the symbols in it that are neither y nor the radius."""
    if not isinstance(cone, Cone):
        name = cone.__name__ if isinstance(cone, type) else repr(cone)
        hint = f"; write {name}()" if isinstance(cone, type) and issubclass(cone, Cone) else ""
        raise ModelError(f"{where}: cone= takes an instance of a class derived from stickslip.Cone, got {name}{hint}")
    if not 1 <= size <= 3:
        raise ModelError(f"{where}: a cone needs a slip velocity of 1, 2 or 3 components, not {size}")
    name = type(cone).__name__
    y, radius = ca.SX.sym("y", size), ca.SX.sym("radius")
    try:
        p = ca.densify(column(cone.project(array(y), radius)))
    except (ModelError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ModelError(f"{where}: the cone {name} cannot project {size} components: {error}") from error
    if p.numel() != size:
        raise ModelError(
            f"{where}: the cone {name} projects {size} components to {p.numel()}; project() returns as many"
        )
    p = ca.reshape(p, size, 1)
    own = {s.__hash__() for s in [*ca.vertsplit(y), radius]}
    further = [s for s in ca.symvar(p) if s.__hash__() not in own]
    given = ca.vertcat(ca.SX(0, 1), *further)
    c = ca.SX.sym("c", len(further))
    p = ca.substitute(p, given, c) if further else p
    outputs = [p, ca.densify(ca.jacobian(p, y)), ca.densify(ca.jacobian(p, radius))]
    projection = Projection(name, size, len(further), ca.Function("cone", [y, radius, c], outputs).serialize())
    if not further:
        check_projection(where, projection, np.zeros(0))
    return projection, given


# -- a projection is one, or is refused ---------------------------------------------------------------------------------

SAMPLES, CLOSE = 60, 1e-9


def check_projection(where: str, cone: Projection, coefficients: np.ndarray) -> None:
    """Whether it is the projection to a convex set that contains zero and grows with the radius, at random points."""
    what = f"{where}: the cone {cone.name}"
    random = np.random.default_rng(0)
    y = random.normal(size=(cone.size, SAMPLES)) * np.exp(random.normal(size=SAMPLES))
    p, slope, out = _at(cone, y, 1.0, coefficients)
    if not np.isfinite(p).all():
        raise ModelError(f"{what} projects {_show(y, ~np.isfinite(p).all(axis=0))} to what is not a number (radius 1)")
    moved = np.abs(p - y).max(axis=0) > CLOSE
    smooth = np.isfinite(slope).all(axis=0) & np.isfinite(out).all(axis=0)
    if (moved & ~smooth).any():
        raise ModelError(f"{what} has no derivative at {_show(y, moved & ~smooth)} (radius 1)")
    zero, *_ = _at(cone, np.zeros((cone.size, 1)), 1.0, coefficients)
    if not np.abs(zero).max() <= CLOSE:
        raise ModelError(f"{what} does not contain zero: it projects 0 to {_show(zero, np.ones(1, bool))} (radius 1)")
    for radius in (0.0, 1e-3, 70.0):
        again, *_ = _at(cone, radius * y if radius else y, radius, coefficients)
        off = ~(np.abs(again - radius * p).max(axis=0) <= CLOSE * max(radius, 1.0))
        if off.any():
            raise ModelError(
                f"{what} does not grow in proportion to the radius: of radius {radius:g} it projects "
                f"{_show(radius * y if radius else y, off)} to {_show(again, off)}, expected {_show(radius * p, off)}"
            )
    again, *_ = _at(cone, p, 1.0, coefficients)
    off = ~(np.abs(again - p).max(axis=0) <= CLOSE)
    if off.any():
        raise ModelError(f"{what} moves {_show(p, off)}, which is its own projection; it must stay (radius 1)")
    # The nearest point p of a convex set: (y - p) . (x - p) <= 0 for all of its points x.
    excess = (y - p).T @ p - ((y - p) * p).sum(axis=0)[:, None]
    worst = excess.max(axis=1)
    if worst.max() > CLOSE * (1.0 + np.abs(y).max()):
        k = int(worst.argmax())
        raise ModelError(
            f"{what} is not convex, or project() does not give its nearest point: it projects {_show(y, k)} to "
            f"{_show(p, k)}, but {_show(p, int(excess[k].argmax()))} is nearer, or on the way to a nearer one (radius 1)"
        )


def _at(cone: Projection, y: np.ndarray, radius: float, c: np.ndarray) -> list[np.ndarray]:
    """Projection and derivatives of the columns of y, each as columns."""
    n = y.shape[1]
    values = cone.function.map(n)(y, np.full((1, n), radius), np.tile(c[:, None], n))
    return [np.array(v).reshape(-1, n, order="F") for v in values]


def _show(values: np.ndarray, which: Any) -> str:
    """The first of the columns, as text."""
    column = values[:, which] if isinstance(which, int) else values[:, which][:, 0]
    return np.array2string(column, precision=3, separator=", ")

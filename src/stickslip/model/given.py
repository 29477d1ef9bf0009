"""What users give to parts: numbers, vectors, names and other parts, checked where they come in.

A wrong one is named there, with the part, the argument and the remedy; inside, everything is what it should be.
"""

from __future__ import annotations

from typing import Any, TypeVar

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, is_symbolic

T = TypeVar("T")


def text(where: str, value: Any) -> str:
    """A name: text with something in it.

    >>> text("system", "crank")
    'crank'
    """
    if not isinstance(value, str) or not value.strip():
        raise ModelError(f"{where}: the name must be a text that is not empty, such as 'crank', got {value!r}")
    return value


def number(
    where: str, what: str, value: Any, *, above: float = -np.inf, at_least: float = -np.inf, at_most: float = np.inf
) -> Scalar:
    """A finite number in its range, or a scalar expression, whose value is checked when it is known.

    >>> number("sphere", "radius", 0.1, above=0)
    0.1
    """
    if isinstance(value, ca.SX) and value.shape == (1, 1):
        return value
    bounds = [f"> {above:g}"] if above > -np.inf else []
    bounds += [f">= {at_least:g}"] if at_least > -np.inf else []
    bounds += [f"<= {at_most:g}"] if at_most < np.inf else []
    wanted = " ".join(["a finite number", " and ".join(bounds)]).strip()
    if isinstance(value, (str, bytes)) or getattr(value, "ndim", 0) != 0:
        raise ModelError(f"{where}: {what} = {value!r} must be {wanted}")
    try:
        x = float(value)
    except (TypeError, ValueError, OverflowError):  # an int beyond all floats
        raise ModelError(f"{where}: {what} = {value!r} must be {wanted}") from None
    if not (np.isfinite(x) and x > above and at_least <= x <= at_most):
        raise ModelError(f"{where}: {what} = {value} must be {wanted}")
    return value


def vector(where: str, what: str, value: Any, n: int | tuple[int, ...]) -> np.ndarray:
    """n finite numbers or scalar expressions; several n may be possible.

    >>> vector("plane", "point", [0, 1], 2)
    array([0., 1.])
    """
    sizes = (n,) if isinstance(n, int) else n
    try:
        components = None if isinstance(value, (str, bytes)) else np.atleast_1d(array(value))
    except (TypeError, ValueError, OverflowError):
        components = None
    if components is None or components.ndim != 1 or components.size not in sizes:
        able = " or ".join(map(str, sizes))
        raise ModelError(f"{where}: {what} = {value!r} needs {able} component{'s' if able != '1' else ''}, all numbers")
    if not is_symbolic(components) and not np.isfinite(components).all():
        raise ModelError(f"{where}: {what} = {value!r} is not finite")
    return components


def numbers(where: str, what: str, value: Any, n: int | tuple[int, ...]) -> np.ndarray:
    """n finite numbers; no symbols, as in an initial state.

    >>> numbers("ball", "position", [0, 1], (1, 2, 3))
    array([0., 1.])
    """
    out = vector(where, what, value, n)
    if is_symbolic(out):
        raise ModelError(f"{where}: {what} must be given by numbers, not by symbols, got {value!r}")
    return out


def flag(where: str, what: str, value: Any) -> bool:
    """True or False; a text such as "no" counts as true in Python, and is not meant so.

    >>> flag("torque", "local", True)
    True
    """
    return bool(instance(where, what, value, (bool, np.bool_), "True or False"))


def instance(where: str, what: str, value: Any, kind: type[T] | tuple[type[T], ...], such_as: str) -> T:
    """Something of a kind, such as a point of a body."""
    if not isinstance(value, kind):
        raise ModelError(f"{where}: {what} must be {such_as}, got {value!r}")
    return value


def direction(where: str, what: str, value: Vector, n: int) -> np.ndarray:
    """A vector of length > 0, as it is given.

    >>> direction("plane", "normal", [0, 2], 2)
    array([0., 2.])
    """
    out = vector(where, what, value, n)
    if not is_symbolic(out) and not np.any(out):
        raise ModelError(f"{where}: the {what} {value} has length zero")
    return out


def require_positive(where: str, **values: Any) -> None:
    """Numbers must be positive; what symbols are worth is checked when it is known.

    >>> require_positive("ball", mass=1.0, radius=0.1)
    """
    for name, value in values.items():
        number(where, name, value, above=0)


def unit_quaternion(where: str, given: Any) -> np.ndarray:
    """An orientation as a quaternion of length 1, given as one of any length or as a rotation matrix.

    >>> unit_quaternion("body 'top'", [0, 0, 0, 2]).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    wanted = "orientation must be a quaternion (p_0, p_1, p_2, p_3) of length > 0, scalar first, or a 3 x 3 rotation "
    try:
        orientation = array(given)
    except ModelError:
        orientation = np.zeros(0)
    if is_symbolic(orientation) or orientation.shape not in ((4,), (3, 3)) or not np.isfinite(orientation).all():
        raise ModelError(f"{where}: {wanted}matrix, given by numbers, got {given!r}")
    if orientation.shape == (3, 3):
        from scipy.spatial.transform import Rotation

        if not np.allclose(orientation.T @ orientation, np.eye(3), atol=1e-9) or np.linalg.det(orientation) < 0:
            raise ModelError(f"{where}: the orientation is not a rotation matrix")
        x, y, z, w = Rotation.from_matrix(orientation).as_quat()
        return np.array([w, x, y, z])
    length = np.linalg.norm(orientation)
    if length == 0.0:
        raise ModelError(f"{where}: {wanted}matrix, got {given!r}")
    return orientation / length


def principal_or_full(where: str, given: Any) -> np.ndarray:
    """Moments of inertia: three principal ones, or a symmetric matrix; positive, none larger than the sum of the two others.

    >>> principal_or_full("body 'top'", [1, 1, 2]).tolist()
    [1.0, 1.0, 2.0]
    """
    try:
        inertia = array(given)
    except ModelError:
        inertia = np.zeros(0)
    if inertia.shape not in ((3,), (3, 3)):
        raise ModelError(
            f"{where}: inertia must be three principal moments or a 3 x 3 matrix of numbers, got {given!r}"
        )
    if is_symbolic(inertia):
        return inertia
    Theta = np.diag(inertia) if inertia.ndim == 1 else inertia
    if not np.isfinite(Theta).all() or not np.allclose(Theta, Theta.T, rtol=0, atol=1e-12 * np.abs(Theta).max()):
        raise ModelError(
            f"{where}: the inertia matrix is not finite or not symmetric: {np.asarray(Theta, float).tolist()}"
        )
    a, b, c = np.linalg.eigvalsh(Theta)
    if a <= 0:
        raise ModelError(f"{where}: principal moment of inertia {a:g} must be > 0")
    if c > (a + b) * (1 + 1e-9):
        raise ModelError(
            f"{where}: principal moments of inertia {a:g}, {b:g}, {c:g} violate the triangle inequality, "
            f"{c:g} > {a:g} + {b:g}; no distribution of mass has them"
        )
    return inertia

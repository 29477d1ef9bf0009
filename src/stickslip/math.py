"""Mathematics for symbols and numbers alike.

The coordinates of a mechanism are symbols; a user's expression is built from them with ordinary operators and with the
functions of this module, which also accept plain numbers and arrays of either:

>>> from stickslip.math import cos, dot, norm
>>> cos(0.0), norm([3.0, 4.0]), dot([1, 2], [3, 4])
(1.0, 5.0, 11.0)

Vectors of symbols are NumPy arrays of scalar symbols, so they unpack, slice and add as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from stickslip.errors import ModelError

ca.GlobalOptions.setNumpyMode(
    -1
)  # an array of symbols times a symbol is a column; mode 1 of CasADi 3.8 gives nan there


def _refuse(attribute: str, instead: str) -> None:
    """Let CasADi's symbols refuse to become a number: float() gave nan, bool() a message about its own insides."""
    convert = getattr(ca.SX, attribute)

    def refusing(self: ca.SX) -> Any:
        if self.is_scalar() and not self.is_constant():
            raise ModelError(f"{_short(self)} is a symbol, not a number: {instead}")
        return convert(self)

    setattr(ca.SX, attribute, refusing)


def _short(expression: ca.SX) -> str:
    text = str(expression)
    return text if len(text) < 60 else f"{text[:57]}..."


_refuse(
    "__bool__",
    "Python's `if`, `and`, `or`, `not`, max() and min() need a value now. Write stickslip.math.where(condition, x, y), "
    "maximum(x, y) or minimum(x, y); a one-sided constraint is a contact",
)
_refuse(
    "__float__",
    "float() and the functions of Python's math module need a value now. Use the functions of stickslip.math, such as "
    "stickslip.math.sin. For a value: system.initial_value(...) before a run, solution.evaluate(...) after it",
)
_refuse("__int__", "int() and round() need a value now; stickslip.math has floor() and sign()")


class SymbolError(ModelError, TypeError):
    """A symbol was taken for something that it is not. NumPy and Python expect a TypeError where they try whether it is."""


def _refused(attribute: str, text: str) -> None:
    """The same for what CasADi's symbols do not have, or refuse with a message about their own insides."""
    inherited = getattr(ca.SX, attribute, None)

    def refusing(self: ca.SX, *others: Any) -> Any:
        if inherited is not None and (others == ("",) if attribute == "__format__" else not self.is_scalar()):
            return inherited(self, *others)
        raise SymbolError(f"{_short(self)} is a symbol, not {text}")

    setattr(ca.SX, attribute, refusing)


_refused(
    "__index__",
    "a whole number: range(), indices and slices need a value now. stickslip.math.where chooses by a condition",
)
_refused(
    "__format__", "a number: a format such as {x:.3f} needs a value now. solution.evaluate(...) has values after a run"
)
_refused("__iter__", "a list: it has one component. Vectors of symbols are arrays: stickslip.math.vector(x, y)")
_refused("rint", "a number: numpy's round() and rint() need a value now; stickslip.math has floor() and sign()")
ca.SX.arctan2 = ca.atan2  # NumPy asks components of an array for it


def _multiply(left: Any, right: Any) -> ca.SX:
    """`left @ right` with NumPy's rule for vectors, so that `m / 2 * u @ u`, which is `(m / 2 * u) @ u`, is what it says.

    CasADi's m u is a column, and knows no product of two of them.
    """
    a, b = column(left), column(right)
    if a.shape == b.shape and b.shape[1] == 1:
        return ca.dot(a, b)
    if a.shape[1] != b.shape[0] and 1 not in (a.numel(), b.numel()):
        raise ModelError(f"@ joins {_short(a)} and {_short(b)}, whose shapes {a.shape} and {b.shape} do not fit")
    return ca.mtimes(a, b)


def _dispatch(self: ca.SX, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """An array of symbols @ a symbol arrives here, by NumPy's protocol."""
    if ufunc is np.matmul and method == "__call__" and len(inputs) == 2:
        return _multiply(*inputs)
    return _DISPATCH(self, ufunc, method, *inputs, **options)


_DISPATCH = ca.SX.__array_ufunc__
ca.SX.__matmul__ = _multiply
ca.SX.__rmatmul__ = lambda self, other: _multiply(other, self)
ca.SX.__array_ufunc__ = _dispatch

Scalar: TypeAlias = Any  # a number or a scalar symbol
Vector: TypeAlias = Any  # a sequence of scalars, an array or a symbolic column
pi = float(np.pi)


def is_symbolic(x: Any) -> bool:
    """Whether x is or holds a symbolic expression.

    >>> is_symbolic(1.0)
    False
    """
    if isinstance(x, ca.SX):
        return True
    if isinstance(x, np.ndarray):
        return x.dtype == object and any(isinstance(e, ca.SX) for e in x.flat)
    return isinstance(x, (list, tuple)) and any(is_symbolic(e) for e in x)


def column(x: Any) -> ca.SX:
    """x as a symbolic matrix: a scalar 1 x 1, a vector n x 1, vectors the rows of n x m; scalars and vectors are joined.

    >>> column([1, 2, 3]).shape, column([[1, 2], [3, 4]]).shape, column([1, [2, 3]]).shape
    ((3, 1), (2, 2), (3, 1))
    """
    if isinstance(x, ca.SX):
        return x
    if isinstance(x, ca.DM):
        return ca.SX(x)
    if isinstance(x, (int, float, np.integer, np.floating)):
        try:
            return ca.SX(float(x))
        except OverflowError:
            raise ModelError(f"{x!r} is beyond all floating-point numbers") from None
    if isinstance(x, (str, bytes, dict)) or not hasattr(x, "__iter__"):
        raise ModelError(f"{x!r} is neither a number nor an expression of declared symbols")
    if isinstance(x, np.ndarray) and x.dtype != object:
        return ca.SX(ca.DM(np.asarray(x, dtype=float)))
    if isinstance(x, np.ndarray) and 0 < x.ndim < 3 and x.size and all(map(_is_plain, x.flat)):
        return ca.reshape(ca.SX(ca.vertcat(*x.ravel(order="F").tolist())), len(x), x.size // len(x))
    rows = list(x)
    if not rows:
        return ca.SX(0, 1)
    pieces = [column(row) for row in rows]
    if all(piece.numel() > 1 for piece in pieces):
        if len({piece.numel() for piece in pieces}) > 1:
            raise ModelError(f"the rows of {x!r} have different lengths")
        return ca.vertcat(*[piece.T for piece in pieces])
    return ca.vertcat(*pieces)


def _is_plain(x: Any) -> bool:
    """Whether x is a scalar that needs no further look."""
    return type(x) is float or (type(x) is ca.SX and x.is_scalar())


def array(x: Any) -> np.ndarray:
    """x as a NumPy array of scalars, symbolic where x is; the inverse of `column`.

    >>> array([1.0, 2.0])
    array([1., 2.])
    """
    if isinstance(x, ca.SX):
        rows, columns = x.shape
        out = _objects(ca.densify(x).elements())
        return out if columns == 1 else out.reshape((rows, columns), order="F")
    if is_symbolic(x):
        if not all(_is_scalar(e) for e in (x.flat if isinstance(x, np.ndarray) else x)):
            return array(column(x))
        return x if isinstance(x, np.ndarray) else _objects(x)
    if isinstance(x, (str, bytes)):
        raise ModelError(f"{x!r} is a text, not a number")
    try:
        return np.asarray(x, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{x!r} is not an array of numbers or expressions") from None


def _objects(items: Sequence[Any]) -> np.ndarray:
    """A vector of these; one by one, because NumPy would ask each symbol for its shape several times."""
    out = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        out[k] = item
    return out


def _is_scalar(x: Any) -> bool:
    return x.is_scalar() if isinstance(x, ca.SX) else isinstance(x, (int, float, np.integer, np.floating))


def _elementwise(symbolic: Callable, numeric: Callable, what: str) -> Callable:
    name, _, names = what.partition(")")[0].partition("(")
    count = len(names.split(", "))

    def function(*args: Any) -> Any:
        if len(args) != count:
            raise ModelError(
                f"{name}({names}) was called with {len(args)} argument{'s' * (len(args) != 1)}, not {count}"
            )
        if not any(is_symbolic(a) for a in args):
            value = numeric(*[np.asarray(a, dtype=float) for a in args])
            return float(value) if np.ndim(value) == 0 else value
        if all(isinstance(a, ca.SX) or np.ndim(a) == 0 for a in args):
            return symbolic(*args)
        pairs = np.broadcast(
            *[np.asarray(array(a) if is_symbolic(a) and np.ndim(a) else a, dtype=object) for a in args]
        )
        values: list[Any] = [symbolic(*items) for items in pairs]
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out.reshape(pairs.shape)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, elementwise, for numbers and symbols."
    return function


sin = _elementwise(ca.sin, np.sin, "sin(x)")
cos = _elementwise(ca.cos, np.cos, "cos(x)")
tan = _elementwise(ca.tan, np.tan, "tan(x)")
asin = _elementwise(ca.asin, np.arcsin, "asin(x)")
acos = _elementwise(ca.acos, np.arccos, "acos(x)")
atan = _elementwise(ca.atan, np.arctan, "atan(x)")
atan2 = _elementwise(ca.atan2, np.arctan2, "atan2(y, x)")
sinh = _elementwise(ca.sinh, np.sinh, "sinh(x)")
cosh = _elementwise(ca.cosh, np.cosh, "cosh(x)")
tanh = _elementwise(ca.tanh, np.tanh, "tanh(x)")
exp = _elementwise(ca.exp, np.exp, "exp(x)")
log = _elementwise(ca.log, np.log, "log(x), the natural logarithm")
sqrt = _elementwise(ca.sqrt, np.sqrt, "sqrt(x)")
absolute = _elementwise(ca.fabs, np.abs, "absolute(x)")
sign = _elementwise(ca.sign, np.sign, "sign(x)")
floor = _elementwise(ca.floor, np.floor, "floor(x), the largest whole number that is not greater")
minimum = _elementwise(ca.fmin, np.minimum, "minimum(x, y)")
maximum = _elementwise(ca.fmax, np.maximum, "maximum(x, y)")
where = _elementwise(
    lambda condition, x, y: ca.if_else(condition, x, y),
    lambda condition, x, y: np.where(condition != 0, x, y),
    "where(condition, x, y): x where the condition holds, else y",
)


def vector(*components: Scalar) -> np.ndarray:
    """A vector from its components.

    >>> vector(1, 2.5)
    array([1. , 2.5])
    """
    return array(list(components))


def dot(a: Vector, b: Vector) -> Scalar:
    """Inner product of two vectors of equal length.

    >>> dot([1, 2], [3, 4])
    11.0
    """
    a, b = array(a), array(b)
    if a.ndim != 1 or a.shape != b.shape:
        raise ModelError(f"dot needs two vectors of equal length, got shapes {a.shape} and {b.shape}")
    products = [x * y for x, y in zip(a, b, strict=True)]
    total = products[0]
    for p in products[1:]:
        total = total + p
    return total if is_symbolic(total) else float(total)


def cross(a: Vector, b: Vector) -> Any:
    """Cross product: a vector for two vectors of three components, a scalar (the third component) for two of two.

    >>> cross([1, 0], [0, 1]), cross([1, 0, 0], [0, 1, 0])
    (1.0, array([0., 0., 1.]))
    """
    a, b = array(a), array(b)
    if a.shape == b.shape == (2,):
        value = a[0] * b[1] - a[1] * b[0]
        return value if is_symbolic(value) else float(value)
    if a.shape == b.shape == (3,):
        return vector(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    raise ModelError(f"cross needs two vectors of 2 or of 3 components, got shapes {a.shape} and {b.shape}")


def norm(a: Vector) -> Scalar:
    """Euclidean norm.

    >>> norm([3, 4])
    5.0
    """
    return sqrt(dot(a, a))


def diag(values: Sequence[Scalar]) -> np.ndarray:
    """The diagonal matrix with these values.

    >>> diag([1, 2])
    array([[1., 0.],
           [0., 2.]])
    """
    return array(ca.diag(column(values))) if is_symbolic(values) else np.diag(np.asarray(values, dtype=float))


def rotation(angle: Scalar) -> np.ndarray:
    """The matrix that turns plane vectors by an angle, counter-clockwise.

    >>> rotation(0.0)
    array([[ 1., -0.],
           [ 0.,  1.]])
    """
    c, s = cos(angle), sin(angle)
    return array([[c, -s], [s, c]])


def quaternion(axis: Vector, angle: float) -> np.ndarray:
    """The unit quaternion, scalar first, that turns by an angle about an axis.

    >>> quaternion([0, 0, 2], pi).round(12)
    array([0., 0., 0., 1.])
    """
    a = array(axis)
    if a.shape != (3,) or not np.linalg.norm(a) > 0:
        raise ModelError(f"quaternion: the axis {axis!r} needs three components and a length > 0")
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * a / np.linalg.norm(a)])


def quaternion_rotation(p: Vector) -> np.ndarray:
    """The rotation matrix of a quaternion, scalar first, of any length: A = I + 2 (p_0 p~ + p~ p~)/|p|^2.

    >>> quaternion_rotation([1.0, 0.0, 0.0, 0.0])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    p = array(p)
    return array(_symbolic_rotation().call([column(p)])[0]) if is_symbolic(p) else _rotation(p)


@cache
def _symbolic_rotation() -> ca.Function:
    """The same as a function, which is written down once: for the symbols of a body it takes a tenth of the time."""
    p = ca.SX.sym("p", 4)
    return ca.Function("A", [p], [column(_rotation(array(p)))])


def _rotation(p: np.ndarray) -> np.ndarray:
    a, b, c, d = p
    s = 2 / (a * a + b * b + c * c + d * d)
    return array(
        [
            [1 - s * (c * c + d * d), s * (b * c - a * d), s * (b * d + a * c)],
            [s * (b * c + a * d), 1 - s * (b * b + d * d), s * (c * d - a * b)],
            [s * (b * d - a * c), s * (c * d + a * b), 1 - s * (b * b + c * c)],
        ]
    )


def derivative(expression: Any, *, by: Any) -> Any:
    """The derivative of an expression: a scalar by a scalar, a gradient, or a matrix of derivatives.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> derivative(x**2, by=x)
    SX((2.*x))
    """
    matrix = ca.jacobian(column(expression), column(by))
    if matrix.shape == (1, 1):
        return ca.densify(matrix)[0]
    return array(ca.densify(matrix.T if matrix.shape[0] == 1 else matrix))

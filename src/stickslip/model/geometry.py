"""Shapes that can touch, and where each pair of them does.

Two ideas serve all pairs. Against a half-space with normal n, a shape is its candidate points that can be the lowest
ones, and each has the gap n . (c - r_0). Against a sphere, a shape is a core (a point, a segment, a box) with a
rounding: the gap is the distance of the centre from the core minus the radii.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, cross, dot, is_symbolic, maximum, minimum, norm, sqrt
from stickslip.model.frames import Carrier, Frame, Point, ground, parameters, unit
from stickslip.model.given import direction, instance, number, vector
from stickslip.model.system import System

POINT = "a point, such as body.point() or body.point(0, 0, 0.1)"
RIM = 1e-16  # under the root of a rim's radius: a disk that lies flat has no lowest point, only 1e-8 of a direction


def _positive(where: str, **values: Any) -> None:
    for name, value in values.items():
        number(where, name, value, above=0)


def _edges(where: str, what: str, at: Any, values: Any) -> None:
    """Where a box or an ellipsoid sits, and how long its edges or axes are."""
    instance(where, "its place", at, (Carrier, Frame), "a body, or a frame of one such as body.frame([0, 0, 1])")
    own = len(at.origin) if isinstance(at, Frame) else getattr(at, "dimension", (2, 3))
    _positive(where, **{f"{what}[{k}]": x for k, x in enumerate(vector(where, what, values, own))})


@dataclass(frozen=True)
class Sphere:
    """A sphere around a point of a body; a circle in the plane.

    >>> import stickslip as ss
    >>> ball = ss.RigidBody("ball", mass=1, inertia=[1, 1, 1])
    >>> skin = ss.Sphere(ball.point(), radius=0.1)
    """

    center: Point
    radius: Scalar

    def __post_init__(self) -> None:
        instance("sphere", "its center", self.center, Point, POINT)
        _positive("sphere", radius=self.radius)

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.center.body

    def core(self, system: System, prefix: str) -> tuple[Callable[[np.ndarray], np.ndarray], Scalar]:
        """The point of the core that is closest to a place, as a function of it, and the radius of the rounding."""
        c = self.center.position(system, f"{prefix}.center")
        return (lambda _: c), system.parameter(f"{prefix}.radius", self.radius, above=0)

    def candidates(self, system: System, prefix: str, n: np.ndarray) -> Iterator[np.ndarray]:
        """The points that can be the lowest ones in direction -n."""
        nearest, R = self.core(system, prefix)
        yield array(nearest(n) - R * n)


@dataclass(frozen=True)
class Capsule:
    """A cylinder with round ends, between two points of a body; in the plane a stadium.

    >>> import stickslip as ss
    >>> rod = ss.RigidBody("rod", mass=1, inertia=[1, 1, 1])
    >>> skin = ss.Capsule(rod.point(0, 0, -1), rod.point(0, 0, 1), radius=0.1)
    """

    end_1: Point
    end_2: Point
    radius: Scalar

    def __post_init__(self) -> None:
        for end in (self.end_1, self.end_2):
            instance("capsule", "each end", end, Point, POINT)
        _positive("capsule", radius=self.radius)
        if self.end_1.body is not self.end_2.body:
            raise ModelError(f"capsule: its ends {self.end_1} and {self.end_2} belong to two bodies")
        if self.end_1.dimension != self.end_2.dimension:
            raise ModelError(
                f"capsule: its ends {self.end_1} and {self.end_2} live in {self.end_1.dimension} and {self.end_2.dimension} "
                "dimensions; give both 2 coordinates, or both 3"
            )
        ends = [*self.end_1.coordinates, *self.end_2.coordinates]
        if not is_symbolic(ends) and not norm(array(self.end_2.coordinates) - array(self.end_1.coordinates)) > 0:
            raise ModelError("capsule: its ends coincide; use Sphere")

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.end_1.body

    def core(self, system: System, prefix: str) -> tuple[Callable[[np.ndarray], np.ndarray], Scalar]:
        """See `Sphere.core`: the closest point of the segment."""
        a, b = (p.position(system, f"{prefix}.end_{k}") for k, p in enumerate((self.end_1, self.end_2), 1))

        def nearest(c: np.ndarray) -> np.ndarray:
            share = dot(c - a, b - a) / dot(b - a, b - a)
            return array(a + minimum(maximum(share, 0.0), 1.0) * (b - a))

        return nearest, system.parameter(f"{prefix}.radius", self.radius, above=0)

    def candidates(self, system: System, prefix: str, n: np.ndarray) -> Iterator[np.ndarray]:
        """See `Sphere.candidates`: one for each end."""
        R = system.parameter(f"{prefix}.radius", self.radius, above=0)
        for k, end in enumerate((self.end_1, self.end_2), 1):
            yield array(end.position(system, f"{prefix}.end_{k}") - R * n)


@dataclass(frozen=True)
class Box:
    """A box with these edges, centred in a body's centre of mass or in a frame of it; a rectangle in the plane.

    >>> import stickslip as ss
    >>> crate = ss.RigidBody("crate", mass=1, inertia=[1, 1, 1])
    >>> skin = ss.Box(crate, [1.0, 2.0, 3.0])
    """

    at: Carrier | Frame
    size: Vector

    def __post_init__(self) -> None:
        _edges("box", "size", self.at, self.size)

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.at.body if isinstance(self.at, Frame) else self.at

    def _local(self, system: System, prefix: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Origin, axes and half edges."""
        half = parameters(system, f"{prefix}.size", array(self.size))
        half = array(half / 2)
        return *_placement(system, prefix, self.at, len(half)), half

    def core(self, system: System, prefix: str) -> tuple[Callable[[np.ndarray], np.ndarray], Scalar]:
        """See `Sphere.core`: the closest point of the box."""
        origin, R, half = self._local(system, prefix)

        def nearest(c: np.ndarray) -> np.ndarray:
            s = R.T @ (self.body.local(c) - origin)
            inside = array([minimum(maximum(x, -h), h) for x, h in zip(s, half, strict=True)])
            return self.body.position(origin + R @ inside)

        return nearest, 0.0

    def candidates(self, system: System, prefix: str, n: np.ndarray) -> Iterator[np.ndarray]:
        """See `Sphere.candidates`: the vertices."""
        origin, R, half = self._local(system, prefix)
        for signs in product((-1.0, 1.0), repeat=len(half)):
            yield self.body.position(origin + R @ (np.array(signs) * half))


@dataclass(frozen=True)
class Disk:
    """The sharp edge of a disk: a circle about an axis of the body, which touches in its lowest point.

    A disk that comes to lie flat has no lowest point: use a `Cylinder` with `points`.

    >>> import stickslip as ss
    >>> coin = ss.RigidBody("coin", mass=1, inertia=[1, 1, 2])
    >>> rim = ss.Disk(coin.point(), axis=[0, 0, 1], radius=0.1)
    """

    center: Point
    axis: Vector
    radius: Scalar

    def __post_init__(self) -> None:
        instance("disk", "its center", self.center, Point, POINT)
        _positive("disk", radius=self.radius)
        unit("disk", self.axis, 3)

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.center.body

    def candidates(self, system: System, prefix: str, n: np.ndarray) -> Iterator[np.ndarray]:
        """See `Sphere.candidates`: the lowest point of the rim, c - R (n - (n . a) a)/|n - (n . a) a|."""
        a = self.body.direction(directions(system, f"{prefix}.axis", self.axis))
        R = system.parameter(f"{prefix}.radius", self.radius, above=0)
        c = self.center.position(system, f"{prefix}.center")
        yield array(c - R * _rim(n, a))


@dataclass(frozen=True)
class Cylinder:
    """A cylinder about an axis of the body: the edges of its two end faces.

    Each edge has one contact, in its lowest point: right for a cylinder that rolls, lies or wobbles. One that stands
    or lands on a face has no lowest point; `points` such as 8 then replaces each edge by so many points that are
    fixed to the body, which is robust in any position and rolls like a prism.

    >>> import stickslip as ss
    >>> can = ss.RigidBody("can", mass=1, inertia=[1, 1, 1])
    >>> roller = ss.Cylinder(can.point(), axis=[0, 0, 1], radius=0.03, length=0.1)
    >>> standing = ss.Cylinder(can.point(), axis=[0, 0, 1], radius=0.03, length=0.1, points=8)
    """

    center: Point
    axis: Vector
    radius: Scalar
    length: Scalar
    points: int = 0

    def __post_init__(self) -> None:
        instance("cylinder", "its center", self.center, Point, POINT)
        _positive("cylinder", radius=self.radius, length=self.length)
        unit("cylinder", self.axis, 3)
        if not isinstance(self.points, int) or self.points not in (0, *range(3, 1000)):
            raise ModelError(f"cylinder: points = {self.points} must be 0, or at least 3 to stand on")

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.center.body

    def candidates(self, system: System, prefix: str, n: np.ndarray) -> Iterator[np.ndarray]:
        """See `Sphere.candidates`: of both edges, the lowest point or those that are fixed."""
        local = directions(system, f"{prefix}.axis", self.axis)
        R = system.parameter(f"{prefix}.radius", self.radius, above=0)
        h = system.parameter(f"{prefix}.length", self.length, above=0) / 2
        c = self.center.position(system, f"{prefix}.center")
        a = self.body.direction(local)
        x, y = tangents(local, unit("cylinder", self.axis, 3))
        for side in (-1.0, 1.0):
            if self.points == 0:
                yield array(c + side * h * a - R * _rim(n, a))
            for angle in 2 * np.pi * np.arange(self.points) / max(self.points, 1):
                yield array(c + side * h * a) + self.body.direction(array(R * (np.cos(angle) * x + np.sin(angle) * y)))


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid with these semi-axes, centred in a body's centre of mass or in a frame of it; an ellipse in the
    plane.

    >>> import stickslip as ss
    >>> egg = ss.RigidBody("egg", mass=1, inertia=[1, 1, 1])
    >>> skin = ss.Ellipsoid(egg, [0.2, 0.2, 0.3])
    """

    at: Carrier | Frame
    semi_axes: Vector

    def __post_init__(self) -> None:
        _edges("ellipsoid", "semi_axes", self.at, self.semi_axes)

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.at.body if isinstance(self.at, Frame) else self.at

    def candidates(self, system: System, prefix: str, n: np.ndarray) -> Iterator[np.ndarray]:
        """See `Sphere.candidates`: c - S n/sqrt(n . S n) with S = A diag(a^2) A^T."""
        a = parameters(system, f"{prefix}.semi_axes", array(self.semi_axes))
        origin, R = _placement(system, prefix, self.at, len(a))
        axes = [self.body.direction(R[:, k]) for k in range(len(a))]
        along = array([dot(axis, n) * x for axis, x in zip(axes, a, strict=True)])
        reach = norm(along)
        place = self.body.position(origin)
        for axis, x, s in zip(axes, a, along, strict=True):
            place = array(place - x * s / reach * axis)
        yield place


def _placement(system: System, prefix: str, at: Carrier | Frame, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Origin and axes of a shape in its body: zero and the unit matrix unless it has a frame of its own."""
    if isinstance(at, Frame):
        axes = [parameters(system, f"{prefix}.axis_{k}", column) for k, column in enumerate(at.rotation.T)]
        return parameters(system, f"{prefix}.origin", at.origin), array([list(row) for row in zip(*axes, strict=True)])
    return np.zeros(n), np.eye(n)


def _rim(n: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The direction in the plane of a disk with axis a that points most along n."""
    across = array(n - dot(n, a) * a)
    return array(across / sqrt(dot(across, across) + RIM))


# -- obstacles ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plane:
    """A half-space, fixed to the ground or to a body: a point of its surface and the normal into free space.

    velocity: of the surface along itself, seen from what it is fixed to: a conveyor belt. It may be an expression of
    time. The plane stays where it is; for one that moves, fix it to a body or let `point` depend on time.

    >>> floor = Plane(point=[0, 0, 0], normal=[0, 0, 1])
    >>> belt = Plane(point=[0, 0, 0], normal=[0, 0, 1], velocity=[0.5, 0, 0])
    """

    point: Vector
    normal: Vector
    body: Carrier = ground
    velocity: Vector | None = None
    dimension = 3

    def __post_init__(self) -> None:
        word = type(self).__name__.lower()
        vector(word, "point", self.point, self.dimension)
        direction(word, "normal", self.normal, self.dimension)
        instance(word, "what it is fixed to", self.body, Carrier, "ground or a body")
        if self.velocity is not None:
            v, n = vector(word, "velocity", self.velocity, self.dimension), array(self.normal)
            if not is_symbolic(v) and not is_symbolic(n) and abs(v @ n) > 1e-12 * norm(v) * norm(n):
                raise ModelError(
                    f"{word}: the velocity {self.velocity} of the surface has a component along its normal {self.normal}; "
                    "a belt moves along itself. A surface that comes closer belongs to a body, or its point depends on time"
                )


@dataclass(frozen=True)
class Line(Plane):
    """A straight boundary in the plane, fixed to the ground or to a body: a point of it and the normal into free space.

    >>> floor = Line(point=[0, 0], normal=[0, 1])
    >>> belt = Line(point=[0, 0], normal=[0, 1], velocity=[0.5, 0])
    """

    dimension = 2


@dataclass(frozen=True)
class Cavity:
    """The inside of a circle in the plane, of a sphere in space, around a point of a body: a bore, a socket, a drum.

    >>> import stickslip as ss
    >>> drum = Cavity(ss.ground.point(0, 0), radius=0.5)
    """

    center: Point
    radius: Scalar

    def __post_init__(self) -> None:
        instance("cavity", "its center", self.center, Point, POINT)
        _positive("cavity", radius=self.radius)

    @property
    def body(self) -> Carrier:
        """The body it belongs to."""
        return self.center.body


@dataclass(frozen=True)
class Graph:
    """A curved ground: y = height(x) in the plane, z = height(x, y) in space, free above; fixed to the ground or to a
    body.

    `height` is a function of the local coordinates that returns an expression, from operators and `stickslip.math`.

    >>> from stickslip.math import exp
    >>> slope = Graph(lambda x: exp(-x))
    """

    height: Callable[..., Scalar]
    body: Carrier = ground

    def __post_init__(self) -> None:
        if not callable(self.height):
            raise ModelError(f"graph: height must be a function such as lambda x: exp(-x), got {self.height!r}")
        instance("graph", "what it is fixed to", self.body, Carrier, "ground or a body")


def directions(system: System, prefix: str, given: Vector) -> np.ndarray:
    """A unit vector; one along a coordinate axis, by far the most common, stays a constant and makes small kernels."""
    if not is_symbolic(given):
        n = array(given) / norm(given)
        if np.count_nonzero(n) == 1:
            return n
        given = n
    n = parameters(system, prefix, array(given))
    return array(n / norm(n))


def tangents(n: np.ndarray, at_first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two tangents to n: the x axis, or y where n is closer to x at first, made perpendicular, and n x it."""
    e = np.eye(3)[0 if abs(at_first[0]) < 0.9 else 1]
    first = array(e - dot(e, n) * n)
    first = array(first / norm(first))
    return first, cross(n, first)

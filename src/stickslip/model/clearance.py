"""Joints with clearance: instead of constraints they have contacts, and the bodies rattle in them.

The second body carries the inner element (journal, slider), the first one the outer element (bearing, guide).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, cos, cross, dot, is_symbolic, maximum, sin, sqrt
from stickslip.model.contacts import Meeting, Spot, inside_circle, slip_along, spin_about
from stickslip.model.declaration import Equations
from stickslip.model.frames import Point, initial_turn, parameters, triad, unit
from stickslip.model.given import number
from stickslip.model.joints import Joint
from stickslip.model.laws import ContactKinematics, Law, law_from
from stickslip.model.system import System

# Newton's method for the deepest point of a tilted journal edge, see `_edge_in_bore`. SLENDER bounds the tilt that the
# clearance allows, so that the error of the angle falls as 0.25, 0.06, 4e-3, 1.4e-5; the gap is its square better.
EDGE_ITERATIONS = 4
SLENDER = 0.25


class ClearanceJoint(Joint):
    """Base of the joints with clearance: their size, their contacts, one law for all of them."""

    def __init__(
        self,
        name: str,
        point_1: Point,
        point_2: Point,
        *,
        clearance: Scalar,
        law: Law | None = None,
        friction: Scalar | None = None,
        restitution: Scalar | None = None,
        tangential_restitution: Scalar | None = None,
    ):
        super().__init__(name, point_1, point_2)
        self.clearance = number(str(self), "clearance", clearance, above=0)
        self.law = law_from(str(self), law, friction, restitution, tangential_restitution)

    def __str__(self) -> str:
        word = type(self).__name__.removeprefix("Clearance").lower()
        return f"{word} joint with clearance {self.name!r}"

    def meetings(self, system: System) -> Iterator[tuple[str, Meeting]]:
        """The places where the two elements can touch, with a suffix of the name for each."""
        raise NotImplementedError

    def declare(self, system: System, equations: Equations) -> None:
        outer, inner = self.bodies
        law = self.law.bind(system, self.name)
        self.spots: list[Spot] = []
        for suffix, m in self.meetings(system):
            tangents: list[np.ndarray] = []
            touch = ContactKinematics(
                self.name + suffix,
                m.gap,
                slip_along(system, self.name, m, outer, tangents),
                spin_about(m, inner, outer),
            )
            law.declare(equations, touch)
            self.spots.append(Spot(touch.name, m.place, m.normal, tuple(tangents)))

    def _size(self, system: System, name: str, value: Scalar) -> Scalar:
        return system.parameter(f"{self.name}.{name}", value, above=0)


class ClearanceRevolute(ClearanceJoint):
    """A journal in a bearing that is wider by the radial clearance c.

        g_N = c - |r_2 - r_1|                                       in the plane
        g_N = r + c - the largest distance of an edge from the axis    in space, for both edges of the journal

    `point_1` is the centre of the bearing, `point_2` that of the journal, whose radius is `radius`. Friction acts on the
    surface of the journal. In space the journal is a cylinder of this `length` inside a longer bore along `axis`; it
    slides along the axis freely unless there is an `axial_clearance`, with which it stops, on the axis, at both sides.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> rod = s.add(ss.PlanarBody("rod", mass=1, inertia=0.1, position=[1, 0]))
    >>> pin = s.add(
    ...     ss.ClearanceRevolute(
    ...         "pin", ss.ground.point(0, 0), rod.point(-1, 0), radius=0.01, clearance=1e-4, friction=0.1, restitution=0.5
    ...     )
    ... )
    """

    freedoms: ClassVar[Mapping[int, int]] = {2: 3, 3: 6}

    def __init__(
        self,
        name: str,
        point_1: Point,
        point_2: Point,
        *,
        radius: Scalar,
        clearance: Scalar,
        axis: Vector | None = None,
        axis_2: Vector | None = None,
        length: Scalar | None = None,
        axial_clearance: Scalar | None = None,
        law: Law | None = None,
        friction: Scalar | None = None,
        restitution: Scalar | None = None,
        tangential_restitution: Scalar | None = None,
    ):
        laws = {"friction": friction, "restitution": restitution, "tangential_restitution": tangential_restitution}
        super().__init__(name, point_1, point_2, clearance=clearance, law=law, **laws)
        self.radius = number(str(self), "radius", radius, above=0)
        self.length, self.axial_clearance = length, axial_clearance
        self.axis = self.axis_2 = None
        if self.dimension == 2:
            if any(x is not None for x in (axis, axis_2, length, axial_clearance)):
                raise ModelError(f"{self}: in the plane there is no axis, length or axial clearance")
            return
        self.axis, self.axis_2 = self._unit(axis), None if axis_2 is None else self._unit(axis_2)
        if length is None:
            raise ModelError(f"{self}: a journal in space needs length=")
        number(str(self), "length", length, above=0)
        if axial_clearance is not None:
            number(str(self), "axial_clearance", axial_clearance, above=0)
        sizes = [radius, clearance, length]
        if not is_symbolic(sizes) and 4 * radius * clearance > SLENDER * length**2:
            least = float(np.sqrt(4 * radius * clearance / SLENDER))
            raise ModelError(
                f"{self}: a journal of length {length:g} can tilt until one edge touches the bore on both sides; it must "
                f"be at least 4 sqrt(radius clearance) = {least:.3g} long, or be a Sphere in a Cavity"
            )

    def meetings(self, system: System) -> Iterator[tuple[str, Meeting]]:
        outer, inner = self.bodies
        r_1, r_2 = self._places(system)
        r, c = self._size(system, "radius", self.radius), self._size(system, "clearance", self.clearance)
        if self.axis is None:
            yield "", inside_circle(system, self.name, r_2, r, inner, r_1, r + c, outer)
            return
        e_1, e_2 = triad(self.axis)
        second = initial_turn(system, outer, inner) @ self.axis if self.axis_2 is None else self.axis_2
        local = {"axis": self.axis, "e_1": e_1, "e_2": e_2}
        a, x, y = (outer.direction(parameters(system, f"{self.name}.{key}", v)) for key, v in local.items())
        a_2 = inner.direction(parameters(system, f"{self.name}.axis_2", second))
        half = self._size(system, "length", self.length) / 2
        for k, side in enumerate((-1.0, 1.0)):
            center = array(r_2 + side * half * a_2)
            d, place = _edge_in_bore(array(center - r_1), a_2, r, x, y, self.clearance)
            place = array(r_1 + place)
            v = inner.velocity_at(place) - outer.velocity_at(place)
            yield f"[{k}]", _meeting(r + c - dot(d, place - r_1), array(-d), place, v, (a, cross(array(-d), a)))
        if self.axial_clearance is None:
            return
        play = self._size(system, "axial_clearance", self.axial_clearance)
        for k, side in enumerate((-1.0, 1.0)):
            v = inner.velocity_at(r_2) - outer.velocity_at(r_2)
            gap = play - side * dot(a, r_2 - r_1)
            yield f".thrust[{k}]", _meeting(gap, array(-side * a), r_2, v, (x, y))


def _edge_in_bore(
    delta: np.ndarray, a_2: np.ndarray, r: Scalar, x: np.ndarray, y: np.ndarray, clearance: Scalar
) -> tuple[np.ndarray, np.ndarray]:
    """The point of a circle (centre delta, axis a_2, radius r) that is farthest from an axis, and its direction d from it.

    d maximises delta . d + r sqrt(1 - (a_2 . d)^2) over the unit vectors d = cos(phi) x + sin(phi) y across the axis. It
    starts in the direction of delta and takes a few steps of Newton's method for phi, unrolled.
    """
    p, w = array([dot(delta, x), dot(delta, y)]), array([dot(a_2, x), dot(a_2, y)])
    start = array(p + 1e-8 * clearance * np.array([1.0, 0.0]))  # a centred journal gets a direction, too
    reach = sqrt(dot(start, start))
    d = array(start / reach)
    bend = r * dot(w, w)
    for _ in range(EDGE_ITERATIONS):
        across = array([-d[1], d[0]])
        w_d, w_a = dot(w, d), dot(w, across)
        root = sqrt(1 - w_d**2)
        slope = dot(p, across) - r * w_d * w_a / root
        curvature = dot(p, d) + r * (w_a**2 - w_d**2 + w_d**4) / root**3
        step = slope / maximum(curvature, (reach + bend) / 4)
        d = array((d + step * across) / sqrt(1 + step**2))
    n = array(d[0] * x + d[1] * y)
    rim = array(n - dot(n, a_2) * a_2)
    return n, array(delta + r * rim / sqrt(dot(rim, rim)))


class ClearancePrismatic(ClearanceJoint):
    """A slider in a straight guide that is wider by the clearance c on each side.

        g_N = height/2 + c -/+ n . (corner - r_1)       for the corners above and below the axis, n across the axis

    `point_1` lies on the middle line of the guide, `point_2` is the centre of the slider, a rectangle of `length` along the
    `axis` and `height` across it; the guide is longer than all that the slider travels. Axes are given in the frame of the
    first body. In the plane the slider lies straight when the second body is turned by `angle` against the first. In space
    it is a block, `width` along `side`, `height` across axis and side, in a rectangular guide (16 contacts); `axis_2` and
    `side_2` are its axes in the second body, by default those that are parallel at the initial state.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> slider = s.add(ss.PlanarBody("slider", mass=1, inertia=0.1, angle=0.01))
    >>> at = ss.ground.point(0, 0), slider.point()
    >>> size = {"length": 0.1, "height": 0.05, "clearance": 1e-3}
    >>> guide = s.add(ss.ClearancePrismatic("guide", *at, axis=[1, 0], **size, friction=0.01, restitution=0.4))
    """

    freedoms: ClassVar[Mapping[int, int]] = {2: 3, 3: 6}

    def __init__(
        self,
        name: str,
        point_1: Point,
        point_2: Point,
        *,
        axis: Vector,
        length: Scalar,
        height: Scalar,
        clearance: Scalar,
        angle: Scalar = 0.0,
        width: Scalar | None = None,
        side: Vector | None = None,
        axis_2: Vector | None = None,
        side_2: Vector | None = None,
        law: Law | None = None,
        friction: Scalar | None = None,
        restitution: Scalar | None = None,
        tangential_restitution: Scalar | None = None,
    ):
        laws = {"friction": friction, "restitution": restitution, "tangential_restitution": tangential_restitution}
        super().__init__(name, point_1, point_2, clearance=clearance, law=law, **laws)
        self.axis = unit(str(self), axis, self.dimension)
        self.length, self.height = (
            number(str(self), key, x, above=0) for key, x in (("length", length), ("height", height))
        )
        self.turned = number(str(self), "angle", angle)
        self.width = width
        if self.dimension == 2:
            if any(x is not None for x in (width, side, axis_2, side_2)):
                raise ModelError(f"{self}: width, side, axis_2 and side_2 belong to a guide in space")
            return
        if width is None or side is None:
            raise ModelError(f"{self}: a guide in space needs width= and side=, the direction in which it is measured")
        if is_symbolic(angle) or angle != 0.0:
            raise ModelError(f"{self}: angle= belongs to a guide in the plane; give axis_2= and side_2=")
        if (axis_2 is None) != (side_2 is None):
            raise ModelError(f"{self}: give axis_2= and side_2= together")
        number(str(self), "width", width, above=0)
        self.side = self._across(self.axis, side)
        self.axes_2 = None
        if axis_2 is not None and side_2 is not None:
            first = self._unit(axis_2)
            self.axes_2 = first, self._across(first, side_2)

    def _across(self, axis: np.ndarray, side: Vector) -> np.ndarray:
        out = self._unit(side)
        if abs(out @ axis) > 1e-9:
            raise ModelError(f"{self}: the side {side} must be perpendicular to the axis")
        return out

    def meetings(self, system: System) -> Iterator[tuple[str, Meeting]]:
        a, h = (self._size(system, key, getattr(self, key)) / 2 for key in ("length", "height"))
        c = self._size(system, "clearance", self.clearance)
        if self.dimension == 2:
            yield from self._in_plane(system, a, h, c)
        else:
            yield from self._in_space(system, a, self._size(system, "width", self.width) / 2, h, c)

    def _in_plane(self, system: System, a: Scalar, h: Scalar, c: Scalar) -> Iterator[tuple[str, Meeting]]:
        outer, inner = self.bodies
        local = parameters(system, f"{self.name}.axis", self.axis)
        turn = system.parameter(f"{self.name}.angle", self.turned)
        along = array([cos(turn) * local[0] + sin(turn) * local[1], cos(turn) * local[1] - sin(turn) * local[0]])
        n, across = outer.direction(array([-local[1], local[0]])), array([-along[1], along[0]])
        r_1 = self.point_1.position(system, f"{self.name}.point_1")
        p_2 = parameters(system, f"{self.name}.point_2", self.point_2.coordinates)
        for k, (up, left) in enumerate(((1, -1), (1, 1), (-1, -1), (-1, 1))):
            corner = array(p_2 + left * a * along + up * h * across)
            r, v = inner.position(corner), inner.velocity(corner)
            yield f"[{k}]", _at_wall(r, v - outer.velocity_at(r), r_1, up, n, h + c, (up * array([-n[1], n[0]]),))

    def _in_space(self, system: System, a: Scalar, w: Scalar, h: Scalar, c: Scalar) -> Iterator[tuple[str, Meeting]]:
        outer, inner = self.bodies
        given = [self.axis, self.side, np.cross(self.axis, self.side)]
        turn = initial_turn(system, outer, inner)
        own = [turn @ e for e in given] if self.axes_2 is None else [*self.axes_2, np.cross(*self.axes_2)]
        names = ("axis", "side", "up")
        fixed = [parameters(system, f"{self.name}.{key}", e) for key, e in zip(names, given, strict=True)]
        x, y, z = (outer.direction(e) for e in fixed)
        b = [parameters(system, f"{self.name}.{key}_2", e) for key, e in zip(names, own, strict=True)]
        r_1 = self.point_1.position(system, f"{self.name}.point_1")
        p_2 = parameters(system, f"{self.name}.point_2", self.point_2.coordinates)
        k = 0
        for i in (-1, 1):
            for j in (-1, 1):
                for m in (-1, 1):
                    corner = array(p_2 + i * a * b[0] + j * w * b[1] + m * h * b[2])
                    r = inner.position(corner)
                    v = inner.velocity(corner) - outer.velocity_at(r)
                    yield f"[{k}]", _at_wall(r, v, r_1, j, y, w + c, (x, z))
                    yield f"[{k + 1}]", _at_wall(r, v, r_1, m, z, h + c, (x, y))
                    k += 2


def _at_wall(
    r: np.ndarray, v: np.ndarray, r_1: np.ndarray, sign: int, n: np.ndarray, half: Scalar, basis: tuple[np.ndarray, ...]
) -> Meeting:
    """A corner at r, with the velocity v against the guide, and the wall on the side `sign` of the middle plane."""
    return _meeting(half - sign * dot(n, r - r_1), array(-sign * n), r, v, basis)


def _meeting(gap: Scalar, n: np.ndarray, place: np.ndarray, v: np.ndarray, basis: tuple[np.ndarray, ...]) -> Meeting:
    return Meeting(gap, n, place, v, lambda: basis)

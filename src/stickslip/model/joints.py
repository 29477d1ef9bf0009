"""Joints: bilateral constraints between points and directions of two bodies.

Every joint is a recipe over few primitives:

    coincident      r_1 - r_2 = 0                       two points at one place
    on_plane        n . (r_2 - r_1) = 0                 a point on a plane of the first body
    perpendicular   a . b = 0                           directions of two bodies
    distance        |r_2 - r_1| - l = 0
    angle           phi_2 - phi_1 - phi = 0             in the plane

Axes are given in the frame of the first body (space, for the ground); the second body's axis is the one that is
parallel to it at the initial state, unless `axis_2` says otherwise. Redundant joints are solved like others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, dot, is_symbolic, norm, pi
from stickslip.model.declaration import Equations
from stickslip.model.described import Described
from stickslip.model.frames import (
    Carrier,
    Ground,
    Point,
    initial_turn,
    parameters,
    triad,
    unit,
)
from stickslip.model.given import instance, number
from stickslip.model.measures import Angle, Displacement, Distance, Measure
from stickslip.model.system import System


class Joint(Described):
    """Base of the joints between two points. `freedoms`: what is left to two bodies in 2 and 3 dimensions."""

    freedoms: ClassVar[Mapping[int, int]] = {}

    def __init__(self, name: str, point_1: Point, point_2: Point):
        self.name, self.point_1, self.point_2 = name, point_1, point_2
        for k, point in enumerate((point_1, point_2), 1):
            instance(str(self), f"point_{k}", point, Point, "a point, such as body.point() or ground.point(0, 0)")
        if point_1.body is point_2.body:
            raise ModelError(f"{self}: both points belong to {point_1.body.name!r}; a joint needs two bodies")
        dimensions = {p.dimension for p in (point_1, point_2)}
        if len(dimensions) > 1 or not dimensions <= set(self.freedoms):
            able = " or ".join(str(d) for d in self.freedoms)
            raise ModelError(
                f"{self}: the points {point_1} and {point_2} need {able} coordinates each, got "
                f"{point_1.dimension} and {point_2.dimension}"
            )
        (self.dimension,) = dimensions

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} joint {self.name!r}"

    def declare(self, system: System, equations: Equations) -> None:
        """Its constraints."""
        raise NotImplementedError

    @property
    def bodies(self) -> tuple[Carrier, Carrier]:
        """The two bodies."""
        return self.point_1.body, self.point_2.body

    def _unit(self, axis: Vector | None) -> np.ndarray:
        if axis is None:
            raise ModelError(f"{self}: a joint in space needs axis=, in the frame of {self.bodies[0].name!r}")
        return unit(str(self), axis, self.dimension)

    # -- primitives ------------------------------------------------------------------------------------------------

    def _places(self, system: System) -> tuple[np.ndarray, np.ndarray]:
        r_1 = self.point_1.position(system, f"{self.name}.point_1")
        return r_1, self.point_2.position(system, f"{self.name}.point_2")

    def _coincident(self, system: System, equations: Equations) -> None:
        r_1, r_2 = self._places(system)
        about = f"the points {self.point_1} and {self.point_2} do not coincide"
        equations.constraint(r_1 - r_2, name=self.name, about=about)

    def _on_planes(self, system: System, equations: Equations, normals: list[np.ndarray]) -> None:
        """Point 2 lies on planes through point 1."""
        r_1, r_2 = self._places(system)
        rows = []
        for k, normal in enumerate(normals):
            n = self.bodies[0].direction(parameters(system, f"{self.name}.normal_{k + 1}", normal))
            rows.append(dot(n, r_2 - r_1))
        where = "plane" if len(normals) == 1 else "axis"
        about = f"{self.point_2} does not lie on the {where} through {self.point_1}"
        equations.constraint(rows, name=self.name, about=about)

    def _perpendicular(
        self,
        system: System,
        equations: Equations,
        first: Any,
        second: Any,
        pairs: Sequence[tuple[int, int]],
        wanted: str = "aligned",
    ) -> None:
        """Directions `first` of body 1 are perpendicular to directions `second` of body 2, for these pairs of indices."""
        seen = []
        for side, (body, directions) in enumerate(zip(self.bodies, (first, second), strict=True), 1):
            names = [f"{self.name}.direction_{side}_{k}" for k in range(1, len(directions) + 1)]
            seen.append([body.direction(parameters(system, n, d)) for n, d in zip(names, directions, strict=True)])
        rows = [dot(seen[0][i], seen[1][j]) for i, j in pairs]
        equations.constraint(rows, name=f"{self.name}.axis", about=f"the axes of {self} are not {wanted}")

    def _parallel(self, system: System, equations: Equations, a_1: np.ndarray, a_2: np.ndarray | None) -> None:
        """The axis a_1 of body 1 is parallel to a_2 of body 2, or to the one that is at the initial state."""
        a_2 = initial_turn(system, *self.bodies) @ a_1 if a_2 is None else a_2
        self._perpendicular(system, equations, triad(a_1), [a_2], [(0, 0), (1, 0)])

    def _aligned(self, system: System, equations: Equations) -> None:
        """No relative rotation but the initial one."""
        if self.dimension == 2:
            phi_1, phi_2 = self._angles()
            self._angle(system, equations, float(system.initial_value(phi_2 - phi_1)))
            return
        axes_2 = initial_turn(system, *self.bodies).T
        self._perpendicular(system, equations, np.eye(3), axes_2, [(0, 1), (1, 2), (2, 0)])

    def _angles(self) -> tuple[Scalar, Scalar]:
        first, second = (0.0 if isinstance(b, Ground) else b.angle for b in self.bodies)
        return first, second

    def _angle(self, system: System, equations: Equations, angle: Scalar) -> None:
        """In the plane: phi_2 - phi_1 = angle."""
        phi_1, phi_2 = self._angles()
        target = system.parameter(f"{self.name}.angle", angle)
        about = f"the bodies of {self} are not turned by its angle"
        equations.constraint(phi_2 - phi_1 - target, name=f"{self.name}.angle", about=about)


class Fixed(Joint):
    """Two bodies are one: a point and all directions coincide, as they do at the initial state.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> part = s.add(ss.RigidBody("part", mass=1, inertia=[1, 1, 1], position=[1, 0, 0]))
    >>> weld = s.add(ss.Fixed("weld", ss.ground.point(0, 0, 0), part.point(-1, 0, 0)))
    """

    freedoms: ClassVar[Mapping[int, int]] = {2: 0, 3: 0}

    def declare(self, system: System, equations: Equations) -> None:
        self._coincident(system, equations)
        self._aligned(system, equations)


class Revolute(Joint):
    """A hinge: two points coincide, and in space an axis too. Its measure is `angle`.

        g = r_1 - r_2,     in space also  b . a_2,  c . a_2     with b, c perpendicular to the axis a_1

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> rod = s.add(ss.PlanarBody("rod", mass=1, inertia=0.1, position=[1, 0]))
    >>> pin = s.add(ss.Revolute("pin", ss.ground.point(0, 0), rod.point(-1, 0)))
    >>> door = s.add(ss.RigidBody("door", mass=20, inertia=[2, 3, 1], position=[0.5, 0, 1]))
    >>> hinge = s.add(ss.Revolute("hinge", ss.ground.point(0, 0, 1), door.point(-0.5, 0, 0), axis=[0, 0, 1]))
    """

    freedoms: ClassVar[Mapping[int, int]] = {2: 1, 3: 1}

    def __init__(
        self, name: str, point_1: Point, point_2: Point, *, axis: Vector | None = None, axis_2: Vector | None = None
    ):
        super().__init__(name, point_1, point_2)
        if self.dimension == 2 and axis is not None:
            raise ModelError(f"{self}: in the plane there is no choice of an axis")
        self.axis = None if self.dimension == 2 else self._unit(axis)
        self.axis_2 = None if axis_2 is None else self._unit(axis_2)

    @property
    def angle(self) -> Measure:
        """Angle of the second body against the first: in the plane phi_2 - phi_1, zero where their axes are parallel; in
        space zero at the initial state.
        """
        return Angle(*self.bodies, self.axis)

    def declare(self, system: System, equations: Equations) -> None:
        self._coincident(system, equations)
        if self.axis is not None:
            self._parallel(system, equations, self.axis, self.axis_2)


class Prismatic(Joint):
    """A body slides along an axis of another body, or of the ground, and does not turn. Its measure is `displacement`.

        g = n . (r_2 - r_1)  for the normals n of the axis;  no relative rotation

    In the plane the second body is turned by `angle` against the first.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> slider = s.add(ss.PlanarBody("slider", mass=1, inertia=0.1, position=[1, 0]))
    >>> guide = s.add(ss.Prismatic("guide", ss.ground.point(0, 0), slider.point(0, 0), axis=[1, 0]))
    """

    freedoms: ClassVar[Mapping[int, int]] = {2: 1, 3: 1}

    def __init__(self, name: str, point_1: Point, point_2: Point, *, axis: Vector, angle: Scalar = 0.0):
        super().__init__(name, point_1, point_2)
        if not is_symbolic(axis):
            axis = unit(str(self), axis, self.dimension)
        elif self.dimension == 3:
            raise ModelError(f"{self}: in space the axis must be given by numbers")
        self.axis, self.turned = axis, number(str(self), "angle", angle)

    @property
    def displacement(self) -> Measure:
        """Way of the second point along the axis."""
        return Displacement(self.point_1, self.point_2, self.axis)

    def declare(self, system: System, equations: Equations) -> None:
        if self.dimension == 3:
            self._on_planes(system, equations, list(triad(self.axis)))
            self._aligned(system, equations)
            return
        r_1, r_2 = self._places(system)
        axis = parameters(system, f"{self.name}.axis", array(self.axis))
        normal = self.bodies[0].direction(array(array([-axis[1], axis[0]]) / norm(axis)))
        about = f"{self.point_2} does not lie on the axis through {self.point_1}"
        equations.constraint(dot(normal, r_2 - r_1), name=self.name, about=about)
        self._angle(system, equations, self.turned)


class Cylindrical(Joint):
    """A body slides along an axis and turns about it. Its measures are `displacement` and `angle`.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> rod = s.add(ss.RigidBody("rod", mass=1, inertia=[1, 1, 0.1]))
    >>> sleeve = s.add(ss.Cylindrical("sleeve", ss.ground.point(0, 0, 0), rod.point(), axis=[0, 0, 1]))
    """

    freedoms: ClassVar[Mapping[int, int]] = {3: 2}

    def __init__(self, name: str, point_1: Point, point_2: Point, *, axis: Vector, axis_2: Vector | None = None):
        super().__init__(name, point_1, point_2)
        self.axis, self.axis_2 = self._unit(axis), None if axis_2 is None else self._unit(axis_2)

    @property
    def displacement(self) -> Measure:
        """Way of the second point along the axis."""
        return Displacement(self.point_1, self.point_2, self.axis)

    @property
    def angle(self) -> Measure:
        """Angle about the axis, zero at the initial state."""
        return Angle(*self.bodies, self.axis)

    def declare(self, system: System, equations: Equations) -> None:
        self._on_planes(system, equations, list(triad(self.axis)))
        self._parallel(system, equations, self.axis, self.axis_2)


class Screw(Cylindrical):
    """A cylindrical joint whose displacement follows its angle: `pitch` is the advance of one turn.

        g = h sin(angle - (displacement - initial displacement)/h),     h = pitch/(2 pi)

    The sine makes it a constraint on position level over any number of turns.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> nut = s.add(ss.RigidBody("nut", mass=1, inertia=[1, 1, 1]))
    >>> thread = s.add(ss.Screw("thread", ss.ground.point(0, 0, 0), nut.point(), axis=[0, 0, 1], pitch=0.01))
    """

    freedoms: ClassVar[Mapping[int, int]] = {3: 1}

    def __init__(
        self, name: str, point_1: Point, point_2: Point, *, axis: Vector, pitch: Scalar, axis_2: Vector | None = None
    ):
        super().__init__(name, point_1, point_2, axis=axis, axis_2=axis_2)
        self.pitch = number(str(self), "pitch", pitch)
        if not is_symbolic(pitch) and pitch == 0:
            raise ModelError(f"{self}: pitch = {pitch} must not be zero; a screw that does not advance is a Revolute")

    def declare(self, system: System, equations: Equations) -> None:
        super().declare(system, equations)
        h = system.parameter(f"{self.name}.pitch", self.pitch) / (2 * pi)
        way = self.displacement.quantity(system, f"{self.name}.displacement").value
        start = system.parameter(f"{self.name}.start", float(system.initial_value(way)))
        angle = self.angle.quantity(system, f"{self.name}.angle")
        equations.constraint(h * angle.equals((way - start) / h), name=f"{self.name}.thread")


class Spherical(Joint):
    """A ball joint: two points coincide.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> top = s.add(ss.RigidBody("top", mass=1, inertia=[1, 1, 0.5], position=[0, 0, 1]))
    >>> tip = s.add(ss.Spherical("tip", ss.ground.point(0, 0, 0), top.point(0, 0, -1)))
    """

    freedoms: ClassVar[Mapping[int, int]] = {3: 3}

    def declare(self, system: System, equations: Equations) -> None:
        self._coincident(system, equations)


class Universal(Joint):
    """A Cardan joint: two points coincide, and an axis of the first body is perpendicular to one of the second.

    `axis_1` in the frame of the first body, `axis_2` in that of the second.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> shaft = s.add(ss.RigidBody("shaft", mass=1, inertia=[1, 1, 1]))
    >>> cross = s.add(
    ...     ss.Universal("cross", ss.ground.point(0, 0, 0), shaft.point(), axis_1=[1, 0, 0], axis_2=[0, 1, 0])
    ... )
    """

    freedoms: ClassVar[Mapping[int, int]] = {3: 2}

    def __init__(self, name: str, point_1: Point, point_2: Point, *, axis_1: Vector, axis_2: Vector):
        super().__init__(name, point_1, point_2)
        self.axis_1, self.axis_2 = axis_1, axis_2
        self.axes = unit(str(self), axis_1, 3), unit(str(self), axis_2, 3)

    def declare(self, system: System, equations: Equations) -> None:
        self._coincident(system, equations)
        self._perpendicular(system, equations, self.axes[:1], self.axes[1:], [(0, 0)], "perpendicular")


class PlanarJoint(Joint):
    """A body glides on a plane of another body: it moves in two directions and turns about the normal.

    `normal` in the frame of the first body.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> puck = s.add(ss.RigidBody("puck", mass=1, inertia=[1, 1, 1]))
    >>> table = s.add(ss.PlanarJoint("table", ss.ground.point(0, 0, 0), puck.point(), normal=[0, 0, 1]))
    """

    freedoms: ClassVar[Mapping[int, int]] = {3: 3}

    def __init__(self, name: str, point_1: Point, point_2: Point, *, normal: Vector, normal_2: Vector | None = None):
        super().__init__(name, point_1, point_2)
        self.normal, self.normal_2 = self._unit(normal), None if normal_2 is None else self._unit(normal_2)

    @property
    def angle(self) -> Measure:
        """Angle about the normal, zero at the initial state."""
        return Angle(*self.bodies, self.normal)

    def declare(self, system: System, equations: Equations) -> None:
        self._on_planes(system, equations, [self.normal])
        self._parallel(system, equations, self.normal, self.normal_2)


class Rod(Joint):
    """A massless rod: two points keep their distance, `length` or what it is at the initial state.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> bob = s.add(ss.PointMass("bob", mass=1, position=[0, 0, -2]))
    >>> rod = s.add(ss.Rod("rod", ss.ground.point(0, 0, 0), bob.point()))
    """

    freedoms: ClassVar[Mapping[int, int]] = {2: 2, 3: 5}

    def __init__(self, name: str, point_1: Point, point_2: Point, *, length: Scalar | None = None):
        super().__init__(name, point_1, point_2)
        self.length = None if length is None else number(str(self), "length", length, above=0)

    @property
    def distance(self) -> Measure:
        """Distance of the two points."""
        return Distance(self.point_1, self.point_2)

    def declare(self, system: System, equations: Equations) -> None:
        r_1, r_2 = self._places(system)
        length = float(system.initial_value(norm(r_2 - r_1))) if self.length is None else self.length
        if not is_symbolic(length) and length == 0.0:
            raise ModelError(f"{self}: {self.point_1} and {self.point_2} coincide; such points need Spherical")
        about = f"the distance of {self.point_1} and {self.point_2} is not the length of the rod"
        equations.constraint(
            norm(r_2 - r_1) - system.parameter(f"{self.name}.length", length, above=0), name=self.name, about=about
        )

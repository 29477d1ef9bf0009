"""Contacts: geometry times law."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector, array, column, cross, derivative, dot, is_symbolic, norm, sqrt
from stickslip.model.declaration import Equations
from stickslip.model.described import Described
from stickslip.model.frames import Carrier, Point, parameters, relative_spin, triad, turned_triad
from stickslip.model.geometry import (
    Box,
    Capsule,
    Cavity,
    Cylinder,
    Disk,
    Ellipsoid,
    Graph,
    Line,
    Plane,
    Sphere,
    directions,
    tangents,
)
from stickslip.model.given import instance, number
from stickslip.model.laws import ContactKinematics, Law, law_from
from stickslip.model.outlines import ClosedCurve, SimplePolygon
from stickslip.model.polytopes import ConvexPolygon, Polyhedron
from stickslip.model.surfaces import HeightField, TriangleMesh
from stickslip.model.system import System

__all__ = ["Contact", "Line", "Rolling"]

SHAPES: Any = (Point, Sphere, Capsule, Box, Disk, Cylinder, Ellipsoid, Plane, Graph, Cavity)
DETECTED: Any = (ConvexPolygon, Polyhedron, TriangleMesh, HeightField, SimplePolygon, ClosedCurve)  # by Collisions
CENTERED = 1e-16  # of the squared clearance, see `inside_circle`
PARALLEL = 1e-9  # a direction whose share along the surface is smaller is normal to it
FOOT_ITERATIONS = 6  # of Newton's method for the foot of a sphere on a graph: quadratic, so 1e-3, 1e-6, 1e-12, ...


@dataclass(frozen=True)
class Meeting:
    """Where two shapes come closest: gap, normal from the second to the first, the place, tangents in space.

    `velocity` is the velocity of the first shape's material point there against the second's.
    """

    gap: Scalar
    normal: np.ndarray
    place: np.ndarray
    velocity: np.ndarray
    tangents: Callable[[], tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class Spot:
    """Where a contact is and which way its forces on the first body point: what a picture of it needs."""

    name: str
    place: np.ndarray
    normal: np.ndarray
    tangents: tuple[np.ndarray, ...]


class Contact(Described):
    """Contact of two shapes, with a law, or friction and restitution as shortcuts for Coulomb's.

        g_N: the gap,    gamma_F = (t_1 . v, t_2 . v),    v the velocity of the first body's point against the second's

    In the plane t = (n_y, -n_x). Pairs: a Point, Sphere, Capsule, Box, Disk, Cylinder or Ellipsoid with a Line (in
    the plane) or Plane; a Sphere with a Point, Sphere, Capsule or Box, or in a Cavity; a Point or Sphere with a
    Graph.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> ball = s.add(ss.PointMass("ball", mass=1, position=[0, 1]))
    >>> floor = ss.Line(point=[0, 0], normal=[0, 1])
    >>> touch = s.add(ss.Contact("floor", ball.point(), floor, friction=0.3, restitution=0.5))
    >>> wall = s.add(ss.Contact("wall", ball.point(), ss.Line([-2, 0], [1, 0]), ss.Frictionless(0.9)))
    """

    def __init__(
        self,
        name: str,
        geometry_1: Any,
        geometry_2: Any,
        law: Law | None = None,
        *,
        friction: Scalar | None = None,
        restitution: Scalar | None = None,
        tangential_restitution: Scalar | None = None,
    ):
        self.name, self.geometry_1, self.geometry_2 = name, geometry_1, geometry_2
        self.law = law_from(f"contact {name!r}", law, friction, restitution, tangential_restitution)

    def declare(self, system: System, equations: Equations) -> None:
        meetings = list(meet(system, self.name, self.geometry_1, self.geometry_2))
        law = self.law.bind(system, self.name)
        first, second = self.geometry_1.body, self.geometry_2.body
        self.spots: list[Spot] = []
        for k, m in enumerate(meetings):
            name = self.name if len(meetings) == 1 else f"{self.name}[{k}]"
            tangents: list[np.ndarray] = []
            law.declare(
                equations,
                ContactKinematics(
                    name, m.gap, slip_along(system, name, m, second, tangents), spin_about(m, first, second)
                ),
            )
            self.spots.append(Spot(name, m.place, m.normal, tuple(tangents)))

    def way_between(self, system: System) -> tuple[np.ndarray, Scalar] | None:
        """The vector between two round shapes, and their radii; its length less these is the gap. None of other pairs."""
        if self.round_shapes is None:
            return None
        c, k, R, R_other = _cores(system, self.name, *self.round_shapes)
        return array(c - k), R + R_other

    @property
    def round_shapes(self) -> tuple[Any, Any] | None:
        """Two shapes whose gap is a distance less radii, a sphere and another one; None if there are no such two."""
        for first, second in ((self.geometry_1, self.geometry_2), (self.geometry_2, self.geometry_1)):
            if isinstance(first, Sphere) and isinstance(second, (Point, Sphere, Capsule, Box)):
                return first, second
        return None


class Rolling(Described):
    """Rolling without slipping: two shapes stay in touch and do not slip at the point where they do.

        g = g_N = 0,    gamma = gamma_F = 0     (nonholonomic)

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> wheel = s.add(ss.PlanarBody("wheel", mass=1, inertia=0.5, position=[0, 1]))
    >>> road = s.add(ss.Rolling("road", ss.Sphere(wheel.point(), 1.0), ss.Line([0, 0], [0, 1])))
    """

    def __init__(self, name: str, geometry_1: Any, geometry_2: Any):
        self.name, self.geometry_1, self.geometry_2 = name, geometry_1, geometry_2

    def declare(self, system: System, equations: Equations) -> None:
        meetings = list(meet(system, self.name, self.geometry_1, self.geometry_2))
        if len(meetings) > 1:
            raise ModelError(f"rolling {self.name!r}: shapes that touch in several points cannot roll on all of them")
        about = f"the shapes of {self.name!r} do not touch"
        equations.constraint(meetings[0].gap, name=f"{self.name}.touch", about=about)
        equations.velocity_constraint(
            slip_along(system, self.name, meetings[0], self.geometry_2.body, [])(None), name=self.name
        )


def slip_along(
    system: System, name: str, m: Meeting, second: Carrier, used: list[np.ndarray]
) -> Callable[[Vector | None], np.ndarray]:
    """Slip velocity along the tangents, or along a direction of the second body and across it; `used` collects them."""

    def slip(direction: Vector | None) -> np.ndarray:
        if direction is None or len(m.normal) == 2:
            used[:] = m.tangents()
        else:
            d = second.direction(array(direction))
            along = array(d - dot(d, m.normal) * m.normal)
            size, left = (np.linalg.norm(system.initial_value(each, binding=False)) for each in (d, along))
            if left < PARALLEL * size:
                given = system.initial_value(array(direction), binding=False)
                raise ModelError(
                    f"contact {name!r}: the direction {given.tolist()} is normal to the surface; give one along it"
                )
            along = array(along / norm(along))
            used[:] = [along, cross(m.normal, along)]
        return array([dot(t, m.velocity) for t in used])

    return slip


def spin_about(m: Meeting, first: Carrier, second: Carrier) -> Callable[[], Scalar]:
    """Relative angular velocity about the normal."""
    return lambda: dot(m.normal, relative_spin(second, first, 3))


# -- pairs -------------------------------------------------------------------------------------------------------------


def meet(system: System, name: str, first: Any, second: Any) -> Iterator[Meeting]:
    """All places where two shapes can touch."""
    for k, shape in enumerate((first, second), 1):
        if not isinstance(shape, DETECTED):
            wanted = "a point of a body or a shape such as Sphere(...)"
            instance(f"contact {name!r}", f"geometry_{k}", shape, SHAPES, wanted)
    if first.body is second.body:
        raise ModelError(f"contact {name!r}: both shapes belong to {first.body.name!r}, which cannot touch itself")
    dimensions = {_dimension(shape) for shape in (first, second)} - {None}
    if len(dimensions) > 1:
        raise ModelError(f"contact {name!r}: one shape lives in the plane, the other in space")
    way = _way(first, second)
    if way is not None:
        return way(system, name, first, second)
    turned = " (the other way round there is)" if _way(second, first) is not None else ""
    raise ModelError(
        f"contact {name!r}: no contact is known of {_a(first)} with {_a(second)}{turned}. Possible are a Point, Sphere, "
        "Capsule, Box, Disk, Cylinder or Ellipsoid with a Line or Plane, a Sphere with a Point, Sphere, Capsule or Box, a "
        "Sphere in a Cavity, a Point or Sphere with a Graph. Collisions finds the contacts of other pairs, in either order"
    )


def _way(first: Any, second: Any) -> Callable[[System, str, Any, Any], Iterator[Meeting]] | None:
    """How the places of two shapes are found, if that is known."""
    if isinstance(second, Plane) and isinstance(first, (Point, Sphere, Capsule, Box, Disk, Cylinder, Ellipsoid)):
        return _on_plane
    if isinstance(second, Graph) and isinstance(first, (Point, Sphere)):
        return _on_graph
    if isinstance(first, Sphere) and isinstance(second, (Point, Sphere, Capsule, Box)):
        return _on_core
    return _in_cavity if isinstance(first, Sphere) and isinstance(second, Cavity) else None


def _a(shape: Any) -> str:
    """Its kind, with an article."""
    kind = type(shape).__name__
    return f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"


def _dimension(shape: Any) -> int | None:
    if isinstance(shape, (Plane, Point)):
        return shape.dimension
    if isinstance(shape, (Disk, Cylinder)):
        return 3
    if isinstance(shape, (Sphere, Cavity)):
        return shape.center.dimension
    if isinstance(shape, Capsule):
        return shape.end_1.dimension
    return len(shape.size) if isinstance(shape, Box) else len(shape.semi_axes) if isinstance(shape, Ellipsoid) else None


def _on_plane(system: System, name: str, shape: Any, plane: Plane) -> Iterator[Meeting]:
    """Candidates c of the shape with the gap n . (c - r_0)."""
    local = directions(system, f"{name}.normal", plane.normal)
    n, r_0 = plane.body.direction(local), plane.body.position(parameters(system, f"{name}.plane", array(plane.point)))

    def basis() -> tuple[np.ndarray, ...]:
        if plane.dimension == 2:
            return (array([n[1], -n[0]]),)
        t_1, t_2 = tangents(local, system.initial_value(local))
        return plane.body.direction(t_1), plane.body.direction(t_2)

    belt: Any = 0.0
    if plane.velocity is not None:
        given = array(plane.velocity)
        fixed = not is_symbolic(given) or all(system.is_constant(column(x)) for x in given)
        belt = plane.body.direction(parameters(system, f"{name}.belt", given) if fixed else given)

    if isinstance(shape, Point):
        c, v = shape.place_and_velocity(system, f"{name}.point")
        yield Meeting(dot(n, c - r_0), n, c, v - plane.body.velocity_at(c) - belt, basis)
        return
    for c in shape.candidates(system, f"{name}.{type(shape).__name__.lower()}", n):
        v = shape.body.velocity_at(c) - plane.body.velocity_at(c) - belt
        yield Meeting(dot(n, c - r_0), n, c, v, basis)


def _cores(system: System, name: str, sphere: Sphere, other: Any) -> tuple[np.ndarray, np.ndarray, Scalar, Scalar]:
    """The centre, the place of the other core that is closest to it, and the radii of both."""
    c = sphere.center.position(system, f"{name}.sphere.center")
    R = system.parameter(f"{name}.sphere.radius", sphere.radius, above=0)
    if isinstance(other, Point):
        return c, other.position(system, f"{name}.point"), R, 0.0
    nearest_other, R_other = other.core(system, f"{name}.other")
    return c, nearest_other(c), R, R_other


def _on_core(system: System, name: str, sphere: Sphere, other: Any) -> Iterator[Meeting]:
    """Distance of the centre from the core of the other shape, minus the radii."""
    c, k, R, R_other = _cores(system, name, sphere, other)
    distance = norm(c - k)
    n = array((c - k) / distance)
    place = array(c - R * n)  # one place for both bodies, also where there is a gap, so that action is reaction

    def basis() -> tuple[np.ndarray, ...]:
        if len(n) == 2:
            return (array([n[1], -n[0]]),)
        e = system.initial_value(n, binding=False)
        if not np.isfinite(e).all():
            raise ModelError(f"contact {name!r}: the shapes are inside each other at the initial state")
        return _turning_basis(system, name, n, e)

    velocity = sphere.body.velocity_at(place) - other.body.velocity_at(place)
    yield Meeting(distance - R - R_other, n, place, velocity, basis)


def _turning_basis(system: System, name: str, n: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tangents that turn with the normal n, which is e at first."""
    e_1, e_2 = triad(e)
    named = (("e", e), ("e_1", e_1), ("e_2", e_2))
    return turned_triad(n, *[parameters(system, f"{name}.{key}", value) for key, value in named])


def _in_cavity(system: System, name: str, sphere: Sphere, cavity: Cavity) -> Iterator[Meeting]:
    r, R = (
        system.parameter(f"{name}.{k}.radius", x.radius, above=0) for k, x in (("sphere", sphere), ("cavity", cavity))
    )
    c, k = (x.center.position(system, f"{name}.{key}") for key, x in (("sphere", sphere), ("cavity", cavity)))
    yield inside_circle(system, name, c, r, sphere.body, k, R, cavity.body)


def inside_circle(
    system: System, name: str, c: np.ndarray, r: Scalar, inner: Carrier, k: np.ndarray, R: Scalar, outer: Carrier
) -> Meeting:
    """A sphere about c in a larger one about k: the gap is R - r - |c - k|.

    A centred sphere has no direction; the tiny length under the root keeps its derivatives finite, and is lost in rounding
    where they touch.
    """
    way = array(c - k)
    n = array(-way / sqrt(dot(way, way) + CENTERED * (R - r) ** 2))
    place = array(c - r * n)

    def basis() -> tuple[np.ndarray, ...]:
        if len(n) == 2:
            return (array([n[1], -n[0]]),)
        e = system.initial_value(n, binding=False)
        return _turning_basis(system, name, n, e / norm(e) if norm(e) > 0.5 else np.eye(3)[2])

    return Meeting(R - r + dot(n, way), n, place, inner.velocity_at(place) - outer.velocity_at(place), basis)


def _on_graph(system: System, name: str, shape: Point | Sphere, graph: Graph) -> Iterator[Meeting]:
    """A point: the height above the graph, measured along its normal. A sphere: the distance of its centre minus R."""
    point, R = (shape, 0.0) if isinstance(shape, Point) else (shape.center, None)
    r = point.position(system, f"{name}.point")
    if R is None:
        R = system.parameter(f"{name}.radius", shape.radius, above=0)  # type: ignore[union-attr]
    s = graph.body.local(r)
    x = ca.SX.sym("x", len(s) - 1)
    f = _height(name, graph, array(x))
    slope = np.atleast_1d(array(ca.densify(ca.gradient(column(f), x))))
    foot = column(s[:-1]) if isinstance(shape, Point) else _foot(column(s), x, column(f))
    f_at, slope_at = (array(ca.substitute(column(e), x, foot)) for e in (f, slope))
    steep = sqrt(1 + dot(slope_at, slope_at))
    n_local = array([*[-x / steep for x in slope_at], 1 / steep])
    base = array([*np.atleast_1d(array(foot)), f_at[0]])
    n = graph.body.direction(n_local)

    def basis() -> tuple[np.ndarray, ...]:
        if len(n) == 2:
            return (array([n[1], -n[0]]),)
        t_1, t_2 = turned_triad(n_local, *np.eye(3)[[2, 0, 1]])
        return graph.body.direction(t_1), graph.body.direction(t_2)

    c = array(r - R * n)
    velocity = point.body.velocity_at(c) if isinstance(shape, Sphere) else point.body.velocity(array(point.coordinates))
    yield Meeting(dot(n_local, s - base) - R, n, c, velocity - graph.body.velocity_at(c), basis)


def _height(name: str, graph: Graph, x: np.ndarray) -> Scalar:
    """The height of a graph over a place."""
    where, wanted = f"contact {name!r}", "a scalar, from operators and the functions of stickslip.math"
    try:
        return number(where, "the height of its graph", graph.height(*x))
    except (TypeError, ModelError) as error:
        raise ModelError(f"{where}: height of {len(x)} coordinates must return {wanted} ({error})") from error


def _foot(s: ca.SX, x: ca.SX, f: ca.SX) -> ca.SX:
    """The x of the point of the graph that is closest to s: Newton's method for the gradient of the squared distance.

        phi = x - s_x + (f - s_z) grad f = 0

    unrolled, so that its derivatives are those of the solution. It finds the foot where the sphere is smaller than
    the radius of curvature of the graph; where that is not so there are several.
    """
    center = ca.SX.sym("s", s.numel())
    phi = x - center[:-1] + (f - center[-1]) * ca.gradient(f, x)
    step = x - ca.solve(ca.densify(ca.jacobian(phi, x)), phi) if x.numel() > 1 else x - phi / derivative(phi, by=x)
    foot = s[:-1]
    for _ in range(FOOT_ITERATIONS):
        foot = ca.substitute(ca.substitute(step, x, foot), center, s)
    return foot

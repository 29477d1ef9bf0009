"""Mass, centre and inertia of shapes, and bodies that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Vector, is_symbolic
from stickslip.model import inertia
from stickslip.model.bodies import PlanarBody, RigidBody
from stickslip.model.frames import Carrier, Frame, Ground, ground
from stickslip.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Sphere
from stickslip.model.given import number, numbers
from stickslip.model.outlines import ClosedCurve, SimplePolygon
from stickslip.model.polytopes import ConvexPolygon, Polyhedron
from stickslip.model.surfaces import HeightField, TriangleMesh


@dataclass(frozen=True)
class Matter:
    """Mass, centre of mass and inertia about it (a number in the plane, a matrix in space), in the frame of the body."""

    mass: float
    center: np.ndarray
    inertia: Any


def matter_of(shape: Any, density: float) -> Matter:
    """What a solid shape of this density weighs; in the plane the density is per area.

    >>> import stickslip as ss
    >>> cube = matter_of(ss.Box(ss.ground, [2.0, 2.0, 2.0]), density=0.5)
    >>> float(cube.mass), cube.inertia.diagonal().tolist()
    (4.0, [2.6666666666666665, 2.6666666666666665, 2.6666666666666665])
    """
    where = type(shape).__name__.lower()
    number(where, "density", density, above=0)
    if isinstance(shape, Sphere):
        r, center = _plain(where, shape.radius), _plain(where, *shape.center.coordinates)
        if len(center) == 2:
            return Matter(density * np.pi * r[0] ** 2, center, density * np.pi * r[0] ** 4 / 2)
        m, J = inertia.sphere(r[0], density=density)
        return Matter(m, center, np.diag(J))
    if isinstance(shape, Capsule):
        return _capsule(where, shape, density)
    if isinstance(shape, Cylinder):
        r, length = _plain(where, shape.radius, shape.length)
        m, J = inertia.cylinder(r, length, density=density)
        return Matter(m, _plain(where, *shape.center.coordinates), _about(_plain(where, *shape.axis), J[0], J[2]))
    if isinstance(shape, (Box, Ellipsoid)):
        return _framed(where, shape, density)
    if isinstance(shape, (SimplePolygon, ClosedCurve)):
        rim = shape.fine_rim if isinstance(shape, ClosedCurve) else shape.rim
        return _polygon(_in_body(shape.at, rim), density)
    if isinstance(shape, ConvexPolygon):
        return _polygon(_in_body(shape.at, shape.vertices), density)
    if isinstance(shape, (TriangleMesh, HeightField)):
        return _polyhedron(_in_body(shape.at, shape.vertices), shape.triangles.tolist(), density)
    if isinstance(shape, Polyhedron):
        return _polyhedron(_in_body(shape.at, shape.vertices), shape.faces, density)
    raise ModelError(f"a {type(shape).__name__} has no mass; give the mass of its body")


def solid(
    name: str,
    shapes: Any,
    *,
    density: float,
    position: Vector | None = None,
    orientation: Any = None,
    angle: float = 0.0,
    velocity: Vector | None = None,
    angular_velocity: Any = None,
) -> Any:
    """A body made of shapes: a `RigidBody` or a `PlanarBody` with their mass and inertia, which carries them as `.shapes`.

    The shapes are drawn on the ground, where the body is in the beginning. Where `position` is given, the centre of mass is
    moved there; `orientation` (in the plane `angle`) turns the body about it. Overlapping shapes count twice.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> die = s.add(ss.solid("die", ss.Box(ss.ground.frame([0, 0, 1]), [0.1, 0.1, 0.1]), density=500))
    >>> rule = s.add(ss.Collisions("table", [die, ss.Plane([0, 0, 0], [0, 0, 1])], friction=0.3))
    >>> round(float(s.initial_value(die.mass)), 6), float(die.initial[2])
    (0.5, 1.0)
    """
    where = f"solid {name!r}"
    drawn = list(shapes) if isinstance(shapes, (list, tuple)) else [shapes]
    if not drawn:
        raise ModelError(f"{where}: it needs at least one shape")
    for shape in drawn:
        if not isinstance(getattr(shape, "body", None), Ground):
            raise ModelError(
                f"{where}: draw its shapes on the ground, as in Sphere(ground.point(0, 0, 1), 0.1), got {shape!r}"
            )
    parts = [matter_of(shape, density) for shape in drawn]
    if len({len(p.center) for p in parts}) > 1:
        several = ", ".join(
            f"a {type(shape).__name__} in {len(p.center)} dimensions" for shape, p in zip(drawn, parts, strict=True)
        )
        raise ModelError(f"{where}: its shapes live in the plane and in space, {several}; give shapes of one kind")
    mass = sum(p.mass for p in parts)
    center: np.ndarray = np.sum([p.mass * p.center for p in parts], axis=0) / mass
    place = center if position is None else numbers(where, "position", position, len(center))
    zero = np.zeros(len(center))
    moving: dict[str, Any] = {"position": place, "velocity": zero if velocity is None else velocity}
    body: Any
    if len(center) == 2:
        if orientation is not None:
            raise ModelError(f"{where}: in the plane give angle=, not orientation=")
        J = sum(p.inertia + p.mass * ((p.center - center) @ (p.center - center)) for p in parts)
        spin = 0.0 if angular_velocity is None else angular_velocity
        body = PlanarBody(name, mass=mass, inertia=J, angle=angle, angular_velocity=spin, **moving)
    else:
        if angle != 0.0:
            raise ModelError(f"{where}: in space give orientation=, not angle=")
        J = sum(p.inertia + p.mass * _steiner(p.center - center) for p in parts)
        off = np.abs(J - np.diag(np.diag(J))).max() > 1e-12 * np.abs(J).max()
        spin = np.zeros(3) if angular_velocity is None else angular_velocity
        turned = (1.0, 0.0, 0.0, 0.0) if orientation is None else orientation
        body = RigidBody(
            name, mass=mass, inertia=J if off else np.diag(J), orientation=turned, angular_velocity=spin, **moving
        )
    body.shapes = [_carried(shape, body, center) for shape in drawn]
    return body


def _carried(shape: Any, body: Carrier, center: np.ndarray) -> Any:
    """A shape of the ground on a body whose centre of mass is at a place."""
    if isinstance(shape, Sphere):
        return replace(shape, center=body.point(*(np.array(shape.center.coordinates) - center).tolist()))
    if isinstance(shape, Capsule):
        ends = (body.point(*(np.array(p.coordinates) - center).tolist()) for p in (shape.end_1, shape.end_2))
        return replace(shape, end_1=next(ends), end_2=next(ends))
    if isinstance(shape, Cylinder):
        return replace(shape, center=body.point(*(np.array(shape.center.coordinates) - center).tolist()))
    origin, R = _frame(shape.at, len(center))
    return replace(shape, at=Frame(body, origin - center, R))


def _plain(where: str, *values: Any) -> np.ndarray:
    if is_symbolic(list(values)):
        raise ModelError(f"{where}: its mass follows from numbers, not from parameters")
    return np.array([float(x) for x in values])


def _frame(at: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    return (
        (np.array(at.origin, float), np.array(at.rotation, float))
        if isinstance(at, Frame)
        else (np.zeros(n), np.eye(n))
    )


def _in_body(at: Any, points: np.ndarray) -> np.ndarray:
    origin, R = _frame(at, points.shape[1])
    return origin + points @ R.T


def _about(axis: np.ndarray, side: float, along: float) -> np.ndarray:
    """Inertia of a body of revolution."""
    a = axis / np.linalg.norm(axis)
    return side * np.eye(3) + (along - side) * np.outer(a, a)


def _steiner(d: np.ndarray) -> np.ndarray:
    return (d @ d) * np.eye(3) - np.outer(d, d)


def _capsule(where: str, shape: Capsule, density: float) -> Matter:
    (r,) = _plain(where, shape.radius)
    p, q = (_plain(where, *end.coordinates) for end in (shape.end_1, shape.end_2))
    length = float(np.linalg.norm(q - p))
    if len(p) == 3:
        m, J = inertia.capsule(r, length, density=density)
        return Matter(m, (p + q) / 2, _about(q - p, J[0], J[2]))
    bar, half, arm = (
        2 * r * length,
        np.pi * r**2 / 2,
        4 * r / (3 * np.pi),
    )  # of a half disk: its centre from the diameter
    J = bar * (length**2 + 4 * r**2) / 12 + 2 * half * (r**2 / 2 - arm**2 + (length / 2 + arm) ** 2)
    return Matter(density * (bar + 2 * half), (p + q) / 2, density * J)


def _framed(where: str, shape: Box | Ellipsoid, density: float) -> Matter:
    size = _plain(where, *(shape.size if isinstance(shape, Box) else shape.semi_axes))
    origin, R = _frame(shape.at, len(size))
    if len(size) == 3:
        m, J = (inertia.box if isinstance(shape, Box) else inertia.ellipsoid)(*size, density=density)
        return Matter(m, origin, R @ np.diag(J) @ R.T)
    m = density * (size[0] * size[1] if isinstance(shape, Box) else np.pi * size[0] * size[1])
    return Matter(m, origin, m * (size @ size) / (12 if isinstance(shape, Box) else 4))


def _polygon(p: np.ndarray, density: float) -> Matter:
    """Triangles from the origin, with signs."""
    q = np.roll(p, -1, axis=0)
    twice = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
    area = twice.sum() / 2
    center = (twice[:, None] * (p + q)).sum(0) / (6 * area)
    about_origin = (twice * ((p * p).sum(1) + (p * q).sum(1) + (q * q).sum(1))).sum() / 12
    return Matter(density * area, center, density * (about_origin - area * (center @ center)))


def _polyhedron(p: np.ndarray, faces: Sequence[Sequence[int]], density: float) -> Matter:
    """Tetrahedra from a point inside, with signs: the integral of x x^T over each is exact."""
    inside = p.mean(0)
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for face in faces:
        for k in range(1, len(face) - 1):
            a, b, c = (p[v] - inside for v in (face[0], face[k], face[k + 1]))
            six, total = np.linalg.det(np.array([a, b, c])), a + b + c
            volume += six / 6
            first += six / 24 * total
            second += six / 120 * (np.outer(total, total) + np.outer(a, a) + np.outer(b, b) + np.outer(c, c))
    center = first / volume
    second -= volume * np.outer(center, center)
    return Matter(density * volume, inside + center, density * (np.trace(second) * np.eye(3) - second))


__all__ = ["Matter", "ground", "matter_of", "solid"]

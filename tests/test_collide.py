"""Detection: gaps against independent distances, force directions against finite differences, identities over time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

import stickslip as ss
from stickslip.collide import contacts_for, numbers_for, scene_of
from stickslip.collide.scene import PLANAR, RIGID
from stickslip.collide.templates import template
from stickslip.errors import ModelError
from stickslip.math import quaternion_rotation
from stickslip.model.collisions import SHAPES
from stickslip.model.polytopes import hull_faces, prism

STONE = np.random.default_rng(5).normal(size=(9, 3))
STONE = STONE / np.linalg.norm(STONE, axis=1)[:, None] * [1.0, 0.7, 0.8]
RING = prism(np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.5, 1.1, 7)[0]
BRICK = [(x, y, z) for x in (-0.6, 0.6) for y in (-0.4, 0.4) for z in (-0.25, 0.25)]
TILE = [(x, y) for x in (-0.6, 0.6) for y in (-0.35, 0.35)]
WEDGE = [(-0.5, -0.4), (0.7, -0.3), (0.1, 0.8)]


def hull(*corners):
    """The closest point of a convex hull, by nonnegative least squares over the weights of its corners."""
    p, big = np.array(corners, float), 1e3

    def closest(x: np.ndarray) -> np.ndarray:
        weights = nnls(np.vstack([p.T, big * np.ones(len(p))]), np.append(x, big))[0]
        return p.T @ (weights / weights.sum())

    return closest


def egg(*semi_axes):
    """The closest point of an ellipsoid, from the multiplier of its equation, by Newton's method.

    The equation is convex and falls, so iterations from below rise to its root.
    """
    squares = np.square(semi_axes)

    def closest(x: np.ndarray) -> np.ndarray:
        level, c, root = 0.0, (squares * x * x).tolist(), squares.tolist()
        if (x * x / squares).sum() <= 1 + 1e-12:
            return x
        while True:
            excess = sum(y / (s + level) ** 2 for y, s in zip(c, root, strict=True)) - 1
            before, level = (
                level,
                level + excess / (2 * sum(y / (s + level) ** 3 for y, s in zip(c, root, strict=True))),
            )
            if level - before <= 1e-15:
                return squares * x / (squares + level)

    return closest


def triangles(p) -> list[tuple[int, int, int]]:
    return [(f[0], f[k], f[k + 1]) for f in hull_faces(np.array(p)) for k in range(1, len(f) - 1)]


def rim(a: float, b: float, count: int = 400) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.column_stack([a * np.cos(angle), b * np.sin(angle)])


def ball(*semi_axes: float) -> np.ndarray:
    """Many points of an ellipsoid."""
    if len(semi_axes) == 2:
        return rim(*semi_axes, 20_000)
    z = np.linspace(-1, 1, 400)[:, None, None]
    circle = rim(1.0, 1.0, 800)[None] * np.sqrt(1 - z**2)
    return np.concatenate([circle, np.broadcast_to(z, (400, 800, 1))], axis=2).reshape(-1, 3) * semi_axes


class Sample(NamedTuple):
    """A shape of a body, and for the reference: the closest point of its core to a place, its rounding, points around it."""

    make: Callable[[Any], Any]
    closest: Any = None
    rounding: float = 0.0
    around: Any = None
    exact: float = 1e-9  # how well the reference knows it


def body_of(make, *corners, rounding: float = 0.0) -> Sample:
    """A sample whose core is a convex hull."""
    return Sample(make, hull(*corners), rounding, np.array(corners, float))


FLAT = 0.25 * np.ones((3, 4))
IN_SPACE = {
    "sphere": body_of(lambda b: ss.Sphere(b.point(0.2, 0.1, -0.1), 0.6), (0.2, 0.1, -0.1), rounding=0.6),
    "capsule": body_of(
        lambda b: ss.Capsule(b.point(-0.6, 0.1, 0), b.point(0.7, 0, 0.2), 0.25),
        (-0.6, 0.1, 0),
        (0.7, 0, 0.2),
        rounding=0.25,
    ),
    "box": body_of(lambda b: ss.Box(b, [1.2, 0.8, 0.5]), *BRICK),
    "prism": body_of(lambda b: ss.Cylinder(b.point(), [0, 0, 1], 0.5, 1.1, points=7), *RING),
    "stone": body_of(lambda b: ss.Polyhedron(b, STONE), *STONE),
    "ellipsoid": Sample(lambda b: ss.Ellipsoid(b, [0.9, 0.5, 0.3]), egg(0.9, 0.5, 0.3), 0.0, ball(0.9, 0.5, 0.3), 5e-5),
    "mesh": body_of(lambda b: ss.TriangleMesh(b, STONE, triangles(STONE)), *STONE),
    "height field": body_of(lambda b: ss.HeightField(b, FLAT, [1.2, 0.8], depth=0.5), *BRICK),
    "plane": Sample(lambda b: ss.Plane([0, 0, 0], [0, 0, 1], b)),
    "cavity": Sample(lambda b: ss.Cavity(b.point(0, 0, 0), 2.0)),
}
IN_PLANE = {
    "circle": body_of(lambda b: ss.Sphere(b.point(0.2, 0.1), 0.5), (0.2, 0.1), rounding=0.5),
    "stadium": body_of(
        lambda b: ss.Capsule(b.point(-0.5, 0.1), b.point(0.6, 0.2), 0.2), (-0.5, 0.1), (0.6, 0.2), rounding=0.2
    ),
    "rectangle": body_of(lambda b: ss.Box(b, [1.2, 0.7]), *TILE),
    "triangle": body_of(lambda b: ss.ConvexPolygon(b, WEDGE), *WEDGE),
    "ellipse": Sample(lambda b: ss.Ellipsoid(b, [0.8, 0.4]), egg(0.8, 0.4), 0.0, ball(0.8, 0.4), 1e-6),
    "polygon": body_of(lambda b: ss.SimplePolygon(b, WEDGE), *WEDGE),
    "curve": Sample(lambda b: ss.ClosedCurve(b, rim(0.8, 0.4), pieces=100), egg(0.8, 0.4), 0.0, ball(0.8, 0.4), 5e-6),
    "line": Sample(lambda b: ss.Line([0, 0], [0, 1], b)),
    "hole": Sample(lambda b: ss.Cavity(b.point(0, 0), 2.0)),
}
EVERY = IN_SPACE | IN_PLANE
OPEN = ("plane", "cavity", "line", "hole")
PAIRS = [(a, b) for group in (IN_SPACE, IN_PLANE) for a in group for b in group if not (a in OPEN and b in OPEN)]


def test_every_shape_has_a_sample():
    """A new shape gets its entry above, or its name here with the error that says what to do."""
    made = {type(sample.make(body)) for body, group in BODIES for sample in group.values()}
    assert made | {ss.Disk, ss.Graph} == set(SHAPES) | {ss.Line}


BODIES = (
    (ss.RigidBody("b", mass=1, inertia=[1, 1, 1]), IN_SPACE),
    (ss.PlanarBody("b", mass=1, inertia=1), IN_PLANE),
)


@pytest.mark.parametrize("first", OPEN)
@pytest.mark.parametrize("second", OPEN)
def test_half_spaces_and_holes_of_two_bodies_are_refused(first, second):
    if (first in IN_SPACE) == (second in IN_SPACE):
        with pytest.raises(ModelError, match="always overlap"):
            pair(first, second, 0.1)


@cache
def pair(first: str, second: str, skin: float) -> tuple[ss.System, ss.Collisions]:
    """Two bodies and their shapes, wherever they are."""
    s = ss.System(f"{first} and {second}")
    if first in IN_SPACE:
        a = s.add(ss.RigidBody("a", mass=1, inertia=[1, 1, 1]))
        b = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]))
        shapes = [IN_SPACE[first].make(a), IN_SPACE[second].make(b)]
    else:
        a = s.add(ss.PlanarBody("a", mass=1, inertia=1))
        b = s.add(ss.PlanarBody("b", mass=1, inertia=1))
        shapes = [IN_PLANE[first].make(a), IN_PLANE[second].make(b)]
    return s, s.add(ss.Collisions("touch", shapes, friction=0.3, skin=skin))


def distance(first: str, second: str, position: np.ndarray, A: np.ndarray) -> float:
    """Of two shapes, the second at rest. Of convex ones: projections on each of them in turn."""
    (_, on_first, r, p, _), (_, on_second, R, q, _) = EVERY[first], EVERY[second]
    up = np.eye(len(position))[-1]
    if second in ("plane", "line"):
        return float(((p @ A.T + position) @ up).min()) - r
    if first in ("plane", "line"):
        return float(((q - position) @ (A @ up)).min()) - R
    if second in ("cavity", "hole"):
        return 2.0 - float(np.linalg.norm(p @ A.T + position, axis=1).max()) - r
    if first in ("cavity", "hole"):
        return 2.0 - float(np.linalg.norm(q - position, axis=1).max()) - R
    y, before, now = np.zeros(len(position)), np.inf, 1e9
    while before - now > 1e-13 and now > 5e-4:  # inside each other the distance goes to zero slowly
        x = position + A @ on_first(A.T @ (y - position))
        y = on_second(x)
        before, now = now, float(np.linalg.norm(x - y))
    return now - r - R


def random_pose(rng, first: str):
    if first in IN_SPACE:
        p = rng.normal(size=4)
        p /= np.linalg.norm(p)
        return p, quaternion_rotation(p)
    angle = rng.uniform(0, 2 * np.pi)
    return angle, np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@cache
def poses(first: str, second: str) -> list[tuple[np.ndarray, float]]:
    """Coordinates of both bodies at three random poses of the first one, near the second one, and their distances."""
    rng, out = np.random.default_rng(11), []
    while len(out) < 3:
        turn, A = random_pose(rng, first)
        d = rng.normal(size=len(A))
        position = rng.uniform(0.5, 2.0) * d / np.linalg.norm(d)
        apart = distance(first, second, position, A)
        if 1e-3 < apart < 0.2:
            out.append((np.concatenate([position, np.atleast_1d(turn), AT_REST[len(A)]]), apart))
    return out


AT_REST = {2: np.zeros(3), 3: np.array([0, 0, 0, 1.0, 0, 0, 0])}


@pytest.mark.parametrize("first, second", PAIRS)
def test_gaps_are_distances(first, second):
    """The smallest gap is the distance of the shapes, at random poses, in both orders."""
    scene = scene_of(*pair(first, second, 1.0))
    for q, apart in poses(first, second):
        found = contacts_for(scene, q)
        assert found.gap.size > 0
        assert np.isfinite(numbers_for(scene, q)).all()
        known = EVERY[first].exact + EVERY[second].exact
        assert found.gap.min() == pytest.approx(apart, abs=1e-7 if not {first, second} & {*OPEN, "curve"} else known)
        assert np.abs(np.linalg.norm(found.normal, axis=1) - 1).max() < 1e-12


@cache
def functions(kind: int, bodies: tuple[int, int], dimension: int):
    made = template(kind, bodies, dimension, True)
    contact = made.equations.contacts[0]
    q, u = (ca.vertcat(*[getattr(b, x) for b in made.system.blocks]) for x in ("q", "u"))
    qdot = ca.vertcat(*[b.qdot for b in made.system.blocks])
    rate = ca.jacobian(contact.gap, q) @ qdot
    inputs = [q, u, ca.vertcat(*made.parameters)]
    W = ca.jacobian(ca.vertcat(rate, contact.slip), u)
    return ca.Function("contact", inputs, [contact.gap, rate, contact.slip, W])


def assert_objective(rng, scene, q: np.ndarray, found) -> None:
    """Moving and turning both bodies alike moves and turns the contacts, and changes no gap."""
    turn, A = random_pose(rng, "sphere" if len(q) == 14 else "circle")
    shift, moved = rng.normal(size=len(A)), q.reshape(2, -1).copy()
    for row in moved:
        row[: len(A)] = A @ row[: len(A)] + shift
        row[len(A) :] = row[len(A) :] + turn if len(A) == 2 else quaternion_product(turn, row[3:])
    there = contacts_for(scene, moved.ravel())
    assert [set(map(tuple, x.key)) for x in (there,)] == [set(map(tuple, found.key))]
    order = [np.lexsort((*x.key.T, x.kind)) for x in (found, there)]
    np.testing.assert_allclose(there.gap[order[1]], found.gap[order[0]], atol=1e-12)
    n = len(A)
    np.testing.assert_allclose(there.normal[order[1], :n], found.normal[order[0], :n] @ A.T, atol=1e-9)
    np.testing.assert_allclose(there.point[order[1], :n], found.point[order[0], :n] @ A.T + shift, atol=1e-8)


def quaternion_product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])


@pytest.mark.parametrize("first, second", PAIRS)
def test_templates_are_the_detected_gaps_and_their_derivatives(first, second):
    """The equations with the detected numbers give the detected gap; moving the bodies changes both alike; forces of a
    contact have no resultant and no resulting torque.
    """
    rng, space = np.random.default_rng(3), first in IN_SPACE
    dimension = 3 if space else 2
    s, rule = pair(first, second, 0.3)
    scene = scene_of(s, rule)
    symbols = [ca.vertcat(*[getattr(b, x) for b in s.blocks]) for x in ("q", "u", "qdot")]
    kinematics = ca.Function("qdot", symbols[:2], symbols[2:])
    for q, _ in poses(first, second)[:2]:
        found, numbers = contacts_for(scene, q), numbers_for(scene, q)
        n_q = len(q) // 2
        u = rng.normal(size=s.n_u)
        qdot = np.array(kinematics(q, u))[:, 0]
        assert_objective(rng, scene, q, found)
        h = 1e-6
        ahead, behind = (contacts_for(scene, q + sign * h * qdot) for sign in (1, -1))
        for c in range(found.found[0]):
            order = [0, 1] if found.body[c, 0] == 1 else [1, 0]
            blocks = np.concatenate([np.arange(n_q) + k * n_q for k in order])
            speeds = np.concatenate([np.arange(s.n_u // 2) + k * s.n_u // 2 for k in order])
            f = functions(int(found.kind[c]), (RIGID, RIGID) if space else (PLANAR, PLANAR), dimension)
            gap, rate, _, W = (np.array(x) for x in f(q[blocks], u[speeds], numbers[c, : f.size1_in(2)]))
            assert gap[0, 0] == pytest.approx(found.gap[c], abs=1e-12)
            same = [np.flatnonzero((x.key == found.key[c]).all(1) & (x.kind == found.kind[c])) for x in (ahead, behind)]
            clipped = 3 in (found.key[c, 1:] % 4)  # corners of clipped faces move on their face
            if all(len(x) == 1 for x in same) and not clipped:
                fd = (ahead.gap[same[0][0]] - behind.gap[same[1][0]]) / (2 * h)
                assert rate[0, 0] == pytest.approx(fd, abs=1e-7)
            x_1, x_2 = q[blocks][:dimension], q[blocks][n_q : n_q + dimension]
            half = s.n_u // 2
            for row in W:
                force_1, force_2 = row[:dimension], row[half : half + dimension]
                np.testing.assert_allclose(force_1 + force_2, 0, atol=1e-12)
                if space:
                    A_1, A_2 = (quaternion_rotation(q[blocks][k + 3 : k + 7]) for k in (0, n_q))
                    torque = A_1 @ row[3:6] + A_2 @ row[half + 3 :] + np.cross(x_1, force_1) + np.cross(x_2, force_2)
                else:
                    arms = x_1[0] * force_1[1] - x_1[1] * force_1[0] + x_2[0] * force_2[1] - x_2[1] * force_2[0]
                    torque = row[2] + row[half + 2] + arms
                np.testing.assert_allclose(torque, 0, atol=1e-12)


LYING = [
    ("box", "box"), ("box", "mesh box"), ("mesh box", "box"), ("mesh box", "mesh box"), ("box", "height field"),
    ("prism", "box"), ("prism", "height field"), ("capsule lying", "box"), ("capsule lying", "height field"),
    ("rectangle", "rectangle"), ("rectangle", "bracket"), ("bracket", "rectangle"), ("stadium lying", "rectangle"),
    ("stadium lying", "bracket"),
]  # fmt: skip
NOTCHED = [(-0.6, -0.35), (0.6, -0.35), (0.6, 0.35), (0, 0.35), (0, 0.2), (-0.2, 0.35), (-0.6, 0.35)]
FACES = {
    "mesh box": lambda b: ss.TriangleMesh(b, BRICK, triangles(BRICK)),
    "capsule lying": lambda b: ss.Capsule(b.point(-0.5, 0, 0), b.point(0.5, 0, 0), 0.25),
    "stadium lying": lambda b: ss.Capsule(b.point(-0.5, 0), b.point(0.5, 0), 0.35),
    "bracket": lambda b: ss.SimplePolygon(
        b, [(-0.6, -0.35), (0.6, -0.35), (0.6, 0.35), (0, 0.35), (0, 0.2), (-0.2, 0.35), (-0.6, 0.35)]
    ),
    "prism": lambda b: ss.Cylinder(b.point(), [0, 0, 1], 0.5, 0.5, points=7),
}


@pytest.mark.parametrize("first, second", LYING)
def test_manifolds_do_not_flicker(first, second):
    """A face on a face, moved by 1e-7: the same contacts, which move and open by little; moved by more, the same places."""
    rng, space = np.random.default_rng(7), second in ("box", "mesh box", "height field")
    s = ss.System("lying")
    if space:
        turn = ss.math.quaternion([0, 0, 1], 0.3)
        a = s.add(ss.RigidBody("a", mass=1, inertia=[1, 1, 1], position=[0.13, 0.07, 0.5], orientation=turn))
        b = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]))
    else:
        a = s.add(ss.PlanarBody("a", mass=1, inertia=1, position=[0.13, 0.7]))
        b = s.add(ss.PlanarBody("b", mass=1, inertia=1))
    shapes = [FACES[name](x) if name in FACES else EVERY[name].make(x) for name, x in ((first, a), (second, b))]
    rule = s.add(ss.Collisions("touch", shapes, friction=0.3, skin=0.05))
    scene, q = scene_of(s, rule), s.q_initial
    rest = contacts_for(scene, q)
    assert np.count_nonzero(np.abs(rest.gap) < 1e-12) >= (2 if not space or "capsule" in first else 4)
    assert rest.gap.min() > -1e-12
    for _ in range(20):
        moved = q + 1e-7 * rng.normal(size=len(q))
        found = contacts_for(scene, moved)
        near, still = found.gap < 1e-5, rest.gap < 1e-5
        assert sorted(map(tuple, found.key[near])) == sorted(map(tuple, rest.key[still]))
        order = [np.lexsort((*x.key[chosen].T, x.kind[chosen])) for x, chosen in ((rest, still), (found, near))]
        np.testing.assert_allclose(found.gap[near][order[1]], 0, atol=2e-6)
        np.testing.assert_allclose(found.point[near][order[1]], rest.point[still][order[0]], atol=2e-5)
    for _ in range(20):  # larger motions: places stay covered, whatever they are called
        moved = q + 1e-4 * rng.normal(size=len(q))
        found = contacts_for(scene, moved)
        for x, y in ((rest, found), (found, rest)):
            far = np.linalg.norm(x.point[:, None] - y.point[None], axis=2).min(axis=1)
            assert far.max() < 5e-3


@pytest.mark.parametrize("dimension", [2, 3])
def test_corners_that_are_flush_stay_the_same_contacts(dimension):
    """Equal boxes on each other, moved by rounding errors: each contact is known by its corner, not by what is cut off."""
    s, rng = ss.System("flush"), np.random.default_rng(3)
    make = {2: ss.PlanarBody, 3: ss.RigidBody}[dimension]
    upward, inertia = np.eye(dimension)[-1], 1.0 if dimension == 2 else [1, 1, 1]
    boxes = [
        ss.Box(s.add(make(f"b{k}", mass=1, inertia=inertia, position=k * upward)), [1] * dimension) for k in (0, 1)
    ]
    scene, q = (scene_of(s, s.add(ss.Collisions("touch", boxes, friction=0.3))), s.q_initial)
    rest = contacts_for(scene, q)
    assert rest.found[0] == 2 ** (dimension - 1)
    for size in (1e-16, 1e-13, 1e-9):
        for _ in range(10):
            moved = contacts_for(scene, q + size * rng.normal(size=len(q)))
            assert {*map(tuple, moved.key)} == {*map(tuple, rest.key)}


LONG = {"flush": (0.5, 0.0), "shifted": (0.5, 0.1), "short": (0.3, 0.05), "long": (0.8, -0.1)}
ON_EDGE = [(x, y, z) for x in (-0.5, 0.5) for y, z in ((0.3, 0), (-0.3, 0), (0, 0.3), (0, -0.3))]
RIDGES = {
    "capsule": (lambda b: ss.Capsule(b.point(-0.5, 0, 0.1), b.point(0.5, 0, 0.1), 0.2), 0.1, 0.2),
    "bar": (lambda b: ss.Polyhedron(b, ON_EDGE), 0.3, 0.0),
    "prism": (lambda b: ss.Cylinder(b.point(), [1, 0, 0], 0.3, 1.0, points=16), 0.3, 0.0),
    "bar of triangles": (lambda b: ss.TriangleMesh(b, ON_EDGE, triangles(ON_EDGE)), 0.3, 0.0),
}


@pytest.mark.parametrize("size", LONG)
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("swapped", [False, True])
def test_parallel_lines_touch_at_both_ends_of_the_piece_that_they_share(size, ridge, swapped):
    """A capsule along a capsule or an edge, parallel or nearly so: exact gaps, and contacts that keep places and names."""
    (half, shift), (make, height, R), r = LONG[size], RIDGES[ridge], 0.25
    s = ss.System("parallel")
    names = ("ridge", "rod") if swapped else ("rod", "ridge")
    body = {name: s.add(ss.RigidBody(name, mass=1, inertia=[1, 1, 1])) for name in names}
    rod = ss.Capsule(body["rod"].point(-half, 0, 0), body["rod"].point(half, 0, 0), r)
    shapes = {"rod": rod, "ridge": make(body["ridge"])}
    scene = scene_of(s, s.add(ss.Collisions("touch", [shapes[name] for name in names], skin=0.1)))
    ends = max(-0.5, shift - half), min(0.5, shift + half)

    def at(turn: np.ndarray, off: np.ndarray) -> tuple[Any, float]:
        """The contacts of a rod that is turned and moved by little, and the distance of both."""
        p = np.array([1.0, *(turn / 2)]) / np.linalg.norm([1.0, *(turn / 2)])
        center = np.array([shift, 0, height + R + r]) + off
        place = {"rod": np.concatenate([center, p]), "ridge": AT_REST[3]}
        d, b = quaternion_rotation(p) @ [2 * half, 0, 0], np.array([1.0, 0, 0])
        w = center - d / 2 - [-0.5, 0, height]
        share = lsq_linear(np.column_stack([d, -b]), -w, (0, 1), tol=1e-15).x
        apart = float(np.linalg.norm(w + share[0] * d - share[1] * b)) - R - r
        found = contacts_for(scene, np.concatenate([place[name] for name in names]))
        close = found.gap < 5e-3  # an end beside a mesh meets its corner too, 9 mm away
        return found._replace(**{x: getattr(found, x)[close] for x in ("gap", "key", "point", "normal")}), apart

    rest, apart = at(np.zeros(3), np.zeros(3))
    assert apart == pytest.approx(0, abs=1e-12)
    assert rest.gap == pytest.approx(np.zeros(2), abs=1e-12)
    assert sorted(rest.point[:, 0]) == pytest.approx(ends, abs=1e-12)
    assert np.abs(rest.normal[:, 2]) == pytest.approx(np.ones(2), abs=1e-12)
    for angle in (1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3):
        for direction in ([0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0.6, 0.8], [0, 1e-3, 1], [0, -1e-5, 1]):
            found, apart = at(angle * np.array(direction), np.zeros(3))
            assert found.gap.min() == pytest.approx(apart, abs=5e-8)  # with a middle left out where ends are as low
            for x in ends:
                near = np.abs(found.point[:, 0] - x) < 2 * angle + 1e-9
                assert near.any()
                assert np.abs(found.gap[near]).max() < 2 * angle + 1e-12
    rng = np.random.default_rng(2)
    for _ in range(20):
        found, apart = at(1e-7 * rng.normal(size=3), 1e-7 * rng.normal(size=3))
        assert sorted(map(tuple, found.key)) == sorted(map(tuple, rest.key))
        assert found.gap.min() == pytest.approx(apart, abs=1e-9)


def test_a_rod_over_the_end_of_another_one_keeps_the_corner_that_is_closest():
    """One end of the slanted rod lies over the other rod, but its other end, beside it, is closest."""
    s = ss.System("rods")
    a, b = (s.add(ss.RigidBody(name, mass=1, inertia=[1, 1, 1])) for name in "ab")
    slanted = ss.Capsule(a.point(-0.1, 0, 0.3), a.point(0.5, 0, 1.5), 0.1)
    rule = ss.Collisions("touch", [slanted, ss.Capsule(b.point(0, 0, 0), b.point(1, 0, 0), 0.1)], skin=2)
    found = contacts_for(scene_of(s, s.add(rule)), s.q_initial)
    assert found.gap.min() == pytest.approx(np.hypot(0.1, 0.3) - 0.2, abs=1e-12)


@pytest.mark.parametrize("ridge", ["capsule", "bar", "bar of triangles"])
def test_rods_that_cross_at_a_small_angle_may_tilt(ridge):
    """The gap of two lines would close at once: their normal turns by the tilt divided by their angle, here by 45 degrees."""
    make, height, R = RIDGES[ridge]
    s = ss.System("crossing")
    rod = s.add(ss.RigidBody("rod", mass=1, inertia=[1, 1, 1]))
    b = s.add(ss.RigidBody("ridge", mass=1, inertia=[1, 1, 1]))
    shapes = [ss.Capsule(rod.point(-0.4, 0, 0), rod.point(0.4, 0, 0), 0.25), make(b)]
    scene = scene_of(s, s.add(ss.Collisions("touch", shapes, skin=0.1)))
    z, yaw = height + R + 0.26, np.array([np.cos(0.01), 0, 0, np.sin(0.01)])
    q = np.concatenate([[0, 0, z], yaw, AT_REST[3]])
    found, numbers = contacts_for(scene, q), numbers_for(scene, q)
    assert found.gap.min() == pytest.approx(0.01, abs=1e-12)
    assert np.abs(found.point[found.gap.argmin()][:2]).max() < 1e-9
    tilted = np.concatenate(
        [[0, 0, z], quaternion_product(yaw, np.array([np.cos(0.01), 0, np.sin(0.01), 0])), AT_REST[3]]
    )
    for c in range(found.found[0]):
        order = [0, 1] if found.body[c, 0] == 1 else [1, 0]
        blocks = np.concatenate([np.arange(7) + 7 * k for k in order])
        f = functions(int(found.kind[c]), (RIGID, RIGID), 3)
        gap = float(f(tilted[blocks], np.zeros(12), numbers[c, : f.size1_in(2)])[0])
        assert gap > 0.01 - 0.4 * 0.02 - 1e-4  # its ends move by 8 mm

"""Detection: gaps against independent distances, force directions against finite differences, identities over time."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq, nnls

import stickslip as ss
from stickslip.collide import contacts_for, scene_of
from stickslip.collide.scene import PLANAR, RIGID
from stickslip.collide.templates import template
from stickslip.math import quaternion_rotation
from stickslip.model.polytopes import prism

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
    """The closest point of an ellipsoid, from the multiplier of its equation."""
    a = np.array(semi_axes)

    def closest(x: np.ndarray) -> np.ndarray:
        if ((x / a) ** 2).sum() <= 1 + 1e-12:
            return x
        level = brentq(lambda k: ((a * x / (a * a + k)) ** 2).sum() - 1, 0, a.max() * np.linalg.norm(x) + 1, xtol=1e-15)
        return a * a * x / (a * a + level)

    return closest


# Each shape of a body, and for the reference: the closest point of its core, and its rounding.
IN_SPACE = {
    "sphere": (lambda b: ss.Sphere(b.point(0.2, 0.1, -0.1), 0.6), hull((0.2, 0.1, -0.1)), 0.6),
    "capsule": (
        lambda b: ss.Capsule(b.point(-0.6, 0.1, 0), b.point(0.7, 0, 0.2), 0.25),
        hull((-0.6, 0.1, 0), (0.7, 0, 0.2)),
        0.25,
    ),
    "box": (lambda b: ss.Box(b, [1.2, 0.8, 0.5]), hull(*BRICK), 0.0),
    "prism": (lambda b: ss.Cylinder(b.point(), [0, 0, 1], 0.5, 1.1, points=7), hull(*RING), 0.0),
    "stone": (lambda b: ss.Polyhedron(b, STONE), hull(*STONE), 0.0),
    "ellipsoid": (lambda b: ss.Ellipsoid(b, [0.9, 0.5, 0.3]), egg(0.9, 0.5, 0.3), 0.0),
}
IN_PLANE = {
    "circle": (lambda b: ss.Sphere(b.point(0.2, 0.1), 0.5), hull((0.2, 0.1)), 0.5),
    "stadium": (lambda b: ss.Capsule(b.point(-0.5, 0.1), b.point(0.6, 0.2), 0.2), hull((-0.5, 0.1), (0.6, 0.2)), 0.2),
    "rectangle": (lambda b: ss.Box(b, [1.2, 0.7]), hull(*TILE), 0.0),
    "triangle": (lambda b: ss.ConvexPolygon(b, WEDGE), hull(*WEDGE), 0.0),
    "ellipse": (lambda b: ss.Ellipsoid(b, [0.8, 0.4]), egg(0.8, 0.4), 0.0),
}
PAIRS = [(a, b) for group in (IN_SPACE, IN_PLANE) for a in group for b in group]


def pair(
    first: str, second: str, skin: float, position, turn, other=None, other_turn=None
) -> tuple[ss.System, ss.Collisions]:
    s = ss.System(f"{first} and {second}")
    if first in IN_SPACE:
        a = s.add(ss.RigidBody("a", mass=1, inertia=[1, 1, 1], position=position, orientation=turn))
        b = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]))
        shapes = [IN_SPACE[first][0](a), IN_SPACE[second][0](b)]
    else:
        a = s.add(ss.PlanarBody("a", mass=1, inertia=1, position=position, angle=turn))
        b = s.add(ss.PlanarBody("b", mass=1, inertia=1))
        shapes = [IN_PLANE[first][0](a), IN_PLANE[second][0](b)]
    return s, s.add(ss.Collisions("touch", shapes, friction=0.3, skin=skin))


def distance(first: str, second: str, position: np.ndarray, A: np.ndarray) -> float:
    """Of two convex shapes, the second at rest: projections on each of them in turn."""
    (_, on_first, r), (_, on_second, R) = (({**IN_SPACE, **IN_PLANE})[name] for name in (first, second))
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


def beside(rng, first: str, second: str, least: float, most: float):
    """A random pose of the first shape at a distance from the second one within these bounds, and the distance."""
    while True:
        turn, A = random_pose(rng, first)
        d = rng.normal(size=len(A))
        position = rng.uniform(0.5, 2.0) * d / np.linalg.norm(d)
        apart = distance(first, second, position, A)
        if least < apart < most:
            return position, turn, apart


@pytest.mark.parametrize("first, second", PAIRS)
def test_gaps_are_distances(first, second):
    """The smallest gap is the distance of the shapes, at random poses, in both orders."""
    rng = np.random.default_rng(11)
    for _ in range(5):
        position, turn, apart = beside(rng, first, second, 1e-3, 0.3)
        s, rule = pair(first, second, 1.0, position, turn)
        found = contacts_for(scene_of(s, rule), s.q_initial)
        assert found.gap.size > 0
        assert found.gap.min() == pytest.approx(apart, abs=1e-7)
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


@pytest.mark.parametrize("first, second", PAIRS)
def test_templates_are_the_detected_gaps_and_their_derivatives(first, second):
    """The equations with the detected numbers give the detected gap; moving the bodies changes both alike; forces of a
    contact have no resultant and no resulting torque.
    """
    rng, space = np.random.default_rng(3), first in IN_SPACE
    dimension = 3 if space else 2
    for _ in range(4):
        position, turn, _ = beside(rng, first, second, 1e-3, 0.2)
        s, rule = pair(first, second, 0.3, position, turn)
        scene, q = scene_of(s, rule), s.q_initial
        found = contacts_for(scene, q)
        n_q = len(q) // 2
        u = rng.normal(size=s.n_u)
        symbols = [ca.vertcat(*[getattr(b, x) for b in s.blocks]) for x in ("q", "u", "qdot")]
        qdot = np.array(ca.Function("qdot", symbols[:2], symbols[2:])(q, u))[:, 0]
        h = 1e-6
        ahead, behind = (contacts_for(scene, q + sign * h * qdot) for sign in (1, -1))
        for c in range(found.found[0]):
            order = [0, 1] if found.body[c, 0] == 1 else [1, 0]
            blocks = np.concatenate([np.arange(n_q) + k * n_q for k in order])
            speeds = np.concatenate([np.arange(s.n_u // 2) + k * s.n_u // 2 for k in order])
            f = functions(int(found.kind[c]), (RIGID, RIGID) if space else (PLANAR, PLANAR), dimension)
            gap, rate, _, W = (np.array(x) for x in f(q[blocks], u[speeds], found.numbers[c, : f.size1_in(2)]))
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

"""Detection: gaps against independent distances, force directions against finite differences, identities over time."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import nnls

import stickslip as ss
from stickslip.collide import contacts_for, scene_of
from stickslip.collide.scene import PLANAR, RIGID
from stickslip.collide.templates import template
from stickslip.math import quaternion_rotation

STONE = np.random.default_rng(5).normal(size=(9, 3))
STONE = STONE / np.linalg.norm(STONE, axis=1)[:, None] * [1.0, 0.7, 0.8]
IN_SPACE = {
    "sphere": lambda b: ss.Sphere(b.point(0.2, 0.1, -0.1), 0.6),
    "capsule": lambda b: ss.Capsule(b.point(-0.6, 0.1, 0), b.point(0.7, 0, 0.2), 0.25),
    "box": lambda b: ss.Box(b, [1.2, 0.8, 0.5]),
    "prism": lambda b: ss.Cylinder(b.point(0.1, 0, 0), [0.2, 0.3, 1], 0.5, 1.1, points=7),
    "stone": lambda b: ss.Polyhedron(b, STONE),
}
IN_PLANE = {
    "circle": lambda b: ss.Sphere(b.point(0.2, 0.1), 0.5),
    "stadium": lambda b: ss.Capsule(b.point(-0.5, 0.1), b.point(0.6, 0.2), 0.2),
    "rectangle": lambda b: ss.Box(b, [1.2, 0.7]),
    "triangle": lambda b: ss.ConvexPolygon(b, [(-0.5, -0.4), (0.7, -0.3), (0.1, 0.8)]),
}
CORE = {  # corners and rounding, for the reference
    "sphere": ([(0.2, 0.1, -0.1)], 0.6),
    "capsule": ([(-0.6, 0.1, 0), (0.7, 0, 0.2)], 0.25),
    "box": ([(x, y, z) for x in (-0.6, 0.6) for y in (-0.4, 0.4) for z in (-0.25, 0.25)], 0.0),
    "stone": (STONE, 0.0),
    "circle": ([(0.2, 0.1)], 0.5),
    "stadium": ([(-0.5, 0.1), (0.6, 0.2)], 0.2),
    "rectangle": ([(x, y) for x in (-0.6, 0.6) for y in (-0.35, 0.35)], 0.0),
    "triangle": ([(-0.5, -0.4), (0.7, -0.3), (0.1, 0.8)], 0.0),
}


def pair(
    first: str, second: str, skin: float, position, turn, other=None, other_turn=None
) -> tuple[ss.System, ss.Collisions]:
    s = ss.System(f"{first} and {second}")
    if first in IN_SPACE:
        a = s.add(ss.RigidBody("a", mass=1, inertia=[1, 1, 1], position=position, orientation=turn))
        b = s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]))
        shapes = [IN_SPACE[first](a), IN_SPACE[second](b)]
    else:
        a = s.add(ss.PlanarBody("a", mass=1, inertia=1, position=position, angle=turn))
        b = s.add(ss.PlanarBody("b", mass=1, inertia=1))
        shapes = [IN_PLANE[first](a), IN_PLANE[second](b)]
    return s, s.add(ss.Collisions("touch", shapes, friction=0.3, skin=skin))


def distance(p: np.ndarray, q: np.ndarray) -> float:
    """Of two convex hulls, by nonnegative least squares over the weights of their corners; sums of weights are pinned."""
    n, big = p.shape[1], 1e3
    rows = np.zeros((n + 2, len(p) + len(q)))
    rows[:n, : len(p)], rows[:n, len(p) :] = p.T, -q.T
    rows[n, : len(p)], rows[n + 1, len(p) :] = big, big
    x = nnls(rows, np.concatenate([np.zeros(n), [big, big]]))[0]
    x[: len(p)] /= x[: len(p)].sum()
    x[len(p) :] /= x[len(p) :].sum()
    return float(np.linalg.norm(rows[:n] @ x))


def random_pose(rng, first: str):
    if first in IN_SPACE:
        p = rng.normal(size=4)
        p /= np.linalg.norm(p)
        return p, quaternion_rotation(p)
    angle = rng.uniform(0, 2 * np.pi)
    return angle, np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def apart(rng, first: str, second: str, wanted: float):
    """A random pose of the first shape at a given distance from the second one, along a random direction."""
    (p, r), (q, R) = CORE[first], CORE[second]
    p, q = np.array(p, float), np.array(q, float)
    turn, A = random_pose(rng, first)
    d = rng.normal(size=p.shape[1])
    d /= np.linalg.norm(d)
    low, high = 0.0, 6.0
    for _ in range(60):
        middle = (low + high) / 2
        if distance(p @ A.T + middle * d, q) - r - R > wanted:
            high = middle
        else:
            low = middle
    return high * d, turn


PAIRS = [(a, b) for group in (IN_SPACE, IN_PLANE) for a in group for b in group if a in CORE and b in CORE]


@pytest.mark.parametrize("first, second", PAIRS)
def test_gaps_are_distances(first, second):
    """At a small distance, the smallest gap is the distance of the shapes; both orders, from least squares."""
    rng = np.random.default_rng(11)
    for _ in range(6):
        position, turn = apart(rng, first, second, 1e-3)
        s, rule = pair(first, second, 0.05, position, turn)
        found = contacts_for(scene_of(s, rule), s.q_initial)
        assert found.gap.size > 0
        assert found.gap.min() == pytest.approx(1e-3, abs=2e-6)
        assert np.abs(np.linalg.norm(found.normal, axis=1) - 1).max() < 1e-12


def functions(kind: int, bodies: tuple[int, int], dimension: int):
    made = template(kind, bodies, dimension, True)
    contact = made.equations.contacts[0]
    q, u = (ca.vertcat(*[getattr(b, x) for b in made.system.blocks]) for x in ("q", "u"))
    qdot = ca.vertcat(*[b.qdot for b in made.system.blocks])
    rate = ca.jacobian(contact.gap, q) @ qdot
    inputs = [q, u, ca.vertcat(*made.parameters)]
    W = ca.jacobian(ca.vertcat(rate, contact.slip), u)
    return ca.Function("contact", inputs, [contact.gap, rate, contact.slip, W])


@pytest.mark.parametrize("first, second", [(a, b) for group in (IN_SPACE, IN_PLANE) for a in group for b in group])
def test_templates_are_the_detected_gaps_and_their_derivatives(first, second):
    """The equations with the detected numbers give the detected gap; moving the bodies changes both alike; forces of a
    contact have no resultant and no resulting torque.
    """
    rng, space = np.random.default_rng(3), first in IN_SPACE
    dimension = 3 if space else 2
    for _ in range(4):
        position, turn = apart(rng, first if first in CORE else "stone", second if second in CORE else "stone", 0.02)
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
            gap, rate, _, W = (np.array(x) for x in f(q[blocks], u[speeds], found.numbers[c]))
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

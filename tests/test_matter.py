"""Mass, centre and inertia of shapes, against integration over points inside; bodies made of shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

import stickslip as ss
from stickslip.math import quaternion, quaternion_rotation

A = quaternion_rotation(quaternion([1, 2, 3], 0.7))
FRAME = ss.ground.frame([0.3, -0.2, 0.1], A)
FLAT = ss.ground.frame([0.3, -0.2], [[0.8, -0.6], [0.6, 0.8]])
CORNERS = np.array([(0, 0, 0), (1.2, 0, 0.1), (0.2, 0.9, 0), (0.1, 0.2, 1.1), (0.9, 0.7, 0.6)])


def in_frame(frame, x):
    return (x - frame.origin) @ frame.rotation


def from_segment(x, p, q):
    p, q = np.array(p, float), np.array(q, float)
    share = np.clip((x - p) @ (q - p) / ((q - p) @ (q - p)), 0, 1)
    return np.linalg.norm(x - p - share[:, None] * (q - p), axis=1)


def in_hull(shape, x):
    """Behind all faces."""
    inside = np.ones(len(x), bool)
    for face in shape.faces:
        a, b, c = (shape.vertices[v] for v in face[:3])
        inside &= (in_frame(shape.at, x) - a) @ np.cross(b - a, c - a) <= 0
    return inside


def in_cylinder(x):
    axis, center = A[:, 2], np.array([0.1, 0.2, 0.0])
    along = (x - center) @ axis
    return (np.abs(along) < 0.45) & (np.linalg.norm(x - center - along[:, None] * axis, axis=1) < 0.5)


STONE = ss.Polyhedron(FRAME, CORNERS)
CASES = {
    "sphere": (
        ss.Sphere(ss.ground.point(0.2, 0.1, -0.3), 0.7),
        lambda x: np.linalg.norm(x - [0.2, 0.1, -0.3], axis=1) < 0.7,
    ),
    "capsule": (
        ss.Capsule(ss.ground.point(-0.5, 0, 0.2), ss.ground.point(0.6, 0.3, -0.1), 0.4),
        lambda x: from_segment(x, (-0.5, 0, 0.2), (0.6, 0.3, -0.1)) < 0.4,
    ),
    "box": (ss.Box(FRAME, [1.2, 0.8, 0.5]), lambda x: (np.abs(in_frame(FRAME, x)) < [0.6, 0.4, 0.25]).all(1)),
    "cylinder": (ss.Cylinder(ss.ground.point(0.1, 0.2, 0), A[:, 2], 0.5, 0.9, points=8), in_cylinder),
    "ellipsoid": (
        ss.Ellipsoid(FRAME, [0.9, 0.5, 0.4]),
        lambda x: ((in_frame(FRAME, x) / [0.9, 0.5, 0.4]) ** 2).sum(1) < 1,
    ),
    "polyhedron": (STONE, lambda x: in_hull(STONE, x)),
    "circle": (ss.Sphere(ss.ground.point(0.2, 0.1), 0.7), lambda x: np.linalg.norm(x - [0.2, 0.1], axis=1) < 0.7),
    "stadium": (
        ss.Capsule(ss.ground.point(-0.5, 0), ss.ground.point(0.6, 0.3), 0.4),
        lambda x: from_segment(x, (-0.5, 0), (0.6, 0.3)) < 0.4,
    ),
    "rectangle": (ss.Box(FLAT, [1.2, 0.8]), lambda x: (np.abs(in_frame(FLAT, x)) < [0.6, 0.4]).all(1)),
    "ellipse": (ss.Ellipsoid(FLAT, [0.9, 0.5]), lambda x: ((in_frame(FLAT, x) / [0.9, 0.5]) ** 2).sum(1) < 1),
    "triangle": (
        ss.ConvexPolygon(ss.ground, [(0, 0), (0, 1), (1.2, 0.2)]),  # clockwise: turned round
        lambda x: (x[:, 0] > 0) & (x[:, 1] > x[:, 0] / 6) & (x[:, 1] < 1 - x[:, 0] * 2 / 3),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_mass_centre_and_inertia_are_integrals(name):
    shape, inside = CASES[name]
    matter = ss.matter_of(shape, density=3.0)
    n = len(matter.center)
    points = 4.0 * qmc.Sobol(n, scramble=False).random_base2(17) - 2.0
    points = points[inside(points)]
    weight = 3.0 * 4.0**n / 2**17
    assert matter.mass == pytest.approx(weight * len(points), rel=1.5e-2)
    np.testing.assert_allclose(matter.center, points.mean(0), atol=1e-2)
    r = points - matter.center
    second = weight * r.T @ r
    inertia = np.trace(second) if n == 2 else np.trace(second) * np.eye(3) - second
    np.testing.assert_allclose(matter.inertia, inertia, atol=2.5e-2 * np.abs(inertia).max())


def test_a_box_is_the_polyhedron_of_its_corners():
    corners = [(x, y, z) for x in (-0.6, 0.6) for y in (-0.4, 0.4) for z in (-0.25, 0.25)]
    a, b = ss.matter_of(ss.Box(FRAME, [1.2, 0.8, 0.5]), 2.0), ss.matter_of(ss.Polyhedron(FRAME, corners), 2.0)
    assert a.mass == pytest.approx(b.mass, rel=1e-14)
    np.testing.assert_allclose(a.center, b.center, atol=1e-14)
    np.testing.assert_allclose(a.inertia, b.inertia, atol=1e-14)


def test_two_halves_are_one_box():
    halves = [ss.Box(ss.ground.frame([x, 0, 1]), [0.5, 0.4, 0.3]) for x in (-0.25, 0.25)]
    two = ss.solid("two", halves, density=7.0)
    one = ss.solid("one", ss.Box(ss.ground.frame([0, 0, 1]), [1.0, 0.4, 0.3]), density=7.0)
    assert two.mass == pytest.approx(one.mass)
    np.testing.assert_allclose(two.inertia, one.inertia)
    np.testing.assert_allclose(two.initial, one.initial)
    assert [shape.body for shape in two.shapes] == [two, two]
    np.testing.assert_allclose([shape.at.origin for shape in two.shapes], [[-0.25, 0, 0], [0.25, 0, 0]])


def test_shapes_of_a_solid_live_in_one_space():
    boxes = [ss.Box(ss.ground, [1, 1, 1]), ss.Box(ss.ground, [1, 1])]
    with pytest.raises(
        ss.ModelError, match="solid 'a': its shapes live in the plane and in space, a Box in 3 dimensions, a Box in 2"
    ):
        ss.solid("a", boxes, density=1)


@pytest.mark.parametrize("name", CASES)
def test_copies_of_a_solid_carry_shapes_of_their_own(name):
    """Many of them in one call touch and move as those that are added one by one."""
    shape, _ = CASES[name]
    n = len(ss.matter_of(shape, 1.0).center)
    places = np.zeros((3, n))
    places[:, n - 1] = 2.0 + 2.5 * np.arange(3)
    floor = (ss.Plane if n == 3 else ss.Line)(np.zeros(n), np.eye(n)[n - 1])
    many, each = ss.System("pile"), ss.System("pile")
    copies = many.add_many(ss.solid("grain", [shape], density=3.0), position=places)
    ones = [each.add(ss.solid(f"grain[{k}]", [shape], density=3.0, position=at)) for k, at in enumerate(places)]
    runs = []
    for system, bodies in ((many, copies), (each, ones)):
        system.add(ss.Gravity(-9.81 * np.eye(n)[n - 1]))
        system.add(ss.Collisions("contacts", [*bodies, floor], friction=0.4))
        assert [s.body for body in bodies for s in body.shapes] == bodies
        runs.append(ss.solve(system, t_end=0.9, dt=1e-2))
    assert len(runs[1].contacts.step) > 10  # three bodies have come down
    np.testing.assert_array_equal(runs[0].q, runs[1].q)

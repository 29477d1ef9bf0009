"""Runs with meshes, height fields, polygons and curves: against the same bodies of simpler shapes, statics, and brute force."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from stickslip.collide import contacts_for, scene_of
from stickslip.collide.detect import _room_and_contacts
from stickslip.collide.inside import _crossings, swallowed
from stickslip.errors import InitialStateError, ModelError
from stickslip.model.polytopes import hull_faces

G = 9.81
FLOOR = ss.Plane([0, 0, 0], [0, 0, 1])


def solve(system: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, progress=False, **options)


def corners(size) -> np.ndarray:
    return np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.array(size) / 2


def triangles(p) -> list[tuple[int, int, int]]:
    return [(f[0], f[k], f[k + 1]) for f in hull_faces(np.array(p)) for k in range(1, len(f) - 1)]


def extruded(outline, width: float) -> tuple[np.ndarray, list]:
    """Vertices and triangles of a polygon in the x-z plane, counter-clockwise as seen from -y, that is so wide along y."""
    from stickslip.placing import slab

    made = slab(np.array(outline, float), width)
    p = np.array(made["vertices"])
    return p[:, [0, 2, 1]] * [1, -1, 1], [tuple(f) for f in made["faces"]]


HOOK = [(-0.1, -0.3), (0.3, -0.3), (0.3, 0.0), (0.2, 0.0), (0.2, -0.2), (0.0, -0.2), (0.0, 0.3), (-0.1, 0.3)]
WAVES = 0.05 * np.cos(np.linspace(-6, 6, 41))[:, None] * np.cos(np.linspace(-4, 4, 31))[None]


@pytest.mark.parametrize("ground", ["height field", "mesh"])
@pytest.mark.parametrize("kind", ["ball", "box", "egg", "rod", "mesh"])
def test_a_flat_surface_is_a_plane(kind, ground):
    """Thrown on a flat ground of triangles, every shape moves as on a plane: edges between triangles are not felt."""
    shape = {
        "ball": ss.Sphere(ss.ground.point(0, 0, 0), 0.1),
        "box": ss.Box(ss.ground, [0.2, 0.15, 0.1]),
        "egg": ss.Ellipsoid(ss.ground, [0.15, 0.1, 0.08]),
        "rod": ss.Capsule(ss.ground.point(-0.1, 0, 0), ss.ground.point(0.1, 0, 0.02), 0.05),
        "mesh": ss.TriangleMesh(ss.ground, corners([0.2, 0.15, 0.1]), triangles(corners([0.2, 0.15, 0.1]))),
    }[kind]
    flat = {
        "height field": ss.HeightField(ss.ground, np.zeros((9, 7)), [4, 3]),
        "mesh": ss.TriangleMesh(ss.ground.frame([0, 0, -0.5]), corners([4, 3, 1]), triangles(corners([4, 3, 1]))),
    }
    results = []
    for floor in (flat[ground], FLOOR):
        s = ss.System("thrown")
        s.add(ss.Gravity([0, 0, -G]))
        thrown = {"position": [-0.5, -0.3, 0.3], "velocity": [1, 0.5, 0], "angular_velocity": [2, 3, 1]}
        body = s.add(ss.solid("body", shape, density=500, **thrown))
        s.add(ss.Collisions("touch", [body, floor], friction=0.3, restitution=0.3))
        results.append(solve(s, 0.4, 1e-3))
    assert results[0].contacts.P_N.sum() > 0
    np.testing.assert_allclose(results[0].q, results[1].q, atol=1e-6)


def surface_height(x: float, y: float) -> float:
    """Of WAVES over a grid of 2 by 1.5, by the triangles of each cell."""
    i, j = (x + 1) / 2 * 40, (y + 0.75) / 1.5 * 30
    a, b = int(i), int(j)
    s, t = i - a, j - b
    h = WAVES[a, b], WAVES[a + 1, b], WAVES[a + 1, b + 1], WAVES[a, b + 1]
    return h[0] + s * (h[1] - h[0]) + t * (h[2] - h[1]) if s >= t else h[0] + t * (h[3] - h[0]) + s * (h[2] - h[3])


@pytest.mark.parametrize("kind", ["ball", "box"])
def test_nothing_sinks_into_hills(kind):
    """Points of a body stay above the triangles, by brute force; energy falls."""
    s = ss.System("hills")
    s.add(ss.Gravity([0, 0, -G]))
    shape = ss.Sphere(ss.ground.point(0, 0, 0), 0.06) if kind == "ball" else ss.Box(ss.ground, [0.16, 0.12, 0.1])
    body = s.add(ss.solid("body", shape, density=500, position=[0.1, 0.05, 0.2], velocity=[0.4, 0.3, 0]))
    s.add(ss.Collisions("touch", [body, ss.HeightField(ss.ground, WAVES, [2, 1.5])], friction=0.2))
    solution = solve(s, 0.6, 1e-3)
    assert solution.contacts.gap.min() > -1e-7
    energy = solution.kinetic + solution.potential
    assert np.diff(energy).max() < 1e-4 * np.ptp(energy)
    rng = np.random.default_rng(1)
    local = rng.normal(size=(200, 3))
    local *= 0.06 / np.linalg.norm(local, axis=1)[:, None]
    if kind == "box":
        local = rng.uniform(-1, 1, (200, 3)) * [0.08, 0.06, 0.05]
        local[np.arange(200), np.arange(200) % 3] = (
            np.sign(local[np.arange(200), np.arange(200) % 3]) * np.array([0.08, 0.06, 0.05])[np.arange(200) % 3]
        )
    for q in solution.q[::60]:
        for x, y, z in q[:3] + local @ ss.math.quaternion_rotation(q[3:]).T:
            assert z > surface_height(x, y) - 1e-6


@pytest.mark.parametrize("kind", ["box", "mesh", "ball", "egg", "rod"])
def test_things_rest_in_a_hook(kind):
    """A mesh that is not convex: what falls into its bend rests on its inner floor at -0.2, which carries the weight."""
    s = ss.System("hook")
    s.add(ss.Gravity([0, 0, -G]))
    size = np.array([0.12, 0.08, 0.1])
    shape, height = {
        "box": (ss.Box(ss.ground, size), 0.05),
        "mesh": (ss.TriangleMesh(ss.ground, corners(size), triangles(corners(size))), 0.05),
        "ball": (ss.Sphere(ss.ground.point(0, 0, 0), 0.05), 0.05),
        "egg": (ss.Ellipsoid(ss.ground, [0.06, 0.04, 0.03]), 0.03),
        "rod": (ss.Capsule(ss.ground.point(0, -0.03, 0), ss.ground.point(0, 0.03, 0), 0.04), 0.04),
    }[kind]
    load = s.add(ss.solid("load", shape, density=1000, position=[0.1, 0, -0.1]))
    hook = ss.TriangleMesh(ss.ground, *extruded(HOOK, 0.1))
    s.add(ss.Collisions("touch", [load, hook], friction=0.3))
    solution = solve(s, 0.3, 1e-3)
    assert solution.q[-1, 2] == pytest.approx(-0.2 + height, abs=1e-7)
    assert solution.q[-1, 0] == pytest.approx(0.1, abs=1e-6)
    carried = solution.contacts.at(300).percussion[:, 2].sum()
    assert abs(carried) == pytest.approx(s.parameter_values()["load.mass"] * G * 1e-3, rel=1e-5)


def test_a_closed_curve_rolls_as_an_ellipse():
    """Down a slope: the chain of arcs follows the ellipse."""
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    points = np.column_stack([0.15 * np.cos(angle), 0.1 * np.sin(angle)])
    results = []
    for shape in (ss.Ellipsoid(ss.ground, [0.15, 0.1]), ss.ClosedCurve(ss.ground, points, pieces=400)):
        s = ss.System("rolls")
        s.add(ss.Gravity([3.0, -G]))
        wheel = s.add(ss.solid("wheel", shape, density=100, position=[0, 0.11], velocity=[0.8, 0], angular_velocity=-8))
        s.add(ss.Collisions("touch", [wheel, ss.Line([0, 0], [0, 1])], friction=0.6))
        results.append(solve(s, 0.4, 2.5e-4))
    assert results[0].q[:, 0].max() > 0.3
    # The arc of the start of a step is taken for all of it: the angle differs by 6e-5 with dt = 1e-3, by 5e-6 with this one.
    np.testing.assert_allclose(results[1].q, results[0].q, atol=2e-5)
    assert results[1].contacts.gap.min() > -1e-7


def test_a_cam_lifts_its_follower_by_its_profile():
    """A flat follower on a round cam whose centre is e beside its axis rises by e sin(angle)."""
    s, R, e, omega = ss.System("cam"), 0.05, 0.02, 6.0
    s.add(ss.Gravity([0, -G]))
    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    profile = np.column_stack([e + R * np.cos(angle), R * np.sin(angle)])
    cam = s.add(ss.PlanarBody("cam", mass=1, inertia=1e-3, angular_velocity=omega))
    axis = s.add(ss.Revolute("axis", ss.ground.point(0, 0), cam.point()))
    s.add(ss.Motion("drive", axis.angle, lambda t: omega * t))
    follower = s.add(ss.PlanarBody("follower", mass=0.2, inertia=1e-3, position=[0, R + 0.01]))
    s.add(ss.Prismatic("guide", ss.ground.point(0, 0), follower.point(), axis=[0, 1]))
    s.add(ss.Collisions("touch", [ss.ClosedCurve(cam, profile), ss.Box(follower, [0.2, 0.02])]))
    solution = solve(s, 0.5, 1e-3)
    lift = solution.q[:, 4] - 0.01 - R
    assert np.ptp(solution.q[:, 2]) > 2
    np.testing.assert_allclose(lift, e * np.sin(solution.q[:, 2]), atol=1e-6)


def test_a_ball_rests_in_a_notch():
    """Two walls of 45 degrees in one polygon carry a ball with m g/sqrt(2) each; both stay contacts."""
    s = ss.System("notch")
    s.add(ss.Gravity([0, -G]))
    notch = ss.SimplePolygon(ss.ground, [(-1, -1), (1, -1), (1, 0.6), (0, -0.4), (-1, 0.6)])
    ball = s.add(ss.solid("ball", ss.Sphere(ss.ground.point(0.05, 0.2), 0.2), density=10))
    s.add(ss.Collisions("touch", [ball, notch]))
    solution = solve(s, 1.5, 1e-3)
    last = solution.contacts.at(1500)
    mass = s.parameter_values()["ball.mass"]
    np.testing.assert_allclose(last.P_N, mass * G * 1e-3 / np.sqrt(2) * np.ones(2), rtol=0.05)
    assert solution.contacts.gap.min() > -1e-8


def test_a_bracket_falls_as_two_rectangles():
    """An L in one piece, and the same of two rectangles with the same mass."""
    whole = ss.SimplePolygon(ss.ground, [(0, 0), (0.3, 0), (0.3, 0.1), (0.1, 0.1), (0.1, 0.3), (0, 0.3)])
    parts = [ss.Box(ss.ground.frame([0.15, 0.05]), [0.3, 0.1]), ss.Box(ss.ground.frame([0.05, 0.2]), [0.1, 0.2])]
    results = []
    for shapes in ([whole], parts):
        s = ss.System("bracket")
        s.add(ss.Gravity([0, -G]))
        post = ss.Sphere(ss.ground.point(0.2, 0.0), 0.05)
        body = s.add(ss.solid("body", shapes, density=100, position=[0.1, 0.4], angle=0.4))
        s.add(ss.Collisions("touch", [body, post, ss.Line([0, -0.3], [0, 1])], friction=0.4, restitution=0.2))
        results.append(solve(s, 0.5, 1e-3))
    assert results[0].contacts.P_N.sum() > 0
    np.testing.assert_allclose(results[0].q, results[1].q, atol=1e-5)


BLOCK = ss.HeightField(ss.ground, np.zeros((9, 9)), [4, 4], depth=2)
ROOF = ss.HeightField(ss.ground, -np.abs(np.linspace(-1, 1, 9)[:, None]) * np.ones((9, 3)), [2, 2], depth=3)
SQUARE = ss.SimplePolygon(ss.ground, [(-1, -1), (1, -1), (1, 1), (-1, 1)])
BOWL = [(3 * np.cos(a), 3 * np.sin(a)) for a in np.linspace(0, 2 * np.pi, 40, endpoint=False)]
PEBBLE = [(0, 0, 0.2), (0.1, 0, 0.5), (-0.1, 0.1, 0.5), (-0.1, -0.1, 0.5)]


@pytest.mark.parametrize(
    "around, shape, words",
    [
        (BLOCK, ss.Sphere(ss.ground.point(0.1, 0.2, -0.7), 0.1), "its centre is 0.7 below .* at \\[0.1, 0.2, -0.7"),
        (BLOCK, ss.Box(ss.ground.frame([0, 0, -0.7]), [0.2, 0.2, 0.2]), "its deepest vertex is 0.8 below"),
        (BLOCK, ss.Ellipsoid(ss.ground.frame([0, 0, -1.2]), [0.3, 0.2, 0.1]), "its centre is 0.8 below"),
        (
            BLOCK,
            ss.Capsule(ss.ground.point(0.1, 0, -0.5), ss.ground.point(0.1, 0.5, -0.7), 0.1),
            "the deeper end of its axis is 0.7 below",
        ),
        (ROOF, ss.Sphere(ss.ground.point(0.0, 0.0, -1), 0.1), "its centre is 0.707 below"),  # 1/sqrt(2)
        (SQUARE, ss.Sphere(ss.ground.point(0.3, 0.1), 0.1), "its centre is 0.7 below .* at \\[0.3, 0.1\\]"),
        (SQUARE, ss.Box(ss.ground.frame([0.5, 0]), [0.2, 0.2]), "its deepest vertex is 0.6 below"),
        (ss.ClosedCurve(ss.ground, BOWL), ss.Sphere(ss.ground.point(1.2, 0.9), 0.1), "its centre is 1.5 below"),
    ],
)
def test_what_begins_inside_a_mesh_is_named_and_how_deep(around, shape, words):
    """Also where it is so deep inside that no surface is near."""
    s = ss.System("swallowed")
    body = s.add(ss.solid("stone", shape, density=10))
    s.add(ss.Collisions("touch", [body, around]))
    with pytest.raises(InitialStateError, match="'stone' begins inside 'ground': " + words):
        solve(s, 0.1, 1e-3)


def oval(body, a: float, b: float) -> ss.ClosedCurve:
    around = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    return ss.ClosedCurve(body, np.column_stack([a * np.cos(around), b * np.sin(around)]), pieces=40)


@pytest.mark.parametrize(
    "around, shape, words",
    [
        (
            oval(ss.ground, 1, 0.5),
            lambda b: oval(b, 0.1, 0.05),
            "'body' begins inside 'ground': a point of its rim is 0.4",
        ),
        (
            ss.Box(ss.ground, [2, 1]),
            lambda b: oval(b, 0.1, 0.05),
            "'body' begins inside 'ground': a point of its rim is 0.5",
        ),
        (oval(ss.ground, 1, 0.1), lambda b: oval(b, 0.1, 1), "a point of its rim is 0.099"),
        (
            oval(ss.ground, 0.5, 0.5),
            lambda b: ss.Capsule(b.point(-2, 0), b.point(2, 0), 0.01),
            "an edge of 'body' is 0.5 below the surface of 'ground'",
        ),
        (
            ss.SimplePolygon(ss.ground, [(-2, -0.1), (2, -0.1), (2, 0.1), (-2, 0.1)]),
            lambda b: ss.Box(b, [0.2, 1]),
            "an edge of 'body' is 0.1 below the surface of 'ground'",
        ),
        (
            oval(ss.ground, 0.1, 0.1),
            lambda b: ss.Ellipsoid(b.frame([0.25, 0]), [0.3, 0.2]),
            "'ground' begins inside 'body'",
        ),
    ],
)
def test_outlines_that_are_inside_or_go_through_are_named(around, shape, words):
    """Where none of their corners is inside of the other one, or where they have none."""
    s = ss.System("through")
    body = s.add(ss.PlanarBody("body", mass=1, inertia=1))
    s.add(ss.Collisions("touch", [shape(body), around]))
    with pytest.raises(InitialStateError, match=words):
        solve(s, 0.1, 1e-3)


def test_a_peg_in_a_groove_begins_beside_it():
    """The inner corners of a groove touch what lies in it: they are not inside of it, however one rounds."""
    groove = [(-2, -1), (2, -1), (2, 2), (1, 2), (1, 0), (-1, 0), (-1, 2), (-2, 2)]
    flat = ss.SimplePolygon(ss.ground, groove), ss.SimplePolygon(ss.ground, [(-1, -1), (1, -1), (1, 1), (-1, 1)])
    p, faces = extruded(groove, 2.0)
    solid = (
        ss.TriangleMesh(ss.ground, p, faces),
        ss.TriangleMesh(ss.ground, corners([2, 2, 2]), triangles(corners([2, 2, 2]))),
    )
    for down, (around, peg) in (([0, -G], flat), ([0, 0, -G], solid)):
        s = ss.System("groove")
        s.add(ss.Gravity(down))
        above = (-np.sign(down)).tolist()
        body = s.add(ss.solid("peg", peg, density=1, position=above))
        s.add(ss.Collisions("touch", [body, around]))
        solution = solve(s, 0.01, 1e-3)
        np.testing.assert_allclose(solution.q[-1, : len(down)], above, atol=1e-8)


def test_what_hangs_between_a_bay_and_its_chord_is_outside():
    around = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    r = 1 + 0.4 * np.cos(2 * around)
    s = ss.System("saddle")
    body = s.add(ss.PlanarBody("body", mass=1, inertia=1))
    saddle = ss.ClosedCurve(ss.ground, np.column_stack([r * np.cos(around), r * np.sin(around)]), pieces=20)
    tip = ss.ConvexPolygon(body, [(0, 0), (0.05, 0.3), (-0.05, 0.3)])
    s.add(ss.Collisions("touch", [tip, saddle], skin=0.1))
    for x in np.linspace(-0.1, 0.1, 21):
        far = solve(s, 1e-3, 1e-3, q0=[x, 0.65, 0])  # the tip has the least gap
        gap = far.contacts.at(1).gap.min()
        near = solve(s, 1e-3, 1e-3, q0=[x, 0.65 - 0.9 * gap, 0])
        assert 0 < near.contacts.at(1).gap.min() < gap


@pytest.mark.parametrize(
    "floor",
    [
        ss.Box(ss.ground.frame([0, -0.05]), [1, 0.1]),
        ss.SimplePolygon(ss.ground, [(-0.5, -0.1), (0.5, -0.1), (0.5, 0), (0, 0), (-0.5, 0)]),
        oval(ss.ground.frame([0, -1]), 1, 1),
    ],
)
def test_a_curve_that_sinks_in_by_a_step_is_held_as_on_a_line(floor):
    """By a scheme on velocity level, by more than the skin: how deep an arc is says nothing about whether it is inside."""
    heights = []
    for each in (floor, ss.Line([0, 0], [0, 1])):
        s = ss.System("sinks")
        s.add(ss.Gravity([0, -G]))
        body = s.add(ss.solid("body", oval(ss.ground.frame([0, 0.06]), 0.05, 0.05), density=1000, velocity=[0, -2.5]))
        s.add(ss.Collisions("touch", [body, each], friction=0.3))
        heights.append(solve(s, 0.02, 1e-3, method="theta").q[-1, 1])
    assert heights[0] == pytest.approx(heights[1], abs=1e-6)
    assert heights[1] < 0.049  # deeper than the skin


@pytest.mark.parametrize("speed", [3.0, 8.7])
@pytest.mark.parametrize("method", ["moreau", "theta"])
def test_a_box_that_sinks_into_a_mesh_by_a_step_is_held_as_on_a_plane(method, speed):
    """By more than the skin, within which triangles are looked for; it fell through."""
    heights = []
    for floor in (ss.HeightField(ss.ground, np.zeros((9, 9)), [2, 2]), FLOOR):
        s = ss.System("sinks")
        s.add(ss.Gravity([0, 0, -G]))
        box = ss.Box(ss.ground.frame([0.03, 0.02, 0.06]), [0.1, 0.1, 0.1])
        body = s.add(ss.solid("body", box, density=1000, velocity=[0, 0, -speed]))
        s.add(ss.Collisions("touch", [body, floor], friction=0.3))
        heights.append(solve(s, 0.03, 1e-3, method=method).q[-1, 2])
    assert heights[0] == pytest.approx(heights[1], abs=1e-6)


def test_a_box_that_a_mesh_may_not_hold_is_named():
    s = ss.System("deep")
    box = ss.Box(ss.ground.frame([0.03, 0.02, 0.06]), [0.1, 0.1, 0.1])
    body = s.add(ss.solid("stone", box, density=1000, velocity=[0, 0, -43]))
    s.add(ss.Collisions("touch", [body, ss.HeightField(ss.ground, np.zeros((9, 9)), [2, 2])]))
    with pytest.warns(ss.TunnellingWarning, match="'stone' moves 0.043 in a step of 0.001"):
        solve(s, 2e-3, 1e-3, method="moreau")


def test_arcs_on_the_sides_that_look_away_do_not_touch():
    """Of bodies so fast that contacts far away are watched: no gap is less than zero where they are apart."""
    rng, around = np.random.default_rng(0), np.linspace(0, 2 * np.pi, 40, endpoint=False)
    peanut = 0.045 * (1 + 0.35 * np.cos(2 * around)) * [np.cos(around), np.sin(around)]
    corner = [(-0.05, -0.05), (0.05, -0.05), (0.05, -0.02), (-0.02, -0.02), (-0.02, 0.05), (-0.05, 0.05)]
    for other in (
        lambda b: ss.SimplePolygon(b, corner),
        lambda b: ss.Box(b, [0.1, 0.06]),
        lambda b: oval(b, 0.06, 0.04),
    ):
        s = ss.System("past")
        bodies = [s.add(ss.PlanarBody(name, mass=1, inertia=1)) for name in "ab"]
        scene = scene_of(
            s, s.add(ss.Collisions("touch", [ss.ClosedCurve(bodies[0], peanut.T, pieces=40), other(bodies[1])]))
        )
        for _ in range(40):
            q = np.array([0, 0, 0, *(0.14 * direction(rng)), rng.uniform(0, 7)])
            u = np.array([20.0, 0, 0, -20, 0, 0])
            new = _room_and_contacts(scene, q, u, 5e-3, None)[1]
            assert new.gap[: int(new.found[0])].min(initial=0.0) > -1e-9


def direction(rng) -> np.ndarray:
    """A direction in the plane."""
    angle = rng.uniform(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle)])


def inside(around, shape):
    s = ss.System("inside")
    carrier = s.add(ss.RigidBody("body", mass=1, inertia=[1, 1, 1]))
    scene = scene_of(s, s.add(ss.Collisions("touch", [shape(carrier), around], skin=0.01)))
    return swallowed(scene, _room_and_contacts(scene, s.q_initial, None, 0.0, None)[0])


def test_an_edge_is_as_deep_as_the_middle_of_its_piece_inside():
    """A beam lies across a ridge, 0.1 too low: its lower edges are 0.1/sqrt(2) from both slopes."""
    found = inside(ROOF, lambda body: ss.Box(body, [1.2, 0.2, 0.2]))
    assert (found.shape, found.other, found.point, found.owner) == (0, 1, "an edge", 0)
    assert found.depth == pytest.approx(0.1 / np.sqrt(2), rel=1e-4)
    np.testing.assert_allclose(np.abs(found.place), [0, 0.1, 0.1], atol=1e-5)


def test_a_mesh_in_an_ellipsoid_is_as_deep_as_its_deepest_vertex():
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    pebble = ss.TriangleMesh(ss.ground, PEBBLE, faces)
    found = inside(pebble, lambda body: ss.Ellipsoid(body, [3, 2, 1]))
    assert (found.shape, found.other, found.point, found.owner) == (1, 0, "its deepest vertex", 1)
    assert found.depth == pytest.approx(0.8, rel=1e-5)
    np.testing.assert_allclose(found.place, PEBBLE[0], atol=1e-5)


def soup():
    """The triangles of a cube with three vertices each, as files of triangles have them."""
    p = np.array(corners([1, 1, 1]))
    return p[np.array(triangles(p))].reshape(-1, 3)


def test_vertices_are_merged_as_the_error_says():
    vertices, number = np.unique(soup(), axis=0, return_inverse=True)
    assert len(ss.TriangleMesh(body(), vertices, number.ravel()[np.arange(36).reshape(-1, 3)]).vertices) == 8


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda b: ss.TriangleMesh(b, corners([1, 1, 1]), triangles(corners([1, 1, 1]))[:-1]),
            "its surface is open at the edge .*Close it",
        ),
        (
            lambda b: ss.TriangleMesh(b, soup(), np.arange(36).reshape(-1, 3)),
            "Vertices lie at the same place: merge them",
        ),
        (
            lambda b: ss.TriangleMesh(b, corners([1, 1, 1]), [f[::-1] for f in triangles(corners([1, 1, 1]))]),
            "its volume is -1",
        ),
        (
            lambda b: ss.TriangleMesh(b, corners([1, 1, 1]), [(0, 1, 9)] * 4),
            "triangles name vertices by numbers from 0 to 7",
        ),
        (lambda b: ss.TriangleMesh(b, corners([1, 1, 1]), [(0, 1, 1)] * 4), "triangle 0 .* has no area"),
        (lambda b: ss.TriangleMesh(b, corners([1, 1, 1]), [(0, 1, 2)] * 4), "several triangles run from vertex 0 to 1"),
        (
            lambda b: ss.TriangleMesh(b, [(0, 0, np.nan)] * 4, [(0, 1, 2)] * 4),
            "vertices must be at least 4 rows of 3 finite",
        ),
        (
            lambda b: ss.TriangleMesh(b, corners([1, 1, 1]), [(0, 1, 0.5)] * 4),
            "triangles must name vertices by whole numbers",
        ),
        (lambda b: ss.HeightField(b, [1, 2, 3], [1, 1]), "heights must be a table of finite numbers"),
        (lambda b: ss.HeightField(b, np.zeros((3, 3)), [1, -1]), r"size\[1\] = -1.0 must be"),
        (lambda b: ss.HeightField(b, np.zeros((3, 3)), [1, 1], depth=0), "depth = 0 must be"),
        (lambda b: ss.HeightField(b, np.zeros((2000, 2000)), [1, 1]), "4000000 heights; at most"),
        (lambda b: ss.SimplePolygon(b, [(0, 0), (2, 1), (2, 0), (0, 2)]), "it crosses itself, between points"),
        (lambda b: ss.SimplePolygon(b, [(0, 0), (1, 1), (2, 2)]), "it has no area"),
        (lambda b: ss.SimplePolygon(b, [(0, 0), (1, 0), (0, 1), (0, 0)]), "points 3 and 0 coincide .*must not repeat"),
        (lambda b: ss.ClosedCurve(b, [(0, 0), (1, 0), (0, 1)]), "it needs from 4 to 2000 rows"),
        (lambda b: ss.ClosedCurve(b, [(0, 0), (1, 0), (1, 1), (0, 1)], pieces=3), "pieces = 3 must be a whole number"),
        (lambda b: ss.TriangleMesh("b", corners([1, 1, 1]), triangles(corners([1, 1, 1]))), "mesh: its place must be"),
        (
            lambda b: ss.Collisions("c", [ss.TriangleMesh(body(), corners([1, 1, 1]), triangles(corners([1, 1, 1])))]),
            "has no body",
        ),
    ],
)
def test_bad_surfaces_are_named(make, message):
    s = ss.System()
    own = s.add(body())
    with pytest.raises(ModelError, match=message):
        s.add(make(own))


def body() -> ss.RigidBody:
    return ss.RigidBody("b", mass=1, inertia=[1, 1, 1])


CORNER = 0.1 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
CORNER_FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
SHARP_SOLIDS = {
    "polyhedron": lambda: ss.Polyhedron(ss.ground, CORNER),
    "mesh": lambda: ss.TriangleMesh(ss.ground, CORNER, CORNER_FACES),
}
BESIDE_IT = {
    "ball": lambda b: ss.Sphere(b.point(), 0.02),
    "egg": lambda b: ss.Ellipsoid(b, [0.03, 0.02, 0.015]),
    "box": lambda b: ss.Box(b, [0.08, 0.05, 0.06]),
}


def _beside(shape, solid):
    s = ss.System("beside")
    body = s.add(ss.RigidBody("A", mass=1, inertia=[1e-3] * 3, position=[0, 0, 1]))
    return s, s.add(ss.Collisions("c", [shape(body), solid()], skin=0.02))


@pytest.mark.parametrize("name", BESIDE_IT)
def test_a_sharp_mesh_is_as_far_as_the_polyhedron(name):
    """Faces behind an edge or a vertex that is closest do not count, and edges do not touch behind a wedge."""
    hull, mesh = (scene_of(*_beside(BESIDE_IT[name], solid)) for solid in SHARP_SOLIDS.values())
    rng, seen = np.random.default_rng(3), 0
    while seen < 60:
        turn = rng.normal(size=4)
        q = np.concatenate([rng.uniform(-0.08, 0.13, 3), turn / np.linalg.norm(turn)])
        gap = contacts_for(hull, q).gap
        if gap.size and 1e-4 < gap.min() < 0.019:
            seen += 1
            assert contacts_for(mesh, q).gap.min() == pytest.approx(gap.min(), abs=1e-9)


def test_a_ball_that_flies_past_an_edge_of_a_mesh_is_not_moved():
    s = ss.System("past the edge")
    ball = s.add(ss.PointMass("b", mass=1, position=[-0.1, -0.005, -0.005], velocity=[5, 0, 0]))
    s.add(ss.Collisions("c", [ss.Sphere(ball.point(), 0.002), SHARP_SOLIDS["mesh"]()]))
    solution = ss.solve(s, t_end=0.06, dt=1e-3)
    np.testing.assert_allclose(solution.q[-1], [0.2, -0.005, -0.005], atol=1e-12)


@pytest.mark.parametrize(
    "pose",
    [
        (0.0717, 0.0349, -0.0198, 0.0786, -0.5841, 0.7054, -0.3937),
        (0.0378, 0.0901, 0.0172, -0.3393, -0.5777, 0.7315, 0.1264),
    ],
)
def test_edges_that_go_through_faces_begin_inside(pose):
    """No vertex of either shape lies inside of the other one."""
    s, _ = _beside(BESIDE_IT["box"], SHARP_SOLIDS["mesh"])
    q = np.array(pose)
    q[3:] /= np.linalg.norm(q[3:])
    with pytest.raises(InitialStateError, match="'A' begins inside 'ground': an edge of .* below the surface of"):
        ss.solve(s, t_end=1e-3, dt=1e-3, q0=q)


@pytest.mark.parametrize("method", ["moreau", "rattle"])
def test_a_corner_rests_at_the_bottom_of_a_valley(method):
    """By moreau it sinks in, below the line where two faces meet, beside both of them."""
    s = ss.System("valley")
    s.add(ss.Gravity([0, 0, -9.81]))
    x, y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5), indexing="ij")
    ground = ss.HeightField(ss.ground, np.abs(x), size=[2, 2])
    box = s.add(ss.solid("box", ss.Box(ss.ground.frame([0, 0.1, 0.3]), [0.05, 0.05, 0.05]), density=1000))
    s.add(ss.Collisions("c", [box, ground], friction=0.5))
    turn = ss.math.quaternion([1, 0, 0], 0.6)
    solution = ss.solve(s, t_end=0.6, dt=2e-3, method=method, q0=[0, 0.1, 0.3, *turn])
    assert solution.q[-1, 2] > 0.01
    assert np.abs(solution.u[-1]).max() < 0.05


def test_an_edge_parallel_to_faces_crosses_none():
    """Both of its shares are infinite; their sum was a RuntimeWarning, for any prism on a slope of a height field."""
    triangle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    faces = np.array([triangle, triangle + np.array([0, 0, 1])])
    level, steep = np.array([[0, 1, 0.5], [1, 0, 0.5]]), np.array([[0.2, 0.2, 1.5], [0.2, 0.2, -0.5]])
    edges, shares = _crossings(np.array([level[0], steep[0]]), np.array([level[1], steep[1]]), faces)
    assert edges.tolist() == [1, 1]
    np.testing.assert_allclose(sorted(shares), [0.25, 0.75])

"""Bodies so fast that other features come first than those that were the closest ones at the start of a step."""

import importlib

import numpy as np
import pytest

import stickslip as ss
from stickslip.collide import scene_of
from stickslip.collide.detect import _room_and_contacts
from stickslip.collide.inside import swallowed
from stickslip.math import quaternion
from stickslip.model.collisions import collisions_of
from stickslip.solve.missed import Missed, half_thickness

ON_POSITIONS = ["rattle", "lobatto", "generalized-alpha"]
HALF = np.array([0.06, 0.04, 0.03])


def turned(p: np.ndarray) -> np.ndarray:
    """The rotation of a quaternion."""
    w, v = p[0], p[1:] / np.linalg.norm(p)
    w /= np.linalg.norm(p)
    K = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def ball_and_rod(*, restitution: float = 0.0, further=lambda system: []) -> ss.System:
    """A ball flies past the edge of a square rod, against the face behind it: 20 mm per step, a rod of 10 mm."""
    s = ss.System("ball and rod")
    ball = s.add(
        ss.solid("ball", ss.Sphere(ss.ground.point(-0.012, 0.003, 0), 5e-4), density=1000, velocity=[10, 0, 0])
    )
    a = np.pi / 4
    turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    rod = ss.Box(ss.ground.frame([0, 0, 0], turn), [0.01, 0.01, 0.1])
    s.add(ss.Collisions("contacts", [ball, rod, *further(s)], restitution=restitution))
    return s


def two_boxes(seed: int, speed: float, spin: float) -> ss.System:
    """Boxes that fly at each other."""
    s, rng = ss.System("boxes"), np.random.default_rng(seed)
    d = rng.normal(size=3)
    d, off, bodies = d / np.linalg.norm(d), 0.04 * rng.normal(size=3), []
    for sign in (-1, 1):
        shape = ss.Box(ss.ground.frame(sign * (0.12 * d + off / 2)), 2 * HALF)
        motion = {"velocity": -sign * speed * d, "angular_velocity": spin * rng.normal(size=3)}
        bodies.append(s.add(ss.solid(f"box {sign}", shape, density=1000, **motion)))
    s.add(ss.Collisions("contacts", bodies, friction=0.3, restitution=0.3))
    return s


def deepest(solution: ss.Solution) -> float:
    """How deep points of one box ever are in the other: corners, and others on all edges and faces."""
    grid = np.array(
        [[x, y, z] for x in np.linspace(-1, 1, 13) for y in np.linspace(-1, 1, 13) for z in np.linspace(-1, 1, 13)]
    )
    points, worst = grid[np.abs(grid).max(axis=1) == 1.0] * HALF, -np.inf
    for q in solution.q:
        x, A = (q[:3], q[7:10]), (turned(q[3:7]), turned(q[10:14]))
        for i, j in ((0, 1), (1, 0)):
            inside = HALF - np.abs((x[i] + points @ A[i].T - x[j]) @ A[j])
            worst = max(worst, float(inside.min(axis=1).max()))
    return worst


@pytest.mark.parametrize("method", ON_POSITIONS)
def test_a_ball_that_misses_an_edge_meets_the_face_behind_it(method):
    solution = ss.solve(ball_and_rod(), t_end=0.02, dt=2e-3, method=method)
    assert np.allclose(solution.u[-1, :3], [5, 5, 0], atol=1e-8)  # along the face, which is smooth and does not give
    across = np.abs(solution.q[:, 0]) + np.abs(solution.q[:, 1])  # the rod's faces are where this is 10 mm/sqrt(2)
    assert across.min() > 0.01 / np.sqrt(2) + 5e-4 * np.sqrt(2) - 1e-9


def test_it_leaves_the_face_with_restitution():
    solution = ss.solve(ball_and_rod(restitution=1.0), t_end=0.02, dt=2e-3)
    assert np.allclose(solution.u[-1, :3], [0, 10, 0], atol=1e-8)


@pytest.mark.parametrize("seed", [0, 3, 9, 23, 39])
def test_a_curve_and_a_box_that_are_thrown_at_each_other_do_not_overlap(seed):
    """Arcs are found up to some depth only: the way is looked at with what can arise between two poses."""
    s, rng = ss.System("outlines"), np.random.default_rng(seed)
    around, bodies = np.linspace(0, 2 * np.pi, 40, endpoint=False), []
    rim = 0.045 * (1 + 0.35 * np.cos(2 * around)) * [np.cos(around), np.sin(around)]
    d = rng.normal(size=2)
    d, off = d / np.linalg.norm(d), 0.03 * rng.normal(size=2)
    for sign in (-1, 1):
        at = ss.ground.frame(sign * (0.13 * d + off / 2))
        shape = ss.ClosedCurve(at, rim.T) if sign < 0 else ss.Box(at, [0.1, 0.06])
        motion = {"velocity": -sign * 5 * d, "angular_velocity": 20 * rng.normal()}
        bodies.append(s.add(ss.solid(f"body {sign}", shape, density=1000, **motion)))
    scene = scene_of(s, s.add(ss.Collisions("contacts", bodies, friction=0.3, restitution=0.3)))
    solution = ss.solve(s, t_end=0.04, dt=5e-3)
    assert np.abs(solution.u[-1] - solution.u[0]).max() > 1.0  # they meet
    for q in solution.q:
        assert swallowed(scene, _room_and_contacts(scene, q.copy(), None, 0.0, None)[0], 1e-5) is None


def test_a_tip_behind_a_corner_that_points_inwards_is_named_without_a_contact():
    """Of two stars: no piece of an outline is closest there."""
    around = np.linspace(0, 2 * np.pi, 10, endpoint=False)
    star = np.where(np.arange(10) % 2, 0.05, 0.0225) * [np.cos(around), np.sin(around)]
    s = ss.System("stars")
    bodies = [s.add(ss.PlanarBody(name, mass=1, inertia=1)) for name in "ab"]
    scene = scene_of(s, s.add(ss.Collisions("contacts", [ss.SimplePolygon(body, star.T) for body in bodies])))
    missed, rng, found = Missed(scene, ["a", "b"], 1e-8), np.random.default_rng(0), 0
    for _ in range(1000):
        q = np.array([0, 0, 0, *rng.uniform(-0.05, 0.05, 2), rng.uniform(0, 7)])
        if missed._look(q, 0.03)[:, 5].min(initial=0.0) > -1e-9 and missed._inside(q) is not None:
            room = _room_and_contacts(scene, q, None, 0.0, None)[0]
            assert missed._inside(q).depth == swallowed(scene, room, 1e-5).depth > 1e-4
            found += 1
    assert found > 0


@pytest.mark.parametrize("shape", ["ball", "box"])
def test_what_turns_elsewhere_hides_nothing(shape):
    """How far the way of a turning body is from straight is unknown for this body, and for no other one."""
    far = ss.ground.frame([100, 0, 0])
    shapes = {"ball": ss.Sphere(ss.ground.point(100, 0, 0), 0.5), "box": ss.Box(far, [0.5, 0.5, 0.5])}

    def spinning(system):
        return [system.add(ss.solid("spinning", shapes[shape], density=1000, angular_velocity=[0, 0, 400]))]

    solution = ss.solve(ball_and_rod(further=spinning), t_end=0.02, dt=2e-3)
    assert np.allclose(solution.u[-1, :3], [5, 5, 0], atol=1e-8)


def test_a_disc_that_is_thrown_past_the_corner_of_a_wall_in_the_plane_hits_its_side():
    s = ss.System("wall")
    disc = s.add(ss.solid("disc", ss.Sphere(ss.ground.point(-0.05, -0.13), 0.005), density=1000, velocity=[60, 80]))
    s.add(ss.Collisions("contacts", [disc, ss.Box(ss.ground, [0.05, 0.2])]))
    solution = ss.solve(s, t_end=0.02, dt=2e-3)
    inside = (np.abs(solution.q[:, 0]) < 0.03 - 1e-9) & (np.abs(solution.q[:, 1]) < 0.105 - 1e-9)
    assert not inside.any()
    assert solution.u[-1, 0] < 1e-8  # it does not come out on the other side
    assert np.linalg.norm(solution.u[-1]) < 100 + 1e-6


@pytest.mark.parametrize("method", ON_POSITIONS)
@pytest.mark.parametrize("seed", [20, 31, 85])
def test_boxes_that_move_by_half_of_their_thickness_in_a_step_do_not_overlap(method, seed):
    system = two_boxes(seed, speed=5.0, spin=20.0)
    solution = ss.solve(system, t_end=0.04, dt=5e-3, method=method)
    assert deepest(solution) < 1e-5
    assert np.abs(solution.u[-1] - solution.u[0]).max() > 1.0  # they meet
    before, after = (solution.u[k, :3] + solution.u[k, 6:9] for k in (0, -1))
    assert np.allclose(before, after, atol=1e-8)  # of equal masses


def test_capsules_that_open_like_scissors_go_on():
    """They cross at a small angle, near their ends, and spin apart: the lines would meet far beyond the ends."""
    s, shapes = ss.System("scissors"), []
    for name, x, z, turn, spin in (("low", 0.0, 0.0, 0.0, -57.0), ("high", 0.11, 0.0601, 0.12, 54.0)):
        motion = {
            "orientation": quaternion([0, 0, 1], turn),
            "velocity": [0, 0, 3.0 - 100 * z],
            "angular_velocity": [0, spin, 0],
        }
        body = s.add(ss.RigidBody(name, mass=1, inertia=[1e-3, 2e-3, 2e-3], position=[x, 0, z], **motion))
        shapes.append(ss.Capsule(body.point(-0.06, 0, 0), body.point(0.06, 0, 0), 0.03))
    s.add(ss.Collisions("contacts", shapes, friction=0.3, restitution=0.3))
    solution = ss.solve(s, t_end=0.02, dt=2e-3)
    momentum = solution.u[:, 2] + solution.u[:, 8]
    assert np.ptp(momentum) < 1e-8
    assert len(ss.events(solution).of("impact")) > 0


def test_a_run_that_is_continued_takes_the_same_ways():
    system = two_boxes(20, speed=5.0, spin=20.0)
    whole = ss.solve(system, t_end=0.04, dt=5e-3)
    with ss.stepper(system, dt=5e-3) as sim:
        for k in range(1, 9):
            state = sim.state
            sim.step()
            assert np.array_equal(sim.q, whole.q[k])
            sim.state = state
            sim.step()
            assert np.array_equal(sim.q, whole.q[k])


def test_what_cannot_be_held_apart_is_told(monkeypatch):
    monkeypatch.setattr(importlib.import_module("stickslip.solve.missed"), "ROUNDS", 0)
    told = r"'ball' and 'ground' overlap by .* in a step of 0.002 bodies move so far"
    with pytest.warns(ss.TunnellingWarning, match=told) as warned:
        ss.solve(ball_and_rod(), t_end=0.02, dt=2e-3)
    assert [each.filename for each in warned] == [__file__]  # the line that asked for the run


def test_half_a_turn_beside_a_wall_is_told():
    """How a blade that spins beside a wall gets from one end of a step to the other is not known."""
    s = ss.System("blade")
    blade = s.add(ss.solid("blade", ss.Box(ss.ground.frame([0, 0]), [0.2, 0.01]), density=1000, angular_velocity=1500))
    s.add(ss.Collisions("contacts", [blade, ss.Line([0, -0.05], [0, 1])]))
    with pytest.warns(ss.TunnellingWarning, match=r"'blade' turns by .* rad beside .* in a step of 0.002 bodies turn"):
        ss.solve(s, t_end=0.004, dt=2e-3)


@pytest.mark.parametrize(
    "shape, motion",
    [
        (ss.Sphere(ss.ground.point(0, 0.05), 0.05), {"velocity": [40, 0], "angular_velocity": -800}),
        (ss.Box(ss.ground.frame([0, 5]), [0.2, 0.01]), {"angular_velocity": 1500}),
    ],
)
def test_a_disc_that_rolls_and_a_blade_beside_nothing_miss_nothing(shape, motion):
    s = ss.System("turning")
    s.add(ss.Gravity([0, -9.81]))
    turning = s.add(ss.solid("turning", shape, density=1000, **motion))
    stone = s.add(ss.solid("stone", ss.Box(ss.ground.frame([1, 0.05]), [0.1, 0.1]), density=1000))
    s.add(ss.Collisions("contacts", [turning, stone, ss.Box(ss.ground.frame([0, -0.5]), [10, 1])], friction=0.3))
    solution = ss.solve(s, t_end=0.01, dt=2e-3)  # no warning
    assert abs(solution.q[-1, 2] - solution.q[0, 2]) > 7


def test_half_of_the_thickness_of_a_curve_is_not_the_radius_of_an_arc():
    around = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    s = ss.System("curves")
    body = s.add(ss.PlanarBody("body", mass=1, inertia=1))
    sizes = [(0.8, 0.4), (0.4, 0.8), (0.05, 0.005)]
    curves = [ss.ClosedCurve(body, np.column_stack([a * np.cos(around), b * np.sin(around)])) for a, b in sizes]
    s.add(ss.Collisions("contacts", [*curves, ss.Line([0, -1], [0, 1])]))
    assert np.allclose(half_thickness(scene_of(s, collisions_of(s)))[:-1], [0.4, 0.4, 0.005], rtol=1e-3)


def test_half_of_the_thickness_of_shapes():
    s = ss.System("shapes")
    points = [ss.ground.frame([k, 0, 0]) for k in range(5)]
    shapes = [
        ss.Sphere(ss.ground.point(0, 0, 0), 0.1),
        ss.Box(points[1], [0.4, 0.2, 0.3]),
        ss.Capsule(ss.ground.point(2, 0, 0), ss.ground.point(2.4, 0, 0), 0.05),
        ss.Ellipsoid(points[3], [0.3, 0.2, 0.15]),
        ss.Cylinder(ss.ground.point(4, 0, 0), [0, 0, 1], radius=0.5, length=0.1, points=16),
    ]
    bodies = [s.add(ss.solid(f"body {k}", shape, density=1)) for k, shape in enumerate(shapes)]
    s.add(ss.Collisions("contacts", [*bodies, ss.Plane([0, 0, -1], [0, 0, 1])]))
    found = half_thickness(scene_of(s, collisions_of(s)))
    assert np.allclose(found[:-1], [0.1, 0.1, 0.05, 0.15, 0.05])
    assert found[-1] == np.inf

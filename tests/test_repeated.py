"""Equal contacts, joints and springs in one call: the same motion, bit for bit, as one by one."""

from __future__ import annotations

import pickle
import time
from itertools import pairwise

import numpy as np
import pytest

import stickslip as ss
from timed import undisturbed

MASS, INERTIA = ss.inertia.sphere(0.05, density=1000)
ARRAYS = ("q", "u", "P_g", "P_N", "P_F", "gap", "g", "kinetic", "potential")


def same(a: ss.System, b: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    one, two = (ss.solve(s, t_end, dt, progress=False, **options) for s in (a, b))
    for name in ARRAYS:
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name
    return one


def spheres(n: int) -> tuple[ss.System, list[ss.RigidBody]]:
    s, rng = ss.System("spheres"), np.random.default_rng(0)
    places = np.array([[0.11 * (k % 3), 0.02 * k, 0.06 + 0.11 * (k // 3)] for k in range(n)])
    kick = rng.normal(size=(n, 3)) * [1, 1, 0]
    balls = s.add_many(ss.RigidBody("ball", mass=MASS, inertia=INERTIA), position=places, velocity=kick)
    s.add(ss.Gravity([0, 0, -9.81]))
    return s, balls


def floor_of(ball: ss.RigidBody, name: str) -> ss.Contact:
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    return ss.Contact(name, ss.Sphere(ball.point(), 0.05), floor, friction=0.3, restitution=0.4)


@pytest.mark.parametrize("method", ["rattle", "moreau", "generalized-alpha"])
def test_spheres_on_a_floor_and_against_each_other(method):
    many, balls = spheres(6)
    touches = many.add_many(floor_of(balls[0], "floor"), bodies=balls)
    pairs = [(balls[i], balls[k]) for k in range(6) for i in range(k)]
    pairs[3] = pairs[3][::-1]  # in any order
    first = ss.Contact("pair", ss.Sphere(balls[0].point(), 0.05), ss.Sphere(balls[1].point(), 0.05))
    many.add_many(first, bodies=pairs)
    assert [each.name for each in touches][:2] == ["floor[0]", "floor[1]"]
    assert touches[3].geometry_1.body is balls[3]

    single, balls = spheres(6)
    for k, ball in enumerate(balls):
        single.add(floor_of(ball, f"floor[{k}]"))
    pairs = [(balls[i], balls[k]) for k in range(6) for i in range(k)]
    pairs[3] = pairs[3][::-1]
    for k, (a, b) in enumerate(pairs):
        pair = ss.Contact(f"pair[{k}]", ss.Sphere(a.point(), 0.05), ss.Sphere(b.point(), 0.05))
        single.add(pair)
    one, two = (ss.solve(s, 0.3, 2e-3, method=method, progress=False) for s in (many, single))
    assert one.names == two.names
    assert one.P_N.max() > 0
    for name in ("q", "u", "gap", "P_N", "P_F"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-9, rtol=0)


def rolling_pairs(together: bool) -> ss.System:
    """Two pairs of spinning spheres that collide in different directions."""
    s = ss.System("pairs")
    state = {
        "position": [[0, 0, 0], [0.2, 0, 0], [0, 1, 0], [0.05, 1.05, 0.15]],
        "velocity": [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0.1, -1]],
        "angular_velocity": [[0, 5, 3], [0, 0, 0], [3, 2, 1], [0, 0, 0]],
    }
    b = s.add_many(ss.RigidBody("ball", mass=MASS, inertia=INERTIA), **state)

    def pair(name: str, one: ss.RigidBody, two: ss.RigidBody) -> ss.Contact:
        shapes = ss.Sphere(one.point(), 0.05), ss.Sphere(two.point(), 0.05)
        return ss.Contact(name, *shapes, friction=0.3, restitution=0.5)

    pairs = [(b[0], b[1]), (b[2], b[3])]
    if together:
        s.add_many(pair("pair", *pairs[0]), bodies=pairs)
    else:
        for k, row in enumerate(pairs):
            s.add(pair(f"pair[{k}]", *row))
    return s


def test_tangents_begin_where_the_first_pair_has_them():
    """Another frame: the same motion by moreau, which reads it at one position; by rattle, at two, to its order."""
    off = {}
    for method, dt in (("moreau", 4e-3), ("rattle", 4e-3), ("rattle", 1e-3)):
        runs = [ss.solve(rolling_pairs(x), 0.2, dt, method=method, progress=False) for x in (True, False)]
        assert (runs[0].P_N.max(axis=0) > 0).all()
        off[method, dt] = np.abs(runs[0].u - runs[1].u).max()
    assert off["moreau", 4e-3] < 1e-12
    assert off["rattle", 1e-3] < off["rattle", 4e-3] / 10 < 1e-4


def test_a_chain_of_springs_and_hinges_is_the_same_bit_for_bit():
    def chain(together: bool) -> ss.System:
        s, n = ss.System("chain"), 5
        body = ss.PlanarBody("link", mass=1.0, inertia=0.1)
        links = s.add_many(body, position=[[k + 0.5, 0.0] for k in range(n)])
        s.add(ss.Revolute("wall", ss.ground.point(0, 0), links[0].point(-0.5, 0)))
        a, b = links[:2]
        pin = ss.Revolute("pin", a.point(0.5, 0), b.point(-0.5, 0))
        spring = ss.SpringDamper("spring", a.point(0, 0.2), b.point(0, 0.2), stiffness=40, damping=1.0, rest_length=0.9)
        if together:
            s.add_many(pin, bodies=list(pairwise(links)))
            s.add_many(spring, bodies=list(pairwise(links)))
        else:
            for k, (a, b) in enumerate(pairwise(links)):
                s.add(ss.Revolute(f"pin[{k}]", a.point(0.5, 0), b.point(-0.5, 0)))
            k_, d, x = (s.parameter(f"spring[0].{key}", value) for key, value in
                        (("stiffness", 40), ("damping", 1.0), ("rest_length", 0.9)))  # fmt: skip
            for k, (a, b) in enumerate(pairwise(links)):
                points = a.point(0, 0.2), b.point(0, 0.2)
                s.add(ss.SpringDamper(f"my[{k}]", *points, stiffness=k_, damping=d, rest_length=x))
        s.add(ss.Gravity([0, -9.81]))
        return s

    many, single = chain(True), chain(False)
    options = {"method": "rattle", "parameters": {"spring[0].stiffness": 70.0}, "progress": False}
    one, two = (ss.solve(s, 0.5, 1e-3, **options) for s in (many, single))
    for name in ("q", "u", "P_g", "potential"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-9, rtol=1e-9)
    # Quantities of a copy follow its bodies, and the parameters of the first.
    np.testing.assert_allclose(one["spring[3].force"], two["my[3].force"], atol=1e-6)
    np.testing.assert_allclose(one["pin[2].angle"], two["pin[2].angle"], atol=1e-9)
    assert one.names.g == two.names.g


def test_a_thousand_contacts_are_declared_within_a_second_and_no_symbols_are_made():
    s = ss.System("many")
    balls = s.add_many(ss.PointMass("ball", mass=1.0, position=[0, 0, 0]), position=np.arange(3000.0).reshape(-1, 3))
    contact = ss.Contact("floor", ss.Sphere(balls[0].point(), 0.05), ss.Plane([0, 0, -1], [0, 0, 1]), friction=0.3)
    with undisturbed():
        begin = time.process_time()
        copies = s.add_many(contact, bodies=balls)
        assert time.process_time() - begin < 1.0
    assert len(copies) == 1000
    assert sum(block.named for block in s.blocks) == 1
    assert len(s.parameters) < 20


def test_copies_travel_show_themselves_and_are_written_out():
    s, balls = spheres(4)
    s.add_many(floor_of(balls[0], "floor"), bodies=balls)
    sent = pickle.loads(pickle.dumps(s))
    solution = same(s, sent, 0.2, 2e-3)
    tracks = [track["contact"] for track in solution.provenance["look"]["tracks"] if "contact" in track]
    assert tracks == [f"floor[{k}]" for k in range(4)]
    gaps = [s.initial_value(e.contacts[0].gap) for e in s.equations() if e.contacts]
    np.testing.assert_allclose(gaps, solution.gap[0], atol=1e-12)


def test_what_cannot_be_repeated_is_refused_by_name():
    s, balls = spheres(4)
    other = s.add(ss.RigidBody("other", mass=1.0, inertia=[1, 1, 1], position=[5, 5, 5]))
    stranger = spheres(1)[1][0]
    touch = floor_of(balls[0], "floor")
    for bodies, words in [
        ([balls[0], other], "'other' is not a copy of 'ball\\[0\\]'"),
        ([balls[0], stranger], "not a body of this system"),
        ([balls[1], balls[0]], "does not act on 'ball\\[1\\]'"),
        ([(balls[0], balls[1]), balls[2]], "row 1 of bodies has 1 bodies"),
        ([], "is empty"),
        ("balls", "must be a list"),
    ]:
        with pytest.raises(ss.ModelError, match=words):
            s.add_many(touch, bodies=bodies)
    with pytest.raises(ss.ModelError, match="reads the initial state.*row 2.*length="):  # of rods without a length
        s.add_many(
            ss.Rod("rod", balls[0].point(), balls[1].point()),
            bodies=[(balls[0], balls[1]), (balls[1], balls[2]), (balls[2], balls[3])],
        )
    with pytest.raises(ss.ModelError, match="bodies= makes equal parts, got position"):
        s.add_many(touch, bodies=balls, position=[[0, 0, 0]])
    law, shapes = 0.1 + balls[0].q[0] ** 2, (ss.Sphere(balls[0].point(), 0.05), ss.Plane([0, 0, 0], [0, 0, 1]))
    with pytest.raises(ss.ModelError, match="keeps an expression of its bodies"):
        s.add_many(ss.Contact("floor", *shapes, friction=law), bodies=balls)
    # Nothing of all that is left behind.
    s.add_many(touch, bodies=balls)
    assert len(ss.solve(s, 0.01, 1e-3, progress=False).names.contacts) == 4

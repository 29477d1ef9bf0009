"""What bodies and contacts take: bytes of arrays in which something was written, which no machine changes."""

from functools import cache
from types import ModuleType

import numpy as np
import pytest

import stickslip as ss

LINE = 64  # bytes
R = 0.05


def pile(n, walls=True):
    """n^3 spheres over a floor, close to each other, or falling in a void."""
    s = ss.System(f"{n**3} spheres")
    mass, inertia = ss.inertia.sphere(R, density=1000)
    places = np.stack(np.meshgrid(*3 * [np.arange(n)], indexing="ij"), axis=-1).reshape(-1, 3)
    places = places * (2.1 if walls else 4) * R + np.random.default_rng(0).uniform(0, 0.05 * R, places.shape)
    balls = s.add_many(ss.RigidBody("ball", mass=mass, inertia=inertia), position=places)
    s.add(ss.Gravity([0, 0, -9.81]))
    sides = (
        [([x * 1.1 * R, 0, 0], [-x, 0, 0]) for x in (-1, 2 * n)],
        [([0, x * 1.1 * R, 0], [0, -x, 0]) for x in (-1, 2 * n)],
    )
    planes = [ss.Plane([0, 0, -1.1 * R], [0, 0, 1]), *[ss.Plane(*each) for pair in sides for each in pair]]
    shapes = [ss.Sphere(ball.point(), R) for ball in balls]
    s.add(ss.Collisions("pile", [*shapes, *planes] if walls else shapes, friction=0.3))
    return s


def arrays(root):
    """All arrays that something refers to, each once, without those that are views of others."""
    todo, seen, found = [root], set(), {}
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, (str, type, ModuleType)):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            while isinstance(one.base, np.ndarray):
                one = one.base
            found[one.ctypes.data] = one
        elif isinstance(one, dict):
            todo += one.values()
        elif isinstance(one, (list, tuple)):
            todo += one
        elif type(one).__module__.startswith("stickslip"):
            todo += getattr(one, "__dict__", {}).values()
            todo += [getattr(one, name) for name in getattr(one, "__slots__", ()) if hasattr(one, name)]
    return list(found.values())


def written(array):
    """Bytes of the lines of an array that hold anything but zeros."""
    if array.dtype == object:
        return 0
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = flat[: len(flat) // LINE * LINE].reshape(-1, LINE)
    return LINE * int(whole.any(axis=1).sum()) + len(flat) % LINE


@cache
def taken(n, method, walls, steps):
    """Bytes and contacts of n^3 spheres after these steps."""
    with ss.stepper(pile(n, walls), dt=1e-3, method=method, tol=1e-6) as sim:
        for _ in range(steps):
            sim.step()
        return sum(map(written, arrays(sim._run))), len(sim.contacts)


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_bytes_per_body(method):
    """Coordinates, tables and what the last step has left: linear in the bodies."""
    sizes = {n: taken(n, method, False, 2)[0] for n in (6, 7, 8)}
    slopes = [(sizes[b] - sizes[a]) / (b**3 - a**3) for a, b in ((6, 7), (7, 8))]
    assert slopes[1] == pytest.approx(slopes[0], rel=0.05)
    assert slopes[1] < 2600


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_bytes_per_contact(method):
    """Derivatives of a contact do not outlive its rows of directions, and what Newton's method needs is not written."""
    before, after = taken(7, method, True, 1), taken(7, method, True, 200)
    assert after[1] - before[1] > 400
    assert (after[0] - before[0]) / (after[1] - before[1]) < 2000
